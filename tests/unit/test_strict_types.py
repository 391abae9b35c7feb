from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import IntEnum, StrEnum
from typing import Annotated, Any, Literal, NamedTuple
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model
from typing_extensions import TypeAliasType, TypedDict

from handoffs import strict_json
from handoffs.contracts import Contract, check, dump
from handoffs.errors import DeclarationError
from handoffs.states import Side
from tests.unit.judging import judged, one, rules


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


class Level(IntEnum):
    LOW = 1
    HIGH = 2


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
