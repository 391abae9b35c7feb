"""Drafts of the form: kept, restored, thrown away after the verdict; and staying on the page."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils.timezone import now

from handoffs.actions import escalations, queues
from handoffs.models import Draft, Escalation
from reviewqueue.models import User
from tests.browsing import form, send_with
from tests.pages import change, large, main_words, refused

pytestmark = pytest.mark.django_db


@pytest.fixture
def bob(client, cast):
    client.force_login(cast.bob)
    return client


def page_of(client, escalation):
    return client.get(reverse("escalation", args=[escalation.pk]))


def typed(page, **more):
    """The form of the page with an order typed into it."""
    found = form(page, "/fix/")
    name = next(name for name in found.data if name.endswith("/purchase_order"))
    return found, {name: "PO-half"} | more


def save_draft(client, escalation):
    found, data = typed(page_of(client, escalation))
    return send_with(client, found, data | {"then": "draft"})


def test_what_was_typed_is_there_when_the_page_is_opened_again(bob, cast):
    escalation = refused()
    assert save_draft(bob, escalation).status_code == 302
    Draft.objects.update(saved_at=now() - timedelta(minutes=5))
    page = page_of(bob, escalation)
    assert "Your draft, saved 5 min ago." in main_words(page)
    assert 'value="PO-half"' in page.content.decode()
    assert "Not saved" not in main_words(page), "a draft is no mistake"
    assert Escalation.objects.get().assignee == cast.bob, "who writes has it"
    assert Escalation.objects.get().state == "claimed"


def test_a_draft_is_thrown_away_by_hand_or_with_the_verdict(bob, cast):
    escalation = refused()
    save_draft(bob, escalation)
    send_with(bob, form(page_of(bob, escalation), "/draft/discard/"), {})
    assert "Your draft" not in main_words(page_of(bob, escalation))
    save_draft(bob, escalation)
    found, data = typed(page_of(bob, escalation), then="continue")
    send_with(bob, found, data)
    assert Escalation.objects.get().state == "resolved"
    assert not Draft.objects.exists()


def test_half_a_body_that_breaks_its_contract_is_kept_too(bob, cast):
    escalation = refused()
    found, data = typed(page_of(bob, escalation), then="draft")
    name = next(name for name in found.data if name.endswith("/total"))
    assert send_with(bob, found, data | {name: "not a number"}).status_code == 302
    assert 'value="not a number"' in page_of(bob, escalation).content.decode()


def test_a_draft_is_seen_by_its_author_only(client, bob, cast):
    escalation = refused()
    save_draft(bob, escalation)
    escalations.release(escalation_id=escalation.pk, by=cast.bob)
    client.force_login(cast.alice)
    assert "PO-half" not in page_of(client, escalation).content.decode()


def test_a_draft_of_a_step_done_by_a_person_is_kept_too(bob, cast):
    escalation = large()
    found = form(page_of(bob, escalation), "/answer/")
    send_with(bob, found, {"then": "draft"})
    assert "Your draft, saved just now." in main_words(page_of(bob, escalation))


def test_a_body_that_changed_since_the_draft_is_told_and_decided_with_both_in_sight(bob, cast):
    escalation = refused()
    save_draft(bob, escalation)
    escalation.record.__class__.objects.filter(pk=escalation.record_id).update(
        payload='{"number":"A-9","purchase_order":null,"total":10}'
    )
    page = page_of(bob, escalation)
    assert "What was sent has changed since" in main_words(page)
    found = form(page, "/fix/")
    assert send_with(bob, found, {"then": "continue"}).status_code == 409


def test_who_may_not_decide_keeps_no_draft(client, bob, cast):
    escalation = refused()
    found, data = typed(page_of(bob, escalation), then="draft")
    queues.set_member(queue=escalation.queue, user=cast.charlie, role="viewer")
    client.force_login(cast.charlie)
    assert send_with(client, found, data).status_code == 403
    assert not Draft.objects.exists()


def test_a_draft_of_what_was_decided_meanwhile_is_not_lost_but_shown(bob, cast):
    escalation = refused()
    found, data = typed(page_of(bob, escalation), then="draft")
    change(escalation, state="resolved", resolved_at=now(), resolved_by=cast.alice, resolution="close")
    answer = send_with(bob, found, data)
    assert answer.status_code == 409
    assert "PO-half" in answer.content.decode()


def test_who_stays_sees_the_same_page_after_a_decision(bob, cast):
    first, second = refused("A-1"), refused("A-2")
    User.objects.filter(pk=cast.bob.pk).update(stays=True)
    answer = send_with(bob, form(page_of(bob, first), "/close/"), {"reason": "Duplicate"})
    assert answer["Location"] == reverse("escalation", args=[first.pk])
    assert "It is decided." in main_words(bob.get(answer["Location"])) or "closed" in main_words(
        bob.get(answer["Location"])
    )
    User.objects.filter(pk=cast.bob.pk).update(stays=False)
    third = refused("A-3")
    answer = send_with(bob, form(page_of(bob, third), "/close/"), {"reason": "Duplicate"})
    assert answer["Location"] == reverse("escalation", args=[second.pk])
