"""Mutants that hold every type and break one invariant: what no schema rules out.

A good body is changed in a place or two into other valid values, until each rule has said no. A rule that nothing
breaks may say no to nothing at all: it is told, and its declaration can show how with `broken=`.
"""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal, InvalidOperation
from itertools import combinations, islice
from math import isfinite
from typing import Any

from handoffs.contracts import Contract, Violation
from handoffs.drill.mutants import Mutant, Path, encode, places
from handoffs.drill.samples import enrich
from handoffs.invariants import Invariant, contracts_in, invariants_of
from handoffs.shapes import Shape
from handoffs.strict_json import pointer

PER_RULE = 2  # mutants of each rule
MOST_PAIRS = 3000  # changes of two places that are tried

Change = tuple[Path, Any]
Look = Callable[[bytes], Sequence[Violation]]
"""What a body breaks, by the contract and, for an output, beside the step's input."""


@dataclass(slots=True)
class Assumptions:
    """What came of trying. `held`: the bodies that a rule should refuse, says its declaration, and did not."""

    mutants: list[Mutant] = field(default_factory=list)
    held: list[Mutant] = field(default_factory=list)
    unbroken: list[str] = field(default_factory=list)


def rules_of(contract: type[Contract], *, compared: bool) -> list[Invariant]:
    """The rules of a contract and of those inside it; with `compared` also those that look at the step's input."""
    found = [rule for part in contracts_in(contract) for rule in invariants_of(part)]
    own = {rule.name: rule for rule in found if compared or not rule.compares}
    return [own[name] for name in sorted(own)]


def break_rules(contract: type[Contract], valid: object, *, seed: str, look: Look, compared: bool) -> Assumptions:
    """Break each rule of a contract, starting from a valid body."""
    found = Assumptions()
    rules = rules_of(contract, compared=compared)
    for rule in [rule for rule in rules if rule.broken]:
        _as_declared(rule, valid, look, found)
    open_rules = {rule.name: rule for rule in rules if not rule.broken}
    made: dict[str, list[Mutant]] = {name: [] for name in open_rules}
    for changes in _tries(Shape.of(contract), valid, random.Random(seed)):  # noqa: S311 - the same again
        if all(len(some) >= PER_RULE for some in made.values()):
            break
        body = encode(_changed(valid, changes))
        broken = {violation.rule for violation in look(body)}
        if broken and broken <= open_rules.keys():
            for name in broken:
                _keep(made[name], open_rules[name], changes, body)
    found.mutants += [mutant for some in made.values() for mutant in some]
    found.unbroken += [name for name, some in made.items() if not some]
    return found


def _as_declared(rule: Invariant, valid: object, look: Look, found: Assumptions) -> None:
    changes = [(_path(where), value) for where, value in rule.broken.items()]
    with suppress(KeyError, IndexError, TypeError):
        body = encode(_changed(valid, changes))
        refused = rule.name in {violation.rule for violation in look(body)}
        (found.mutants if refused else found.held).append(_mutant(rule, changes, body))
        return
    found.unbroken.append(rule.name)


def _keep(some: list[Mutant], rule: Invariant, changes: Sequence[Change], body: bytes) -> None:
    if len(some) < PER_RULE:
        some.append(_mutant(rule, changes, body))


def _mutant(rule: Invariant, changes: Sequence[Change], body: bytes) -> Mutant:
    said = " and ".join(f"{pointer(list(path))} became {json.dumps(value)[:40]}" for path, value in changes)
    return Mutant(f"invariant {rule.name}", rule.at, said, body)


def _path(where: str) -> Path:
    parts = [part.replace("~1", "/").replace("~0", "~") for part in where.split("/")[1:]]
    return tuple(int(part) if part.isdecimal() else part for part in parts)


def _changed(valid: object, changes: Sequence[Change]) -> Any:
    whole = copy.deepcopy(valid)
    for path, value in changes:
        if not path:
            return value
        place: Any = whole
        for part in path[:-1]:
            place = place[part]
        place[path[-1]] = value
    return whole


def _tries(shape: Shape, valid: object, chance: random.Random) -> Iterator[list[Change]]:
    """Changes of one place, then of what the body leaves empty, then of two places."""
    single = [(place.path, other) for place in places(shape, valid) for other in _others(place.shape, place.value)]
    chance.shuffle(single)
    yield from ([change] for change in single)
    rich = enrich(shape, valid)
    if isinstance(rich, dict) and isinstance(valid, dict):
        filled = {name: value for name, value in rich.items() if value != valid.get(name)}
        for name, value in filled.items():
            yield [((name,), value)]
            whole = {**valid, name: value}
            for place in places(shape, whole):
                if place.path[:1] == (name,):
                    yield from ([((name,), value), (place.path, other)] for other in _others(place.shape, place.value))
    yield from (list(two) for two in islice(combinations(single, 2), MOST_PAIRS) if two[0][0] != two[1][0])


def _others(shape: Shape, value: Any) -> Iterator[Any]:
    """Values that may be valid in the place of this one, and are another."""
    forms = shape.forms()
    yield from (other for form in forms for other in form.values or () if other != value)
    if value is not None and any(form.kind == "null" for form in forms):
        yield None
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int | float):
        near = (value + 1, value - 1, -value, value * 10, 0)
        yield from (other for other in (*near, *_ends(forms)) if other != value)
    elif isinstance(value, str):
        yield from _other_texts(value)
    elif isinstance(value, list):
        yield from ([], value[:-1], [*value, *value[:1]])


def _ends(forms: Sequence[Shape]) -> Iterator[int]:
    """The least and the greatest whole number of a range: some rules are broken only there."""
    for (least, _), (negated, _) in (form.edges() for form in forms if form.kind == "integer"):
        yield from (int(end) for end in (least, -negated) if isfinite(end))


def _other_texts(value: str) -> Iterator[str]:
    with suppress(ValueError):
        day = date.fromisoformat(value)
        yield from (str(day + timedelta(days=days)) for days in (1, -1, 400, -400))
        return
    with suppress(InvalidOperation):
        number = Decimal(value)
        if number.is_finite():
            others = (number + 1, -number, number * 10, Decimal(0), number - 1)
            yield from (f"{other:f}" for other in others if other != number)
            return
    yield from (f"{value}x", f"x{value}", value[:-1])
