"""A contract's JSON Schema, read as the forms a value may take."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from handoffs import contracts
from handoffs.contracts import Contract

Edge = tuple[float, bool]  # where a range ends, and whether its end is out already; of two edges the greater is tighter

INFINITE = float("inf")
_NOTES = frozenset({"title", "description", "default", "examples", "deprecated", "discriminator", "$defs", "$ref"})
_RANGES = {
    "object": ("minProperties", "maxProperties"),
    "array": ("minItems", "maxItems"),
    "string": ("minLength", "maxLength"),
    "number": ("minimum", "maximum"),
    "integer": ("minimum", "maximum"),
}
_TYPES = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object"}


@dataclass(frozen=True, slots=True)
class Shape:
    """One place of a schema. `root` is the whole, in which references are looked up; `name` the last one followed."""

    schema: Mapping[str, Any]
    root: Mapping[str, Any]
    name: str | None = None

    @classmethod
    def of(cls, contract: type[Contract]) -> Shape:
        """Read a contract's schema."""
        whole = contracts.schema(contract)
        return cls(whole, whole)

    def forms(self) -> list[Shape]:
        """List the single forms this place allows: references, unions and lists of types are opened up."""
        said = {word: value for word, value in self.schema.items() if word not in _NOTES}
        if reference := self.schema.get("$ref"):
            return Shape({**self._target(reference), **said}, self.root, reference).forms()
        for union in ("anyOf", "oneOf"):
            if branches := said.pop(union, None):
                return [form for branch in branches for form in self._as({**said, **branch}).forms()]
        if "const" in said:
            said["enum"] = [said.pop("const")]
        kinds = said.get("type")
        if "enum" in said and not isinstance(kinds, str):
            return [self._as({**said, "type": kind, "enum": some}) for kind, some in _by_type(said["enum"]).items()]
        return [self._as({**said, "type": kind}) for kind in kinds] if isinstance(kinds, list) else [self._as(said)]

    def _target(self, reference: str) -> Mapping[str, Any]:
        place: Mapping[str, Any] = self.root
        for part in reference.removeprefix("#/").split("/"):
            place = place[part.replace("~1", "/").replace("~0", "~")]
        return place

    def _as(self, schema: Mapping[str, Any]) -> Shape:
        return Shape(schema, self.root, self.name)

    def _inner(self, schema: Mapping[str, Any]) -> Shape:
        return Shape(schema, self.root)

    def at(self, path: Sequence[str]) -> Shape | None:
        """Find a field by its path; None when no form of this place has it."""
        if not path:
            return self
        inner = (form.field(path[0]) for form in self.forms())
        return next((found for field in inner if field and (found := field.at(path[1:]))), None)

    def without(self, keys: Collection[str]) -> Shape:
        """Read the same object without some of its fields."""
        form = self.forms()[0]
        fields = {name: field for name, field in form.schema.get("properties", {}).items() if name not in keys}
        return form._as({**form.schema, "properties": fields, "required": sorted(form.required - set(keys))})

    # What follows reads a single form.

    @property
    def kind(self) -> str:
        """The JSON type, or "any"."""
        return str(self.schema.get("type", "any"))

    @property
    def values(self) -> Sequence[Any] | None:
        """The only values allowed, None when there is no such list."""
        return self.schema.get("enum")

    @property
    def fields(self) -> dict[str, Shape]:
        """The named fields of an object."""
        return {name: self._inner(field) for name, field in self.schema.get("properties", {}).items()}

    @property
    def required(self) -> frozenset[str]:
        """The fields that an object always has."""
        return frozenset(self.schema.get("required", ()))

    @property
    def is_open(self) -> bool:
        """Whether an object may have fields beside the named ones."""
        return self.schema.get("additionalProperties", True) is not False

    @property
    def rest(self) -> Shape | None:
        """What stands under the free keys of an object, None when nothing is said about it."""
        said = [self.schema.get("additionalProperties"), *self.schema.get("patternProperties", {}).values()]
        return next((self._inner(rest) for rest in said if isinstance(rest, Mapping)), None)

    @property
    def places(self) -> int:
        """How many places of a list have a form of their own."""
        return len(self.schema.get("prefixItems", ()))

    def item(self, place: int) -> Shape:
        """Read what stands at one place of a list."""
        first: Sequence[Any] = self.schema.get("prefixItems", ())
        items = first[place] if place < len(first) else self.schema.get("items")
        return self._inner(items if isinstance(items, Mapping) else {})

    def field(self, name: str) -> Shape | None:
        """Read one field of an object or one place of a list; None when it isn't there."""
        if self.kind == "array":
            return self.item(int(name) if name.isascii() and name.isdecimal() else self.places)
        return self.fields.get(name) or (self.rest if self.kind == "object" else None)

    def edges(self) -> tuple[Edge, Edge]:
        """Give the lower edge of the value, length or count, and the upper one negated; minus infinite when free."""
        low, high = _RANGES.get(self.kind, ("", ""))
        least = -INFINITE if low in {"", "minimum"} else 0
        lower, upper = (self.schema.get(low, least), False), (-self.schema.get(high, INFINITE), False)
        step = self.kind == "integer"  # a whole number above 0 is one from 1
        if low == "minimum" and "exclusiveMinimum" in self.schema:
            lower = max(lower, (self.schema["exclusiveMinimum"] + step, not step))
        if high == "maximum" and "exclusiveMaximum" in self.schema:
            upper = max(upper, (step - self.schema["exclusiveMaximum"], not step))
        return lower, upper


def _by_type(values: Sequence[Any]) -> dict[str, list[Any]]:
    kinds: dict[str, list[Any]] = {}
    for value in values:
        kinds.setdefault(_TYPES.get(type(value), "null"), []).append(value)
    return kinds


def spoken(values: Sequence[Any]) -> str:
    """List some values as JSON, cut short."""
    shown = [json.dumps(value, ensure_ascii=False)[:40] for value in values[:8]]
    return ", ".join(shown) + (", …" if len(values) > 8 else "")
