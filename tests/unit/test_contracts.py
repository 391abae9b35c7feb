from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from decimal import Decimal
from functools import partial
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import (
    AfterValidator,
    Discriminator,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    Tag,
    create_model,
    field_validator,
)
from pydantic_core import core_schema

from handoffs import contracts, strict_json
from handoffs.contracts import (
    Carried,
    Contract,
    Violation,
    check,
    contract_hash,
    dump,
    from_flaws,
    schema,
)
from handoffs.states import Side
from tests.cases_contracts import InvoiceDue, InvoiceExtract
from tests.unit.judging import judged, one, rules

# Where it is.


class Inner(Contract):
    a: int = 0


class Cat(Contract):
    kind: Literal["cat"]
    lives: int


class Dog(Contract):
    kind: Literal["dog"]
    dog: int  # a field of its tag's name


def by_kind(value: Any) -> str:
    return value["kind"] if isinstance(value, dict) else value.kind


class Home(Contract):
    pet: Annotated[Cat | Dog, Field(discriminator="kind")] | None = None
    pets: list[Annotated[Annotated[Cat, Tag("cat")] | Annotated[Dog, Tag("dog")], Discriminator(by_kind)]] = []
    either: Cat | list[Dog] | None = None
    prices: dict[str, Decimal] = {}
    by_day: dict[date, int] = {}
    annex: Home | None = None
    odd: Annotated[int, Field(alias="o/d~d")] = 0


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"pet": {"kind": "cat", "lives": "9"}}', [("/pet/lives", "wrong_type")]),
        ('{"pet": {"kind": "dog"}}', [("/pet/dog", "missing")]),
        ('{"pet": {"kind": "dog", "dog": "x"}}', [("/pet/dog", "wrong_type")]),
        ('{"pet": {"kind": "cow"}}', [("/pet", "not_allowed_value")]),
        ('{"pet": {}}', [("/pet", "missing")]),
        ('{"pets": [{"kind": "cat", "lives": 9}, {"kind": "dog"}]}', [("/pets/1/dog", "missing")]),
        ('{"pets": [{"kind": "cat", "lives": 9, "cat": 1}]}', [("/pets/0/cat", "unknown_field")]),
        ('{"either": {"kind": "cat", "lives": "9"}}', [("/either/lives", "wrong_type"), ("/either", "wrong_type")]),
        ('{"either": [{"kind": "dog", "dog": 1.5}]}', [("/either", "wrong_type"), ("/either/0/dog", "wrong_type")]),
        ('{"prices": {"a/b~": "x"}}', [("/prices/a~1b~0", "invalid_decimal")]),
        ('{"by_day": {"monday": 1}}', [("/by_day/monday", "invalid_date")]),
        ('{"annex": {"annex": {"prices": []}}}', [("/annex/annex/prices", "wrong_type")]),
        ('{"o/d~d": "x"}', [("/o~1d~0d", "wrong_type")]),
        ("[]", [("", "wrong_type")]),
    ],
)
def test_points_into_the_body_without_union_tags(text: str, found: list[tuple[str, str]]):
    assert rules(check(Home, text, side=Side.RECEIVES)) == found


