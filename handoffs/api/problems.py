"""Refusals as RFC 9457 problems, and the one map from the domain's errors to status codes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from django.db import OperationalError

from handoffs.api.replies import PROBLEM, Json, Reply, dumped
from handoffs.contracts import Violation
from handoffs.errors import (
    ContractBroken,
    DeclarationError,
    ExternalIdInUse,
    HandoffsError,
    LostRace,
    NotAllowed,
    RecordPurged,
    StaleAttempt,
    StepNotOpen,
    TransitionNotAllowed,
    UnfitAttachment,
    UnknownFlow,
    UnknownQueue,
    UnknownRecord,
    UnknownStep,
)
from handoffs.states import Side

STATUS: dict[type[HandoffsError], int] = {
    NotAllowed: 403,
    UnknownFlow: 404,
    UnknownStep: 404,
    UnknownRecord: 404,
    UnknownQueue: 409,
    StaleAttempt: 409,
    StepNotOpen: 409,
    ExternalIdInUse: 409,
    TransitionNotAllowed: 409,
    LostRace: 409,
    RecordPurged: 409,
    ContractBroken: 422,
    DeclarationError: 422,
    UnfitAttachment: 422,
}

# code → (status, what it means and what to do); the docs page shows this table.
CODES: dict[str, tuple[int, str]] = {
    "not_json": (400, "The body is not JSON. A Markdown code fence around it is the usual reason."),
    "empty": (400, "The body is empty."),
    "bad_encoding": (400, "The body is not UTF-8, or begins with a byte order mark."),
    "duplicate_key": (400, "An object has the same key twice."),
    "invalid_number": (400, "NaN, Infinity, or a number larger than a number can be."),
    "inexact_number": (400, "A number with more digits than a float holds; send it as a string."),
    "huge_integer": (400, "A whole number beyond 64 bits; send it as a string."),
    "unstorable_character": (400, "NUL, or half of a surrogate pair."),
    "too_deep": (400, "The body is nested too deeply."),
    "incomplete_body": (400, "The connection ended before the body did."),
    "invalid_form": (400, "The multipart/form-data can't be read, or has not exactly one file."),
    "bad_request": (400, "The Host header names a host that this site does not have, or the request is malformed."),
    "invalid_idempotency_key": (400, "An Idempotency-Key has 1 to 255 visible ASCII characters."),
    "unauthorized": (401, "The token is missing, unknown, expired or revoked. Sessions and ?token= are not accepted."),
    "not_allowed": (403, "The token's scopes do not allow this here."),
    "not_found": (404, "Nothing is there, or nothing that this token may know of."),
    "unknown_flow": (404, "No flow of that name is declared."),
    "unknown_step": (404, "The flow has no step of that name."),
    "method_not_allowed": (405, "The address does not take this method; Allow names those it takes."),
    "stale_attempt": (409, "The attempt has ended. What was delivered is kept in the record's history; start anew."),
    "step_not_open": (409, "The record does not stand at that step, or no attempt of that number can begin now."),
    "duplicate_result": (409, "This attempt was delivered before with the same output, and refused then."),
    "external_id_in_use": (409, "Another body came with this external_id; nothing was written."),
    "idempotency_key_running": (409, "The first request with this key is still being answered; repeat it later."),
    "unknown_queue": (409, "The queue does not exist; an administrator has to make it."),
    "transition_not_allowed": (409, "The record's status does not allow this."),
    "lost_race": (409, "Somebody else changed the record first."),
    "record_purged": (409, "The record's bodies were erased."),
    "too_large": (413, "The body is larger than the limit; both numbers are in the answer."),
    "unsupported_media_type": (415, "The body's type is not taken here."),
    "unsupported_encoding": (415, "Compressed bodies are not taken."),
    "contract_broken": (422, "The body breaks its contract; every violation is listed."),
    "invalid_confidence": (422, "The confidence is no number from 0 to 1. The output is kept."),
    "invalid_parameter": (422, "A query parameter can't be used as it is."),
    "idempotency_key_reused": (422, "The key came before with another request."),
    "unfit_attachment": (422, "An attachment is a file within the limit, or a link by http or https."),
    "declaration": (422, "What was declared can't work; the sentence says why."),
    "rate_limited": (429, "Too many requests; Retry-After says how many seconds to wait."),
    "internal_error": (500, "A fault on our side; nothing was kept of the request. Repeat it with the same key."),
    "unavailable": (503, "The database is busy or away; repeat the request."),
}  # fmt: skip


class Problem(Exception):
    """A refusal that only HTTP knows."""

    def __init__(
        self, code: str, detail: str = "", *, headers: Mapping[str, str] | None = None, status: int = 0, **more: Any
    ) -> None:
        super().__init__(detail)
        self.code, self.detail, self.headers, self.more = code, detail, headers or {}, more
        self.status = status or CODES[code][0]

    def reply(self) -> Reply:
        return problem(self.status, self.code, self.detail, self.headers, **self.more)


def problem(status: int, code: str, detail: str, headers: Mapping[str, str] | None = None, **more: Any) -> Reply:
    """A reply of the type application/problem+json; `more` are further members."""
    body: Json = {
        "type": f"/api/docs/#error-{code}",
        "title": code.replace("_", " ").capitalize(),
        "status": status,
        "code": code,
        "detail": detail or CODES.get(code, (0, ""))[1],
        **more,
    }
    return Reply(status, dumped(body), {"Content-Type": PROBLEM, **(headers or {})})


def reply_of(error: Exception) -> Reply:
    """The answer to an error. One that nobody foresaw is raised again: it is a bug, and must be seen."""
    if isinstance(error, Problem):
        return error.reply()
    if isinstance(error, ContractBroken):
        return problem(422, error.code, str(error), violations=violations(error.violations))
    if isinstance(error, HandoffsError) and type(error) in STATUS:
        return problem(STATUS[type(error)], error.code, str(error))
    if isinstance(error, OperationalError):
        return problem(503, "unavailable", "", {"Retry-After": "2"})
    raise error


PREFIX = {Side.RETURNS: "/output", Side.INTAKE: "/input", Side.RECEIVES: "/input"}


def violations(found: Iterable[Violation]) -> list[Json]:
    """Violations as the API tells them: pointers lead into the body that was sent."""
    return [
        {
            "side": v.side.value,
            "pointer": PREFIX.get(v.side, "") + v.pointer,
            "rule": v.rule,
            "expected": v.expected,
            "received": v.received,
            "sentence": v.sentence,
        }
        for v in found
    ]
