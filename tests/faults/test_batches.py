"""Batches under faults: a killed worker, two at once, a job queue server that forgets. Each item exactly once."""

from __future__ import annotations

import json

import pytest
import redis

from handoffs import jobs
from handoffs.actions import batch_work, batches
from handoffs.actions.records import Opening, open_records
from handoffs.models import Batch, BatchItem, Escalation, Transition
from handoffs.reconcile import reconcile
from handoffs.states import BatchVerb
from reviewqueue import policy
from tests import servers
from tests.faults import forks
from tests.faults.flows import parcels
from tests.racing import race
from tests.soundness import assert_sound
from tests.workers import forks as forks_of
from tests.workers import kill, start_worker, wait_for

pytestmark = [pytest.mark.faults, pytest.mark.django_db(transaction=True)]


def stopped(count):
    """Escalations of records whose step delivered what breaks its contract."""
    bodies = [{"number": number, "broken": True} for number in range(1, count + 1)]
    openings = [Opening(json.dumps(body).encode()) for body in bodies]
    open_records(flow=parcels, openings=openings, actor="agent:test")
    jobs.drain("default", seconds=60)
    found = list(Escalation.objects.order_by("pk").values_list("pk", flat=True))
    assert len(found) == count
    return found


def closing(ids, by):
    batch = batches.draft(verb=BatchVerb.CLOSE, by=by, escalations=ids)
    assert batches.begin(batch=batch, by=by, choice={"reason": "Duplicate"})
    return batch


def serve():
    jobs.drain("default", seconds=60)


def assert_each_once(batch, ids):
    """Every item done, and one history row of it: no more, no fewer."""
    items = BatchItem.objects.filter(batch=batch)
    assert sorted(items.values_list("escalation_id", "state")) == [(pk, "done") for pk in ids]
    closed = list(Transition.objects.filter(event="close").values_list("record_id", flat=True))
    assert len(closed) == len(set(closed)) == len(ids)
    assert Batch.objects.get(pk=batch.pk).state == "ended"
    assert_sound()


@pytest.mark.parametrize(
    ("point", "done"), [("in_batch", 0), ("in_batch:4", 3), ("half_written:3", 1), ("in_verdict:6", 5)]
)
def test_a_worker_killed_in_mid_batch_leaves_each_item_done_or_untouched(parcel_queue, point, done):
    ids = stopped(6)
    batch = closing(ids, parcel_queue.owner)
    assert forks.is_killed(forks.run(serve, crashpoint=point))
    assert BatchItem.objects.filter(state="done").count() == done
    assert Transition.objects.filter(event="close").count() == done
    assert Escalation.objects.decided().count() == done
    serve()
    assert_each_once(batch, ids)


@pytest.mark.postgres
def test_workers_that_share_a_batch_do_each_item_once(parcel_queue):
    ids = stopped(60)
    batch = closing(ids, parcel_queue.owner)
    shares = race([lambda: batch_work.work_off(limit=100)] * 4)
    assert sum(shares) == len(ids)
    batch_work.work_off(limit=1)
    assert_each_once(batch, ids)


@pytest.mark.redis
def test_a_job_queue_server_that_forgets_or_is_away_loses_no_batch(parcel_queue, settings):
    ids = stopped(3)
    with servers.redis() as server:
        settings.REDIS_URL = server.url
        settings.RQ_QUEUES = policy.job_queues(server.url, ["default"])
        bells = redis.Redis.from_url(server.url)
        batch = closing(ids, parcel_queue.owner)
        assert bells.llen("rq:queue:default") == 1
        bells.flushall()
        assert reconcile().rung == 1
        bells.close()
    assert reconcile().server_away, "it waits, and nothing breaks"
    assert Batch.objects.get(pk=batch.pk).state == "running"
    serve()
    assert_each_once(batch, ids)


@pytest.mark.redis
def test_a_real_worker_killed_in_mid_batch_is_followed_by_one_that_ends_it(parcel_queue, settings, tmp_path):
    ids = stopped(300)
    with servers.redis() as server:
        settings.REDIS_URL = server.url
        settings.RQ_QUEUES = policy.job_queues(server.url, ["default"])
        env = {"HANDOFFS_FLOWS": "tests.faults.flows", "HANDOFFS_PERIOD": "0.5"}
        with start_worker(server.url, tmp_path / "worker.log", **env) as worker:
            wait_for(lambda: bells_heard(server))
            batch = closing(ids, parcel_queue.owner)
            done = BatchItem.objects.filter(batch=batch, state="done")
            for share in (20, 120):
                wait_for(lambda share=share: done.count() >= share)
                kill(*forks_of(worker))
            wait_for(lambda: Batch.objects.get(pk=batch.pk).state == "ended")
    assert_each_once(batch, ids)


def bells_heard(server):
    with redis.Redis.from_url(server.url) as client:
        return client.scard("rq:workers") > 0
