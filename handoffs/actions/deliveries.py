"""Webhooks on their way: one endpoint's deliveries in their order, by one process at a time, until it takes them."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q

from handoffs import conf
from handoffs.actions import alerts, audit
from handoffs.actions.escalations import Person, actor_of
from handoffs.errors import TransitionNotAllowed
from handoffs.models import Alert, Delivery, Endpoint, sql
from handoffs.states import AlertKind, DeliveryState
from handoffs.webhooks import GONE, Answer

PAUSES = (5, 30, 120, 600, 1800, 3600, 7200, 14400)  # seconds before the next try; the last one again and again
BUSY = timedelta(seconds=60)  # a process that ended while sending keeps an endpoint for itself no longer
KEPT_TRIES = 20
TOLD_AFTER = timedelta(minutes=10)  # of failure, until whoever answers for the queue is told
STEP = 50  # deliveries in one take


@dataclass(frozen=True, slots=True)
class Take:
    """An endpoint that this process sends to until `until`, and what waits for it, in order."""

    endpoint: Endpoint
    deliveries: list[Delivery]
    until: datetime


def due_endpoints() -> list[int]:
    """The endpoints for which something waits and may be tried now."""
    now = sql.now()
    free = Q(busy_until__isnull=True) | Q(busy_until__lte=now)
    later = Q(retry_at__isnull=True) | Q(retry_at__lte=now)
    waits = Delivery.objects.filter(endpoint=OuterRef("pk"), state=DeliveryState.WAITING)
    found = Endpoint.objects.filter(free, later, Exists(waits), paused_at__isnull=True)
    return list(found.order_by("retry_at", "pk").values_list("pk", flat=True))


@transaction.atomic
def take(endpoint_id: int) -> Take | None:
    """Take an endpoint, unless somebody else has it."""
    now = sql.now()
    free = Q(busy_until__isnull=True) | Q(busy_until__lte=now)
    until = now + BUSY
    if not Endpoint.objects.filter(free, pk=endpoint_id, paused_at__isnull=True).update(busy_until=until):
        return None
    endpoint = Endpoint.objects.get(pk=endpoint_id)
    waiting = endpoint.deliveries.filter(state=DeliveryState.WAITING).select_related("row").order_by("pk")
    return Take(endpoint, list(waiting[:STEP]), until)


def release(taken: Take) -> None:
    Endpoint.objects.filter(pk=taken.endpoint.pk, busy_until=taken.until).update(busy_until=None)


@transaction.atomic
def note(taken: Take, delivery: Delivery, answer: Answer) -> bool:
    """Keep how a try ended; whether the next one may go out."""
    at = sql.now()
    mine = Endpoint.objects.select_for_update().filter(pk=taken.endpoint.pk, busy_until=taken.until)
    endpoint = mine.first()
    if answer.is_taken:
        _log(delivery, answer, at, state=DeliveryState.DELIVERED, done_at=at)
        mine.update(failures=0, failing_since=None, retry_at=None, delivered_at=at)
        if endpoint is None or endpoint.paused_at is not None:
            return False
        if endpoint.failing_since is not None:
            _close_alert(endpoint, at)
        return at < taken.until - BUSY / 2
    _log(delivery, answer, at)
    if endpoint is not None and endpoint.paused_at is None:
        _note_failure(endpoint, delivery, answer, at)
    return False


def _log(delivery: Delivery, answer: Answer, at: datetime, **values: Any) -> None:
    line = {"at": at.isoformat(timespec="seconds"), "status": answer.status, "error": answer.error, "ms": answer.ms}
    log = json.dumps([*delivery.attempts, line][-KEPT_TRIES:])
    here = Delivery.objects.filter(pk=delivery.pk, state=DeliveryState.WAITING)
    here.update(tries=F("tries") + 1, log=log, **values)


def _note_failure(endpoint: Endpoint, delivery: Delivery, answer: Answer, at: datetime) -> None:
    since = endpoint.failing_since or at
    pause = PAUSES[min(endpoint.failures, len(PAUSES) - 1)] * random.uniform(0.9, 1.1)  # noqa: S311 - no secret
    values: dict[str, Any] = {"failures": endpoint.failures + 1, "failing_since": since}
    values["retry_at"] = at + timedelta(seconds=pause)
    if answer.status == GONE or at - since > timedelta(days=conf.get("WEBHOOK_DAYS")):
        values |= {"paused_at": at, "paused_why": answer.words[:200]}
        audit.note(actor="system:outbox", action="endpoint.pause", subject=endpoint.name, after={"why": answer.words})
    Endpoint.objects.filter(pk=endpoint.pk).update(**values)
    if "paused_at" in values:
        _close_alert(endpoint, at)
        _raise_alert(endpoint, delivery, at, f"Webhooks to {endpoint.name} are paused: {answer.words}.")
    elif at - since > TOLD_AFTER:
        since_when = since.strftime("%Y-%m-%d %H:%M UTC")
        said = f"Webhooks to {endpoint.name} have failed since {since_when}: {answer.words}."
        _raise_alert(endpoint, delivery, at, said)


def _raise_alert(endpoint: Endpoint, delivery: Delivery, at: datetime, sentence: str) -> None:
    queue = endpoint.queue_id or delivery.row.queue_id
    if queue is not None:
        alerts.raise_alert(AlertKind.ENDPOINT, queue_id=queue, step=endpoint.name, sentence=sentence, at=at)


def _close_alert(endpoint: Endpoint, at: datetime) -> None:
    alerts.close_alerts(Alert.objects.filter(kind=AlertKind.ENDPOINT, step=endpoint.name), at)


# --- by hand ---------------------------------------------------------------------------------------------------------


@transaction.atomic
def resend(*, delivery: Delivery, by: Person) -> Delivery:
    """Send it once more, after what waits; it keeps its id, so that its receiver knows it again.

    Raises:
        TransitionNotAllowed: it waits to be sent already.
    """
    if delivery.state == DeliveryState.WAITING:
        raise TransitionNotAllowed
    again = Delivery.objects.create(row_id=delivery.row_id, endpoint_id=delivery.endpoint_id, made_at=sql.now())
    _by_hand("delivery.resend", again, by)
    return again


@transaction.atomic
def skip(*, delivery: Delivery, by: Person) -> None:
    """Give up one that its endpoint refuses, so that what waits behind it goes out at once.

    Raises:
        TransitionNotAllowed: it does not wait.
    """
    waiting = Delivery.objects.filter(pk=delivery.pk, state=DeliveryState.WAITING)
    if not waiting.update(state=DeliveryState.SKIPPED, done_at=sql.now()):
        raise TransitionNotAllowed
    Endpoint.objects.filter(pk=delivery.endpoint_id).update(retry_at=None)
    _by_hand("delivery.skip", delivery, by)


def _by_hand(action: str, delivery: Delivery, by: Person) -> None:
    about = {"event": delivery.row.event, "id": delivery.row.uid}
    audit.note(actor=actor_of(by), action=action, subject=delivery.endpoint.name, after=about)
