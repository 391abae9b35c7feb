"""Closing needs a reason of the queue's list."""

from __future__ import annotations

import pytest

from tests.acceptance.stopped import refused, url
from tests.browsing import form, send_with, text_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def bob(client, cast):
    client.force_login(cast.bob)
    return client


def test_it_offers_the_queue_s_own_reasons(bob, cast):
    queue = cast.queues["order-exceptions"]
    queue.close_reasons = "Wrong supplier\nPaid already"
    queue.save()
    escalation = refused()
    response = bob.get(url(escalation))
    assert "Wrong supplier Paid already" in text_of(response)
    found = form(response, "/close/")
    assert send_with(bob, found, {"reason": "Paid already", "note": "See mail."}).status_code == 302
    escalation.refresh_from_db()
    assert (escalation.resolution, escalation.close_reason, escalation.note) == ("close", "Paid already", "See mail.")
    escalation.record.refresh_from_db()
    assert escalation.record.status == "closed"


@pytest.mark.parametrize("reason", ["", "because"])
def test_without_one_it_is_refused_and_the_words_are_kept(bob, reason):
    escalation = refused()
    found = form(bob.get(url(escalation)), "/close/")
    response = send_with(bob, found, {"reason": reason, "note": "my long words"})
    assert response.status_code == 422
    text = text_of(response)
    assert "A reason is needed" in text
    assert "Choose one of the queue's reasons." in text
    again = form(response, "/close/")
    assert again.data["note"] == "my long words"
    assert response.content.count(b'id="close-reason"') == 1
    escalation.refresh_from_db()
    assert escalation.state == "open"
