"""A plan: one record's move, with the rows that come with it; `carry_out` makes many plans so at once.

A plan is built from a row as it was read and from the engine's decisions. Nothing is written before `carry_out`, and
then everything of a record or nothing: whoever lost the race against another writer leaves no trace.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from handoffs.actions.starts import Claimer, Started
from handoffs.contracts import Contract, Violation, check, contract_hash
from handoffs.engine import Arrival, Judgement, Outputs, as_json
from handoffs.flows import Flow, Step
from handoffs.models.moves import Happened, Move, RecordRow
from handoffs.models.queues import queue_id
from handoffs.reasons import why_it_stopped
from handoffs.states import INTAKE, EscalationState, Event, Kind, Outcome, Side, Status


@dataclass(slots=True)
class Plan:
    """One record on its way from a row to the next."""

    row: RecordRow
    flow: Flow
    at: datetime
    actor: str
    moved: Move = field(init=False)
    status: Status = field(init=False)
    step: str = field(init=False)
    results: list[dict[str, Any]] = field(default_factory=list)
    violations: list[dict[str, Any]] = field(default_factory=list)
    escalation: dict[str, Any] | None = None
    started: Started | None = None
    superseded: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.moved = Move(self.row)
        self.status, self.step = Status(self.row.status), self.row.step

    def get(self, name: str) -> Any:
        return self.moved.changes.get(name, getattr(self.row, name))

    def set(self, **changes: Any) -> None:
        self.moved.changes.update(changes)

    def happen(self, event: Event, new: Status, *, code: str = "", body: str | None = None, step: str = "") -> None:
        """Note an event that leads to `new`; leaving `running` gives up the lease."""
        if self.status is Status.RUNNING and new is not Status.RUNNING:
            self.set(lease_expires_at=None, started_at=None, claimed_with=0)
        attempt = self.get("attempt")
        happened = Happened(event, self.status, new, step or self.step, attempt, self.actor, code, body)
        self.moved.happened.append(happened)
        self.status = new
        ended = new in {Status.COMPLETED, Status.CLOSED}
        self.set(status=new.value, ended_at=(self.get("ended_at") or self.at) if ended else None)

    def happen_opened(self, body: str) -> None:
        """Note the first event of a record that is not there yet."""
        self.moved.happened.append(Happened(Event.OPEN, None, Status.READY, self.step, 0, self.actor, body=body))

    def adopt(self, record_id: int) -> None:
        """Tell the rows of a new record its id."""
        self.row = self.row._replace(id=record_id)
        for values in (*self.results, *self.violations, *([self.escalation] if self.escalation else [])):
            values["record_id"] = record_id

    def describe(self, value: Contract | None, data: object) -> None:
        """Set title, columns and priority from a document; one that names nothing leaves the title as it was.

        A flow's own rule that fails must not stop the record.
        """
        if self.flow.title or self.flow.columns:
            title, columns = self.flow.describe(data)
            self.set(columns=as_json(columns), **({"title": title} if title else {}))
        if self.flow.priority and value is not None:
            with suppress(Exception):
                self.set(priority=max(-1000, min(1000, int(self.flow.priority(value)))))

    def describe_text(self, document: str, contract: type[Contract]) -> None:
        """As `describe`, from the text of a document that holds `contract`."""
        value = check(contract, document, side=Side.RETURNS).value if self.flow.priority else None
        self.describe(value, json.loads(document) if self.flow.title or self.flow.columns else None)

    def rename(self, step: Step) -> None:
        """The step has another name in the code now; the record follows."""
        self.step = step.name
        self.set(step=step.name)

    @property
    def ready_on(self) -> str:
        """The job queue on which the record can be taken now; empty if it can't."""
        is_due = self.status is Status.READY and self.get("available_at") <= self.at
        return str(self.get("job_queue")) if is_due else ""

    def outputs(self, step: str, output: str, stored: Outputs) -> Outputs:
        """Earlier outputs as they will be once this plan is carried out."""
        return lambda name: output if name == step else stored(name)

    def place(self, step: Step, *, available_at: datetime | None = None) -> None:
        """Put the record before a step, with that step's tries, queue and job queue."""
        self.step = step.name
        self.set(
            step=step.name,
            queue_id=queue_id(self.flow.queue_of(step.name), self.row.queue_id),
            job_queue=step.job_queue if step.by == "worker" else "",
            tries_left=step.retry.cap,
            available_at=available_at or self.at,
            answer="",
            alone=False,
        )

    def hand_over(self, document: str, encoding: str = "") -> None:
        self.set(payload=document, encoding=encoding)

    # --- what the engine decided -------------------------------------------------------------------------------------

    def arrive(self, arrival: Arrival, claimer: Claimer) -> None:
        """Make an arrival so: skip, then refuse, ask, start or wait. The record's status is `ready` before."""
        for name in arrival.skipped:
            last = arrival.step is None and name == arrival.skipped[-1]
            self.happen(Event.SKIP, Status.COMPLETED if last else Status.READY, step=name)
        if arrival.step is None:
            return
        if arrival.step.name != self.step:
            self.place(arrival.step)
        if arrival.violations and not arrival.step.enforce:
            self.note(arrival.violations, step=arrival.step, side=Side.RECEIVES)
        if arrival.event is Event.REFUSE:
            self.happen(Event.REFUSE, Status.ESCALATED, code=arrival.code, body=self.get("payload"))
            self.escalate(Kind.REFUSED, Side.RECEIVES, arrival.violations, code=arrival.code, sentence=arrival.sentence)
        elif arrival.event is Event.ASK:
            self.happen(Event.ASK, Status.ESCALATED, code="review")
            self.escalate(Kind.REVIEW, Side.RETURNS, code="review")
        elif arrival.event is Event.START:
            self.start(arrival, claimer)

    def start(self, arrival: Arrival, claimer: Claimer) -> None:
        step, checked = arrival.step, arrival.checked
        if step is None or checked is None:
            raise ValueError("only an arrival that starts has a step and a body")
        lease = self.at + timedelta(seconds=step.lease_seconds)
        self.set(
            attempt=self.get("attempt") + 1,
            tries_left=self.get("tries_left") - 1,
            started_at=self.at,
            lease_expires_at=lease,
            claimed_with=claimer.size,
        )
        self.happen(Event.START, Status.RUNNING)
        self.started = Started(
            self.row.id,
            self.row.external_id,
            self.flow,
            step,
            self.get("attempt"),
            arrival.body,
            checked.value,
            self.get("answer"),
            self.at,
            lease,
        )

    # --- rows that come with the move --------------------------------------------------------------------------------

    def result(self, step: str, side: Side, outcome: Outcome, **values: Any) -> None:
        """Keep what was delivered. `values` are columns of StepResult."""
        known = {"record_id": self.row.id, "step": step, "side": side.value, "outcome": outcome.value}
        self.results.append(known | {"started_at": self.at, "ended_at": self.at, "actor": self.actor} | values)

    def supersede(self, results: Iterable[int]) -> None:
        """Results that no longer count, because their step runs anew."""
        self.superseded += results

    def note(
        self, violations: Iterable[Violation], *, step: Step | None, side: Side, attempt: int | None = None
    ) -> None:
        """Keep violations as rows."""
        seam = seam_name(self.flow, step, side)
        contract = self.flow.intake if step is None else (step.returns if side is Side.RETURNS else step.receives)
        producer = self.row.producer if side is not Side.RETURNS else self.actor
        for v in violations:
            self.violations.append(
                {
                    "record_id": self.row.id,
                    "escalation_id": None,
                    "attempt": attempt,
                    "flow": self.flow.name,
                    "step": step.name if step else INTAKE,
                    "seam": seam,
                    "side": v.side.value,
                    "pointer": v.pointer,
                    "rule": v.rule,
                    "expected": v.expected,
                    "received": v.received,
                    "sentence": v.sentence,
                    "fingerprint": v.fingerprint(flow=self.flow.name, seam=seam, producer=producer),
                    "contract_hash": contract_hash(contract),
                    "producer": producer,
                    "found_at": self.at,
                }
            )

    def escalate_judged(self, judgement: Judgement, step: Step) -> None:
        """Open the escalation that a judgement asks for; a fix of it edits the output, if there is one."""
        if judgement.kind is None:
            raise ValueError("only a judgement with a kind escalates")
        edits_output = judgement.kind in {Kind.BROKEN_OUTPUT, Kind.LOW_CONFIDENCE}
        asked = judgement.kind is Kind.ASKED
        self.escalate(
            judgement.kind,
            Side.RETURNS if edits_output else Side.RECEIVES,
            judgement.violations,
            code=judgement.code,
            sentence=judgement.sentence,
            attempt=self.row.attempt,
            confidence=judgement.confidence,
            bar=step.confidence,
            question=judgement.sentence if asked else "",
            answers=as_json(judgement.answers),
        )

    def escalate(
        self,
        kind: Kind,
        side: Side,
        violations: Sequence[Violation] = (),
        *,
        code: str = "",
        sentence: str = "",
        **values: Any,
    ) -> None:
        """Open an escalation at the step where the record stands. `values` are further columns of Escalation."""
        step = next((s for s in self.flow.steps if s.name == self.step), None)
        first = len(self.violations)
        self.note(violations, step=step, side=side, attempt=values.pop("attempt", None))
        noted = self.violations[first:]
        sure = {name: values.get(name) for name in ("confidence", "bar")}
        reason = why_it_stopped(kind, self.step, code=code, sentence=sentence, violations=violations, **sure)
        self.escalation = {
            "record_id": self.row.id,
            "queue_id": self.get("queue_id"),
            "kind": kind.value,
            "state": EscalationState.OPEN.value,
            "flow": self.flow.name,
            "step": self.step,
            "side": side.value,
            "reason": reason,
            "code": code,
            "pointer": noted[0]["pointer"] if noted else "",
            "violated": len(noted),
            "fingerprint": noted[0]["fingerprint"] if noted else "",
            "priority": self.get("priority"),
            "opened_at": self.at,
            "due_at": self.at,
        } | values


def seam_name(flow: Flow, step: Step | None, side: Side) -> str:
    """The place between two neighbours, as people read it: “extract → check”."""
    if step is None:
        return f"{INTAKE} → {flow.steps[0].name}"
    if side is Side.RETURNS:
        following = flow.following(step.name)
        return f"{step.name} → {following.name if following else 'done'}"
    before = flow.before(step.name)
    return f"{before.name if before else INTAKE} → {step.name}"


def judged(plan: Plan, judgement: Judgement, step: Step) -> dict[str, Any]:
    """The columns of a StepResult that a judgement fills."""
    return {
        "confidence": judgement.confidence,
        "bar": step.confidence,
        "unknown_fields": as_json(judgement.unknown),
        "code": judgement.code,
        "message": judgement.sentence,
        "contract_hash": contract_hash(step.returns),
    }
