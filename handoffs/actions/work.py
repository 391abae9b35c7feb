"""Work: claim ready records, commit what attempts delivered, renew and hand back.

A claim and a commit are short transactions; the step's code runs between them, outside of any. What judges a commit is
the attempt's number and the status `running`: after a takeover, a close or a release it comes late and changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction

from handoffs import dispatch, engine, readiness
from handoffs.actions.plans import Plan, judged
from handoffs.actions.starts import Claimer, Started, nobody
from handoffs.actions.writing import carry_out
from handoffs.crashpoints import reach
from handoffs.engine import Delivery, Judgement, as_json
from handoffs.errors import StaleAttempt
from handoffs.flows import Flow, Step, declared, get_flow
from handoffs.models import Record, StepResult, sql
from handoffs.models.history import step_begun
from handoffs.models.moves import RecordRow, lock, lock_known, rows_where
from handoffs.states import Event, Outcome, Side, Status


@dataclass(frozen=True, slots=True)
class Failure:
    """An attempt that delivered nothing. A `released` one is handed back and gets its try back."""

    code: str
    sentence: str
    permanent: bool = False
    released: bool = False


@dataclass(frozen=True, slots=True)
class Question:
    """An attempt that needs a person's answer first."""

    question: str
    answers: tuple[str, ...] = ()


Ended = Delivery | Failure | Question


@dataclass(frozen=True, slots=True)
class Finished:
    """An attempt that has ended, and how."""

    record_id: int
    attempt: int
    ended: Ended
    body: str = ""  # what the attempt was handed
    row: RecordRow | None = None  # the record as the start left it, where the same process started it


@dataclass(frozen=True, slots=True)
class Claimed:
    """What a claim did: how many records it moved (refused and skipped ones too), and the attempts that began."""

    moved: int
    started: list[Started]
    more: bool  # it saw ready records that it left to others


# --- claim -----------------------------------------------------------------------------------------------------------


@transaction.atomic
def claim_ready(*, job_queue: str, actor: str, limit: int) -> Claimed:
    """Start up to `limit` ready records of a job queue; those whose input breaks its contract are refused instead."""
    at = sql.now()
    known, names = _known_steps(lambda step: step.by == "worker" and step.job_queue == job_queue)
    rows = rows_where(
        f"status = 'ready' AND job_queue = %s AND available_at <= %s AND {known}",
        [job_queue, at, *names],
        limit=limit,
        order="available_at, id",
    )
    return _enter_all(rows, limit, at, actor, lambda s: s.by == "worker" and s.job_queue == job_queue)


@transaction.atomic
def claim_step(*, flow: Flow, step: Step, actor: str, limit: int) -> Claimed:
    """Start up to `limit` ready records of one step, for an agent outside."""
    at = sql.now()
    known, names = _known_steps(lambda s: s is step)
    rows = rows_where(
        f"status = 'ready' AND available_at <= %s AND {known}", [at, *names], limit=limit, order="available_at, id"
    )
    return _enter_all(rows, limit, at, actor, lambda s: s is step)


def _known_steps(wanted: Callable[[Step], bool]) -> tuple[str, list[str]]:
    """(condition, parameters): the record stands at a step that the code has and nothing holds: others fill none."""
    places = [
        (flow.name, name)
        for flow in declared().values()
        for step in flow.steps
        if wanted(step) and not readiness.is_held(flow)
        for name in (step.name, *step.renamed_from)
    ]
    marks = ", ".join(["(%s, %s)"] * len(places))
    return (f"(flow, step) IN (VALUES {marks})", [x for place in places for x in place]) if places else ("false", [])


def _alone_or_together(rows: list[RecordRow]) -> list[RecordRow]:
    """A record marked alone is claimed by itself, the others together without it."""
    if rows and rows[0].alone:
        return rows[:1]
    return [row for row in rows if not row.alone]


