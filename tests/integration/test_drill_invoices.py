"""The example is ready, and says so in time."""

from __future__ import annotations

import time

import pytest
from django.apps import apps

from handoffs.drill.cases import Verdict
from handoffs.drill.run import Drill
from handoffs.flows import get_flow
from handoffs.models import Queue

pytestmark = pytest.mark.django_db(transaction=True)
WITHIN = 60.0  # seconds of work; how long that takes is the machine's affair


def test_invoices_is_ready_and_nothing_of_the_drill_stays(cast):
    Queue.objects.create(slug="invoice-exceptions", title="Invoice exceptions", owner=cast.alice)
    before = {model._meta.label: model.objects.count() for model in apps.get_models()}
    began = time.process_time()
    report = Drill(get_flow("invoices"), 11).run()
    worked = time.process_time() - began
    pairs = [(seam.name, case) for seam in report.seams for case in seam.faults + seam.holes]
    wrong = [(name, case.kind, case.pointer, case.code) for name, case in pairs]
    assert wrong == []
    assert report.verdict is Verdict.READY
    assert len({case.digest for case in report.cases if case.engine and case.digest}) >= 200
    assert {model._meta.label: model.objects.count() for model in apps.get_models()} == before
    assert worked < WITHIN
