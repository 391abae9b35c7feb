"""What a verdict is about: which decisions are open, which body they concern, and whether it holds its contract now."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from handoffs import conf, engine, strict_json
from handoffs.actions.plans import Plan
from handoffs.actions.work import outputs_of
from handoffs.bodies import raw_bytes
from handoffs.contracts import Checked, Violation, check, from_flaws
from handoffs.flows import Step
from handoffs.models import Escalation, StepResult
from handoffs.models.moves import RecordRow
from handoffs.states import ALLOWED, INTAKE, Kind, Outcome, Resolution, Side, Status


def open_for(escalation: Escalation) -> frozenset[Resolution]:
    """The verdicts that an escalation's kind allows."""
    allowed = ALLOWED[Kind(escalation.kind)]
    if escalation.kind == Kind.REOPENED and escalation.came_from == Status.CLOSED:
        return allowed - {Resolution.APPROVE}
    return allowed


def approves(escalation: Escalation, resolution: Resolution) -> bool:
    """Whether a verdict takes what others made: an approval, or a step done by a person on what came before."""
    answers = resolution is Resolution.ANSWER and escalation.kind == Kind.REVIEW
    return resolution is Resolution.APPROVE or answers


def fixed_by(actor: str, records: Iterable[int]) -> set[int]:
    """The records, of these, of which the actor fixed a body that still counts."""
    fixes = StepResult.objects.filter(record__in=list(records), outcome=Outcome.FIXED, actor=actor, superseded=False)
    return set(fixes.values_list("record", flat=True))


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


def judge_input(plan: Plan, step: Step, body: str) -> tuple[Violation, ...]:
    """Why a step, the record's own or one before it, would refuse this document right now."""
    return engine.check_input(step, body, outputs_of(plan.row.id))[1].violations


def violations_now(row: RecordRow, plan: Plan, side: Side) -> tuple[Violation, ...]:
    """Why a retry would be refused right now; nothing if the input holds its contract."""
    if row.encoding:
        return from_flaws(_flaws_of(row), side=side)
    return judge_body(plan, side, row.payload).violations


def _flaws_of(row: RecordRow) -> tuple[strict_json.Flaw, ...]:
    read = strict_json.read(raw_bytes(row.payload, row.encoding), max_bytes=conf.get("MAX_BODY"))
    return read if isinstance(read, tuple) else ()


def stored_input(plan: Plan, step: Step) -> str | None:
    """The latest input of a step that still counts: a person's fix of it, or what the steps before it handed over."""
    flow = plan.flow
    earlier = [INTAKE, *(s.name for s in flow.steps[: flow.index(step.name)])]
    standing = StepResult.objects.standing().filter(record=plan.row.id).exclude(side=Side.ENVELOPE.value)
    handed = standing.filter(step__in=earlier).exclude(side=Side.RECEIVES.value)
    fixed = standing.filter(step=step.name, side=Side.RECEIVES.value)
    return (handed | fixed).order_by("-pk").values_list("output", flat=True).first()
