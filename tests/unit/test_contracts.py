from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import IntEnum, StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, get_args
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    ValidationError,
    create_model,
    field_validator,
    model_validator,
)
from pydantic_core import core_schema
from typing_extensions import TypeAliasType, TypedDict

from handoffs import contracts, strict_json
from handoffs.contracts import (
    Carried,
    Checked,
    Contract,
    Violation,
    check,
    check_carried,
    contract_hash,
    dump,
    from_flaws,
    read_confidence,
    schema,
)
from handoffs.errors import DeclarationError
from handoffs.sentences import describe
from handoffs.states import Side
from tests.cases_contracts import CONTRACTS, InvoiceDue, InvoiceExtract, SubscriptionSync

CASES = Path(__file__).parent.parent / "cases"


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


class Level(IntEnum):
    LOW = 1
    HIGH = 2


def one(annotation: Any) -> type[Contract]:
    """A contract of one field, `v`."""
    return create_model("One", __base__=Contract, v=(annotation, ...))


def judged(annotation: Any, text: str) -> Checked:
    return check(one(annotation), f'{{"v": {text}}}', side=Side.RETURNS)


def rules(checked: Checked) -> list[tuple[str, str]]:
    return [(violation.pointer, violation.rule) for violation in checked.violations]


# What a contract's types let through, and what not.

MONEY = TypeAliasType("MONEY", Decimal)


@pytest.mark.parametrize(
    ("annotation", "text", "value"),
    [
        (Decimal, '"1.10"', Decimal("1.10")),
        (Decimal, "1.1", Decimal("1.1")),
        (Decimal, "12345678901234.10", Decimal("12345678901234.1")),
        (Decimal, "7", Decimal(7)),
        (Decimal, '"1E+2"', Decimal(100)),
        (Decimal, '"-0.5e-7"', Decimal("-0.00000005")),
        (Decimal | None, "null", None),
        (MONEY, '"1.10"', Decimal("1.10")),
        (date, '"2026-02-28"', date(2026, 2, 28)),
        (datetime, '"2026-02-28T10:30:00Z"', datetime(2026, 2, 28, 10, 30, tzinfo=UTC)),
        (datetime, '"2026-02-28T10:30:00.5"', datetime(2026, 2, 28, 10, 30, 0, 500_000)),
        (time, '"10:30"', time(10, 30)),
        (timedelta, '"P1DT2H"', timedelta(days=1, hours=2)),
        (timedelta, '"-PT0.5S"', timedelta(seconds=-0.5)),
        (UUID, '"0b2cf3a5-6d1e-4c1f-9a53-2f6f0f0c7d11"', UUID("0b2cf3a5-6d1e-4c1f-9a53-2f6f0f0c7d11")),
        (float, "1", 1.0),
        (Literal[1, "a"], "1", 1),
        (Literal[True], "true", True),
        (Literal["a", None], "null", None),
        (Level, "2", Level.HIGH),
        (Colour, '"red"', Colour.RED),
        (tuple[int, str], '[1, "a"]', (1, "a")),
        (dict[date, Decimal], '{"2026-02-28": "1"}', {date(2026, 2, 28): Decimal(1)}),
        (dict[int, str], '{"-7": "a"}', {-7: "a"}),
        (date | str, '"2026-02-28"', "2026-02-28"),
        (int | date | None, '"2026-02-28"', date(2026, 2, 28)),
    ],
)
def test_takes(annotation: Any, text: str, value: object):
    checked = judged(annotation, text)
    assert checked.violations == ()
    assert checked.value.v == value
    assert type(checked.value.v) is type(value)


