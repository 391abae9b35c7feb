"""The history of a record: complete, in order, and not to be changed without a trace."""

from __future__ import annotations

import dataclasses
import random
from datetime import timedelta

import pytest

from handoffs.actions import endings, escalations, repairs, verdicts
from handoffs.actions import work as working
from handoffs.actions.verdicts import Seen
from handoffs.bodies import body_digest
from handoffs.models import Escalation, Record, Transition
from handoffs.models.chain import End, Line, digest, faults
from handoffs.models.history import verify
from handoffs.states import Event
from tests import sample_flows
from tests.cast import document, fresh, opened, story, waiting, work

pytestmark = pytest.mark.django_db


def eventful(cast):
    """A record to which most things happened that can happen."""
    record = opened(document(order=""), external_id="H-1")
    working.claim_ready(job_queue="default", actor="worker:lost", limit=1)
    Record.objects.update(lease_expires_at=record.opened_at)
    repairs.expire_leases()
    due_now(record)
    work()
    escalation = waiting(record)
    escalations.claim(escalation_id=escalation.pk, by=cast.alice)
    escalations.claim(escalation_id=escalation.pk, by=cast.bob, take_over=True)
    escalations.release(escalation_id=escalation.pk, by=cast.bob)
    escalations.assign(escalation_id=escalation.pk, by=cast.alice, to=cast.bob)
    escalations.snooze(escalation_id=escalation.pk, by=cast.bob, until=record.opened_at + timedelta(days=1))
    escalations.transfer(escalation_id=escalation.pk, by=cast.bob, to=cast.queues["ledger"])
    mended = fresh(record).payload.replace("null", '"PO-1"')
    for _ in range(2):
        verdicts.fix(escalation_id=escalation.pk, by=cast.bob, seen=Seen(waiting(record).version), body=mended)
        endings.undo(escalation_id=escalation.pk, by=cast.bob)
    verdicts.fix(escalation_id=escalation.pk, by=cast.bob, seen=Seen(waiting(record).version), body=mended)
    due_now(record)
    work()
    reopened = endings.reopen(record=fresh(record), by=cast.bob)
    verdicts.close(escalation_id=reopened.pk, by=cast.bob, seen=Seen(0), reason="Duplicate", note="of H-0")
    return fresh(record)


def due_now(record):
    Record.objects.filter(pk=record.pk).update(available_at=record.opened_at)


def lines(record):
    rows = record.transitions.order_by("seq").values_list(*Line.__slots__)
    return [Line(*row) for row in rows]


def end(record):
    return End(record.seq, record.head, record.status, record.attempt)


def test_the_history_of_a_record_to_which_everything_happened_holds(cast):
    record = eventful(cast)
    assert verify(record) == []
    assert [line.seq for line in lines(record)] == list(range(1, record.seq + 1))
    events = {event for event, _ in story(record)}
    elsewhere = {"skip", "ask", "strand", "approve", "answer", "escalate", "retry", "purge", "late"}
    assert events >= {*Event} - elsewhere


def test_every_record_of_a_whole_run_holds(cast):
    bodies = [document(f"A-{i}", order="" if i % 3 == 0 else "PO", total=5000 if i % 4 == 0 else 10) for i in range(12)]
    records = [opened(body) for body in [*bodies, {"text": 5}]]
    sample_flows.behaviour["post"] = lambda given, ctx: 1 / 0
    work()
    assert [verify(fresh(r)) for r in records] == [[]] * len(records)


def test_the_digest_in_the_history_is_that_of_the_body_and_says_nothing_without_the_salt(cast):
    record = opened(document())
    first = record.transitions.get(seq=1)
    assert first.digest == digest(record.salt, record.payload)
    assert first.digest not in {body_digest(record.payload), digest("", record.payload)}


def test_no_body_and_no_free_text_stands_in_the_history(cast):
    record = eventful(cast)
    told = " ".join(str(value) for row in record.transitions.values_list() for value in row)
    for secret in ("PO-1", "of H-0", "Duplicate", "purchase_order"):
        assert secret not in told


# --- whoever changes it is found -------------------------------------------------------------------------------------

OTHER = {
    "record_id": lambda v: v + 1,
    "seq": lambda v: v + 1,
    "attempt": lambda v: v + 1,
    "happened_at": lambda v: v + timedelta(microseconds=1),
}


@pytest.mark.parametrize("name", Line.__slots__)
def test_an_edit_of_any_column_of_any_row_is_found(cast, name):
    record = eventful(cast)
    told = lines(record)
    for place, line in enumerate(told):
        value = OTHER.get(name, lambda v: f"{v}x")(getattr(line, name))
        edited = [*told[:place], dataclasses.replace(line, **{name: value}), *told[place + 1 :]]
        assert faults(edited, end(record)), f"{name} of row {line.seq}"


def test_a_removed_a_swapped_and_an_added_row_is_found(cast):
    record = eventful(cast)
    told = lines(record)
    for place in range(len(told)):
        assert faults(told[:place] + told[place + 1 :], end(record))
        assert faults([*told[: place + 1], *told[place:]], end(record))
        if place:
            swapped = [*told[: place - 1], told[place], told[place - 1], *told[place + 1 :]]
            assert faults(swapped, end(record))
    assert faults([], end(record))


def test_swapped_rows_whose_numbers_were_mended_are_found(cast):
    record = eventful(cast)
    told = lines(record)
    one, two = told[3], told[4]
    told[3:5] = [dataclasses.replace(two, seq=4), dataclasses.replace(one, seq=5)]
    assert faults(told, end(record))


def test_a_history_cut_at_its_end_is_found_by_the_record_s_own_row(cast):
    record = eventful(cast)
    found = faults(lines(record)[:-1], end(record))
    assert any("seq" in sentence for sentence in found)
    assert any("head" in sentence for sentence in found)


@pytest.mark.parametrize(("name", "value"), [("status", "ready"), ("attempt", 9), ("seq", 3), ("head", "")])
def test_a_record_s_row_that_its_history_does_not_tell_is_found(cast, name, value):
    record = eventful(cast)
    setattr(record, name, value)
    assert len(verify(record)) == 1


def test_a_row_of_another_record_in_its_place_is_found(cast):
    one, two = opened(document("A-1")), opened(document("A-1"))
    assert faults(lines(two), end(one))


def test_two_hundred_random_changes_are_all_found(cast):
    record = eventful(cast)
    told, chance = lines(record), random.Random(7)
    for _ in range(200):
        mutated = list(told)
        place = chance.randrange(len(told))
        match chance.randrange(3):
            case 0:
                del mutated[place]
            case 1:
                other = chance.choice([p for p in range(len(told)) if p != place])
                mutated[place], mutated[other] = mutated[other], mutated[place]
            case 2:
                name = chance.choice(Line.__slots__)
                value = OTHER.get(name, lambda v: f"{v}x")(getattr(told[place], name))
                mutated[place] = dataclasses.replace(told[place], **{name: value})
        assert faults(mutated, end(record))


def test_an_escalation_is_unresolved_exactly_while_its_record_is_escalated(cast):
    record = eventful(cast)
    assert not Escalation.objects.unresolved().filter(record=record).exists()
    endings.reopen(record=record, by=cast.bob)
    assert Escalation.objects.unresolved().filter(record=record).count() == 1


def test_times_never_run_backwards_within_a_record(cast):
    record = eventful(cast)
    times = list(Transition.objects.filter(record=record).order_by("seq").values_list("happened_at", flat=True))
    assert times == sorted(times)
