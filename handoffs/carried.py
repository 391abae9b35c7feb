"""Facts that are carried: what a step was handed under `Carried()`, it hands on unchanged."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import zip_longest
from typing import Any, get_args

from pydantic import TypeAdapter
from pydantic.fields import FieldInfo

from handoffs import sentences
from handoffs.contracts import Carried, Contract, Violation, core_schema
from handoffs.invariants import key_of
from handoffs.states import Side
from handoffs.strict_json import pointer


def check_carried(
    receives: type[Contract], given: object, returns: type[Contract], output: object
) -> tuple[Violation, ...]:
    """Compare the facts marked `Carried()` in either contract and known to both; `given` and `output` are parsed JSON.

    Values are compared as their types read them: "1.10" and 1.1 are the same decimal, two texts for one moment the same
    moment. Facts of nested contracts and of lists of them count; a fact that was not given binds nobody.
    """
    return tuple(_losses(receives, given, returns, output, ()))


@dataclass(frozen=True, slots=True)
class _Known:
    """A field as a step that hands facts on sees it."""

    carried: bool
    nested: type[Contract] | None  # the contract of the value, or of its items
    adapter: TypeAdapter[Any]

    def reads_alike(self, one: object, other: object) -> bool:
        try:
            return bool(self._read(one) == self._read(other))
        except Exception:  # not of this type at all, or refused by a contract's own validator
            return False

    def _read(self, value: object) -> object:
        return self.adapter.validate_json(json.dumps(value))


@cache
def _known(contract: type[Contract]) -> dict[str, _Known]:
    """Return the fields of a contract by their key in JSON."""
    core_schema(contract)
    return {key_of(name, field): _known_field(field) for name, field in contract.model_fields.items()}


def _known_field(field: FieldInfo) -> _Known:
    parts = list(_parts(field.annotation))
    nested = [part for part in parts if isinstance(part, type) and issubclass(part, Contract)]
    return _Known(
        carried=any(mark is Carried or isinstance(mark, Carried) for mark in (*field.metadata, *parts)),
        nested=nested[0] if len(nested) == 1 else None,
        adapter=TypeAdapter[Any](field.annotation or Any),
    )


def _parts(annotation: Any) -> Iterator[Any]:
    yield annotation
    for part in get_args(annotation):
        yield from _parts(part)


def _losses(
    receives: type[Contract], given: Any, returns: type[Contract], output: Any, path: tuple[str | int, ...]
) -> Iterator[Violation]:
    if isinstance(given, list):
        kept = output if isinstance(output, list) else []
        for index, (before, after) in enumerate(zip_longest(given, kept[: len(given)])):
            yield from _losses(receives, before, returns, after, (*path, index))
    if not isinstance(given, dict):
        return
    facts = output if isinstance(output, dict) else {}  # all are lost where the whole is
    known = _known(receives)
    for key, after in _known(returns).items():
        if (before := known.get(key)) is None or key not in given:
            continue
        was, now = given[key], facts.get(key)
        if before.carried or after.carried:
            if was != now and not (before.reads_alike(was, now) and after.reads_alike(was, now)):
                yield _loss(was, now, (*path, key))
        elif before.nested and after.nested:
            yield from _losses(before.nested, was, after.nested, now, (*path, key))


def _loss(was: object, now: object, path: tuple[str | int, ...]) -> Violation:
    before, after = sentences.received(was), sentences.received(now)
    sentence = f"This fact must be handed on unchanged: it was {before} and became {after}."
    return Violation(Side.RETURNS, pointer(path), "carried_changed", before, after, sentence)
