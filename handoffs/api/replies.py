"""Replies as values: made once, sent now, and sent again to whoever repeats the request."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.http import HttpResponse

Json = dict[str, Any]
JSON = "application/json"
_encode = json.JSONEncoder(separators=(",", ":")).encode
PROBLEM = "application/problem+json"
LINES = "application/x-ndjson"


@dataclass(frozen=True, slots=True)
class Reply:
    """A status, a body as text, and headers."""

    status: int
    body: str
    headers: Mapping[str, str] = field(default_factory=dict)

    def response(self) -> HttpResponse:
        headers = {"Content-Type": JSON, "Cache-Control": "no-store", **self.headers}
        return HttpResponse(self.body, status=self.status, headers=headers)


def dumped(value: object) -> str:
    return _encode(value)


def reply(status: int, value: object, headers: Mapping[str, str] | None = None) -> Reply:
    return Reply(status, dumped(value), headers or {})


def spliced(value: Json, key: str, text: str) -> str:
    """The JSON text of `value` with one more member, whose text is put in as it is: no number changes on the way."""
    inside = dumped(value)[1:-1]
    return "{" + inside + ("," if inside else "") + f"{json.dumps(key)}:{text}" + "}"
