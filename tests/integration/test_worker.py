from __future__ import annotations

import json
import signal
import time

import pytest
import redis
from django.core.management import CommandError, call_command

from handoffs import flows, jobs
from handoffs.actions.records import Opening, open_records
from handoffs.models import Heartbeat, Queue, Record, StepResult
from handoffs.states import Status
from reviewqueue import policy
from tests import servers, worker_flows, workers
from tests.integration.test_children import is_gone, is_running
from tests.workers import listeners, wait_for

pytestmark = [pytest.mark.redis, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def server():
    with servers.redis() as running:
        yield running


@pytest.fixture
def bells(server, settings):
    """This process rings on the same server."""
    settings.REDIS_URL = server.url
    settings.RQ_QUEUES = policy.job_queues(server.url, ["default"])


@pytest.fixture
def naps(django_user_model):
    flows.register(worker_flows.naps)
    owner = django_user_model.objects.create_user("alice")
    return Queue.objects.create(slug=worker_flows.QUEUE, title="Nap troubles", owner=owner)


@pytest.fixture
def period():
    """Seconds between two rounds of repairs."""
    return 1.0


@pytest.fixture
def worker(server, naps, tmp_path, period):
    with workers.start_worker(server.url, tmp_path / "worker.log", HANDOFFS_PERIOD=str(period)) as running:
        wait_for(lambda: Heartbeat.objects.filter(kind="worker").exists())
        wait_for(lambda: redis_of(server).scard("rq:workers") == 1)
        yield running


def redis_of(server) -> redis.Redis:
    return redis.Redis.from_url(server.url)


def take_naps(count: int = 1, **body: object) -> list[int]:
    openings = [Opening(json.dumps(body).encode())] * count
    return [opened.record_id for opened in open_records(flow=worker_flows.naps, openings=openings, actor="agent:test")]


def statuses(ids: list[int]) -> set[str]:
    return set(Record.objects.filter(pk__in=ids).values_list("status", flat=True))


def running(ids: list[int]) -> int:
    return Record.objects.filter(pk__in=ids, status=Status.RUNNING).count()


def all_completed(ids: list[int]) -> bool:
    return statuses(ids) == {Status.COMPLETED}


@pytest.mark.parametrize("period", [3600.0])
def test_bell_alone_makes_an_idle_worker_start(bells, worker, period):
    ids = take_naps()
    wait_for(lambda: all_completed(ids))


def test_worker_finds_work_that_nobody_rang_for(worker):
    ids = take_naps(3)
    wait_for(lambda: all_completed(ids))


def test_retry_starts_when_it_is_due(bells, worker):
    ids = take_naps(fail_until=3)
    wait_for(lambda: all_completed(ids))
    assert StepResult.objects.filter(record=ids[0], outcome="failed").count() == 2


def test_killed_listener_takes_its_fork_along_and_is_replaced(bells, worker):
    ids = take_naps(seconds=4)
    wait_for(lambda: running(ids) == 1 and workers.forks(worker))
    [listener], [fork] = listeners(worker), workers.forks(worker)
    workers.kill(listener)
    assert is_gone(fork)
    wait_for(lambda: any(is_running(pid) for pid in listeners(worker) if pid != listener))
    wait_for(lambda: all_completed(ids))
    assert Record.objects.get(pk=ids[0]).attempt == 2


def test_step_that_kills_its_fork_is_tried_again(bells, worker):
    ids = take_naps(kill=True)
    wait_for(lambda: all_completed(ids))
    assert StepResult.objects.filter(record=ids[0], outcome="lease_lost").count() == 1


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_clean_stop_ends_the_running_step_and_hands_back_the_rest(bells, worker, number):
    ids = take_naps(6, seconds=1)
    wait_for(lambda: running(ids) == jobs.FIRST and workers.forks(worker))
    time.sleep(0.3)  # the first nap has begun
    assert worker.stop(grace=20, first=number) == 0

    records = Record.objects.filter(pk__in=ids)
    assert {record.status for record in records} <= {Status.READY, Status.COMPLETED}, "nothing waits for a lease"
    assert records.filter(status=Status.COMPLETED).exists(), "the step that ran came to its end"
    handed_back = records.filter(status=Status.READY)
    assert {record.tries_left for record in handed_back} == {3}, "no try is lost"
    assert not Heartbeat.objects.exists(), "nobody takes it for alive"


def test_second_signal_stops_at_once(bells, worker):
    ids = take_naps(seconds=4)
    wait_for(lambda: running(ids) == 1 and workers.forks(worker))
    [fork] = workers.forks(worker)
    worker.ask_to_stop()
    time.sleep(0.3)
    worker.stop(grace=20)
    assert is_gone(fork)
    assert statuses(ids) == {Status.RUNNING}


def test_killed_worker_leaves_nothing_behind(bells, worker):
    ids = take_naps(seconds=4)
    wait_for(lambda: running(ids) == 1 and workers.forks(worker))
    family = [*listeners(worker), *workers.forks(worker)]
    workers.kill(worker.pid)
    assert all(is_gone(pid) for pid in family)


def test_flushed_server_loses_nothing(bells, server, worker):
    ids = take_naps(5, seconds=0.2)
    redis_of(server).flushall()
    ids += take_naps(5)
    redis_of(server).flushall()
    wait_for(lambda: all_completed(ids))
    assert set(Record.objects.filter(pk__in=ids).values_list("attempt", flat=True)) == {1}


def test_server_may_go_away_and_come_back(bells, server, worker, tmp_path):
    def said() -> str:
        return (tmp_path / "worker.log").read_text()

    server.stop()
    workers.kill(*listeners(worker))  # RQ's own patience differs; without a listener the supervisor has to ask
    ids = take_naps(2)
    wait_for(lambda: "trying again" in said())
    server.start()
    wait_for(lambda: all_completed(ids))
    assert "The job queue server answers again." in said()
    assert "Traceback" not in said()


def test_job_that_is_not_a_bell_is_not_run(server, worker, tmp_path):
    from rq import Queue as JobQueue

    there = tmp_path / "there"
    jobs = JobQueue("default", connection=redis_of(server), serializer="rq.serializers.JSONSerializer")
    job = jobs.enqueue_call("os.mkdir", args=(str(there),))
    wait_for(lambda: job.get_status(refresh=True) == "failed")
    assert not there.exists()


def test_several_listeners_share_the_work(bells, server, naps, tmp_path):
    with workers.start_worker(server.url, tmp_path / "worker.log", "--processes", "2") as running_worker:
        wait_for(lambda: redis_of(server).scard("rq:workers") == 2)
        assert len(listeners(running_worker)) == 2


@pytest.mark.parametrize(
    ("words", "url", "said"),
    [
        ([], "", "REDIS_URL is not set"),
        (["--queue", "a", "--queue", "b"], "redis://127.0.0.1:1", "One worker serves one job queue"),
        (["--queue", "fast"], "redis://127.0.0.1:1", "There is no job queue 'fast'"),
        (["--processes", "0"], "redis://127.0.0.1:1", "a number from 1"),
    ],
)
def test_worker_says_what_it_can_not_serve(words, url, said, settings):
    settings.REDIS_URL = url
    with pytest.raises(CommandError, match=said):
        call_command("worker", *words)
