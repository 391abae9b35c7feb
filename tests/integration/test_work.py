"""Claim, run, commit: what a worker does, and what comes too late."""

from __future__ import annotations

import threading

import pytest

from handoffs import jobs
from handoffs.actions import endings, repairs, work
from handoffs.actions.starts import Claimer
from handoffs.actions.work import Failure, Finished
from handoffs.engine import Delivery
from handoffs.models import Record, StepResult
from tests import sample_flows
from tests.cast import document, fresh, opened, story, waiting
from tests.cast import work as work_off
from tests.sample_flows import NeedsHuman, PermanentError, TransientError

pytestmark = pytest.mark.django_db
CLAIMER = Claimer("worker:test", lambda step: False)
DRAFT = '{"number":"A-1","purchase_order":"P","total":10}'


def claimed(limit=10):
    return work.claim_ready(job_queue="default", actor="worker:test", limit=limit).started


def deliver(started, output=DRAFT, confidence=0.95):
    work.commit([Finished(started.record_id, started.attempt, Delivery(output, confidence), started.body)], CLAIMER)


def test_a_record_runs_to_its_end_in_one_chain(cast):
    record = opened(document())
    work_off()
    record = fresh(record)
    assert (record.status, record.attempt, record.title) == ("completed", 3, "A-1 –")
    assert record.lease_expires_at is None
    assert [e for e, _ in story(record)] == [
        "open", "start", "accept", "start", "accept", "skip", "start", "finish",
    ]  # fmt: skip


def test_every_result_has_start_end_and_a_confidence_or_none_reported(cast):
    record = opened(document())
    work_off()
    for result in record.results.all():
        assert result.started_at <= result.ended_at
        assert result.confidence is None or 0 <= result.confidence <= 1
    assert record.results.get(step="extract").confidence == 0.95
    assert record.results.get(step="check").confidence is None


def test_a_large_order_waits_for_a_person_in_the_commit_that_arrives_there(cast):
    record = opened(document(total=5000))
    work_off()
    assert (fresh(record).status, fresh(record).step) == ("escalated", "approve")
    assert (waiting(record).kind, waiting(record).queue.slug) == ("review", "approvals")


def work_off_one_claim():
    """What is ready now; a try whose wait ends meanwhile is left."""
    with jobs.Drain("default", threading.Event()) as running:
        running.claim()
        running.work_off()


def test_a_transient_error_is_tried_again_after_its_wait_and_recovers(cast):
    record = opened(document())
    sample_flows.behaviour["extract"] = lambda given, ctx: (_ for _ in ()).throw(TransientError("busy", "busy"))
    work_off_one_claim()
    record = fresh(record)
    assert (record.status, record.tries_left, record.attempt) == ("ready", 2, 1)
    assert record.available_at > record.opened_at
    del sample_flows.behaviour["extract"]
    Record.objects.update(available_at=record.opened_at)
    work_off()
    assert fresh(record).status == "completed"


def test_a_permanent_error_escalates_after_one_try_and_a_transient_one_after_the_cap(cast):
    record = opened(document())
    sample_flows.behaviour["extract"] = lambda given, ctx: (_ for _ in ()).throw(PermanentError("gone", "source_404"))
    work_off()
    assert (fresh(record).attempt, waiting(record).kind, waiting(record).code) == (1, "failed", "source_404")

    other = opened(document("A-2"))
    sample_flows.behaviour["extract"] = lambda given, ctx: 1 / 0
    for _ in range(3):
        Record.objects.filter(status="ready").update(available_at=other.opened_at)
        work_off()
    assert (fresh(other).attempt, fresh(other).tries_left) == (3, 0)
    assert (waiting(other).kind, waiting(other).code) == ("failed", "ZeroDivisionError")


def test_a_question_waits_for_its_answer_and_gives_the_try_back(cast):
    record = opened(document())

    def unsure(given, ctx):
        raise NeedsHuman("Which order?", ["PO-1", "PO-2"])

    sample_flows.behaviour["extract"] = unsure
    work_off()
    escalation = waiting(record)
    assert (escalation.kind, escalation.question, escalation.allowed_answers) == (
        "asked",
        "Which order?",
        ["PO-1", "PO-2"],
    )
    assert fresh(record).tries_left == 3