@pytest.mark.parametrize(
    ("annotation", "text", "rule"),
    [
        *[(Decimal, text, "invalid_decimal") for text in ['"1_000"', '" 1"', '"1 "', '"١"', '"1,5"', '"1.234,56 €"']],
        *[(Decimal, text, "invalid_decimal") for text in ['""', '"NaN"', '"Infinity"', '"+1"', '".5"', '"1."', '"01"']],
        (Decimal, '"1e9999"', "invalid_decimal"),
        (MONEY, '"1_000"', "invalid_decimal"),
        (Decimal, "true", "wrong_type"),
        (Decimal, "null", "null_not_allowed"),
        *[
            (date, text, "invalid_date")
            for text in ['"03/04/2026"', '"2026-2-3"', '"2026-02-30"', '"2026-02-03T00:00"']
        ],
        *[
            (date, text, "invalid_date")
            for text in ['"1767225600"', '" 2026-02-03"', '"２026-02-03"', '"20260203"', '""']
        ],
        (date, "1767225600", "wrong_type"),
        *[(datetime, text, "invalid_datetime") for text in ['"1767225600"', '"2026-02-03"', '"2026-02-03 10:00:00"']],
        *[(datetime, text, "invalid_datetime") for text in ['"2026-02-03T10:00:00.1234567"', '"2026-02-30T10:00:00"']],
        (datetime, "1767225600", "wrong_type"),
        (time, '"1000"', "invalid_time"),
        (time, "36000", "wrong_type"),
        (timedelta, '"01:00:00"', "invalid_duration"),
        (timedelta, '"P"', "invalid_duration"),
        (timedelta, "60", "wrong_type"),
        (UUID, '"{0b2cf3a5-6d1e-4c1f-9a53-2f6f0f0c7d11}"', "invalid_uuid"),
        (UUID, '"0b2cf3a56d1e4c1f9a532f6f0f0c7d11"', "invalid_uuid"),
        (int, '"1"', "wrong_type"),
        (int, "1.0", "wrong_type"),
        (int, "true", "wrong_type"),
        (float, '"1"', "wrong_type"),
        (float, "true", "wrong_type"),
        (str, "1", "wrong_type"),
        (bool, "1", "wrong_type"),
        (bool, '"true"', "wrong_type"),
        (Literal[1], "true", "not_allowed_value"),
        (Literal[1], "1.0", "not_allowed_value"),
        (Literal[1], '"1"', "not_allowed_value"),
        (Literal[True], "1", "not_allowed_value"),
        (Level, "true", "not_allowed_value"),
        (Level, "1.0", "not_allowed_value"),
        (Level, '"1"', "not_allowed_value"),
        (Colour, '"Red"', "not_allowed_value"),
        (Colour, '"red "', "not_allowed_value"),
        (Annotated[str, Field(pattern="^[a-z]+$")], '"A"', "pattern"),
        (Annotated[str, Field(min_length=2)], '"a"', "too_short"),
        (Annotated[str, Field(max_length=1)], '"ab"', "too_long"),
        (Annotated[list[int], Field(min_length=1)], "[]", "too_short"),
        (Annotated[list[int], Field(max_length=1)], "[1, 2]", "too_long"),
        (Annotated[int, Field(ge=1)], "0", "too_small"),
        (Annotated[int, Field(lt=1)], "1", "too_large"),
        (Annotated[int, Field(multiple_of=5)], "7", "not_a_multiple"),
        (Annotated[Decimal, Field(max_digits=3)], '"1234"', "too_many_digits"),
        (Annotated[Decimal, Field(decimal_places=2)], '"1.234"', "too_many_digits"),
        (list[int], "{}", "wrong_type"),
        (dict[str, int], "[]", "wrong_type"),
        (None, "1", "wrong_type"),
    ],
)
def test_refuses(annotation: Any, text: str, rule: str):
    checked = judged(annotation, text)
    assert checked.value is None
    assert rules(checked) == [("/v", rule)]


@pytest.mark.parametrize("key", ["1_0", " 1", "٣", "1.0", "01"])
def test_refuses_keys_that_only_look_like_numbers(key: str):
    checked = judged(dict[int, str], json.dumps({key: "a"}))
    assert rules(checked) == [(f"/v/{key}", "invalid_integer")]


def test_python_code_gives_values_not_text():
    contract = one(date)
    assert contract(v=date(2026, 2, 3)).v == date(2026, 2, 3)
    with pytest.raises(ValidationError):
        contract(v=datetime(2026, 2, 3))
    with pytest.raises(ValidationError, match="frozen"):
        contract(v=date(2026, 2, 3)).v = date(2026, 2, 4)
    assert one(Level)(v=Level.LOW).v is Level.LOW


# Sentences.


