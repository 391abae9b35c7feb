"""A drill that is killed in the middle leaves nothing behind, and the next one is green."""

from __future__ import annotations

import os

import pytest
from django.apps import apps

from handoffs import children, supervisor
from handoffs.models import DrillRun
from tests import workers

pytestmark = [pytest.mark.faults, pytest.mark.django_db(transaction=True)]


def rows():
    return {model._meta.label: model.objects.count() for model in apps.get_models()}


def drill(log):
    env = workers.environment("", HANDOFFS_FLOWS="tests.drilled_flow", PYTHONUNBUFFERED="1")
    with log.open("wb") as output:
        return children.start(supervisor.command("drill", "drilled", "--seed", "7"), env=env, output=output)


def test_a_drill_killed_in_the_middle_leaves_nothing_behind(cast, tmp_path):
    before, log, reached = rows(), tmp_path / "drill.log", tmp_path / "reached"
    os.environ["DRILL_REACHED"] = str(reached)
    try:
        child = drill(log)
        workers.wait_for(lambda: reached.exists() or child.poll() is not None)
        assert child.poll() is None, log.read_text()
        workers.kill(child.pid)
        child.wait(workers.PATIENCE)
        assert rows() == before
        os.environ["DRILL_REACHED"] = ""
        assert drill(log).wait(workers.PATIENCE * 4) == 0, log.read_text()
    finally:
        del os.environ["DRILL_REACHED"]
    assert rows() == before | {"handoffs.DrillRun": 1}
    assert DrillRun.objects.get().verdict == "ready"
