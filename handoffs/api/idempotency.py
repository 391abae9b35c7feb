"""Answering: a request is read, carried out once, and answered; repeated with its key, it is answered as before."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable

from django.db import OperationalError, transaction
from django.http import HttpRequest, HttpResponse

from handoffs.actions import idempotency
from handoffs.actions.idempotency import is_lock_timeout
from handoffs.api import limits
from handoffs.api.auth import caller
from handoffs.api.limits import TooLarge
from handoffs.api.problems import Problem, reply_of
from handoffs.api.replies import JSON, Reply
from handoffs.crashpoints import reach
from handoffs.errors import KeyRunning
from handoffs.models import IdempotencyKey

JSON_ONLY = frozenset({JSON})
REPLAYED = "Idempotent-Replayed"


def answer(act: Callable[[], Reply]) -> HttpResponse:
    """Answer a request that changes nothing."""
    try:
        return act().response()
    except Exception as error:
        return reply_of(error).response()


def once(
    request: HttpRequest,
    act: Callable[[bytes], Reply],
    *,
    media_types: frozenset[str] | None = JSON_ONLY,
    allowed: int = 0,
    too_large: Callable[[TooLarge], Reply] | None = None,
) -> HttpResponse:
    """Answer a request that changes something; with an `Idempotency-Key`, once.

    `allowed` bytes are read, by default as many as one body may have; `too_large` answers when there are more.
    """
    try:
        raw = limits.read_body(request, media_types=media_types, allowed=allowed or limits.max_body())
        if isinstance(raw, bytes):
            return _carry_out(request, raw, act).response()
        if too_large is None:
            raise raw.problem()
        return too_large(raw).response()
    except Exception as error:
        return reply_of(error).response()


def _carry_out(request: HttpRequest, raw: bytes, act: Callable[[bytes], Reply]) -> Reply:
    key = request.headers.get("Idempotency-Key")
    if key is None:
        reply = act(raw)
        reach("before_reply")
        return reply
    if not (1 <= len(key) <= 255 and all("!" <= character <= "~" for character in key)):
        raise Problem("invalid_idempotency_key")
    try:
        reply = _keyed(request, key, raw, act)
        reach("before_reply")
        return reply
    except KeyRunning:
        raise Problem("idempotency_key_running", headers={"Retry-After": "1"}) from None
    except OperationalError as error:
        if is_lock_timeout(error):
            raise Problem("idempotency_key_running", headers={"Retry-After": "1"}) from None
        raise


@transaction.atomic
def _keyed(request: HttpRequest, key: str, raw: bytes, act: Callable[[bytes], Reply]) -> Reply:
    fingerprint = _fingerprint(request, raw)
    row, is_new = idempotency.take_key(token=caller(request), key=key, request=fingerprint)
    if not is_new:
        return _again(row, fingerprint)
    reply = _act_or_refuse(raw, act)
    idempotency.store_answer(row=row, status=reply.status, headers=json.dumps(dict(reply.headers)), body=reply.body)
    reach("in_answer")
    return reply


def _fingerprint(request: HttpRequest, raw: bytes) -> str:
    head = f"{request.method} {request.get_full_path()}\n".encode("utf-8", "surrogatepass")
    return hashlib.sha256(head + raw).hexdigest()


def _again(row: IdempotencyKey, fingerprint: str) -> Reply:
    if row.request != fingerprint:
        raise Problem("idempotency_key_reused")
    idempotency.count_replay(row)
    return Reply(row.status, row.body, json.loads(row.headers) | {REPLAYED: "true"})


def _act_or_refuse(raw: bytes, act: Callable[[bytes], Reply]) -> Reply:
    """A refusal is an answer too, and is kept; what the request had written before it is not. A 5xx is neither."""
    try:
        with transaction.atomic():
            return act(raw)
    except OperationalError:
        raise
    except Exception as error:
        return reply_of(error)
