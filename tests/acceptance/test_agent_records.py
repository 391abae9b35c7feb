"""Handing records in, finding them, waiting for them; their attachments and contracts."""

from __future__ import annotations

import json
import threading
import time

import pytest
from django.db import connection

from handoffs.actions import verdicts
from handoffs.actions.verdicts import Seen
from handoffs.api import waiting
from handoffs.bodies import body_digest
from handoffs.models import Attachment, Record
from tests.agents import Agent, set_stage
from tests.cast import waiting as escalation_of

pytestmark = pytest.mark.django_db(transaction=True)
LINES = "application/x-ndjson"


@pytest.fixture
def agent(cast):
    set_stage(cast.alice)
    return Agent()


def batch(agent: Agent, *lines: object, **more):
    raw = b"\n".join(line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines)
    return agent.post("flows/tickets/records/batch", raw, media=LINES, **more)


def test_bad_line_never_hurts_its_neighbours(agent):
    answer = batch(
        agent,
        {"external_id": "a", "input": {"subject": "a"}},
        b'{"input": {"subject": NaN}}',
        b"",
        {"input": {"subject": 5}},
        {"external_id": "a", "input": {"subject": "other"}},
        {"external_id": "a", "input": {"subject": "a"}},
        {"input": {"subject": "b"}, "extra": 1},
        b'"text"',
        {"external_id": "b", "input": {"subject": "b"}},
    )
    told = [json.loads(line) for line in answer.text.splitlines()]
    assert [(line["line"], line["status"]) for line in told] == [
        (1, 201), (2, 400), (4, 422), (5, 409), (6, 200), (7, 422), (8, 422), (9, 201),
    ]  # fmt: skip
    assert Record.objects.count() == 6
    assert told[0]["record"]["id"] == told[4]["record"]["id"]


def test_batch_above_its_lines_is_refused_whole(agent, settings):
    settings.HANDOFFS_BATCH_LINES = 2
    answer = batch(agent, *[{"input": {"subject": "a"}}] * 3)
    assert (answer.status, answer.code, Record.objects.count()) == (413, "too_large", 0)


def test_line_above_the_limit_of_one_body_is_refused_alone(agent, settings):
    settings.HANDOFFS_MAX_BODY = 100
    answer = batch(agent, {"input": {"subject": "a"}}, {"input": {"subject": "x" * 200}}, {"input": {"subject": "b"}})
    assert [json.loads(line)["status"] for line in answer.text.splitlines()] == [201, 413, 201]


def test_batch_is_answered_as_before_under_its_key(agent):
    first, again = (batch(agent, {"input": {"subject": "a"}}, key="k") for _ in range(2))
    assert (first.text, Record.objects.count()) == (again.text, 1)


def test_pages_skip_nothing_while_records_come_in(agent):
    ids = [agent.open("tickets", {"subject": str(n)}).json["id"] for n in range(5)]
    first = agent.get("flows/tickets/records", limit=2).json
    agent.open("tickets", {"subject": "new"})
    second = agent.get("flows/tickets/records", limit=2, cursor=first["next"]).json
    third = agent.get("flows/tickets/records", limit=2, cursor=second["next"]).json
    assert [r["id"] for page in (first, second, third) for r in page["records"]] == ids[::-1]
    assert third["next"] is None


def test_records_are_found_by_id_status_and_step(agent):
    agent.open("tickets", {"subject": "a"}, "mail-1")
    agent.open("tickets", {"nothing": "a"})
    found = [
        len(agent.get("flows/tickets/records", **query).json["records"])
        for query in ({"external_id": "mail-1"}, {"status": "escalated"}, {"step": "classify"}, {"status": "closed"})
    ]
    assert found == [1, 1, 1, 0]


@pytest.mark.parametrize(
    "query", [{"status": "done"}, {"limit": "0"}, {"cursor": "x"}, {"external_id": "a\0"}, {"x": "1"}]
)
def test_query_that_can_not_be_is_said_to_be_wrong(agent, query):
    answer = agent.get("flows/tickets/records", **query)
    assert (answer.status, answer.code) == (422, "invalid_parameter")


