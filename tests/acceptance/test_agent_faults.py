"""What falls through before or after a view is a problem too, to an agent; a page stays a page."""

from __future__ import annotations

import pytest
from django.db import OperationalError
from django.test import Client

from handoffs.api import records
from tests.agents import API, Agent, said, set_stage

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def agent(cast):
    set_stage(cast.alice)
    made = Agent()
    made.client.raise_request_exception = False
    return made


@pytest.mark.parametrize("host", ["evil.example.com", "a b", "127.0.0.1:x", "[::1", "-", "\u00e9.example.com"])
@pytest.mark.parametrize("path", [f"{API}flows", f"{API}openapi.json", "/api/nothing"])
def test_host_that_is_not_ours_is_a_problem(agent, host, path):
    answer = agent.client.get(path, headers={"Host": host, "Authorization": f"Bearer {agent.text}"})
    assert (answer.status_code, answer.headers["Content-Type"]) == (400, "application/problem+json")
    assert said(answer).code == "bad_request"


def test_host_that_is_not_ours_gets_a_page_elsewhere():
    for path in ("/inbox/", "/api/docs/"):
        answer = Client().get(path, headers={"Host": "evil.example.com"})
        assert (answer.status_code, answer.headers["Content-Type"].partition(";")[0]) == (400, "text/html")


def raising(error: Exception):
    def open_records(**given):
        raise error

    return open_records


def test_fault_of_ours_is_a_problem_and_tells_nothing_of_itself(agent, monkeypatch):
    monkeypatch.setattr(records, "open_records", raising(ZeroDivisionError("secret")))
    answer = agent.client.post(
        f"{API}flows/tickets/records",
        b'{"input": {"subject": "a"}}',
        content_type="application/json",
        headers={"Authorization": f"Bearer {agent.text}"},
    )
    assert (answer.status_code, answer.headers["Content-Type"]) == (500, "application/problem+json")
    assert (said(answer).code, b"secret" in answer.content) == ("internal_error", False)
    assert answer.headers["X-Request-ID"]


@pytest.mark.parametrize("key", [None, "k1"])
def test_database_that_is_away_is_said_to_be(agent, monkeypatch, key):
    monkeypatch.setattr(records, "open_records", raising(OperationalError("no connection")))
    answer = agent.open("tickets", {"subject": "a"}, key=key)
    assert (answer.status, answer.code, answer.headers["Retry-After"]) == (503, "unavailable", "2")


def test_database_that_is_away_is_said_to_be_before_the_token_is_known(agent, monkeypatch):
    from handoffs.actions import agents

    def gone(*args):
        raise OperationalError("no connection")

    monkeypatch.setattr(agents, "first_row", gone)
    answer = agent.get("flows")
    assert (answer.status, answer.code) == (503, "unavailable")
