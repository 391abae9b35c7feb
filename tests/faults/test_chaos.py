"""500 records, with workers killed in mid-step and the job queue server wiped: they end as if nothing had happened."""

from __future__ import annotations

import json
import os
import time
from contextlib import closing

import pytest
import redis
from django.db import connection

from handoffs import jobs
from handoffs.actions.records import Opening, open_records
from handoffs.models import Escalation, Record
from handoffs.models.history import verify
from handoffs.reconcile import reconcile
from tests import servers, workers
from tests.faults import forks
from tests.faults.flows import parcels
from tests.faults.killers import Killer
from tests.soundness import assert_sound

pytestmark = [pytest.mark.faults, pytest.mark.redis, pytest.mark.django_db(transaction=True)]

COUNT, DEADLY, KILLS = 500, 250, 12
PATIENCE = 240.0  # seconds
LONG_AGO = "2026-01-01T00:00Z"
WORKER = {"HANDOFFS_FLOWS": "tests.faults.flows", "HANDOFFS_PERIOD": "0.5", "HANDOFFS_BATCH": "20"}

# Each try that was lost with its lease, with the number of starts in the same moment by the same worker.
LOST_TRIES = """
    SELECT t.record_id, t.step, t.event, count(n.id) FROM handoffs_transition t
    JOIN handoffs_transition s ON s.record_id = t.record_id AND s.attempt = t.attempt AND s.event = 'start'
    JOIN handoffs_transition n ON n.event = 'start' AND n.actor = s.actor AND n.happened_at = s.happened_at
    WHERE t.code = 'lease_lost' AND t.event IN ('retry', 'escalate') GROUP BY t.id, t.record_id, t.step, t.event"""


def is_broken(number):
    return number % 20 == 7


def open_all(prefix, seconds):
    bodies = [
        {"number": n, "broken": is_broken(n), "deadly": n == DEADLY, "seconds": seconds if n != DEADLY else 0.0}
        for n in range(COUNT)
    ]
    openings = [Opening(json.dumps(body).encode(), f"{prefix}-{body['number']}") for body in bodies]
    return [one.record_id for one in open_records(flow=parcels, openings=openings, actor="agent:test")]


def ends(ids):
    """By number: status, step and document, apart from how long its steps slept."""
    rows = Record.objects.in_bulk(ids)
    found = {}
    for number, pk in enumerate(ids):
        document = json.loads(rows[pk].payload)
        document.pop("seconds", None)
        found[number] = (rows[pk].status, rows[pk].step, document)
    return found


def left():
    return Record.objects.filter(status__in=["ready", "running"]).count()


def undisturbed():
    """How 500 records end when nothing is killed but what kills itself."""
    ids = open_all("U", seconds=0.0)
    until = time.monotonic() + PATIENCE
    while left():
        assert time.monotonic() < until
        forks.run(lambda: jobs.drain("default", seconds=60))
        Record.objects.filter(status="running").update(lease_expires_at=LONG_AGO)
        reconcile()
        Record.objects.filter(status="ready").update(available_at=LONG_AGO)
    return ends(ids)


def run_with_kills(server, killer, bells):
    """Let the worker come to rest under strikes; how often the job queue server was wiped."""
    flushes, started = 0, time.monotonic()
    pause = started
    while left():
        assert time.monotonic() - started < PATIENCE, f"{left()} still wait after {PATIENCE:g} s"
        now = time.monotonic()
        if killer.killed < KILLS and now > pause and killer.strike():
            pause = now + killer.random.uniform(0.2, 1.0)
        if flushes < 3 and killer.killed > flushes * KILLS // 3:
            bells.flushall()
            flushes += 1
        time.sleep(0.05)
    return flushes


def lost_tries(ids):
    with connection.cursor() as cursor:
        cursor.execute(LOST_TRIES)
        return [row for row in cursor.fetchall() if row[0] in set(ids)]


def test_500_records_end_as_in_an_undisturbed_run(parcel_queue, tmp_path):
    seed = int(os.environ.get("SEED") or time.time())
    print("seed", seed)
    expected = undisturbed()
    ids = open_all("P", seconds=0.02)
    with (
        servers.redis() as server,
        closing(redis.Redis.from_url(server.url)) as bells,
        workers.start_worker(server.url, tmp_path / "worker.log", "--processes", "2", **WORKER) as worker,
    ):
        killer = Killer(seed, worker, most=2, spared={ids[DEADLY]})
        flushes = run_with_kills(server, killer, bells)
    print("strikes", dict(killer.strikes), "records hit", len(killer.hits), "flushes", flushes)
    assert (killer.killed, flushes) == (KILLS, 3)

    assert ends(ids) == expected
    assert Escalation.objects.unresolved().filter(record__in=ids).count() == 26
    assert_sound()
    lost = lost_tries(ids)
    assert {among for *_, among in lost} == {1}, "no try is lost but by a record that was claimed alone"
    deadly = [event for record, step, event, _ in lost if (record, step) == (ids[DEADLY], "label")]
    assert sorted(deadly) == ["escalate", "retry", "retry"]
    others = [(record, event) for record, _, event, _ in lost if record != ids[DEADLY]]
    assert all(event == "retry" and killer.hits[record] for record, event in others)
    assert [fault for record in Record.objects.filter(pk__in=ids) for fault in verify(record)] == []