@pytest.mark.parametrize(
    ("annotation", "text", "expected", "received", "sentence"),
    [
        (date, '"3.4.2026"', "a date, like 2026-11-30", '"3.4.2026"', "A date is needed, like 2026-11-30."),
        (int, '"7"', "a whole number", '"7"', "A whole number is needed; text was sent."),
        (float, '"1.234,56 €"', "a number", '"1.234,56 €"', "A number is needed; text was sent."),
        (str, "null", "text", "null", "Null is not allowed here: text is needed."),
        (str, "true", "text", "true", "Text is needed; true was sent."),
        (int | str, "[]", "a whole number or text", "[]", "A whole number or text is needed; a list was sent."),
        (
            int | str,
            "null",
            "a whole number or text",
            "null",
            "Null is not allowed here: a whole number or text is needed.",
        ),
        (
            Literal["approve", "reject", "needs_review"],
            '"Approve "',
            "'approve', 'reject' or 'needs_review'",
            '"Approve "',
            "One of these is needed: 'approve', 'reject' or 'needs_review'.",
        ),
        (Level, "3", "1 or 2", "3", "One of these is needed: 1 or 2."),
        (Annotated[int, Field(ge=1)], "0", "at least 1", "0", "This must be at least 1."),
        (
            Annotated[str, Field(min_length=1)],
            '""',
            "have at least 1 character",
            '""',
            "This must have at least 1 character.",
        ),
    ],
)
def test_says_what_is_needed(annotation: Any, text: str, expected: str, received: str, sentence: str):
    [violation] = judged(annotation, text).violations
    assert violation == Violation(Side.RETURNS, "/v", violation.rule, expected, received, sentence)


def test_missing_and_null_are_told_apart():
    class Pair(Contract):
        a: str
        b: str

    missing, null = check(Pair, '{"b": null}', side=Side.RECEIVES).violations
    assert (missing.pointer, missing.rule, missing.received) == ("/a", "missing", "")
    assert (null.pointer, null.rule, null.received) == ("/b", "null_not_allowed", "null")


@pytest.mark.parametrize(
    ("text", "received"),
    [
        (json.dumps("2" + "4" * 5000), "2444… 5001 digits"),
        (json.dumps("x" * 500), '"' + "x" * 120 + "… 500 characters"),
        (json.dumps(list(range(9000))), "a list of 9,000 items"),
        (json.dumps({str(n): n for n in range(6)}), "an object of 6 fields"),
        ('{"a": ["ä"]}', '{"a": ["ä"]}'),
    ],
)
def test_cuts_what_was_received(text: str, received: str):
    assert judged(int, text).violations[0].received == received


def test_a_validators_own_words_are_the_sentence():
    class Span(Contract):
        start: int
        end: int

        @model_validator(mode="after")
        def _in_order(self) -> Span:
            if self.end < self.start:
                raise ValueError("the end lies before the start")
            return self

    [violation] = check(Span, '{"start": 2, "end": 1}', side=Side.RETURNS).violations
    assert (violation.pointer, violation.rule) == ("", "invalid")
    assert violation.sentence == "The end lies before the start."


NOT_FROM_JSON = {  # raised for Python objects, calls, or types that no contract takes
    *{"no_such_attribute", "needs_python_object", "recursion_loop", "recursion_depth_exceeded", "frozen_field"},
    *{"frozen_instance", "invalid_key", "get_attribute_error", "dataclass_type", "dataclass_exact_type"},
    *{"named_tuple_type", "default_factory_not_called", "iteration_error", "string_unicode", "frozen_dict_type"},
    *{"ordered_dict_type", "counter_type", "deque_type", "set_item_not_hashable", "bytes_invalid_encoding"},
    *{"missing_sentinel_error", "ellipsis_error", "is_instance_of", "is_subclass_of", "callable_type"},
    *{"arguments_type", "missing_argument", "unexpected_keyword_argument", "missing_keyword_only_argument"},
    *{"unexpected_positional_argument", "missing_positional_only_argument", "multiple_argument_values"},
    *{"fraction_type", "fraction_parsing", "complex_type", "complex_str_parsing"},
}


class AnyWord(dict[str, Any]):
    def __missing__(self, key: str) -> str:
        return f"some {key}"


@pytest.mark.parametrize("kind", sorted(set(get_args(core_schema.ErrorType)) - NOT_FROM_JSON))
def test_each_error_that_json_can_cause_has_words(kind: str):
    finding = describe({"type": kind, "loc": (), "msg": "Pydantic's Words", "input": 1, "ctx": AnyWord(x=1)})
    assert re.fullmatch("[a-z_]+", finding.rule)
    assert finding.rule != kind or kind in {"missing", "too_short", "too_long"}
    assert kind in {"value_error", "assertion_error", "json_invalid", "json_type"} or "Pydantic" not in finding.sentence


# Where it is.


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


class Inner(Contract):
    a: int = 0


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


# Declarations that cannot work.


