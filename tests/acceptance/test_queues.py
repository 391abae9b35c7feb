"""The pages of queues and flows: who answers for what, what waits, where records stand."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils.timezone import now

from handoffs.actions import escalations, queues
from handoffs.models import Alert
from tests.cast import opened
from tests.pages import change, large, main_words, refused, words

pytestmark = pytest.mark.django_db
QUEUES, FLOWS = reverse("queues"), reverse("flows")


def page_of(slug):
    return reverse("queue", args=[slug])


@pytest.fixture
def bob(client, cast):
    client.force_login(cast.bob)
    return client


def test_each_queue_shows_its_owner_and_what_waits(bob, cast):
    first = refused("A-1")
    change(first, opened_at=now() - timedelta(hours=26), due_at=now() - timedelta(hours=2))
    escalations.claim(escalation_id=refused("A-2").pk, by=cast.bob)
    Alert.objects.create(kind="unserved", queue=cast.queues["ledger"], sentence="No worker.", opened_at=now())
    text = main_words(bob.get(QUEUES))
    assert "Order exceptions AE Alice Ek 26 h none 2 1 1 0" in text
    assert "Ledger AE Alice Ek none waits 1 0 0 0 0" in text


def test_people_see_their_queues_and_no_others(client, cast):
    queues.set_member(queue=cast.queues["ledger"], user=cast.charlie, role="viewer")
    client.force_login(cast.charlie)
    text = main_words(client.get(QUEUES))
    assert "Ledger you may look, not decide" in text
    assert "Approvals" not in text
    assert client.get(page_of("ledger")).status_code == 200
    assert client.get(page_of("approvals")).status_code == 404
    assert client.get(page_of("not-there")).status_code == 404


def test_who_is_in_no_queue_is_told(client, cast):
    client.force_login(cast.charlie)
    assert "You are in no queue yet" in main_words(client.get(QUEUES))
    assert "No flow to see" in main_words(client.get(FLOWS))


def test_a_queue_names_its_people_and_what_they_have(bob, cast):
    queue = queues.change_queue(
        queue=cast.queues["order-exceptions"],
        by=cast.dora,
        backup=cast.dora,
        instructions="Never guess an order number.",
        close_reasons="Duplicate\nNot ours",
    )
    queues.set_member(queue=queue, user=cast.charlie, role="viewer")
    escalations.claim(escalation_id=refused().pk, by=cast.bob)
    text = main_words(bob.get(page_of("order-exceptions")))
    assert "Alice Ek answers for it. A decision is due within 24 h." in text
    assert "Alice Ek owner: answers for the queue 0" in text
    assert "Dora backup: stands in for the owner 0" in text
    assert "Bob Lind sees and decides 1" in text
    assert "Charlie Out sees 0" in text
    assert "Never guess an order number." in text
    assert "Duplicate Not ours" in text
    assert "orders · intake orders · extract orders · check" in text


def test_a_member_who_can_no_longer_sign_in_is_marked(bob, cast):
    queues.set_member(queue=cast.queues["ledger"], user=cast.charlie, role="reviewer")
    cast.charlie.is_active = False
    cast.charlie.save()
    assert "Charlie Out sees and decides cannot sign in" in main_words(bob.get(page_of("ledger")))


def test_counts_lead_to_the_list_behind_them(bob, cast):
    change(refused(), due_at=now() - timedelta(hours=2))
    page = bob.get(page_of("order-exceptions")).content.decode()
    for view in ("unassigned", "overdue", "snoozed", "decided"):
        assert f'href="{reverse("inbox")}?queue=order-exceptions&amp;view={view}"' in page


def test_who_may_only_look_is_offered_nothing_to_take(client, cast):
    queues.set_member(queue=cast.queues["ledger"], user=cast.charlie, role="viewer")
    client.force_login(cast.charlie)
    assert "Take next" not in main_words(client.get(page_of("ledger")))
    assert "You may look, not decide." in main_words(client.get(page_of("ledger")))


def test_the_number_of_queries_does_not_grow_with_the_queues(bob, cast, django_assert_max_num_queries):
    bob.get(QUEUES)
    with django_assert_max_num_queries(6) as few:
        bob.get(QUEUES)
    for number in range(20):
        made = queues.create_queue(slug=f"extra-{number}", owner=cast.alice)
        queues.set_member(queue=made, user=cast.bob, role="reviewer")
    with django_assert_max_num_queries(6) as many:
        assert "Extra 19" in main_words(bob.get(QUEUES))
    assert len(few) == len(many)


def test_a_flow_shows_its_steps_with_what_stands_at_each(bob, cast):
    refused()
    large()
    opened({"text": "A-9,PO-1,1"})
    text = main_words(bob.get(reverse("flow", args=["orders"])))
    assert "check a worker CheckInput → Checked 2 – Order exceptions 0 0 1" in text
    assert "extract a worker Document → Draft 3 0.85 Order exceptions 1 0 0" in text
    assert "approve a person, where it is needed Checked → Approval – – Approvals 0 0 1" in text


def test_a_flow_shows_what_its_seams_do_not_guarantee(bob, cast):
    text = main_words(bob.get(reverse("flow", args=["orders"])))
    assert "extract → check Draft → CheckInput /purchase_order Not guaranteed: it may be null" in text
    assert "intake → extract Document → Document What is handed over holds what is needed. fits" in text


def test_flows_are_shown_to_those_who_see_one_of_their_queues(client, cast):
    queues.set_member(queue=cast.queues["ticket-questions"], user=cast.charlie, role="viewer")
    client.force_login(cast.charlie)
    assert "tickets" in main_words(client.get(FLOWS))
    assert "orders" not in words(client.get(FLOWS))
    assert client.get(reverse("flow", args=["tickets"])).status_code == 200
    assert client.get(reverse("flow", args=["orders"])).status_code == 404
    assert client.get(reverse("flow", args=["not there"])).status_code == 404


def test_a_queue_of_a_flow_that_one_may_not_see_is_not_named(client, cast):
    refused()
    large()
    queues.set_member(queue=cast.queues["ledger"], user=cast.charlie, role="viewer")
    client.force_login(cast.charlie)
    text = main_words(client.get(reverse("flow", args=["orders"])))
    assert "Order exceptions" not in text
    assert "check a worker CheckInput → Checked 2 – not one of yours 0 0 0" in text


def test_the_flows_count_what_one_may_see(bob, cast):
    refused()
    large()
    assert "Ready 0 Running 0 Escalated 2 Completed 0 Closed 0" in main_words(bob.get(FLOWS))
