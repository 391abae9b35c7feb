"""Without this test a workflow is not ready: upstream stops emitting a field that downstream needs."""

from __future__ import annotations

import json

import pytest

from handoffs.actions import verdicts
from handoffs.actions.verdicts import Seen
from handoffs.bodies import body_digest
from handoffs.states import Outcome
from tests import sample_flows
from tests.cast import document, fresh, opened, story, waiting, work

pytestmark = pytest.mark.django_db(transaction=True)


def test_malformed_upstream_is_refused_escalated_and_recoverable(cast):
    record = opened(document(order=""))  # upstream no longer finds a purchase order
    work()

    record = fresh(record)
    extracted = record.results.get(step="extract")
    assert extracted.outcome == Outcome.ACCEPTED, "upstream's own output check passes"
    assert sample_flows.calls["check"] == 0, "downstream's code is not called"
    assert (record.status, record.step) == ("escalated", "check")
    assert record.payload == extracted.output, "the body is kept as it was handed over"
    assert (record.attempt, record.tries_left) == (1, 2), "no attempt and no try of check is used"

    escalation = waiting(record)
    assert (escalation.queue.slug, escalation.queue.owner.username) == ("order-exceptions", "alice")
    assert (escalation.kind, escalation.pointer) == ("refused", "/purchase_order")
    violation = escalation.violations.get()
    assert (violation.pointer, violation.seam) == ("/purchase_order", "extract → check")
    assert violation.rule == "null_not_allowed"

    seen = Seen(escalation.version, body_digest(record.payload))
    mended = json.dumps(json.loads(record.payload) | {"purchase_order": "PO-9"})
    verdicts.fix(escalation_id=escalation.pk, by=cast.bob, seen=seen, body=mended)
    record.refresh_from_db()
    assert (record.status, record.tries_left) == ("ready", 2)

    let_the_undo_window_pass(record)
    work()
    assert fresh(record).status == "completed"
    assert sample_flows.calls["check"] == 1
    assert story(record) == [
        ("open", "ready"),
        ("start", "running"),
        ("accept", "ready"),
        ("refuse", "escalated"),
        ("fix", "ready"),
        ("start", "running"),
        ("accept", "ready"),
        ("skip", "ready"),
        ("start", "running"),
        ("finish", "completed"),
    ]


def let_the_undo_window_pass(record):
    """Time is the database's; a test moves the record's instead of waiting."""
    type(record).objects.filter(pk=record.pk).update(available_at=record.opened_at)
