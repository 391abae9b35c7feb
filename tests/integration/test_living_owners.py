"""A queue's owner can sign in, always; who leaves hands over what they answered for and what they had, at once."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from django.contrib.auth import get_user_model
from django.db import IntegrityError, transaction
from django.urls import reverse

from handoffs.actions import escalations, people, queues, spreading, watching
from handoffs.errors import NoSuccessor
from handoffs.models import Alert, AuditEntry, Escalation, Notice, OutboxRow, Queue
from handoffs.states import EscalationState
from tests.cast import document, opened, shut_out_by_force, story, waiting, work
from tests.racing import race, winners

pytestmark = pytest.mark.django_db
User = get_user_model()


@pytest.fixture
def stopped(cast):
    """Three records that wait with alice; bob has claimed the first."""
    records = [opened(document(f"A-{number}", order="")) for number in range(3)]
    work()
    escalations.claim(escalation_id=waiting(records[0]).pk, by=cast.bob)
    return records


def back_up(queue: Queue, person) -> None:
    Queue.objects.filter(pk=queue.pk).update(backup=person)


# --- what the database refuses ---------------------------------------------------------------------------------------


def test_an_owner_is_not_shut_out_behind_everybody_s_back(cast):
    with pytest.raises(IntegrityError, match="owns a queue"), transaction.atomic():
        User.objects.filter(pk=cast.alice.pk).update(is_active=False)
    cast.alice.is_active = False
    with pytest.raises(IntegrityError), transaction.atomic():
        cast.alice.save()
    User.objects.filter(pk=cast.bob.pk).update(is_active=False)  # owns nothing


def test_a_queue_is_not_given_to_who_can_not_sign_in(cast):
    User.objects.filter(pk=cast.charlie.pk).update(is_active=False)
    with pytest.raises(IntegrityError, match="able to sign in"), transaction.atomic():
        Queue.objects.filter(slug="ledger").update(owner=cast.charlie)
    with pytest.raises(IntegrityError), transaction.atomic():
        Queue.objects.create(slug="new", title="New", owner=cast.charlie)
    Queue.objects.filter(slug="ledger").update(owner=cast.dora)


# --- handing over ----------------------------------------------------------------------------------------------------


def test_who_leaves_hands_over_all_at_once(cast, stopped, client):
    for queue in cast.queues.values():
        back_up(queue, cast.bob)
    client.force_login(cast.alice)
    escalations.claim(escalation_id=waiting(stopped[1]).pk, by=cast.alice)
    handed = people.shut_out(person=cast.alice, by=cast.dora)
    assert (handed.queues, handed.items, handed.released) == (len(cast.queues), 3, 1)
    assert set(Queue.objects.values_list("owner__username", "backup")) == {("bob", None)}
    was_hers = waiting(stopped[1])
    assert (was_hers.state, was_hers.assignee) == (EscalationState.OPEN, None)
    assert story(stopped[1])[-1] == ("release", "escalated")
    assert waiting(stopped[0]).assignee == cast.bob, "what others have stays theirs"
    assert client.get(reverse("inbox")).status_code == 302, "the session ended"
    noted = AuditEntry.objects.filter(action="escalation.owner").order_by("pk")
    assert [(e.actor, e.subject, json.loads(e.before), json.loads(e.after)) for e in noted] == [
        ("reviewer:dora", f"ESC-{waiting(record).pk}", {"owner": "alice"}, {"owner": "bob"}) for record in stopped
    ]
    assert AuditEntry.objects.filter(action="queue.change").count() == len(cast.queues)
    assert AuditEntry.objects.filter(action="person.shut_out", subject="alice", actor="reviewer:dora").count() == 1


def test_the_successor_is_told_once_and_the_one_who_left_no_more(cast, stopped):
    spreading.spread()
    Notice.objects.all().delete()
    people.shut_out(person=cast.alice, by=cast.dora, to=cast.bob)
    opened(document("B-1", order=""))
    work()
    spreading.spread()
    told = sorted(Notice.objects.exclude(user=cast.dora).values_list("user__username", "event"))
    assert told == [("bob", "escalation.opened"), ("bob", "queue.handover")]
    assert json.loads(OutboxRow.objects.get(event="queue.handover").data) == {
        "name": "Alice Ek", "queues": len(cast.queues), "items": 3,
    }  # fmt: skip


def test_without_a_successor_nothing_happens_and_the_queues_are_named(cast, stopped):
    with pytest.raises(NoSuccessor, match="Order exceptions"):
        people.shut_out(person=cast.alice, by=cast.dora)
    with pytest.raises(NoSuccessor):
        people.shut_out(person=cast.alice, by=cast.dora, to=cast.alice)
    assert User.objects.get(pk=cast.alice.pk).is_active
    assert not AuditEntry.objects.filter(action__in=["escalation.owner", "person.shut_out"]).exists()


def test_a_backup_who_leaves_backs_nothing_any_more(cast):
    back_up(cast.queues["ledger"], cast.bob)
    people.shut_out(person=cast.bob, by=cast.dora)
    assert Queue.objects.get(slug="ledger").backup is None
    assert AuditEntry.objects.get(action="queue.change").subject == "ledger"


def test_a_thousand_open_items_change_hands_in_a_few_queries(cast, django_assert_max_num_queries):
    queue = cast.queues["order-exceptions"]
    [record] = [opened(document("A-1", order=""))]
    work()
    first = waiting(record)
    rows = [opened(document(f"N-{number}")) for number in range(1000)]
    Escalation.objects.bulk_create(
        Escalation(record=row, queue=queue, kind=first.kind, state="open", flow="orders", step=first.step,
                   opened_at=first.opened_at, due_at=first.due_at + timedelta(days=1))
        for row in rows
    )  # fmt: skip
    with django_assert_max_num_queries(60):  # some for each queue
        handed = people.shut_out(person=cast.alice, by=cast.dora, to=cast.bob)
    assert handed.items == 1001
    assert AuditEntry.objects.filter(action="escalation.owner").count() == 1001
    assert not Escalation.objects.unresolved().exclude(queue__owner=cast.bob).exists()


# --- in the administration -------------------------------------------------------------------------------------------


def posted(client, person, **values):
    url = reverse("admin:reviewqueue_user_change", args=[person.pk])
    page = client.get(url)
    said = {k: v for k, v in page.context["adminform"].form.initial.items() if v not in (None, False, [])}
    said = {k: v for k, v in said.items() if k not in {"last_login", "date_joined", "password", "is_active"}}
    return client.post(url, said | {"date_joined_0": "2026-01-01", "date_joined_1": "00:00:00"} | values)


def test_an_administrator_names_who_takes_over(cast, stopped, client):
    client.force_login(cast.dora)
    assert "hand_over_to" in posted(client, cast.alice).context["adminform"].form.errors
    assert posted(client, cast.alice, hand_over_to=cast.bob.pk).status_code == 302
    assert set(Queue.objects.values_list("owner__username", flat=True)) == {"bob"}
    assert not User.objects.get(pk=cast.alice.pk).is_active
    assert posted(client, cast.alice, is_active="on").status_code == 302
    assert User.objects.get(pk=cast.alice.pk).is_active


def test_an_owner_shut_out_by_force_is_an_alert_until_there_is_another(cast):
    back_up(cast.queues["ledger"], cast.bob)
    shut_out_by_force(cast.alice)
    watching.watch()
    standing = Alert.objects.standing().filter(kind="unreachable")
    assert standing.count() == len(cast.queues)
    spreading.spread()
    assert Notice.objects.filter(user=cast.bob, event="alert.opened").exists()
    Queue.objects.update(owner=cast.dora)
    watching.watch()
    assert not standing.exists()


# --- at the same moment ----------------------------------------------------------------------------------------------


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("_round", range(10))
def test_of_a_queue_given_to_somebody_and_their_being_shut_out_one_is_done(cast, _round):
    ledger = cast.queues["ledger"]
    outcomes = race(
        [
            lambda: queues.change_queue(queue=ledger, by=cast.dora, owner=User.objects.get(pk=cast.bob.pk)),
            lambda: people.shut_out(person=User.objects.get(pk=cast.bob.pk), by=cast.dora),
        ]
    )
    assert len(winners(outcomes)) == 1, outcomes
    owner = Queue.objects.select_related("owner").get(slug="ledger").owner
    assert owner.is_active
    assert owner == cast.alice or User.objects.get(pk=cast.bob.pk).is_active
