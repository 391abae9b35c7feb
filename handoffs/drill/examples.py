"""Good inputs for a drill, and what becomes of each on its way through the flow.

Declared examples come first: with them the same seed gives the same mutants everywhere, and no report holds anybody's
data. Without any, records that completed lately are taken, and without those an input is made from the contract.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from handoffs.actions.work import outputs_of
from handoffs.contracts import check
from handoffs.drill import drive
from handoffs.drill.drive import CannotAnswer
from handoffs.drill.samples import NoSample, sample
from handoffs.drill.stage import Stage, nothing_kept
from handoffs.engine import assemble
from handoffs.errors import HandoffsError
from handoffs.flows import Flow, Intake, Step
from handoffs.models import Record, StepResult
from handoffs.shapes import Shape
from handoffs.states import INTAKE, Side, Status

RECORDED = 3

Source = Literal["declared", "recorded", "generated"]


@dataclass(frozen=True, slots=True)
class Passage:
    """A step's part of a good run: the document before it, the body it is handed and what it hands over, as texts."""

    document: str
    body: str
    output: str = ""
    confidence: float | None = None


@dataclass(slots=True)
class Rehearsal:
    """A good example's run. `stopped` says why it did not complete, `at` where; empty when it did."""

    example: Intake
    source: Source
    passages: dict[str, Passage] = field(default_factory=dict)
    at: str = ""
    stopped: str = ""


def examples_of(flow: Flow) -> tuple[Source, list[Intake]]:
    """The good inputs of a flow, and where they come from."""
    declared = flow.examples() if callable(flow.examples) else flow.examples
    if found := list(declared):
        return "declared", found
    if recorded := list(_recorded(flow)):
        return "recorded", recorded
    try:
        return "generated", [Intake(json.dumps(sample(Shape.of(flow.intake)), ensure_ascii=False))]
    except NoSample:
        return "generated", []


def _recorded(flow: Flow) -> Iterable[Intake]:
    """The inputs of the records that completed last, as far as they still hold."""
    done = Record.objects.filter(flow=flow.name, status=Status.COMPLETED, purged_at__isnull=True).order_by("-pk")
    for record in done[:RECORDED]:
        taken = StepResult.objects.filter(record=record, step=INTAKE, side=Side.INTAKE, encoding="").order_by("-pk")
        body = taken.values_list("output", flat=True).first()
        if body and not check(flow.intake, body, side=Side.INTAKE).violations:
            files = record.attachments.exclude(content=None).values_list("name", "media_type", "content")
            yield Intake(body, None, [(name, kind, bytes(content)) for name, kind, content in files if content])


def rehearse(stage: Stage, example: Intake, source: Source) -> Rehearsal:
    """Let a good example go through, to its end and once to each step."""
    done = Rehearsal(example, source)
    try:
        for step in stage.flow.steps:
            if passage := _arrival(stage, example, step):
                done.passages[step.name] = passage
        _complete(stage, done)
    except (CannotAnswer, HandoffsError) as problem:
        done.at, done.stopped = done.at or INTAKE, str(problem)
    return done


def _arrival(stage: Stage, example: Intake, step: Step) -> Passage | None:
    """What the step is handed; None where the record never gets there or the step is skipped."""
    with nothing_kept(), stage.play(outside=step.name) as flow:
        record = drive.advance(flow, drive.opened(flow, example), until=step.name)
        if (record.status, record.step) != (Status.READY, step.name):
            return None
        body = assemble(step, record.payload, outputs_of(record.id))[0]
        return Passage(record.payload, body) if _is_wanted(step, body) else None


def _is_wanted(step: Step, body: str) -> bool:
    value = check(step.receives, body, side=Side.RECEIVES).value
    try:
        return step.when is None or value is None or bool(step.when(value))
    except Exception:  # the flow's own code; that it fails is found where the record stops
        return True


def _complete(stage: Stage, done: Rehearsal) -> None:
    with nothing_kept(), stage.play() as flow:
        record_id = drive.opened(flow, done.example)
        record = drive.advance(flow, record_id)
        if record.status != Status.COMPLETED:
            escalation = drive.waiting(record_id)
            done.at, done.stopped = record.step, escalation.reason if escalation else f"It stays {record.status}."
        for name, passage in done.passages.items():
            if handed := drive.handed_over(record_id, name):
                output = handed.output or ""
                done.passages[name] = Passage(passage.document, passage.body, output, handed.confidence)
