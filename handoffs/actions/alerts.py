"""Alerts: raised once while they stand, closed when it is over; each is told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from django.db import IntegrityError, transaction
from django.db.models import QuerySet

from handoffs.actions import outbox
from handoffs.actions.outbox import Telling
from handoffs.models import Alert
from handoffs.states import AlertKind, Told


def raise_alert(
    kind: AlertKind,
    *,
    queue_id: int,
    sentence: str,
    at: datetime,
    flow: str = "",
    step: str = "",
    people: Sequence[int] = (),
) -> bool:
    """Raise an alert, unless it stands already; whether it was raised. The owner is told, and `people` (ids)."""
    if Alert.objects.standing().filter(kind=kind, flow=flow, step=step, queue=queue_id).exists():
        return False
    try:
        with transaction.atomic():
            alert = Alert.objects.create(
                kind=kind, flow=flow, step=step, queue_id=queue_id, sentence=sentence, opened_at=at
            )
            outbox.tell(replace(_told(Told.ALERT_OPENED, alert, at), people=people))
    except IntegrityError:
        return False  # somebody else raised it at this moment
    return True


@transaction.atomic
def close_alerts(standing: QuerySet[Alert], at: datetime) -> int:
    """Close these alerts, of those that stand; how many did."""
    ids = list(standing.filter(closed_at__isnull=True).select_for_update().order_by("pk").values_list("pk", flat=True))
    closed = Alert.objects.filter(pk__in=ids, closed_at__isnull=True)
    outbox.tell(*(_told(Told.ALERT_CLOSED, alert, at) for alert in closed.select_related("queue").order_by("pk")))
    return closed.update(closed_at=at)


def _told(event: Told, alert: Alert, at: datetime) -> Telling:
    data = {
        "alert": alert.pk,
        "kind": alert.kind,
        "queue": alert.queue.slug,
        "flow": alert.flow,
        "step": alert.step,
        "sentence": alert.sentence,
    }
    fault = f"{alert.kind}:{alert.queue.slug}:{alert.flow}/{alert.step}"
    return Telling(event, at, data, queue_id=alert.queue_id, fault=fault, to_owner=event is Told.ALERT_OPENED)
