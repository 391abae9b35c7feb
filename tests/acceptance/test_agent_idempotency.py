"""Requests that come twice: answered once, and then the same again."""

from __future__ import annotations

import json
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import connection

from handoffs.actions import idempotency
from handoffs.api import records
from handoffs.models import IdempotencyKey, Record, StepResult, sql
from tests.agents import Agent, set_stage
from tests.cast import story

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def agent(cast):
    set_stage(cast.alice)
    return Agent()


def test_same_key_and_body_gets_the_same_answer(agent):
    first = agent.open("tickets", {"subject": "a"}, key="k1")
    again = agent.open("tickets", {"subject": "a"}, key="k1")
    assert (again.status, again.text) == (first.status, first.text) == (201, first.text)
    assert again.headers["Location"] == first.headers["Location"]
    assert "Idempotent-Replayed" not in first.headers
    assert again.headers["Idempotent-Replayed"] == "true"
    assert Record.objects.count() == 1
    assert IdempotencyKey.objects.get().replayed == 1


@pytest.mark.parametrize("path", ["flows/tickets/records", "flows/orders/records"])
def test_same_key_with_another_request_is_refused(agent, path):
    agent.open("tickets", {"subject": "a"}, key="k1")
    other = agent.post(path, {"input": {"subject": "b"}}, key="k1")
    assert (other.status, other.code) == (422, "idempotency_key_reused")
    assert Record.objects.count() == 1


def test_keys_of_two_tokens_are_apart(agent):
    first = agent.open("tickets", {"subject": "a"}, key="k1")
    other = Agent("other").open("tickets", {"subject": "a"}, key="k1")
    assert first.json["id"] != other.json["id"]


@pytest.mark.parametrize("key", ["", "x" * 256, "caf\u00e9", "a\tb"])
def test_key_that_is_none_is_refused(agent, key):
    answer = agent.open("tickets", {"subject": "a"}, key=key)
    assert (answer.status, answer.code) == (400, "invalid_idempotency_key")


def test_refusal_is_an_answer_too_and_uses_one_try_only(agent):
    opened = agent.open("case-repairing", {"text": "x"}).json["id"]
    first = agent.result(opened, 1, {"output": {}}, key="k1")
    again = agent.result(opened, 1, {"output": {}}, key="k1")
    assert (first.status, again.text) == (422, first.text)
    assert StepResult.objects.filter(record=opened, attempt__isnull=False).count() == 1


def test_unreadable_body_is_replayed_as_well(agent):
    first = agent.post("flows/tickets/records", b"{", key="k1")
    again = agent.post("flows/tickets/records", b"{", key="k1")
    assert (first.status, again.text) == (400, first.text)
    assert Record.objects.count() == 1


def test_5xx_is_never_stored(agent, monkeypatch):
    agent.client.raise_request_exception = False
    with monkeypatch.context() as broken:
        broken.setattr(records, "open_records", lambda **_: 1 / 0)
        assert agent.open("tickets", {"subject": "a"}, key="k1").status == 500
    assert IdempotencyKey.objects.count() == 0
    assert agent.open("tickets", {"subject": "a"}, key="k1").status == 201


def test_answer_comes_again_after_the_server_died_before_it_was_sent(agent, monkeypatch):
    """What the request did and what it was answered are one commit, so a reply that is lost can be asked for again."""
    from handoffs.api.replies import Reply

    def die(self):
        raise SystemExit

    with monkeypatch.context() as killed:
        killed.setattr(Reply, "response", die)
        with pytest.raises(SystemExit):
            agent.open("tickets", {"subject": "a"}, key="k1")
    again = agent.open("tickets", {"subject": "a"}, key="k1")
    assert (again.status, again.headers["Idempotent-Replayed"]) == (201, "true")
    assert Record.objects.count() == 1


