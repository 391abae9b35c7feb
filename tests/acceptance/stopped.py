"""Records that stopped, one of each kind, and the pages on which they are decided."""

from __future__ import annotations

import json
from typing import Any

from handoffs import Result
from handoffs.actions.repairs import ask_people
from handoffs.models import Escalation, Record
from tests import sample_flows
from tests.cast import document, fresh, opened, waiting, work


def refused(order: str = "", number: str = "A-1") -> Escalation:
    """check needs a purchase order, and extract found none."""
    record = opened(document(number, order))
    work()
    return waiting(record)


def unsure(confidence: float | None = 0.62, **result: Any) -> Escalation:
    """extract delivered something that holds its contract, below its bar."""
    draft = sample_flows.Draft(number="A-1", purchase_order="PO-7", total=10)
    sample_flows.behaviour["extract"] = lambda given, context: Result(draft, confidence=confidence, **result)
    return _stopped()


def broken(**fields: Any) -> Escalation:
    """extract delivered something that breaks its contract, each time it tried."""
    values = {"number": "A-1", "purchase_order": "PO-7", "total": 10} | fields
    draft = sample_flows.Draft.model_construct(**values)
    sample_flows.behaviour["extract"] = lambda given, context: Result(draft, confidence=0.9)
    record = opened(document())
    for _ in range(3):
        Record.objects.filter(pk=record.pk).update(available_at=record.opened_at)
        work()
    sample_flows.behaviour.clear()
    return waiting(record)


def failed(sentence: str = "The order is locked.") -> Escalation:
    """check failed, and no other try would help."""

    def fail(given: Any, context: Any) -> Any:
        raise sample_flows.PermanentError(sentence, "order_locked")

    sample_flows.behaviour["check"] = fail
    return _stopped()


def asked(question: str = "Which is it?", *answers: str) -> Escalation:
    def ask(given: Any, context: Any) -> Any:
        raise sample_flows.NeedsHuman(question, answers)

    sample_flows.behaviour["check"] = ask
    return _stopped()


def review() -> Escalation:
    """approve is done by a person."""
    record = opened(document(total=5000))
    work()
    return waiting(record)


def unreadable(body: bytes) -> Escalation:
    return waiting(opened(body))


def _stopped() -> Escalation:
    record = opened(document())
    work()
    sample_flows.behaviour.clear()
    return waiting(record)


def url(escalation: Escalation, verb: str = "") -> str:
    return f"/escalations/{escalation.pk}/{verb}"


def go_on(record: Record) -> Record:
    """Let the time to undo pass, and reconciler and worker work."""
    Record.objects.filter(pk=record.pk).update(available_at=record.opened_at)
    ask_people()
    work()
    return fresh(record)


def body_of(record: Record) -> Any:
    return json.loads(fresh(record).payload)
