"""The drill goes red where a flow is wrong, says exactly where, and leaves nothing behind."""

from __future__ import annotations

import json

import pytest
from django.apps import apps

from handoffs import flows
from handoffs.drill.cases import Verdict
from handoffs.drill.run import Drill
from handoffs.models import Record
from tests.faulty_flows import FAULTY, allowing, coercing, flow, outside

pytestmark = pytest.mark.django_db(transaction=True)


def found(report):
    """(seam, class, code) of all that is wrong."""
    return {(seam.name, case.kind, case.code) for seam in report.seams for case in (*seam.faults, *seam.holes)}


def drilled(made, **words):
    return Drill(made, 11, per_class=1, **words).run()


def rows():
    return {model._meta.label: model.objects.count() for model in apps.get_models()}


@pytest.mark.parametrize("faulty", FAULTY, ids=lambda faulty: faulty.name)
def test_a_faulty_flow_is_found_out_where_it_is_wrong(cast, faulty):
    if faulty.harm:
        faulty.harm(cast)
    report = drilled(faulty.make())
    assert found(report) == faulty.expected
    assert report.verdict is Verdict.NOT_READY


TWINS = {faulty.mended.__name__: faulty.mended for faulty in FAULTY}


@pytest.mark.parametrize("mended", TWINS.values(), ids=TWINS)
def test_its_repaired_twin_is_ready(cast, mended):
    report = drilled(mended())
    assert (found(report), report.verdict) == (set(), Verdict.READY)


def test_a_drill_leaves_nothing_behind(cast):
    flows.register(made := flow())
    before = rows()
    Record.objects.count()
    drilled(made)
    assert rows() == before


def test_a_step_that_acts_outside_is_not_run_and_not_covered(cast):
    called = []
    made = outside()
    object.__setattr__(made.step("book"), "run", lambda given, context: called.append(given))
    report = drilled(made)
    assert called == []
    assert report.verdict is Verdict.NOT_COVERED
    assert "stand_in" in report.seams[1].reason


def test_a_hole_is_answered_in_code(cast):
    report = drilled(allowing(coercing(), "wrong_type /quantity"))
    assert report.verdict is Verdict.READY
    assert any(case.allowed for case in report.cases)


def test_a_flow_without_a_good_example_is_not_covered(cast):
    from dataclasses import replace

    def only_known(given, context):
        raise ValueError("not this one")

    made = replace(flow(price={"run": only_known}), examples=())
    report = drilled(made)
    assert report.verdict is Verdict.NOT_COVERED
    assert "examples=" in report.seams[0].reason


def test_the_same_seed_makes_the_same_mutants(cast):
    one, other, third = (Drill(flow(), seed, per_class=0).run() for seed in (3, 3, 4))
    digests = [[case.digest for case in report.cases] for report in (one, other, third)]
    assert digests[0] == digests[1] != digests[2]


def test_the_body_of_a_hole_is_in_the_report(cast):
    hole = drilled(coercing()).seams[1].holes[0]
    assert isinstance(json.loads(hole.body)["quantity"], str)
