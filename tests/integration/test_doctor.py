from __future__ import annotations

import json
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import call_command
from django.db import OperationalError

from handoffs import doctor, embedded, flows, readiness, reconcile
from handoffs.actions import repairs
from handoffs.doctor import Finding
from handoffs.insight.recoverability import lost_records
from handoffs.models import Escalation, Heartbeat, Queue, Record, sql
from handoffs.states import EscalationState, Status
from tests.cast import document, fresh, opened, shut_out_by_force, waiting, work

pytestmark = pytest.mark.django_db


def examined(*words: str) -> tuple[int, str]:
    """(exit code, what it said)"""
    said = StringIO()
    try:
        call_command("doctor", *words, stdout=said)
    except SystemExit as ended:
        return int(ended.code or 0), said.getvalue()
    return 0, said.getvalue()


def found(name: str) -> Finding:
    return next(finding for finding in doctor.examine() if finding.name == name)


@pytest.fixture
def all_flows_have_queues(cast):
    for slug in {flow.queue_of(step.name) for flow in flows.declared().values() for step in flow.steps}:
        Queue.objects.get_or_create(slug=slug, defaults={"title": slug, "owner": cast.alice})


@pytest.fixture
def healthy(all_flows_have_queues, monkeypatch, settings):
    """A worker and a reconciler that were just seen, beside a server that answers."""
    repairs.seen(name="worker:here-1:default", kind="worker", job_queue="default")
    reconcile.seen("reconciler:here-1")
    settings.REDIS_URL = "redis://:secret@queue.example:6379/0"
    monkeypatch.setattr(doctor.dispatch, "answers", lambda job_queue: True)


def test_healthy_installation_is_well(healthy):
    code, said = examined()
    assert code == 0, said
    assert "✗" not in said
    assert said.count("✓") == len(doctor.examine())


def test_json_tells_the_same_to_programs(healthy):
    code, said = examined("--json")
    told = json.loads(said)
    assert (code, told["is_well"]) == (0, True)
    assert {finding["name"] for finding in told["findings"]} == {finding.name for finding in doctor.examine()}
    assert "secret" not in said


def test_each_lack_says_what_to_do_and_ends_with_1(cast, settings, tmp_path):
    settings.REDIS_URL, settings.STATE_DIR = "", tmp_path
    code, said = examined()
    assert code == 1
    for line in (
        "REDIS_URL is not set",
        "Start one: manage.py worker --queue default",
        "run manage.py reconcile",
        "invoice-exceptions (needed by invoices/intake, ",
    ):
        assert line in said


def test_worker_that_fell_silent_is_missed(healthy):
    assert found("worker of default").is_well
    Heartbeat.objects.filter(kind="worker").update(seen_at=sql.now() - timedelta(seconds=61))
    assert not found("worker of default").is_well


def test_worker_of_another_job_queue_does_not_count(healthy):
    Heartbeat.objects.filter(kind="worker").update(job_queue="fast")
    assert not found("worker of default").is_well


def test_server_that_does_not_answer_is_named_without_its_password(healthy, monkeypatch):
    monkeypatch.setattr(doctor.dispatch, "answers", lambda job_queue: False)
    finding = found("job queue server")
    assert not finding.is_well
    assert finding.sentence == "redis://:***@queue.example:6379/0 does not answer."


@pytest.mark.redis
def test_server_of_a_running_demo_is_seen(cast, settings, tmp_path, monkeypatch):
    monkeypatch.delenv("REDIS_URL", raising=False)
    settings.REDIS_URL, settings.STATE_DIR = "", tmp_path
    with embedded.queue_server(tmp_path):
        assert found("job queue server").is_well
    assert not found("job queue server").is_well


def test_migration_that_is_not_applied_is_named(healthy, monkeypatch):
    monkeypatch.setattr(doctor, "pending_migrations", lambda: [f"handoffs.{n:04}" for n in range(1, 9)])
    findings = doctor.examine()
    pending = next(finding for finding in findings if finding.name == "migrations")
    assert pending.details[0] == "handoffs.0001"
    assert pending.details[-1] == "and 3 more"
    assert "recoverability" not in {finding.name for finding in findings}, "its tables may not be there"


def test_database_that_is_away_is_told_in_one_line(monkeypatch):
    def away():
        raise OperationalError("connection refused\nIs the server running?")

    monkeypatch.setattr(doctor.sql, "now", away)
    code, said = examined()
    assert code == 1
    assert "does not answer: connection refused\n" in said
    assert "Traceback" not in said


def test_owner_who_left_is_named(healthy, cast):
    shut_out_by_force(cast.alice)
    finding = found("owners")
    assert "approvals: alice" in finding.details
    assert not finding.is_well


def test_flow_that_is_held_without_a_green_drill_is_named(healthy, settings):
    settings.HANDOFFS_REQUIRE_DRILL = True
    readiness.forget_held()
    finding = found("readiness")
    assert not finding.is_well
    assert any("was never drilled: manage.py drill" in detail for detail in finding.details)


def test_installation_without_flows_is_told(healthy):
    flows.clear()
    assert not found("flows").is_well


# --- recoverability --------------------------------------------------------------------------------------------------


def why_lost() -> list[str]:
    return [lost.why for lost in lost_records()]


def test_every_way_a_record_can_be_open_is_somebody_s(cast):
    opened(document())  # ready
    opened({"text": 1})  # refused at the intake
    opened({"subject": "Hello"}, flow="tickets")  # waits for an agent
    running = opened(document())
    Record.objects.filter(pk=running.pk).update(
        status=Status.RUNNING, started_at=sql.now(), lease_expires_at=sql.now() + timedelta(seconds=9)
    )
    assert why_lost() == []
    assert examined("--recoverable")[0] == 0


def test_ended_records_are_nobody_s_concern(cast):
    record = opened(document())
    work()
    assert fresh(record).status == Status.COMPLETED
    assert why_lost() == []


def test_escalation_to_somebody_who_left_is_lost(cast):
    opened({"text": 1})
    shut_out_by_force(cast.alice)
    assert why_lost() == ["The owner of its queue is not active."]
    code, said = examined("--recoverable")
    assert code == 1
    assert "1 of 1 open records are with nobody" in said


def test_escalated_record_without_an_escalation_is_lost(cast):
    record = opened({"text": 1})
    Escalation.objects.filter(record=record).update(state=EscalationState.RESOLVED, resolved_at=sql.now())
    assert why_lost() == ["It is escalated with 0 unresolved escalations instead of one."]


def test_record_that_went_on_beside_its_escalation_is_lost(cast):
    record = opened({"text": 1})
    Record.objects.filter(pk=record.pk).update(status=Status.COMPLETED)
    assert why_lost() == ["It is completed, and an escalation of it is not resolved."]
    assert waiting(record)


def test_lease_that_nobody_ended_is_lost(cast):
    record = opened(document())
    long_ago = sql.now() - timedelta(minutes=5)
    Record.objects.filter(pk=record.pk).update(status=Status.RUNNING, started_at=long_ago, lease_expires_at=long_ago)
    [why] = why_lost()
    assert "no reconciler took it up" in why


def test_record_of_a_flow_that_is_gone_is_lost(cast):
    opened(document())
    flows.clear()
    assert why_lost() == ["Its step extract of flow orders is not declared."]
