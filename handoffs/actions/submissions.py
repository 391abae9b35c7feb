"""What agents outside deliver: results, failures, questions and releases, of claimed attempts and of unclaimed ones.

An agent that never claims names the attempt that would begin next: then start and verdict are one commit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from django.db import transaction

from handoffs import dispatch, engine, readiness
from handoffs.actions import work
from handoffs.actions.plans import Plan
from handoffs.actions.starts import Claimer, nobody
from handoffs.actions.work import Ended, Finished, is_current, outputs_of
from handoffs.actions.writing import carry_out_one
from handoffs.engine import Delivery, Judgement
from handoffs.errors import LostRace, NotAllowed, StaleAttempt, StepNotOpen, UnknownRecord
from handoffs.flows import Step, get_flow
from handoffs.models import StepResult, Transition
from handoffs.models.history import step_begun
from handoffs.models.moves import ReadRow, read_one
from handoffs.states import Event, Outcome, Status

MayWork = Callable[[str, str], bool]
"""Whether the agent may work at (flow, step). Raises `UnknownRecord` where it may not know of the flow."""

MOST_LATE = 100  # late or repeated deliveries of one record that are kept; an agent gone wild must not fill the disk


@dataclass(frozen=True, slots=True)
class Submission:
    """How an attempt ended, as its agent says; `step` and `said` are the step and attempt that the body repeats."""

    record_id: int
    attempt: int
    ended: Ended
    step: str | None = None
    said: int | None = None


@dataclass(frozen=True, slots=True)
class Submitted:
    """What became of a submission.

    `judgement` is None where nothing was judged: the attempt was handed back, came late, was `repeated` (the result it
    repeats), or could not begin since the step refused its input or was skipped (`not_begun`).
    """

    plan: Plan
    step: str
    judgement: Judgement | None = None
    late: bool = False
    repeated: StepResult | None = None
    not_begun: bool = False


def submit(*, submission: Submission, may_work: MayWork, actor: str, read: ReadRow | None = None) -> Submitted:
    """Take how an attempt ended. `read` is the record's row, where the caller has just read it.

    What comes late is kept in the history, as far as the bound allows, and changes nothing.

    Raises:
        UnknownRecord: there is none, or none that `may_work` lets the agent know of.
        StaleAttempt: the body names another attempt than the address; nothing was written.
        StepNotOpen: the step that the body names is not open, or no attempt of that number can begin; likewise.
        NotAllowed: the agent may not work at that step.
    """
    submitted = _submit(submission, may_work, actor, read or read_one(submission.record_id, locked=False))
    if submitted is None:  # somebody changed the record in between: judged anew, with its row held
        with transaction.atomic():
            submitted = _submit(submission, may_work, actor, read_one(submission.record_id, locked=True))
    if submitted is None:
        raise LostRace
    return submitted


def _submit(submission: Submission, may_work: MayWork, actor: str, read: ReadRow | None) -> Submitted | None:
    """None where the record moved between its being read and being written; then nothing was written."""
    if read is None:
        raise UnknownRecord(f"There is no record {submission.record_id}.")
    at, row = read
    plan = Plan(row, get_flow(row.flow), at, actor)
    submitted = _judged(plan, submission, may_work)
    if plan.moved.happened and not carry_out_one(plan, at):
        return None
    dispatch.ring_for([plan])
    return submitted


def _judged(plan: Plan, submission: Submission, may_work: MayWork) -> Submitted:
    row = plan.row
    current = is_current(row, submission.attempt)
    if not current and submission.attempt <= row.attempt:
        return _late(plan, submission, may_work)
    step = _require_open(plan, submission, may_work, current)
    if not current and not _begin(plan, step):
        return Submitted(plan, step.name, not_begun=True)
    body = engine.assemble(step, row.payload, outputs_of(row.id))[0] if step.takes else ""
    judgement = work.end(plan, Finished(row.id, submission.attempt, submission.ended, body), nobody(plan.actor))
    return Submitted(plan, step.name, judgement)


def _require_open(plan: Plan, submission: Submission, may_work: MayWork, current: bool) -> Step:
    row = plan.row
    step = plan.flow.step(row.step) if row.status in {Status.READY, Status.RUNNING} else None
    if not may_work(row.flow, step.name if step else row.step):
        raise NotAllowed
    if submission.said not in {None, submission.attempt}:
        raise StaleAttempt(f"The address names attempt {submission.attempt}, the body {submission.said}.")
    if step is None:
        raise StepNotOpen(f"The record is {row.status}: none of its steps is open.")
    if submission.step not in {None, step.name}:
        raise StepNotOpen(f"The record stands at {step.name}, not at {submission.step}.")
    if step.by != "agent":
        raise StepNotOpen(f"{step.name} is not done by an agent outside.")
    if not current and (row.status != Status.READY or submission.attempt != row.attempt + 1):
        raise StepNotOpen(f"Attempt {submission.attempt} can't begin: the last one was {row.attempt} ({row.status}).")
    if not current and readiness.is_held(plan.flow):
        raise StepNotOpen(f"No attempt begins before the flow is ready. {readiness.why_not(plan.flow)}")
    if not current and row.available_at > plan.at:
        raise StepNotOpen(f"The next attempt can begin at {row.available_at.isoformat(timespec='seconds')}.")
    return step


def _begin(plan: Plan, step: Step) -> bool:
    """Start the next attempt; False where the step refuses its input or is skipped."""
    row = plan.row
    claimer = Claimer(plan.actor, lambda found: found is step)
    arrival = engine.enter(plan.flow, row.step, row.payload, outputs=outputs_of(row.id), may_start=claimer.may_start)
    plan.arrive(arrival, claimer)
    if plan.started is None or plan.started.step is not step:
        return False
    plan.row = row._replace(**{name: plan.get(name) for name in ("status", "attempt", "tries_left", "started_at")})
    return True


def _late(plan: Plan, submission: Submission, may_work: MayWork) -> Submitted:
    step = step_begun(plan.row.id, submission.attempt) or plan.row.step
    if not may_work(plan.row.flow, step):
        raise NotAllowed
    if submission.step not in {None, step}:
        raise StepNotOpen(f"Attempt {submission.attempt} was one of {step}, not of {submission.step}.")
    repeated = _repeats(plan, submission)
    if Transition.objects.filter(record=plan.row.id, event=Event.LATE).count() < MOST_LATE:
        if repeated:
            plan.happen(Event.LATE, plan.status, code="duplicate_result")
        elif not _kept_before(plan, submission):
            work.keep_late(plan, Finished(plan.row.id, submission.attempt, submission.ended))
    return Submitted(plan, step, late=repeated is None, repeated=repeated)


def _repeats(plan: Plan, submission: Submission) -> StepResult | None:
    """The result that this agent delivered for this attempt before, if this is the same again."""
    if not isinstance(submission.ended, Delivery):
        return None
    results = StepResult.objects.filter(record=plan.row.id, attempt=submission.attempt, actor=plan.actor)
    return results.exclude(outcome=Outcome.LATE).filter(output=submission.ended.output).order_by("pk").first()


def _kept_before(plan: Plan, submission: Submission) -> bool:
    output = submission.ended.output if isinstance(submission.ended, Delivery) else None
    late = StepResult.objects.filter(record=plan.row.id, attempt=submission.attempt, outcome=Outcome.LATE)
    return late.filter(output=output, actor=plan.actor).exists()
