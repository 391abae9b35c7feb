"""What differs between bodies, by field."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from handoffs.exact_json import ABSENT, Unreadable, Value, at, parse, same, write
from handoffs.strict_json import pointer
from handoffs.titles import parts
from reviewqueue.visible import cut, visible

MOST = 100  # fields that are compared in one table
SHOWN = 300  # characters of a value


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
    places = dict.fromkeys([*_changed(values[0], values[1], ()), *_changed(values[0], values[2], ())])
    rows = []
    for where in list(places)[:MOST]:
        path = tuple(parts(where)) if where else ()
        rows.append(Row(where, *(_text(at(value, path)) for value in values)))
    return rows


def _changed(one: Value, other: Value, path: tuple[str | int, ...]) -> Iterator[str]:
    if same(one, other):
        return
    if isinstance(one, dict) and isinstance(other, dict):
        for key in dict.fromkeys([*one, *other]):
            yield from _changed(one.get(key, ABSENT), other.get(key, ABSENT), (*path, key))
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for place, (before, after) in enumerate(zip(one, other, strict=True)):
            yield from _changed(before, after, (*path, place))
    else:
        yield pointer(path)


def _text(value: Value) -> str | None:
    return None if value is ABSENT else visible(cut(write(value), SHOWN))