class Plain(BaseModel):
    a: int


@dataclass
class Data:
    a: int


class Loose(TypedDict):
    a: int


class Named(NamedTuple):
    a: int


@pytest.mark.parametrize(
    ("annotation", "words"),
    [
        (Annotated[str, Field(pattern=re.compile("^(a+)+$"))], "default regex engine"),
        (Annotated[int, Field(strict=False)], "strictness is switched off for int"),
        (Plain, "Plain is nested in it and is no Contract"),
        (list[Plain | None], "Plain is nested in it and is no Contract"),
        (Data, "a dataclass is nested"),
        (dict[str, Loose], "a TypedDict is nested"),
        (Named, "a named tuple is nested"),
    ],
)
def test_types_that_no_guard_reaches_are_refused(annotation: Any, words: str):
    with pytest.raises(DeclarationError, match=words):
        one(annotation)


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"regex_engine": "python-re"}, "default regex engine"),
        ({"strict": False}, "switches strict"),
        ({"frozen": False}, "switches strict or frozen"),
        ({"allow_inf_nan": True}, "allow_inf_nan"),
        ({"extra": "ignore"}, "drops unknown fields"),
    ],
)
def test_a_contract_cannot_be_loosened(config: ConfigDict, words: str):
    with pytest.raises(DeclarationError, match=words):
        type("Loosened", (Contract,), {"model_config": config})
    with pytest.raises(DeclarationError, match=words):
        type("Loosened", (Contract,), {}, **config)


def test_unknown_has_two_values():
    with pytest.raises(DeclarationError, match="'ignore'"):
        type("Ignoring", (Contract,), {}, unknown="ignore")


def test_forward_references_are_completed_late_and_guarded():
    class Early(Contract, unknown="count"):
        late: Late
        fine: Decimal

    class Late(Contract):
        amount: Decimal

    Early.model_rebuild()
    checked = check(Early, '{"late": {"amount": "1_0"}, "fine": "1_0"}', side=Side.RETURNS)
    assert rules(checked) == [("/late/amount", "invalid_decimal"), ("/fine", "invalid_decimal")]


def test_a_type_that_is_nowhere_is_a_wrong_declaration():
    contract = create_model("Lost", __base__=Contract, v=("Nowhere", ...))
    with pytest.raises(DeclarationError, match="Lost: name 'Nowhere' is not defined"):
        check(contract, "{}", side=Side.RETURNS)


# Facts that are carried.


class Line(Contract):
    sku: Annotated[str, Carried()]
    price: Decimal


class Seller(Contract):
    vat_id: Annotated[str, Carried()]
    note: str = ""


class Before(Contract):
    number: Annotated[str, Carried()]
    total: Annotated[Decimal, Carried()]
    at: Annotated[datetime, Carried()] | None = None
    seller: Seller | None = None
    lines: list[Line] = []
    remark: str = ""
    dropped: Annotated[str, Carried()] = ""


class After(Contract):
    number: str
    total: Decimal
    at: datetime | None = None
    seller: Seller | None = None
    lines: list[Line] = []
    remark: Annotated[str, Carried()] = ""
    added: Annotated[str, Carried()] = ""


@pytest.mark.parametrize(
    ("given_", "output", "found"),
    [
        ({"number": "7", "total": "1.10"}, {"number": "7", "total": "1.10"}, []),
        ({"total": "1.10"}, {"total": 1.1}, []),
        ({"total": "1E+2"}, {"total": "100"}, []),
        ({"total": "1.10"}, {"total": "1.11"}, ["/total"]),
        ({"number": "1.10"}, {"number": "1.1"}, ["/number"]),
        ({"number": "7"}, {}, ["/number"]),
        ({"number": "7"}, {"number": None}, ["/number"]),
        ({"number": "7"}, {"number": 7}, ["/number"]),
        ({}, {"number": "7"}, []),
        ({"at": "2026-01-01T10:00:00Z"}, {"at": "2026-01-01T11:00:00+01:00"}, []),
        ({"at": "2026-01-01T10:00:00Z"}, {"at": "2026-01-01T10:00:00"}, ["/at"]),
        ({"at": "2026-01-01T10:00:00Z"}, {"at": None}, ["/at"]),
        ({"at": None}, {}, []),
        ({"seller": {"vat_id": "X", "note": "a"}}, {"seller": {"vat_id": "X", "note": "b"}}, []),
        ({"seller": {"vat_id": "X"}}, {"seller": {"vat_id": "Y"}}, ["/seller/vat_id"]),
        ({"seller": {"vat_id": "X"}}, {"seller": None}, ["/seller/vat_id"]),
        ({"lines": [{"sku": "a"}, {"sku": "b"}]}, {"lines": [{"sku": "a"}, {"sku": "c"}]}, ["/lines/1/sku"]),
        ({"lines": [{"sku": "a"}, {"sku": "b"}]}, {"lines": [{"sku": "a"}]}, ["/lines/1/sku"]),
        ({"lines": [{"sku": "a"}]}, {}, ["/lines/0/sku"]),
        ({"remark": "a"}, {"remark": "b"}, ["/remark"]),
        ({"dropped": "a"}, {"added": "b"}, []),
        ([], {}, []),
        ({"total": "1.10"}, None, ["/total"]),
    ],
)
def test_carried_facts_stay_as_they_are(given_: object, output: object, found: list[str]):
    violations = check_carried(Before, given_, After, output)
    assert [violation.pointer for violation in violations] == found
    assert {(violation.side, violation.rule) for violation in violations} <= {(Side.RETURNS, "carried_changed")}


