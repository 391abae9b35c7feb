"""Many at once: one wins, the others are told so, nobody waits in a circle and nothing is half done."""

from __future__ import annotations

import os
from collections import Counter
from datetime import timedelta
from functools import partial

import pytest
from django.contrib.auth import get_user_model

from handoffs.actions import endings, escalations, records, repairs, verdicts, work
from handoffs.actions.plans import Plan
from handoffs.actions.starts import Claimer
from handoffs.actions.verdicts import Seen
from handoffs.actions.work import Failure, Finished
from handoffs.actions.writing import carry_out
from handoffs.engine import Delivery
from handoffs.errors import HandoffsError, LostRace, TransitionNotAllowed, UndoExpired
from handoffs.flows import get_flow
from handoffs.models import Alert, Comment, Escalation, Membership, Record, StepResult, sql
from handoffs.models.moves import lock
from handoffs.states import Event, Status
from tests.cast import document, fresh, opened, story, waiting
from tests.cast import work as work_off
from tests.racing import race, refusals, winners
from tests.soundness import assert_sound

pytestmark = pytest.mark.django_db(transaction=True)
CLAIMER = Claimer("worker:racer", lambda step: False)
DRAFT = '{"number":"A-1","purchase_order":"P","total":10}'
ROUNDS = int(os.environ.get("HANDOFFS_RACE_ROUNDS", "12"))


def start(actor="worker:racer", limit=1):
    return work.claim_ready(job_queue="default", actor=actor, limit=limit).started


def deliver(started, output=DRAFT):
    return work.commit([Finished(started.record_id, started.attempt, Delivery(output, 0.95), started.body)], CLAIMER)


def in_one_second(record):
    Record.objects.filter(pk=record.pk).update(available_at=record.opened_at)


def refused(number="A-1"):
    record = opened(document(number, order=""))
    work_off()
    return fresh(record), waiting(record)


def close(escalation, person):
    seen = Seen(escalation.version)
    return partial(verdicts.close, escalation_id=escalation.pk, by=person, seen=seen, reason="Duplicate")


def fix(record, escalation, person, order="PO-1"):
    body = record.payload.replace("null", f'"{order}"')
    return partial(verdicts.fix, escalation_id=escalation.pk, by=person, seen=Seen(escalation.version), body=body)


def claim(escalation, person, **how):
    return partial(escalations.claim, escalation_id=escalation.pk, by=person, **how)


# --- starts ----------------------------------------------------------------------------------------------------------


def test_two_starters_of_one_record_have_one_winner_in_two_hundred_rounds(cast):
    for number in range(200):
        record = opened(document(f"A-{number}"))
        begun = race([partial(start, "worker:one"), partial(start, "worker:two")])
        assert sorted(map(len, begun)) == [0, 1], f"round {number}"
        assert (fresh(record).attempt, fresh(record).status) == (1, "running")
    assert_sound()


def test_two_starters_that_saw_the_same_row_have_one_winner(cast):
    """The compare-and-set alone, without the lock that keeps most racers from seeing the same row."""
    for number in range(ROUNDS):
        record = opened(document(f"A-{number}"))
        [row] = lock([record.pk]).values()

        def begin(row=row):
            plan = Plan(row, get_flow(row.flow), sql.now(), "worker:racer")
            plan.happen(Event.START, Status.RUNNING)
            plan.set(attempt=row.attempt + 1, started_at=plan.at, lease_expires_at=plan.at + timedelta(hours=1))
            return len(carry_out([plan], plan.at))

        assert sorted(race([begin] * 4)) == [0, 0, 0, 1]
        assert story(record) == [("open", "ready"), ("start", "running")]


def test_four_that_claim_two_hundred_records_start_each_once(cast):
    flow = get_flow("orders")
    openings = [records.Opening(f'{{"text":"A-{n},P,1"}}'.encode()) for n in range(200)]
    records.open_records(flow=flow, openings=openings, actor="agent:echo")

    def take_all(name):
        taken = []
        while batch := start(name, limit=7):
            taken += [(one.record_id, one.attempt) for one in batch]
        return taken

    taken = race([partial(take_all, f"worker:{n}") for n in range(4)])
    started = Counter(one for each in taken for one in each)
    assert len(started) == 200
    assert set(started.values()) == {1}
    assert {attempt for _, attempt in started} == {1}
    assert_sound()


