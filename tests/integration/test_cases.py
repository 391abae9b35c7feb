"""Publicly reported cases on records, confidence, drift and edits, on the engine itself: no HTTP, no pages."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from handoffs import Contract, Flow, Retry, Step, flows
from handoffs.actions import verdicts, work
from handoffs.actions.records import Opening, open_records
from handoffs.actions.starts import Claimer
from handoffs.actions.verdicts import Seen
from handoffs.actions.work import Finished
from handoffs.bodies import body_digest
from handoffs.engine import Delivery
from handoffs.errors import DeclarationError, NothingChanged
from handoffs.flows import PermanentError, TransientError
from handoffs.models import Record
from tests.cases_contracts import InvoiceDue, InvoiceExtract, SubscriptionSync
from tests.cast import fresh, opened, story, waiting
from tests.cast import work as work_off
from tests.soundness import assert_sound

pytestmark = pytest.mark.django_db
CASES = Path(__file__).parent.parent / "cases"
QUEUE = "order-exceptions"


class Source(Contract):
    ref: str


class Entry(Contract):
    total: float


class Anything(Contract, unknown="count"):
    """An intake that looks at nothing."""


def case(name):
    return json.loads((CASES / f"{name}.json").read_bytes())


class Desk:
    """A flow whose first step the tests play by hand; its second one reads totals and may fail."""

    def __init__(self, bar=0.9):
        self.read, self.failing = [], False
        self.flow = flows.register(
            Flow("desk", intake=Source, escalate_to=QUEUE, steps=[self.extract(bar), self.post()])
        )

    def extract(self, bar):
        retry = Retry(cap=3, backoff="none")
        how = {"confidence": bar, "on_broken_output": "escalate", "retry": retry, "job_queue": "desk"}
        return Step("extract", receives=Source, returns=InvoiceExtract, run=self.never, **how)

    def post(self):
        retry = Retry(cap=1, backoff="none")
        return Step("post", receives=InvoiceExtract, returns=Entry, run=self.enter, retry=retry, job_queue="desk")

    def never(self, given, context):
        raise AssertionError("the tests deliver for this step")

    def enter(self, given, context):
        self.read.append(given.total)
        if self.failing:
            raise RuntimeError("the ledger is closed")
        return Entry(total=given.total)

    def open(self):
        return opened({"ref": "RB-20417"}, flow="desk")

    def deliver(self, record, sent):
        """Deliver for the record what a case sends."""
        [started] = work.claim_ready(job_queue="desk", actor="worker:case", limit=1).started
        delivery = Delivery(json.dumps(sent["output"]), sent.get("confidence"))
        finished = Finished(record.pk, started.attempt, delivery, started.body)
        work.commit([finished], Claimer("worker:case", lambda step: False))
        return fresh(record)

    def go_on(self, record):
        Record.objects.filter(pk=record.pk).update(available_at=record.opened_at)
        work_off("desk")
        return fresh(record)


@pytest.fixture
def desk(cast):
    return Desk()


def fix(escalation, person, body, shown=""):
    seen = Seen(escalation.version, body_digest(shown) if shown else "")
    return verdicts.fix(escalation_id=escalation.pk, by=person, seen=seen, body=body)


def test_the_baseline_completes(desk):
    record = desk.deliver(desk.open(), case("_baseline_ok"))
    assert (desk.go_on(record).status, desk.read) == ("completed", [1234.56])


# --- confidence ------------------------------------------------------------------------------------------------------


def test_case_c01_is_never_scaled_clamped_or_accepted_and_its_output_is_kept(desk):
    sent = case("C01")
    record = desk.deliver(desk.open(), sent)
    escalation = waiting(record)
    assert (record.status, escalation.code, escalation.pointer) == ("escalated", "invalid_confidence", "/confidence")
    assert "95" in escalation.violations.get().sentence
    assert (escalation.confidence, json.loads(escalation.result.output)) == (None, sent["output"])


def test_case_c01_can_be_approved_by_hand(desk, cast):
    record = desk.deliver(desk.open(), case("C01"))
    verdicts.approve(escalation_id=waiting(record).pk, by=cast.bob, seen=Seen(0))
    assert desk.go_on(record).status == "completed"


def test_case_c03_missing_confidence_is_not_one_and_not_zero(desk):
    record = desk.deliver(desk.open(), case("C03"))
    escalation = waiting(record)
    assert (escalation.code, escalation.confidence, escalation.bar) == ("confidence_missing", None, 0.9)
    assert escalation.reason == "extract did not report how sure it is; 0.90 is needed."


def test_case_c05_the_bar_at_the_time_of_the_result_counts(cast):
    posts = [action["post"] for action in case("C05")["actions"]]
    before = Desk(bar=0.9)
    record = before.open()
    flows.clear()
    desk = Desk(bar=0.99)
    ends = [desk.deliver(record, posts[2]).status]
    ends += [desk.deliver(desk.open(), post).status for post in posts[:2]]
    assert ends == ["escalated", "escalated", "ready"]
    told = [(r.confidence, r.bar) for r in record.results.model.objects.filter(step="extract").order_by("pk")]
    assert told == [(0.95, 0.99), (0.989999, 0.99), (0.99, 0.99)]


@pytest.mark.parametrize("bar", [1.5, "0,9", True, float("nan")])
def test_case_c05_a_bar_that_is_none_stops_the_start(bar):
    with pytest.raises(DeclarationError):
        Step("x", receives=Source, returns=Entry, run=print, confidence=bar)


# --- drift -----------------------------------------------------------------------------------------------------------


def sync_flow(receives):
    called = []

    def sync(given, context):
        called.append(given)
        return Entry(total=1)

    step = Step("sync", receives=receives, returns=Entry, run=sync)
    flows.register(Flow("sync", intake=Anything, escalate_to=QUEUE, steps=[step]))
    return called


@pytest.mark.parametrize(
    ("name", "pointers"),
    [
        ("D01", ["/subscription/current_period_end", "/subscription/items"]),
        ("D03", ["/subscription/billing_mode", "/api_release"]),
        ("D04", ["/subscription/status"]),
    ],
)
def test_case_of_drift_stops_before_the_step_s_code(cast, name, pointers):
    called = sync_flow(SubscriptionSync)
    record = opened(case(name)["input"], flow="sync")
    work_off()
    escalation = waiting(record)
    assert (escalation.kind, escalation.code, called) == ("refused", "input_contract", [])
    assert [v.pointer for v in escalation.violations.order_by("pk")] == pointers
    assert json.loads(fresh(record).payload) == case(name)["input"], "nothing is filled in"
    assert (fresh(record).attempt, fresh(record).tries_left) == (0, 3)


def test_case_d04_spares_the_others_of_its_batch(cast):
    called = sync_flow(SubscriptionSync)
    good = case("D04")["input"] | {"subscription": {"id": "s", "status": "active", "current_period_end": 1}}
    bodies = [good, case("D04")["input"], good]
    openings = [Opening(json.dumps(body).encode()) for body in bodies]
    found = open_records(flow=flows.get_flow("sync"), openings=openings, actor="agent:case")
    work_off()
    ends = [Record.objects.get(pk=one.record_id).status for one in found]
    assert (ends, len(called)) == (["completed", "escalated", "completed"], 2)
    assert waiting(Record.objects.get(pk=found[1].record_id)).violations.get().rule == "null_not_allowed"


def test_case_d03_an_open_contract_keeps_the_names_of_what_it_does_not_know(cast):
    step = Step("due", receives=InvoiceDue, returns=Entry, run=lambda given, context: Entry(total=1))
    flows.register(Flow("due", intake=InvoiceDue, escalate_to=QUEUE, steps=[step]))
    record = opened({"event": "e", "invoice": {"id": "i", "tax": 1}, "release": 2}, flow="due")
    work_off()
    assert fresh(record).status == "completed"
    assert sorted(record.results.get(step="intake").loaded("unknown_fields")) == ["/invoice/tax", "/release"]


# --- stuck work ------------------------------------------------------------------------------------------------------


def test_case_s05_retries_have_a_cap_and_a_reviewer_grants_one_more(cast):
    def fetch(given, context):
        raise {"gone": PermanentError("source 404"), "busy": TransientError("try later")}[given.ref]

    retry = Retry(cap=3, backoff="none")
    step = Step("fetch", receives=Source, returns=Entry, run=fetch, retry=retry)
    flows.register(Flow("fetching", intake=Source, escalate_to=QUEUE, steps=[step]))
    gone, busy = (opened({"ref": ref}, flow="fetching") for ref in ("gone", "busy"))
    work_off()
    assert [(fresh(r).status, fresh(r).attempt) for r in (gone, busy)] == [("escalated", 1), ("escalated", 3)]
    for attempts in (4, 5):
        escalation = waiting(busy)
        verdicts.retry(escalation_id=escalation.pk, by=cast.bob, seen=Seen(escalation.version))
        Record.objects.update(available_at=busy.opened_at)
        work_off()
        assert (fresh(busy).status, fresh(busy).attempt) == ("escalated", attempts)
    assert_sound()


# --- what people edit ------------------------------------------------------------------------------------------------


def unsure(desk):
    sent = case("_baseline_ok") | {"confidence": 0.5}
    record = desk.deliver(desk.open(), sent)
    return record, sent["output"]


def test_case_r03_what_a_person_wrote_is_what_runs_and_the_original_stays(desk, cast):
    record, output = unsure(desk)
    desk.failing = True
    fix(waiting(record), cast.bob, json.dumps(output | {"total": 1243.56}))
    desk.go_on(record)
    escalation = waiting(record)
    assert (escalation.step, desk.read) == ("post", [1243.56])
    desk.failing = False
    verdicts.retry(escalation_id=escalation.pk, by=cast.bob, seen=Seen(escalation.version))
    assert desk.go_on(record).status == "completed"
    assert desk.read == [1243.56, 1243.56]
    versions = record.results.filter(step="extract").order_by("pk").values_list("actor", "output")
    assert [(actor, json.loads(text)["total"]) for actor, text in versions] == [
        ("worker:case", 1234.56),
        ("reviewer:bob", 1243.56),
    ]


def test_case_a03_an_edit_names_the_one_place_it_changed(desk, cast):
    record, output = unsure(desk)
    shown = waiting(record).result.output
    fix(waiting(record), cast.bob, json.dumps(output | {"supplier": "Nordhafen Papier AG"}), shown)
    edit = record.results.get(outcome="fixed")
    assert edit.loaded("patch") == [{"op": "replace", "path": "/supplier", "value": "Nordhafen Papier AG"}]
    assert json.loads(shown)["supplier"] == "Nordhafen Papier GmbH"


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text,
        lambda text: json.dumps(dict(reversed(json.loads(text).items())), indent=2),
        lambda text: text.replace("1234.56", "1234.560"),
    ],
    ids=["nothing", "order of keys", "a zero at the end"],
)
def test_case_a03_an_edit_that_changes_nothing_leaves_no_trace(desk, cast, change):
    record, output = unsure(desk)
    desk.failing = True
    fix(waiting(record), cast.bob, json.dumps(output | {"supplier": "Nordhafen Papier AG"}))
    record = desk.go_on(record)
    before = (record.seq, waiting(record).version, record.results.count(), story(record))
    body = change(record.payload)
    with pytest.raises(NothingChanged):
        fix(waiting(record), cast.bob, body)
    assert (fresh(record).seq, waiting(record).version, record.results.count(), story(record)) == before