def _enter_all(
    rows: list[RecordRow], limit: int, at: datetime, actor: str, may_start: Callable[[Step], bool]
) -> Claimed:
    chosen = _alone_or_together(rows)
    claimer = Claimer(actor, may_start, len(chosen))
    plans = [plan for row in chosen if (plan := _entering(row, at, claimer))]
    won = carry_out(plans, at)
    reach("in_claim")
    dispatch.ring_for(won)
    more = len(rows) == limit or len(rows) > len(chosen)
    return Claimed(len(won), [plan.started for plan in won if plan.started], more)


def _entering(row: RecordRow, at: datetime, claimer: Claimer) -> Plan | None:
    flow = get_flow(row.flow)
    step = flow.step(row.step)
    plan = Plan(row, flow, at, claimer.actor)
    if step.name != row.step:
        plan.rename(step)
    arrival = engine.enter(flow, step.name, row.payload, outputs=outputs_of(row.id), may_start=claimer.may_start)
    plan.arrive(arrival, claimer)
    return plan if plan.moved.happened else None


def outputs_of(record_id: int) -> engine.Outputs:
    """Reads the latest standing output of an earlier step, when a step takes one."""

    def latest(step: str) -> str | None:
        found = StepResult.objects.standing().filter(record=record_id, step=step).exclude(side=Side.RECEIVES.value)
        return found.order_by("-pk").values_list("output", flat=True).first()

    return latest


# --- commit ----------------------------------------------------------------------------------------------------------


@transaction.atomic
def commit(finished: Sequence[Finished], claimer: Claimer) -> list[Started]:
    """Write how attempts ended, and go on: the attempts at next steps that began in the same commit."""
    at = sql.now()
    first = {f.record_id: f for f in reversed(finished)}
    again = [f for f in finished if first[f.record_id] is not f]
    locked = lock_known({f.record_id: f.row for f in first.values()})
    plans = [_ended(row, first[row.id], at, claimer) for row in locked.values()]
    won = carry_out(plans, at)
    reach("in_commit")
    dispatch.ring_for(won)
    started = [plan.started for plan in won if plan.started]
    return [*started, *commit(again, claimer)] if again else started


def is_current(row: RecordRow, attempt: int) -> bool:
    return row.status == Status.RUNNING and row.attempt == attempt


def _ended(row: RecordRow, finished: Finished, at: datetime, claimer: Claimer) -> Plan:
    plan = Plan(row, get_flow(row.flow), at, claimer.actor)
    if is_current(row, finished.attempt):
        end(plan, finished, claimer)
    else:
        keep_late(plan, finished)
    return plan


def end(plan: Plan, finished: Finished, claimer: Claimer) -> Judgement | None:
    """End the running attempt of a plan; how its result was judged, or None where it was handed back."""
    row, ended = plan.row, finished.ended
    step = plan.flow.step(row.step)
    if isinstance(ended, Failure) and ended.released:
        hand_back(plan, ended)
        return None
    judgement = _judge(step, row, finished)
    columns: dict[str, Any] = {}
    if isinstance(ended, Delivery):
        columns = _delivered(ended)
    settle(plan, step, judgement, columns)
    if judgement.event is Event.ACCEPT and isinstance(ended, Delivery):
        go_on(plan, step, ended.output, claimer)
    return judgement


def _judge(step: Step, row: RecordRow, finished: Finished) -> Judgement:
    ended = finished.ended
    if isinstance(ended, Delivery):
        return engine.judge(step, finished.body or row.payload, ended, tries_left=row.tries_left)
    if isinstance(ended, Question):
        return engine.ask(ended.question, ended.answers)
    return engine.fail(
        step, code=ended.code, sentence=ended.sentence, permanent=ended.permanent, tries_left=row.tries_left
    )


def _delivered(delivery: Delivery) -> dict[str, Any]:
    return {
        "output": delivery.output,
        "encoding": delivery.encoding,
        "field_confidence": as_json(dict(delivery.field_confidence)) if delivery.field_confidence else "{}",
        "evidence": as_json(dict(delivery.evidence)) if delivery.evidence else "{}",
        "usage": as_json(dict(delivery.usage)) if delivery.usage else "{}",
    }


