"""Invariants: named rules of a contract beyond its types."""

from __future__ import annotations

import json
from datetime import date
from typing import Annotated

import pytest
from pydantic import Field

from handoffs import Contract, Step, invariant
from handoffs.contracts import check, contract_hash, schema
from handoffs.engine import check_output
from handoffs.errors import DeclarationError
from handoffs.invariants import invariants_of
from handoffs.states import Side


class Line(Contract):
    net: int

    @invariant("A line is not free.", at="/net")
    def costs_something(self) -> bool:
        return self.net != 0


class Bill(Contract):
    issued: date
    due: date | None
    total: int
    lines: Annotated[list[Line], Field(alias="items")]

    @invariant("It is due on or after the day of issue.", at="/due")
    def due_after_issue(self) -> bool:
        return self.due is None or self.due >= self.issued

    @invariant("The lines add up to the total.", at="/total")
    def adds_up(self) -> bool | str:
        found = sum(line.net for line in self.lines)
        return found == self.total or f"The lines add up to {found}, the total is {self.total}."


class Paid(Contract):
    total: int

    @invariant("No more is paid than is owed.", at="/total")
    def pays_what_is_owed(self, given: Bill) -> bool:
        return self.total <= given.total


GOOD = {"issued": "2026-11-01", "due": "2026-11-30", "total": 3, "items": [{"net": 1}, {"net": 2}]}


def broken(**changes):
    found = check(Bill, json.dumps(GOOD | changes), side=Side.RECEIVES).violations
    return [(violation.pointer, violation.rule, violation.sentence) for violation in found]


def test_a_body_that_meets_the_rules_holds():
    assert broken() == []
    assert broken(due=None) == []


def test_each_broken_rule_is_a_violation_of_its_own_with_pointer_and_sentence():
    assert broken(due="2026-10-01", total=4) == [
        ("/due", "due_after_issue", "It is due on or after the day of issue."),
        ("/total", "adds_up", "The lines add up to 3, the total is 4."),
    ]


def test_rules_of_what_lies_inside_count_with_their_place_in_json():
    assert broken(items=[{"net": 3}, {"net": 0}]) == [("/items/1/net", "costs_something", "A line is not free.")]


def test_rules_are_looked_at_only_where_the_types_hold():
    assert [rule for _, rule, _ in broken(total="4", due="2026-10-01")] == ["wrong_type"]


def test_a_rule_that_fails_refuses_the_body_and_says_so():
    class Odd(Contract):
        number: int

        @invariant("Never mind.")
        def odd(self) -> bool:
            return 1 / self.number > 0

    [violation] = check(Odd, '{"number":0}', side=Side.RECEIVES).violations
    assert (violation.rule, violation.sentence) == ("invariant_failed", "The rule odd failed with ZeroDivisionError.")


def test_an_output_is_held_against_the_input_by_a_rule_with_two_parameters():
    step = Step("pay", receives=Bill, returns=Paid, run=lambda given, context: None)
    assert check_output(step, json.dumps(GOOD), '{"total":3}')[1] == ()
    [violation] = check_output(step, json.dumps(GOOD), '{"total":4}')[1]
    assert (violation.side, violation.pointer, violation.rule) == (Side.RETURNS, "/total", "pays_what_is_owed")


def test_rules_are_inherited_and_can_be_taken_away():
    class Same(Bill):
        pass

    class Lenient(Bill):
        def adds_up(self) -> bool:
            return True

    assert [rule.name for rule in invariants_of(Same)] == ["due_after_issue", "adds_up"]
    assert [rule.name for rule in invariants_of(Lenient)] == ["due_after_issue"]


def test_rules_are_part_of_the_hash_and_of_the_schema():
    def bill(limit):
        class Bill(Contract):
            total: int

            @invariant("It is small.", at="/total")
            def is_small(self) -> bool:
                return self.total < limit

        return Bill

    class Plain(Contract):
        total: int

    hashes = {contract_hash(contract) for contract in (bill(1), bill(2), Plain)}
    assert len(hashes) == 3
    assert schema(bill(1))["x-invariants"] == [{"name": "is_small", "sentence": "It is small.", "at": "/total"}]
    assert "x-invariants" not in schema(Plain)
    assert schema(Bill)["$defs"]["Line"]["x-invariants"][0]["name"] == "costs_something"


@pytest.mark.parametrize(("sentence", "at"), [("", ""), ("It holds.", "total")])
def test_a_rule_that_says_nothing_or_points_nowhere_is_refused(sentence, at):
    class Wrong(Contract):
        total: int

        @invariant(sentence, at=at)
        def holds(self) -> bool:
            return True

    with pytest.raises(DeclarationError, match=r"Wrong\.holds"):
        invariants_of(Wrong)
