"""What if: bodies that were taken, held against the contracts as the code has them now."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from handoffs import engine
from handoffs.contracts import Contract, Violation, check
from handoffs.errors import UnknownStep
from handoffs.flows import Flow
from handoffs.models import Record, StepResult
from handoffs.states import INTAKE, Outcome, Side

CHUNK = 200  # records whose bodies are read at once
EXAMPLES = 5  # records named of each group

Group = tuple[str, str, str, str]
"""(place such as "check receives", contract, pointer with * for items, rule)"""
Results = list[StepResult]


@dataclass(slots=True)
class Refusals:
    """One way in which bodies that were taken would be refused now."""

    sentence: str
    records: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Revalidation:
    """What would become of stored bodies. `gone`: those of which nothing is kept, or whose step the code lost."""

    held: Counter[str] = field(default_factory=Counter)
    refused: dict[Group, Refusals] = field(default_factory=dict)
    bodies: int = 0
    newly: int = 0
    gone: int = 0


def revalidate(flow: Flow, *, contract: str = "", last: int = 1000) -> Revalidation:
    """Hold what the last records of a flow were handed and delivered, and was taken, against today's contracts.

    `contract` narrows it to one, by its name with or without its module.
    """
    found = Revalidation()
    ids = list(Record.objects.filter(flow=flow.name).order_by("-pk").values_list("pk", flat=True)[:last])
    for start in range(0, len(ids), CHUNK):
        some = ids[start : start + CHUNK]
        results = StepResult.objects.filter(record__in=some).exclude(output=None).order_by("record_id", "pk")
        for record_id, own in _by_record(results.iterator(chunk_size=CHUNK)):
            for place, judged, body in _bodies(flow, own, found):
                if not contract or contract in {judged.__name__, f"{judged.__module__}.{judged.__qualname__}"}:
                    _hold(found, place, judged, body, record_id)
    return found


def _by_record(results: Iterable[StepResult]) -> Iterator[tuple[int, Results]]:
    own: Results = []
    for result in results:
        if own and own[0].record_id != result.record_id:
            yield own[0].record_id, own
            own = []
        own.append(result)
    if own:
        yield own[0].record_id, own


def _bodies(flow: Flow, results: Results, found: Revalidation) -> Iterator[tuple[str, type[Contract], str]]:
    """(place, contract, body) of everything that was taken: the intake, each step's input and its output."""
    outputs: dict[str, str] = {}
    document = ""
    for result in results:
        if result.encoding or result.outcome in {Outcome.LATE, Outcome.ASKED} or result.side == Side.ENVELOPE:
            continue
        taken = result.outcome in {Outcome.ACCEPTED, Outcome.FIXED, Outcome.APPROVED, Outcome.ANSWERED}
        if result.step == INTAKE:
            if taken:
                yield INTAKE, flow.intake, result.output or ""
                document = result.output or ""
            continue
        try:
            step = flow.step(result.step)
        except UnknownStep:
            found.gone += 1
            continue
        if result.side == Side.RECEIVES:
            document = result.output or ""
            continue
        if document:  # the step ran, so it took its input
            yield f"{step.name} receives", step.receives, engine.assemble(step, document, outputs.get)[0]
        if taken:
            yield f"{step.name} returns", step.returns, result.output or ""
            document = outputs[step.name] = result.output or ""


def _hold(found: Revalidation, place: str, contract: type[Contract], body: str, record_id: int) -> None:
    found.bodies += 1
    violations = check(contract, body, side=Side.RECEIVES).violations
    if not violations:
        found.held[place] += 1
        return
    found.newly += 1
    for violation in violations:
        group = found.refused.setdefault(_group(place, contract, violation), Refusals(violation.sentence))
        if record_id not in group.records[-1:]:
            group.records.append(record_id)


def _group(place: str, contract: type[Contract], violation: Violation) -> Group:
    return place, contract.__name__, re.sub(r"/[0-9]+(?=/|$)", "/*", violation.pointer), violation.rule
