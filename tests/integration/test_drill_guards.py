"""A drill goes red when any one guard of the engine is switched off: it is the engine that is tried, not the flow."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from django.contrib.auth import get_user_model

from handoffs import Result, engine, strict_json
from handoffs.actions import plans, records, repairs, submissions, verdicts, work, writing
from handoffs.contracts import Checked
from handoffs.drill.cases import Verdict
from handoffs.drill.run import Drill
from handoffs.flows import Flow, Retry
from handoffs.models import moves
from tests.cast import shut_out_by_force
from tests.faulty_flows import Order, Priced, flow, price

pytestmark = pytest.mark.django_db(transaction=True)


class Counting(Priced, unknown="count"):
    """Keeps and counts what it does not know."""


def sure(order: Order, context: Any) -> Result:
    return Result(price(order, context), confidence=0.9)


def guarded() -> Flow:
    """A flow that needs every guard: a bar, a cap, a carried fact, counted unknown fields."""
    once = Retry(cap=2, first=0.01)
    return flow(receives=Counting, price={"confidence": 0.8, "run": sure, "retry": once})


@dataclass(frozen=True)
class Guard:
    """A guard, how to switch it off, and codes of which at least one must be found then."""

    name: str
    switch_off: Callable[[Any], None]
    codes: frozenset[str]


def guard(name: str, *codes: str) -> Callable[[Callable[[Any], None]], Guard]:
    return lambda switch_off: Guard(name, switch_off, frozenset(codes))


@guard("the input is held against its contract", "code_called", "not_escalated")
def refusal(patch):
    whole = engine.check_input
    patch.setattr(engine, "check_input", lambda step, document, outputs: (
        whole(step, document, outputs)[0], Checked(whole(step, document, outputs)[1].value, (), ())))  # fmt: skip


@guard("the output is held against its contract", "not_escalated", "code_called", "not_completed")
def output(patch):
    patch.setattr(engine, "check_output", lambda step, given, text: (Checked(None, (), ()), ()))


@guard("facts are carried", "let_through")
def carried(patch):
    patch.setattr(engine, "check_carried", lambda *bodies: ())


@guard("the confidence bar", "not_escalated")
def bar(patch):
    patch.setattr(engine, "_hold_against_bar", lambda step, judged: judged)


@guard("a confidence is a number from 0 to 1", "not_escalated", "crashed")
def confidence(patch):
    patch.setattr(engine, "read_confidence", lambda raw: (0.9, ()))


@guard("the cap", "cap_ignored", "crashed")
def cap(patch):
    whole = engine.fail
    patch.setattr(engine, "fail", lambda step, **said: whole(step, **said | {"tries_left": 1}))


@guard("a failed try uses one", "cap_ignored")
def tries(patch):
    whole = plans.Plan.set

    def keep(self, **columns):
        if "tries_left" in columns and columns["tries_left"] < self.row.tries_left:
            columns["tries_left"] = self.row.tries_left
        whole(self, **columns)

    patch.setattr(plans.Plan, "set", keep)


@guard("the fence", "late_result_applied", "result_applied_twice", "crashed", "not_completed")
def fence(patch):
    for module in (work, submissions):
        patch.setattr(module, "is_current", lambda row, attempt: True)


@guard("the gate before a retry", "gate_open")
def gate(patch):
    patch.setattr(verdicts, "_require_holds", lambda plan, side, body: Checked(None, (), ()))


@guard("the gate before JSON", "let_through")
def json_gate(patch):
    whole = strict_json.read

    def lax(raw, **limits):
        try:
            return strict_json.Body(raw.decode(), json.loads(raw))
        except (ValueError, RecursionError):
            return whole(raw, **limits)

    patch.setattr(strict_json, "read", lax)


@guard("the escalation is in the same transaction", "not_escalated")
def escalation(patch):
    patch.setattr(writing, "_write_escalations", lambda found: None)


@guard("a lost lease ends the attempt", "lease_not_ended", "not_completed")
def lease(patch):
    patch.setattr(repairs, "expire_leases", lambda **only: 0)


@guard("the queue is the one that the flow names", "wrong_queue")
def queue(patch):
    whole = plans.queue_id
    patch.setattr(plans, "queue_id", lambda slug, fallback: whole("ledger", fallback))


@guard("the queue's owner can log in", "owner_unreachable")
def owner(patch):
    shut_out_by_force(get_user_model().objects.get(username="alice"))


@guard("the body is kept as it was sent", "body_changed", "fix_refused")
def body(patch):
    whole = records.storable
    patch.setattr(records, "storable", lambda raw: whole(raw.strip()[:-1] or b" "))


@guard("the history is a chain", "history_broken")
def chain(patch):
    patch.setattr(moves, "link", lambda *said, **more: "0" * 64)


GUARDS = [found for found in list(vars().values()) if isinstance(found, Guard)]


def codes_of(report):
    return {case.code for case in report.cases if case.code}


def test_with_every_guard_the_flow_is_ready(cast):
    report = Drill(guarded(), 11, per_class=1).run()
    assert (codes_of(report), report.verdict) == (set(), Verdict.READY)


@pytest.mark.parametrize("found", GUARDS, ids=lambda found: found.name)
def test_without_a_guard_the_drill_is_red(cast, monkeypatch, found):
    found.switch_off(monkeypatch)
    report = Drill(guarded(), 11, per_class=1).run()
    assert report.verdict is not Verdict.READY
    assert codes_of(report) & found.codes, codes_of(report)
