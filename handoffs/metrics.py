"""Figures for Prometheus: what waits, since when, what happened in the last hour, and whether somebody works.

All of it is read when it is asked for, from the same rows as the pages, so every process of an installation tells the
same. Names of flows, steps, queues and job queues are labels; nothing of a record is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import Count, DurationField, ExpressionWrapper, F, Max, Min
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from handoffs import dispatch
from handoffs.errors import QueueServerAway
from handoffs.insight import figures
from handoffs.models import Alert, Delivery, Escalation, Heartbeat, OutboxRow, Queue, Record, StepResult, sql
from handoffs.readiness import held_flows
from handoffs.states import DeliveryState, Outcome, Status

CONTENT_TYPE = CONTENT_TYPE_LATEST
RECENT = timedelta(hours=1)
OPEN = (Status.READY, Status.RUNNING, Status.ESCALATED)

Row = tuple[Sequence[object], float]


def exposition() -> bytes:
    """Everything in the text format of Prometheus. The number of queries is the same for any number of records."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Installation())
    return generate_latest(registry)


class _Installation(Collector):
    def collect(self) -> Iterator[GaugeMetricFamily]:
        now = sql.now()
        yield from _records(now)
        yield from _queues(now)
        yield from _recent(now)
        yield from _processes(now)
        yield from _telling(now)


def _gauge(name: str, means: str, labels: str, rows: Iterable[Row]) -> GaugeMetricFamily:
    family = GaugeMetricFamily(f"handoffs_{name}", means, labels=labels.split())
    for values, value in rows:
        family.add_metric([str(one) for one in values], value)
    return family


def _age(now: datetime, then: datetime | None) -> float:
    return max(0.0, (now - then).total_seconds()) if then else 0.0


def _records(now: datetime) -> Iterator[GaugeMetricFamily]:
    rows = Record.objects.filter(status__in=OPEN).values_list("flow", "step", "status")
    counted = rows.annotate(n=Count("pk")).order_by("flow", "step", "status")
    yield _gauge("records", "Open records.", "flow step status", ((row[:3], row[3]) for row in counted))
    due = Record.objects.filter(status=Status.READY, available_at__lte=now).values_list("flow", "step")
    oldest = due.annotate(since=Min("available_at")).order_by("flow", "step")
    yield _gauge(
        "ready_oldest_seconds", "How long the oldest record that could start has waited.", "flow step",
        ((row[:2], _age(now, row[2])) for row in oldest),
    )  # fmt: skip
    lapsed = Record.objects.filter(status=Status.RUNNING, lease_expires_at__lt=now).count()
    yield _gauge("leases_lapsed", "Attempts whose lease ran out and that nobody has ended yet.", "", [((), lapsed)])
    held = [((flow,), 1.0) for flow in sorted(held_flows())]
    yield _gauge("flow_held", "Flows whose starts wait for a green drill.", "flow", held)


def _queues(now: datetime) -> Iterator[GaugeMetricFamily]:
    slugs = dict(Queue.objects.values_list("pk", "slug"))
    there = {waiting.queue_id: waiting for waiting in figures.waiting(slugs, now)}
    rows = [(slug, there.get(pk)) for pk, slug in sorted(slugs.items(), key=lambda one: one[1])]
    yield _gauge(
        "escalations", "Escalations that wait for a verdict.", "queue",
        (((slug,), found.count if found else 0) for slug, found in rows),
    )  # fmt: skip
    yield _gauge(
        "escalations_overdue", "Escalations past their due time.", "queue",
        (((slug,), found.overdue if found else 0) for slug, found in rows),
    )  # fmt: skip
    yield _gauge(
        "escalation_oldest_seconds", "Age of the oldest escalation that waits.", "queue",
        (((slug,), _age(now, found.oldest if found else None)) for slug, found in rows),
    )  # fmt: skip
    standing = Alert.objects.standing().values_list("kind", "queue__slug").annotate(n=Count("pk"))
    yield _gauge(
        "alerts", "Alerts that stand.", "kind queue",
        ((row[:2], row[2]) for row in standing.order_by("kind", "queue__slug")),
    )  # fmt: skip


def _recent(now: datetime) -> Iterator[GaugeMetricFamily]:
    """By step: what attempts came to, what stopped, and how long attempts took."""
    ended = StepResult.objects.filter(ended_at__gte=now - RECENT).annotate(flow=F("record__flow"))
    by_outcome = ended.values_list("flow", "step", "outcome").annotate(n=Count("pk"))
    yield _gauge(
        "results_last_hour", "Results of the last hour, by what became of them.", "flow step outcome",
        ((row[:3], row[3]) for row in by_outcome.order_by("flow", "step", "outcome")),
    )  # fmt: skip
    stopped = Escalation.objects.filter(queue__in=Queue.objects.all(), opened_at__gte=now - RECENT)
    by_kind = stopped.values_list("flow", "step", "kind").annotate(n=Count("pk"))
    yield _gauge(
        "stops_last_hour", "Records that stopped in the last hour, refusals among them.", "flow step kind",
        ((row[:3], row[3]) for row in by_kind.order_by("flow", "step", "kind")),
    )  # fmt: skip
    took = ExpressionWrapper(F("ended_at") - F("started_at"), output_field=DurationField())
    longest = ended.filter(outcome=Outcome.ACCEPTED).values_list("flow", "step").annotate(longest=Max(took))
    yield _gauge(
        "result_longest_seconds", "The longest accepted attempt of the last hour.", "flow step",
        ((row[:2], row[2].total_seconds()) for row in longest.order_by("flow", "step") if row[2] is not None),
    )  # fmt: skip


def _processes(now: datetime) -> Iterator[GaugeMetricFamily]:
    seen = Heartbeat.objects.values_list("kind", "job_queue").annotate(last=Max("seen_at"))
    yield _gauge(
        "heartbeat_age_seconds", "Since a process of the kind was last seen.", "kind job_queue",
        ((row[:2], _age(now, row[2])) for row in seen.order_by("kind", "job_queue")),
    )  # fmt: skip
    bells, is_up = [], 1.0
    for name in settings.RQ_QUEUES if settings.REDIS_URL else ():
        try:
            bells.append(((name,), float(dispatch.has_bell(name))))
        except QueueServerAway:
            is_up = 0.0
            break
    yield _gauge("bell_waiting", "Whether a bell waits for a worker.", "job_queue", bells)
    if settings.REDIS_URL:
        yield _gauge("job_queue_server_up", "Whether Redis answers.", "", [((), is_up)])


def _telling(now: datetime) -> Iterator[GaugeMetricFamily]:
    waiting = OutboxRow.objects.filter(spread_at__isnull=True, available_at__lte=now)
    found = waiting.aggregate(n=Count("pk"), oldest=Min("available_at"))
    yield _gauge("outbox_waiting", "What is to be told and has not been spread yet.", "", [((), found["n"])])
    yield _gauge("outbox_oldest_seconds", "Age of the oldest of these.", "", [((), _age(now, found["oldest"]))])
    late = Delivery.objects.filter(state=DeliveryState.WAITING).values_list("endpoint__name")
    yield _gauge(
        "webhooks_waiting", "Webhooks that have not been delivered yet.", "endpoint",
        ((row[:1], row[1]) for row in late.annotate(n=Count("pk")).order_by("endpoint__name")),
    )  # fmt: skip
