"""The kit for users' own tests: a body is refused, recovers, and cases come from the contract."""

from __future__ import annotations

import pytest

from handoffs.models import Record
from handoffs.states import INTAKE
from handoffs.testing import assert_recovers, assert_refused, drill_cases
from tests.faulty_flows import coercing, flow

pytestmark = pytest.mark.django_db

GOOD = {"number": "A-1", "quantity": 2, "price": "2"}


def test_a_body_is_refused_where_the_test_says(cast):
    assert_refused(flow(), "book", GOOD | {"price": "-1"}, pointer="/price")
    assert_refused(flow(), INTAKE, b'{"number":"A-1","number":"A-2","quantity":1}')
    assert_recovers(flow(), "book", GOOD | {"number": ""})
    assert_recovers(flow(), INTAKE, {"number": "A-1"})
    assert Record.objects.count() == 0


def test_it_fails_where_a_body_is_let_through_or_refused_elsewhere(cast):
    with pytest.raises(AssertionError, match="code was called"):
        assert_refused(coercing(), "book", GOOD | {"quantity": "2"})
    with pytest.raises(AssertionError, match="not at /number"):
        assert_refused(flow(), "book", GOOD | {"price": "-1"}, pointer="/number")


@pytest.mark.parametrize(("step", "mutant"), drill_cases(flow())[:3], ids=lambda case: getattr(case, "name", case))
def test_cases_come_from_the_contract(cast, step, mutant):
    assert_refused(flow(), step, mutant)