def test_a_changed_fact_is_shown_before_and_after():
    [violation] = check_carried(Before, {"number": "7"}, After, {"number": "8"})
    assert (violation.expected, violation.received) == ('"7"', '"8"')
    assert violation.sentence == 'This fact must be handed on unchanged: it was "7" and became "8".'


def test_a_mark_without_parentheses_is_a_mark():
    contract = one(Annotated[str, Carried])
    assert check_carried(contract, {"v": "a"}, contract, {"v": "b"})
    assert schema(contract)["properties"]["v"]["x-carried"] is True


# Confidence.


@pytest.mark.parametrize(("raw", "confidence"), [(None, None), (0, 0.0), (1, 1.0), (0.87, 0.87), (0.989999, 0.989999)])
def test_confidence(raw: object, confidence: float | None):
    assert read_confidence(raw) == (confidence, ())


@pytest.mark.parametrize(
    ("raw", "received"),
    [
        (95, "95"),
        (87.0, "87.0"),
        (-0.01, "-0.01"),
        (1.0000001, "1.0000001"),
        (10**400, "1000… 401 digits"),
        (True, "true"),
        (False, "false"),
        ("high", '"high"'),
        ("0.9", '"0.9"'),
        (float("nan"), "NaN"),
        (float("inf"), "Infinity"),
        ([0.9], "[0.9]"),
        ({}, "{}"),
        (Decimal("0.9"), '"0.9"'),
    ],
)
def test_invalid_confidence(raw: object, received: str):
    confidence, [violation] = read_confidence(raw)
    assert confidence is None
    assert (violation.side, violation.pointer, violation.rule) == (Side.ENVELOPE, "/confidence", "invalid_confidence")
    assert violation.received == received


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


# From a step to the next.


class Everything(Contract):
    decimal: Decimal
    day: date
    moment: datetime
    clock: time
    span: timedelta
    number: float
    whole: Annotated[int, Field(ge=-(2**63), lt=2**63)]
    text: str
    level: Level
    identity: UUID
    odd: Annotated[int, Field(alias="o/d")]


DAYS = st.dates(date(1, 1, 1))


@given(
    st.builds(
        lambda **values: Everything(**values),
        decimal=st.decimals(allow_nan=False, allow_infinity=False),
        day=DAYS,
        moment=st.datetimes(timezones=st.none() | st.just(UTC)),
        clock=st.times(),
        span=st.timedeltas(timedelta(days=-9999), timedelta(days=9999)),
        number=st.floats(allow_nan=False, allow_infinity=False),
        whole=st.integers(-(2**63), 2**63 - 1),
        text=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")),
        level=st.sampled_from(Level),
        identity=st.uuids(),
        **{"o/d": st.integers(0, 9)},
    )
)
def test_what_a_step_hands_over_is_what_the_next_receives(model: Everything):
    body = strict_json.read(dump(model).encode())
    assert isinstance(body, strict_json.Body)
    checked = check(Everything, body.text, side=Side.RECEIVES)
    assert checked.violations == ()
    assert checked.value == model


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.sampled_from([0.5, "cat", "dog", "1_0", "2026-02-03", "⟨0⟩"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["kind", "dog", "cat", "lives", *Home.model_fields]), inner, max_size=4)
    ),
)