def test_record_tells_why_it_waits_and_for_whom(agent):
    opened = agent.open("tickets", {"subject": 5}).json["record"]["id"]
    told = agent.get(f"records/{opened}").json
    assert (told["status"], told["escalation"]["queue"], told["document"]) == (
        "escalated", "ticket-questions", {"subject": 5},
    )  # fmt: skip
    assert [(v["pointer"], v["rule"]) for v in told["violations"]] == [("/input/subject", "wrong_type")]
    assert told["links"]["page"] == f"/records/{opened}/"


def test_input_is_kept_and_told_to_the_digit(agent):
    raw = b'{"input" :  {"event": "e", "invoice": {"id": "i", "amount": 1.10, "big": 12345678901234.10}}}'
    opened = agent.post("flows/case-dues/records", raw).json["id"]
    assert Record.objects.get().payload in raw.decode()
    assert '"big": 12345678901234.10' in agent.get(f"records/{opened}").text
    claimed = agent.post("flows/case-dues/steps/due/claims")
    assert '"amount": 1.10, "big": 12345678901234.10' in claimed.text


def test_wait_ends_when_the_record_does(agent):
    opened = agent.open("tickets", {"subject": "a"}).json["id"]

    def finish():
        try:
            time.sleep(0.3)
            agent.result(opened, 1, {"output": {"label": "x"}, "confidence": 0.95})
        finally:
            connection.close()

    thread = threading.Thread(target=finish)
    thread.start()
    waited = agent.get(f"records/{opened}/wait", timeout=10)
    thread.join()
    assert (waited.json["done"], waited.json["record"]["status"]) == (True, "completed")


def test_wait_since_ends_with_the_next_thing_that_happens(agent):
    opened = agent.open("tickets", {"subject": "a"}).json
    assert not agent.get(f"records/{opened['id']}/wait", timeout=0, since=opened["seq"]).json["done"]
    agent.result(opened["id"], 1, {"output": {"label": "x"}, "confidence": 0.1})
    assert agent.get(f"records/{opened['id']}/wait", timeout=0, since=opened["seq"]).json["done"]
    assert agent.get(f"records/{opened['id']}/wait", timeout=0, until="stopped").json["done"]


def test_waiters_above_the_cap_are_answered_at_once(agent, settings):
    settings.HANDOFFS_WAITERS = 0
    opened = agent.open("tickets", {"subject": "a"}).json["id"]
    began = time.monotonic()
    waited = agent.get(f"records/{opened}/wait", timeout=30)
    assert time.monotonic() - began < 5
    assert (waited.status, waited.json["done"], waited.headers["Retry-After"]) == (200, False, "5")
    assert waiting.waiters.count == 0


def test_answer_is_told_once_it_can_not_be_taken_back(agent, cast, settings):
    asked = agent.post("asks", {"queue": "ticket-questions", "question": "Sure?"}).json["id"]
    found = escalation_of(Record.objects.get())
    seen = Seen(found.version, body_digest(found.record.payload))
    verdicts.answer(escalation_id=found.pk, by=cast.bob, seen=seen, text='{"answer": "yes"}')
    assert agent.get(f"asks/{asked}/wait", timeout=0).json["ask"]["status"] == "waiting"
    settings.HANDOFFS_UNDO = 0.0
    told = agent.get(f"asks/{asked}/wait", timeout=0).json["ask"]
    assert (told["status"], told["answer"], told["answered_by"]) == ("answered", "yes", "Bob Lind")
    assert told["question"] == "Sure?"


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"queue": "nowhere", "question": "q"}, 409, "unknown_queue"),
        ({"queue": "approvals"}, 422, "contract_broken"),
        ({"queue": "approvals", "question": "q", "due": "tomorrow"}, 422, "contract_broken"),
        (b"{", 400, "not_json"),
    ],
)
def test_ask_that_can_not_be_put_opens_nothing(agent, body, status, code):
    answer = agent.post("asks", body)
    assert (answer.status, answer.code, Record.objects.count()) == (status, code, 0)


