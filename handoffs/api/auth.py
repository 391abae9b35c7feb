"""Who calls: a bearer token and nothing else. Cookies and query strings are not looked at."""

from __future__ import annotations

import json

from django.http import HttpRequest
from ninja.security import HttpBearer
from structlog.contextvars import bind_contextvars

from handoffs import asks
from handoffs.actions import agents
from handoffs.api import limits
from handoffs.api.cutting import member
from handoffs.api.problems import Problem
from handoffs.errors import NotAllowed
from handoffs.flows import Flow, Step, get_flow
from handoffs.models import AgentToken, Record
from handoffs.models.moves import ReadRow
from handoffs.scopes import EVERY, Verb
from handoffs.states import INTAKE


class AgentBearer(HttpBearer):
    """`Authorization: Bearer hf_…`"""

    openapi_bearerFormat = "hf_<id>_<secret>"  # noqa: N815 - the name OpenAPI has for it

    def authenticate(self, request: HttpRequest, token: str) -> AgentToken | None:
        try:
            found, read = agents.authenticate_beside(token.strip(), _worked_on(request))
        except NotAllowed:
            return None
        request.read_beside = read  # type: ignore[attr-defined]
        bind_contextvars(actor=found.actor)
        limits.count_request(found)
        _require_known_query(request)
        return found


def _worked_on(request: HttpRequest) -> int | None:
    """The record of an attempt that the address names: its row is needed as soon as the token is known."""
    named = request.resolver_match.kwargs if request.resolver_match else {}
    digits = str(named.get("record_id", "")) if "attempt" in named else ""
    return int(digits) if digits.isdecimal() and digits.isascii() and len(digits) < 19 else None


def read_beside(request: HttpRequest) -> ReadRow | None:
    """The row of the record whose attempt the address names, as it was read with the token."""
    found: ReadRow | None = request.read_beside  # type: ignore[attr-defined]
    return found


QUERIES: dict[tuple[str, str], frozenset[str]] = {}
"""The query parameters that an address knows, by method and route; filled where the addresses are put together."""


def _require_known_query(request: HttpRequest) -> None:
    """A parameter that nobody reads would be a filter that silently finds everything."""
    route = request.resolver_match.route if request.resolver_match else ""
    known = QUERIES.get((str(request.method), route), frozenset())
    if unknown := sorted(set(request.GET) - known):
        raise Problem("invalid_parameter", f"The address has no parameter “{unknown[0][:100]}”.")


def caller(request: HttpRequest) -> AgentToken:
    """The token that this request was let in with."""
    token: AgentToken = request.auth  # type: ignore[attr-defined]
    return token


def require(request: HttpRequest, verb: Verb, flow: str, step: str | None = None) -> None:
    """Require a scope. Raises `NotAllowed`, whether or not such a flow exists."""
    if not caller(request).allows(verb, flow, step):
        place = f"{flow}/{step}" if step else flow
        raise NotAllowed(f"This token's scopes do not allow “{verb}” on {place}.")


def flow_for(request: HttpRequest, verb: Verb, name: str) -> Flow:
    """A flow that the caller may do `verb` with. Raises `NotAllowed`, `UnknownFlow`."""
    # Asks are divided by their queues: only a token for all of them may go through them as a flow.
    require(request, verb, name, EVERY if name == asks.FLOW else None)
    return get_flow(name)


def step_for(request: HttpRequest, verb: Verb, flow: str, name: str) -> tuple[Flow, Step]:
    """A step at which the caller may do `verb`. Raises `NotAllowed`, `UnknownFlow`, `UnknownStep`."""
    require(request, verb, flow, name)
    found = get_flow(flow)
    return found, found.step(name)


def record_for(request: HttpRequest, verb: Verb, record_id: int) -> Record:
    """A record that the caller may do `verb` with. To a token without any scope on its flow it does not exist.

    Raises:
        Problem: there is none, or none for this token.
        NotAllowed: there is, but the verb is not in scope.
    """
    record = Record.objects.filter(pk=record_id).select_related("queue").first()
    if record is None or not caller(request).knows(record.flow):
        raise Problem("not_found", f"There is no record {record_id}.")
    require(request, verb, record.flow, asked_queue(record) if record.flow == asks.FLOW else None)
    return record


def asked_text(record: Record) -> str:
    """The text of the ask that a record of the built-in flow began with; empty once it is purged."""
    taken = record.results.filter(step=INTAKE).order_by("pk").values_list("output", flat=True).first()
    return taken or ""


def asked_queue(record: Record) -> str:
    """The queue that an ask named; people may have moved it to another since."""
    return str(json.loads(member(asked_text(record), "queue") or "null") or record.queue.slug)
