"""A flow's seams on every path: skipped steps, what is taken, facts that are dropped."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated

from handoffs import Carried, Contract, Flow, Step, seams
from handoffs.seams import Route
from handoffs.states import INTAKE


class Document(Contract):
    text: str


class Draft(Contract):
    number: Annotated[str, Carried()]
    order: str | None
    total: Annotated[Decimal, Carried()]


class CheckInput(Draft):
    order: str


class Checked(CheckInput):
    verdict: str


class Approval(Checked):
    approver: str


class ToPost(Checked):
    approver: str | None = None


class Posted(Contract):
    number: str
    total: Decimal
    ledger_id: str


def work(*_):
    raise NotImplementedError


def is_due(_):
    return True


def a_step(name, receives, returns, **config):
    return Step(name, receives=receives, returns=returns, **{"run": None if config.get("by") else work} | config)


EXTRACT = a_step("extract", Document, Draft)
CHECK = a_step("check", CheckInput, Checked)
APPROVE = a_step("approve", Checked, Approval, by="human", when=is_due)
POST = a_step("post", ToPost, Posted)


def a_flow(*steps, **config):
    return Flow("invoices", **{"intake": steps[0].receives, "steps": steps, "escalate_to": "inbox"} | config)


def found(*steps, **config):
    return [(f.level, f.code, f.seam, f.pointer) for f in seams.read(a_flow(*steps, **config))]


def test_the_everyday_seam_is_one_warning():
    assert found(EXTRACT, CHECK, APPROVE, POST) == [("warning", "not_guaranteed", "extract → check", "/order")]


def test_each_step_lists_its_producers_the_nearest_first():
    maybe_check = a_step("check", CheckInput, Checked, when=is_due)
    assert seams.paths(a_flow(EXTRACT, maybe_check, APPROVE, POST)) == {
        "extract": (Route(INTAKE),),
        "check": (Route("extract"),),
        "approve": (Route("check"), Route("extract", ("check",))),
        "post": (Route("approve"), Route("check", ("approve",)), Route("extract", ("check", "approve"))),
    }


def test_a_first_step_that_may_be_skipped_hands_the_intake_on():
    first = a_step("enrich", Document, Draft, when=is_due)
    assert seams.paths(a_flow(first, CHECK))["check"] == (Route("enrich"), Route(INTAKE, ("enrich",)))


def test_the_intake_is_read_against_the_first_step():
    assert found(EXTRACT, intake=Draft)[:2] == [
        ("error", "never_written", "intake → extract", "/text"),
        ("error", "unknown_field", "intake → extract", "/number"),
    ]


def test_the_step_after_a_skip_must_accept_both():
    strict = a_step("post", Approval, Posted)
    assert found(EXTRACT, CHECK, APPROVE, strict)[1:] == [
        ("error", "never_written", "check → post (approve skipped)", "/approver")
    ]


def test_what_a_skipped_step_receives_is_guaranteed_after_it():
    maybe_check = a_step("check", CheckInput, Draft, when=is_due)
    after = a_step("after", CheckInput, Draft)
    assert [seam for _, _, seam, _ in found(EXTRACT, maybe_check, after)] == ["extract → check", "check → after"]


def test_a_skipped_step_that_only_observes_guarantees_nothing():
    maybe_check = a_step("check", CheckInput, Draft, when=is_due, enforce=False)
    after = a_step("after", CheckInput, Draft)
    assert ("warning", "not_guaranteed", "extract → after (check skipped)", "/order") in found(
        EXTRACT, maybe_check, after
    )


def test_an_unknown_field_stays_refused_after_a_skip():
    class WithMark(Draft):
        mark: str

    marking = a_step("extract", Document, WithMark)
    skipped = a_step("check", WithMark, Draft, when=is_due)
    after = a_step("after", Draft, Draft)
    assert ("error", "unknown_field", "extract → after (check skipped)", "/mark") in found(marking, skipped, after)


def test_counted_fields_pass_a_skipped_step_and_are_refused_after_it():
    class Event(Contract, unknown="count"):
        text: str

    skipped = a_step("enrich", Event, Document, when=is_due)
    after = a_step("extract", Document, Draft)
    assert found(skipped, after) == [("warning", "unknown_may_come", "intake → extract (enrich skipped)", "")]


def test_a_field_that_no_path_fills_is_told():
    class Typo(ToPost):
        aprover: str | None = None

    findings = found(EXTRACT, CHECK, APPROVE, a_step("post", Typo, Posted))
    assert [finding for finding in findings if finding[1] == "never_filled"] == [
        ("warning", "never_filled", "approve → post", "/aprover"),
        ("warning", "never_filled", "check → post (approve skipped)", "/aprover"),
    ]


class WithDraft(ToPost):
    draft: Draft


def test_what_is_taken_is_read_against_the_field_of_its_key():
    assert found(EXTRACT, CHECK, APPROVE, a_step("post", WithDraft, Posted, takes={"draft": "extract"}))[1:] == []


def test_what_is_taken_may_not_fit():
    class WithOrder(ToPost):
        draft: CheckInput

    assert found(EXTRACT, CHECK, a_step("post", WithOrder, Posted, takes={"draft": "extract"}))[1:] == [
        ("warning", "never_filled", "check → post", "/approver"),
        ("warning", "not_guaranteed", "extract → post", "/draft/order"),
    ]


def test_a_field_that_is_not_taken_is_never_written():
    assert ("error", "never_written", "check → post", "/draft") in found(
        EXTRACT, CHECK, a_step("post", WithDraft, Posted)
    )


def test_what_is_taken_from_a_step_that_may_be_skipped_is_not_guaranteed():
    class WithApproval(Posted):
        approval: Approval

    class WithApprovalPerhaps(Posted):
        approval: Approval | None = None

    for needed, count in ((WithApproval, 1), (WithApprovalPerhaps, 0)):
        last = a_step("tell", needed, Posted, takes={"approval": "approve"})
        assert found(EXTRACT, CHECK, APPROVE, POST, last)[1:] == count * [
            ("warning", "not_guaranteed", "approve → tell", "/approval")
        ]


def test_a_taken_key_must_be_known():
    last = a_step("post", ToPost, Posted, takes={"draft": "extract"})
    assert ("error", "unknown_field", "extract → post", "/draft") in found(EXTRACT, CHECK, last)


def test_a_taken_key_may_be_counted_as_unknown():
    class Any(Contract, unknown="count"):
        number: Annotated[str, Carried()]

    last = a_step("post", Any, Posted, takes={"draft": "extract"})
    assert found(EXTRACT, CHECK, last)[1:] == []


def test_a_taken_key_must_not_hide_a_field_of_the_document():
    class Shadowed(Checked):
        order: Draft

    last = a_step("post", Shadowed, Posted, takes={"order": "extract"})
    assert ("error", "takes_clash", "check → post", "/order") in found(EXTRACT, CHECK, last)


def test_a_skipped_step_does_not_hand_on_what_it_took():
    class CheckWithDraft(CheckInput):
        first: Document

    pre = a_step("read", Document, Document)
    maybe = a_step("check", CheckWithDraft, Checked, when=is_due, takes={"first": "read"})
    after = a_step("after", CheckInput, Draft)
    assert not [row for row in found(pre, EXTRACT, maybe, after) if row[2] == "extract → after (check skipped)"]


def test_a_default_is_certain_to_come_from_a_worker_only():
    class Noted(Draft):
        note: str = ""

    for by, level in (("worker", "error"), ("agent", "warning"), ("human", "warning")):
        run = work if by == "worker" else None
        producer = a_step("extract", Document, Noted, by=by, run=run)
        assert (level, "unknown_field", "extract → after", "/note") in found(producer, a_step("after", Draft, Draft))


def test_a_step_that_only_observes_is_no_error():
    watching = a_step("check", Document, Draft, enforce=False)
    assert {level for level, *_ in found(EXTRACT, watching)} == {"warning"}


def test_a_carried_fact_needs_a_place_in_what_is_handed_over():
    class Receipt(Contract):
        ledger_id: str
        number: str

    assert found(EXTRACT, CHECK, APPROVE, a_step("post", ToPost, Receipt))[1:] == [
        ("warning", "carried_dropped", "post", "/total")
    ]


def test_a_carried_fact_that_the_consumer_does_not_know_is_dropped_too():
    class Some(Contract, unknown="count"):
        number: str

    assert ("warning", "carried_dropped", "look", "/total") in found(EXTRACT, a_step("look", Some, Some))


def test_carried_facts_are_found_in_objects_and_lists():
    class Line(Contract):
        sku: Annotated[str, Carried()]

    class Party(Contract):
        vat: Annotated[str | None, Carried()]

    class Order(Contract):
        party: Party | None
        lines: list[Line]
        replaces: list[Order]

    class Slim(Contract):
        party: Document
        lines: list[Document]
        replaces: list[Order]

    assert found(a_step("slim", Order, Slim)) == [
        ("warning", "carried_dropped", "slim", "/party/vat"),
        ("warning", "carried_dropped", "slim", "/lines/*/sku"),
    ]


def test_a_shown_field_must_be_in_some_contract():
    config = {"title": "{supplier} {number}", "columns": ["total", "lines/0", "/order"]}
    assert [row[3] for row in found(EXTRACT, **config)] == ["/supplier", "/lines~10"]


def test_a_finding_says_what_is_wrong_in_a_sentence():
    (finding,) = seams.read(a_flow(EXTRACT, CHECK, APPROVE, POST))
    assert finding.sentence == "Not guaranteed: it may be null, and a value is needed."


def test_a_declared_field_passes_a_skipped_step_that_counts_it_as_unknown():
    class Event(Contract, unknown="count"):
        text: str

    class Marked(Document):
        mark: str

    producer = a_step("read", Document, Marked)
    skipped = a_step("look", Event, Document, when=is_due)
    assert found(producer, skipped, a_step("extract", Document, Draft)) == [
        ("error", "unknown_field", "read → extract (look skipped)", "/mark")
    ]
