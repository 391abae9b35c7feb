"""What an edit did to one body, as JSON Patch, and the same done to another one. Numbers stay as they are written."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from handoffs.errors import PatchDoesNotFit
from handoffs.exact_json import ABSENT, Unreadable, Value, at, parse, same, write
from handoffs.strict_json import pointer
from handoffs.titles import parts

_OPERATIONS: Final = frozenset({"add", "remove", "replace"})


def changed_places(before: Value, after: Value, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The innermost places in which two values differ; a list of another length is one place."""
    if same(before, after):
        return
    if isinstance(before, dict) and isinstance(after, dict):
        for key in dict.fromkeys([*before, *after]):
            yield from changed_places(before.get(key, ABSENT), after.get(key, ABSENT), (*path, key))
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for place, (one, other) in enumerate(zip(before, after, strict=True)):
            yield from changed_places(one, other, (*path, place))
    else:
        yield path


def patch_of(before: str, after: str) -> str:
    """JSON Patch from one body to another, as text.

    Raises:
        Unreadable: one of them is no JSON.
    """
    old, new = parse(before), parse(after)
    return write([_operation(old, new, path) for path in changed_places(old, new)])


def _operation(old: Value, new: Value, path: tuple[str | int, ...]) -> dict[str, Value]:
    keys = tuple(str(key) for key in path)
    was, now = at(old, keys), at(new, keys)
    if now is ABSENT:
        return {"op": "remove", "path": pointer(path)}
    return {"op": "add" if was is ABSENT else "replace", "path": pointer(path), "value": now}


def patched(body: str, patch: str) -> str:
    """A body with a patch of ours applied; fields that it lacks are added, and gone ones may be gone already.

    Raises:
        PatchDoesNotFit: the body is no JSON, or has nothing at a place where the patch changes something.
    """
    try:
        value, operations = parse(body), parse(patch)
        for operation in operations:
            value = _applied(value, tuple(parts(operation["path"])) if operation["path"] else (), operation)
    except (Unreadable, KeyError, TypeError, AttributeError) as error:
        raise PatchDoesNotFit from error
    return write(value)


def _applied(value: Value, path: tuple[str, ...], operation: dict[str, Value]) -> Value:
    """The value with one operation done. Nothing that was read is changed: others hold it too."""
    if operation["op"] not in _OPERATIONS:
        raise PatchDoesNotFit
    if not path:
        return operation["value"]
    key, rest = path[0], path[1:]
    if isinstance(value, dict):
        if rest:
            return {**value, key: _applied(value[key], rest, operation)}
        kept = {name: item for name, item in value.items() if name != key or operation["op"] != "remove"}
        return kept if operation["op"] == "remove" else {**kept, key: operation["value"]}
    if isinstance(value, list) and key.isascii() and key.isdecimal() and int(key) < len(value):
        if not rest and operation["op"] == "remove":
            return [item for place, item in enumerate(value) if place != int(key)]
        item = _applied(value[int(key)], rest, operation) if rest else operation["value"]
        return [*value[: int(key)], item, *value[int(key) + 1 :]]
    raise PatchDoesNotFit
