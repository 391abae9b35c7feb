"""Answering what an agent asked, and doing a step that a person does."""

from __future__ import annotations

import json

import pytest

from tests.acceptance.stopped import asked, go_on, review, url
from tests.browsing import form, send_with, text_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def bob(client, cast):
    client.force_login(cast.bob)
    return client


def test_the_allowed_answers_are_buttons_with_keys(bob):
    escalation = asked("Which is it?", "complaint", "cancellation")
    response = bob.get(url(escalation))
    found = form(response, "/answer/")
    assert [(name, value) for name, value, _label in found.buttons] == [("text", "complaint"), ("text", "cancellation")]
    assert 'data-key="2"' in response.content.decode()
    assert send_with(bob, found, {"text": "cancellation"}).status_code == 302
    record = go_on(escalation.record)
    assert record.status == "completed"
    assert json.loads(record.results.get(outcome="answered").output) == "cancellation"


def test_another_answer_than_those_is_refused(bob):
    escalation = asked("Which is it?", "complaint")
    response = send_with(bob, form(bob.get(url(escalation)), "/answer/"), {"text": "both"})
    assert response.status_code == 422
    assert "Choose one of the answers." in text_of(response)


def test_a_free_answer_is_text_and_must_not_be_empty(bob):
    escalation = asked("Why?")
    found = form(bob.get(url(escalation)), "/answer/")
    empty = send_with(bob, found, {"text": "  "})
    assert empty.status_code == 422
    assert "Write an answer." in text_of(empty)
    assert send_with(bob, found, {"text": "Because\nof that."}).status_code == 302
    escalation.record.refresh_from_db()
    assert escalation.record.answer.replace("\r", "") == "Because\nof that."


def test_a_person_s_step_is_a_form_that_begins_with_the_document(bob):
    escalation = review()
    response = bob.get(url(escalation))
    found = form(response, "/answer/")
    assert (found.data["/number"], found.data["/total"], found.data["/approved_by"]) == ("A-1", "5000", "")
    text = text_of(response)
    assert "1 field to fill in" in text
    assert "approve is done by a person. Answer: What you give is the output of approve." in text
    assert "This field is missing" not in text, "nothing is wrong before somebody typed"
    assert send_with(bob, found, {"/approved_by": "Bob"}).status_code == 302
    record = go_on(escalation.record)
    assert record.status == "completed"
    assert json.loads(record.results.get(step="approve").output)["approved_by"] == "Bob"


def test_an_answer_that_breaks_the_contract_comes_back_with_what_was_typed(bob):
    escalation = review()
    found = form(bob.get(url(escalation)), "/answer/")
    response = send_with(bob, found, {"/total": "much"})
    assert response.status_code == 422
    text = text_of(response)
    assert "Approved by : This field is missing." in text
    assert "Total : A whole number is needed" in text
    assert form(response, "/answer/").data["/total"] == "much"


def test_a_carried_fact_must_not_be_changed(bob):
    escalation = review()
    found = form(bob.get(url(escalation)), "/answer/")
    response = send_with(bob, found, {"/approved_by": "Bob", "/number": "B-2"})
    assert response.status_code == 422
    assert "This fact must be handed on unchanged" in text_of(response)


def test_the_input_of_what_was_asked_or_reviewed_is_fixed_instead(bob):
    escalation = asked("Which?", "a", "b")
    response = bob.get(url(escalation))
    assert f'href="/escalations/{escalation.pk}/fix/?side=receives"' in response.content.decode()
    found = form(bob.get(url(escalation, "fix/?side=receives")), "/fix/")
    assert send_with(bob, found, {"/total": "11"}).status_code == 302
    assert go_on(escalation.record).status == "completed"
