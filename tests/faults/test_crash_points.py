"""A process killed at each named point: afterwards all rows of a move are there or none, and the record goes on."""

from __future__ import annotations

import json

import pytest
import redis

from handoffs import jobs
from handoffs.actions import verdicts
from handoffs.actions.records import Opening, open_records
from handoffs.models import Escalation, Record, Transition
from handoffs.models.history import verify
from handoffs.reconcile import reconcile
from reviewqueue import policy
from tests import servers
from tests.faults import forks
from tests.faults.flows import parcels
from tests.soundness import assert_sound

pytestmark = [pytest.mark.faults, pytest.mark.django_db(transaction=True)]

LABELLED = '{"number":1,"broken":true,"deadly":false,"seconds":0.0,"grams":7}'


def killed(deed, *, at):
    assert forks.is_killed(forks.run(deed, crashpoint=at)), f"{at} was not reached"
    assert_sound()


def serve():
    jobs.drain("default", seconds=30)


def parcels_in(*bodies):
    openings = [Opening(json.dumps(body).encode(), external_id=f"P-{body['number']}") for body in bodies]
    found = open_records(flow=parcels, openings=openings, actor="agent:test")
    return [Record.objects.get(pk=one.record_id) for one in found]


def one_of_each():
    """One that completes, and one that stops at its second step."""
    return parcels_in({"number": 1}, {"number": 2, "broken": True})


def let_leases_run_out():
    Record.objects.filter(status="running").update(lease_expires_at="2026-01-01T00:00Z")
    reconcile()
    Record.objects.filter(status="ready").update(available_at="2026-01-01T00:00Z")


def to_rest():
    let_leases_run_out()
    jobs.drain("default", seconds=60)


def ends(record):
    row = Record.objects.get(pk=record.pk)
    return row.status, row.step, row.tries_left


def events(record):
    return list(Transition.objects.filter(record=record).order_by("seq").values_list("event", flat=True))


CLAIM_AND_COMMIT = [
    ("half_written", 0),
    ("half_written:2", 1),
    ("in_claim", 0),
    ("after_claim", 1),
    ("mid_work", 1),
    ("mid_work:2", 1),
    ("before_commit", 1),
    ("in_commit", 1),
    ("after_commit", 1),
    ("mid_work:3", 1),
    ("before_commit:2", 1),
    ("in_commit:2", 1),
]


@pytest.mark.parametrize(("point", "attempts"), CLAIM_AND_COMMIT)
def test_a_worker_killed_in_a_claim_of_two_leaves_both_rows_or_none_and_costs_no_try(parcel_queue, point, attempts):
    good, broken = one_of_each()
    killed(serve, at=point)
    assert {r.attempt for r in Record.objects.all()} <= {attempts, attempts + 1, attempts + 2}
    to_rest()
    assert ends(good) == ("completed", "ship", 2)
    assert ends(broken) == ("escalated", "label", 3)
    assert Escalation.objects.get().record_id == broken.pk
    assert "retry" not in events(good) + events(broken), "a try given back is no retry"
    assert events(good).count("start") - 3 == events(good).count("release") == (0 if attempts == 0 else 1)
    assert [verify(record) for record in Record.objects.all()] == [[], []]
    assert_sound()


def test_the_last_of_a_claim_that_begins_its_next_step_alone_counts_as_alone(parcel_queue):
    good, broken = one_of_each()
    killed(serve, at="after_commit:2")
    to_rest()
    assert ends(good) == ("completed", "ship", 1)
    assert (events(good).count("retry"), events(broken).count("retry")) == (1, 0)


@pytest.mark.parametrize("point", ["after_claim", "mid_work", "before_commit", "in_commit", "mid_work:2"])
def test_a_worker_killed_over_a_record_claimed_alone_uses_one_try(parcel_queue, point):
    [record] = parcels_in({"number": 1})
    killed(serve, at=point)
    to_rest()
    assert ends(record)[:2] == ("completed", "ship")
    assert events(record).count("retry") == 1
    assert record.results.filter(outcome="lease_lost").count() == 1
    assert_sound()


