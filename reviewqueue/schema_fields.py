"""What a contract's JSON Schema asks for, as fields a form can show.

Knows the schemas that contracts make, and takes the rest as JSON text: a form that guesses would change what was sent.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from enum import StrEnum
from functools import cache, cached_property
from typing import Any

from handoffs.contracts import Contract, schema
from handoffs.exact_json import Number, Value, parse

LONG = 120  # characters from which a text gets more than one line
Schema = Mapping[str, Any]


class Sort(StrEnum):
    """How a field is shown and read."""

    TEXT = "text"  # one line
    LONG = "long"  # several lines
    INTEGER = "integer"
    NUMBER = "number"  # a JSON number only
    DECIMAL = "decimal"  # a JSON number, or its text
    DATE = "date"
    DATETIME = "datetime"
    TIME = "time"
    CHOICE = "choice"  # one of a few values; booleans are two of them
    OBJECT = "object"
    LIST = "list"
    VARIANT = "variant"  # one of several objects, told apart by a tag
    JSON = "json"  # anything else


FORMATS = {"date": Sort.DATE, "date-time": Sort.DATETIME, "time": Sort.TIME}


@dataclass(frozen=True, eq=False)
class Shape:
    """One field as its contract declares it."""

    sort: Sort
    schema: Schema
    definitions: Schema
    label: str = ""
    help: str = ""
    required: bool = True
    nullable: bool = False
    carried: bool = False
    choices: tuple[Value, ...] = ()
    tag: str = ""  # of a variant: the key that tells which one
    hidden: frozenset[str] = field(default=frozenset())  # properties that are not part of the form

    @cached_property
    def properties(self) -> dict[str, Shape]:
        """The fields of an object by their keys."""
        needed = set(self.schema.get("required", ()))
        found = self.schema.get("properties", {})
        return {
            key: _read(found[key], self.definitions, key=key, required=key in needed)
            for key in found
            if key not in self.hidden
        }

    @property
    def keeps_unknown(self) -> bool:
        """Whether fields that the contract does not know are allowed."""
        return self.schema.get("additionalProperties") is not False

    @cached_property
    def item(self) -> Shape:
        """The items of a list."""
        return _read(self.schema.get("items", {}), self.definitions)

    @cached_property
    def variants(self) -> dict[str, Shape]:
        """The objects of a variant by their tags; the tag itself is not among their fields."""
        mapping = self.schema["discriminator"]["mapping"]
        return {
            tag: replace(_read({"$ref": ref}, self.definitions), hidden=frozenset({self.tag}))
            for tag, ref in mapping.items()
        }

    def tag_value(self, tag: str) -> Value:
        """The tag as a JSON value: a mapping's keys are text, while the tag may be a number."""
        whole = replace(self.variants[tag], hidden=frozenset())
        declared = whole.properties[self.tag].choices
        return next((choice for choice in declared if str(choice) == tag), tag)


@cache
def shape_of(contract: type[Contract], without: frozenset[str] = frozenset()) -> Shape:
    """A contract's body as an object field. `without` names keys that somebody else fills."""
    document = parse(json.dumps(schema(contract)))
    return replace(_read(document, document.get("$defs", {})), hidden=without)


def _read(given: Schema, definitions: Schema, *, key: str = "", required: bool = True) -> Shape:
    core, nullable = _without_null(_resolve(given, definitions), definitions)
    shape = Shape(
        _sort(core),
        core,
        definitions,
        label=_label(key, str(given.get("title", ""))),
        help=str(given.get("description") or core.get("description") or ""),
        required=required,
        nullable=nullable,
        carried=bool(given.get("x-carried") or core.get("x-carried")),
        choices=_choices(core),
        tag=str(core.get("discriminator", {}).get("propertyName", "")),
    )
    if shape.sort is Sort.CHOICE and None in shape.choices:
        return replace(shape, nullable=True, choices=tuple(c for c in shape.choices if c is not None))
    return shape


def _resolve(given: Schema, definitions: Schema) -> Schema:
    """Follow a reference; what stands beside it wins."""
    if "$ref" not in given:
        return given
    target = definitions.get(str(given["$ref"]).removeprefix("#/$defs/"), {})
    return {**target, **{name: value for name, value in given.items() if name != "$ref"}}


def _without_null(given: Schema, definitions: Schema) -> tuple[Schema, bool]:
    """Take `null` out of the alternatives; one that is left alone is the field itself."""
    alternatives = given.get("anyOf")
    if not isinstance(alternatives, list):
        return given, given.get("type") == "null"
    others = [each for each in alternatives if each.get("type") != "null"]
    nullable = len(others) < len(alternatives)
    if len(others) == 1:
        return _resolve(others[0], definitions), nullable
    return {**given, "anyOf": others}, nullable


def _sort(core: Schema) -> Sort:
    if "enum" in core or "const" in core:
        return Sort.CHOICE
    if "anyOf" in core:
        types = sorted(str(each.get("type")) for each in core["anyOf"])
        return Sort.DECIMAL if types == ["number", "string"] else Sort.JSON
    if "oneOf" in core:
        return Sort.VARIANT if "mapping" in core.get("discriminator", {}) else Sort.JSON
    return _sort_of_type(core)


def _sort_of_type(core: Schema) -> Sort:
    match core.get("type"):
        case "string":
            longest = core.get("maxLength")
            is_long = longest is not None and int(longest) > LONG
            return FORMATS.get(str(core.get("format", "")), Sort.LONG if is_long else Sort.TEXT)
        case "integer":
            return Sort.INTEGER
        case "number":
            return Sort.NUMBER
        case "boolean":
            return Sort.CHOICE
        case "object" if "properties" in core:
            return Sort.OBJECT
        case "array" if "items" in core and "prefixItems" not in core:
            return Sort.LIST
    return Sort.JSON


def _choices(core: Schema) -> tuple[Value, ...]:
    if "const" in core:
        return (core["const"],)
    if "enum" in core:
        return tuple(core["enum"])
    return (True, False) if core.get("type") == "boolean" else ()


def _label(key: str, title: str) -> str:
    """The title that the contract's author gave, else the key in words; pydantic's own title is only the key again."""
    if title and title.casefold() != key.replace("_", " ").casefold():
        return title
    words = key.replace("_", " ").strip()
    return words[:1].upper() + words[1:] or key


def is_of(shape: Shape, value: Value) -> bool:
    """Whether a value is of a JSON type that the field takes, so that its control can show it."""
    match shape.sort:
        case Sort.CHOICE:
            return any(value == choice and type(value) is type(choice) for choice in shape.choices)
        case Sort.INTEGER | Sort.NUMBER:
            return isinstance(value, Number)
        case Sort.OBJECT | Sort.VARIANT:
            return isinstance(value, dict)
        case Sort.LIST:
            return isinstance(value, list)
        case Sort.DECIMAL:
            return isinstance(value, str)  # a Number is one, too
        case Sort.DATE:
            return isinstance(value, str) and is_date(value)
        case Sort.JSON:
            return True
    return isinstance(value, str) and not isinstance(value, Number)


def is_date(text: str) -> bool:
    """Whether text is a calendar date as JSON has it; a date control swallows any other."""
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False
