"""Values that a schema rules out, for one place of a body: (class, note in words, value)."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from typing import Any

from handoffs.shapes import INFINITE, Shape

Broken = tuple[str, str, Any]
MOST_CHARACTERS = 200_000  # of a text that is made too long
MOST_BYTES = 1_000_000  # of a list that is made too long

_WORDS = {
    "string": "a text",
    "number": "a number",
    "integer": "a whole number",
    "boolean": "true",
    "array": "a list",
    "object": "an object",
}
_NOT_SO = {
    "date": ("30.11.2026", "11/30/2026", "2026-11-31", "20261130"),
    "date-time": ("30.11.2026 09:30", "2026-11-30 09:30", "1796031000"),
    "time": ("9 o'clock",),
    "duration": ("1 hour",),
    "uuid": ("not-a-uuid",),
    "email": ("nobody",),
    "uri": ("not a uri",),
}


def values(shape: Shape, value: Any, chance: random.Random) -> Iterator[Broken]:
    """Every way to break one place, value by value."""
    forms = shape.forms()
    kinds = {form.kind for form in forms}
    if "any" in kinds:
        return
    if "null" not in kinds:
        yield "null", "null stands there", None
    yield from _of_other_types(kinds, value, chance)
    for kind in sorted(kinds - {"null"}):
        yield from _of_forms([form for form in forms if form.kind == kind], kinds, value, chance)
    if value not in (None, "", [], {}) and "string" not in kinds:
        yield "wrong_type", "JSON within a text", json.dumps(value)


def _of_other_types(kinds: set[str], value: Any, chance: random.Random) -> Iterator[Broken]:
    others: dict[str, Any] = {
        "string": f"text-{chance.randrange(1000)}",
        "number": chance.randrange(1000) + 0.5,
        "integer": chance.randrange(1000),
        "boolean": True,
        "array": [value],
        "object": {"value": value},
    }
    for kind, other in others.items():
        if kind in kinds or (kind == "integer" and "number" in kinds):
            continue
        yield "wrong_type", f"{_WORDS[kind]} in its place", other
    if "integer" in kinds and "string" not in kinds:
        yield "wrong_type", "a number within a text", str(value if isinstance(value, int) else 1)


def _of_forms(forms: Sequence[Shape], kinds: set[str], value: Any, chance: random.Random) -> Iterator[Broken]:
    """Break what is said about one type. A union of it is broken only where every member is."""
    if all(form.values is not None for form in forms):
        yield from _beside([allowed for form in forms for allowed in form.values or ()], forms[0].kind, value, chance)
        return
    if len(forms) > 1:
        return
    form = forms[0]
    match form.kind:
        case "string":
            yield from _texts(form, value, chance)
        case "number" | "integer":
            yield from _numbers(form, decimal="string" in kinds)
        case "array" if isinstance(value, list):
            yield from _lists(form, value)
        case "object" if isinstance(value, dict) and form.required:
            yield "empty", "an object without fields", {}


def _beside(allowed: list[Any], kind: str, value: Any, chance: random.Random) -> Iterator[Broken]:
    if kind != "string":
        numbers = [one for one in allowed if isinstance(one, int)]
        if numbers and kind in {"integer", "number"}:
            yield "wrong_enum", "a number that is not in the list", max(numbers) + 1 + chance.randrange(9)
        elif kind == "boolean" and len(allowed) == 1:
            yield "wrong_enum", "the other one", not allowed[0]
        return
    yield "wrong_enum", "a word that is not in the list", f"other-{chance.randrange(1000)}"
    yield "empty", "an empty text", ""
    word = value if isinstance(value, str) else str(allowed[0])
    for cased in dict.fromkeys((word.upper(), word.lower(), word.title(), f" {word}")):
        if cased not in allowed:
            yield "enum_case", f"written as “{cased}”", cased


def _texts(form: Shape, value: Any, chance: random.Random) -> Iterator[Broken]:
    schema = form.schema
    named = schema.get("format", "")
    if named == "decimal":
        yield from _decimals(form, value)
        return
    text = value if isinstance(value, str) and value else "drill"
    if named in _NOT_SO:
        yield "empty", "an empty text", ""
        for wrong in _NOT_SO[named]:
            is_local = named.startswith("date") and not wrong[:4].isdecimal()
            yield ("locale_date" if is_local else "bad_format"), f"“{wrong}” in its place", wrong
        return
    (least, _), (negated, _) = form.edges()
    if least >= 1:
        yield "empty", "an empty text", ""
    if least > 1:
        yield "too_short", f"{least - 1:g} characters", (text * int(least))[: int(least) - 1]
    if -negated < MOST_CHARACTERS:
        longer = int(-negated) + 1
        yield "too_long", f"{longer:,} characters", (text * longer)[:longer]
    if "pattern" in schema:
        yield "pattern", "a text that does not fit the pattern", f"?!{chance.randrange(1000)}"
        yield "pattern", "with something after it", f"{text}!"


def _decimals(form: Shape, value: Any) -> Iterator[Broken]:
    yield "empty", "an empty text", ""
    for wrong in ("1.234,56", "1,234.56", "12,5", "1 234", "1_000", "€ 12", "1e9999", "NaN", "١٢"):
        kind = "locale_number" if set(wrong) & set(",_ €١") else "bad_format"
        yield kind, f"“{wrong}” in its place", wrong
    if digits := form.schema.get("x-max_digits"):
        yield "out_of_range", f"{digits + 1} digits", "1" * (digits + 1)
    if (decimals := form.schema.get("x-decimal_places")) is not None:
        yield "out_of_range", f"{decimals + 1} decimals", "0." + "0" * decimals + "1"


def _numbers(form: Shape, *, decimal: bool) -> Iterator[Broken]:
    """Beyond the ends of a range; a decimal's range stands at its number, and is broken as text."""
    (low, low_out), (negated, high_out) = form.edges()
    beyond = []
    if low > -INFINITE:
        beyond += [("below what is allowed", low - 1), *([("the end, which is out", low)] if low_out else [])]
    if negated > -INFINITE:
        beyond += [("above what is allowed", 1 - negated), *([("the end, which is out", -negated)] if high_out else [])]
    for note, number in beyond:
        plain = int(number) if float(number).is_integer() else number
        yield "out_of_range", f"{plain}, {note}", str(plain) if decimal else plain
    if every := form.schema.get("multipleOf"):
        yield "out_of_range", f"not a multiple of {every}", every * 1.5
    if form.kind == "integer" and not decimal:
        yield "wrong_type", "half a number", 0.5


def _lists(form: Shape, value: list[Any]) -> Iterator[Broken]:
    (least, _), (negated, _) = form.edges()
    if least >= 1:
        yield "empty", "a list without items", []
    if least > 1:
        yield "too_short", f"{least - 1:g} items", value[: int(least) - 1]
    size = len(json.dumps(value[:1]))
    if negated > -INFINITE and value and (1 - negated) * size < MOST_BYTES * 3:
        longer = int(1 - negated)
        yield "too_long", f"{longer:,} items", (value * longer)[:longer]


def renamed(name: str, chance: random.Random) -> str:
    """A name that somebody else would have chosen."""
    head, *rest = name.split("_")
    camel = head + "".join(part.title() for part in rest)
    return camel if camel != name else f"{name}_{chance.choice(['new', 'v2', 'text'])}"


def unknown_name(shape: Shape, chance: random.Random) -> str | None:
    """A field that an object does not know; None where any field goes."""
    objects = [form for form in shape.forms() if form.kind == "object"]
    if not objects or any(form.rest is not None for form in objects):
        return None
    return f"new_field_{chance.randrange(10_000)}"
