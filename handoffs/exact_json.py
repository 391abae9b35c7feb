"""JSON as values that keep what was sent: a number stays the text it was, so nothing is rounded by opening a form.

The gate (`strict_json`) judges bodies; this reads even some that it refused, so that a person can mend them field by
field.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final, NoReturn

from handoffs.strict_json import MAX_DEPTH

Value = Any
"""dict, list, str, Number, bool, None; or ABSENT where a field was not sent."""


class Number(str):
    """A JSON number as its text: 12345678901234.10, 1e2; also NaN and Infinity, which the gate refuses."""

    __slots__ = ()


class _Absent:
    def __repr__(self) -> str:
        return "ABSENT"

    def __bool__(self) -> bool:
        return False


ABSENT: Final = _Absent()


class Unreadable(ValueError):
    """The text is no JSON that a form could show: not JSON at all, a key twice, or nested too deep."""


@lru_cache(maxsize=4)  # a page looks at the same body from several sides; nobody changes what is returned
def parse(text: str) -> Value:
    """Read JSON text with its numbers as they are written. The value must not be changed.

    Raises:
        Unreadable: see there.
    """
    try:
        value = _DECODER.decode(text)
    except (ValueError, RecursionError) as error:
        raise Unreadable(str(error)) from error
    if _is_deeper_than(MAX_DEPTH, value):
        raise Unreadable("nested too deep")
    return value


def write(value: Value, *, indent: int | None = None) -> str:
    """Write a value as JSON text; numbers as they were read. `indent`: blanks per level, None for one line."""
    return "".join(_write(value, indent, 0))


def at(value: Value, parts: tuple[str, ...]) -> Value:
    """The value at a path, or ABSENT."""
    for part in parts:
        if isinstance(value, dict):
            value = value.get(part, ABSENT)
        elif isinstance(value, list) and part.isascii() and part.isdecimal() and int(part) < len(value):
            value = value[int(part)]
        else:
            return ABSENT
    return value


def same(one: Value, other: Value) -> bool:
    """Whether two values are equal with their types; 1.10 and 1.1 are not, as their text differs."""
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


def _unique(pairs: list[tuple[str, Value]]) -> dict[str, Value]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a key is sent twice")
    return members


_LONE: Final = re.compile("[\ud800-\udfff]")
_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=_unique, parse_int=Number, parse_float=Number, parse_constant=Number
)


def _is_deeper_than(limit: int, value: Value) -> bool:
    level = [value]
    for _ in range(limit + 1):
        level = [item for each in level for item in _inside(each)]
        if not level:
            return False
    return True


def _inside(value: Value) -> Any:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _write(value: Value, indent: int | None, level: int) -> Iterator[str]:
    if isinstance(value, Number):
        yield str(value)
    elif isinstance(value, dict) and value:
        yield from _write_all("{}", ((_key(key), item) for key, item in value.items()), indent, level)
    elif isinstance(value, list) and value:
        yield from _write_all("[]", (("", item) for item in value), indent, level)
    elif value is ABSENT:
        _refuse()
    else:
        yield _quoted(value)


def _write_all(brackets: str, items: Iterator[tuple[str, Value]], indent: int | None, level: int) -> Iterator[str]:
    gap = "" if indent is None else "\n" + " " * indent * (level + 1)
    comma = ", " if indent is None else ","
    yield brackets[0]
    for place, (key, item) in enumerate(items):
        yield f"{comma if place else ''}{gap}{key}"
        yield from _write(item, indent, level + 1)
    yield f"{'' if indent is None else chr(10) + ' ' * indent * level}{brackets[1]}"


def _key(key: str) -> str:
    return f"{_quoted(key)}: "


def _quoted(value: Value) -> str:
    # Half a surrogate pair can't be sent to a browser, so it stays escaped.
    return _LONE.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(value, ensure_ascii=False))


def _refuse() -> NoReturn:
    raise ValueError("a field that is not there has no text")
