"""The record page: values and who wrote them, attempts, history; as JSON; reopen and close."""

from __future__ import annotations

import json

import pytest

from handoffs.models import Membership, Record
from tests.acceptance.stopped import go_on, refused, url
from tests.browsing import form, forms, send_with, text_of
from tests.cast import document, fresh, opened, work

pytestmark = pytest.mark.django_db


@pytest.fixture
def bob(client, cast):
    client.force_login(cast.bob)
    return client


def mended(client):
    escalation = refused()
    send_with(client, form(client.get(url(escalation)), "/fix/"), {"/purchase_order": "PO-9"})
    return escalation.record


def read(client, record, tab=""):
    response = client.get(f"/records/{record.pk}/{tab and '?tab=' + tab}")
    assert response.status_code == 200
    return text_of(response)


def test_it_shows_each_value_and_who_wrote_it(bob):
    record = mended(bob)
    text = read(bob, record)
    assert "Number /number A-1 extract attempt 1" in text
    assert "Purchase order /purchase_order PO-9 Bob Lind" in text


def test_others_get_404(client, cast):
    record = refused().record
    client.force_login(cast.charlie)
    for address in ("", "body/"):
        assert client.get(f"/records/{record.pk}/{address}").status_code == 404
    assert client.get(f"/records/{record.pk}.json").status_code == 404
    assert client.post(f"/records/{record.pk}/close/", {"reason": "Duplicate"}).status_code == 404
    assert client.post(f"/records/{record.pk}/reopen/").status_code == 404


def test_attempts_edits_and_history_have_tabs(bob):
    record = go_on(mended(bob))
    results = read(bob, record, "results")
    assert "check attempt 2 accepted" in results
    assert "check fixed" in results
    history = read(bob, record, "history")
    told = [
        "post was accepted",
        "The record is complete",
        "check was accepted",
        "Bob Lind fixed",
        "check refused",
        "echo opened",
    ]
    places = [history.index(each) for each in told]
    assert places == sorted(places)
    assert '/purchase_order null "PO-9"' in history
    assert '"voucher"' in read(bob, record, "json")


def test_a_waiting_record_leads_to_its_escalation(bob):
    escalation = refused()
    assert f"Open ESC-{escalation.pk}" in read(bob, escalation.record)


def test_the_json_has_the_whole_history(bob):
    record = go_on(mended(bob))
    response = bob.get(f"/records/{record.pk}.json")
    assert response["Content-Disposition"].startswith("attachment")
    told = json.loads(response.content)
    assert told["status"] == "completed"
    assert [row["seq"] for row in told["history"]] == list(range(1, len(told["history"]) + 1))
    assert {result["outcome"] for result in told["results"]} == {"accepted", "fixed"}
    assert told["escalations"][0]["resolution"] == "fix"
    assert told["body"] == record.payload


def test_an_ended_record_is_reopened(bob, cast):
    record = go_on(mended(bob))
    response = send_with(bob, form(bob.get(f"/records/{record.pk}/"), "/reopen/"), {})
    assert response.status_code == 302
    assert fresh(record).status == "escalated"
    assert "Reopened" in text_of(bob.get(response.headers["Location"]))
    again = bob.post(f"/records/{record.pk}/reopen/")
    assert again.status_code == 409


def test_a_ready_record_is_closed_with_a_reason(bob):
    record = opened(document())
    found = form(bob.get(f"/records/{record.pk}/"), "/close/")
    assert send_with(bob, found, {"reason": ""}).status_code == 422
    assert fresh(record).status == "ready"
    assert send_with(bob, found, {"reason": "Duplicate"}).status_code == 302
    assert fresh(record).status == "closed"


def test_a_purged_record_cannot_be_reopened(bob):
    record = go_on(mended(bob))
    Record.objects.filter(pk=record.pk).update(purged_at=record.opened_at)
    response = bob.post(f"/records/{record.pk}/reopen/")
    assert response.status_code == 409
    assert "erased" in text_of(response)


def test_every_tab_of_every_state_opens(bob):
    ready, done, stopped = opened(document()), opened(document("A-2")), refused().record
    work()
    for record in (ready, done, stopped, opened(b"nope")):
        for tab in ("values", "results", "json", "history", "nonsense"):
            read(bob, record, tab)


def test_there_is_nothing_to_do_on_a_record_for_a_viewer(client, cast):
    record = opened(document())
    Membership.objects.create(queue=record.queue, user=cast.charlie, role="viewer")
    client.force_login(cast.charlie)
    assert not [f for f in forms(client.get(f"/records/{record.pk}/")) if "/records/" in f.action and f.id]
    assert client.post(f"/records/{record.pk}/close/", {"reason": "Duplicate"}).status_code == 403
