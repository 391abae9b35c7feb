"""Who has an escalation: claim, release, take over, transfer, assign, snooze; and comments."""

from __future__ import annotations

from datetime import timedelta

import pytest

from handoffs.actions import escalations
from handoffs.models import sql
from tests.acceptance.stopped import refused, url
from tests.browsing import form, forms, send_with, text_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def bob(client, cast):
    client.force_login(cast.bob)
    return client


def now(escalation):
    escalation.refresh_from_db()
    return escalation


def test_claim_and_release_are_one_key(bob, cast):
    escalation = refused()
    assert send_with(bob, form(bob.get(url(escalation)), "/claim/"), {}).headers["Location"] == url(escalation)
    assert now(escalation).assignee == cast.bob
    response = bob.get(url(escalation))
    assert "yours" in text_of(response)
    send_with(bob, form(response, "/release/"), {})
    assert now(escalation).state == "open"


def test_a_claim_of_what_somebody_has_is_a_conflict_and_taking_over_is_not(bob, cast):
    escalation = refused()
    escalations.claim(escalation_id=escalation.pk, by=cast.alice)
    response = bob.post(url(escalation, "claim/"))
    assert response.status_code == 409
    assert "Alice Ek has it" in text_of(response)
    found = form(bob.get(url(escalation)), "/claim/")
    assert found.data["take_over"] == "1"
    send_with(bob, found, {})
    assert now(escalation).assignee == cast.bob
    assert "Bob Lind took it over" in text_of(bob.get(url(escalation)))


def test_acting_claims_by_itself(bob, cast):
    escalation = refused()
    send_with(bob, form(bob.get(url(escalation)), "/close/"), {"reason": "Duplicate"})
    assert now(escalation).assignee == cast.bob


def test_transfer_moves_it_and_goes_on(bob, cast):
    first, second = refused(number="A-1"), refused(number="A-2")
    response = send_with(bob, form(bob.get(url(first)), "/transfer/"), {"queue": "ledger"})
    assert response.headers["Location"] == url(second)
    assert now(first).queue.slug == "ledger"
    nowhere = bob.post(url(second, "transfer/"), {"queue": "nowhere"})
    assert nowhere.status_code == 422
    assert "Choose a queue." in text_of(nowhere)


def test_assign_gives_it_to_somebody_who_may_decide(bob, cast):
    escalation = refused()
    found = form(bob.get(url(escalation)), "/assign/")
    assert "Charlie Out" not in text_of(bob.get(url(escalation)))
    send_with(bob, found, {"person": "alice"})
    assert (now(escalation).assignee, escalation.assigned) == (cast.alice, True)
    refused_to = bob.post(url(escalation, "assign/"), {"person": "charlie"})
    assert refused_to.status_code == 403
    assert bob.post(url(escalation, "assign/"), {"person": ""}).status_code == 422


def test_snooze_hides_it_until_a_time_where_the_person_is(bob, cast):
    cast.bob.time_zone = "Europe/Berlin"
    cast.bob.save()
    escalation = refused()
    found = form(bob.get(url(escalation)), "/snooze/")
    assert next(label for _name, value, label in found.buttons if value) == "for 1 h"
    send_with(bob, found, {"until": "", "at": "2099-06-01T08:00"})
    assert now(escalation).snoozed_until.isoformat() == "2099-06-01T06:00:00+00:00"
    assert "Snoozed until 1 Jun 2099, 08:00." in text_of(bob.get(url(escalation)))


@pytest.mark.parametrize(
    ("at", "said"), [("", "Choose a time"), ("soon", "Choose a time"), ("2020-01-01T00:00", "passed")]
)
def test_a_time_that_is_none_or_over_is_refused_in_the_form(bob, at, said):
    escalation = refused()
    response = bob.post(url(escalation, "snooze/"), {"at": at})
    assert response.status_code == 422
    assert said in text_of(response)
    assert now(escalation).snoozed_until is None


def test_comments_stay_with_the_record(bob, cast):
    escalation = refused()
    response = send_with(bob, form(bob.get(url(escalation)), "/comment/"), {"text": "They moved it."})
    assert response.headers["Location"].endswith("#timeline")
    assert escalation.record.comments.get().author == cast.bob
    assert bob.post(url(escalation, "comment/"), {"text": " "}).status_code == 422
    assert bob.post(url(escalation, "comment/"), {"text": "x" * 10_001}).status_code == 422


def test_a_look_renews_one_s_own_claim(bob, cast):
    escalation = refused()
    escalations.claim(escalation_id=escalation.pk, by=cast.bob)
    type(escalation).objects.filter(pk=escalation.pk).update(claimed_until=sql.now() + timedelta(seconds=5))
    bob.get(url(escalation))
    assert now(escalation).claimed_until > sql.now() + timedelta(minutes=10)


def test_every_form_of_the_page_is_protected_and_carries_what_was_seen(bob):
    for found in forms(bob.get(url(refused()))):
        if found.action.endswith("/keep/"):  # keeps a case for drills, decides nothing
            assert "csrfmiddlewaretoken" in found.data
        elif found.action.startswith("/escalations/"):
            assert found.data["version"] == "0", found.action
            assert "csrfmiddlewaretoken" in found.data
