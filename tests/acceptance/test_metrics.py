"""What a monitor reads: figures by queue, flow and step, for who has the token, without anything of a record."""

from __future__ import annotations

import pytest
from django.db import OperationalError
from django.urls import reverse
from prometheus_client.parser import text_string_to_metric_families as parsed

from handoffs import metrics
from handoffs.models import Escalation, Heartbeat, sql
from reviewqueue import policy
from tests.cast import document, opened, work

pytestmark = pytest.mark.django_db
URL = reverse("metrics")
QUERIES = 13


@pytest.fixture
def token(settings):
    settings.METRICS_TOKEN = "a-long-enough-token"
    return {"HTTP_AUTHORIZATION": "Bearer a-long-enough-token"}


def told(client, **headers) -> dict[str, dict[tuple[str, ...], float]]:
    """By name, and by the values of the labels in the order of the labels' names."""
    answer = client.get(URL, **headers)
    assert answer.status_code == 200
    assert answer["Content-Type"].startswith("text/plain")
    families = parsed(answer.content.decode())
    return {one.name: {tuple(v for _, v in sorted(s.labels.items())): s.value for s in one.samples} for one in families}


def test_what_waits_is_told_by_queue_flow_and_step(client, cast, token):
    for number in range(3):
        opened(document(f"A-{number}", order=""))
    opened(document("A-9"))
    work()
    Heartbeat.objects.create(name="w", kind="worker", job_queue="default", seen_at=sql.now())
    said = told(client, **token)
    stops = Escalation.objects.unresolved().values_list("queue__slug", "flow", "step", "kind", "record__step")
    [(slug, flow, step, kind, at)] = set(stops)
    assert said["handoffs_escalations"][(slug,)] == len(stops) == 3
    assert said["handoffs_records"][(flow, "escalated", at)] == 3
    assert said["handoffs_stops_last_hour"][(flow, kind, step)] == 3
    assert said["handoffs_escalation_oldest_seconds"][(slug,)] >= 0
    assert said["handoffs_escalations"][("approvals",)] == 0, "an empty queue is told too, or nobody could ring for it"
    assert said["handoffs_heartbeat_age_seconds"][("default", "worker")] >= 0
    assert any(outcome == "accepted" for _, outcome, _ in said["handoffs_results_last_hour"])


def test_nothing_of_a_record_is_told(client, cast, token):
    opened(document("SECRET-NUMBER", order=""))
    work()
    assert b"SECRET-NUMBER" not in client.get(URL, **token).content


def test_there_is_nothing_for_who_has_no_token(client, cast, token):
    missing = client.get("/metric").status_code
    assert client.get(URL).status_code == missing == 404
    assert client.get(URL, HTTP_AUTHORIZATION="Bearer another").status_code == 404
    client.force_login(cast.alice)
    assert client.get(URL).status_code == 404
    client.force_login(cast.dora)
    assert client.get(URL).status_code == 200


def test_no_token_is_set_and_none_opens_it(client, cast, settings):
    settings.METRICS_TOKEN = ""
    assert client.get(URL, HTTP_AUTHORIZATION="Bearer ").status_code == 404


def test_a_database_that_is_away_is_a_503(client, token, monkeypatch):
    def away():
        raise OperationalError("gone")

    monkeypatch.setattr(metrics, "exposition", away)
    assert client.get(URL, **token).status_code == 503


def test_a_job_queue_server_that_is_away_is_told(client, cast, token, settings):
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    settings.RQ_QUEUES = policy.job_queues(settings.REDIS_URL, ["default"])
    assert told(client, **token)["handoffs_job_queue_server_up"] == {(): 0.0}


def test_the_number_of_queries_is_the_same_for_any_number_of_rows(client, cast, token, django_assert_num_queries):
    opened(document("A-1", order=""))
    work()
    with django_assert_num_queries(QUERIES):
        told(client, **token)
    for number in range(20):
        opened(document(f"B-{number}", order="" if number % 2 else "PO"))
    work()
    with django_assert_num_queries(QUERIES):
        told(client, **token)
