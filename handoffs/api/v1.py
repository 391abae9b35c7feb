"""Version 1 of the agents' API, put together: what every address has in common."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, wraps
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, get_script_prefix
from django.views.decorators.csrf import csrf_exempt
from ninja import NinjaAPI
from ninja.errors import AuthenticationError, ValidationError

from handoffs.api import asks, attachments, contracts, presenting, records, seams, work
from handoffs.api.auth import QUERIES, AgentBearer
from handoffs.api.problems import Problem, problem, reply_of
from handoffs.api.replies import JSON, PROBLEM, Json, dumped
from handoffs.errors import HandoffsError

api = NinjaAPI(
    title="Handoffs",
    version="1.0.0",
    description="Hand records in, take work, deliver results, ask people.",
    auth=AgentBearer(),
    docs_url=None,
    openapi_url=None,
    urls_namespace="handoffs-api",
)
for _router in (records.router, work.router, asks.router, contracts.router, seams.router, attachments.router):
    api.add_router("", _router)


@api.exception_handler(Problem)
@api.exception_handler(HandoffsError)
def refused(request: HttpRequest, error: Exception) -> HttpResponse:
    return reply_of(error).response()


@api.exception_handler(AuthenticationError)
def unauthorized(request: HttpRequest, error: AuthenticationError) -> HttpResponse:
    return problem(401, "unauthorized", "", {"WWW-Authenticate": 'Bearer realm="handoffs"'}).response()


@api.exception_handler(ValidationError)
def invalid(request: HttpRequest, error: ValidationError) -> HttpResponse:
    """A part of the address that can't be one is not found; a query parameter is said to be wrong."""
    if any(detail["loc"][0] == "path" for detail in error.errors):
        return not_found(request)
    wrong = [f"{detail['loc'][-1]}: {detail['msg']}." for detail in error.errors]
    return problem(422, "invalid_parameter", " ".join(wrong)).response()


def not_found(request: HttpRequest, *args: object, **kwargs: object) -> HttpResponse:
    return problem(404, "not_found", "There is nothing at this address.").response()


def failed(request: HttpRequest, status: int) -> HttpResponse | None:
    """The answer to an agent whose request fell through before or after a view; None where a page was asked for."""
    path, here = request.path, f"{get_script_prefix()}api/"
    if not path.startswith(here) or path.startswith(f"{here}docs/"):
        return None
    code = {400: "bad_request", 503: "unavailable"}.get(status, "internal_error")
    return problem(status, code, "", {"Retry-After": "2"} if status == 503 else {}).response()


def urls() -> list[URLPattern]:
    """The addresses, each answering in problems whatever is wrong."""
    patterns = [pattern for pattern in api.urls[0] if isinstance(pattern, URLPattern)]
    _note_queries()
    for pattern in patterns:
        pattern.callback = _in_problems(pattern.callback)
    return [pattern for pattern in patterns if pattern.name != "api-root"]


def _note_queries() -> None:
    for path, operations in api.get_openapi_schema(path_prefix="api/v1/")["paths"].items():
        route = path.lstrip("/").replace("{", "<").replace("}", ">")
        for method, operation in operations.items():
            named = frozenset(p["name"] for p in operation["parameters"] if p["in"] == "query")
            QUERIES[method.upper(), route] = named


def _in_problems(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    @csrf_exempt  # a bearer token is never sent by a browser on its own
    @wraps(view)
    def answering(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        response = view(request, *args, **kwargs)
        if response.status_code == 405:
            allowed = response.headers["Allow"]
            return problem(405, "method_not_allowed", f"Use {allowed}.", {"Allow": allowed}).response()
        return response

    return answering


@cache
def description(prefix: str) -> str:
    """The OpenAPI description, as JSON text."""
    found: Json = dict(api.get_openapi_schema(path_prefix=prefix))
    for operations in found["paths"].values():
        for operation in operations.values():
            _tell_media_types(operation)
    return dumped(found)


def _tell_media_types(operation: Json) -> None:
    for status, told in operation["responses"].items():
        if int(status) >= 400 and JSON in told.get("content", {}):
            told["content"][PROBLEM] = told["content"].pop(JSON)
    if operation["operationId"] == "openRecords":
        told = operation["responses"][200]
        told["content"] = {"application/x-ndjson": {"schema": {"type": "string"}}}
    if operation["operationId"] == "getAttachment":
        told = operation["responses"][200]
        told["content"] = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}


def openapi(request: HttpRequest) -> HttpResponse:
    """`openapi.json`: public, as it says nothing about this installation."""
    return HttpResponse(description(presenting.address("").lstrip("/")), content_type=JSON)
