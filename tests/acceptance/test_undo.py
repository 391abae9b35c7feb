"""A verdict can be taken back for ten seconds, by who gave it, as long as nothing followed."""

from __future__ import annotations

from datetime import timedelta

import pytest

from handoffs.models import Escalation
from tests.acceptance.stopped import go_on, refused, url
from tests.browsing import form, send_with, text_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def bob(client, cast):
    client.force_login(cast.bob)
    return client


def closed(client):
    escalation = refused()
    send_with(client, form(client.get(url(escalation)), "/close/"), {"reason": "Duplicate"})
    return escalation


def test_it_is_one_button_on_the_next_page(bob, cast):
    escalation = closed(bob)
    response = bob.get("/records/")
    assert f"ESC-{escalation.pk} closed. Undo z" in text_of(response)
    undone = send_with(bob, form(response, "/undo/?from="), {})
    assert undone.status_code == 302
    assert undone.headers["Location"].startswith(url(escalation))
    escalation.refresh_from_db()
    assert (escalation.state, escalation.assignee, escalation.resolution) == ("claimed", cast.bob, "")
    escalation.record.refresh_from_db()
    assert escalation.record.status == "escalated"
    assert "Undo z" not in text_of(bob.get("/records/")), "it is offered once"


def test_it_is_refused_after_its_time(bob):
    escalation = closed(bob)
    late = escalation.opened_at - timedelta(seconds=60)
    Escalation.objects.filter(pk=escalation.pk).update(resolved_at=late)
    response = bob.post(url(escalation, "undo/"))
    assert response.status_code == 409
    assert "The verdict can no longer be undone." in text_of(response)


def test_it_is_refused_after_a_start(bob):
    escalation = refused()
    found = form(bob.get(url(escalation)), "/fix/")
    send_with(bob, found, {"/purchase_order": "PO"})
    go_on(escalation.record)
    assert bob.post(url(escalation, "undo/")).status_code == 409
    escalation.record.refresh_from_db()
    assert escalation.record.status == "completed"


def test_only_who_decided_can_undo(bob, client, cast):
    escalation = closed(bob)
    client.force_login(cast.alice)
    response = client.post(url(escalation, "undo/"))
    assert response.status_code == 403
    assert "Only who decided can undo it." in text_of(response)
