from __future__ import annotations

from typing import Annotated

import pytest

from handoffs import Carried, Contract, Flow, Retry, Step
from handoffs.engine import Delivery, ask, assemble, enter, fail, judge, lease_ran_out
from handoffs.states import Event, Kind, Outcome


class In(Contract):
    number: Annotated[str, Carried()]
    size: int


class Out(Contract):
    number: Annotated[str, Carried()]


def step(name="one", **values):
    return Step(name, receives=In, returns=Out, **({"run": lambda given, ctx: None} | values))


def flow(*steps):
    return Flow("f", intake=In, steps=list(steps), escalate_to="q")


GIVEN = '{"number":"A","size":2}'


def arrive(the_flow, document=GIVEN, may_start=lambda s: True):
    return enter(the_flow, the_flow.steps[0].name, document, outputs={}.get, may_start=may_start)


def test_input_that_holds_starts():
    assert arrive(flow(step())).event is Event.START


def test_input_that_breaks_is_refused_with_its_violation():
    arrival = arrive(flow(step()), '{"number":"A"}')
    assert (arrival.event, [v.pointer for v in arrival.violations]) == (Event.REFUSE, ["/size"])


def test_refusal_comes_before_skip_and_skip_before_ask():
    never = {"when": lambda given: False, "by": "human", "run": None}
    assert arrive(flow(step(**never)), "{}").event is Event.REFUSE
    assert arrive(flow(step(**never))).skipped == ("one",)
    assert arrive(flow(step(by="human", run=None))).event is Event.ASK


def test_a_rule_that_raises_is_refused_and_named():
    arrival = arrive(flow(step(when=lambda given: given.nothing)))
    assert (arrival.event, arrival.code) == (Event.REFUSE, "when_failed")
    assert "AttributeError" in arrival.sentence


def test_a_step_that_nobody_here_serves_waits():
    assert arrive(flow(step()), may_start=lambda s: False).event is None


def test_skipping_the_last_step_ends_the_flow():
    arrival = arrive(flow(step(when=lambda given: False)))
    assert (arrival.step, arrival.skipped) == (None, ("one",))


def test_an_observing_step_refuses_nothing_but_keeps_the_violations():
    arrival = arrive(flow(step(enforce=False)), "{}")
    assert arrival.event is Event.START
    assert len(arrival.violations) == 2


def test_what_a_step_takes_stands_under_its_key_unchanged():
    taking = Step("two", receives=In, returns=Out, run=print, takes={"first": "one"})
    body, clashes = assemble(taking, '{"a": 1.10}', {"one": '{"b":12345678901234.10}'}.get)
    assert (body, clashes) == ('{"a": 1.10,"first":{"b":12345678901234.10}}', ())


def test_a_key_that_the_document_has_too_is_a_violation():
    taking = Step("two", receives=In, returns=Out, run=print, takes={"first": "one"})
    _, clashes = assemble(taking, '{"first":1}', {"one": "{}"}.get)
    assert [(c.pointer, c.rule) for c in clashes] == [("/first", "taken_key")]


def delivered(output='{"number":"A"}', confidence=0.9, tries_left=2, **values):
    return judge(step(**values), GIVEN, Delivery(output, confidence), tries_left=tries_left)


def test_an_output_that_holds_is_accepted():
    assert delivered().event is Event.ACCEPT


@pytest.mark.parametrize(
    ("tries_left", "event", "kind"), [(1, Event.RETRY, None), (0, Event.ESCALATE, Kind.BROKEN_OUTPUT)]
)
def test_a_broken_output_is_tried_again_within_the_cap(tries_left, event, kind):
    judged = delivered("{}", tries_left=tries_left)
    assert (judged.event, judged.kind, judged.outcome) == (event, kind, Outcome.BROKEN_OUTPUT)


def test_a_step_may_escalate_a_broken_output_at_once():
    assert delivered("{}", on_broken_output="escalate").event is Event.ESCALATE


def test_a_carried_fact_that_changed_breaks_the_output():
    judged = delivered('{"number":"B"}')
    assert [(v.pointer) for v in judged.violations] == ["/number"]


@pytest.mark.parametrize(
    ("confidence", "event", "code"),
    [
        (0.99, Event.ACCEPT, ""),
        (0.989999, Event.ESCALATE, "confidence_low"),
        (0.95, Event.ESCALATE, "confidence_low"),
        (None, Event.ESCALATE, "confidence_missing"),
        (0, Event.ESCALATE, "confidence_low"),
        (1, Event.ACCEPT, ""),
    ],
)
def test_the_bar_is_reached_from_the_bar_on_and_missing_is_low(confidence, event, code):
    judged = judge(step(confidence=0.99), GIVEN, Delivery('{"number":"A"}', confidence), tries_left=2)
    assert (judged.event, judged.code) == (event, code)


@pytest.mark.parametrize("confidence", [True, "high", 87, float("nan"), -0.1, [0.5]])
def test_an_invalid_confidence_is_tried_again_and_at_the_cap_waits_as_low_confidence(confidence):
    assert delivered(confidence=confidence, tries_left=1).event is Event.RETRY
    judged = delivered(confidence=confidence, tries_left=0)
    assert (judged.event, judged.kind, judged.code) == (Event.ESCALATE, Kind.LOW_CONFIDENCE, "invalid_confidence")


def test_an_observing_step_takes_a_broken_output_and_notes_why():
    judged = delivered("{}", enforce=False)
    assert (judged.event, len(judged.violations)) == (Event.ACCEPT, 1)


def failed(**values):
    known = {"code": "x", "sentence": "s", "permanent": False, "tries_left": 1}
    return fail(step(retry=Retry(cap=3, first=2)), **(known | values))


def test_a_transient_error_waits_longer_each_time():
    assert [failed(tries_left=n).delay for n in (2, 1)] == [2, 4]


def test_a_permanent_error_and_the_last_try_escalate():
    assert failed(permanent=True).kind is Kind.FAILED
    assert failed(tries_left=0).kind is Kind.FAILED


def test_a_question_escalates_as_asked():
    assert (ask("why?", ("a",)).event, ask("why?", ("a",)).kind) == (Event.ASK, Kind.ASKED)


def test_a_silent_neighbour_costs_no_try_but_one_alone_does():
    many = lease_ran_out(step(), claimed_with=20, tries_left=0, silent_since="12:00")
    assert many.event is Event.RELEASE
    alone = lease_ran_out(step(), claimed_with=1, tries_left=0, silent_since="12:00")
    assert (alone.event, alone.code, alone.outcome) == (Event.ESCALATE, "lease_lost", Outcome.LEASE_LOST)
