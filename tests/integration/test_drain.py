"""How much a worker takes at once, and how it leaves off when its time is over."""

from __future__ import annotations

import threading
import time

import pytest

from handoffs import jobs
from handoffs.actions import work
from handoffs.models import Record
from tests import sample_flows
from tests.cast import document, fresh, opened, story
from tests.sample_flows import Draft, Result


@pytest.fixture
def claims(monkeypatch):
    """The sizes that claims asked for."""
    asked = []
    claim_ready = work.claim_ready
    monkeypatch.setattr(work, "claim_ready", lambda **told: asked.append(told["limit"]) or claim_ready(**told))
    return asked


@pytest.mark.django_db(transaction=True)
def test_claims_begin_small_and_grow_up_to_the_setting_while_they_are_quick(cast, claims, settings):
    settings.HANDOFFS_BATCH = 10
    for number in range(30):
        opened(document(f"A-{number}"))
    jobs.drain("default", seconds=600)
    assert claims == [4, 8, 10, 10, 10]
    assert not Record.objects.exclude(status="completed").exists()


@pytest.mark.django_db(transaction=True)
def test_claims_become_smaller_while_they_are_slow(cast, claims, monkeypatch):
    monkeypatch.setattr(jobs, "QUICK", -1.0)
    monkeypatch.setattr(jobs, "SLOW", -1.0)
    for number in range(8):
        opened(document(f"A-{number}"))
    jobs.drain("default", seconds=600)
    assert claims == [4, 2, 1, 1, 1]


@pytest.mark.django_db(transaction=True)
def test_when_its_time_is_over_a_worker_ends_the_step_it_runs_and_starts_no_other(cast):
    record = opened(document())
    with jobs.Drain("default", threading.Event()) as running:

        def overrun(given, context):
            running.end = time.monotonic()
            return Draft(number="A-1", purchase_order="PO-7", total=10)

        sample_flows.behaviour["extract"] = lambda *told: Result(overrun(*told), confidence=0.95)
        running.until(time.monotonic() + 600)
    assert (fresh(record).status, fresh(record).step, fresh(record).attempt) == ("ready", "check", 1)
    assert [event for event, _ in story(record)] == ["open", "start", "accept"]
