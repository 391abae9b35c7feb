"""What differs between bodies, by field."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, zip_longest

from handoffs.exact_json import ABSENT, Unreadable, Value, at, parse, same, write
from handoffs.patching import changed_places
from handoffs.strict_json import pointer
from handoffs.titles import parts
from reviewqueue.visible import cut, visible

MOST = 100  # fields that are compared in one table
SHOWN = 300  # characters of a value
Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """One field in three bodies, as JSON; None where it is not there."""

    pointer: str
    base: str | None
    now: str | None
    yours: str | None

    @property
    def is_contested(self) -> bool:
        """Both sides changed it, and not to the same."""
        return self.base != self.now and self.base != self.yours and self.now != self.yours


def compared(base: str, now: str, yours: str) -> list[Row] | None:
    """The fields in which three bodies differ; None where one of them is no JSON."""
    try:
        values = [parse(text) for text in (base, now, yours)]
    except Unreadable:
        return None
    found = [*changed_places(values[0], values[1]), *changed_places(values[0], values[2])]
    places = dict.fromkeys(map(pointer, found))
    rows = []
    for where in list(places)[:MOST]:
        path = tuple(parts(where)) if where else ()
        rows.append(Row(where, *(_text(at(value, path)) for value in values)))
    return rows


@dataclass(frozen=True, slots=True)
class Change:
    """One field that differs between two bodies, as JSON; None where it is not there."""

    pointer: str
    before: str | None
    after: str | None

    @property
    def sort(self) -> str:
        """added, removed or changed."""
        return "added" if self.before is None else "removed" if self.after is None else "changed"


def changes(before: Value, after: Value) -> list[Change]:
    """The fields in which two bodies differ, at most MOST; items of lists by the place where they stand."""
    return list(islice(_changes(before, after, ()), MOST))


def _changes(one: Value, other: Value, path: Path) -> Iterator[Change]:
    if same(one, other):
        return
    if isinstance(one, dict) and isinstance(other, dict):
        for key in dict.fromkeys([*one, *other]):
            yield from _changes(one.get(key, ABSENT), other.get(key, ABSENT), (*path, key))
    elif isinstance(one, list) and isinstance(other, list):
        yield from _changed_items(one, other, path)
    else:
        yield Change(pointer(path), _text(one), _text(other))


def _changed_items(one: list[Value], other: list[Value], path: Path) -> Iterator[Change]:
    """What stands the same at both ends is left out; between, items are held against each other one by one."""
    shorter = min(len(one), len(other))
    first = next((place for place in range(shorter) if not same(one[place], other[place])), shorter)
    last = next((n for n in range(shorter - first) if not same(one[-1 - n], other[-1 - n])), shorter - first)
    rows = zip_longest(one[first : len(one) - last], other[first : len(other) - last], fillvalue=ABSENT)
    for place, (before, after) in enumerate(rows, first):
        yield from _changes(before, after, (*path, place))


def _text(value: Value) -> str | None:
    return None if value is ABSENT else visible(cut(write(value), SHOWN))
