"""A whole drill: every seam of a flow, one after the other.

Whatever a drill does is rolled back, slice by slice, so that nothing is left behind, no matter when it is stopped, and
the database is nobody's for long. `docs/readiness.md` says why.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from handoffs.contracts import check
from handoffs.drill import classes, faults, inputs, outputs, proof
from handoffs.drill.cases import Case, DrillReport, SeamReport
from handoffs.drill.examples import Rehearsal, examples_of, rehearse
from handoffs.drill.judging import Schemas
from handoffs.drill.proof import Fault
from handoffs.drill.stage import Stage, acts_outside, nothing_kept, watched_writes
from handoffs.flows import Flow, Step
from handoffs.states import INTAKE, Side

PER_CLASS = 2  # mutants of each class and contract that go through the engine; all are held against the contract

OnSeam = Callable[[str, int, int], None]
"""Told the seam that begins, how many are done, and how many there are."""


def _quiet(seam: str, done: int, total: int) -> None:
    return None


@dataclass(slots=True)
class Drill:
    """A drill of one flow. `before`: the schemas of the last green drill."""

    flow: Flow
    seed: int = 1
    per_class: int = PER_CLASS
    before: Schemas = field(default_factory=dict)
    stage: Stage = field(init=False)
    rehearsals: list[Rehearsal] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.stage = Stage(self.flow)

    def run(self, *, step: str = "", on_seam: OnSeam = _quiet) -> DrillReport:
        """Drill the flow, or the seams before and after one step."""
        began = time.monotonic()
        if missing := self._missing_queue():
            report = DrillReport(self.flow.name, self.seed, [missing], time.monotonic() - began, step)
            return report
        source, examples = examples_of(self.flow)
        self.rehearsals = [rehearse(self.stage, example, source) for example in examples]
        wanted = self._wanted(step)
        reports = []
        for done, (name, make) in enumerate(wanted):
            on_seam(name, done, len(wanted))
            reports.append(make())
        return DrillReport(self.flow.name, self.seed, reports, time.monotonic() - began, step)

    def _missing_queue(self) -> SeamReport | None:
        """Without its queues nothing of a flow can be tried."""
        for place in (INTAKE, *(step.name for step in self.flow.steps)):
            try:
                proof.queue_is_reachable(self.flow.queue_of(place))
            except Fault as fault:
                case = Case("queue", "", f"the queue of {place}", "", fault.code, fault.sentence)
                return SeamReport(_seam_before(self.flow, place), place, "", [case])
        return None

    def _wanted(self, only: str) -> list[tuple[str, Callable[[], SeamReport]]]:
        flow = self.flow
        seams: list[tuple[str, Callable[[], SeamReport]]] = []
        places: list[Step | None] = [*flow.steps, None]
        for place, consumer in enumerate(places):
            producer = flow.steps[place - 1] if place else None
            names = {step.name for step in (producer, consumer) if step}
            if not only or only in names:
                name = f"{producer.name if producer else INTAKE} → {consumer.name if consumer else 'done'}"
                seams.append((name, lambda n=name, p=producer, c=consumer: self._seam(n, p, c)))  # type: ignore[misc]
        return seams

    def _seam(self, name: str, producer: Step | None, consumer: Step | None) -> SeamReport:
        given = producer.returns if producer else self.flow.intake
        taken = consumer.receives.__name__ if consumer else "the system of record"
        report = SeamReport(name, consumer.name if consumer else "", f"{given.__name__} → {taken}")
        report.cases += self._stopped(consumer)
        report.cases += self._handed_over(report, producer)
        if consumer is not None:
            report.cases += self._received(report, consumer)
        if not report.uncovered and (consumer is None or consumer.enforce):
            whys = classes.not_applicable(report.classes(), producer, consumer)
            report.not_applicable = whys | report.not_applicable
        return report

    def _stopped(self, consumer: Step | None) -> Iterator[Case]:
        """Good examples that stopped at this step: declared ones must not."""
        here = consumer.name if consumer else None
        for done in self.rehearsals:
            at = self.flow.steps[0].name if done.at == INTAKE else done.at
            if done.stopped and done.source == "declared" and at == here:
                yield Case("example", "", "a good example", "", "example_stopped", done.stopped)

    def _handed_over(self, report: SeamReport, producer: Step | None) -> Iterator[Case]:
        """The intake's mutants, or those of what the producer delivers."""
        if producer is None:
            if not (done := self._good("")):
                report.uncovered = self._why_not("")
                return
            words: dict[str, Any] = {"seed": f"{self.seed} intake", "per_class": self.per_class, "before": self.before}
            yield from inputs.intake_cases(self.stage, done, **words)
            return
        if not (done := self._good(producer.name)):
            report.uncovered = self._why_not(producer.name)
            return
        words = {"seed": f"{self.seed} {producer.name}", "per_class": self.per_class, "before": self.before}
        yield from outputs.output_cases(self.stage, producer, done, **words)

    def _received(self, report: SeamReport, step: Step) -> Iterator[Case]:
        if not step.enforce:
            report.note = f"{step.name} only observes: it refuses nothing, and nothing waits for it."
            return
        if acts_outside(step):
            report.uncovered = f"{step.name} acts outside of the database and has no stand_in=."
        if not (done := self._good(step.name)):
            report.uncovered = report.uncovered or self._why_not(step.name)
            return
        if step.receives is not self.flow.intake or self.flow.index(step.name):
            words: dict[str, Any] = {"per_class": self.per_class, "before": self.before}
            yield from inputs.step_cases(self.stage, step, done, seed=f"{self.seed} {step.name}", **words)
        yield from faults.fault_cases(self.stage, step, done, report)
        with nothing_kept():
            yield from self._judges_without_writing(step, done)

    def _judges_without_writing(self, step: Step, done: Rehearsal) -> Iterator[Case]:
        """The contract and `when` decide about a good body, and do nothing else."""
        with watched_writes() as writes:
            value = check(step.receives, done.passages[step.name].body, side=Side.RECEIVES).value
            if step.when is not None:
                step.when(value)
        if writes:
            yield Case("judging", "", "while contract and `when` judge", "", "acts_before_validation", writes[0])

    def _good(self, step: str) -> Rehearsal | None:
        """The first example that completed, and went through the step if one is named."""
        completed = (done for done in self.rehearsals if not done.stopped)
        return next((done for done in completed if not step or step in done.passages), None)

    def _why_not(self, step: str) -> str:
        stopped = [done for done in self.rehearsals if done.stopped]
        if any(not done.stopped for done in self.rehearsals):
            return f"No good example reaches {step}: give the flow one with examples=."
        if not stopped:
            return "No good example could be made: give the flow one with examples=."
        made = {"generated": "An input made from the contract", "recorded": "A recorded input"}
        what = made.get(stopped[0].source, "The example")
        return f"{what} stopped at {stopped[0].at}: {stopped[0].stopped} Give the flow good ones with examples=."


def _seam_before(flow: Flow, place: str) -> str:
    if place == INTAKE:
        return f"{INTAKE} → {flow.steps[0].name}"
    before = flow.before(place)
    return f"{before.name if before else INTAKE} → {place}"
