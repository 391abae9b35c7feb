"""Who is named in a comment: `@name`, of the people who may see the queue."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

from django.contrib.auth import get_user_model
from django.db.models import Q

from handoffs.models import Membership, Queue

Person = Any  # AUTH_USER_MODEL
MOST: Final = 50  # names that are looked at in one comment
_NAMED: Final = re.compile(r"(?<![\w@.+-])@([\w.@+-]{1,150})")
_ENDS: Final = ".-+@"  # of a sentence rather than of a name


@dataclass(frozen=True, slots=True)
class Named:
    """`people` may see the queue; `unknown` are names of nobody who may."""

    people: list[Person]
    unknown: list[str]


def seers_of(queue: Queue) -> list[Person]:
    """The people who may see a queue, by name; admins among them."""
    members = Membership.objects.filter(queue=queue).values("user")
    seeing = Q(is_superuser=True) | Q(pk__in=[queue.owner_id, queue.backup_id]) | Q(pk__in=members)
    people = get_user_model().objects.filter(seeing, is_active=True)
    return list(people.order_by("first_name", "username", "pk"))


def spans(text: str) -> list[tuple[int, int, str]]:
    """(start, end, name) of everything that looks like a mention."""
    found = []
    for match in list(_NAMED.finditer(text))[:MOST]:
        name = match[1].rstrip(_ENDS)
        if name:
            found.append((match.start(), match.start() + 1 + len(name), name))
    return found


def named_in(text: str, queue: Queue) -> Named:
    """The people whom a comment names, each once, in their order."""
    names = list(dict.fromkeys(name.casefold() for _start, _end, name in spans(text)))
    known = {person.get_username().casefold(): person for person in seers_of(queue)} if names else {}
    return Named([known[name] for name in names if name in known], [name for name in names if name not in known])
