"""Keeping what a drill found, and letting records go on whose flow is ready now."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from handoffs import dispatch, readiness
from handoffs.actions import alerts, audit
from handoffs.errors import NoWorker
from handoffs.flows import Flow, declared
from handoffs.models import Alert, DrillRun, Heartbeat, Record, sql
from handoffs.models.queues import queue_id
from handoffs.states import AlertKind, Status

ALIVE = timedelta(seconds=60)  # since a worker's last heartbeat
KEPT = 20  # drills of one flow; the last green one stays in any case


@transaction.atomic
def keep_drill(*, flow: Flow, report: Mapping[str, Any], started_at: datetime, actor: str) -> DrillRun:
    """Keep a drill's report, as `drill.report.as_data` gives it; a green one lets held records go on at once."""
    run = DrillRun.objects.create(
        flow=flow.name,
        step=report["step"],
        seed=report["seed"],
        verdict=report["verdict"],
        started_at=started_at,
        ended_at=sql.now(),
        actor=actor,
        report=json.dumps(report, ensure_ascii=True),
        **readiness.facts_of(flow),
    )
    _drop_old(flow)
    readiness.forget_held()
    if run.verdict == "ready" and not run.step:
        _close_alert(flow, sql.now())
        for job_queue in sorted({step.job_queue for step in flow.steps if step.by == "worker"}):
            dispatch.ring_after_commit(job_queue)
    return run


def ask_for_drill(*, flow: Flow, by: str) -> None:
    """Let a worker drill the flow, as soon as one has time.

    Raises:
        NoWorker: none is there, or none can be reached.
    """
    job_queue = next((step.job_queue for step in flow.steps if step.by == "worker"), dispatch.first_job_queue())
    alive = Heartbeat.objects.filter(kind="worker", job_queue=job_queue, seen_at__gte=sql.now() - ALIVE)
    if not (alive.exists() and dispatch.ask_for_drill(job_queue, flow.name, by)):
        raise NoWorker(
            _("No worker of the job queue %(name)s is there to drill: run “manage.py drill %(flow)s”.")
            % {"name": job_queue, "flow": flow.name}
        )
    audit.note(actor=by, action="drill.ask", subject=flow.name)


def _drop_old(flow: Flow) -> None:
    runs = DrillRun.objects.filter(flow=flow.name).newest_first()
    newest = list(runs.values_list("pk", flat=True)[:KEPT])
    green = readiness.last_green(flow)
    DrillRun.objects.filter(flow=flow.name).exclude(pk__in=[*newest, *([green.pk] if green else [])]).delete()


def _close_alert(flow: Flow, at: datetime) -> None:
    alerts.close_alerts(Alert.objects.standing().filter(kind=AlertKind.HELD, flow=flow.name), at)


def watch_held() -> int:
    """Open one alert for each flow whose records are held, close those of flows that go on; how many are held."""
    at = sql.now()
    held = 0
    for flow in declared().values():
        waits = readiness.is_held(flow) and Record.objects.filter(flow=flow.name, status=Status.READY).exists()
        # That it is held may be believed for a moment longer than it is so.
        why = readiness.why_not(flow) if waits else ""
        if not why:
            _close_alert(flow, at)
            continue
        held += 1
        _open_alert(flow, why, at)
    return held


def _open_alert(flow: Flow, why: str, at: datetime) -> None:
    sentence = f"Records of {flow.name} wait: {why}"
    queue = queue_id(flow.escalate_to, 0)
    if not Alert.objects.standing().filter(kind=AlertKind.HELD, flow=flow.name).exists():
        alerts.raise_alert(AlertKind.HELD, flow=flow.name, queue_id=queue, sentence=sentence, at=at)
