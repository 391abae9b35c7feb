"""Agents outside as the tests play them: a token, and short ways to speak HTTP."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from django.test import Client

from handoffs.actions.agents import create_token
from handoffs.api import limits
from handoffs.contracts import Contract
from handoffs.flows import Flow, Retry, Step, register
from handoffs.models import AgentToken, Queue
from tests.cases_contracts import InvoiceDue, InvoiceExtract, SubscriptionSync
from tests.sample_flows import Class, Document

API = "/api/v1/"
EVERYTHING = "*: open, read, work, attach, ask"


class LedgerEntry(Contract):
    """What the ledger of the tests gives back."""

    ledger_id: str


# The step of the reported cases: escalates at once on a refused result, cap 3, bar 0.90.
invoices = Flow(
    "case-invoices",
    intake=Document,
    escalate_to="invoices-review",
    steps=[
        Step(
            "invoice_extract",
            receives=Document,
            returns=InvoiceExtract,
            by="agent",
            confidence=0.90,
            on_broken_output="escalate",
            lease=61,
            timeout=60,
        )
    ],
)
two_steps = Flow(
    "case-two-steps",
    intake=Document,
    escalate_to="invoices-review",
    steps=[
        Step("invoice_extract", receives=Document, returns=InvoiceExtract, by="agent", confidence=0.90),
        Step("post_to_ledger", receives=InvoiceExtract, returns=LedgerEntry, by="agent"),
    ],
)
strict_bar = Flow(
    "case-strict-bar",
    intake=Document,
    escalate_to="invoices-review",
    steps=[Step("invoice_extract", receives=Document, returns=InvoiceExtract, by="agent", confidence=0.99)],
)
repairing = Flow(
    "case-repairing",
    intake=Document,
    escalate_to="invoices-review",
    steps=[
        Step("invoice_extract", receives=Document, returns=InvoiceExtract, by="agent", retry=Retry(cap=3, first=0.01))
    ],
)
subscriptions = Flow(
    "case-subscriptions",
    intake=SubscriptionSync,
    escalate_to="refunds-review",
    steps=[Step("sync", receives=SubscriptionSync, returns=Class, by="agent")],
)
dues = Flow(
    "case-dues",
    intake=InvoiceDue,
    escalate_to="refunds-review",
    steps=[Step("due", receives=InvoiceDue, returns=Class, by="agent")],
)
CASE_FLOWS = (invoices, two_steps, strict_bar, repairing, subscriptions, dues)
CASE_QUEUES = ("invoices-review", "refunds-review")


def set_stage(owner: Any) -> None:
    """Register the flows of the reported cases, with their queues, and forget who sent how much."""
    limits.forget_requests()
    for flow in CASE_FLOWS:
        register(flow)
    for slug in CASE_QUEUES:
        Queue.objects.create(slug=slug, title=slug, owner=owner)


@dataclass
class Said:
    """An answer: its status, its JSON and its headers."""

    status: int
    json: Any
    headers: Any
    text: str

    @property
    def code(self) -> str:
        return self.json.get("code", "")


class Agent:
    """One agent with a token of its own."""

    def __init__(self, name: str = "echo", scopes: str = EVERYTHING, **token: Any) -> None:
        made = create_token(name=name, scopes_text=scopes, by="system:tests", **token)
        self.token: AgentToken = made.token
        self.text = made.text
        self.actor = made.token.actor
        self.client = Client()

    def post(self, path: str, body: object = None, *, key: str | None = None, media: str | None = None, **headers: str):
        raw = body if isinstance(body, bytes) else (b"" if body is None else json.dumps(body).encode())
        if key is not None:
            headers["Idempotency-Key"] = key
        return self._said("post", path, raw, media or "application/json", headers)

    def get(self, path: str, **query: Any) -> Said:
        answer = self.client.get(API + path, query, headers={"Authorization": f"Bearer {self.text}"})
        return said(answer)

    def _said(self, method: str, path: str, raw: bytes, media: str, headers: dict[str, str]) -> Said:
        headers = {"Authorization": f"Bearer {self.text}"} | headers
        return said(getattr(self.client, method)(API + path, raw, content_type=media, headers=headers))

    def open(self, flow: str, given: object, external_id: str | None = None, **more: Any) -> Said:
        body = {"input": given} | ({"external_id": external_id} if external_id else {})
        return self.post(f"flows/{flow}/records", body, **more)

    def result(self, record: int, attempt: int, body: object, **more: Any) -> Said:
        return self.post(f"records/{record}/attempts/{attempt}/result", body, **more)


def said(answer: Any) -> Said:
    text = answer.content.decode("utf-8", "replace")
    is_json = "json" in answer.headers.get("Content-Type", "") and "ndjson" not in answer.headers["Content-Type"]
    return Said(answer.status_code, json.loads(text) if is_json else None, answer.headers, text)
