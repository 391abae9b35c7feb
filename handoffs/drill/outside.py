"""Whoever speaks to the API, as a drill plays it: senders of records and agents outside.

Requests are answered in this process and in the drill's transaction, but by the very views that the site serves: with
a token, bytes as they are sent, and the answer that an agent would read.
"""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass
from io import BytesIO
from typing import Any

from django.core.handlers.wsgi import WSGIRequest
from django.urls import resolve

from handoffs.actions.agents import create_token
from handoffs.actions.work import Ended, Question
from handoffs.engine import Delivery
from handoffs.flows import Flow, Step

EVERYTHING = "*: open, read, work, attach, ask"
PLENTY = 1_000_000  # requests a minute: a drill is over before
_token = ""  # of the transaction that this process is in; in the next one it is not there, and another is made


@dataclass(frozen=True, slots=True)
class Answer:
    """What the API answered: the status, and the JSON of the body."""

    status: int
    data: Any

    @property
    def is_refusal(self) -> bool:
        return self.status >= 400


def hand_in(flow: Flow, body: bytes) -> Answer:
    """Hand a record in, its input as these bytes."""
    return _post(f"flows/{flow.name}/records", envelope("input", body))


def claim(flow: Flow, step: Step) -> Answer:
    """Claim one ready record of a step."""
    return _post(f"flows/{flow.name}/steps/{step.name}/claims", b'{"limit":1}')


def end(record_id: int, attempt: int, ended: Ended) -> Answer:
    """Say how an attempt ended."""
    if isinstance(ended, Delivery):
        around = {} if ended.confidence is None else {"confidence": ended.confidence}
        return deliver(record_id, attempt, ended.output.encode("utf-8", "surrogatepass"), around)
    if isinstance(ended, Question):
        return _said(record_id, attempt, "question", {"question": ended.question, "answers": list(ended.answers)})
    if ended.released:
        return _said(record_id, attempt, "release", {"reason": ended.sentence})
    said = {"code": ended.code, "message": ended.sentence, "permanent": ended.permanent}
    return _said(record_id, attempt, "failure", said)


def deliver(record_id: int, attempt: int, output: bytes, around: dict[str, Any]) -> Answer:
    """Deliver a result, its output as these bytes."""
    return _post(f"records/{record_id}/attempts/{attempt}/result", envelope("output", output, around))


def envelope(name: str, body: bytes, around: dict[str, Any] | None = None) -> bytes:
    """What is sent: the body as it is, under its name."""
    rest = "".join(f",{json.dumps(key)}:{json.dumps(value)}" for key, value in (around or {}).items())
    return f'{{"{name}":'.encode() + body + rest.encode() + b"}"


def _said(record_id: int, attempt: int, verb: str, said: dict[str, Any]) -> Answer:
    return _post(f"records/{record_id}/attempts/{attempt}/{verb}", json.dumps(said).encode())


def _post(path: str, body: bytes) -> Answer:
    global _token
    answer = _send(path, body, _token)
    if answer.status == 401:
        name = f"drill {secrets.token_hex(4)}"
        _token = create_token(name=name, scopes_text=EVERYTHING, by="system:drill", requests_per_minute=PLENTY).text
        answer = _send(path, body, _token)
    return answer


def _send(path: str, body: bytes, token: str) -> Answer:
    request = WSGIRequest(
        {
            "REQUEST_METHOD": "POST",
            "PATH_INFO": f"/api/v1/{path}",
            "SERVER_NAME": "localhost",
            "SERVER_PORT": "80",
            "CONTENT_TYPE": "application/json",
            "CONTENT_LENGTH": str(len(body)),
            "HTTP_AUTHORIZATION": f"Bearer {token}",
            "wsgi.url_scheme": "http",
            "wsgi.input": BytesIO(body),
        }
    )
    match = resolve(request.path_info, urlconf="handoffs.urls")
    request.resolver_match = match
    response = match.func(request, *match.args, **match.kwargs)
    return Answer(response.status_code, json.loads(response.content))
