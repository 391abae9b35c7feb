"""A step's code may do anything: its own record stops with a sentence, its neighbours in the same batch go on."""

from __future__ import annotations

import datetime
import math
import sys
from decimal import Decimal

import pytest

from handoffs.models import Record
from handoffs.models.history import verify
from tests import sample_flows
from tests.cast import document, fresh, opened, waiting, work
from tests.sample_flows import Draft, NeedsHuman, PermanentError, Result, TransientError
from tests.soundness import assert_sound

pytestmark = pytest.mark.django_db


def raising(error):
    def act():
        raise error

    return act


def draft(**changes):
    return Draft(**{"number": "X", "purchase_order": "P", "total": 1} | changes)


def result(**around):
    return Result(**{"output": draft(), "confidence": 0.9} | around)


class OddError(Exception):
    def __str__(self):
        raise ValueError("not even its text can be read")


ODD = {
    "an error as message": raising(TransientError(ValueError("inner"))),
    "a number as code": raising(PermanentError("gone", 404)),
    "a code that is too long": raising(PermanentError("gone", "c" * 500)),
    "an odd character in the code": raising(PermanentError("gone", "a\0b\ud800")),
    "nothing as message": raising(TransientError(None)),
    "half a character in the message": raising(RuntimeError("\ud83d")),
    "a NUL in the message": raising(RuntimeError("a\0b")),
    "a very long message": raising(RuntimeError("m" * 1_000_000)),
    "an error with a very long name": raising(type("E" * 300, (Exception,), {})("x")),
    "an error without a text": raising(OddError()),
    "the end of the program": raising(SystemExit(3)),
    "too deep": lambda: ODD["too deep"](),
    "no memory": raising(MemoryError()),
    "an end of iteration": raising(StopIteration()),
    "an assertion": raising(AssertionError()),
    "a question that is no text": raising(NeedsHuman(ValueError("which?"))),
    "a question with odd characters": raising(NeedsHuman("a\0b\ud800?")),
    "answers that are no texts": raising(NeedsHuman("which?", [1, Decimal("2"), None])),
    "answers with odd characters": raising(NeedsHuman("which?", ["a\0", "\ud800"])),
    "nothing": lambda: None,
    "another contract": lambda: sample_flows.Ticket(subject="s"),
    "a dictionary": lambda: {"number": "X"},
    "a text with a NUL": lambda: draft(number="a\0b"),
    "a text with half a character": lambda: draft(number="a\ud800b"),
    "a text of five million characters": lambda: draft(number="x" * 5_000_000),
    "a number beyond every column": lambda: draft(total=10**40),
    "an output that was never checked": lambda: Draft.model_construct(number=object(), total=math.nan),
    "a confidence that is no number": lambda: result(confidence="high"),
    "a confidence that is not finite": lambda: result(confidence=math.nan),
    "a confidence of another world": lambda: result(confidence=Decimal("0.9")),
    "usage that is no JSON": lambda: result(usage={"at": datetime.datetime(2026, 11, 30)}),
    "usage with NaN": lambda: result(usage={"cost": math.nan}),
    "usage that is a list": lambda: result(usage=[1, 2]),
    "usage that holds itself": lambda: result(usage=_circular()),
    "evidence with half a character": lambda: result(evidence={"/number": {"quote": "\ud800"}}),
    "evidence with a NUL in a key": lambda: result(evidence={"a\0": 1}),
    "evidence with keys that are no texts": lambda: result(evidence={(1, 2): 3}),
    "field confidences that are none": lambda: result(field_confidence={"/number": "sure"}),
}


def _circular():
    found = {}
    found["self"] = found
    return found


def run_to_rest(records):
    """Six rounds of a worker, each when all waits are over."""
    for _ in range(6):
        Record.objects.filter(status="ready").update(available_at=records[0].opened_at)
        work()


@pytest.mark.parametrize("what", ODD)
def test_an_odd_step_stops_its_own_record_and_no_other(cast, what):
    before, odd, after = (opened(document(number)) for number in ("A-1", "ODD", "A-2"))
    default = sys.getrecursionlimit()

    def extract(given, context):
        if context.record_id == odd.pk:
            return ODD[what]()
        number, order, total = given.text.split(",")
        return result(output=draft(number=number, purchase_order=order, total=int(total)))

    sample_flows.behaviour["extract"] = extract
    run_to_rest([before, odd, after])
    assert sys.getrecursionlimit() == default
    assert [fresh(record).status for record in (before, after)] == ["completed", "completed"]
    assert [fresh(record).attempt for record in (before, after)] == [3, 3], "no neighbour lost a try"
    assert fresh(odd).status in {"escalated", "completed"}
    if fresh(odd).status == "escalated":
        assert waiting(odd).reason
    assert verify(fresh(odd)) == []
    assert_sound()


@pytest.mark.parametrize("what", ["a text with a NUL", "a number beyond every column"])
def test_what_the_gate_would_refuse_is_no_output_either(cast, what):
    record = opened(document())
    sample_flows.behaviour["extract"] = lambda given, context: ODD[what]()
    run_to_rest([record])
    escalation = waiting(record)
    assert escalation.kind == "broken_output"
    rule = {"a text with a NUL": "unstorable_character", "a number beyond every column": "huge_integer"}[what]
    assert escalation.violations.get().rule == rule
