"""pydantic's errors in words that a reviewer understands, under rules that stay the same.

Each error becomes a rule (a short stable word), what was expected (a noun phrase) and a sentence. pydantic's own
wording changes between versions and speaks to programmers; it is shown only for errors that a contract's author wrote.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from handoffs.strict_json import MAX_SHOWN, shown


@dataclass(frozen=True, slots=True)
class Finding:
    """One error put into words; `expected` is "" where nothing can be said beyond the sentence."""

    rule: str
    expected: str
    received: str
    sentence: str


_DATE: Final = ("a date", "2026-11-30")
_DATETIME: Final = ("a date and time", "2026-11-30T14:05:00Z")
_TIME: Final = ("a time", "14:05:00")
_DURATION: Final = ("a duration", "P1DT2H")
_DECIMAL: Final = ("a decimal number", "1234.56")
_UUID: Final = ("a UUID", "0b2cf3a5-6d1e-4c1f-9a53-2f6f0f0c7d11")
_URL: Final = ("a web address", "https://example.com/a")
_OBJECT: Final = ("an object", "")
_LIST: Final = ("a list", "")

# The JSON type is another one: what is needed, and an example where text has a form.
_TYPES: Final[Mapping[str, tuple[str, str]]] = {
    "string_type": ("text", ""),
    "int_type": ("a whole number", ""),
    "float_type": ("a number", ""),
    "bool_type": ("true or false", ""),
    "bytes_type": ("text", ""),
    "none_required": ("null", ""),
    "dict_type": _OBJECT,
    "mapping_type": _OBJECT,
    "model_type": _OBJECT,
    "model_attributes_type": _OBJECT,
    "list_type": _LIST,
    "tuple_type": _LIST,
    "set_type": _LIST,
    "frozen_set_type": _LIST,
    "iterable_type": _LIST,
    "date_type": _DATE,
    "datetime_type": _DATETIME,
    "time_type": _TIME,
    "time_delta_type": _DURATION,
    "decimal_type": _DECIMAL,
    "uuid_type": _UUID,
    "url_type": _URL,
}

# The text is not written as its type needs it.
_FORMS: Final[Mapping[str, tuple[str, tuple[str, str]]]] = {
    "invalid_date": ("invalid_date", _DATE),
    "date_parsing": ("invalid_date", _DATE),
    "date_from_datetime_parsing": ("invalid_date", _DATE),
    "date_from_datetime_inexact": ("invalid_date", _DATE),
    "invalid_datetime": ("invalid_datetime", _DATETIME),
    "datetime_parsing": ("invalid_datetime", _DATETIME),
    "datetime_from_date_parsing": ("invalid_datetime", _DATETIME),
    "datetime_object_invalid": ("invalid_datetime", _DATETIME),
    "invalid_time": ("invalid_time", _TIME),
    "time_parsing": ("invalid_time", _TIME),
    "invalid_duration": ("invalid_duration", _DURATION),
    "time_delta_parsing": ("invalid_duration", _DURATION),
    "invalid_decimal": ("invalid_decimal", _DECIMAL),
    "decimal_parsing": ("invalid_decimal", _DECIMAL),
    "invalid_uuid": ("invalid_uuid", _UUID),
    "uuid_parsing": ("invalid_uuid", _UUID),
    "uuid_version": ("invalid_uuid", ("a UUID of version {expected_version}", "")),
    "invalid_integer": ("invalid_integer", ("a whole number", "12")),
    "int_parsing": ("invalid_integer", ("a whole number", "12")),
    "int_parsing_size": ("invalid_integer", ("a shorter whole number", "")),
    "int_from_float": ("invalid_integer", ("a whole number", "12")),
    "float_parsing": ("invalid_number", ("a number", "1234.56")),
    "bool_parsing": ("wrong_type", ("true or false", "")),
    "finite_number": ("invalid_number", ("a finite number", "")),
    "string_not_ascii": ("not_ascii", ("text of plain ASCII characters", "")),
    "url_parsing": ("invalid_url", _URL),
    "url_syntax_violation": ("invalid_url", _URL),
    "url_scheme": ("invalid_url", ("a web address that begins with {expected_schemes}", "")),
    "timezone_naive": ("time_zone", ("a date and time without a time zone", "2026-11-30T14:05:00")),
    "timezone_aware": ("time_zone", _DATETIME),
    "timezone_offset": ("time_zone", ("a date and time of another time zone", "")),
}

# The value is of the right type and breaks a limit: "This must " + expected + ".".
_LIMITS: Final[Mapping[str, tuple[str, str]]] = {
    "greater_than": ("too_small", "be more than {gt}"),
    "greater_than_equal": ("too_small", "be at least {ge}"),
    "less_than": ("too_large", "be less than {lt}"),
    "less_than_equal": ("too_large", "be at most {le}"),
    "multiple_of": ("not_a_multiple", "be a multiple of {multiple_of}"),
    "string_too_short": ("too_short", "have at least {min_length} characters"),
    "string_too_long": ("too_long", "have at most {max_length} characters"),
    "bytes_too_short": ("too_short", "have at least {min_length} bytes"),
    "bytes_too_long": ("too_long", "have at most {max_length} bytes"),
    "url_too_long": ("too_long", "have at most {max_length} characters"),
    "too_short": ("too_short", "have at least {min_length} items"),
    "too_long": ("too_long", "have at most {max_length} items"),
    "string_pattern_mismatch": ("pattern", "match the pattern {pattern}"),
    "decimal_max_digits": ("too_many_digits", "have at most {max_digits} digits"),
    "decimal_max_places": ("too_many_digits", "have at most {decimal_places} digits after the decimal point"),
    "decimal_whole_digits": ("too_many_digits", "have at most {whole_digits} digits before the decimal point"),
    "date_past": ("not_past", "be in the past"),
    "datetime_past": ("not_past", "be in the past"),
    "date_future": ("not_future", "be in the future"),
    "datetime_future": ("not_future", "be in the future"),
}

_ALLOWED: Final[Mapping[str, str]] = {
    "literal_error": "{expected}",
    "enum": "{expected}",
    "union_tag_invalid": "{expected_tags}",
}


def describe(error: Mapping[str, Any]) -> Finding:
    """Put one of pydantic's error details into words."""
    kind, context = error["type"], error.get("ctx") or {}
    if kind in {"missing", "union_tag_not_found"}:
        return Finding("missing", "a value", "", "This field is missing.")
    if kind == "extra_forbidden":
        sentence = "The contract does not know this field."
        return Finding("unknown_field", "no such field", received(error["input"]), sentence)
    sent = context["tag"] if kind == "union_tag_invalid" else error["input"]
    rule, expected, sentence = _words(kind, context, str(error["msg"]))
    if sent is None and kind not in _LIMITS and expected:
        rule, sentence = "null_not_allowed", f"Null is not allowed here: {expected} is needed."
    elif rule == "wrong_type":
        sentence = f"{sentence[:-1]}; {sort(sent)} was sent."
    return Finding(rule, expected, received(sent), sentence)


