"""Publicly reported cases about workers, the job queue server and clocks, played with real ones."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from collections import Counter
from contextlib import closing
from datetime import timedelta

import pytest
import redis

from handoffs import supervisor
from handoffs.actions import work
from handoffs.actions.records import Opening, open_records
from handoffs.actions.starts import Claimer
from handoffs.engine import Delivery
from handoffs.models import Escalation, Record, StepResult, sql
from reviewqueue import policy
from tests import servers, workers
from tests.faults.flows import JOURNAL, parcels
from tests.soundness import assert_sound
from tests.workers import forks, kill, listeners, start_worker, wait_for

pytestmark = [pytest.mark.faults, pytest.mark.redis, pytest.mark.django_db(transaction=True)]
PERIOD = 0.5  # seconds between two rounds of the reconciler
LEASE = parcels.steps[0].lease_seconds
WORKER = {"HANDOFFS_FLOWS": "tests.faults.flows", "HANDOFFS_PERIOD": str(PERIOD)}
SLOW_MACHINE = 10.0  # seconds that a busy one may add


@pytest.fixture
def server(settings):
    with servers.redis() as running:
        settings.REDIS_URL = running.url
        settings.RQ_QUEUES = policy.job_queues(running.url, ["default"])
        yield running


@pytest.fixture
def bells(server):
    with closing(redis.Redis.from_url(server.url)) as client:
        yield client


def parcels_in(*bodies):
    openings = [Opening(json.dumps(body).encode()) for body in bodies]
    return [one.record_id for one in open_records(flow=parcels, openings=openings, actor="agent:test")]


def statuses(ids):
    return Counter(Record.objects.filter(pk__in=ids).values_list("status", flat=True))


def events(pk):
    return list(Record.objects.get(pk=pk).transitions.order_by("seq").values_list("event", flat=True))


def test_case_u03_the_same_job_twice_on_the_list_runs_its_step_once(server, bells, parcel_queue, tmp_path):
    journal = tmp_path / "journal"
    [record] = parcels_in({"number": 1, "seconds": 2})
    [job] = bells.lrange("rq:queue:default", 0, -1)
    bells.rpush("rq:queue:default", job)
    with start_worker(server.url, tmp_path / "log", "--processes", "2", **WORKER, **{JOURNAL: str(journal)}):
        wait_for(lambda: statuses([record])["completed"])
        wait_for(lambda: bells.llen("rq:queue:default") == 0)
    assert [line.split()[0] for line in journal.read_text().splitlines()] == ["weigh", "label", "ship"]
    assert Record.objects.get().attempt == 3, "one attempt for each step"
    assert bells.zcard("rq:failed:default") == 0, "the second one is no failure"
    assert "Traceback" not in (tmp_path / "log").read_text()
    assert_sound()


def test_case_s01_a_worker_killed_with_its_fork_is_replaced_without_anybody_s_help(server, parcel_queue, tmp_path):
    [record] = parcels_in({"number": 1, "seconds": 4})
    with start_worker(server.url, tmp_path / "log", **WORKER) as worker:
        wait_for(lambda: statuses([record])["running"] and forks(worker))
        time.sleep(2)
        kill(*forks(worker), *listeners(worker), worker.pid)
    killed = sql.now()
    with start_worker(server.url, tmp_path / "log", **WORKER):
        wait_for(lambda: StepResult.objects.filter(record=record, attempt=1, outcome="lease_lost").exists())
        took = (StepResult.objects.get(record=record, attempt=1).ended_at - killed).total_seconds()
        assert took <= LEASE + 2 * PERIOD + SLOW_MACHINE
        wait_for(lambda: statuses([record])["completed"])
    assert events(record)[:4] == ["open", "start", "retry", "start"]
    assert_sound()


def test_case_s03_a_wiped_job_queue_server_costs_nothing(server, bells, parcel_queue, tmp_path):
    stopped = parcels_in(*({"number": n, "broken": True} for n in range(7)))
    with start_worker(server.url, tmp_path / "log", **WORKER):
        wait_for(lambda: statuses(stopped)["escalated"] == 7)
    running = parcels_in(*({"number": n} for n in range(7, 10)))
    held = work.claim_ready(job_queue="default", actor="worker:elsewhere", limit=3).started
    waiting = parcels_in(*({"number": n} for n in range(10, 20)))
    bells.flushall()
    with start_worker(server.url, tmp_path / "log", **WORKER):
        wait_for(lambda: statuses(waiting)["completed"] == 10)
        bells.flushall()
        output = json.dumps(json.loads(held[0].body) | {"grams": 5, "broken": False, "deadly": False, "seconds": 0.0})
        finished = work.Finished(held[0].record_id, held[0].attempt, Delivery(output, 0.9), held[0].body)
        work.commit([finished], Claimer("worker:elsewhere", lambda step: False))
        wait_for(lambda: statuses(running)["completed"] == 3)
    assert Escalation.objects.unresolved().filter(record__in=stopped).count() == 7
    assert "Traceback" not in (tmp_path / "log").read_text()
    assert_sound()  # a step taken twice would be found


@pytest.mark.postgres
@pytest.mark.skipif(shutil.which("faketime") is None, reason="faketime is not installed")
def test_case_t04_a_process_whose_clock_is_a_day_ahead_ends_no_lease(server, parcel_queue):
    ids = parcels_in(*({"number": n} for n in range(5)))
    started = work.claim_ready(job_queue="default", actor="worker:here", limit=5).started
    in_an_hour = sql.now() + timedelta(hours=1)  # a slow machine ends none of them, a day would end all
    Record.objects.filter(pk__in=ids).update(lease_expires_at=in_an_hour)
    env = workers.environment(server.url, **WORKER) | {"FAKETIME_DONT_FAKE_MONOTONIC": "1"}
    ahead = ["faketime", "-f", "+1d", *supervisor.command("reconcile", "--once")]
    done = subprocess.run(ahead, env=env, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout.strip()) == (0, "Nothing was to be repaired.")
    assert statuses(ids) == {"running": 5}
    assert len(work.renew({one.record_id: one.attempt for one in started})) == 5
    for pk in ids:
        moved = list(Record.objects.get(pk=pk).transitions.order_by("seq").values_list("happened_at", flat=True))
        assert all(abs((at - sql.now()).total_seconds()) < 3600 for at in moved)
    assert_sound()
