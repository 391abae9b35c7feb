from __future__ import annotations

import math

import pytest

from handoffs import Contract, Flow, Result, Retry, Step, flows
from handoffs.errors import DeclarationError, UnknownFlow, UnknownStep
from handoffs.states import INTAKE


class Note(Contract):
    text: str


def work(note, context):
    return Result(note)


def a_step(name="extract", **changes):
    return Step(name, **{"receives": Note, "returns": Note, "run": work} | changes)


def a_flow(*steps, **changes):
    named = changes.pop("name", "notes")
    return Flow(named, **{"intake": Note, "steps": steps or [a_step()], "escalate_to": "inbox"} | changes)


@pytest.fixture(autouse=True)
def own_registry():
    before = flows.declared()
    flows.clear()
    yield
    flows.clear()
    for flow in before.values():
        flows.register(flow)


@pytest.mark.parametrize(
    ("backoff", "waits"),
    [("none", [0, 0, 0, 0]), ("fixed", [2, 2, 2, 2]), ("exponential", [2, 4, 8, 10])],
)
def test_each_backoff_waits_as_it_says(backoff, waits):
    retry = Retry(cap=5, backoff=backoff, first=2, ceiling=10)
    assert [retry.delay(used) for used in (1, 2, 3, 4)] == waits


def test_the_wait_stays_under_the_ceiling_after_any_number_of_tries():
    assert Retry(cap=100_000).delay(99_999) == 300


@pytest.mark.parametrize(
    "changes",
    [
        {"cap": 0},
        {"cap": -1},
        {"cap": True},
        {"cap": 2.5},
        {"cap": "3"},
        {"backoff": "linear"},
        {"first": -1},
        {"first": math.nan},
        {"first": "1"},
        {"ceiling": 0.5},
        {"ceiling": math.inf},
    ],
)
def test_a_retry_policy_that_cannot_work_is_refused(changes):
    with pytest.raises(DeclarationError):
        Retry(**{"cap": 3} | changes)


@pytest.mark.parametrize(
    "name", ["", "Extract", "1st", "a b", "a/b", "a--b", "a-", "ä", "a" * 61, "extract\n", None, 3]
)
def test_an_odd_name_is_refused(name):
    with pytest.raises(DeclarationError, match="small letters"):
        a_step(name)
    with pytest.raises(DeclarationError, match="small letters"):
        a_flow(name=name)
    with pytest.raises(DeclarationError, match="small letters"):
        a_flow(escalate_to=name)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"receives": dict}, "receives must be a Contract"),
        ({"returns": Note(text="x")}, "returns must be a Contract"),
        ({"run": None}, "needs code"),
        ({"run": "work"}, "needs code"),
        ({"by": "agent"}, "never be called"),
        ({"by": "human"}, "done by a person"),
        ({"by": "robot"}, "worker, agent or human"),
        ({"when": True}, "when must be a function"),
        ({"retry": None}, "has no cap"),
        ({"confidence": -0.1}, "between 0 and 1"),
        ({"confidence": 85}, "between 0 and 1"),
        ({"confidence": True}, "between 0 and 1"),
        ({"confidence": math.nan}, "between 0 and 1"),
        ({"confidence": "high"}, "between 0 and 1"),
        ({"escalate_to": ""}, "queue's name"),
        ({"escalate_to": "Inbox"}, "queue's name"),
        ({"on_broken_output": "ignore"}, "retry or escalate"),
        ({"concurrency": 0}, "whole number from 1"),
        ({"job_queue": ""}, "no job queue"),
        ({"timeout": 0}, "timeout is a number"),
        ({"timeout": "60"}, "timeout is a number"),
        ({"lease": 60}, "longer than the timeout"),
        ({"lease": math.inf}, "lease_seconds is a number"),
        ({"start_within": 0}, "start_within_seconds is a number"),
        ({"renamed_from": "read"}, "tuple of names"),
        ({"renamed_from": ("Read",)}, "small letters"),
        ({"renamed_from": (INTAKE,)}, "place before the first step"),
    ],
)
def test_a_step_that_cannot_work_is_refused_with_a_sentence(changes, sentence):
    with pytest.raises(DeclarationError, match=sentence):
        a_step(**changes)


def test_no_step_takes_the_name_of_the_intake():
    with pytest.raises(DeclarationError, match="place before the first step"):
        a_step(INTAKE)


def test_a_bar_at_either_end_is_taken():
    assert [a_step(confidence=bar).confidence for bar in (0, 1)] == [0, 1]


