"""Small flows for the tests: an extractor that may leave fields out, a check that needs them, a person, a ledger."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Annotated, Any

from handoffs import Carried, Contract, Flow, NeedsHuman, PermanentError, Result, Retry, Step, TransientError

calls: Counter[str] = Counter()
"""How often each step's code was called, by step name."""

behaviour: dict[str, Callable[[Any, Any], Any]] = {}
"""What a test makes a step do instead; by step name."""


class Document(Contract):
    text: str


class Draft(Contract):
    number: Annotated[str, Carried()]
    purchase_order: str | None = None
    total: int


class CheckInput(Contract):
    number: Annotated[str, Carried()]
    purchase_order: str
    total: int


class Checked(Contract):
    number: Annotated[str, Carried()]
    purchase_order: str
    total: int
    is_large: bool


class Approval(Checked):
    approved_by: str


class ToPost(Contract, unknown="count"):
    number: Annotated[str, Carried()]
    total: int


class Posted(Contract):
    number: Annotated[str, Carried()]
    voucher: str


def _act(name: str, given: Any, context: Any, default: Callable[[], Any]) -> Any:
    calls[name] += 1
    return behaviour[name](given, context) if name in behaviour else default()


def extract(given: Document, context: Any) -> Any:
    def read() -> Result:
        number, order, total = given.text.split(",")
        return Result(Draft(number=number, purchase_order=order or None, total=int(total)), confidence=0.95)

    return _act("extract", given, context, read)


def check(given: CheckInput, context: Any) -> Any:
    return _act("check", given, context, lambda: Checked(**given.model_dump(), is_large=given.total > 1000))


def post(given: ToPost, context: Any) -> Any:
    return _act("post", given, context, lambda: Posted(number=given.number, voucher=f"V-{context.key}"))


orders = Flow(
    "orders",
    intake=Document,
    escalate_to="order-exceptions",
    title="{number} {purchase_order}",
    columns=["total"],
    priority=lambda value: getattr(value, "total", 0) // 1000,
    steps=[
        Step("extract", receives=Document, returns=Draft, run=extract, retry=Retry(cap=3, first=0.01), confidence=0.85),
        Step("check", receives=CheckInput, returns=Checked, run=check, retry=Retry(cap=2, first=0.01)),
        Step(
            "approve",
            receives=Checked,
            returns=Approval,
            by="human",
            when=lambda given: given.is_large,
            escalate_to="approvals",
        ),
        Step("post", receives=ToPost, returns=Posted, run=post, escalate_to="ledger", retry=Retry(cap=3, first=0.01)),
    ],
)


class Ticket(Contract):
    subject: str


class Class(Contract):
    label: str


tickets = Flow(
    "tickets",
    intake=Ticket,
    escalate_to="ticket-questions",
    title="{subject}",
    steps=[Step("classify", receives=Ticket, returns=Class, by="agent", confidence=0.9, start_within=60)],
)

QUEUES = ("order-exceptions", "approvals", "ledger", "ticket-questions")

__all__ = ["NeedsHuman", "PermanentError", "TransientError", "behaviour", "calls", "orders", "tickets"]
