"""The client and the example agents against a real server."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
import time
from pathlib import Path
from urllib.error import URLError

import pytest
from django.db import connection

from examples.agents import classifier
from examples.tickets.flows import tickets
from handoffs import flows
from handoffs.actions import repairs, verdicts
from handoffs.actions.agents import create_token
from handoffs.actions.verdicts import Seen
from handoffs.api import limits
from handoffs.bodies import body_digest
from handoffs.client import Answer, ApiError, Client, Failed, Result, Unreachable
from handoffs.client import transport as transport_module
from handoffs.models import Alert, Escalation, Queue, Record, StepResult
from tests.cast import waiting

pytestmark = pytest.mark.django_db(transaction=True)
SAMPLES = Path(__file__).parents[2] / "examples" / "tickets" / "samples"
AGENTS = Path(__file__).parents[2] / "examples" / "agents"


@pytest.fixture
def client(cast, live_server, settings):
    settings.HANDOFFS_UNDO = 0.0
    limits.forget_requests()
    built_in = flows.get_flow("asks")
    flows.clear()
    for flow in (built_in, tickets):
        flows.register(flow)
    Queue.objects.create(slug="identity-checks", title="Identity checks", owner=cast.alice)
    text = create_token(name="agent", scopes_text="*: open, read, work, attach, ask", by="system:tests").text
    return Client(live_server.url, text)


def ticket(number: str = "T-1", text: str = "Please stop order 1042, I no longer need it.") -> dict[str, str]:
    return {"number": number, "sender": "nora@example.com", "subject": "Order", "text": text}


def decide(bob, text: str) -> None:
    """Answer the one open escalation, as a reviewer would."""
    found = Escalation.objects.unresolved().select_related("record").get()
    seen = Seen(found.version, body_digest(found.record.payload))
    verdicts.answer(escalation_id=found.pk, by=bob, seen=seen, text=text)


def soon(answer):
    """Run `answer` in a thread as soon as somebody waits for it."""

    def run():
        try:
            for _ in range(200):
                if Escalation.objects.unresolved().exists():
                    return answer()
                time.sleep(0.05)
        finally:
            connection.close()
        return None

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def work_once(client: Client, handle) -> None:
    for claim in client.claim("tickets", "classify", limit=10):
        client.serve(claim, handle)


def test_ask_gets_the_answer_and_who_gave_it(client, cast):
    answering = soon(lambda: decide(cast.bob, '{"answer": "yes"}'))
    answer = client.ask(queue="ticket-questions", question="Refund?", answers=["yes", "no"], wait=20)
    answering.join()
    assert isinstance(answer, Answer)
    assert (answer.answer, answer.by) == ("yes", "Bob Lind")


def test_answer_that_was_not_offered_is_refused(client, cast):
    from handoffs.errors import ContractBroken

    asked = client.ask(queue="ticket-questions", question="Refund?", answers=["yes", "no"])
    with pytest.raises(ContractBroken):
        decide(cast.bob, '{"answer": "maybe"}')
    assert client.answer(asked) is None


def test_answer_with_a_schema_is_held_against_it(client, cast):
    from handoffs.errors import ContractBroken

    shape = {"properties": {"amount": {"type": "number", "maximum": 50}}, "required": ["amount"]}
    asked = client.ask(queue="ticket-questions", question="How much?", answer_schema=shape)
    for unfit in ('{"answer": {}}', '{"answer": {"amount": 51}}', '{"answer": {"amount": true}}', '{"answer": "5"}'):
        with pytest.raises(ContractBroken):
            decide(cast.bob, unfit)
    decide(cast.bob, '{"answer": {"amount": 12.5}}')
    assert client.answer(asked).answer == {"amount": 12.5}


def test_ask_that_is_closed_says_why(client, cast):
    asked = client.ask(queue="ticket-questions", question="Refund?")
    found = Escalation.objects.unresolved().get()
    verdicts.close(escalation_id=found.pk, by=cast.bob, seen=Seen(found.version), reason="Duplicate")
    with pytest.raises(Failed, match="Duplicate"):
        client.answer(asked)


def test_same_key_asks_once(client):
    first = client.ask(queue="ticket-questions", question="Refund?", key="k")
    assert client.ask(queue="ticket-questions", question="Refund?", key="k") == first
    assert Record.objects.count() == 1


def test_classifier_asks_and_goes_on_with_the_answer(client, cast):
    client.open("tickets", ticket(text="It came late and I do not want it any more."))
    work_once(client, classifier.classify)
    asked = waiting(Record.objects.get())
    assert (asked.kind, asked.allowed_answers) == ("asked", ["complaint", "cancellation"])
    decide(cast.bob, "cancellation")
    work_once(client, classifier.classify)
    record = Record.objects.get()
    assert (record.status, record.step) == ("ready", "reply")
    assert StepResult.objects.get(step="classify", outcome="accepted").loaded("output")["label"] == "cancellation"


def test_ticket_that_changes_hands_waits_for_a_person_with_both_pictures(client, cast):
    opened = client.open("tickets", ticket(text="Please put the contract in my name."))
    for name, picture in (("card.png", b"\x89PNG card"), ("face.png", b"\x89PNG face")):
        headers = {"Content-Type": "image/png", "Idempotency-Key": name}
        client.request("POST", f"records/{opened['id']}/attachments?name={name}", picture, headers)
    work_once(client, classifier.classify)
    found = waiting(Record.objects.get())
    assert (found.kind, found.queue.slug) == ("review", "identity-checks")
    assert [a["name"] for a in client.record(opened["id"])["attachments"]] == ["card.png", "face.png"]


def test_broken_output_is_repaired_within_the_cap(client):
    client.open("tickets", ticket())
    seen = []

    def handle(claim):
        seen.append([v["pointer"] for v in claim.refusal])
        label = "Cancellation " if len(seen) == 1 else "cancellation"
        return Result(claim.input | {"label": label, "urgent": False}, confidence=0.95)

    work_once(client, handle)
    assert seen == [[], ["/output/label"]]
    assert (Record.objects.get().step, Record.objects.get().attempt) == ("reply", 2)


def test_output_that_stays_broken_is_escalated_at_the_cap(client):
    client.open("tickets", ticket())
    tries = []
    work_once(client, lambda claim: tries.append(claim.attempt) or Result({"nothing": 1}, confidence=0.95))
    assert (tries, waiting(Record.objects.get()).kind) == ([1, 2, 3], "broken_output")


@pytest.mark.parametrize(
    ("raised", "status", "step"),
    [(Failed("no", permanent=True), "escalated", "failed"), (ValueError("bug"), "ready", "failed")],
)
def test_handler_that_raises_is_a_failed_try(client, raised, status, step):
    client.open("tickets", ticket())

    def handle(claim):
        raise raised

    work_once(client, handle)
    assert (Record.objects.get().status, StepResult.objects.get(attempt=1).outcome) == (status, step)


def test_heartbeat_keeps_the_lease_while_the_handler_works(client):
    client.open("tickets", ticket())
    [claim] = client.claim("tickets", "classify")
    claim.lease = 0.3
    ends = Record.objects.get().lease_expires_at
    with claim.kept_alive():
        time.sleep(0.9)
    assert Record.objects.get().lease_expires_at > ends
    assert not claim.lost.is_set()


def test_agent_that_went_silent_is_replaced_and_comes_late(client):
    client.open("tickets", ticket())
    [silent] = client.claim("tickets", "classify")
    record = Record.objects.get()
    Record.objects.update(lease_expires_at=record.opened_at)
    repairs.expire_leases()
    Record.objects.update(available_at=record.opened_at)
    [second] = client.claim("tickets", "classify")
    assert second.attempt == 2
    with pytest.raises(ApiError) as late:
        silent.submit(Result(ticket() | {"label": "question", "urgent": False}, confidence=0.9))
    assert (late.value.status, late.value.code) == (409, "stale_attempt")
    with pytest.raises(ApiError):
        silent.heartbeat()
    second.submit(Result(ticket() | {"label": "question", "urgent": False}, confidence=0.9))
    assert Record.objects.get().step == "reply"


def test_unclaimed_record_raises_one_alert_that_closes_when_it_is_served(client):
    client.open("tickets", ticket())
    record = Record.objects.get()
    Record.objects.update(available_at=record.opened_at.replace(year=2020))
    repairs.watch_starts()
    repairs.watch_starts()
    alert = Alert.objects.get()
    assert (alert.kind, alert.queue.owner.username, alert.closed_at) == ("unserved", "alice", None)
    client.claim("tickets", "classify")
    repairs.watch_starts()
    assert Alert.objects.get().closed_at is not None


def test_work_loop_serves_until_it_is_told_to_stop(client):
    for line in range(3):
        client.open("tickets", ticket(f"T-{line}"))
    stop, served = threading.Event(), []

    def handle(claim):
        served.append(claim.record)
        if len(served) == 2:
            stop.set()
        return classifier.classify(claim)

    client.work("tickets", "classify", handle, stop=stop, limit=3, idle=0.1)
    assert len(served) == 2
    assert Record.objects.filter(step="classify", status="ready", tries_left=3).count() == 1, "the third is handed back"


def test_request_that_got_no_answer_is_repeated_with_its_key(client, monkeypatch):
    really, keys = client._once, []

    def lossy(method, path, raw, headers):
        keys.append(headers.get("Idempotency-Key"))
        found = really(method, path, raw, headers)
        if len(keys) == 1:
            raise URLError("the reply was lost")
        return found

    monkeypatch.setattr(client, "_once", lossy)
    opened = client.open("tickets", ticket())
    assert len(keys) == 2
    assert len(set(keys)) == 1
    assert Record.objects.get().pk == opened["id"]


def test_server_that_is_away_is_said_to_be(monkeypatch):
    monkeypatch.setattr(transport_module, "TRIES", 2)
    with pytest.raises(Unreachable):
        Client("http://127.0.0.1:9", "hf_x_y").record(1)


def test_samples_are_taken_in_and_the_odd_one_is_refused(client):
    raw = (SAMPLES / "tickets.ndjson").read_bytes()
    headers = {"Content-Type": "application/x-ndjson", "Idempotency-Key": "k", "Accept": "*/*"}
    import json
    import urllib.request

    request = urllib.request.Request(
        client._base + "flows/tickets/records/batch", raw, {"Authorization": f"Bearer {client._token}", **headers}
    )
    with urllib.request.urlopen(request) as answer:
        verdicts_ = [json.loads(line)["status"] for line in answer.read().splitlines()]
    assert verdicts_ == [201, 201, 201, 201, 201, 422]


@pytest.mark.skipif(shutil.which("curl") is None, reason="no curl")
def test_shell_script_goes_all_the_way(client, live_server):
    env = {**os.environ, "HANDOFFS_URL": live_server.url, "HANDOFFS_TOKEN": client._token}
    done = subprocess.run(["sh", AGENTS / "curl.sh"], env=env, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    record = Record.objects.get()
    assert (record.step, record.status) == ("reply", "ready")


def test_langgraph_interrupt_becomes_a_question_and_resumes_with_the_answer(client, cast):
    pytest.importorskip("langgraph")
    from typing import TypedDict

    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.graph import END, START, StateGraph
    from langgraph.types import interrupt

    from examples.agents.langgraph_node import resume_with_people

    class State(TypedDict):
        text: str
        label: str

    def classify(state: State) -> dict:
        return {"label": interrupt({"question": "Which?", "answers": ["complaint", "cancellation"]})}

    builder = StateGraph(State)
    builder.add_node("classify", classify)
    builder.add_edge(START, "classify")
    builder.add_edge("classify", END)
    graph = builder.compile(checkpointer=InMemorySaver())

    with pytest.raises(TimeoutError):
        resume_with_people(graph, {"text": "t", "label": ""}, "t1", client=client, queue="ticket-questions", wait=0)
    answering = soon(lambda: decide(cast.bob, '{"answer": "complaint"}'))
    reached = resume_with_people(graph, None, "t1", client=client, queue="ticket-questions", wait=20)
    answering.join()
    assert reached["label"] == "complaint"
    assert Record.objects.count() == 1, "asked once, although the graph ran twice"


def test_pydantic_ai_deferred_tool_becomes_a_question(client, cast):
    pytest.importorskip("pydantic_ai")
    from pydantic_ai import Agent, DeferredToolRequests
    from pydantic_ai.exceptions import CallDeferred
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
    from pydantic_ai.models.function import FunctionModel

    from examples.agents.pydantic_ai_agent import answer_deferred

    def model(messages, info):
        told = [p for m in messages for p in m.parts if isinstance(p, ToolReturnPart)]
        if told:
            return ModelResponse(parts=[TextPart(f"it is a {told[0].content}")])
        return ModelResponse(parts=[ToolCallPart("ask_people", {"question": "Which?", "answers": ["complaint"]})])

    agent = Agent(FunctionModel(model), output_type=[str, DeferredToolRequests])

    @agent.tool_plain
    def ask_people(question: str, answers: list[str]) -> str:
        raise CallDeferred

    first = agent.run_sync("classify")
    answering = soon(lambda: decide(cast.bob, '{"answer": "complaint"}'))
    results = answer_deferred(first.output, client=client, queue="ticket-questions", wait=20)
    answering.join()
    second = agent.run_sync(message_history=first.all_messages(), deferred_tool_results=results)
    assert second.output == "it is a complaint"


def test_pydantic_ai_reads_its_refusal_and_tries_again(client):
    pytest.importorskip("pydantic_ai")
    from pydantic_ai import Agent
    from pydantic_ai.messages import ModelResponse, ToolCallPart
    from pydantic_ai.models.function import FunctionModel

    from examples.agents.pydantic_ai_agent import classify_with

    def model(messages, info):
        prompt = str(messages[-1].parts[-1].content)
        label = "cancellation" if "was refused" in prompt else "Cancellation "
        output = ticket() | {"label": label, "urgent": False}
        return ModelResponse(parts=[ToolCallPart(info.output_tools[0].name, {"response": output})])

    client.open("tickets", ticket())
    work_once(client, classify_with(Agent(FunctionModel(model), output_type=dict)))
    assert (Record.objects.get().step, Record.objects.get().attempt) == ("reply", 2)
