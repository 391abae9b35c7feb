"""What a handler is given, and what it may give back or raise."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from handoffs.client.transport import ApiError, Json, Transport, Unreachable


class Question(Exception):
    """The handler needs a person's answer; the record comes again, with the answer."""

    def __init__(self, question: str, answers: Sequence[str] = ()) -> None:
        super().__init__(question)
        self.question, self.answers = question, list(answers)


class Failed(Exception):
    """The handler could not do it. A `permanent` failure goes to a person at once, others are tried again."""

    def __init__(self, message: str, code: str = "failed", *, permanent: bool = False) -> None:
        super().__init__(message)
        self.message, self.code, self.permanent = message, code, permanent


@dataclass(frozen=True)
class Result:
    """What a handler delivers. Confidences are 0..1; fields are named by JSON pointers, like "/total"."""

    output: Any
    confidence: float | None = None
    field_confidence: Mapping[str, float] = field(default_factory=dict)
    evidence: Mapping[str, Any] = field(default_factory=dict)
    usage: Mapping[str, Any] = field(default_factory=dict)

    def envelope(self) -> Json:
        return {name: value for name, value in vars(self).items() if name == "output" or value not in (None, {})}


@dataclass(frozen=True)
class Answer:
    """A person's answer: text, or an object where a schema was asked for."""

    answer: Any
    by: str
    at: datetime


@dataclass
class Claim:
    """One attempt that has begun. `refusal` has the violations of the try before, where its result was refused."""

    client: Transport
    record: int
    attempt: int
    step: str
    key: str
    input: Any
    answer: str | None
    lease: float  # seconds
    refusal: list[Json] = field(default_factory=list)
    lost: threading.Event = field(default_factory=threading.Event)  # set once somebody else has the record

    def submit(self, result: Result) -> Json:
        """Deliver the result. Raises `ApiError`: 422 with the violations when the output breaks its contract."""
        return self._end("result", result.envelope())

    def fail(self, message: str, code: str = "failed", *, permanent: bool = False) -> Json:
        return self._end("failure", {"message": message, "code": code, "permanent": permanent})

    def ask(self, question: str, answers: Sequence[str] = ()) -> Json:
        return self._end("question", {"question": question, "answers": list(answers)})

    def release(self, reason: str = "") -> Json:
        return self._end("release", {"reason": reason})

    def heartbeat(self) -> Json:
        return self._end("heartbeat", None)

    def _end(self, verb: str, body: Json | None) -> Json:
        return self.client.post(f"records/{self.record}/attempts/{self.attempt}/{verb}", body)

    @contextmanager
    def kept_alive(self) -> Iterator[None]:
        """Renew the lease in the background while the block runs."""
        done = threading.Event()
        beating = threading.Thread(target=self._beat, args=(done,), daemon=True)
        beating.start()
        try:
            yield
        finally:
            done.set()
            beating.join()

    def _beat(self, done: threading.Event) -> None:
        while not done.wait(max(0.2, self.lease / 3)):
            try:
                self.heartbeat()
            except ApiError as error:
                if error.status == 409:
                    self.lost.set()
                    return
            except Unreachable:
                continue
