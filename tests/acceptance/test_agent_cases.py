"""The reported cases of malformed output, drift, duplicates, confidence and permission, posted over HTTP."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from functools import cache
from pathlib import Path

import pytest
from django.db import connection
from django.test import Client

from handoffs.actions import agents, endings
from handoffs.actions.work import claim_step
from handoffs.models import AgentToken, AuditEntry, Record, StepResult
from tests import agents as cases
from tests.agents import API, Agent, said, set_stage
from tests.cast import fresh, story, waiting

pytestmark = pytest.mark.django_db(transaction=True)
CASES = Path(__file__).parent.parent / "cases"


@pytest.fixture
def agent(cast):
    set_stage(cast.alice)
    return Agent()


def case(name: str) -> bytes:
    return (CASES / name).read_bytes()


@cache
def made(script: str) -> bytes:
    return subprocess.run([sys.executable, CASES / script], capture_output=True, check=True).stdout


def taken_in(agent: Agent, flow: str = "case-invoices") -> Record:
    answer = agent.open(flow, {"text": "scan 20417"})
    assert answer.status == 201
    return Record.objects.get(pk=answer.json["id"])


def assert_baseline(agent: Agent) -> None:
    record = taken_in(agent)
    answer = agent.result(record.pk, 1, case("_baseline_ok.json"))
    assert (answer.status, answer.json["outcome"], fresh(record).status) == (200, "accepted", "completed")


def assert_refused(agent: Agent, raw: bytes, status: int, code: str, pointer: str) -> Record:
    """The refusal of the common set-up: one refused attempt, escalated to the step's queue, nothing moved on."""
    assert_baseline(agent)
    record = taken_in(agent)
    answer = agent.result(record.pk, 1, raw)
    assert (answer.status, answer.code) == (status, code)
    assert pointer in [violation["pointer"] for violation in answer.json["violations"]]
    assert answer.json["detail"]
    assert answer.json["escalation"]["queue"] == "invoices-review"
    record.refresh_from_db()
    assert (record.status, record.attempt, record.payload) == ("escalated", 1, '{"text": "scan 20417"}')
    assert waiting(record).queue.owner.username == "alice"
    [result] = record.results.filter(attempt__isnull=False)
    assert (result.attempt, result.actor, result.outcome) == (1, "agent:echo", "broken_output")
    assert ("escalate", "escalated") in story(record)
    assert record.transitions.get(event="escalate").actor == "agent:echo"
    assert_baseline(agent)
    return record


@pytest.mark.parametrize(
    ("name", "code", "pointer"),
    [
        ("M01.txt", "invalid_number", "/output/total"),
        ("M03.json", "duplicate_key", "/output/decision"),
        ("M04.json", "unstorable_character", "/output/lines/0/description"),
        ("M06.json", "unstorable_character", "/output/lines/0/description"),
        ("M08.json", "huge_integer", "/output/document_id"),
        ("M09.txt", "not_json", ""),
    ],
)
def test_case_that_is_not_taken_as_json_is_charged_and_kept(agent, name, code, pointer):
    record = assert_refused(agent, case(name), 400, code, pointer)
    kept = record.results.get(attempt=1).output
    assert kept
    if name in {"M01.txt", "M03.json"}:
        assert kept in case(name).decode(), "the output's text is kept as it was sent"


def test_case_m03_is_found_in_the_envelope_as_well(agent):
    twice = case("_baseline_ok.json").replace(b'"confidence": 0.97,', b'"confidence": 0.97, "confidence": 0.1,')
    assert_refused(agent, twice, 400, "duplicate_key", "/confidence")


def test_case_m09_hints_at_the_code_fence(agent):
    record = taken_in(agent)
    answer = agent.result(record.pk, 1, case("M09.txt"))
    assert "code fence" in answer.json["detail"]
    assert "```" in record.results.get(attempt=1).output


def test_case_m08_shows_the_value_cut(agent):
    record = taken_in(agent)
    answer = agent.result(record.pk, 1, case("M08.json"))
    assert answer.json["violations"][0]["received"] == "2444… 5001 digits"


@pytest.mark.parametrize(
    ("name", "pointer", "words"),
    [
        ("M11.json", "/output/total", "A number is needed"),
        ("M13.json", "/output/issue_date", "2026-"),
        ("M15.json", "/output/decision", "approve"),
        ("R09.json", "/output/issue_date", "date"),
    ],
)
def test_case_that_breaks_the_contract_is_a_receipt(agent, name, pointer, words):
    record = assert_refused(agent, case(name), 422, "contract_broken", pointer)
    violation = record.violations.get()
    assert words in violation.sentence + violation.expected


