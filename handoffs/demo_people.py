"""The people and queues of the demo: every queue that a flow names gets an owner and a backup."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib.auth import get_user_model

from handoffs.actions.queues import create_queue
from handoffs.checks import queues_in_use
from handoffs.flows import Flow
from handoffs.models import Queue

REVIEWERS = (("ana", "Ana", "Ruiz"), ("bo", "Bo", "Lind"), ("cleo", "Cleo", "Adeyemi"))
ADMIN = ("admin", "Admin", "")
LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"  # none that could be read as another


@dataclass(frozen=True, slots=True)
class Login:
    """Somebody who can log in. The password is known only when it was made just now."""

    username: str
    name: str
    password: str | None
    duties: str


def set_up_people(*, new_passwords: bool) -> dict[str, str]:
    """Make the demo's people; the passwords that were made just now, by user name."""
    users = get_user_model().objects
    made: dict[str, str] = {}
    for username, first, last in (*REVIEWERS, ADMIN):
        found = users.filter(username=username).first()
        if found and not new_passwords:
            continue
        password = new_password()
        person = found or users.model(username=username, first_name=first, last_name=last)
        if not found and username == ADMIN[0]:
            person.is_staff = person.is_superuser = True
        person.set_password(password)
        person.save()
        made[username] = password
    return made


def new_password() -> str:
    """Twelve letters and digits, 59 bits, easy to copy from a screen."""
    return "-".join("".join(secrets.choice(LETTERS) for _ in range(4)) for _ in range(3))


def queue_names(first: Sequence[Flow] = ()) -> list[str]:
    """The queues that the declared flows name, in the order in which a record may meet them; of some flows `first`."""
    used = queues_in_use()
    sooner = {flow.name for flow in first}
    return sorted(used, key=lambda slug: not any(place.partition("/")[0] in sooner for place in used[slug]))


def set_up_queues(first: Sequence[Flow] = ()) -> list[Queue]:
    """Make the queues that are missing: the reviewers own them in turn, and the next one is the backup."""
    people = [_person(username) for username, _, _ in REVIEWERS]
    names = queue_names(first)
    for place, slug in enumerate(names):
        if not Queue.objects.filter(slug=slug).exists():
            owner, backup = people[place % len(people)], people[(place + 1) % len(people)]
            create_queue(slug=slug, owner=owner, backup=backup)
    return list(Queue.objects.filter(slug__in=names).select_related("owner", "backup").order_by("pk"))


def _person(username: str) -> Any:
    return get_user_model().objects.get(username=username)


def logins(passwords: dict[str, str], queues: list[Queue]) -> list[Login]:
    """Who can log in, and what for."""
    return [
        Login(username, f"{first} {last}".strip(), passwords.get(username), _duties(username, queues))
        for username, first, last in (*REVIEWERS, ADMIN)
    ]


def _duties(username: str, queues: list[Queue]) -> str:
    if username == ADMIN[0]:
        return "sees and may do everything"
    owned = [str(q) for q in queues if q.owner.get_username() == username]
    backed = [str(q) for q in queues if q.backup and q.backup.get_username() == username]
    said = ["owns " + ", ".join(owned)] * bool(owned) + ["stands in for " + ", ".join(backed)] * bool(backed)
    return "; ".join(said)
