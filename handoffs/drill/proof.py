"""The proofs: that a record stopped as it must, that it is recoverable, and that its history holds.

Each raises `Fault` with the code of what does not hold.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from handoffs.bodies import raw_bytes
from handoffs.drill import drive
from handoffs.drill.outside import Answer
from handoffs.drill.stage import Probe, nothing_kept
from handoffs.errors import ContractBroken, HandoffsError
from handoffs.flows import Flow
from handoffs.models import Escalation, Queue, Record
from handoffs.models.history import verify
from handoffs.models.moves import RecordRow
from handoffs.states import Kind, Status


class Fault(Exception):
    """Something does not hold; `code` is one of `cases.CODES`."""

    def __init__(self, code: str, sentence: str = "") -> None:
        super().__init__(sentence or code)
        self.code, self.sentence = code, sentence


@dataclass(frozen=True, slots=True)
class Before:
    """What must not change while nothing may run: calls of the step's code, attempts and tries."""

    calls: int
    attempt: int
    tries_left: int

    @classmethod
    def of(cls, record: RecordRow | None, probe: Probe, step: str) -> Before:
        if record is None:
            return cls(probe.calls[step], 0, 0)
        return cls(probe.calls[step], record.attempt, record.tries_left)


def queue_is_reachable(slug: str) -> None:
    """The queue that the flow names is there, and its owner can log in."""
    queue = Queue.objects.select_related("owner").filter(slug=slug).first()
    if queue is None:
        raise Fault("queue_missing", f"No queue is named {slug}.")
    if not queue.owner.is_active:
        raise Fault("owner_unreachable", f"{queue.owner.get_username()}, who owns {slug}, is not active.")


def nothing_ran(record: RecordRow, probe: Probe, step: str, before: Before) -> None:
    if probe.calls[step] != before.calls:
        raise Fault("code_called", f"The code of {step} was called.")
    if record.attempt != before.attempt or (record.step == step and record.tries_left != before.tries_left):
        raise Fault("try_used", f"Attempt {record.attempt}, {record.tries_left} tries left.")


def has_stopped(flow: Flow, record: RecordRow, step: str, kind: Kind) -> Escalation:
    """One escalation of this kind, in the queue that the flow names for this step."""
    found = list(Escalation.objects.unresolved().select_related("queue__owner").filter(record=record.id))
    if record.status != Status.ESCALATED or len(found) != 1:
        raise Fault("not_escalated", f"The record is {record.status} at {record.step}.")
    escalation = found[0]
    if (record.step, escalation.kind) != (step, kind):
        raise Fault("not_escalated", f"It stopped at {record.step} as {escalation.kind}, not at {step} as {kind}.")
    named = flow.queue_of(step)
    if escalation.queue.slug != named:
        raise Fault("wrong_queue", f"It lies in {escalation.queue.slug}, the flow names {named}.")
    if not escalation.reason:
        raise Fault("no_reason")
    return escalation


def says_why(escalation: Escalation) -> None:
    """There are violations, and none of them is only that a validator failed."""
    rules = set(escalation.violations.values_list("rule", flat=True))
    if not rules:
        raise Fault("no_reason", "It has no violation.")
    if rules == {"validator_failed"}:
        raise Fault("validator_broke", escalation.reason)


def is_told(answer: Answer | None, *codes: str) -> None:
    """Whoever sent it over HTTP was told that it is refused; nobody else can be."""
    if answer is not None and not (answer.is_refusal and (not codes or answer.data.get("code") in codes)):
        raise Fault("not_told", f"The answer was {answer.status}.")


def is_kept(record: RecordRow, sent: bytes, around: bytes = b"") -> None:
    """The body is kept as sent; with `around` it, where it can't be told apart from that."""
    if raw_bytes(record.payload, record.encoding) not in {sent, around or sent}:
        raise Fault("body_changed", f"{len(sent)} bytes were sent, {len(record.payload)} characters are kept.")


def gate_is_shut(escalation: Escalation) -> None:
    """A retry is refused while the input breaks its contract."""
    with nothing_kept():
        try:
            drive.retry(escalation)
        except ContractBroken:
            return
        except HandoffsError as error:
            raise Fault("gate_open", f"The retry said: {error}") from error
        raise Fault("gate_open")


def recovers(flow: Flow, record_id: int, decide: Callable[[Escalation], None]) -> None:
    """The right decision is taken, the record completes, and its history holds."""
    escalation = drive.waiting(record_id)
    if escalation is None:
        raise Fault("not_escalated")
    try:
        decide(escalation)
    except HandoffsError as error:
        raise Fault("fix_refused", _said(error)) from error
    record = drive.advance(flow, record_id)
    if record.status != Status.COMPLETED:
        stopped = drive.waiting(record_id)
        raise Fault("not_completed", stopped.reason if stopped else f"It stays {record.status} at {record.step}.")
    history_holds(record)


def history_holds(record: RecordRow) -> None:
    if faults := verify(Record.objects.get(pk=record.id)):
        raise Fault("history_broken", faults[0])


def _said(error: HandoffsError) -> str:
    broken = error.violations if isinstance(error, ContractBroken) else ()
    return f"{broken[0].pointer}: {broken[0].sentence}" if broken else str(error)
