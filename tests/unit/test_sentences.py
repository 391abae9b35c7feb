from __future__ import annotations

import json
import re
from datetime import date
from enum import IntEnum
from typing import Annotated, Any, Literal, get_args

import pytest
from pydantic import Field, model_validator
from pydantic_core import core_schema

from handoffs.contracts import Contract, Violation, check
from handoffs.sentences import describe, sort
from handoffs.states import Side
from tests.unit.judging import judged


class Level(IntEnum):
    LOW = 1
    HIGH = 2


@pytest.mark.parametrize(
    ("annotation", "text", "expected", "received", "sentence"),
    [
        (date, '"3.4.2026"', "a date, like 2026-11-30", '"3.4.2026"', "A date is needed, like 2026-11-30."),
        (int, '"7"', "a whole number", '"7"', "A whole number is needed; text was sent."),
        (float, '"1.234,56 €"', "a number", '"1.234,56 €"', "A number is needed; text was sent."),
        (str, "null", "text", "null", "Null is not allowed here: text is needed."),
        (str, "true", "text", "true", "Text is needed; true was sent."),
        (None, "[]", "null", "[]", "Null is needed; a list was sent."),
        (list[int] | tuple[str, ...], '{"a": 1}', "a list", '{"a": 1}', "A list is needed; an object was sent."),
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


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (None, "null"),
        (True, "true"),
        (False, "false"),
        (0, "a number"),
        (0.5, "a number"),
        ("", "text"),
        ([], "a list"),
        ({}, "an object"),
    ],
)
def test_names_the_types_of_json(value: object, name: str):
    assert sort(value) == name