def test_times_left_out_have_defaults_that_depend_on_who_works():
    assert a_step(timeout=100).lease_seconds == 180
    assert a_step(lease=61).lease_seconds == 61
    assert a_step().start_within_seconds == 600
    assert a_step(by="agent", run=None).start_within_seconds == 3600
    assert a_step(start_within=5).start_within_seconds == 5


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"intake": str}, "intake must be a Contract"),
        ({"steps": []}, "at least one"),
        ({"steps": ["extract"]}, "list of steps"),
        ({"steps": [a_step(), a_step()]}, "used twice"),
        ({"steps": [a_step(), a_step("check", renamed_from=("extract",))]}, "used twice"),
        ({"steps": [a_step(takes={"draft": "nobody"})]}, "not a step before it"),
        ({"steps": [a_step(takes={"draft": "extract"})]}, "not a step before it"),
        ({"steps": [a_step(takes={"draft": INTAKE})]}, "not a step before it"),
        ({"steps": [a_step(takes={"draft": "post"}), a_step("post")]}, "not a step before it"),
        ({"steps": [a_step(), a_step("post", takes={"": "extract"})]}, "the key must be a name"),
        ({"title": "{text"}, "a brace too many"),
        ({"title": "text}"}, "a brace too many"),
        ({"title": "{}"}, "a brace too many"),
    ],
)
def test_a_flow_that_cannot_work_is_refused_with_a_sentence(changes, sentence):
    with pytest.raises(DeclarationError, match=sentence):
        a_flow(**changes)


def test_steps_know_their_places_and_neighbours():
    flow = a_flow(a_step(), a_step("check"), a_step("post"))
    check = flow.step("check")
    assert flow.index("check") == 1
    assert (flow.before("check"), flow.following("check")) == (flow.steps[0], flow.steps[2])
    assert (flow.before("extract"), flow.following("post")) == (None, None)
    assert flow.following(INTAKE) is flow.steps[0]
    assert flow.last is flow.following(check.name)


def test_a_renamed_step_is_found_under_its_former_names():
    flow = a_flow(a_step(), a_step("check", renamed_from=("verify", "look")))
    assert flow.step("verify") is flow.step("look") is flow.step("check")
    assert flow.index("look") == 1
    assert flow.before("verify") is flow.steps[0]


@pytest.mark.parametrize("ask", ["step", "index", "following", "before", "queue_of"])
def test_an_unknown_step_is_an_error_wherever_it_is_asked_for(ask):
    with pytest.raises(UnknownStep, match="'nobody'"):
        getattr(a_flow(), ask)("nobody")


def test_steps_inherit_the_queue_of_their_flow():
    flow = a_flow(a_step(), a_step("post", escalate_to="ledger"))
    assert [flow.queue_of(name) for name in (INTAKE, "extract", "post")] == ["inbox", "inbox", "ledger"]


def test_the_registry_tells_flows_apart_by_identity():
    flow = flows.register(a_flow())
    assert flows.register(flow) is flow
    with pytest.raises(DeclarationError, match="Two flows are named 'notes'"):
        flows.register(a_flow())
    assert flows.declared() == {"notes": flow}
    assert flows.get_flow("notes") is flow


def test_an_unknown_flow_is_an_error():
    with pytest.raises(UnknownFlow, match="'notes'"):
        flows.get_flow("notes")


def test_the_listing_of_flows_cannot_change_the_registry():
    flows.declared()["other"] = a_flow(name="other")
    assert flows.declared() == {}


def test_a_document_is_described_by_title_and_columns():
    flow = a_flow(title="{supplier.name} {number}", columns=["total", "/lines/0/sku", "paid", "/a~1b"])
    data = {
        "supplier": {"name": "Acme"},
        "number": 7,
        "total": "12.50",
        "lines": [{"sku": "x1"}],
        "paid": True,
        "a/b": 1,
    }
    assert flow.describe(data) == ("Acme 7", ["12.50", "x1", "yes", "1"])
    assert flow.shown_fields == ("supplier.name", "number", "total", "/lines/0/sku", "paid", "/a~1b")


@pytest.mark.parametrize(
    "data",
    [{}, {"a": None}, {"a": {}}, {"a": []}, {"a": "x"}, {"a": ["x"]}, {"a": {"b": None}}, {"a": {"b": " "}}, [], 3],
)
def test_whatever_is_not_there_shows_as_a_dash(data):
    assert a_flow(title="{a.b}", columns=["a.b", "/a/b/7"]).describe(data) == ("", ["–", "–"])


def test_what_is_shown_is_one_short_line():
    title, (column,) = a_flow(title="{text}{text}", columns=["text"]).describe({"text": "one\n two " + "x" * 500})
    assert column.startswith("one two xx")
    assert (len(title), len(column), column[-1]) == (200, 120, "…")


def test_an_error_of_a_step_keeps_its_code_and_a_question_its_answers():
    error = flows.TransientError("the ledger is away", code="ledger_away")
    assert (str(error), error.code) == ("the ledger is away", "ledger_away")
    assert flows.PermanentError("gone").code == ""
    question = flows.NeedsHuman("Is it ours?", answers=["yes", "no"])
    assert (str(question), question.answers) == ("Is it ours?", ("yes", "no"))