def test_ask_may_say_by_when(agent):
    agent.post("asks", {"queue": "approvals", "question": "q", "due": "2099-01-01T12:00:00Z"})
    assert escalation_of(Record.objects.get()).due_at.year == 2099


def test_same_bytes_are_attached_once_and_go_out_as_they_came(agent):
    opened = agent.open("tickets", {"subject": "a"}).json["id"]
    path = f"records/{opened}/attachments"
    first, again = (agent.post(f"{path}?name=page.html", b"<script>1</script>", media="text/html") for _ in range(2))
    assert (first.status, again.status, Attachment.objects.count()) == (201, 200, 1)
    got = agent.get(f"{path}/{first.json['id']}")
    assert got.text == "<script>1</script>"
    assert got.headers["Content-Type"] == "application/octet-stream"
    assert got.headers["Content-Disposition"].startswith("attachment")
    assert (got.headers["X-Content-Type-Options"], "sandbox" in got.headers["Content-Security-Policy"]) == (
        "nosniff", True,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("name", "raw", "media", "status"),
    [
        ("a/b", b"x", "text/plain", 422),
        ("a", b"", "text/plain", 422),
        ("a", b"x", "nonsense", 422),
        ("a", b"x" * 101, "text/plain", 413),
    ],
)
def test_file_that_is_unfit_is_not_attached(agent, settings, name, raw, media, status):
    settings.HANDOFFS_MAX_ATTACHMENT = 100
    opened = agent.open("tickets", {"subject": "a"}).json["id"]
    answer = agent.post(f"records/{opened}/attachments?name={name}", raw, media=media)
    assert (answer.status, Attachment.objects.count()) == (status, 0)


def test_link_is_kept_and_never_fetched(agent):
    opened = agent.open("tickets", {"subject": "a"}).json["id"]
    link = {"name": "a.pdf", "media_type": "application/pdf", "url": "https://files.example.com/a.pdf"}
    made = agent.post(f"records/{opened}/attachments/links", link)
    assert (made.status, made.json["link"], made.json["stored"]) == (201, link["url"], False)
    assert agent.get(f"records/{opened}/attachments/{made.json['id']}").status == 404
    assert agent.post(f"records/{opened}/attachments/links", link | {"url": "javascript:alert(1)"}).status == 422


def test_dry_run_writes_nothing(agent):
    before = Record.objects.count()
    path = "flows/case-subscriptions/steps/sync/contract"
    told = agent.post(f"{path}/check", {"input": {"event": 1}, "output": {"label": "x", "more": 1}})
    assert [(v["side"], v["pointer"]) for v in told.json["violations"]] == [
        ("receives", "/input/event"), ("receives", "/input/subscription"), ("returns", "/output/more"),
    ]  # fmt: skip
    assert (told.json["holds"], told.json["unknown_fields"], Record.objects.count()) == (
        False, ["/output/more"], before,
    )  # fmt: skip
    assert agent.post(f"{path}/check", {}).status == 422


def test_contract_is_told_with_its_hash(agent):
    told = agent.get("flows/tickets/steps/classify/contract").json
    assert (told["receives"]["name"], told["returns"]["name"], told["confidence"]) == ("Ticket", "Class", 0.9)
    assert len(told["returns"]["hash"]) == 64
    broken = agent.result(agent.open("tickets", {"subject": "a"}).json["id"], 1, {"output": {}, "confidence": 1})
    assert broken.json["contract"]["hash"] == told["returns"]["hash"]
    assert broken.json["resubmit"]["attempt"] == 2
    assert agent.get("flows/tickets/steps/nothing/contract").code == "unknown_step"
    assert agent.get("flows/nothing/steps/classify/contract").code == "unknown_flow"