def either(one: Finding, other: Finding) -> Finding:
    """Join what two members of a union say about the same place and rule."""
    if other.expected in one.expected.split(" or ") or not one.expected:
        return one
    expected = f"{one.expected} or {other.expected}"
    sentence = one.sentence.replace(_upper(one.expected), _upper(expected)).replace(
        f" {one.expected} ", f" {expected} "
    )
    return Finding(one.rule, expected, one.received, sentence)


def received(value: object) -> str:
    """Return a value as JSON, cut and safe to show; large lists and objects are named by their size."""
    if isinstance(value, list | tuple) and len(value) > 5:
        return f"a list of {len(value):,} items"
    if isinstance(value, dict) and len(value) > 5:
        return f"an object of {len(value):,} fields"
    if isinstance(value, str) and len(value) > MAX_SHOWN:
        cut = shown(value)
        return cut if cut.endswith(" digits") else f'"{cut}'
    return shown(json.dumps(value, ensure_ascii=False, default=str))


def sort(value: object) -> str:
    """Name the JSON type of a value."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return "text"
        case int() | float():
            return "a number"
        case dict():
            return "an object"
    return "a list"


def _words(kind: str, context: Mapping[str, Any], message: str) -> tuple[str, str, str]:
    """Return rule, expected and sentence."""
    if kind in _TYPES:
        return ("wrong_type", *_needed(*_TYPES[kind], context))
    if kind in _FORMS:
        rule, needed = _FORMS[kind]
        return (rule, *_needed(*needed, context))
    if kind in _LIMITS:
        rule, limit = _LIMITS[kind]
        expected = re.sub(r"\b(1 \w+)s\b", r"\1", limit.format_map(context))
        return rule, expected.removeprefix("be "), f"This must {expected}."
    if kind in _ALLOWED:
        expected = _ALLOWED[kind].format_map(context)
        return "not_allowed_value", expected, f"One of these is needed: {expected}."
    if kind in {"value_error", "assertion_error"}:
        return "invalid", "", _sentence(str(context.get("error") or message))
    return ("not_json" if kind.startswith("json_") else kind), "", _sentence(message)


def _needed(noun: str, example: str, context: Mapping[str, Any]) -> tuple[str, str]:
    noun = noun.format_map(context)
    like = f", like {example}" if example else ""
    return noun + like, f"{_upper(noun)} is needed{like}."


def _sentence(text: str) -> str:
    text = shown(text.strip(), 400)
    return _upper(text) + ("" if text.endswith((".", "!", "?")) else ".")


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]
