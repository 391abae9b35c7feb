"""Every endpoint × every kind of token. The endpoints come from the description: one without a row here fails."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from handoffs.actions import agents
from handoffs.api import v1
from handoffs.models import AgentToken, sql
from tests.agents import API, Agent, said, set_stage

pytestmark = pytest.mark.django_db(transaction=True)

DESCRIBED = json.loads(v1.description("api/v1/"))["paths"]
ENDPOINTS = sorted((method, path, op["operationId"]) for path, ops in DESCRIBED.items() for method, op in ops.items())

# operation → (verb it needs, body, query)
ROWS: dict[str, tuple[str, Any, str]] = {
    "openRecord": ("open", {"input": {"subject": "a"}}, ""),
    "openRecords": ("open", {"input": {"subject": "a"}}, ""),
    "listRecords": ("read", None, ""),
    "getRecord": ("read", None, ""),
    "waitForRecord": ("read", None, "?timeout=0"),
    "claim": ("work", {"limit": 1}, ""),
    "submit": ("work", {"output": {"label": "x"}, "confidence": 0.95}, ""),
    "fail": ("work", {"message": "m"}, ""),
    "ask": ("work", {"question": "q"}, ""),
    "release": ("work", {}, ""),
    "heartbeat": ("work", None, ""),
    "askHuman": ("ask", {"queue": "ticket-questions", "question": "q"}, ""),
    "getAsk": ("ask", None, ""),
    "waitForAsk": ("ask", None, "?timeout=0"),
    "listFlows": ("", None, ""),
    "getContract": ("read", None, ""),
    "getSeams": ("read", None, ""),
    "checkContract": ("read", {"output": {"label": "x"}}, ""),
    "attachFile": ("attach", b"hello", "?name=a.txt"),
    "attachLink": ("attach", {"name": "a", "media_type": "text/plain", "url": "https://example.com/a"}, ""),
    "getAttachment": ("read", None, ""),
}
MEDIA = {"openRecords": "application/x-ndjson", "attachFile": "text/plain"}
ON_ASKS = {"askHuman", "getAsk", "waitForAsk"}
AT_STEPS = {"claim", "submit", "fail", "ask", "release", "heartbeat", "getContract", "checkContract"} | ON_ASKS


def test_every_endpoint_has_a_row():
    assert {operation for _, _, operation in ENDPOINTS} == ROWS.keys()


@pytest.fixture
def addresses(cast):
    """Each endpoint's address on a stage where every one of them can succeed."""
    set_stage(cast.alice)
    admin = Agent("admin")
    record = admin.open("tickets", {"subject": "a"}).json["id"]
    running = {}
    for operation in ("fail", "ask", "release", "heartbeat"):
        admin.open("tickets", {"subject": operation})
    for operation, claim in zip(
        ("fail", "ask", "release", "heartbeat", "submit"),
        admin.post("flows/tickets/steps/classify/claims", {"limit": 5}).json["claims"],
        strict=True,
    ):
        running[operation] = claim["record"]
    admin.open("tickets", {"subject": "to be claimed"})
    ask = admin.post("asks", {"queue": "ticket-questions", "question": "q"}).json["id"]
    file = admin.post(f"records/{record}/attachments?name=f", b"file", media="text/plain").json["id"]

    def address(operation: str, path: str) -> str:
        filled = path.replace("{flow}", "tickets").replace("{step}", "classify").replace("{attempt}", "1")
        filled = filled.replace("{ask_id}", str(ask)).replace("{attachment_id}", str(file))
        return filled.replace("{record_id}", str(running.get(operation, record))) + ROWS[operation][2]

    return address


def call(method: str, address: str, operation: str, **headers: str):
    body = ROWS[operation][1]
    raw = body if isinstance(body, bytes) else (b"" if body is None else json.dumps(body).encode())
    client = Client()
    if method == "get":
        return said(client.get(address, headers=headers))
    media = MEDIA.get(operation, "application/json")
    return said(client.post(address, raw, content_type=media, headers=headers))


