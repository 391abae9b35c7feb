"""Valid values made from a contract's JSON Schema: where no example has one, and to fill the places it leaves empty."""

from __future__ import annotations

import re
from typing import Any

from handoffs.shapes import INFINITE, Shape

DEEPEST = 7
_FORMATS = {
    "date": "2026-11-30",
    "date-time": "2026-11-30T09:30:00Z",
    "time": "09:30:00Z",
    "duration": "PT1H",
    "uuid": "6f1c0b7e-5a1d-4c6a-9a5e-2f6f5f0c9a11",
    "decimal": "1",
    "email": "drill@example.org",
    "uri": "https://example.org/",
}
_TEXTS = ("drill", "a" * 64, "0" * 64, "A-1", "AB12", "1", "2026-11-30", "aa", "AAA", "0001", "a1", "DE123456789")


class NoSample(Exception):
    """No value of this shape could be made; the message says where."""


def sample(shape: Shape, *, depth: int = 0) -> Any:
    """Make a valid value, the plainest one. Raises `NoSample`."""
    forms = sorted(shape.forms(), key=lambda form: form.kind == "null")
    if depth > DEEPEST:
        raise NoSample("The contract has no end.")
    said = [form.schema["default"] for form in forms if form.schema.get("default") is not None]
    return said[0] if said else _of_form(forms[0], depth)


def _of_form(form: Shape, depth: int) -> Any:
    if form.values is not None:
        return form.values[0]
    match form.kind:
        case "object":
            fields = form.fields
            return {name: sample(fields[name], depth=depth + 1) for name in sorted(form.required) if name in fields}
        case "array":
            least = max(form.places, int(form.edges()[0][0]))
            return [sample(form.item(place), depth=depth + 1) for place in range(least)]
        case "string":
            return _text(form)
        case "number" | "integer":
            return _number(form)
        case "boolean":
            return False
        case _:
            return None


def _number(form: Shape) -> int | float:
    (low, low_out), (negated, high_out) = form.edges()
    high = -negated
    every = form.schema.get("multipleOf")
    if low in {-INFINITE, float("nan")} and high == INFINITE:
        return every or 1
    if low == -INFINITE:
        return int(high - 1) if float(high).is_integer() else high - 1
    value = low + 1 if low_out else low
    if value > high or (high_out and value >= high):
        value = (low + high) / 2
    return int(value) if float(value).is_integer() else value


def _text(form: Shape) -> str:
    schema = form.schema
    if (known := _FORMATS.get(schema.get("format", ""))) is not None:
        return _decimal_text(form, known) if schema.get("format") == "decimal" else known
    (least, _), (most, _) = form.edges()
    texts = [_fit(text, int(least), -most) for text in _TEXTS]
    pattern = schema.get("pattern")
    fitting = [text for text in texts if pattern is None or _matches(pattern, text)]
    if not fitting:
        raise NoSample(f"No text that fits the pattern {pattern} comes to mind.")
    return fitting[0]


def _decimal_text(form: Shape, known: str) -> str:
    return str(_number(form)) if "minimum" in form.schema else known


def _fit(text: str, least: int, most: float) -> str:
    longer = text + text[-1] * max(0, least - len(text))
    return longer if most == INFINITE else longer[: int(most)]


def _matches(pattern: str, text: str) -> bool:
    try:
        return re.search(pattern, text) is not None
    except re.error:
        return False


def enrich(shape: Shape, value: Any, *, depth: int = 0) -> Any:
    """Fill what a valid value leaves empty, null or out, so that every place of the contract is there to be broken.

    What can't be made stays as it was.
    """
    forms = [form for form in shape.forms() if form.kind != "null"]
    if depth > DEEPEST or not forms:
        return value
    try:
        if value is None:
            value = sample(Shape(forms[0].schema, forms[0].root, forms[0].name))
        if isinstance(value, dict) and (form := _object_form(forms, value)):
            filled = {name: enrich(field, value.get(name), depth=depth + 1) for name, field in form.fields.items()}
            return value | filled
        if isinstance(value, list) and (form := next((f for f in forms if f.kind == "array"), None)):
            items = [enrich(form.item(place), item, depth=depth + 1) for place, item in enumerate(value[:3])]
            most = -form.edges()[1][0]
            if not items and most >= 1:
                items = [enrich(form.item(0), sample(form.item(0), depth=depth + 1), depth=depth + 1)]
            return [*items, *value[3:]]
    except NoSample:
        return value
    return value


def _object_form(forms: list[Shape], value: dict[str, Any]) -> Shape | None:
    """The form of a union that this object most likely has: the one that knows most of its fields."""
    objects = [form for form in forms if form.kind == "object"]
    return max(objects, key=lambda form: len(form.fields.keys() & value.keys()), default=None)
