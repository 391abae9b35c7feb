"""The API's own page: every address with a command that can be copied, the errors and the limits."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from handoffs import conf
from handoffs.api import v1
from handoffs.api.problems import CODES
from handoffs.api.replies import JSON, LINES

SECTIONS = ("asks", "records", "work", "contracts", "attachments")
SAMPLE = {"flow": "tickets", "step": "classify", "record_id": "1042", "attempt": "1", "ask_id": "7"}
SENTENCES = {
    "asks": "Put a question to people, without declaring a flow.",
    "records": "Hand records in, and see what became of them.",
    "work": "Take a step's work and deliver it.",
    "contracts": "See what a step takes and returns, and try a body against it.",
    "attachments": "Files and links that belong to a record.",
}


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One operation as the page shows it."""

    name: str
    method: str
    path: str
    summary: str
    about: str
    curl: str
    parameters: list[tuple[str, str]]


@require_GET
def api_docs(request: HttpRequest) -> HttpResponse:
    """Public, as the description is: it says nothing about this installation but its address."""
    base = request.build_absolute_uri("/").rstrip("/")
    described = json.loads(v1.description("api/v1/"))["paths"]
    sections = [(name, SENTENCES[name], _endpoints(described, name, base)) for name in SECTIONS]
    errors = [(code, status, about) for code, (status, about) in CODES.items()]
    limits = {name: f"{int(conf.get(name.upper())):,}" for name in LIMITS}
    return render(request, "api_docs.html", {"base": base, "sections": sections, "errors": errors, "limits": limits})


LIMITS = (
    "max_body", "max_attachment", "max_batch_body", "batch_lines", "requests_per_minute", "longest_wait", "key_days",
)  # fmt: skip


def _endpoints(described: dict[str, Any], tag: str, base: str) -> list[Endpoint]:
    return [
        _endpoint(method, path, operation, base)
        for path, operations in described.items()
        for method, operation in operations.items()
        if tag in operation["tags"]
    ]


def _endpoint(method: str, path: str, operation: dict[str, Any], base: str) -> Endpoint:
    return Endpoint(
        operation["operationId"],
        method.upper(),
        path,
        operation["summary"],
        operation.get("description", ""),
        _curl(method, path, operation, base),
        [(p["name"], _kind(p["schema"])) for p in operation.get("parameters", []) if p["in"] == "query"],
    )


def _kind(schema: dict[str, Any]) -> str:
    shapes = [s for s in schema.get("anyOf", [schema]) if s.get("type") != "null"]
    return " or ".join(", ".join(map(str, s["enum"])) if "enum" in s else s.get("type", "text") for s in shapes)


def _curl(method: str, path: str, operation: dict[str, Any], base: str) -> str:
    filled = path
    for name, value in SAMPLE.items():
        filled = filled.replace(f"{{{name}}}", value)
    lines = [
        f'curl "{base}{filled.replace("{attachment_id}", "3")}"',
        '--header "Authorization: Bearer $HANDOFFS_TOKEN"',
    ]
    if method == "post":
        lines.append('--header "Idempotency-Key: $(uuidgen)"')
        lines += _body(operation.get("requestBody", {}).get("content", {}))
    return " \\\n  ".join(lines)


def _body(content: dict[str, Any]) -> list[str]:
    if JSON in content:
        return ['--header "Content-Type: application/json"', f"--data '{json.dumps(content[JSON]['example'])}'"]
    if LINES in content:
        return [f'--header "Content-Type: {LINES}"', "--data-binary @records.ndjson"]
    if content:
        return ['--header "Content-Type: application/pdf"', "--data-binary @order.pdf"]
    return ["--request POST"]