@given(JSON)
def test_any_json_gets_an_answer_that_points_into_it(value: Any):
    for contract in (Home, Counting, Everything):
        checked = check(contract, json.dumps(value), side=Side.RECEIVES)
        assert (checked.value is None) == bool(checked.violations)
        for violation in checked.violations:
            parent, *path = value, *violation.pointer.split("/")[1:-1]
            for part in path:
                parent = parent[int(part) if isinstance(parent, list) else part]


# What was reported from elsewhere.


def case(name: str) -> Any:
    read = strict_json.read((CASES / name).read_bytes())
    assert isinstance(read, strict_json.Body)
    return read.data


def output(name: str) -> Checked:
    return check(InvoiceExtract, json.dumps(case(name)["output"]), side=Side.RETURNS)


def subscription(name: str) -> Checked:
    return check(SubscriptionSync, json.dumps(case(name)["input"]), side=Side.RECEIVES)


@pytest.mark.parametrize("name", ["_baseline_ok.json", "C01.json", "C03.json", "R13.json"])
def test_case_output_holds(name: str):
    assert output(name).violations == ()


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("M11.json", [("/total", "wrong_type")]),
        ("M13.json", [("/issue_date", "invalid_date")]),
        ("M15.json", [("/decision", "not_allowed_value")]),
        ("R09.json", [("/issue_date", "invalid_date")]),
    ],
)
def test_case_output_is_refused(name: str, found: list[tuple[str, str]]):
    assert rules(output(name)) == found


def test_case_m11_value_is_shown_as_sent():
    [violation] = output("M11.json").violations
    assert violation.received == '"1.234,56 €"'
    assert violation.sentence == "A number is needed; text was sent."


def test_case_m15_allowed_values_are_listed_in_order():
    [violation] = output("M15.json").violations
    assert violation.expected == "'approve', 'reject' or 'needs_review'"
    assert violation.received == '"Approve "'


@pytest.mark.parametrize(
    ("name", "found", "unknown"),
    [
        (
            "D01.json",
            [("/subscription/current_period_end", "missing"), ("/subscription/items", "unknown_field")],
            ("/subscription/items",),
        ),
        (
            "D03.json",
            [("/subscription/billing_mode", "unknown_field"), ("/api_release", "unknown_field")],
            ("/subscription/billing_mode", "/api_release"),
        ),
        ("D04.json", [("/subscription/status", "null_not_allowed")], ()),
    ],
)
def test_case_input_is_refused(name: str, found: list[tuple[str, str]], unknown: tuple[str, ...]):
    checked = subscription(name)
    assert (rules(checked), checked.unknown) == (found, unknown)


def test_case_d03_open_contract_takes_and_counts():
    checked = check(InvoiceDue, '{"event": "e", "invoice": {"id": "i", "tax": 1}, "release": 2}', side=Side.RECEIVES)
    assert checked.value.invoice.amount_due == 0
    assert sorted(checked.unknown) == ["/invoice/tax", "/release"]


def test_case_c01_confidence_is_refused_and_the_output_kept():
    confidence, [violation] = read_confidence(case("C01.json")["confidence"])
    assert (confidence, violation.rule, violation.received) == (None, "invalid_confidence", "95")


def test_case_c03_missing_confidence_is_none():
    assert read_confidence(case("C03.json").get("confidence")) == (None, ())


def test_case_c05_confidence_is_not_rounded():
    posted = [read_confidence(action["post"]["confidence"]) for action in case("C05.json")["actions"]]
    assert posted == [(0.989999, ()), (0.99, ()), (0.95, ())]


def plain(node: Any, defs: dict[str, Any]) -> Any:
    """A JSON Schema without references, titles, defaults, and what JSON Schema says in two ways."""
    if isinstance(node, list):
        return [plain(item, defs) for item in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        return plain(defs[node["$ref"].rpartition("/")[2]], defs)
    if "enum" in node:
        return {"enum": node["enum"]}
    words = {"title", "default", "$defs", "pattern", "x-kind", "x-decimal-places"}
    open_ = ("additionalProperties", True)
    return {k: plain(value, defs) for k, value in node.items() if k not in words and (k, value) != open_}


@pytest.mark.parametrize("name", CONTRACTS)
def test_case_contracts_are_those_of_the_file(name: str):
    found = schema(CONTRACTS[name])
    assert plain(found, found.get("$defs", {})) == plain(json.loads((CASES / "_contracts.json").read_bytes())[name], {})