def keep_late(plan: Plan, finished: Finished) -> None:
    """Keep what came after its attempt had ended; it changes nothing."""
    ended = finished.ended
    output = ended.output if isinstance(ended, Delivery) else None
    plan.happen(Event.LATE, plan.status, code="stale_attempt", body=output)
    encoding = ended.encoding if isinstance(ended, Delivery) else ""
    late = {"attempt": finished.attempt, "output": output, "encoding": encoding, "code": "stale_attempt"}
    step = step_begun(plan.row.id, finished.attempt) or plan.step
    plan.result(step, Side.RETURNS, Outcome.LATE, **late)


def hand_back(plan: Plan, failure: Failure, *, alone: bool = False) -> None:
    """Back to ready, with the try given back."""
    row = plan.row
    outcome = Outcome.LEASE_LOST if alone else Outcome.RELEASED
    why = {"code": failure.code, "message": failure.sentence}
    plan.result(plan.step, Side.RETURNS, outcome, attempt=row.attempt, started_at=row.started_at, **why)
    plan.happen(Event.RELEASE, Status.READY, code=failure.code)
    plan.set(tries_left=row.tries_left + 1, available_at=plan.at, alone=alone or row.alone)


def settle(plan: Plan, step: Step, judgement: Judgement, columns: dict[str, Any]) -> None:
    """Write an attempt's end, short of moving on: the result, and what a retry, an escalation or a question needs."""
    row = plan.row
    values = judged(plan, judgement, step) | columns
    plan.result(step.name, Side.RETURNS, judgement.outcome, attempt=row.attempt, started_at=row.started_at, **values)
    if judgement.event in {Event.ACCEPT, Event.RETRY} and judgement.violations:
        plan.note(judgement.violations, step=step, side=Side.RETURNS, attempt=row.attempt)
    if judgement.event is Event.RETRY:
        plan.happen(Event.RETRY, Status.READY, code=judgement.code)
        plan.set(available_at=plan.at + timedelta(seconds=judgement.delay))
    elif judgement.event is Event.ESCALATE:
        plan.happen(Event.ESCALATE, Status.ESCALATED, code=judgement.code, body=columns.get("output"))
        plan.escalate_judged(judgement, step)
    elif judgement.event is Event.ASK:
        plan.happen(Event.ASK, Status.ESCALATED, code="asked")
        plan.set(tries_left=row.tries_left + 1)
        plan.escalate_judged(judgement, step)


def go_on(plan: Plan, step: Step, output: str, claimer: Claimer) -> None:
    """Move on from a step whose output was taken: finish, or arrive at the next step in the same commit."""
    following = plan.flow.following(step.name)
    plan.hand_over(output)
    plan.describe_text(output, step.returns)
    if following is None:
        plan.happen(Event.FINISH, Status.COMPLETED, body=output)
        return
    plan.happen(Event.ACCEPT, Status.READY, body=output)
    plan.place(following)
    outputs = plan.outputs(step.name, output, outputs_of(plan.row.id))
    may_start = nobody(claimer.actor).may_start if readiness.is_held(plan.flow) else claimer.may_start
    plan.arrive(engine.enter(plan.flow, following.name, output, outputs=outputs, may_start=may_start), claimer)


# --- while it runs ---------------------------------------------------------------------------------------------------


@transaction.atomic
def renew(attempts: Mapping[int, int]) -> dict[int, datetime]:
    """Renew the leases of running attempts, given as record id → attempt; when those that still run end now."""
    at = sql.now()
    current = [row for row in lock(attempts).values() if is_current(row, attempts[row.id])]
    ends = {row.id: at + timedelta(seconds=get_flow(row.flow).step(row.step).lease_seconds) for row in current}
    rows = [[row.id, row.status, row.attempt, ends[row.id]] for row in current]
    won = sql.update(Record, keep=("status", "attempt"), columns=("lease_expires_at",), coalesced=(), rows=rows)
    return {record_id: ends[record_id] for record_id in won}


def heartbeat(*, record_id: int, attempt: int) -> datetime:
    """Renew one lease; when it ends now.

    Raises:
        StaleAttempt: the attempt no longer runs.
    """
    renewed = renew({record_id: attempt})
    if record_id not in renewed:
        raise StaleAttempt(f"Attempt {attempt} of record {record_id} no longer runs.")
    return renewed[record_id]
