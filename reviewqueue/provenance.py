"""Where each value of a body came from: the result that first had it as it is now, and what its maker said of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from handoffs.exact_json import ABSENT, Unreadable, Value, at, parse, same
from handoffs.models import StepResult
from handoffs.titles import parts
from reviewqueue.evidence import Seen, seen_at


@dataclass(frozen=True, slots=True)
class Shown:
    """A place in words. `url` shows it in the document; `link` leads to where it lies."""

    words: str
    quote: str = ""
    url: str = ""
    link: str = ""


@dataclass(frozen=True, slots=True)
class Origin:
    """Who wrote one value. `confidence`: of this field, None if not reported; `seen`: where it was read."""

    result: StepResult
    confidence: float | None = None
    seen: tuple[Seen, ...] = ()
    by: str = ""  # the person's name; empty where the step itself wrote it
    places: tuple[Shown, ...] = ()  # the same as `seen`, as a page shows it


class Provenance:
    """The writers of a body's values. `results`: those that still count, with their outputs, oldest first."""

    def __init__(self, results: Sequence[StepResult]) -> None:
        self._written: list[tuple[StepResult, Value]] = []
        for result in results:
            try:
                self._written.append((result, parse(result.output or "")))
            except Unreadable:
                continue

    def of(self, pointer: str, value: Value) -> Origin | None:
        """Who wrote this value; None where nobody is known, or it was not sent."""
        path = tuple(parts(pointer))
        if value is ABSENT or not self._written:
            return None
        writer: StepResult | None = None
        for result, output in reversed(self._written):
            if not same(at(output, path), value):
                break
            writer = result
        if writer is None:
            return None
        return Origin(writer, _number(json.loads(writer.field_confidence), pointer), seen_at(writer, pointer))


def _number(values: Any, pointer: str) -> float | None:
    found = values.get(pointer) if isinstance(values, dict) else None
    return float(found) if isinstance(found, int | float) and not isinstance(found, bool) else None