def test_case_m15_lists_the_allowed_values_in_order(agent):
    record = taken_in(agent)
    answer = agent.result(record.pk, 1, case("M15.json"))
    assert answer.json["violations"][0]["expected"] == "'approve', 'reject' or 'needs_review'"


def test_case_m17_names_both_sizes_and_is_charged_without_the_body(agent):
    raw = made("make_m17.py")
    record = assert_refused(agent, raw, 413, "too_large", "")
    assert record.results.get(attempt=1).output == ""
    again = agent.result(taken_in(agent).pk, 1, raw)
    assert (again.json["sent"], again.json["allowed"]) == (len(raw), 2_000_000)


def test_case_m17_one_kilobyte_below_the_limit_is_taken(agent, settings):
    raw = made("make_m17.py")
    settings.HANDOFFS_MAX_BODY = len(raw) + 1024
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1000
    record = taken_in(agent)
    assert agent.result(record.pk, 1, raw).status == 200
    assert fresh(record).status == "completed"


@pytest.mark.parametrize(
    ("name", "pointers"),
    [
        ("D01.json", ["/input/subscription/current_period_end", "/input/subscription/items"]),
        ("D03.json", ["/input/subscription/billing_mode", "/input/api_release"]),
        ("D04.json", ["/input/subscription/status"]),
    ],
)
def test_case_of_drift_is_refused_at_the_door_and_kept(agent, name, pointers):
    answer = agent.post("flows/case-subscriptions/records", case(name))
    assert (answer.status, answer.json["escalation"]["queue"]) == (422, "refunds-review")
    assert [violation["pointer"] for violation in answer.json["violations"]] == pointers
    record = Record.objects.get(pk=answer.json["record"]["id"])
    assert record.payload in case(name).decode()


def test_case_d03_open_contract_counts_what_it_does_not_know(agent):
    body = {"event": "e", "invoice": {"id": "i", "tax": 1}, "release": 2}
    answer = agent.open("case-dues", body)
    assert answer.status == 201
    taken = StepResult.objects.get(record=answer.json["id"])
    assert sorted(taken.loaded("unknown_fields")) == ["/invoice/tax", "/release"]


def test_case_d04_spares_its_neighbours_in_the_batch(agent):
    good = json.loads(case("D04.json"))
    good["input"]["subscription"]["status"] = "active"
    lines = [json.dumps(good), json.dumps(json.loads(case("D04.json"))), json.dumps(good)]
    answer = agent.post(
        "flows/case-subscriptions/records/batch", "\n".join(lines).encode(), media="application/x-ndjson"
    )
    assert answer.status == 200
    assert [json.loads(line)["status"] for line in answer.text.splitlines()] == [201, 422, 201]


