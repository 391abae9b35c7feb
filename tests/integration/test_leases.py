"""Leases are renewed while a worker is busy, whatever else it holds, and ended by a process that knows the flow."""

from __future__ import annotations

import time
from datetime import timedelta

import psycopg
import pytest
from django.db import connection

from handoffs import flows
from handoffs.actions import repairs, work
from handoffs.flows import Flow, Step
from handoffs.leases import Leases
from handoffs.models import Record, sql
from tests import sample_flows, workers
from tests.cast import document, fresh, opened, story, waiting
from tests.cast import work as work_off
from tests.sample_flows import Class, Draft, Result, Ticket
from tests.soundness import assert_sound

LONG_AGO = "2026-01-01T00:00Z"


def classify(given, context):
    return Class(label="x")


def quick_flow(name, lease):
    step = Step("classify", receives=Ticket, returns=Class, run=classify, timeout=lease / 2, lease=lease)
    return flows.register(Flow(name, intake=Ticket, escalate_to="ticket-questions", steps=[step]))


def start(limit=10):
    return work.claim_ready(job_queue="default", actor="worker:t", limit=limit).started


@pytest.fixture
def leases():
    held = Leases()
    yield held
    held.end()


def is_renewed(record, began):
    return fresh(record).lease_expires_at > began + timedelta(seconds=0.5)


@pytest.mark.django_db(transaction=True)
def test_a_short_lease_is_renewed_in_time_beside_a_long_one(cast, leases):
    quick_flow("slow", 600)
    quick_flow("quick", 1.5)
    records = [opened({"subject": "s"}, flow=name) for name in ("slow", "quick")]
    for started in start():
        leases.hold(started)
    first = fresh(records[1]).lease_expires_at
    workers.wait_for(lambda: is_renewed(records[1], first), seconds=10)
    assert fresh(records[0]).lease_expires_at - sql.now() > timedelta(seconds=500)


@pytest.mark.django_db(transaction=True)
def test_what_was_let_go_is_not_renewed(cast, leases):
    quick_flow("quick", 1.5)
    record = opened({"subject": "s"}, flow="quick")
    [started] = start()
    leases.hold(started)
    leases.let_go(record.pk)
    before = fresh(record).lease_expires_at
    time.sleep(1.2)
    assert fresh(record).lease_expires_at == before


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_leases_are_renewed_again_after_the_database_dropped_the_connection(cast, leases):
    quick_flow("quick", 3)
    record = opened({"subject": "s"}, flow="quick")
    [started] = start()
    leases.hold(started)
    first = fresh(record).lease_expires_at
    workers.wait_for(lambda: is_renewed(record, first), seconds=10)
    connection.close()
    drop_connections()
    second = fresh(record).lease_expires_at
    workers.wait_for(lambda: is_renewed(record, second), seconds=10)


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_work_that_is_done_is_committed_although_the_database_dropped_the_connection(cast):
    record = opened(document())

    def drop_everybody(given, context):
        drop_connections()
        number, order, total = given.text.split(",")
        return Result(Draft(number=number, purchase_order=order, total=int(total)), confidence=0.9)

    sample_flows.behaviour["extract"] = drop_everybody
    work_off()
    assert (fresh(record).status, fresh(record).attempt) == ("completed", 3)
    assert not record.results.filter(outcome="late").exists()
    assert_sound()


def drop_connections():
    """As a restart of the database does, through a connection of its own."""
    at = connection.get_connection_params()
    with psycopg.connect(**{k: at[k] for k in ("host", "port", "user", "dbname")}, autocommit=True) as own:
        own.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


@pytest.mark.django_db
def test_a_running_record_whose_step_is_gone_is_ready_again_and_then_stranded(cast):
    record = opened(document())
    assert len(start()) == 1
    Record.objects.update(step="gone", lease_expires_at=LONG_AGO)
    assert repairs.expire_leases() == 1
    assert (fresh(record).status, fresh(record).tries_left) == ("ready", 3)
    Record.objects.update(available_at=LONG_AGO)
    assert repairs.strand_lost() == 1
    assert waiting(record).kind == "stranded"
    assert [event for event, _ in story(record)] == ["open", "start", "release", "strand"]
    assert_sound()


@pytest.mark.django_db
def test_records_of_a_flow_that_this_process_does_not_know_keep_nobody_else_waiting(cast, monkeypatch):
    monkeypatch.setattr(repairs, "BATCH", 2)
    records = [opened(document(f"A-{n}")) for n in range(4)]
    assert len(start()) == 4
    strange = [record.pk for record in records[:3]]
    Record.objects.filter(pk__in=strange).update(flow="of_another_process")
    Record.objects.update(lease_expires_at=LONG_AGO)
    assert repairs.expire_leases() == 1
    assert {fresh(record).status for record in records[:3]} == {"running"}
    assert fresh(records[3]).status == "ready"


@pytest.mark.django_db
def test_a_claim_tells_of_what_it_left_so_that_an_idle_worker_is_called(cast):
    for number in range(3):
        opened(document(f"A-{number}"))
    Record.objects.filter(pk=Record.objects.order_by("pk").first().pk).update(alone=True)
    alone = work.claim_ready(job_queue="default", actor="worker:t", limit=10)
    assert (len(alone.started), alone.more) == (1, True)
    rest = work.claim_ready(job_queue="default", actor="worker:t", limit=10)
    assert (len(rest.started), rest.more) == (2, False)
