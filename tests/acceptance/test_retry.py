"""Retrying: only what would be taken now; here, or from a step before."""

from __future__ import annotations

import pytest

from tests import sample_flows
from tests.acceptance.stopped import failed, go_on, refused, review, unreadable, url
from tests.browsing import form, send_with, text_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def bob(client, cast):
    client.force_login(cast.bob)
    return client


def test_a_failed_step_is_tried_again(bob):
    escalation = failed()
    response = send_with(bob, form(bob.get(url(escalation)), "/retry/"), {"tries": "2"})
    assert response.status_code == 302
    escalation.record.refresh_from_db()
    assert escalation.record.tries_left == 2
    assert go_on(escalation.record).status == "completed"


def test_it_is_refused_while_the_input_breaks_the_contract_with_the_reason(bob):
    escalation = refused()
    response = bob.post(url(escalation, "retry/"), {"version": escalation.version})
    assert response.status_code == 422
    text = text_of(response)
    assert "Retry waits" in text
    assert "/purchase_order : Null is not allowed here: text is needed." in text
    escalation.refresh_from_db()
    assert escalation.state == "open"


def test_an_unreadable_intake_says_why_it_waits(bob):
    escalation = unreadable(b"nope")
    assert "Retry waits: This is not JSON: expecting value." in text_of(bob.get(url(escalation)))


def test_a_step_before_runs_again_on_its_stored_input(bob):
    escalation = refused()
    response = bob.get(url(escalation))
    found = form(response, "/retry/")
    assert found.data["step"] == "extract"
    assert "Retry from a step before" in text_of(response)
    sample_flows.behaviour["extract"] = lambda given, context: sample_flows.Result(
        sample_flows.Draft(number="A-1", purchase_order="PO-9", total=10), confidence=0.9
    )
    assert send_with(bob, found, {}).status_code == 302
    record = go_on(escalation.record)
    assert record.status == "completed"
    assert record.results.filter(step="extract", superseded=True).count() == 1


def test_a_person_s_step_is_only_retried_from_a_step_before(bob):
    escalation = review()
    found = form(bob.get(url(escalation)), "/retry/")
    assert found.data["step"] == "check"
    assert send_with(bob, found, {}).status_code == 302
    escalation.record.refresh_from_db()
    assert (escalation.record.status, escalation.record.step) == ("ready", "check")


def test_a_step_that_is_none_is_refused(bob):
    escalation = failed()
    response = bob.post(url(escalation, "retry/"), {"version": escalation.version, "step": "nope"})
    assert response.status_code == 422
    assert "has no step" in text_of(response)