@pytest.mark.parametrize("point", ["after_dequeue", "half_written", "in_claim"])
def test_a_worker_killed_before_its_claim_was_written_uses_no_try(parcel_queue, point):
    [record] = parcels_in({"number": 1})
    killed(lambda: jobs.serve("default"), at=point)
    assert ends(record) == ("ready", "weigh", 3)
    to_rest()
    assert events(record) == ["open", "start", "accept", "start", "accept", "start", "finish"]


@pytest.mark.parametrize("point", ["half_written", "in_reconcile"])
def test_a_reconciler_killed_in_its_repair_leaves_it_to_the_next_round(parcel_queue, point):
    records = one_of_each()
    killed(serve, at="mid_work")
    Record.objects.filter(status="running").update(lease_expires_at="2026-01-01T00:00Z")
    killed(reconcile, at=point)
    assert {ends(record)[0] for record in records} == {"running"}
    to_rest()
    assert [ends(record)[0] for record in records] == ["completed", "escalated"]
    assert_sound()


@pytest.mark.parametrize("point", ["half_written", "in_verdict"])
@pytest.mark.parametrize(("verb", "status"), [("fix", "ready"), ("close", "closed")])
def test_a_verdict_killed_in_its_transaction_was_never_given(parcel_queue, point, verb, status):
    [record] = parcels_in({"number": 1, "broken": True})
    serve()
    escalation = Escalation.objects.get()

    def decide():
        how = {"body": LABELLED} if verb == "fix" else {"reason": "Duplicate"}
        seen = verdicts.Seen(0)
        getattr(verdicts, verb)(escalation_id=escalation.pk, by=parcel_queue.owner, seen=seen, **how)

    killed(decide, at=point)
    assert (ends(record)[0], Escalation.objects.get().state) == ("escalated", "open")
    decide()
    assert (ends(record)[0], Escalation.objects.get().state) == (status, "resolved")
    assert_sound()


@pytest.mark.parametrize("point", ["half_written", "in_open"])
def test_records_whose_opening_was_killed_are_not_there_and_can_be_opened(parcel_queue, point):
    def take_in():
        parcels_in({"number": 1}, {"number": "two"})

    killed(take_in, at=point)
    assert not Record.objects.exists()
    take_in()
    assert sorted(Record.objects.values_list("status", flat=True)) == ["escalated", "ready"]
    assert_sound()


@pytest.mark.redis
def test_a_record_whose_bell_was_never_rung_is_rung_for_by_the_reconciler(parcel_queue, settings):
    with servers.redis() as server:
        settings.REDIS_URL = server.url
        settings.RQ_QUEUES = policy.job_queues(server.url, ["default"])
        bells = redis.Redis.from_url(server.url)
        killed(lambda: parcels_in({"number": 1}), at="before_bell")
        assert (Record.objects.count(), bells.llen("rq:queue:default")) == (1, 0)
        reconcile()
        assert bells.llen("rq:queue:default") == 1
        bells.close()


def test_a_step_that_kills_its_own_process_costs_its_neighbours_nothing(parcel_queue):
    """Exactly the cap's attempts for the deadly one, one escalation, no neighbour escalated or short of a try."""
    deadly, *neighbours = parcels_in({"number": 0, "deadly": True}, *({"number": n} for n in range(1, 20)))
    deaths = 0
    while forks.is_killed(forks.run(serve)):
        deaths += 1
        assert deaths < 10
        let_leases_run_out()
    assert deaths == 4, "once among many, then three times alone"
    let_leases_run_out()
    escalation = Escalation.objects.get()
    assert (escalation.record_id, escalation.kind, escalation.code) == (deadly.pk, "failed", "lease_lost")
    assert "no sign of it since" in escalation.reason
    assert events(deadly).count("retry") == 2
    for neighbour in neighbours:
        assert ends(neighbour) == ("completed", "ship", 2)
        assert "retry" not in events(neighbour)
    assert_sound()
