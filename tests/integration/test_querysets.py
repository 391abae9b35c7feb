"""Who sees what: every list and page starts from these querysets."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import AnonymousUser

from handoffs.actions import escalations
from handoffs.models import Alert, Escalation, Membership, Queue, Record, sql
from tests.cast import document, opened, shut_out_by_force, waiting, work

pytestmark = pytest.mark.django_db


@pytest.fixture
def two_queues(cast):
    """One record that waits in `order-exceptions`, one in `approvals`, and an alert in each."""
    for queue in ("order-exceptions", "approvals"):
        Alert.objects.create(kind="unserved", queue=cast.queues[queue], sentence=queue, opened_at=sql.now())
    records = {"order-exceptions": opened(document(order="")), "approvals": opened(document(total=9000))}
    work()
    Membership.objects.filter(queue=cast.queues["approvals"], user=cast.bob).delete()
    return records


def seen_by(person):
    """The queues of what the person sees: queues, records, escalations, alerts."""
    return [
        set(Queue.objects.visible_to(person).values_list("slug", flat=True)),
        *(
            set(model.objects.visible_to(person).values_list("queue__slug", flat=True))
            for model in (Record, Escalation, Alert)
        ),
    ]


def test_a_member_sees_the_own_queues_and_nothing_of_others(cast, two_queues):
    mine = {"order-exceptions", "ledger", "ticket-questions"}
    assert seen_by(cast.bob) == [mine, *[{"order-exceptions"}] * 3]


def test_an_owner_sees_without_being_a_member(cast, two_queues):
    assert not Membership.objects.filter(user=cast.alice).exists()
    assert seen_by(cast.alice)[1:] == [{"order-exceptions", "approvals"}] * 3


def test_a_backup_sees(cast, two_queues):
    Queue.objects.filter(slug="approvals").update(backup=cast.charlie)
    assert seen_by(cast.charlie) == [{"approvals"}] * 4


def test_an_outsider_and_a_stranger_see_nothing(cast, two_queues):
    for person in (cast.charlie, AnonymousUser()):
        assert seen_by(person) == [set()] * 4
        assert not Escalation.objects.decidable_by(person).exists()


def test_an_admin_sees_everything(cast, two_queues):
    assert seen_by(cast.dora)[1:] == [{"order-exceptions", "approvals"}] * 3


@pytest.mark.parametrize("who", ["alice", "bob", "dora"])
def test_who_may_no_longer_sign_in_sees_and_decides_nothing(cast, two_queues, who):
    person = get_user_model().objects.get(username=who)
    shut_out_by_force(person)
    assert seen_by(person) == [set()] * 4
    assert not Queue.objects.decidable_by(person).exists()


@pytest.mark.parametrize(("role", "decides"), [("viewer", False), ("reviewer", True), ("owner", True)])
def test_a_viewer_sees_but_decides_nothing(cast, two_queues, role, decides):
    Membership.objects.create(queue=cast.queues["approvals"], user=cast.charlie, role=role)
    assert seen_by(cast.charlie) == [{"approvals"}] * 4
    assert Escalation.objects.decidable_by(cast.charlie).exists() is decides


def test_two_roads_to_a_queue_do_not_show_it_twice(cast, two_queues):
    Membership.objects.create(queue=cast.queues["approvals"], user=cast.alice, role="owner")
    Queue.objects.update(backup=cast.alice)
    assert Escalation.objects.visible_to(cast.alice).count() == 2


def test_a_record_is_seen_where_its_escalation_was_transferred_to(cast, two_queues):
    record = two_queues["order-exceptions"]
    escalations.transfer(escalation_id=waiting(record).pk, by=cast.alice, to=cast.queues["approvals"])
    assert record not in Record.objects.visible_to(cast.bob)
    assert not Escalation.objects.visible_to(cast.bob).exists()


def test_what_is_takeable_is_awake_and_nobody_s(cast, two_queues):
    now = sql.now()
    first, second = Escalation.objects.order_by("pk")
    assert set(Escalation.objects.takeable(now)) == {first, second}
    escalations.claim(escalation_id=first.pk, by=cast.alice)
    escalations.snooze(escalation_id=second.pk, by=cast.alice, until=now + timedelta(hours=1))
    assert not Escalation.objects.takeable(now).exists()
    assert list(Escalation.objects.snoozed(now)) == [second]
    assert list(Escalation.objects.held_by(cast.alice)) == [first]
    assert set(Escalation.objects.takeable(now + timedelta(hours=2))) == {first, second}
