"""The examples are ready, and cover every class at every seam."""

from __future__ import annotations

import json
import re
from importlib import import_module

import pytest
from django.apps import apps

from handoffs import flows
from handoffs.drill import classes
from handoffs.drill.cases import Verdict
from handoffs.drill.run import Drill
from handoffs.models import Queue

pytestmark = pytest.mark.django_db(transaction=True)
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


SAYS_SO = {  # what a JSON Schema has where a class has something to break
    "missing": r'"required"', "renamed": r'"required"', "null": r'"type":', "wrong_type": r'"type":',
    "too_long": r'"(maxLength|maxItems)"', "out_of_range": r'"(minimum|maximum|exclusiveM\w+|x-max_digits)"',
    "pattern": r'"pattern"', "bad_format": r'"format": "(?!date")', "locale_number": r'"format": "decimal"',
    "locale_date": r'"format": "date', "wrong_enum": r'"(enum|const)"', "enum_case": r'"(enum|const)"',
    "unknown_field": r'"additionalProperties": false',
}  # fmt: skip


def assert_every_class_is_covered_or_says_why_it_is_not(flow, report):
    contracts = [flow.intake, *(side for step in flow.steps for side in (step.receives, step.returns))]
    schemas = {contract.__name__: json.dumps(contract.model_json_schema()) for contract in contracts}
    for seam in report.seams:
        assert set(seam.classes()) | set(seam.not_applicable) >= classes.ALL
        assert not set(seam.classes()) & set(seam.not_applicable)
        assert all(seam.not_applicable.values())
        said = "".join(schemas.get(name, "") for name in seam.contracts.split(" → "))
        for kind in SAYS_SO.keys() & seam.not_applicable.keys():
            assert not re.search(SAYS_SO[kind], said), (seam.name, kind)
        known = {kind for kind in seam.classes() if not kind.startswith("invariant ")}
        assert known <= classes.ALL


def test_an_example_is_ready_and_nothing_of_the_drill_stays(example):
    before = rows()
    report = Drill(example, 11).run()
    pairs = [(seam.name, case) for seam in report.seams for case in seam.faults + seam.holes]
    wrong = [(name, case.kind, case.pointer, case.code, case.sentence) for name, case in pairs]
    assert wrong == []
    assert report.verdict is Verdict.READY, [seam.reason for seam in report.seams]
    assert len({case.digest for case in report.cases if case.engine and case.digest}) >= 200
    assert rows() == before
    assert_every_class_is_covered_or_says_why_it_is_not(example, report)
    print(f"{example.name}: {report.distinct} distinct, {sum(c.engine for c in report.cases)} engine")