@pytest.mark.parametrize("ending", ["takeover", "close", "release"])
def test_a_late_commit_changes_nothing_but_is_kept(cast, ending):
    record = opened(document())
    started = claimed()[0]
    if ending == "takeover":
        Record.objects.filter(pk=record.pk).update(lease_expires_at=record.opened_at)
        repairs.expire_leases()
        Record.objects.filter(pk=record.pk).update(available_at=record.opened_at)
        assert claimed()[0].attempt == 2
    elif ending == "close":
        endings.close_record(record=record, by=cast.bob, reason="Duplicate")
    else:
        released = Failure("stopped", "", released=True)
        work.commit([Finished(record.pk, started.attempt, released)], CLAIMER)
    before = fresh(record)
    deliver(started)
    after = fresh(record)
    assert (after.status, after.step, after.payload, after.tries_left) == (
        before.status, before.step, before.payload, before.tries_left,
    )  # fmt: skip
    assert story(record)[-1] == ("late", before.status)
    assert record.results.get(outcome="late").output == DRAFT


def test_a_commit_after_its_lease_ran_out_is_taken_if_nobody_took_over(cast):
    record = opened(document())
    started = claimed()[0]
    Record.objects.filter(pk=record.pk).update(lease_expires_at=record.opened_at)
    deliver(started)
    assert (fresh(record).status, fresh(record).step) == ("ready", "check")


def test_the_same_result_twice_is_taken_once(cast):
    record = opened(document())
    started = claimed()[0]
    deliver(started)
    deliver(started)
    assert StepResult.objects.filter(record=record, step="extract").exclude(outcome="late").count() == 1


def test_a_crash_of_a_claim_of_many_costs_nobody_a_try_and_each_is_claimed_alone_next(cast):
    records = [opened(document(f"A-{i}")) for i in range(3)]
    assert len(claimed()) == 3
    Record.objects.update(lease_expires_at=records[0].opened_at)
    assert repairs.expire_leases() == 3
    assert {(r.status, r.tries_left, r.alone) for r in Record.objects.all()} == {("ready", 3, True)}
    assert [len(claimed()) for _ in range(3)] == [1, 1, 1]
    assert {r.claimed_with for r in Record.objects.all()} == {1}


def test_a_crash_alone_counts_and_at_the_cap_waits_as_failed(cast):
    record = opened(document())
    for _ in range(3):
        Record.objects.update(available_at=record.opened_at)
        assert len(claimed()) == 1
        Record.objects.update(lease_expires_at=record.opened_at)
        repairs.expire_leases()
    escalation = waiting(record)
    assert (escalation.kind, escalation.code, fresh(record).attempt) == ("failed", "lease_lost", 3)
    assert "no sign of it since" in escalation.reason


def test_low_confidence_keeps_the_output_for_the_reviewer(cast):
    record = opened(document())
    deliver(claimed()[0], confidence=0.62)
    escalation = waiting(record)
    assert (escalation.kind, escalation.confidence, escalation.bar) == ("low_confidence", 0.62, 0.85)
    assert escalation.result.output == DRAFT
    assert escalation.reason == "extract is not sure enough: 0.62, needs 0.85."


def test_an_alert_tells_of_work_that_nobody_takes_and_closes_when_it_is_served(cast):
    from handoffs.models import Alert

    record = opened({"subject": "Help"}, flow="tickets")
    repairs.watch_starts()
    assert not Alert.objects.exists()
    from datetime import timedelta

    Record.objects.update(available_at=record.opened_at - timedelta(hours=1))
    repairs.watch_starts()
    repairs.watch_starts()
    alert = Alert.objects.get()
    assert (alert.kind, alert.queue.owner, alert.closed_at) == ("unserved", cast.alice, None)
    flow = sample_flows.tickets
    work.claim_step(flow=flow, step=flow.steps[0], actor="agent:echo", limit=1)
    repairs.watch_starts()
    assert Alert.objects.get().closed_at is not None


def test_a_record_whose_step_is_gone_is_stranded_in_its_last_queue_and_can_go_on(cast):
    from datetime import timedelta

    from handoffs.actions import verdicts
    from handoffs.actions.verdicts import Seen

    record = opened(document())
    Record.objects.update(step="gone", available_at=record.opened_at)
    work_off()
    assert fresh(record).status == "ready"
    Record.objects.update(available_at=record.opened_at - timedelta(hours=1))
    repairs.strand_lost()
    escalation = waiting(record)
    assert (escalation.kind, escalation.queue.slug) == ("stranded", "order-exceptions")
    verdicts.retry(escalation_id=escalation.pk, by=cast.bob, seen=Seen(0), step="extract")
    assert (fresh(record).status, fresh(record).step) == ("ready", "extract")
