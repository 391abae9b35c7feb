"""What the reconciler repairs: leases that ran out, records before a person's step or whose step is gone; alerts."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Min

from handoffs import conf, dispatch, engine, readiness
from handoffs.actions import alerts, batch_work
from handoffs.actions.plans import Plan
from handoffs.actions.starts import nobody
from handoffs.actions.work import Failure, hand_back, outputs_of, settle
from handoffs.actions.writing import carry_out
from handoffs.crashpoints import reach
from handoffs.errors import UnknownStep
from handoffs.flows import Flow, Step, declared, get_flow
from handoffs.models import Alert, Heartbeat, Record, sql
from handoffs.models.moves import RecordRow, rows_where
from handoffs.models.queues import queue_id
from handoffs.states import AlertKind, Event, Kind, Side, Status

ACTOR = "system:reconciler"
BATCH = 200


def _repair(where: str, params: list[object], decide: Callable[[RecordRow, datetime], Plan | None]) -> int:
    """Decide on a batch of rows that fit a condition; how many were moved."""
    with transaction.atomic():
        at = sql.now()
        rows = rows_where(where, [at if p == "now" else p for p in params], limit=BATCH)
        plans = [plan for row in rows if (plan := decide(row, at))]
        won = carry_out(plans, at)
        reach("in_reconcile")
        dispatch.ring_for(won)
        return len(won)


def expire_leases(*, only: int | None = None) -> int:
    """End running attempts whose lease ran out: hand back those of a claim of many, count the try of one alone."""
    which, params = _which(only)
    flows = list(declared())  # others' records are left to a process that knows their flow, and must not fill a batch
    known = f"flow IN ({', '.join(['%s'] * len(flows))})" if flows else "false"
    due = f"status = 'running' AND lease_expires_at <= %s AND {known}{which}"
    return _repair(due, ["now", *flows, *params], _expired)


def _which(only: int | None) -> tuple[str, list[object]]:
    return ("", []) if only is None else (" AND id = %s", [only])


def _expired(row: RecordRow, at: datetime) -> Plan:
    flow = get_flow(row.flow)
    plan = Plan(row, flow, at, ACTOR)
    if not _has(flow, row.step):  # ready again, it will be stranded in its time
        hand_back(plan, Failure(engine.LEASE_LOST, "Its step is gone from the code."), alone=True)
        return plan
    step = flow.step(row.step)
    since = row.started_at.strftime("%H:%M:%S UTC") if row.started_at else "its start"
    judgement = engine.lease_ran_out(step, claimed_with=row.claimed_with, tries_left=row.tries_left, silent_since=since)
    if judgement.event is Event.RELEASE:
        hand_back(plan, Failure(judgement.code, judgement.sentence), alone=True)
    else:
        settle(plan, step, judgement, {})
    return plan


def ask_people(*, only: int | None = None) -> int:
    """Put ready records that stand before a person's step to their queue; a verdict may have left them there."""
    which, params = _which(only)
    names = [(flow.name, step.name) for flow in declared().values() for step in flow.steps if step.by == "human"]
    due = f"status = 'ready' AND flow = %s AND step = %s AND available_at <= %s{which}"
    return sum(_repair(due, [flow, step, "now", *params], _arrived) for flow, step in names)


def _arrived(row: RecordRow, at: datetime) -> Plan | None:
    flow = get_flow(row.flow)
    plan = Plan(row, flow, at, ACTOR)
    claimer = nobody(ACTOR)
    arrival = engine.enter(flow, row.step, row.payload, outputs=outputs_of(row.id), may_start=claimer.may_start)
    plan.arrive(arrival, claimer)
    return plan if plan.moved.happened else None


def strand_lost() -> int:
    """Escalate ready records whose step the code no longer has, once a rolling deploy would be over."""
    stranded = 0
    steps = Record.objects.filter(status=Status.READY).values_list("flow", "step").distinct()
    for name, step in steps.order_by("flow", "step"):
        flow = declared().get(name)
        if flow is not None and not _has(flow, step):
            stranded += _repair(
                "status = 'ready' AND flow = %s AND step = %s AND available_at <= %s",
                [name, step, sql.now() - timedelta(seconds=conf.get("STRAND_AFTER"))],
                _stranded,
            )
    return stranded


def _has(flow: Flow, step: str) -> bool:
    try:
        return bool(flow.step(step))
    except UnknownStep:
        return False


def _stranded(row: RecordRow, at: datetime) -> Plan:
    plan = Plan(row, get_flow(row.flow), at, ACTOR)
    plan.happen(Event.STRAND, Status.ESCALATED, code="step_gone")
    plan.escalate(Kind.STRANDED, Side.RECEIVES, code="step_gone")
    return plan


def watch_starts() -> int:
    """Open one alert for each step whose oldest ready record waits too long; close those that are served again."""
    now = sql.now()
    late: set[tuple[str, str]] = set()
    waiting = Record.objects.filter(status=Status.READY, available_at__lte=now).values("flow", "step")
    for row in waiting.annotate(oldest=Min("available_at")).order_by("flow", "step"):
        flow = declared().get(row["flow"])
        if flow is None or not _has(flow, row["step"]) or readiness.is_held(flow):
            continue
        step = flow.step(row["step"])
        if row["oldest"] < now - timedelta(seconds=step.start_within_seconds):
            late.add((flow.name, step.name))
            _alert(flow, step, now)
    served = [a.pk for a in Alert.objects.standing().filter(kind=AlertKind.UNSERVED) if (a.flow, a.step) not in late]
    if served:
        alerts.close_alerts(Alert.objects.filter(pk__in=served), now)
    return len(late)


def _alert(flow: Flow, step: Step, now: datetime) -> None:
    who = "worker" if step.by == "worker" else "agent"
    minutes = round(step.start_within_seconds / 60)
    sentence = f"No {who} has taken {step.name} of {flow.name} for more than {minutes} min."
    queue = queue_id(flow.queue_of(step.name), 0)
    alerts.raise_alert(AlertKind.UNSERVED, flow=flow.name, step=step.name, queue_id=queue, sentence=sentence, at=now)


def waiting_job_queues() -> list[str]:
    """The job queues on which ready work is due, or a batch waits to be carried out."""
    ready = Record.objects.filter(status=Status.READY, available_at__lte=sql.now()).exclude(job_queue="")
    names = set(ready.order_by("job_queue").values_list("job_queue", flat=True).distinct())
    return sorted(names | ({dispatch.first_job_queue()} if batch_work.is_waiting() else set()))


def due_in(job_queue: str) -> float | None:
    """Seconds until the next record of a job queue becomes due, of those that are not due yet."""
    now = sql.now()
    later = Record.objects.filter(status=Status.READY, job_queue=job_queue, available_at__gt=now)
    first = later.order_by("available_at", "pk").values_list("available_at", flat=True).first()
    return None if first is None else (first - now).total_seconds()


def seen(*, name: str, kind: str, job_queue: str = "") -> None:
    """Note that a process is alive."""
    Heartbeat.objects.update_or_create(name=name, defaults={"kind": kind, "job_queue": job_queue, "seen_at": sql.now()})


def forget_silent(older_than: timedelta) -> None:
    """Drop the heartbeats of processes that ended long ago."""
    Heartbeat.objects.filter(seen_at__lt=sql.now() - older_than).delete()


def gone(name: str) -> None:
    """Note that a process has ended as it should."""
    Heartbeat.objects.filter(name=name).delete()
