"""Verdicts: fix, approve, answer, retry, close; reopen and undo.

Each one locks the record and its escalation, checks that both are what the reviewer saw, resolves the escalation and
moves the record, in one transaction. What moves on waits ten seconds before it starts, so that it can be taken back.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import jsonpatch
from django.db import transaction
from django.utils.translation import gettext as _

from handoffs import conf, dispatch
from handoffs.actions import outbox
from handoffs.actions.escalations import Held, Person, actor_of, change, hold, is_held_by_another
from handoffs.actions.judging import approves, body_of, fixed_by, judge_body, open_for, stored_input, violations_now
from handoffs.actions.plans import Plan
from handoffs.actions.writing import carry_out
from handoffs.bodies import body_digest, same
from handoffs.contracts import Checked, Contract, contract_hash
from handoffs.crashpoints import reach
from handoffs.engine import as_json
from handoffs.errors import (
    BodyChanged,
    ContractBroken,
    LostRace,
    NotAllowed,
    NothingChanged,
    ReasonRequired,
    TransitionNotAllowed,
    UnknownStep,
)
from handoffs.models import Draft, Escalation, StepResult
from handoffs.states import INTAKE, EscalationEvent, Event, Kind, Outcome, Resolution, Side, Status

REMEMBERED = (
    "status", "step", "queue_id", "job_queue", "tries_left", "payload", "encoding", "answer", "title", "columns",
    "priority", "alone",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Seen:
    """What the reviewer saw when deciding: the escalation's version and the digest of the body shown."""

    version: int
    digest: str = ""


# --- the verdicts ----------------------------------------------------------------------------------------------------


@transaction.atomic
def fix(*, escalation_id: int, by: Person, seen: Seen, body: str, side: Side | None = None) -> Escalation:
    """Put an edited body in the place of the one that stopped, if it holds its contract.

    `side` chooses the body where the kind leaves a choice (a failed step: its input, or the output in its stead). A fix
    that changes nothing is an approval where the kind allows one.

    Raises:
        ContractBroken: the edited body breaks its contract; nothing was written.
        NothingChanged: the edit changes nothing, and there is nothing to approve.
        BodyChanged, LostRace, NotAllowed, TransitionNotAllowed: see `_begin`.
    """
    held = _begin(escalation_id, by, seen, Resolution.FIX)
    side = side or Side(held.escalation.side)
    before = body_of(held.escalation, held.plan.row, side)
    _require_same(before, seen)
    if side is Side.RETURNS and Resolution.APPROVE in open_for(held.escalation) and same(before, body):
        return approve(escalation_id=escalation_id, by=by, seen=seen)
    _require_changed(before, body)
    checked = _require_holds(held.plan, side, body)
    _write_edit(held, side, Outcome.FIXED, body, before, checked)
    if side is Side.RETURNS:
        _move_on(held, Event.FIX, body)
    else:
        _take_again(held, Event.FIX, body, side)
    return _decide(held, by, Resolution.FIX)


@transaction.atomic
def approve(*, escalation_id: int, by: Person, seen: Seen) -> Escalation:
    """Take the waiting output as it is, if it holds its contract now. Raises as `fix`."""
    held = _begin(escalation_id, by, seen, Resolution.APPROVE)
    output = body_of(held.escalation, held.plan.row, Side.RETURNS)
    _require_same(output, seen)
    if held.escalation.kind == Kind.REOPENED:
        held.plan.happen(Event.APPROVE, Status.COMPLETED, body=output)
        return _decide(held, by, Resolution.APPROVE)
    checked = _require_holds(held.plan, Side.RETURNS, output)
    _write_edit(held, Side.RETURNS, Outcome.APPROVED, output, output, checked)
    _move_on(held, Event.APPROVE, output)
    return _decide(held, by, Resolution.APPROVE)


