"""Attempts as they begin: who may start which, and what the work needs to know."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from handoffs.flows import Flow, Step
from handoffs.models.moves import RecordRow


@dataclass(frozen=True, slots=True)
class Claimer:
    """Who starts attempts: its name for the history, what it may start, and how many it claimed at once."""

    actor: str
    may_start: Callable[[Step], bool]
    size: int = 1


def nobody(actor: str) -> Claimer:
    """Somebody who moves records on but starts nothing."""
    return Claimer(actor, lambda step: False)


@dataclass(slots=True)
class Started:
    """An attempt that has just begun: what the work needs to know."""

    record_id: int
    external_id: str | None
    flow: Flow
    step: Step
    attempt: int
    body: str
    value: Any  # the parsed contract; None where an observing step was handed something broken
    answer: str
    started_at: datetime
    lease_expires_at: datetime
    row: RecordRow | None = None  # the record as it is once the start is written

    @property
    def key(self) -> str:
        return f"{self.record_id}:{self.step.name}"
