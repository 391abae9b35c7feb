"""Mutants: each breaks the contract it was made from, in every way that the contract rules out."""

from __future__ import annotations

import copy
import json
from datetime import date
from decimal import Decimal
from typing import Annotated, Any, Literal

import pytest
from pydantic import Field

from examples.invoices.contracts import Approval, Checked, CheckInput, Document, Draft, Posted, ToPost
from handoffs import Contract, strict_json
from handoffs.contracts import check
from handoffs.drill.judging import judge
from handoffs.drill.mutants import mutants, raw_mutants
from handoffs.drill.samples import NoSample, enrich, sample
from handoffs.invariants import invariants_of
from handoffs.shapes import Shape
from handoffs.states import Side


class Line(Contract):
    sku: Annotated[str, Field(pattern="^[A-Z]{2}[0-9]{2}$")]
    amount: Annotated[Decimal, Field(gt=0, max_digits=8, decimal_places=2)]


class Order(Contract):
    number: Annotated[str, Field(min_length=2, max_length=12)]
    day: date
    kind: Literal["sale", "return"]
    level: Literal[1, 2, 3]
    count: Annotated[int, Field(ge=1, lt=10)]
    is_urgent: bool
    note: str | None
    lines: Annotated[list[Line], Field(min_length=1, max_length=4)]
    comment: str = ""


CONTRACTS = [Order, Document, Draft, CheckInput, Checked, Approval, ToPost, Posted]
CLASSES = {
    "missing", "null", "wrong_type", "empty", "too_long", "too_short", "out_of_range", "wrong_enum", "enum_case",
    "locale_number", "locale_date", "bad_format", "unknown_field", "renamed", "list_item", "pattern",
}  # fmt: skip


def made(contract, seed="1"):
    return mutants(Shape.of(contract), sample(Shape.of(contract)), seed=seed)


@pytest.mark.parametrize("contract", CONTRACTS)
def test_a_sample_holds_also_when_it_is_filled(contract):
    plain = sample(Shape.of(contract))
    for value in (plain, enrich(Shape.of(contract), plain)):
        violations = check(contract, json.dumps(value), side=Side.RETURNS).violations
        # What is made from types alone can't know a contract's own rules, so such a flow has examples.
        assert {violation.rule for violation in violations} <= {rule.name for rule in invariants_of(contract)}


@pytest.mark.parametrize("contract", CONTRACTS)
def test_every_mutant_breaks_the_contract_it_was_made_from(contract):
    for mutant in made(contract):
        checked = check(contract, mutant.body.decode(), side=Side.RETURNS)
        counted = mutant.kind == "unknown_field" and mutant.pointer in checked.unknown
        assert checked.violations or counted, (mutant.kind, mutant.pointer, mutant.note)


def test_every_class_is_made():
    assert {mutant.kind for mutant in made(Order)} >= CLASSES


def test_mutants_are_distinct_and_the_same_for_the_same_seed():
    digests = [mutant.digest for mutant in made(CheckInput, "7")]
    assert len(digests) == len(set(digests)) > 200
    assert digests == [mutant.digest for mutant in made(CheckInput, "7")]
    assert digests != [mutant.digest for mutant in made(CheckInput, "8")]


def test_what_is_broken_lies_where_the_mutant_says():
    for mutant in made(Order):
        found = {v.pointer for v in check(Order, mutant.body.decode(), side=Side.RETURNS).violations}
        assert any(f"{pointer}/".startswith(f"{mutant.pointer}/") for pointer in found), (mutant, found)


def test_the_gate_refuses_every_broken_text():
    for mutant in raw_mutants(b'{"text":"a"}', seed="1", largest=10_000):
        assert isinstance(strict_json.read(mutant.body, max_bytes=10_000), tuple), mutant.note


def test_a_contract_of_which_no_sample_comes_to_mind_says_so():
    class Odd(Contract):
        code: Annotated[str, Field(pattern="^q{3}z[0-9]{7}$")]

    with pytest.raises(NoSample, match="pattern"):
        sample(Shape.of(Odd))


def test_an_allowance_names_the_class_and_the_place():
    names = {mutant.name for mutant in made(Order)}
    assert {"missing /day", "null /lines/*/sku", "locale_number /lines/*/amount"} <= names


# --- deleting any one rule of a consumer's contract is noticed ------------------------------------------------

BOUNDS = {
    "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength", "minItems", "maxItems",
    "pattern", "enum", "const", "x-max_digits", "x-decimal_places",
}  # fmt: skip


def rules(node: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The places of every single rule in a schema: a bound, an enum, or one name of `required`."""
    found: list[tuple[Any, ...]] = []
    if isinstance(node, dict):
        # A decimal's digits are said twice, of its number and of its text; it travels as text.
        again = {"x-max_digits", "x-decimal_places"} if node.get("type") == "number" else set()
        found += [(*path, word) for word in (node.keys() & BOUNDS) - again if not isinstance(node[word], dict)]
        found += [(*path, "required", place) for place in range(len(node.get("required", ())))]
    for key, inner in node.items() if isinstance(node, dict) else enumerate(node):
        if isinstance(inner, dict | list) and key not in {"required", "enum", "examples"}:
            found += rules(inner, (*path, key))
    return found


def without(schema: Any, path: tuple[Any, ...]) -> Any:
    changed = copy.deepcopy(schema)
    place = changed
    for part in path[:-1]:
        place = place[part]
    del place[path[-1]]
    return changed


@pytest.mark.parametrize("contract", [Order, Document, Checked, Approval])
def test_deleting_any_one_rule_lets_a_mutant_of_the_rule_through(contract):
    """What the whole schema rules out and the schema without the rule does not: the drill makes a mutant of it."""
    schema = Shape.of(contract).schema
    valid = sample(Shape.of(contract))
    whole = {(m.name, m.note) for m in mutants(Shape.of(contract), valid, seed="1")}
    missed = []
    for rule in rules(schema):
        relaxed = without(schema, rule)
        left = {(m.name, m.note) for m in mutants(Shape(relaxed, relaxed), valid, seed="1")}
        if not whole - left:
            missed.append(rule)
    assert len(missed) <= 0.05 * len(rules(schema)), missed


def test_what_the_last_green_drill_refused_and_is_let_through_now_is_a_hole():
    class Relaxed(Order):
        count: int
        kind: str
        comment: str = ""

    valid = sample(Shape.of(Order))
    assert not judge(Relaxed, valid, seed="1").holes
    holes = judge(Relaxed, valid, seed="1", before=Shape.of(Order).schema).holes
    assert {hole.code for hole in holes} == {"no_longer_refused"}
    assert {hole.mutant.pointer for hole in holes} == {"/count", "/kind"}
