"""Requests that are repeated until they are answered, and their refusals."""

from __future__ import annotations

import json
import random
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Mapping
from email.message import Message
from typing import Any
from urllib.parse import urlencode, urlsplit

Json = dict[str, Any]
Headers = Mapping[str, str] | Message
TRIES = 8  # of one request
REPEATABLE = frozenset({429, 500, 502, 503, 504})


class ApiError(Exception):
    """The API refused. `code` is stable; `body` is the whole problem."""

    def __init__(self, status: int, body: Mapping[str, Any]) -> None:
        super().__init__(f"{status} {body.get('code', '')}: {body.get('detail', '')}")
        self.status, self.code, self.body = status, str(body.get("code", "")), body

    @property
    def violations(self) -> list[Json]:
        return list(self.body.get("violations") or [])

    @property
    def next_attempt(self) -> int | None:
        """The attempt under which a repaired result may be sent at once, if there are tries left."""
        resubmit = self.body.get("resubmit")
        return int(resubmit["attempt"]) if resubmit else None


class Unreachable(Exception):
    """The server did not answer, however often it was asked. Repeating with the same key is safe."""


class Transport:
    """Speaks to one server with one token. Safe to use from many threads."""

    def __init__(self, url: str, token: str, *, timeout: float = 60.0) -> None:
        if urlsplit(url).scheme not in {"http", "https"}:
            raise ValueError("the server's address begins with http:// or https://")
        self._base, self._token, self.timeout = url.rstrip("/") + "/api/v1/", token, timeout

    def get(self, path: str, **query: Any) -> Json:
        """One GET. Raises `ApiError`, `Unreachable`."""
        filled = {name: value for name, value in query.items() if value is not None}
        found: Json = self.request("GET", path + (f"?{urlencode(filled)}" if filled else ""), None, {})[0]
        return found

    def post(self, path: str, body: object, *, key: str | None = None) -> Json:
        """One POST, repeated with the same key until it is answered. Raises `ApiError`, `Unreachable`."""
        found: Json = self.posted(path, body, key)[0]
        return found

    def posted(self, path: str, body: object, key: str | None) -> tuple[Any, Headers]:
        raw = b"" if body is None else json.dumps(body, allow_nan=False).encode()
        headers = {"Content-Type": "application/json", "Idempotency-Key": key or uuid.uuid4().hex}
        return self.request("POST", path, raw, headers)

    def request(self, method: str, path: str, raw: bytes | None, headers: Headers) -> tuple[Any, Headers]:
        last = ""
        for tried in range(TRIES):
            wait = random.uniform(0.5, 1.0) * min(30.0, 0.2 * 2**tried)  # noqa: S311 - spreads retries, no secret
            try:
                return self._once(method, path, raw, headers)
            except urllib.error.HTTPError as error:
                with error:
                    problem = _problem(error)
                running = problem.get("code") == "idempotency_key_running"
                if error.code not in REPEATABLE and not running:
                    raise ApiError(error.code, problem) from None
                last, wait = f"{error.code} {problem.get('code', '')}", retry_after(error.headers) or wait
            except (urllib.error.URLError, TimeoutError, ConnectionError) as error:
                last = str(error)
            time.sleep(wait)
        raise Unreachable(f"{method} {path}: {last}")

    def _once(self, method: str, path: str, raw: bytes | None, headers: Headers) -> tuple[Any, Headers]:
        sent = {"Authorization": f"Bearer {self._token}", "Accept": "application/json", **headers}
        request = urllib.request.Request(self._base + path, raw, sent, method=method)  # noqa: S310 - checked above
        with urllib.request.urlopen(request, timeout=self.timeout) as response:  # noqa: S310
            return json.loads(response.read()), response.headers


def _problem(error: urllib.error.HTTPError) -> Json:
    try:
        found = json.loads(error.read())
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def retry_after(headers: Headers) -> float:
    given = headers.get("Retry-After") or ""
    return min(60.0, float(given)) if given.isdigit() else 0.0
