"""Ending a record that is not escalated, taking an ended one up again, and taking a verdict back."""

from __future__ import annotations

import json
from datetime import timedelta

from django.db import transaction
from django.utils.translation import gettext as _

from handoffs import conf
from handoffs.actions import outbox
from handoffs.actions.escalations import Held, Person, actor_of, change, hold, require_decider
from handoffs.actions.plans import Plan
from handoffs.actions.writing import carry_out
from handoffs.errors import LostRace, NotAllowed, ReasonRequired, RecordPurged, TransitionNotAllowed, UndoExpired
from handoffs.flows import get_flow
from handoffs.models import Escalation, Record, StepResult, sql
from handoffs.models.moves import lock
from handoffs.states import EscalationEvent, Event, Kind, Outcome, Side, Status


def _held_record(record: Record, by: Person) -> Plan:
    at = sql.now()
    row = lock([record.pk])[record.pk]
    require_decider(by, record.queue)
    return Plan(row, get_flow(row.flow), at, actor_of(by))


@transaction.atomic
def close_record(*, record: Record, by: Person, reason: str) -> None:
    """End a ready or running record. A result of a running attempt then comes late.

    Raises:
        ReasonRequired: the reason is not one of its queue's.
        TransitionNotAllowed: it is escalated (decide there) or has ended.
        NotAllowed, LostRace: as for every verdict.
    """
    plan = _held_record(record, by)
    if reason not in record.queue.reasons:
        raise ReasonRequired
    if plan.status not in {Status.READY, Status.RUNNING}:
        raise TransitionNotAllowed(_("Only a record that is ready or running is closed here."))
    if plan.status is Status.RUNNING:
        plan.result(plan.step, Side.RETURNS, Outcome.CLOSED, attempt=plan.row.attempt, started_at=plan.row.started_at)
    plan.happen(Event.CLOSE, Status.CLOSED, code="closed")
    if not carry_out([plan], plan.at):
        raise LostRace


@transaction.atomic
def reopen(*, record: Record, by: Person) -> Escalation:
    """Take an ended record up again, as an escalation that the reviewer has.

    Raises:
        RecordPurged: its bodies were erased.
        TransitionNotAllowed: it has not ended.
        NotAllowed, LostRace: as for every verdict.
    """
    plan = _held_record(record, by)
    if plan.row.purged_at is not None:
        raise RecordPurged
    ended_as = plan.status
    if ended_as not in {Status.COMPLETED, Status.CLOSED}:
        raise TransitionNotAllowed(_("Only a record that has ended can be reopened."))
    plan.happen(Event.REOPEN, Status.ESCALATED, code=ended_as.value)
    side = Side.RETURNS if ended_as is Status.COMPLETED else _closed_side(plan)
    plan.escalate(Kind.REOPENED, side, came_from=ended_as.value, result_id=None)
    if not carry_out([plan], plan.at):
        raise LostRace
    return Escalation.objects.unresolved().get(record=record)


def _closed_side(plan: Plan) -> Side:
    return Side.INTAKE if plan.step == "intake" else Side.RECEIVES


@transaction.atomic
def undo(*, escalation_id: int, by: Person) -> Escalation:
    """Take one's own verdict back: the same escalation, with the document, step and tries as they were before it.

    Raises:
        UndoExpired: the time is over, or something followed.
        NotAllowed: somebody else decided.
        LostRace: something followed at this very moment.
    """
    held = hold(escalation_id=escalation_id, version=None, by=by)
    before = json.loads(held.escalation.before)
    _require_undoable(held, by, before)
    plan = held.plan
    plan.happen(Event.UNDO, Status.ESCALATED)
    plan.set(**{name: value for name, value in before.items() if name not in {"superseded", "seq", "status"}})
    change(
        held,
        EscalationEvent.UNDO,
        resolution="",
        resolved_at=None,
        resolved_by=None,
        assignee=by,
        claimed_until=plan.at + timedelta(seconds=conf.get("CLAIM")),
        close_reason="",
        note="",
        before="{}",
    )
    if not carry_out([plan], plan.at):
        raise LostRace
    _mark_undone(held.escalation, before["superseded"])
    outbox.take_back(held.escalation)
    held.escalation.refresh_from_db()
    return held.escalation


def _require_undoable(held: Held, by: Person, before: dict[str, object]) -> None:
    escalation, plan = held.escalation, held.plan
    if escalation.resolved_at is None:
        raise UndoExpired(_("There is no decision to undo."))
    if escalation.resolved_by_id != by.pk:
        raise NotAllowed(_("Only who decided can undo it."))
    late = plan.at > escalation.resolved_at + timedelta(seconds=conf.get("UNDO"))
    if late or plan.row.seq != before.get("seq"):
        raise UndoExpired


def _mark_undone(escalation: Escalation, superseded: list[int]) -> None:
    """The verdict's own result no longer counts; those it had superseded count again."""
    results = StepResult.objects.filter(record=escalation.record_id)
    results.filter(attempt__isnull=True, ended_at__gte=escalation.resolved_at).update(superseded=True)
    results.filter(pk__in=superseded).update(superseded=False)
