"""The promise that nothing is lost, as a query: which open records does nobody have, and nobody will take?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Count, Q, QuerySet

from handoffs.errors import UnknownStep
from handoffs.flows import declared
from handoffs.models import Escalation, Record, sql
from handoffs.states import INTAKE, EscalationState, Status

OPEN = (Status.READY, Status.RUNNING, Status.ESCALATED)
OVERDUE = timedelta(seconds=60)  # beyond the lease's end; the reconciler comes each few seconds
MOST = 100  # listed at once
UNRESOLVED = Q(escalations__state__in=[EscalationState.OPEN, EscalationState.CLAIMED])


@dataclass(frozen=True, slots=True)
class Lost:
    """A record that nobody has and nobody will take, and why."""

    record_id: int
    flow: str
    status: str
    step: str
    why: str


def open_records() -> int:
    """How many records have not ended."""
    return Record.objects.filter(status__in=OPEN).count()


def lost_records(limit: int = MOST) -> list[Lost]:
    """The records that are not exactly one of: ready, running under a lease, escalated to somebody; the first few.

    A ready one may wait for its time, for a worker or for an agent, as long as its flow is declared: a step that is
    gone is the reconciler's work.
    """
    now = sql.now()
    return [Lost(r.pk, r.flow, r.status, r.step, next(_reasons(r, now))) for r in _suspects(now)[:limit]]


def _suspects(now: datetime) -> QuerySet[Record]:
    waiting = Escalation.objects.unresolved().values("record")
    looked_at = Record.objects.filter(Q(status__in=OPEN) | Q(pk__in=waiting)).annotate(
        unresolved=Count("escalations", filter=UNRESOLVED),
        reachable=Count("escalations", filter=UNRESOLVED & Q(escalations__queue__owner__is_active=True)),
    )
    wrong = (
        (Q(status=Status.ESCALATED) & ~Q(unresolved=1, reachable=1))
        | (~Q(status=Status.ESCALATED) & Q(unresolved__gt=0))
        | Q(status=Status.RUNNING, lease_expires_at__lt=now - OVERDUE)
        | (Q(status__in=[Status.READY, Status.RUNNING]) & ~Q(flow__in=list(declared())))
    )
    return looked_at.filter(wrong).order_by("pk")


def _reasons(record: Record, now: datetime) -> Iterator[str]:
    unresolved: int = record.unresolved  # type: ignore[attr-defined]
    if record.status == Status.ESCALATED:
        if unresolved != 1:
            yield f"It is escalated with {unresolved} unresolved escalations instead of one."
        yield "The owner of its queue is not active."
    if unresolved:
        yield f"It is {record.status}, and an escalation of it is not resolved."
    if not _is_declared(record):
        yield f"Its step {record.step} of flow {record.flow} is not declared."
    if record.lease_expires_at:
        yield f"Its lease ran out {now - record.lease_expires_at} ago, and no reconciler took it up."


def _is_declared(record: Record) -> bool:
    flow = declared().get(record.flow)
    try:
        return flow is not None and (record.step == INTAKE or bool(flow.step(record.step)))
    except UnknownStep:
        return False