def test_the_same_body_sent_by_eight_at_once_is_one_record(cast):
    flow = get_flow("orders")
    for number in range(ROUNDS):
        opening = records.Opening(f'{{"text":"A-{number},P,1"}}'.encode(), external_id=f"X-{number}")
        answers = race([partial(records.open_record, flow=flow, opening=opening, actor="agent:echo")] * 8)
        assert sum(answer.created for answer in answers) == 1
        assert len({answer.record_id for answer in answers}) == 1
    assert_sound()


def test_of_other_bodies_under_one_external_id_one_is_taken_and_the_others_are_told(cast):
    flow = get_flow("orders")
    for number in range(ROUNDS):
        openings = [records.Opening(f'{{"text":"A-{n},P,1"}}'.encode(), f"X-{number}") for n in range(4)]
        found = race([partial(records.open_record, flow=flow, opening=o, actor="agent:echo") for o in openings])
        assert len(winners(found)) == 1
    assert_sound()


def test_batches_with_the_same_ids_in_other_orders_do_not_wait_in_a_circle(cast):
    flow = get_flow("orders")
    for number in range(ROUNDS):
        openings = [records.Opening(f'{{"text":"A-{n},P,1"}}'.encode(), f"X-{number}-{n}") for n in range(20)]
        orders = [openings, openings[::-1], openings[10:] + openings[:10]]
        race([partial(records.open_records, flow=flow, openings=order, actor="agent:echo") for order in orders])
    assert Record.objects.count() == 20 * ROUNDS


# --- the end of an attempt -------------------------------------------------------------------------------------------


def test_the_same_result_committed_by_many_at_once_is_taken_once(cast):
    for number in range(ROUNDS):
        record = opened(document("A-1"))
        started = start()[0]
        race([partial(deliver, started)] * 3)
        taken = StepResult.objects.filter(record=record, step="extract")
        assert sorted(taken.values_list("outcome", flat=True)) == ["accepted", "late", "late"], f"round {number}"
        assert (fresh(record).status, fresh(record).step) == ("ready", "check")
        drop(record)
    assert_sound()


def test_a_commit_a_close_and_a_takeover_at_once_leave_one_of_them_done(cast):
    for number in range(ROUNDS):
        record = opened(document("A-1"))
        started = start()[0]
        Record.objects.filter(pk=record.pk).update(lease_expires_at=record.opened_at)
        race(
            [
                partial(deliver, started),
                partial(endings.close_record, record=record, by=cast.bob, reason="Duplicate"),
                repairs.expire_leases,
            ]
        )
        first = record.results.filter(attempt=1).exclude(outcome="late").get()
        in_time = first.outcome == "accepted"
        assert fresh(record).step == ("check" if in_time else "extract"), f"round {number}"
        drop(record)
    assert_sound()


def test_a_worker_that_comes_back_after_a_takeover_does_not_disturb_the_new_one(cast):
    for _ in range(ROUNDS):
        record = opened(document("A-1"))
        old = start()[0]
        Record.objects.filter(pk=record.pk).update(lease_expires_at=record.opened_at)
        repairs.expire_leases()
        in_one_second(record)
        new = start()[0]
        race([partial(deliver, old, DRAFT.replace("P", "OLD")), partial(deliver, new)])
        assert fresh(record).payload == DRAFT
        assert record.results.get(attempt=1, outcome="late").output != DRAFT
        drop(record)
    assert_sound()


def test_renewing_leases_while_they_are_ended_and_committed_waits_in_no_circle(cast):
    for _ in range(5):
        started = [start()[0] for _ in range(12) if opened(document())]
        attempts = {one.record_id: one.attempt for one in started}
        backwards = dict(reversed(attempts.items()))
        Record.objects.filter(pk__in=list(attempts)[:6]).update(
            lease_expires_at=fresh(Record(pk=max(attempts))).opened_at
        )
        finished = [Finished(one.record_id, one.attempt, Delivery(DRAFT, 0.95), one.body) for one in started]
        race(
            [
                partial(work.renew, attempts),
                partial(work.renew, backwards),
                partial(work.commit, finished[::-1], CLAIMER),
                partial(work.commit, finished, CLAIMER),
                repairs.expire_leases,
            ]
        )
        assert not Record.objects.filter(pk__in=attempts, status="running").exists()
    assert_sound()


