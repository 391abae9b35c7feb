"""How much an agent may send, and how often."""

from __future__ import annotations

import math
import threading
import time
from dataclasses import dataclass

from django.http import HttpRequest, UnreadablePostError

from handoffs import conf
from handoffs.actions import agents
from handoffs.api.problems import Problem
from handoffs.models import AgentToken


@dataclass(frozen=True, slots=True)
class TooLarge:
    """A body that was not read, since it is larger than the limit; both in bytes."""

    sent: int
    allowed: int

    def problem(self) -> Problem:
        detail = f"The body has {self.sent:,} bytes; at most {self.allowed:,} are taken."
        return Problem("too_large", detail, sent=self.sent, allowed=self.allowed)


def read_body(request: HttpRequest, *, media_types: frozenset[str] | None, allowed: int) -> bytes | TooLarge:
    """The body's bytes. Django's own limit does not apply here: this one does.

    Raises:
        Problem: compressed, of a type that is not in `media_types` (None takes any), or cut off.
    """
    if request.headers.get("Content-Encoding", "identity").strip().lower() not in {"", "identity"}:
        raise Problem("unsupported_encoding")
    sent = _length(request)
    if media_types is not None and sent and request.content_type not in media_types:
        named = " or ".join(sorted(media_types))
        raise Problem("unsupported_media_type", f"Send {named}, not “{(request.content_type or '')[:100]}”.")
    if sent > allowed:
        return TooLarge(sent, allowed)
    try:
        raw = request.read(allowed + 1)
    except UnreadablePostError as error:
        raise Problem("incomplete_body") from error
    if len(raw) < sent:
        raise Problem("incomplete_body", f"{len(raw):,} of {sent:,} bytes came.")
    return raw if len(raw) <= allowed else TooLarge(len(raw), allowed)


def _length(request: HttpRequest) -> int:
    length = request.META.get("CONTENT_LENGTH") or "0"
    return int(length) if length.isascii() and length.isdigit() and len(length) < 19 else 0


class Bucket:
    """A token bucket: `rate` a second, as many at once as a minute brings."""

    def __init__(self, per_minute: int) -> None:
        self.per_minute = per_minute
        self._left, self._at = float(per_minute), time.monotonic()

    def take(self) -> float:
        """0 if there was one to take, else the seconds until there is."""
        now, rate = time.monotonic(), self.per_minute / 60
        self._left = min(float(self.per_minute), self._left + (now - self._at) * rate)
        self._at = now
        if self._left >= 1:
            self._left -= 1
            return 0.0
        return (1 - self._left) / rate


_buckets: dict[int, Bucket] = {}
_lock = threading.Lock()


def count_request(token: AgentToken) -> None:
    """Count one request of a token, in this server process.

    Raises:
        Problem: there were too many in the last minute.
    """
    allowed = agents.limit_of(token)
    with _lock:
        bucket = _buckets.get(token.pk)
        if bucket is None or bucket.per_minute != allowed:
            bucket = _buckets[token.pk] = Bucket(allowed)
        wait = bucket.take()
    if wait:
        seconds = str(math.ceil(wait))
        detail = f"At most {allowed:,} requests a minute are taken from this token; try again in {seconds} s."
        raise Problem("rate_limited", detail, headers={"Retry-After": seconds}, allowed_per_minute=allowed)


def forget_requests() -> None:
    """Fill all buckets; for tests."""
    with _lock:
        _buckets.clear()


def max_body() -> int:
    return int(conf.get("MAX_BODY"))
