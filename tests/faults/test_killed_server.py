"""A real server, killed around the commit of a request: whoever repeats the request finds it done once."""

from __future__ import annotations

import json
import signal

import pytest

from handoffs.models import IdempotencyKey, Record, StepResult
from tests import agent_server
from tests.agents import Agent, set_stage
from tests.soundness import assert_sound

pytestmark = [pytest.mark.faults, pytest.mark.django_db(transaction=True)]
OPENING = b'{"input": {"subject": "a"}}'
RESULT = b'{"output": {"label": "x"}, "confidence": 0.95}'


@pytest.fixture
def agent(cast):
    set_stage(cast.alice)
    return Agent()


def kill_at(point: str, tmp_path, path: str, raw: bytes, headers: dict[str, str]) -> None:
    with agent_server.running(tmp_path, CRASHPOINT=point) as (server, port):
        with pytest.raises(ConnectionError):
            agent_server.post(port, path, raw, headers)
        assert server.wait(30) == -signal.SIGKILL


@pytest.mark.parametrize(("point", "kept"), [("before_reply", 1), ("in_answer", 0)])
@pytest.mark.parametrize("what", ["opening", "result"])
def test_request_is_repeated_after_the_server_was_killed(agent, tmp_path, point, kept, what):
    path, raw = "flows/tickets/records", OPENING
    if what == "result":
        opened = agent.open("tickets", {"subject": "a"}).json["id"]
        path, raw = f"records/{opened}/attempts/1/result", RESULT
    headers = {"Authorization": f"Bearer {agent.text}", "Idempotency-Key": "k1"}
    kill_at(point, tmp_path, path, raw, headers)
    assert IdempotencyKey.objects.count() == kept
    stored = IdempotencyKey.objects.get() if kept else None
    with agent_server.running(tmp_path) as (_, port):
        status, body, told = agent_server.post(port, path, raw, headers)
        again = agent_server.post(port, path, raw, headers)
    assert told.get("Idempotent-Replayed") == ("true" if kept else None)
    assert (again[:2], again[2]["Idempotent-Replayed"]) == ((status, body), "true")
    if stored:
        assert (stored.status, stored.body) == (status, body.decode())
    assert (status, Record.objects.count()) == (200 if what == "result" else 201, 1)
    assert StepResult.objects.filter(step="classify").count() == (what == "result")
    assert_sound()


def test_result_without_a_key_is_known_by_its_attempt_after_the_server_was_killed(agent, tmp_path):
    opened = agent.open("tickets", {"subject": "a"}).json["id"]
    path, headers = f"records/{opened}/attempts/1/result", {"Authorization": f"Bearer {agent.text}"}
    kill_at("before_reply", tmp_path, path, RESULT, headers)
    with agent_server.running(tmp_path) as (_, port):
        status, body, told = agent_server.post(port, path, RESULT, headers)
    assert (status, told["Idempotent-Replayed"], json.loads(body)["outcome"]) == (200, "true", "accepted")
    assert StepResult.objects.filter(step="classify").count() == 1
    assert_sound()