def test_four_reconcilers_end_a_lost_lease_once_and_open_one_alert(cast):
    for _ in range(5):
        lost = [opened(document(f"A-{n}")) for n in range(20)]
        assert len(start(limit=20)) == 20
        Record.objects.filter(status="running").update(lease_expires_at=lost[0].opened_at)
        assert sum(race([repairs.expire_leases] * 4)) == 20
        assert set(Record.objects.filter(pk__in=[r.pk for r in lost]).values_list("tries_left", flat=True)) == {3}
        Record.objects.filter(status="ready").update(available_at=lost[0].opened_at - timedelta(days=1))
        race([repairs.watch_starts] * 4)
        assert Alert.objects.standing().count() == 1
        for record in lost:
            drop(record)
    assert_sound()


def drop(record):
    """Take a record out of the way of the next round."""
    Record.objects.filter(pk=record.pk).update(job_queue="")


# --- decisions -------------------------------------------------------------------------------------------------------


def test_of_a_fix_and_a_close_one_is_done_and_the_other_is_told(cast):
    for number in range(ROUNDS):
        record, escalation = refused(f"A-{number}")
        found = race([fix(record, escalation, cast.alice), close(escalation, cast.bob)])
        [won] = winners(found)
        assert refusals(found) == {LostRace}
        assert Escalation.objects.get(pk=escalation.pk).resolution == ("fix", "close")[won]
        assert fresh(record).status == ("ready", "closed")[won]
        drop(record)
    assert_sound()


def test_four_who_decide_the_same_at_once_decide_once(cast):
    for number in range(ROUNDS):
        _, escalation = refused(f"A-{number}")
        found = race([close(escalation, cast.alice), close(escalation, cast.bob)] * 2)
        assert len(winners(found)) == 1
        assert Escalation.objects.get(pk=escalation.pk).version == 1
    assert_sound()


def test_of_two_who_claim_one_has_it(cast):
    for number in range(ROUNDS):
        record, escalation = refused(f"A-{number}")
        found = race([claim(escalation, cast.alice), claim(escalation, cast.bob)])
        [won] = winners(found)
        assert waiting(record).assignee == (cast.alice, cast.bob)[won]
        assert [event for event, _ in story(record)].count("claim") == 1
    assert_sound()


def test_claims_takeovers_releases_comments_and_looks_at_once_wait_in_no_circle(cast):
    record, escalation = refused()
    for _ in range(ROUNDS):
        Escalation.objects.update(state="claimed", assignee=cast.bob, assigned=False)
        race(
            [
                claim(escalation, cast.alice, take_over=True),
                partial(escalations.release, escalation_id=escalation.pk, by=cast.bob),
                partial(escalations.comment, record=record, by=cast.bob, text="one"),
                partial(escalations.comment, record=record, by=cast.bob, text="two"),
                partial(escalations.looked_at, escalations=[escalation.pk], by=cast.bob),
                partial(escalations.transfer, escalation_id=escalation.pk, by=cast.alice, to=escalation.queue),
            ]
        )
    assert Comment.objects.count() == 2 * ROUNDS
    assert_sound()


def test_lists_looked_at_in_other_orders_do_not_wait_in_a_circle(cast):
    found = [refused(f"A-{number}")[1].pk for number in range(12)]
    for _ in range(ROUNDS):
        Escalation.objects.update(first_seen_at=None, state="claimed", assignee=cast.bob)
        race([partial(escalations.looked_at, escalations=order, by=cast.bob) for order in (found, found[::-1])] * 2)


def test_twelve_who_take_the_next_never_meet(cast):
    people = [get_user_model().objects.create_user(f"reviewer{n}") for n in range(12)]
    for person in people:
        Membership.objects.create(queue=cast.queues["order-exceptions"], user=person)
    wanted = {refused(f"A-{number}")[1].pk for number in range(48)}

    def take(person):
        taken = []
        while (found := escalations.take_next(view=Escalation.objects.all(), by=person)) is not None:
            taken.append(found)
        return taken

    taken = race([partial(take, person) for person in people])
    everything = [pk for each in taken for pk in each]
    assert sorted(everything) == sorted(wanted)
    assert {e.pk: e.assignee for e in Escalation.objects.all()} == {
        pk: person for person, each in zip(people, taken, strict=True) for pk in each
    }
    assert_sound()


