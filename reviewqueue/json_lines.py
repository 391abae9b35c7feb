"""A body line by line, with the lines marked that break a contract."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from handoffs.exact_json import Unreadable, Value, parse, write
from handoffs.strict_json import pointer
from reviewqueue.visible import cut, visible

FIRST = 200  # lines that are shown
LONGEST = 400  # characters of one line that are shown


@dataclass(frozen=True, slots=True)
class Line:
    """One line; `sentences` say how what stands there breaks the contract."""

    text: str
    sentences: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Lines:
    """The first lines of a body, and how many there are."""

    shown: list[Line]
    count: int

    @property
    def rest(self) -> int:
        return self.count - len(self.shown)


def lines_of(text: str, broken: Mapping[str, list[str]] | None = None, limit: int = FIRST) -> Lines:
    """A body's lines: laid out where it is JSON, as they are where not. `broken`: sentences by pointer."""
    try:
        value = parse(text)
    except Unreadable:
        return raw_lines(text, limit)
    first = islice(_lines(value, (), "", ""), limit)
    return Lines([Line(_shown(line), tuple((broken or {}).get(where, ()))) for where, line in first], _count(value))


def _count(value: Value) -> int:
    """How many lines a value takes."""
    if isinstance(value, dict) and value:
        return 2 + sum(map(_count, value.values()))
    return 2 + sum(map(_count, value)) if isinstance(value, list) and value else 1


def raw_lines(text: str, limit: int = FIRST) -> Lines:
    """A body's lines as they are."""
    found = text.split("\n")
    return Lines([Line(_shown(line)) for line in found[:limit]], len(found))


def _lines(value: Value, path: tuple[str | int, ...], lead: str, tail: str) -> Iterator[tuple[str, str]]:
    here, inside = pointer(path), lead[: len(lead) - len(lead.lstrip(" "))] + "  "
    if not isinstance(value, dict | list) or not value:
        yield here, f"{lead}{write(value)}{tail}"
        return
    brackets = "{}" if isinstance(value, dict) else "[]"
    yield here, lead + brackets[0]
    items: Any = value.items() if isinstance(value, dict) else enumerate(value)
    for place, (key, item) in enumerate(items):
        named = f"{inside}{write(key)}: " if isinstance(value, dict) else inside
        yield from _lines(item, (*path, key), named, "," if place < len(value) - 1 else "")
    yield "-", inside[:-2] + brackets[1] + tail


def _shown(line: str) -> str:
    return visible(cut(line, LONGEST))
