"""The examples are ready, and say so in time."""

from __future__ import annotations

import time
from importlib import import_module

import pytest
from django.apps import apps

from handoffs import flows
from handoffs.drill.cases import Verdict
from handoffs.drill.run import Drill
from handoffs.models import Queue

pytestmark = pytest.mark.django_db(transaction=True)
WITHIN = 60.0  # seconds of work; how long that takes is the machine's affair
EXAMPLES = ["invoices", "tickets"]


@pytest.fixture(params=EXAMPLES)
def example(request, cast):
    """A flow of the examples, with its queues."""
    known = flows.declared()
    found = vars(import_module(f"examples.{request.param}.flows"))[request.param]
    flows.clear()
    for flow in (known | {found.name: found}).values():
        flows.register(flow)
    for slug in {found.escalate_to, *(found.queue_of(step.name) for step in found.steps)}:
        Queue.objects.get_or_create(slug=slug, defaults={"title": slug, "owner": cast.alice})
    return found


def rows():
    return {model._meta.label: model.objects.count() for model in apps.get_models()}


def test_an_example_is_ready_and_nothing_of_the_drill_stays(example):
    before = rows()
    began = time.process_time()
    report = Drill(example, 11).run()
    worked = time.process_time() - began
    pairs = [(seam.name, case) for seam in report.seams for case in seam.faults + seam.holes]
    wrong = [(name, case.kind, case.pointer, case.code, case.sentence) for name, case in pairs]
    assert wrong == []
    assert report.verdict is Verdict.READY, [seam.reason for seam in report.seams]
    assert len({case.digest for case in report.cases if case.engine and case.digest}) >= 200
    assert rows() == before
    assert worked < WITHIN
    print(f"{example.name}: {report.distinct} distinct, {sum(c.engine for c in report.cases)} engine, {worked:.1f} s")
