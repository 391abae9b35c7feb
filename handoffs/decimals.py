"""Decimals in a JSON Schema, which has no words for them."""

from __future__ import annotations

from typing import Any, Final, Literal

from pydantic.json_schema import GenerateJsonSchema
from pydantic_core.core_schema import DecimalSchema

DIGITS: Final[tuple[Literal["max_digits", "decimal_places"], ...]] = ("max_digits", "decimal_places")


class WithDecimals(GenerateJsonSchema):
    """Says of decimals what JSON Schema has no words for: that a text is one, and how many digits it may have."""

    def decimal_schema(self, schema: DecimalSchema) -> dict[str, Any]:
        made = super().decimal_schema(schema)
        limits = {f"x-{word}": schema[word] for word in DIGITS if schema.get(word) is not None}
        said: dict[str, dict[str, Any]] = {"number": limits, "string": {**limits, "format": "decimal"}}
        return {"anyOf": [{**form, **said[form["type"]]} for form in made["anyOf"]]}
