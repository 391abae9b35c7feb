"""A body that is no JSON: its fenced part or a guess at it can be taken, and is then the person's own edit."""

from __future__ import annotations

import json

import pytest

from reviewqueue.repairing import repaired
from tests.acceptance.stopped import body_of, unreadable, url
from tests.browsing import form, send_with, text_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def bob(client, cast):
    client.force_login(cast.bob)
    return client


def test_a_guess_is_offered_shown_before_it_is_saved_and_saved_as_a_person_s_edit(bob):
    pytest.importorskip("json_repair")
    escalation = unreadable(b"{'text': 'A-1,PO-7,10',")
    found = form(bob.get(url(escalation)), "/fix/")
    assert ("op", "repair", "Take the guess") in found.buttons
    taken = send_with(bob, found, {"op": "repair"})
    again = form(taken, "/fix/")
    assert json.loads(again.data["body"]) == {"text": "A-1,PO-7,10"}
    escalation.refresh_from_db()
    assert escalation.state != "resolved"
    assert send_with(bob, again, {}).status_code == 302
    edit = escalation.record.results.get(attempt=None, outcome="fixed")
    assert edit.actor == "reviewer:bob"
    assert body_of(escalation.record) == {"text": "A-1,PO-7,10"}


def test_a_fence_is_unwrapped_before_anything_is_guessed(bob):
    escalation = unreadable(b'Here you are:\n```json\n{"text": "A-1,PO-7,10"}\n```')
    buttons = form(bob.get(url(escalation)), "/fix/").buttons
    assert [value for name, value, _label in buttons if name == "op"] == ["fence"]


@pytest.mark.parametrize(
    "text",
    ["", "   ", "nothing here", "[" * 5000, '{"a": 1.10', '{"n": 12345678901234567.10,', "{" * 20_000, "x" * 30_000],
    ids=range(8),
)
def test_no_guess_is_made_that_would_lose_a_digit_or_take_long(text):
    pytest.importorskip("json_repair")
    assert repaired(text) is None


def test_a_guess_keeps_what_was_written():
    pytest.importorskip("json_repair")
    guess = repaired("{'total': 4938.24, 'n': 1234567890123, 'ok': True")
    assert json.loads(guess) == {"total": 4938.24, "n": 1234567890123, "ok": True}


def test_what_is_sent_unreadable_says_so(bob):
    assert "What was sent can't be read" in text_of(bob.get(url(unreadable(b"nope"))))
