"""Two people decide the same escalation: the second sees what happened, and what they typed is kept."""

from __future__ import annotations

import json

import pytest
from django.test import Client

from handoffs.actions import escalations, verdicts
from handoffs.actions.verdicts import Seen
from tests.acceptance.stopped import asked, refused, unsure, url
from tests.browsing import form, forms, send_with, text_of
from tests.cast import work

pytestmark = pytest.mark.django_db


@pytest.fixture
def bob(cast):
    client = Client()
    client.force_login(cast.bob)
    return client


@pytest.fixture
def alice(cast):
    client = Client()
    client.force_login(cast.alice)
    return client


def test_the_loser_sees_three_columns_and_who_decided_what_and_when(bob, alice):
    escalation = refused()
    hers, his = (form(client.get(url(escalation)), "/fix/") for client in (alice, bob))
    assert send_with(alice, hers, {"/purchase_order": "PO-alice", "/total": "11"}).status_code == 302
    response = send_with(bob, his, {"/purchase_order": "PO-bob", "/number": "B-2"})
    assert response.status_code == 409
    text = text_of(response)
    assert "Somebody was faster" in text
    assert "Alice Ek fixed it" in text
    assert "You started from Now Yours" in text
    assert '/purchase_order both changed it null "PO-alice" "PO-bob"' in text
    assert "/total 10 11 10" in text
    assert '/number "A-1" "A-1" "B-2"' in text
    assert '"purchase_order": "PO-bob"' in text, "his version can be copied"
    record = escalation.record
    record.refresh_from_db()
    assert json.loads(record.payload)["purchase_order"] == "PO-alice"


def test_what_is_still_open_takes_the_changes_on_top_of_what_is_there_now(bob, alice, cast):
    escalation = refused()
    his = form(bob.get(url(escalation)), "/fix/")
    escalations.claim(escalation_id=escalation.pk, by=cast.alice)
    escalations.release(escalation_id=escalation.pk, by=cast.alice)
    response = send_with(bob, his, {"/purchase_order": "PO-bob"})
    assert response.status_code == 409
    again = form(response, "/fix/")
    assert again.data["/purchase_order"] == "PO-bob"
    assert "/number" not in again.data, "only what he changed is sent"
    shown = form(send_with(bob, again, {"op": "again"}), "/fix/")
    assert (shown.data["/purchase_order"], shown.data["/number"]) == ("PO-bob", "A-1")
    assert send_with(bob, shown, {}).status_code == 302
    escalation.refresh_from_db()
    assert escalation.resolution == "fix"


def test_a_body_that_changed_meanwhile_is_a_conflict(bob, cast):
    escalation = unsure()
    his = form(bob.get(url(escalation)), "/fix/")
    changed = json.dumps({"number": "A-1", "purchase_order": "PO-new", "total": 77})
    type(escalation.result).objects.filter(pk=escalation.result_id).update(output=changed)
    response = send_with(bob, his, {"/total": "12"})
    assert response.status_code == 409
    assert "It was changed meanwhile." in text_of(response)
    escalation.refresh_from_db()
    assert escalation.state == "open"


def test_somebody_else_having_it_is_a_conflict_that_keeps_the_words(bob, cast):
    escalation = asked("Why?")
    his = form(bob.get(url(escalation)), "/answer/")
    escalations.claim(escalation_id=escalation.pk, by=cast.alice)
    response = send_with(bob, his, {"text": "A long answer."})
    assert response.status_code == 409
    text = text_of(response)
    assert "Alice Ek has it" in text
    assert "A long answer." in text


@pytest.mark.parametrize(
    ("verb", "data"), [("retry", {}), ("close", {"reason": "Duplicate", "note": "twice, see mail"})]
)
def test_every_verdict_tells_the_loser(bob, cast, verb, data):
    escalation = unsure()
    found = form(bob.get(url(escalation)), f"/{verb}/")
    verdicts.approve(escalation_id=escalation.pk, by=cast.alice, seen=Seen(escalation.version))
    response = send_with(bob, found, data)
    assert response.status_code == 409
    text = text_of(response)
    assert "Alice Ek approved it" in text
    assert data.get("note", "") in text


def test_the_same_form_twice_is_one_decision(bob):
    escalation = refused()
    found = form(bob.get(url(escalation)), "/fix/")
    assert send_with(bob, found, {"/purchase_order": "PO"}).status_code == 302
    again = send_with(bob, found, {"/purchase_order": "PO"})
    assert again.status_code in {302, 409}
    if again.status_code == 302:
        assert again.headers["Location"] == url(escalation)
    assert escalation.record.results.filter(outcome="fixed").count() == 1


def test_a_form_without_a_version_decides_nothing(bob):
    escalation = refused()
    for version in ("", "x", "-1", "9" * 30):
        data = {"version": version, "reason": "Duplicate"}
        assert bob.post(url(escalation, "close/"), data).status_code == 409
    escalation.refresh_from_db()
    assert escalation.state == "open"


def test_the_page_leads_to_where_the_record_waits_now(bob, alice, cast):
    escalation = refused()
    his = form(bob.get(url(escalation)), "/close/")
    fixed = json.dumps({"number": "A-1", "purchase_order": "P", "total": 9000})
    verdicts.fix(escalation_id=escalation.pk, by=cast.alice, seen=Seen(escalation.version), body=fixed)
    type(escalation.record).objects.filter(pk=escalation.record_id).update(available_at=escalation.opened_at)
    work()
    response = send_with(bob, his, {"reason": "Duplicate"})
    waiting = escalation.record.escalations.unresolved().get()
    assert f"Open ESC-{waiting.pk}, where it waits now" in text_of(response)
    assert not [f for f in forms(response) if f.action.endswith("/fix/")]


def test_taking_over_goes_on_with_what_was_typed(bob, cast):
    escalation = refused()
    his = form(bob.get(url(escalation)), "/fix/")
    escalations.claim(escalation_id=escalation.pk, by=cast.alice)
    response = send_with(bob, his, {"/purchase_order": "PO-bob"})
    assert response.status_code == 409
    shown = send_with(bob, form(response, "/fix/"), {"op": "again"})
    assert shown.status_code == 200
    escalation.refresh_from_db()
    assert escalation.assignee == cast.bob
    assert send_with(bob, form(shown, "/fix/"), {}).status_code == 302
    escalation.refresh_from_db()
    assert escalation.resolution == "fix"