def right_scope(operation: str) -> str:
    verb = ROWS[operation][0] or "read"
    if operation in ON_ASKS:
        return f"asks/ticket-questions: {verb}"
    return f"tickets/classify: {verb}" if operation in AT_STEPS else f"tickets: {verb}"


@pytest.mark.parametrize(("method", "path", "operation"), ENDPOINTS)
def test_right_scope_is_let_in(addresses, method, path, operation):
    agent = Agent("right", right_scope(operation))
    answer = call(method, addresses(operation, path), operation, Authorization=f"Bearer {agent.text}")
    assert 200 <= answer.status < 300, answer.text


def other_scopes(operation: str) -> dict[str, str]:
    verb = ROWS[operation][0] or "read"
    others = ", ".join({"open", "read", "work", "attach", "ask"} - {verb})
    if operation in ON_ASKS:
        found = {"other queue": f"asks/approvals: {verb}", "other flow": f"orders: {verb}"}
        return found | ({"other verb": "asks/ticket-questions: open, work"} if operation != "askHuman" else {})
    found = {"other flow": f"orders: {verb}", "other verb": f"tickets: {others}"}
    return found | ({"other step": f"tickets/sort: {verb}"} if operation in AT_STEPS else {})


@pytest.mark.parametrize(("method", "path", "operation"), ENDPOINTS)
def test_other_scopes_are_kept_out(addresses, method, path, operation):
    for number, (kind, scopes) in enumerate(other_scopes(operation).items()):
        agent = Agent(f"wrong-{number}", scopes)
        answer = call(method, addresses(operation, path), operation, Authorization=f"Bearer {agent.text}")
        if operation == "listFlows":
            assert ("tickets" in answer.text) == (kind == "other verb")
            continue
        hidden = (kind == "other flow" and ("{record_id}" in path)) or operation in {"getAsk", "waitForAsk"}
        assert (answer.status, answer.code) == ((404, "not_found") if hidden else (403, "not_allowed")), kind


def unfit_headers(cast: Any) -> dict[str, dict[str, str]]:
    expired, revoked, rotated = Agent("expired"), Agent("revoked"), Agent("rotated")
    AgentToken.objects.filter(name="expired").update(expires_at=sql.now() - timedelta(seconds=1))
    agents.revoke_token(token=revoked.token, by="system:tests")
    agents.rotate_token(token=rotated.token, by="system:tests", overlap=timedelta(0))
    session = Client()
    session.force_login(cast.dora)
    cookies = "; ".join(f"{name}={morsel.value}" for name, morsel in session.cookies.items())
    live = Agent("live").text
    texts = {"expired": expired.text, "revoked": revoked.text, "rotated": rotated.text, "cut": live[:-1]}
    texts |= {"longer": live + "0", "unknown": "hf_0123456789ab_" + "0" * 64, "empty": "", "nonsense": "hf__"}
    bearers = {kind: {"Authorization": f"Bearer {text}"} for kind, text in texts.items()}
    return bearers | {"none": {}, "session": {"Cookie": cookies}, "basic": {"Authorization": f"Basic {live}"}}


@pytest.mark.parametrize(("method", "path", "operation"), ENDPOINTS)
def test_unfit_tokens_are_kept_out(addresses, cast, method, path, operation):
    address = addresses(operation, path)
    for kind, headers in unfit_headers(cast).items():
        answer = call(method, address, operation, **headers)
        assert (answer.status, answer.code) == (401, "unauthorized"), kind
        assert answer.headers["WWW-Authenticate"].startswith("Bearer")


@pytest.mark.parametrize("method", ["put", "patch", "delete", "post"])
def test_other_methods_are_problems_too(cast, method):
    answer = said(getattr(Client(), method)(f"{API}records/1"))
    assert (answer.status, answer.code, answer.headers["Allow"]) == (405, "method_not_allowed", "GET")


@pytest.mark.parametrize("path", ["", "nothing", "records/x", "records/0", f"records/{2**63}", "records/1/"])
def test_addresses_where_nothing_is_are_problems_too(cast, path):
    answer = Agent().get(path)
    assert (answer.status, answer.code) == (404, "not_found")
