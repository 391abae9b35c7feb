"""The page's drill button with a real worker: the drill runs there, and what was held goes on by itself."""

from __future__ import annotations

import pytest
from django.urls import reverse

from handoffs import flows, readiness
from handoffs.actions.records import Opening, open_records
from handoffs.models import Alert, DrillRun, Heartbeat, Record
from reviewqueue import policy
from tests import drilled_flow, servers, workers
from tests.workers import wait_for

pytestmark = [pytest.mark.redis, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def server(settings):
    with servers.redis() as running:
        settings.REDIS_URL = running.url
        settings.RQ_QUEUES = policy.job_queues(running.url, ["default"])
        yield running


def test_a_held_record_goes_on_after_the_drill_that_somebody_asked_for(server, cast, client, settings, tmp_path):
    settings.HANDOFFS_REQUIRE_DRILL = True
    readiness.forget_held()
    flow = flows.register(drilled_flow.drilled)
    opening = Opening(b'{"number": "A-1", "quantity": 2}')
    [record] = [opened.record_id for opened in open_records(flow=flow, openings=[opening], actor="agent:test")]
    words = {"HANDOFFS_FLOWS": "tests.drilled_flow", "HANDOFFS_PERIOD": "1", "HANDOFFS_REQUIRE_DRILL": "1"}
    with workers.start_worker(server.url, tmp_path / "worker.log", **words):
        wait_for(lambda: Heartbeat.objects.filter(kind="worker", job_queue="default").exists())
        wait_for(lambda: Alert.objects.standing().filter(kind="held", flow="drilled").exists())
        assert Record.objects.get(pk=record).status == "ready"
        client.force_login(cast.bob)
        client.post(reverse("readiness-drill", args=["drilled"]))
        wait_for(lambda: DrillRun.objects.filter(flow="drilled").exists(), seconds=300)
        run = DrillRun.objects.get(flow="drilled")
        assert (run.verdict, run.actor) == ("ready", "reviewer:bob"), run.report
        wait_for(lambda: Record.objects.get(pk=record).status == "completed")
        wait_for(lambda: not Alert.objects.standing().filter(kind="held", flow="drilled").exists())
