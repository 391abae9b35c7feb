"""What a step's code is given, what it may give back, and what it may raise."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from handoffs.contracts import Contract


class TransientError(Exception):
    """The step could not be done now; another try may succeed. `code` is short and stable, for grouping."""

    def __init__(self, message: str = "", code: str = "") -> None:
        super().__init__(message)
        self.message, self.code = message, code


class PermanentError(Exception):
    """The step can't be done, however often it is tried: escalate at once. `code` is short and stable, for grouping."""

    def __init__(self, message: str = "", code: str = "") -> None:
        super().__init__(message)
        self.message, self.code = message, code


class NeedsHuman(Exception):
    """The step needs a person's answer before it can go on; the try is given back. No `answers` means free text."""

    def __init__(self, question: str, answers: Sequence[str] = ()) -> None:
        super().__init__(question)
        self.question, self.answers = question, tuple(answers)


@dataclass(frozen=True, slots=True)
class Result:
    """An output with what surrounds it. Confidences are 0..1, fields are named by their JSON pointers."""

    output: Contract
    confidence: float | None = None
    field_confidence: Mapping[str, float] = field(default_factory=dict)
    evidence: Mapping[str, Any] = field(default_factory=dict)
    usage: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AttachmentRef:
    """A file that belongs to the record. `size` is in bytes, `digest` the SHA-256 in hex; `read` loads the content."""

    name: str
    media_type: str
    digest: str
    size: int
    read: Callable[[], bytes]


@dataclass(frozen=True, slots=True)
class StepContext:
    """Where a try stands.

    `key` stays the same over all tries of a step, so that an effect outside can be made once. `deadline` is when the
    step's timeout ends; `heartbeat` renews the lease and raises `StaleAttempt` when this try is not the running one any
    more. `answer` is what a person answered to this step's question.
    """

    record_id: int
    external_id: str | None
    flow: str
    step: str
    attempt: int
    key: str
    deadline: datetime
    answer: str | None
    heartbeat: Callable[[], None]
    attachments: Sequence[AttachmentRef] = ()


@dataclass(frozen=True, slots=True)
class Intake:
    """What a flow's reader makes of a file. Each attachment is (name, media type, content)."""

    body: str
    external_id: str | None = None
    attachments: Sequence[tuple[str, str, bytes]] = ()