@transaction.atomic
def answer(*, escalation_id: int, by: Person, seen: Seen, text: str) -> Escalation:
    """Answer an agent's question, or do a step that a person does: then `text` is its output. Raises as `fix`."""
    held = _begin(escalation_id, by, seen, Resolution.ANSWER)
    if held.escalation.kind == Kind.REVIEW:
        checked = _require_holds(held.plan, Side.RETURNS, text)
        _write_edit(held, Side.RETURNS, Outcome.ANSWERED, text, held.plan.row.payload, checked)
        _move_on(held, Event.ANSWER, text)
        return _decide(held, by, Resolution.ANSWER)
    allowed = held.escalation.allowed_answers
    if not text.strip() or (allowed and text not in allowed):
        raise ReasonRequired(_("Choose one of the answers.") if allowed else _("Write an answer."))
    held.plan.result(held.plan.step, Side.ENVELOPE, Outcome.ANSWERED, output=as_json(text))
    held.plan.happen(Event.ANSWER, Status.READY, body=text)
    _wait(held.plan)
    held.plan.set(answer=text, tries_left=max(1, held.plan.get("tries_left")))
    return _decide(held, by, Resolution.ANSWER)


@transaction.atomic
def retry(*, escalation_id: int, by: Person, seen: Seen, tries: int = 1, step: str | None = None) -> Escalation:
    """Grant more tries, here or (rewinding) at an earlier step, if the input holds now. Raises as `fix`."""
    held = _begin(escalation_id, by, seen, Resolution.RETRY)
    plan = held.plan
    target = step or plan.step
    if target != plan.row.step or held.escalation.kind == Kind.REOPENED:
        _rewind(held, target)
    elif plan.step == INTAKE:
        checked = _require_holds(plan, Side.INTAKE, plan.row.payload)
        _write_edit(held, Side.INTAKE, Outcome.ACCEPTED, plan.row.payload, plan.row.payload, checked)
        _take_again(held, Event.RETRY, plan.row.payload, Side.INTAKE)
        return _decide(held, by, Resolution.RETRY)
    _require_holds(plan, Side.RECEIVES, plan.get("payload"))
    plan.happen(Event.RETRY, Status.READY, code="granted")
    _wait(plan)
    plan.set(tries_left=max(1, min(tries, 100)))
    return _decide(held, by, Resolution.RETRY)


@transaction.atomic
def close(*, escalation_id: int, by: Person, seen: Seen, reason: str, note: str = "") -> Escalation:
    """End a record, with a reason from its queue's list. Raises `ReasonRequired`, and as `fix`."""
    held = _begin(escalation_id, by, seen, Resolution.CLOSE)
    if reason not in held.escalation.queue.reasons:
        raise ReasonRequired
    held.plan.happen(Event.CLOSE, Status.CLOSED, code="closed")
    return _decide(held, by, Resolution.CLOSE, close_reason=reason, note=note)


# --- what they share -------------------------------------------------------------------------------------------------


def _begin(escalation_id: int, by: Person, seen: Seen, resolution: Resolution) -> Held:
    """Lock and check.

    Raises:
        LostRace: decided or changed by somebody else, or somebody else has it.
        NotAllowed: the person may not decide here.
        TransitionNotAllowed: the kind does not allow this verdict.
    """
    held = hold(escalation_id=escalation_id, version=seen.version, by=by)
    if is_held_by_another(held.escalation, by, held.plan.at):
        raise LostRace(_("Somebody else has it. Take it over first."))
    if held.escalation.is_resolved or resolution not in open_for(held.escalation):
        raise TransitionNotAllowed(_("This is not one of the decisions that are open here."))
    _require_second(held, by, resolution)
    return held


def _require_second(held: Held, by: Person, resolution: Resolution) -> None:
    """In a queue of two people, who fixed the record does not approve it."""
    escalation = held.escalation
    takes_two = escalation.queue.two_people and approves(escalation, resolution)
    if takes_two and fixed_by(actor_of(by), [escalation.record_id]):
        raise NotAllowed(_("You fixed this record: here somebody else has to approve it."))


def _require_same(body: str, seen: Seen) -> None:
    if seen.digest and body_digest(body) != seen.digest:
        raise BodyChanged


def _require_changed(before: str, after: str) -> None:
    if same(before, after):
        raise NothingChanged