class Wrapped:
    """A type of an author who writes core schemas."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        items = handler(list[Inner])
        return core_schema.lax_or_strict_schema(items, core_schema.chain_schema([core_schema.any_schema(), items]))

    @classmethod
    def __get_pydantic_json_schema__(cls, found: core_schema.CoreSchema, handler: GetJsonSchemaHandler) -> Any:
        return {"type": "array"}


@pytest.mark.parametrize(
    ("annotation", "text", "where"),
    [
        (tuple[int, Inner], '[1, {"a": "x"}]', "/v/1/a"),
        (tuple[Inner, ...], '[{}, {"a": "x"}]', "/v/1/a"),
        (Sequence[Inner], '[{"a": "x"}]', "/v/0/a"),
        (deque[Inner], '[{"a": "x"}]', "/v/0/a"),
        (Wrapped, '[{"a": "x"}]', "/v/0/a"),
        (Mapping[str, Inner], '{"[key]": {"a": "x"}}', "/v/[key]/a"),
        (dict[str, list[Inner | int]], '{"k": [{"a": "x"}]}', "/v/k/0/a"),
        (Annotated[Inner | int, AfterValidator(lambda value: value)], '{"a": "x"}', "/v/a"),
    ],
)
def test_points_through_containers(annotation: Any, text: str, where: str):
    assert where in [violation.pointer for violation in judged(annotation, text).violations]


def test_bounds_the_list_of_violations(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(contracts, "MAX_VIOLATIONS", 10)
    violations = judged(list[int], json.dumps(["x"] * 25)).violations
    assert [violation.pointer for violation in violations] == [*(f"/v/{n}" for n in range(10)), ""]
    assert (violations[-1].rule, violations[-1].sentence) == ("too_many_violations", "15 more are not listed.")


def test_a_validator_that_breaks_is_a_violation():
    def stumble(value: int) -> int:
        raise KeyError(value)

    [violation] = judged(Annotated[int, AfterValidator(stumble)], "1").violations
    assert (violation.rule, violation.sentence) == (
        "validator_failed",
        "The contract's own validator failed with KeyError.",
    )


def test_a_body_that_is_no_json_is_a_violation():
    assert rules(check(Home, "{", side=Side.INTAKE)) == [("", "not_json")]


# Unknown fields.


class Counting(Contract, unknown="count"):
    inner: Inner = Inner()
    more: list[Counting] = []


@pytest.mark.parametrize(
    ("text", "unknown", "found"),
    [
        ("{}", (), []),
        ('{"x": 1, "more": [{"y/z": 2}]}', ("/more/0/y~1z", "/x"), []),
        ('{"x": 1, "inner": {"b": 1}}', ("/inner/b", "/x"), [("/inner/b", "unknown_field")]),
        ('{"x": 1, "inner": {"a": "1"}}', ("/x",), [("/inner/a", "wrong_type")]),
        ('{"inner": {"a": "1"}}', (), [("/inner/a", "wrong_type")]),
    ],
)
def test_counted_fields_are_kept_and_named(text: str, unknown: tuple[str, ...], found: list[tuple[str, str]]):
    checked = check(Counting, text, side=Side.RECEIVES)
    assert (tuple(sorted(checked.unknown)), rules(checked)) == (unknown, found)
    if not found:
        assert json.loads(dump(checked.value)) == {"inner": {"a": 0}, "more": [], **json.loads(text)} | (
            {"more": [{"inner": {"a": 0}, "more": [], "y/z": 2}]} if unknown else {}
        )


def test_refused_fields_are_named():
    checked = check(Inner, '{"a": 1, "b": 2}', side=Side.RECEIVES)
    assert (checked.value, checked.unknown, rules(checked)) == (None, ("/b",), [("/b", "unknown_field")])


def test_a_subclass_may_decide_anew():
    class Refusing(Counting, unknown="refuse"):
        pass

    class StillCounting(Counting):
        pass

    assert check(Refusing, '{"x": 1}', side=Side.RECEIVES).value is None
    assert check(StillCounting, '{"x": 1}', side=Side.RECEIVES).unknown == ("/x",)
    assert check(Counting, '{"x": 1}', side=Side.RECEIVES).unknown == ("/x",)


KEYS = ["kind", "dog", "cat", "lives", "inner", "more", *Home.model_fields]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.sampled_from([0.5, "cat", "dog", "1_0", "2026-02-03", "⟨0⟩"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
)


@given(JSON)
def test_any_json_gets_an_answer_that_points_into_it(value: Any):
    for contract in (Home, Counting):
        checked = check(contract, json.dumps(value), side=Side.RECEIVES)
        assert (checked.value is None) == bool(checked.violations)
        for violation in checked.violations:
            parent, *path = value, *violation.pointer.split("/")[1:-1]
            for part in path:
                parent = parent[int(part) if isinstance(parent, list) else part]


# Flaws, fingerprints, schemas, hashes.


def test_flaws_become_violations_relative_to_the_contract():
    flaws = strict_json.read(b'{"output": {"a": NaN}, "outputs": NaN, "confidence": NaN}')
    inside, beside, envelope = from_flaws(flaws, side=Side.RETURNS, prefix="/output")
    assert (inside.side, inside.pointer, inside.rule, inside.received) == (Side.RETURNS, "/a", "invalid_number", "NaN")
    assert (beside.side, beside.pointer) == (Side.ENVELOPE, "/outputs")
    assert (envelope.side, envelope.pointer) == (Side.ENVELOPE, "/confidence")
    assert [violation.side for violation in from_flaws(flaws, side=Side.INTAKE)] == [Side.INTAKE] * 3


def fingerprint(pointer: str = "/lines/0/sku", rule: str = "missing", **where: str) -> str:
    violation = Violation(Side.RECEIVES, pointer, rule, "a", "b", "c")
    return violation.fingerprint(**{"flow": "f", "seam": "s", "producer": "p"} | where)


def test_fingerprints_fold_items_and_nothing_else():
    assert re.fullmatch("[0-9a-f]{32}", fingerprint())
    assert fingerprint() == fingerprint("/lines/17/sku")
    others = [fingerprint("/lines/sku"), fingerprint("/line/0/sku"), fingerprint(rule="pattern")]
    others += [fingerprint(flow="g"), fingerprint(seam="g"), fingerprint(producer="g"), fingerprint(flow="fs", seam="")]
    assert len({fingerprint(), *others}) == 8


def test_the_schema_is_json_and_closed():
    found = schema(InvoiceExtract)
    json.dumps(found)
    assert found["additionalProperties"] is False
    assert schema(InvoiceDue)["additionalProperties"] is True


def bounded(limit: int) -> type[Contract]:
    def below(value: int) -> int:
        assert value < limit
        return value

    return one(Annotated[int, AfterValidator(below)])


def test_the_hash_holds_for_the_same_contract():
    assert re.fullmatch("[0-9a-f]{64}", contract_hash(InvoiceExtract))
    assert contract_hash(one(int)) == contract_hash(one(int))
    assert contract_hash(bounded(5)) == contract_hash(bounded(5))


def test_the_hash_moves_with_everything_that_judges():
    class Checked1(Contract):
        v: int

        @field_validator("v")
        @classmethod
        def _small(cls, v: int) -> int:
            return min(v, 1)

    class Checked2(Contract):
        v: int

        @field_validator("v")
        @classmethod
        def _small(cls, v: int) -> int:
            return min(v, 2)

    Checked1.__name__ = Checked2.__name__ = "One"
    found = [one(int), one(str), one(Annotated[int, Field(ge=1)]), one(Annotated[int, Carried()])]
    found += [bounded(5), bounded(6), one(Inner), one(list[bounded(5)]), one(list[bounded(6)])]
    found += [create_model("One", __base__=Contract, v=(int, Field(default_factory=make))) for make in (int, lambda: 1)]
    found += [one(Annotated[int, AfterValidator(partial(pow, number))]) for number in (2, 3)]
    found += [Checked1, Checked2]
    assert len({contract_hash(contract) for contract in found}) == len(found)


def test_the_hash_of_code_without_source_is_its_code():
    def made(number: int) -> Callable[[int], int]:
        scope: dict[str, Any] = {}
        exec(f"def f(v):\n    return sorted([v, {number}], key=lambda n: -n)[0]", scope)
        return scope["f"]

    def hashed(number: int) -> str:
        return contract_hash(one(Annotated[int, AfterValidator(made(number))]))

    assert hashed(1) == hashed(1)
    assert hashed(1) != hashed(2)