def post_at_once(agent: Agent, record: Record, body: object, **headers: object) -> list:
    barrier, answers = threading.Barrier(4), []

    def post() -> None:
        barrier.wait()
        try:
            answers.append(agent.result(record.pk, 1, body, **headers))
        finally:
            connection.close()

    threads = [threading.Thread(target=post) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


@pytest.mark.parametrize("key", ["k-U01", None])
def test_case_u01_posted_four_times_at_once_is_accepted_once(agent, key):
    record = taken_in(agent)
    [action] = json.loads(case("U01.json"))["actions"]
    answers = post_at_once(agent, record, action["post"], **({"key": key} if key else {}))
    assert {answer.status for answer in answers} <= {200, 409}
    assert sum(answer.status == 200 and "Idempotent-Replayed" not in answer.headers for answer in answers) == 1
    assert {answer.code for answer in answers} <= {"", "duplicate_result", "idempotency_key_running"}
    if key:
        assert len({answer.text for answer in answers if answer.status == 200}) == 1
    assert record.results.filter(attempt=1).count() == 1
    assert [event for event, _ in story(record)].count("finish") == 1


def test_case_u05_step_that_is_not_open_stores_nothing(agent):
    record = taken_in(agent, "case-two-steps")
    early, right = (action["body"] for action in json.loads(case("U05.json"))["actions"])
    before = (story(record), record.results.count())
    answer = agent.result(record.pk, 1, early | {"step": "post_to_ledger"})
    assert (answer.status, answer.code) == (409, "step_not_open")
    assert (story(record), record.results.count()) == before
    assert agent.result(record.pk, 1, right | {"step": "invoice_extract"}).status == 200
    assert fresh(record).step == "post_to_ledger"


@pytest.mark.parametrize("claimed", [True, False])
def test_case_u05_result_for_a_closed_record_changes_nothing(agent, cast, claimed):
    record = taken_in(agent)
    if claimed:
        claim_step(flow=cases.invoices, step=cases.invoices.last, actor=agent.actor, limit=1)
    endings.close_record(record=fresh(record), by=cast.dora, reason="Duplicate")
    answer = agent.result(record.pk, 1, case("_baseline_ok.json"))
    assert (answer.status, fresh(record).status) == (409, "closed")


def test_case_c01_keeps_the_output_and_scales_nothing(agent):
    record = taken_in(agent)
    answer = agent.result(record.pk, 1, case("C01.json"))
    assert (answer.status, answer.code) == (422, "invalid_confidence")
    assert [(v["pointer"], v["received"]) for v in answer.json["violations"]] == [("/confidence", "95")]
    result = record.results.get(attempt=1)
    assert (result.confidence, json.loads(result.output)["total"]) == (None, 1234.56)
    assert waiting(record).kind == "low_confidence"


def test_case_c03_missing_confidence_is_stored_and_escalated(agent):
    record = taken_in(agent)
    answer = agent.result(record.pk, 1, case("C03.json"))
    assert (answer.status, answer.json["code"]) == (200, "confidence_missing")
    assert (fresh(record).status, record.results.get(attempt=1).confidence) == ("escalated", None)


def test_case_c05_bar_at_the_time_of_the_result_counts(agent):
    posted = [action["post"] for action in json.loads(case("C05.json"))["actions"]]
    outcomes = [
        (agent.result(taken_in(agent, "case-strict-bar").pk, 1, body).json["record"]["status"]) for body in posted
    ]
    assert outcomes == ["escalated", "completed", "escalated"]
    kept = StepResult.objects.filter(attempt=1).order_by("pk").values_list("confidence", "bar")
    assert list(kept) == [(0.989999, 0.99), (0.99, 0.99), (0.95, 0.99)]


def test_case_p01_record_of_another_flow_is_not_there(agent):
    record = taken_in(agent)
    stranger = Agent("stranger", "case-subscriptions: open, read, work, attach")
    unknown = stranger.get("records/999999")
    for path in (f"records/{record.pk}", f"records/{record.pk}/wait"):
        found = stranger.get(path)
        assert (found.status, found.code) == (unknown.status, unknown.code) == (404, "not_found")
    for path in ("result", "failure", "question", "release", "heartbeat"):
        assert stranger.post(f"records/{record.pk}/attempts/1/{path}", {"output": {}}).status == 404
    assert stranger.get("flows/case-invoices/records").status == 403
    assert fresh(record).status == "ready"


def test_case_p04_token_is_kept_as_a_digest_and_taken_from_the_header_only(agent):
    record = taken_in(agent)
    with connection.cursor() as cursor:
        cursor.execute("SELECT * FROM handoffs_agenttoken")
        assert agent.text.rpartition("_")[2] not in str(cursor.fetchall())
    for query in ({"token": agent.text}, {"access_token": agent.text}):
        assert said(Client().get(f"{API}records/{record.pk}", query)).status == 401


def test_case_p04_revoked_token_is_refused_at_once_and_the_audit_says_who(agent):
    record = taken_in(agent)
    agents.revoke_token(token=AgentToken.objects.get(name="echo"), by="reviewer:dora")
    answer = agent.result(record.pk, 1, case("_baseline_ok.json"))
    assert (answer.status, fresh(record).status) == (401, "ready")
    assert AuditEntry.objects.get(action="token.revoke").actor == "reviewer:dora"


def test_case_r13_amount_is_kept_to_the_digit(agent):
    record = taken_in(agent)
    assert agent.result(record.pk, 1, case("R13.json")).status == 200
    assert "12345678901234.10" in record.results.get(attempt=1).output


def test_case_r11_of_two_megabytes_is_taken(agent):
    record = taken_in(agent)
    assert agent.result(record.pk, 1, made("make_r11.py")).status in {200, 422}
    assert fresh(record).status == "escalated"