def test_take_next_beside_verdicts_takes_only_what_is_still_open(cast):
    for number in range(5):
        found = [refused(f"A-{number}-{n}") for n in range(6)]

        def take(person):
            return [escalations.take_next(view=Escalation.objects.all(), by=person) for _ in range(3)]

        results = race([partial(take, cast.alice), partial(take, cast.dora), *(close(e, cast.bob) for _, e in found)])
        taken = [pk for each in results[:2] for pk in each if pk]
        assert len(taken) == len(set(taken))
        claimed = set(Escalation.objects.filter(state="claimed").values_list("pk", flat=True))
        assert claimed <= set(taken)
        Escalation.objects.filter(state="claimed").update(
            state="open", assignee=None, snoozed_until="2999-01-01T00:00Z"
        )
    assert_sound()


def test_an_undo_and_a_start_at_once_leave_one_of_them_done(cast):
    for number in range(ROUNDS):
        record, escalation = refused(f"A-{number}")
        fix(record, escalation, cast.bob)()
        in_one_second(record)
        found = race([partial(endings.undo, escalation_id=escalation.pk, by=cast.bob), start])
        undone = not isinstance(found[0], HandoffsError)
        assert (len(found[1]), fresh(record).status) == ((0, "escalated") if undone else (1, "running"))
        if not undone:
            assert isinstance(found[0], UndoExpired | LostRace)
    assert_sound()


def test_two_who_reopen_and_one_who_undoes_at_once(cast):
    for number in range(ROUNDS):
        record, escalation = refused(f"A-{number}")
        close(escalation, cast.bob)()
        found = race(
            [
                partial(endings.reopen, record=record, by=cast.alice),
                partial(endings.reopen, record=record, by=cast.bob),
                partial(endings.undo, escalation_id=escalation.pk, by=cast.bob),
            ]
        )
        assert len(winners(found)) == 1
        assert refusals(found) <= {TransitionNotAllowed, UndoExpired, LostRace}
    assert_sound()


# --- who acts on what has moved on -----------------------------------------------------------------------------------


def stale_plan(row):
    plan = Plan(row, get_flow(row.flow), sql.now(), "reviewer:slow")
    plan.happen(Event.CLOSE, Status.CLOSED)
    return plan


def test_a_row_that_went_away_and_came_back_refuses_who_saw_it_before(cast):
    """Same status, same attempt: only the number of the last history row tells the two apart."""
    record, escalation = refused()
    [before] = lock([record.pk]).values()
    fix(record, escalation, cast.bob)()
    endings.undo(escalation_id=escalation.pk, by=cast.bob)
    [after] = lock([record.pk]).values()
    assert (after.status, after.attempt, after.payload) == (before.status, before.attempt, before.payload)
    assert carry_out([stale_plan(before)], sql.now()) == []
    assert fresh(record).status == "escalated"
    assert_sound()


def test_a_released_attempt_that_started_anew_refuses_who_saw_it_before(cast):
    record = opened(document())
    started = start()[0]
    [before] = lock([record.pk]).values()
    work.commit([Finished(record.pk, started.attempt, Failure("stopped", "", released=True))], CLAIMER)
    again = start()[0]
    assert carry_out([stale_plan(before)], sql.now()) == []
    assert work.renew({record.pk: started.attempt}) == {}
    assert work.renew({record.pk: again.attempt}).keys() == {record.pk}


def test_a_stale_neighbour_does_not_hold_up_the_others_of_its_batch(cast):
    rows = list(lock([opened(document(f"A-{n}")).pk for n in range(3)]).values())
    endings.close_record(record=Record.objects.get(pk=rows[1].id), by=cast.bob, reason="Duplicate")
    won = carry_out([stale_plan(row) for row in rows], sql.now())
    assert [plan.row.id for plan in won] == [rows[0].id, rows[2].id]
    assert_sound()


def test_a_result_that_comes_twice_in_one_commit_is_taken_once(cast):
    record = opened(document())
    started = start()[0]
    delivered = [Delivery(DRAFT, 0.95), Delivery(DRAFT.replace("P", "Q"), 0.95)]
    work.commit([Finished(record.pk, started.attempt, one, started.body) for one in delivered], CLAIMER)
    assert fresh(record).payload == DRAFT
    assert record.results.filter(step="extract", outcome="accepted").count() == 1
    assert record.results.filter(outcome="late").count() == 1
    assert_sound()
