"""Every mutant of a seam, held against the contract that must refuse it: what is refused, and what is a hole."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from handoffs import seams
from handoffs.contracts import Contract, Violation, check, check_between
from handoffs.drill.assumptions import break_rules
from handoffs.drill.mutants import Mutant, encode, mutants
from handoffs.drill.samples import enrich
from handoffs.drill.stage import watched_writes
from handoffs.flows import Flow, Step
from handoffs.shapes import Shape
from handoffs.states import INTAKE, Side

Beside = tuple[type[Contract], str]
Schemas = Mapping[str, Any]
"""JSON Schemas by the name of their place: "intake", "check receives", "check returns"."""


@dataclass(frozen=True, slots=True)
class Hole:
    """A mutant that is let through, or refused by accident; `code` says in which way."""

    mutant: Mutant
    code: str


@dataclass(frozen=True, slots=True)
class Judged:
    """The mutants of one contract. `writes`: what judging them wrote to the database, which it must not."""

    refused: Sequence[Mutant]
    holes: Sequence[Hole]
    counted: Sequence[Mutant]
    writes: Sequence[str]


def judge(
    contract: type[Contract], valid: object, *, seed: str, before: Any = None, beside: Beside | None = None
) -> Judged:
    """Break what a contract says, and what it said at the last green drill (`before`, a schema).

    `beside` is what an output is held against as well: what the step receives, and what it was handed.
    """
    # What the filled body breaks anyway must not hide that a mutant of it is let through.
    rich = encode(enrich(Shape.of(contract), valid)).decode("utf-8", "surrogatepass")
    anyway = frozenset((v.pointer, v.rule) for v in check(contract, rich, side=Side.RECEIVES).violations)
    judged = _judge(contract, mutants(Shape.of(contract), valid, seed=seed), "let_through", anyway)
    judged = _with_rules(judged, contract, valid, seed, beside)
    if not before:
        return judged
    old = mutants(Shape(before, before), valid, seed=seed)
    known = {mutant.digest for mutant in judged.refused} | {hole.mutant.digest for hole in judged.holes}
    relaxed = _judge(contract, [m for m in old if m.digest not in known], "no_longer_refused", anyway)
    gone = _rules_gone(contract, before)
    named = {hole.mutant.name for hole in judged.holes}
    more = [hole for hole in relaxed.holes if hole.mutant.name not in named and hole.mutant.kind != "unknown_field"]
    return Judged(judged.refused, [*judged.holes, *more, *gone], judged.counted, judged.writes)


def _rules_gone(contract: type[Contract], before: Mapping[str, Any]) -> list[Hole]:
    """The contract's own rules that the last green drill broke, and that nobody asks for any more."""
    left = {rule["name"] for rule in Shape.of(contract).schema.get("x-invariants", ())}
    gone = [rule for rule in before.get("x-invariants", ()) if rule["name"] not in left]
    return [Hole(Mutant(f"invariant {r['name']}", r["at"], r["sentence"], b""), "no_longer_refused") for r in gone]


def _with_rules(judged: Judged, contract: type[Contract], valid: object, seed: str, beside: Beside | None) -> Judged:
    """What the contract's own rules refuse, too; a rule that nothing breaks is a hole."""

    def look(body: bytes) -> Sequence[Violation]:
        checked = check(contract, body.decode("utf-8", "surrogatepass"), side=Side.RETURNS)
        return checked.violations or (check_between(*beside, checked.value) if beside else ())

    found = break_rules(contract, valid, seed=seed, look=look, compared=beside is not None)
    held = [Hole(mutant, "let_through") for mutant in found.held]
    never = [Hole(Mutant(f"invariant {name}", "", "nothing breaks it", b""), "never_broken") for name in found.unbroken]
    return replace(judged, refused=[*judged.refused, *found.mutants], holes=[*judged.holes, *held, *never])


def _judge(contract: type[Contract], made: Iterable[Mutant], code: str, anyway: frozenset[tuple[str, str]]) -> Judged:
    refused, holes, counted = [], [], []
    with watched_writes() as writes:
        for mutant in made:
            checked = check(contract, mutant.body.decode("utf-8", "surrogatepass"), side=Side.RECEIVES)
            if checked.violations and {v.rule for v in checked.violations} <= {"validator_failed", "invariant_failed"}:
                holes.append(Hole(mutant, "validator_broke"))
            elif {(violation.pointer, violation.rule) for violation in checked.violations} - anyway:
                refused.append(mutant)
            elif mutant.kind != "unknown_field":
                holes.append(Hole(mutant, code))
            elif mutant.pointer in checked.unknown:
                counted.append(mutant)
            else:
                holes.append(Hole(mutant, "unknown_lost"))
    return Judged(refused, holes, counted, writes)


def laxer(flow: Flow, step: Step, document: str, *, seed: str) -> list[Hole]:
    """What every producer's contract refuses at a field that the step receives, and the step lets through."""
    producers = _producers(flow, step)
    fields = {name for form in Shape.of(step.receives).forms() for name in form.fields}
    found: dict[str, Hole] = {}
    for producer in producers:
        if len(forms := Shape.of(producer).forms()) != 1 or not forms[0].fields:
            continue
        shared = Shape.of(producer).without(set(forms[0].fields) - fields)
        valid = {key: value for key, value in json.loads(document).items() if key in fields}
        for mutant in mutants(shared, valid, seed=seed):
            if mutant.kind in {"unknown_field", "renamed"} or not mutant.pointer:
                continue
            if _is_laxer(producers, step, document, mutant):
                found[mutant.name] = Hole(mutant, "laxer_than_producer")
    return list(found.values())


def _is_laxer(producers: Sequence[type[Contract]], step: Step, document: str, mutant: Mutant) -> bool:
    """Whether the whole document, broken like this, is refused by every producer and taken by the step."""
    broken: dict[str, Any] = json.loads(mutant.body.decode("utf-8", "surrogatepass"))
    field = mutant.pointer.split("/")[1].replace("~1", "/").replace("~0", "~")
    whole = {key: value for key, value in json.loads(document).items() if key != field}
    text = json.dumps(whole | ({field: broken[field]} if field in broken else {}), ensure_ascii=False)
    if any(not check(producer, text, side=Side.RETURNS).violations for producer in producers):
        return False
    found = check(step.receives, text, side=Side.RECEIVES).violations
    taken = {f"/{key}" for key in step.takes}
    return all(violation.pointer in taken and violation.rule == "missing" for violation in found)


def _producers(flow: Flow, step: Step) -> list[type[Contract]]:
    routes = seams.paths(flow)[step.name]
    return [flow.intake if r.producer == INTAKE else flow.step(r.producer).returns for r in routes]


def is_allowed(flow: Flow, place: str, mutant: Mutant) -> bool:
    """Whether the flow says that this may be let through: by class, or by class and place."""
    allowed = flow.allows.get(place, ())
    return mutant.kind in allowed or mutant.name in allowed
