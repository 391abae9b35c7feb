"""Whether somebody watches the queues: unread and overdue items are told once, a queue that nobody opens is an alert.

The reconciler asks for it in each round; only the database's clock decides.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Count, Min, Q

from handoffs.actions import alerts, outbox
from handoffs.actions.escalations import Person
from handoffs.models import Alert, Escalation, Membership, Queue, sql
from handoffs.models.escalations import EscalationQuerySet
from handoffs.models.queues import stands_in
from handoffs.states import AlertKind, Told

AT_ONCE = 500  # escalations in one round
FRESH = timedelta(minutes=1)  # a look is noted once in this time


def watch() -> int:
    """One round: tell what is unread or overdue, raise and close the alerts of queues; how many are unwatched."""
    now = sql.now()
    queues = {queue.pk: queue for queue in Queue.objects.select_related("owner", "backup")}
    _tell_unread(queues, now)
    _tell_overdue(queues, now)
    _ring_for_unreachable(queues, now)
    return _ring_for_unwatched(queues, now)


def looked_at(*, queues: Collection[Queue], by: Person, at: datetime) -> None:
    """Note that a person looked at these queues, where they are its owner, backup or member; the alert ends by it."""
    stale = [q.pk for q in queues if q.last_looked_at is None or q.last_looked_at < at - FRESH]
    if not stale:
        return
    own = Q(owner=by) | Q(backup=by) | Q(pk__in=Membership.objects.filter(user=by).values("queue"))
    Queue.objects.filter(own, pk__in=stale).update(last_looked_at=at)


def _tell_unread(queues: dict[int, Queue], now: datetime) -> None:
    late = Q(pk__in=[])
    for queue in queues.values():
        late |= Q(queue=queue.pk, opened_at__lt=now - queue.unread_within)
    waiting = Escalation.objects.awake(now).filter(late, first_seen_at__isnull=True, unread_told_at__isnull=True)
    _tell(Told.UNREAD, waiting, "unread_told_at", queues, now)


def _tell_overdue(queues: dict[int, Queue], now: datetime) -> None:
    waiting = Escalation.objects.overdue(now).filter(overdue_told_at__isnull=True)
    _tell(Told.BREACHED, waiting, "overdue_told_at", queues, now)


@transaction.atomic
def _tell(event: Told, waiting: EscalationQuerySet, mark: str, queues: dict[int, Queue], now: datetime) -> None:
    """Tell who stands in for the owner, once for each; those that somebody changes now come in the next round."""
    locked = waiting.select_for_update(skip_locked=True, of=("self",)).select_related("record")
    found = list(locked.order_by("pk")[:AT_ONCE])
    if not found:
        return
    told = []
    to = {pk: [person.pk for person in stands_in(queues[pk], now)[:1]] for pk in {one.queue_id for one in found}}
    for one in found:
        one.queue = queues[one.queue_id]
        more = {"minutes": int((now - one.opened_at).total_seconds() // 60)}
        fault = f"{one.queue.slug}:{event.value}"
        told.append(outbox.about(event, one, now, more, people=to[one.queue_id], fault=fault))
    Escalation.objects.filter(pk__in=[one.pk for one in found]).update(**{mark: now})
    outbox.tell(*told)


def _ring_for_unwatched(queues: dict[int, Queue], now: datetime) -> int:
    waits = Escalation.objects.awake(now).values("queue").annotate(oldest=Min("opened_at"), count=Count("pk"))
    unwatched = set()
    for row in waits.order_by("queue"):
        queue = queues[row["queue"]]
        since = max(queue.last_looked_at or row["oldest"], row["oldest"])
        if since >= now - queue.watched_within:
            continue
        unwatched.add(queue.pk)
        hours = int((now - since).total_seconds() // 3600)
        sentence = f"Nobody who looks after {queue} has opened it for {hours} h; {row['count']} items wait."
        people = [person.pk for person in stands_in(queue, now)]
        alerts.raise_alert(AlertKind.UNWATCHED, queue_id=queue.pk, sentence=sentence, at=now, people=people)
    _close_but(AlertKind.UNWATCHED, unwatched, now)
    return len(unwatched)


def _ring_for_unreachable(queues: dict[int, Queue], now: datetime) -> None:
    """Triggers keep owners able to sign in; should one be shut out all the same, the others are told."""
    gone = {queue.pk for queue in queues.values() if not queue.owner.is_active}
    for pk in sorted(gone):
        name = queues[pk].owner.get_username()
        sentence = f"{name}, who owns {queues[pk]}, can not sign in: give it another owner."
        people = [person.pk for person in stands_in(queues[pk], now)]
        alerts.raise_alert(AlertKind.UNREACHABLE, queue_id=pk, sentence=sentence, at=now, people=people)
    _close_but(AlertKind.UNREACHABLE, gone, now)


def _close_but(kind: AlertKind, still: Collection[int], now: datetime) -> None:
    over = Alert.objects.standing().filter(kind=kind).exclude(queue__in=still)
    if over.exists():
        alerts.close_alerts(over, now)
