"""Fix, approve, answer, retry, close, reopen and undo: the body they leave, and what they refuse."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from handoffs.actions import endings, escalations, verdicts
from handoffs.actions.verdicts import Seen
from handoffs.bodies import body_digest
from handoffs.errors import (
    BodyChanged,
    ContractBroken,
    LostRace,
    NotAllowed,
    NothingChanged,
    ReasonRequired,
    TransitionNotAllowed,
    UndoExpired,
)
from handoffs.models import Escalation, Membership, Record
from handoffs.states import Side
from tests import sample_flows
from tests.cast import document, fresh, opened, story, waiting, work
from tests.sample_flows import Draft, NeedsHuman, Result

pytestmark = pytest.mark.django_db


def run_again(record):
    Record.objects.filter(pk=record.pk, status="ready").update(available_at=record.opened_at)
    work()
    return fresh(record)


def edited(text, **values):
    return json.dumps(json.loads(text) | values)


def seen(escalation, body=""):
    return Seen(escalation.version, body_digest(body) if body else "")


def refused(cast):
    record = opened(document(order=""))
    work()
    return fresh(record), waiting(record)


def unsure(cast, confidence=0.5):
    record = opened(document())
    sample_flows.behaviour["extract"] = lambda given, ctx: Result(
        Draft(number="A-1", purchase_order="P", total=10), confidence=confidence
    )
    work()
    return fresh(record), waiting(record)


def test_a_fix_of_the_input_runs_the_same_step_with_all_its_tries(cast):
    record, escalation = refused(cast)
    verdicts.fix(
        escalation_id=escalation.pk, by=cast.bob, seen=seen(escalation, record.payload),
        body=edited(record.payload, purchase_order="PO-1"),
    )  # fmt: skip
    result = record.results.get(outcome="fixed")
    assert (result.step, result.side, result.actor, result.attempt) == ("check", "receives", "reviewer:bob", None)
    assert json.loads(result.patch) == [{"op": "replace", "path": "/purchase_order", "value": "PO-1"}]
    assert run_again(record).status == "completed"
    assert sample_flows.calls == {"extract": 1, "check": 1, "post": 1}


def test_a_fix_that_still_breaks_the_contract_writes_nothing(cast):
    record, escalation = refused(cast)
    with pytest.raises(ContractBroken) as caught:
        verdicts.fix(
            escalation_id=escalation.pk, by=cast.bob, seen=seen(escalation), body=edited(record.payload, total="9")
        )
    assert {v.pointer for v in caught.value.violations} == {"/purchase_order", "/total"}
    assert waiting(record).version == escalation.version


def test_a_fix_that_is_not_even_json_says_where(cast):
    _, escalation = refused(cast)
    with pytest.raises(ContractBroken) as caught:
        verdicts.fix(escalation_id=escalation.pk, by=cast.bob, seen=seen(escalation), body='{"a": 1, "a": 2}')
    assert caught.value.violations[0].rule == "duplicate_key"


@pytest.mark.parametrize("same", [lambda t: t, lambda t: json.dumps(dict(reversed(json.loads(t).items())))])
def test_a_fix_that_changes_nothing_is_refused(cast, same):
    record, escalation = refused(cast)
    with pytest.raises(NothingChanged):
        verdicts.fix(escalation_id=escalation.pk, by=cast.bob, seen=seen(escalation), body=same(record.payload))
    assert not record.results.filter(outcome="fixed").exists()


def test_a_fix_of_a_broken_intake_starts_the_record_anew(cast):
    record = opened({"text": 5})
    escalation = waiting(record)
    verdicts.fix(escalation_id=escalation.pk, by=cast.bob, seen=seen(escalation), body='{"text":"A-1,P,3"}')
    assert (fresh(record).status, fresh(record).step) == ("ready", "extract")
    assert run_again(record).status == "completed"


def test_an_intake_that_was_no_json_can_be_fixed_too(cast):
    record = opened(b"\xff\x00 nothing that reads")
    escalation = waiting(record)
    verdicts.fix(escalation_id=escalation.pk, by=cast.bob, seen=seen(escalation), body='{"text":"A-1,P,3"}')
    assert (fresh(record).encoding, run_again(record).status) == ("", "completed")


def test_a_fix_of_an_unsure_output_goes_on_with_what_the_person_wrote(cast):
    record, escalation = unsure(cast)
    shown = escalation.result.output
    verdicts.fix(
        escalation_id=escalation.pk, by=cast.bob, seen=seen(escalation, shown), body=edited(shown, purchase_order="NEW")
    )
    assert (fresh(record).status, fresh(record).step) == ("ready", "check")
    sample_flows.behaviour.clear()
    done = run_again(record)
    assert done.status == "completed"
    assert json.loads(record.results.get(step="check").output)["purchase_order"] == "NEW"
    assert sample_flows.calls["extract"] == 1, "the step that a person corrected does not run again"


def test_a_fix_may_not_change_a_carried_fact(cast):
    record = opened(document())
    sample_flows.behaviour["check"] = lambda given, ctx: 1 / 0
    work()
    run_again(record)
    run_again(record)
    escalation = waiting(record)
    output = '{"number":"OTHER","purchase_order":"PO-7","total":10,"is_large":false}'
    with pytest.raises(ContractBroken) as caught:
        verdicts.fix(escalation_id=escalation.pk, by=cast.bob, seen=seen(escalation), body=output, side=Side.RETURNS)
    assert [v.pointer for v in caught.value.violations] == ["/number"]
    verdicts.fix(
        escalation_id=escalation.pk, by=cast.bob, seen=seen(escalation), body=output.replace("OTHER", "A-1"),
        side=Side.RETURNS,
    )  # fmt: skip
    assert fresh(record).step == "approve"


def test_a_fix_after_the_due_time_is_taken_while_the_record_is_still_open(cast):
    record, escalation = refused(cast)
    Escalation.objects.update(due_at=escalation.opened_at - timedelta(minutes=5))
    body = edited(record.payload, purchase_order="LATE")
    verdicts.fix(escalation_id=escalation.pk, by=cast.bob, seen=seen(escalation), body=body)
    assert run_again(record).status == "completed"


def test_approve_takes_the_output_as_it_was(cast):
    record, escalation = unsure(cast)
    verdicts.approve(escalation_id=escalation.pk, by=cast.bob, seen=seen(escalation, escalation.result.output))
    result = record.results.get(outcome="approved")
    assert (result.output, result.actor) == (escalation.result.output, "reviewer:bob")
    sample_flows.behaviour.clear()
    assert run_again(record).status == "completed"


def test_approve_needs_an_output_that_holds_now(cast):
    record, escalation = unsure(cast, confidence=95)
    for _ in range(2):
        run_again(record)
    escalation = waiting(record)
    assert (escalation.kind, escalation.code) == ("low_confidence", "invalid_confidence")
    record.results.filter(pk=escalation.result_id).update(output="{}")
    with pytest.raises(ContractBroken):
        verdicts.approve(escalation_id=escalation.pk, by=cast.bob, seen=seen(escalation))


def test_approve_is_not_offered_for_a_refusal(cast):
    _, escalation = refused(cast)
    with pytest.raises(TransitionNotAllowed):
        verdicts.approve(escalation_id=escalation.pk, by=cast.bob, seen=seen(escalation))


def test_an_answer_reaches_every_later_try_of_the_step(cast):
    record = opened(document())
    heard = []

    def asks(given, ctx):
        heard.append(ctx.answer)
        if ctx.answer is None:
            raise NeedsHuman("Which?", ["one", "two"])
        return Draft(number="A-1", purchase_order=ctx.answer, total=1)

    sample_flows.behaviour["extract"] = asks
    work()
    escalation = waiting(record)
    with pytest.raises(ReasonRequired):
        verdicts.answer(escalation_id=escalation.pk, by=cast.bob, seen=seen(escalation), text="three")
    verdicts.answer(escalation_id=escalation.pk, by=cast.bob, seen=seen(escalation), text="two")
    run_again(record)
    assert heard == [None, "two"]


def test_the_answer_of_a_planned_step_is_its_output(cast):
    record = opened(document(total=5000))
    work()
    escalation = waiting(record)
    with pytest.raises(ContractBroken):
        verdicts.answer(escalation_id=escalation.pk, by=cast.bob, seen=seen(escalation), text=fresh(record).payload)
    approval = edited(fresh(record).payload, approved_by="bob")
    verdicts.answer(escalation_id=escalation.pk, by=cast.bob, seen=seen(escalation), text=approval)
    assert run_again(record).status == "completed"


def test_retry_is_refused_while_the_input_breaks_its_contract(cast):
    record, escalation = refused(cast)
    with pytest.raises(ContractBroken) as caught:
        verdicts.retry(escalation_id=escalation.pk, by=cast.bob, seen=seen(escalation))
    assert caught.value.violations[0].pointer == "/purchase_order"
    assert fresh(record).status == "escalated"


def test_retry_grants_the_stated_tries_and_no_new_budget(cast):
    record = opened(document())
    sample_flows.behaviour["extract"] = lambda given, ctx: 1 / 0
    for _ in range(3):
        run_again(record)
    escalation = waiting(record)
    verdicts.retry(escalation_id=escalation.pk, by=cast.bob, seen=seen(escalation))
    assert fresh(record).tries_left == 1
    run_again(record)
    assert (waiting(record).pk != escalation.pk, fresh(record).attempt) == (True, 4)


def test_a_rewind_runs_an_earlier_step_on_its_stored_input_and_sets_later_results_aside(cast):
    record, escalation = refused(cast)
    verdicts.retry(escalation_id=escalation.pk, by=cast.bob, seen=seen(escalation), step="extract")
    record = fresh(record)
    assert (record.status, record.step, json.loads(record.payload)) == ("ready", "extract", document(order=""))
    assert record.results.get(step="extract").superseded
    sample_flows.behaviour["extract"] = lambda given, ctx: Result(
        Draft(number="A-1", purchase_order="P", total=1), confidence=0.9
    )
    assert run_again(record).status == "completed"


def test_a_person_s_edit_outlives_a_retry_of_the_step_after_it(cast):
    record, escalation = unsure(cast)
    verdicts.fix(
        escalation_id=escalation.pk, by=cast.bob, seen=seen(escalation),
        body=edited(escalation.result.output, purchase_order="HUMAN"),
    )  # fmt: skip
    sample_flows.behaviour.clear()
    sample_flows.behaviour["check"] = lambda given, ctx: 1 / 0
    run_again(record)
    run_again(record)
    escalation = waiting(record)
    verdicts.retry(escalation_id=escalation.pk, by=cast.bob, seen=seen(escalation))
    handed = []
    sample_flows.behaviour["check"] = lambda given, ctx: handed.append(given.purchase_order) or 1 / 0
    run_again(record)
    assert handed == ["HUMAN"]


def test_close_needs_a_reason_from_the_queue_s_list(cast):
    record, escalation = refused(cast)
    with pytest.raises(ReasonRequired):
        verdicts.close(escalation_id=escalation.pk, by=cast.bob, seen=seen(escalation), reason="")
    verdicts.close(escalation_id=escalation.pk, by=cast.bob, seen=seen(escalation), reason="Duplicate", note="of A-0")
    resolved = Escalation.objects.get(pk=escalation.pk)
    assert (fresh(record).status, resolved.close_reason, resolved.note) == ("closed", "Duplicate", "of A-0")


def test_what_somebody_else_decided_first_stands_and_is_named(cast):
    _, escalation = refused(cast)
    verdicts.close(escalation_id=escalation.pk, by=cast.alice, seen=seen(escalation), reason="Duplicate")
    with pytest.raises(LostRace, match="Alice Ek"):
        verdicts.close(escalation_id=escalation.pk, by=cast.bob, seen=seen(escalation), reason="Duplicate")


def test_a_body_that_changed_meanwhile_is_not_decided_over(cast):
    _, escalation = refused(cast)
    with pytest.raises(BodyChanged):
        verdicts.fix(
            escalation_id=escalation.pk, by=cast.bob, seen=Seen(escalation.version, body_digest("{}")), body='{"a":1}'
        )


def test_who_has_it_keeps_it_until_it_is_taken_over(cast):
    _, escalation = refused(cast)
    escalations.claim(escalation_id=escalation.pk, by=cast.alice)
    version = waiting(escalation.record).version
    with pytest.raises(LostRace):
        verdicts.close(escalation_id=escalation.pk, by=cast.bob, seen=Seen(version), reason="Duplicate")
    escalations.claim(escalation_id=escalation.pk, by=cast.bob, take_over=True)
    assert story(escalation.record)[-1] == ("claim", "escalated")
    verdicts.close(escalation_id=escalation.pk, by=cast.bob, seen=Seen(version + 1), reason="Duplicate")


def test_a_claim_that_ran_out_can_be_taken_by_anybody(cast):
    _, escalation = refused(cast)
    escalations.claim(escalation_id=escalation.pk, by=cast.alice)
    Escalation.objects.update(claimed_until=escalation.opened_at)
    assert escalations.take_next(view=Escalation.objects.all(), by=cast.bob) == escalation.pk


def test_a_viewer_and_an_outsider_decide_nothing(cast):
    _, escalation = refused(cast)
    Membership.objects.create(queue=escalation.queue, user=cast.charlie, role="viewer")
    with pytest.raises(NotAllowed):
        escalations.claim(escalation_id=escalation.pk, by=cast.charlie)


@pytest.mark.parametrize("end", ["completed", "closed"])
def test_an_ended_record_can_be_reopened(cast, end):
    if end == "completed":
        record = opened(document())
        work()
    else:
        record, escalation = refused(cast)
        verdicts.close(escalation_id=escalation.pk, by=cast.bob, seen=seen(escalation), reason="Duplicate")
    reopened = endings.reopen(record=fresh(record), by=cast.bob)
    assert (reopened.kind, reopened.came_from, fresh(record).status) == ("reopened", end, "escalated")
    if end == "completed":
        verdicts.approve(escalation_id=reopened.pk, by=cast.bob, seen=seen(reopened))
        assert fresh(record).status == "completed"
    else:
        body = edited(fresh(record).payload, purchase_order="X")
        verdicts.fix(escalation_id=reopened.pk, by=cast.bob, seen=seen(reopened), body=body)
        assert run_again(record).status == "completed"


def test_a_reopened_record_can_run_again_from_an_earlier_step(cast):
    record = opened(document())
    work()
    reopened = endings.reopen(record=fresh(record), by=cast.bob)
    verdicts.retry(escalation_id=reopened.pk, by=cast.bob, seen=seen(reopened), step="check")
    assert run_again(record).status == "completed"
    assert sample_flows.calls == {"extract": 1, "check": 2, "post": 2}


def test_a_running_record_can_be_closed(cast):
    from handoffs.actions.work import claim_ready

    record = opened(document())
    claim_ready(job_queue="default", actor="worker:t", limit=1)
    endings.close_record(record=fresh(record), by=cast.bob, reason="Duplicate")
    assert (fresh(record).status, record.results.get(attempt=1).outcome) == ("closed", "closed")


@pytest.mark.parametrize("verdict", ["fix", "close"])
def test_undo_brings_back_the_same_escalation_document_step_and_tries(cast, verdict):
    record, escalation = refused(cast)
    before = fresh(record)
    if verdict == "fix":
        body = edited(record.payload, purchase_order="X")
        verdicts.fix(escalation_id=escalation.pk, by=cast.bob, seen=seen(escalation), body=body)
    else:
        verdicts.close(escalation_id=escalation.pk, by=cast.bob, seen=seen(escalation), reason="Duplicate")
    endings.undo(escalation_id=escalation.pk, by=cast.bob)
    after = fresh(record)
    assert (after.status, after.step, after.payload, after.tries_left, after.title) == (
        "escalated", before.step, before.payload, before.tries_left, before.title,
    )  # fmt: skip
    assert (waiting(record).pk, waiting(record).assignee) == (escalation.pk, cast.bob)
    assert not record.results.filter(outcome="fixed", superseded=False).exists()
    assert story(record)[-2:][1] == ("undo", "escalated")


def test_undo_of_a_rewind_brings_the_set_aside_results_back(cast):
    record, escalation = refused(cast)
    verdicts.retry(escalation_id=escalation.pk, by=cast.bob, seen=seen(escalation), step="extract")
    endings.undo(escalation_id=escalation.pk, by=cast.bob)
    assert not record.results.get(step="extract").superseded
    assert fresh(record).step == "check"


def test_undo_is_refused_after_its_time_by_others_and_once_something_followed(cast):
    record, escalation = refused(cast)
    body = edited(record.payload, purchase_order="X")
    verdicts.fix(escalation_id=escalation.pk, by=cast.bob, seen=seen(escalation), body=body)
    with pytest.raises(NotAllowed):
        endings.undo(escalation_id=escalation.pk, by=cast.alice)
    decided = Escalation.objects.get(pk=escalation.pk).resolved_at
    Escalation.objects.update(resolved_at=decided - timedelta(seconds=11))
    with pytest.raises(UndoExpired):
        endings.undo(escalation_id=escalation.pk, by=cast.bob)
    Escalation.objects.update(resolved_at=decided)
    run_again(record)
    with pytest.raises(UndoExpired):
        endings.undo(escalation_id=escalation.pk, by=cast.bob)


def test_nothing_starts_before_the_undo_window_is_over(cast):
    record, escalation = refused(cast)
    body = edited(record.payload, purchase_order="X")
    verdicts.fix(escalation_id=escalation.pk, by=cast.bob, seen=seen(escalation), body=body)
    assert work() == 0
    assert fresh(record).available_at - fresh(record).opened_at >= timedelta(seconds=9)


def test_transfer_assign_snooze_and_release_leave_one_history_row_each(cast):
    record, escalation = refused(cast)
    escalations.assign(escalation_id=escalation.pk, by=cast.alice, to=cast.bob)
    escalations.release(escalation_id=escalation.pk, by=cast.bob)
    escalations.snooze(escalation_id=escalation.pk, by=cast.bob, until=escalation.opened_at + timedelta(days=1))
    assert escalations.take_next(view=Escalation.objects.all(), by=cast.bob) is None
    escalations.transfer(escalation_id=escalation.pk, by=cast.bob, to=cast.queues["ledger"])
    moved = waiting(record)
    assert (moved.queue.slug, moved.assignee, moved.version, fresh(record).queue_id) == (
        "ledger", None, 4, cast.queues["ledger"].pk,
    )  # fmt: skip
    assert [event for event, _ in story(record)][-4:] == ["assign", "release", "snooze", "transfer"]
