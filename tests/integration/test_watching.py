"""Queues that nobody watches ring: unread and overdue items are told once, an alert ends when somebody looks."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.db.models import F
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from handoffs.actions import escalations, spreading, watching
from handoffs.models import Alert, Escalation, Membership, Notice, Queue, sql
from handoffs.reconcile import reconcile
from tests.cast import document, opened, waiting, work

pytestmark = pytest.mark.django_db
LONG_AGO = timedelta(days=3)


@pytest.fixture
def queue(cast):
    """Its backup is charlie."""
    Queue.objects.filter(slug="order-exceptions").update(backup=cast.charlie, due_within=timedelta(days=30))
    return Queue.objects.get(slug="order-exceptions")


def stopped(count: int = 1) -> list[Escalation]:
    """Escalations, opened three days ago."""
    records = [opened(document(f"A-{number}", order="")) for number in range(count)]
    work()
    Escalation.objects.update(opened_at=F("opened_at") - LONG_AGO)
    return [waiting(record) for record in records]


def told(person, event: str) -> list[int]:
    """How many items each notice is about."""
    spreading.spread()
    return list(Notice.objects.filter(user=person, event=event).values_list("count", flat=True))


def unwatched():
    return Alert.objects.standing().filter(kind="unwatched")


# --- unread and overdue ----------------------------------------------------------------------------------------------


def test_an_unread_item_is_told_to_the_backup_once(cast, queue):
    stopped()
    for _round in range(3):
        reconcile()
    assert told(cast.charlie, "escalation.unread") == [1]
    assert told(cast.bob, "escalation.unread") == []


def test_a_flood_of_unread_items_is_one_notice(cast, queue):
    stopped(7)
    watching.watch()
    assert told(cast.charlie, "escalation.unread") == [7]


def test_without_a_backup_the_admins_are_told(cast):
    stopped()
    watching.watch()
    assert told(cast.dora, "escalation.unread") == [1]


def test_what_was_looked_at_or_is_young_or_snoozed_is_not_told(cast, queue):
    looked, snoozed = stopped(2)
    escalations.looked_at(escalations=[looked.pk], by=cast.bob)
    escalations.snooze(escalation_id=snoozed.pk, by=cast.bob, until=sql.now() + timedelta(hours=1))
    opened(document("B-1", order=""))
    work()
    watching.watch()
    assert told(cast.charlie, "escalation.unread") == []


def test_an_overdue_item_is_told_once_and_not_while_it_is_snoozed(cast, queue):
    late, snoozed = stopped(2)
    Escalation.objects.update(due_at=sql.now() - timedelta(minutes=1))
    escalations.snooze(escalation_id=snoozed.pk, by=cast.bob, until=sql.now() + timedelta(hours=1))
    for _round in range(3):
        watching.watch()
    assert told(cast.charlie, "escalation.breached") == [1]
    Escalation.objects.filter(pk=snoozed.pk).update(snoozed_until=sql.now() - timedelta(minutes=1))
    watching.watch()
    assert sum(told(cast.charlie, "escalation.breached")) == 2
    assert late.pk != snoozed.pk


# --- unwatched -------------------------------------------------------------------------------------------------------


def test_a_queue_that_nobody_opens_is_one_alert_that_ends_when_somebody_looks(cast, queue, client):
    stopped(2)
    for _round in range(3):
        reconcile()
    assert unwatched().get().queue == queue
    assert "has opened it for 72 h; 2 items wait" in unwatched().get().sentence
    assert told(cast.charlie, "alert.opened") == [1]
    assert told(cast.alice, "alert.opened") == [1]
    client.force_login(cast.bob)
    assert "Nobody watches it" in client.get(reverse("queue", args=[queue.slug])).content.decode()
    reconcile()
    assert not unwatched().exists()
    assert "Nobody watches it" not in client.get(reverse("queue", args=[queue.slug])).content.decode()


@pytest.mark.parametrize("page", ["inbox", "queue", "escalation"])
def test_a_look_at_any_of_its_pages_counts(cast, queue, client, page):
    [found] = stopped()
    args = {"inbox": [], "queue": [queue.slug], "escalation": [found.pk]}[page]
    client.force_login(cast.bob)
    assert client.get(reverse(page, args=args)).status_code == 200
    watching.watch()
    assert not unwatched().exists()
    assert Queue.objects.get(pk=queue.pk).last_looked_at is not None


def test_an_admin_who_passes_by_is_nobody_who_looks_after_it(cast, queue, client):
    stopped()
    client.force_login(cast.dora)
    client.get(reverse("queue", args=[queue.slug]))
    assert Queue.objects.get(pk=queue.pk).last_looked_at is None
    Membership.objects.create(queue=queue, user=cast.dora, role="viewer")
    client.get(reverse("queue", args=[queue.slug]))
    assert Queue.objects.get(pk=queue.pk).last_looked_at is not None


def test_the_inbox_of_one_queue_is_no_look_at_another(cast, queue, client):
    client.force_login(cast.bob)
    client.get(reverse("inbox") + "?queue=ledger")
    assert set(Queue.objects.filter(last_looked_at__isnull=False).values_list("slug", flat=True)) == {"ledger"}


def test_an_empty_queue_needs_nobody(cast, queue):
    Queue.objects.update(last_looked_at=sql.now() - LONG_AGO)
    watching.watch()
    assert not Alert.objects.exists()


def test_what_came_a_moment_ago_is_no_alarm_although_nobody_looked_for_long(cast, queue):
    Queue.objects.update(last_looked_at=sql.now() - LONG_AGO)
    opened(document("A-1", order=""))
    work()
    watching.watch()
    assert not unwatched().exists()


def test_the_number_of_queries_is_the_same_for_any_number_of_items(cast, queue, django_assert_num_queries):
    stopped(2)
    with CaptureQueriesContext(connection) as first:
        watching.watch()
    with CaptureQueriesContext(connection) as quiet:
        watching.watch()
    Queue.objects.update(last_looked_at=sql.now())
    watching.watch()
    Queue.objects.update(last_looked_at=None)
    records = [opened(document(f"B-{number}", order="")) for number in range(30)]
    work()
    Escalation.objects.filter(record__in=records).update(opened_at=F("opened_at") - LONG_AGO)
    with django_assert_num_queries(len(first)):
        watching.watch()
    with django_assert_num_queries(len(quiet)):
        watching.watch()
