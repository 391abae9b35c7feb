"""Who did something, in words: the history names actors as `reviewer:bob`, `agent:partner-api`, `system:reconciler`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.utils.translation import gettext as _

from reviewqueue.models import User


@dataclass(frozen=True, slots=True)
class Actors:
    """The names of some actors: one query for all of them."""

    people: dict[str, User]

    @classmethod
    def of(cls, actors: Iterable[str]) -> Actors:
        names = {actor.partition(":")[2] for actor in actors if is_person(actor)}
        people = User.objects.filter(username__in=names) if names else []
        return cls({person.username: person for person in people})

    def name(self, actor: str) -> str:
        sort, _colon, name = actor.partition(":")
        if sort == "reviewer":
            person = self.people.get(name)
            return person.display_name if person else name
        if sort == "worker":
            return _("a worker")
        return name or actor


def is_person(actor: str) -> bool:
    return actor.startswith("reviewer:")


def name_of(person: User | None) -> str:
    return person.display_name if person else _("nobody")
