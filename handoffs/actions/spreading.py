"""From outbox rows to what goes out: a delivery for each endpoint that wants them, a notice for each person.

Many rows of one fault become one notice with a count, so that a flood reads as one thing, and is one mail.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth import get_user_model
from django.db import transaction
from django.db.models import F, Max

from handoffs import conf
from handoffs.actions import mailtimes
from handoffs.models import Delivery, Endpoint, Notice, OutboxRow, Queue, sql
from handoffs.models.queues import who_answers
from handoffs.states import DeliveryState, MailState

AT_ONCE = 1000  # rows in one transaction


@dataclass(slots=True)
class Heap:
    """Rows of one fault for one person: the latest of them, and how many."""

    latest: OutboxRow
    count: int = 0


@transaction.atomic
def spread(limit: int = AT_ONCE) -> int:
    """Do this for what is due, in its order; how many rows it was. One process at a time, so that the order holds."""
    if not sql.alone("handoffs.spread"):
        return 0
    at = sql.now()
    due = OutboxRow.objects.filter(spread_at__isnull=True, available_at__lte=at).select_related("queue")
    rows = list(due.order_by("available_at", "pk")[:limit])
    if rows:
        _make_deliveries(rows, at)
        _make_notices(rows, at)
        OutboxRow.objects.filter(pk__in=[row.pk for row in rows]).update(spread_at=at)
    return len(rows)


def _make_deliveries(rows: Sequence[OutboxRow], at: datetime) -> None:
    endpoints = list(Endpoint.objects.order_by("pk"))
    columns = ("row_id", "endpoint_id", "state", "tries", "log", "made_at")
    waiting = DeliveryState.WAITING.value
    made = [[row.pk, to.pk, waiting, 0, "[]", at] for row in rows for to in endpoints if to.wants(row)]
    sql.insert(Delivery, columns, made)


def _make_notices(rows: Sequence[OutboxRow], at: datetime) -> None:
    heaps: dict[tuple[int, str, str], Heap] = {}
    for row, person in _recipients(rows, at):
        heap = heaps.setdefault((person, row.event, row.fault), Heap(row))
        heap.latest, heap.count = row, heap.count + 1
    people = get_user_model().objects.select_related("mail_choice").in_bulk({person for person, *_ in heaps})
    for (person, event, fault), heap in heaps.items():
        if person in people:
            _notice(people[person], event, fault, heap, at)


def _recipients(rows: Iterable[OutboxRow], at: datetime) -> Iterable[tuple[OutboxRow, int]]:
    """(row, person's id), each pair once."""
    answering: dict[int, list[int]] = {}
    for row in rows:
        people = set(json.loads(row.people))
        if row.to_owner and row.queue is not None:
            if row.queue.pk not in answering:
                answering[row.queue.pk] = _told_for(row.queue, at)
            people |= set(answering[row.queue.pk])
        yield from ((row, person) for person in sorted(people))


def _told_for(queue: Queue, at: datetime) -> list[int]:
    """Who is told what happens in a queue: who answers for it, and where no mail reaches them, who comes next too."""
    told: list[int] = []
    for person in who_answers(queue, at):
        told.append(person.pk)
        if person.email or not mailtimes.is_on():
            break
    return told


def _notice(person: Any, event: str, fault: str, heap: Heap, at: datetime) -> None:
    """Count it in the unread notice of that fault, or write a new one."""
    row = heap.latest
    latest = {"last_at": row.happened_at, "escalation_id": row.escalation_id, "record": row.record, "data": row.data}
    known = Notice.objects.filter(user=person, event=event, fault=fault)
    unread = known.filter(read_at__isnull=True)
    state, due = mailtimes.plan(person, at)
    if due is not None and (mailed := known.aggregate(last=Max("mailed_at"))["last"]) is not None:
        due = max(due, mailtimes.plan(person, mailed + timedelta(seconds=conf.get("MAIL_EVERY")))[1] or due)
    if unread.update(count=F("count") + heap.count, **latest):
        if state is MailState.DUE:
            unread.filter(mail_at__isnull=True).update(mail=state, mail_at=due)
        return
    Notice.objects.create(
        user=person,
        event=event,
        fault=fault,
        queue=row.queue,
        count=heap.count,
        first_at=row.happened_at,
        mail=state,
        mail_at=due,
        **latest,
    )


def forget_told() -> int:
    """Drop what was told long ago: rows of which nothing waits to be delivered, and read notices."""
    before = sql.now() - timedelta(days=conf.get("OUTBOX_DAYS"))
    Notice.objects.filter(read_at__lt=before).delete()
    waiting = Delivery.objects.filter(state=DeliveryState.WAITING).values("row")
    old = OutboxRow.objects.filter(spread_at__lt=before).exclude(pk__in=waiting).order_by("pk")[:AT_ONCE]
    return OutboxRow.objects.filter(pk__in=list(old.values_list("pk", flat=True))).delete()[0]