def test_keys_are_forgotten_after_their_days_only(agent, settings):
    agent.open("tickets", {"subject": "a"}, key="k1")
    assert idempotency.forget_old_keys() == 0
    stored = IdempotencyKey.objects.get()
    IdempotencyKey.objects.update(answered_at=stored.answered_at - timedelta(days=30, seconds=1))
    assert idempotency.forget_old_keys() == 1


def test_without_a_key_the_external_id_and_the_attempt_still_tell(agent):
    first = agent.open("case-invoices", {"text": "x"}, "mail-1")
    again = agent.open("case-invoices", {"text": "x"}, "mail-1")
    other = agent.open("case-invoices", {"text": "y"}, "mail-1")
    assert (first.status, again.status, other.status) == (201, 200, 409)
    assert (again.json["id"], other.code) == (first.json["id"], "external_id_in_use")


def test_result_that_comes_again_is_noted_once_and_answered_as_before(agent, cast):
    opened = agent.open("tickets", {"subject": "a"}).json["id"]
    body = {"output": {"label": "x"}, "confidence": 0.95}
    first, again = agent.result(opened, 1, body), agent.result(opened, 1, body)
    assert (again.status, again.json["outcome"]) == (200, first.json["outcome"])
    late = agent.result(opened, 1, {"output": {"label": "y"}, "confidence": 0.95})
    assert (late.status, late.code) == (409, "stale_attempt")
    assert story(Record.objects.get())[-2:] == [("late", "completed"), ("late", "completed")]
    assert StepResult.objects.get(outcome="late").output == '{"label": "y"}'


def test_late_results_of_an_agent_gone_wild_are_bounded(agent):
    opened = agent.open("tickets", {"subject": "a"}).json["id"]
    agent.result(opened, 1, {"output": {"label": "x"}, "confidence": 0.95})
    for number in range(110):
        assert agent.result(opened, 1, {"output": {"label": str(number)}}).status == 409
    assert StepResult.objects.filter(outcome="late").count() == 100


def at_once(threads: int, jobs: list) -> list:
    """Run jobs in threads, every two of them at the same time."""

    def run(job):
        try:
            return job()
        finally:
            connection.close()

    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(run, jobs))


def test_fifty_threads_posting_every_key_twice_at_once_leave_one_row_each(agent):
    keys, threads = int(os.environ.get("HANDOFFS_KEYS", 200 if sql.is_postgres() else 60)), 50

    def post(key: str):
        while True:
            answer = agent.open("tickets", {"subject": key}, key=key)
            if answer.status != 409:
                return key, answer

    jobs = [lambda key=f"key-{number}": post(key) for number in range(keys) for _ in range(2)]
    answers = at_once(threads, jobs)
    assert Record.objects.count() == keys
    assert {answer.status for _, answer in answers} == {201}
    by_key = {}
    for key, answer in answers:
        by_key.setdefault(key, set()).add(answer.text)
    assert {len(texts) for texts in by_key.values()} == {1}
    assert IdempotencyKey.objects.filter(replayed=1).count() == keys


@pytest.mark.postgres
def test_first_request_that_still_runs_is_a_409_with_a_time(agent, monkeypatch, settings):
    settings.HANDOFFS_LOCK_WAIT = 0.3
    inside, done = threading.Event(), threading.Event()
    really = records.open_records

    def slowly(**given):
        inside.set()
        done.wait(10)
        return really(**given)

    monkeypatch.setattr(records, "open_records", slowly)

    def first():
        try:
            agent.open("tickets", {"subject": "a"}, key="k1")
        finally:
            connection.close()

    thread = threading.Thread(target=first)
    thread.start()
    try:
        inside.wait(10)
        second = agent.open("tickets", {"subject": "a"}, key="k1")
    finally:
        done.set()
        thread.join()
    assert (second.status, second.code, second.headers["Retry-After"]) == (409, "idempotency_key_running", "1")
    again = agent.open("tickets", {"subject": "a"}, key="k1")
    assert (again.status, again.headers["Idempotent-Replayed"]) == (201, "true")
    assert json.loads(again.text)["id"] == Record.objects.get().pk