def _require_holds(plan: Plan, side: Side, body: str) -> Checked:
    encoded = plan.get("encoding") and body == plan.row.payload
    checked = Checked(None, violations_now(plan.row, plan, side), ()) if encoded else judge_body(plan, side, body)
    if checked.violations:
        raise ContractBroken(checked.violations)
    return checked


def _contract(plan: Plan, side: Side) -> type[Contract]:
    if side is Side.INTAKE:
        return plan.flow.intake
    step = plan.flow.step(plan.step)
    return step.receives if side is Side.RECEIVES else step.returns


def _write_edit(held: Held, side: Side, outcome: Outcome, body: str, before: str, checked: Checked) -> None:
    plan = held.plan
    plan.result(
        INTAKE if side is Side.INTAKE else plan.step,
        side,
        outcome,
        output=body,
        started_at=held.escalation.first_seen_at or plan.at,
        contract_hash=contract_hash(_contract(plan, side)),
        unknown_fields=as_json(checked.unknown),
        patch=_patch(before, body),
    )


def _patch(before: str, after: str) -> str:
    """JSON Patch from the one body to the other; the whole where the first is no JSON."""
    new = json.loads(after)
    try:
        old = json.loads(before)
    except (ValueError, RecursionError):  # what a gate refused may be nested beyond all reading
        return as_json([{"op": "replace", "path": "", "value": new}])
    return as_json(jsonpatch.make_patch(old, new).patch)


def _wait(plan: Plan) -> None:
    """Let nothing start before the verdict can no longer be undone."""
    plan.set(available_at=plan.at + timedelta(seconds=conf.get("UNDO")))


def _move_on(held: Held, event: Event, output: str) -> None:
    """Hand the decided output to the next step, or complete."""
    plan = held.plan
    step = plan.flow.step(plan.step)
    following = plan.flow.following(step.name)
    plan.hand_over(output)
    plan.describe_text(output, step.returns)
    if following is None:
        plan.happen(event, Status.COMPLETED, body=output)
        return
    plan.happen(event, Status.READY, body=output)
    plan.place(following)
    _wait(plan)


def _take_again(held: Held, event: Event, body: str, side: Side) -> None:
    """Put the decided input before its step, with all its tries."""
    plan = held.plan
    step = plan.flow.steps[0] if side is Side.INTAKE else plan.flow.step(plan.step)
    plan.hand_over(body)
    plan.happen(event, Status.READY, body=body)
    plan.place(step)
    plan.describe_text(body, plan.flow.intake if side is Side.INTAKE else step.receives)
    _wait(plan)


def _rewind(held: Held, target: str) -> None:
    """Put the record before `target` with the input that was stored for it; results from there on no longer count."""
    plan = held.plan
    flow, step = plan.flow, plan.flow.step(target)
    body = stored_input(plan, step)
    if body is None:
        raise UnknownStep(_("The record never reached %(step)s.") % {"step": target})
    later = [s.name for s in flow.steps[flow.index(target) :]]
    superseded = StepResult.objects.standing().filter(record=plan.row.id, step__in=later)
    superseded = superseded.exclude(step=target, side=Side.RECEIVES.value)
    ids = list(superseded.values_list("pk", flat=True))
    plan.supersede(ids)
    plan.hand_over(body)
    plan.place(step)


def _decide(held: Held, by: Person, resolution: Resolution, **values: Any) -> Escalation:
    """Resolve the escalation and carry the plan out; both or neither."""
    escalation, plan = held.escalation, held.plan
    remembered = {name: getattr(plan.row, name) for name in REMEMBERED}
    remembered |= {"superseded": plan.superseded, "seq": plan.row.seq + len(plan.moved.happened)}
    change(
        held,
        EscalationEvent.RESOLVE,
        resolution=resolution.value,
        resolved_at=plan.at,
        resolved_by=by,
        assignee=by,
        claimed_until=None,
        snoozed_until=None,
        before=as_json(remembered),
        **values,
    )
    if not carry_out([plan], plan.at):
        raise LostRace
    Draft.objects.filter(escalation=escalation, author=by).delete()
    reach("in_verdict")
    dispatch.ring_for([plan])
    escalation.refresh_from_db()
    outbox.resolved(escalation, by)
    return escalation
