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

from handoffs import conf, dispatch, engine, strict_json
from handoffs.actions.escalations import Held, Person, change, hold, is_held_by_another
from handoffs.actions.plans import Plan, carry_out
from handoffs.actions.work import outputs_of
from handoffs.bodies import body_digest, raw_bytes, same
from handoffs.contracts import Checked, Contract, Violation, check, contract_hash, from_flaws
from handoffs.engine import as_json
from handoffs.errors import (
    BodyChanged,
    ContractBroken,
    LostRace,
    NothingChanged,
    ReasonRequired,
    TransitionNotAllowed,
    UnknownStep,
)
from handoffs.flows import Step
from handoffs.models import Escalation, StepResult
from handoffs.models.moves import RecordRow
from handoffs.states import ALLOWED, INTAKE, EscalationEvent, Event, Kind, Outcome, Resolution, Side, Status

REMEMBERED = (
    "status", "step", "queue_id", "job_queue", "tries_left", "payload", "encoding", "answer", "title", "columns",
    "priority", "alone",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Seen:
    """What the reviewer saw when deciding: the escalation's version and the digest of the body shown."""

    version: int
    digest: str = ""


def open_for(escalation: Escalation) -> frozenset[Resolution]:
    """The verdicts that an escalation's kind allows."""
    allowed = ALLOWED[Kind(escalation.kind)]
    if escalation.kind == Kind.REOPENED and escalation.came_from == Status.CLOSED:
        return allowed - {Resolution.APPROVE}
    return allowed


def body_of(escalation: Escalation, row: Any, side: Side) -> str:
    """The body that a verdict on `side` is about: the waiting output, or the document at the seam."""
    if side is Side.RETURNS and escalation.result is not None and escalation.result.output is not None:
        return escalation.result.output
    return str(row.payload)


def judge_body(plan: Plan, side: Side, body: str) -> Checked:
    """Hold a body against what it must hold now: the intake, what the step receives, or what it returns.

    Text that the gate refuses gives its flaws as violations.
    """
    read = strict_json.read(body.encode("utf-8", "surrogatepass"), max_bytes=conf.get("MAX_BODY"))
    if isinstance(read, tuple):
        return Checked(None, from_flaws(read, side=side), ())
    if side is Side.INTAKE:
        return check(plan.flow.intake, body, side=side)
    step = plan.flow.step(plan.step)
    if side is Side.RECEIVES:
        return engine.check_input(step, body, outputs_of(plan.row.id))[1]
    given = engine.assemble(step, stored_input(plan, step) or plan.row.payload, outputs_of(plan.row.id))[0]
    checked, violations = engine.check_output(step, given, body)
    return Checked(checked.value, violations, checked.unknown)


def violations_now(row: RecordRow, plan: Plan, side: Side) -> tuple[Violation, ...]:
    """Why a retry would be refused right now; nothing if the input holds its contract."""
    if row.encoding:
        return from_flaws(_flaws_of(row), side=side)
    return judge_body(plan, side, row.payload).violations


def _flaws_of(row: RecordRow) -> tuple[strict_json.Flaw, ...]:
    read = strict_json.read(raw_bytes(row.payload, row.encoding), max_bytes=conf.get("MAX_BODY"))
    return read if isinstance(read, tuple) else ()


# --- the verdicts ----------------------------------------------------------------------------------------------------


@transaction.atomic
def fix(*, escalation_id: int, by: Person, seen: Seen, body: str, side: Side | None = None) -> Escalation:
    """Put an edited body in the place of the one that stopped, if it holds its contract.

    `side` chooses the body where the kind leaves a choice (a failed step: its input, or the output in its stead).

    Raises:
        ContractBroken: the edited body breaks its contract; nothing was written.
        NothingChanged: the edit changes nothing.
        BodyChanged, LostRace, NotAllowed, TransitionNotAllowed: see `_begin`.
    """
    held = _begin(escalation_id, by, seen, Resolution.FIX)
    side = side or Side(held.escalation.side)
    before = body_of(held.escalation, held.plan.row, side)
    _require_same(before, seen)
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
    """Grant more tries, here or (rewinding) at an earlier step, if the input holds its contract now. Raises as `fix`."""
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
    return held


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
    except ValueError:
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


def stored_input(plan: Plan, step: Step) -> str | None:
    """The latest input of a step that still counts: a person's fix of it, or what the steps before it handed over."""
    flow = plan.flow
    earlier = [INTAKE, *(s.name for s in flow.steps[: flow.index(step.name)])]
    standing = StepResult.objects.standing().filter(record=plan.row.id).exclude(side=Side.ENVELOPE.value)
    handed = standing.filter(step__in=earlier).exclude(side=Side.RECEIVES.value)
    fixed = standing.filter(step=step.name, side=Side.RECEIVES.value)
    return (handed | fixed).order_by("-pk").values_list("output", flat=True).first()


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
    dispatch.ring_for([plan])
    escalation.refresh_from_db()
    return escalation
