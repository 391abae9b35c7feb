"""The address of a list: its path and what was chosen, so that every view of it can be sent to somebody."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from urllib.parse import urlencode

from django.http import QueryDict

Choice = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Address:
    """A path with the choices that mean something there."""

    path: str
    choices: tuple[Choice, ...] = ()

    @classmethod
    def of(cls, path: str, query: QueryDict, known: Collection[str]) -> Address:
        """What a query says, without empty values, unknown keys and the place in the list."""
        said = [(key, value.strip()) for key, values in query.lists() if key in known for value in values]
        return cls(path, tuple(choice for choice in said if choice[1]))

    @property
    def query(self) -> str:
        return urlencode(self.choices)

    def __str__(self) -> str:
        return f"{self.path}?{self.query}" if self.choices else self.path

    def without(self, *keys: str) -> Address:
        return Address(self.path, tuple(choice for choice in self.choices if choice[0] not in keys))

    def without_choice(self, key: str, value: str) -> Address:
        return Address(self.path, tuple(choice for choice in self.choices if choice != (key, value)))

    def set(self, key: str, value: str) -> Address:
        """The same, with one value for a key; an empty value takes it out."""
        others = self.without(key)
        return Address(self.path, (*others.choices, (key, value))) if value else others

    def chosen(self, key: str) -> list[str]:
        return [value for known, value in self.choices if known == key]
