"""How an operation describes itself: its answers, its body and its examples."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any

from pydantic import Field

from handoffs.api.replies import JSON, Json
from handoffs.api.schemas import Problem
from handoffs.contracts import Contract, schema

RecordId = Annotated[int, Field(ge=1, le=2**63 - 1)]
AttemptNumber = Annotated[int, Field(ge=1, le=2**31 - 1)]

ALWAYS = (401, 403, 404, 429, 503)
WRITES = (400, 409, 413, 415, 422)
KEY = {
    "in": "header",
    "name": "Idempotency-Key",
    "required": False,
    "description": "Repeat a request with the same key, and it is answered as before, once and for all.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$"},
    "example": "6f1c0b7e-5a1d-4c6a-9a5e-2f6f5f0c9a11",
}


def reads(operation_id: str, summary: str, ok: Any, *, refuses: Iterable[int] = ()) -> dict[str, Any]:
    """What describes an operation that changes nothing."""
    responses = {200: ok} | dict.fromkeys(sorted({*ALWAYS, 422, *refuses}), Problem)
    return {"operation_id": operation_id, "summary": summary, "response": responses}


def writes(
    operation_id: str, summary: str, ok: Mapping[int, Any], body: Json | None = None, **extra: Any
) -> dict[str, Any]:
    """What describes an operation that changes something. `body` is an OpenAPI requestBody."""
    responses = dict(ok) | dict.fromkeys(sorted({*ALWAYS, *WRITES}), Problem)
    described: Json = {"parameters": [KEY], **extra}
    if body is not None:
        described["requestBody"] = body
    return {"operation_id": operation_id, "summary": summary, "response": responses, "openapi_extra": described}


def json_body(properties: Json, example: object, *, required: tuple[str, ...] = ()) -> Json:
    """A requestBody: an object with these properties and no other."""
    shape = {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}
    return {"required": True, "content": {JSON: {"schema": shape, "example": example}}}


def contract_body(contract: type[Contract], example: object, *, required: bool = True) -> Json:
    """A requestBody that a contract judges."""
    return {"required": required, "content": {JSON: {"schema": inlined(contract), "example": example}}}


def properties_of(contract: type[Contract]) -> Json:
    found: Json = inlined(contract)["properties"]
    return found


def inlined(contract: type[Contract]) -> Json:
    """The JSON Schema of a contract, with what it refers to put in its place."""
    found: Json = schema(contract)
    definitions = found.pop("$defs", {})

    def put_in(node: Any) -> Any:
        if isinstance(node, list):
            return [put_in(item) for item in node]
        if not isinstance(node, dict):
            return node
        if "$ref" in node:
            return put_in(definitions[node["$ref"].rpartition("/")[2]])
        return {key: put_in(value) for key, value in node.items()}

    inside: Json = put_in(found)
    return inside
