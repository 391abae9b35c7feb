"""Where a value was seen, as its maker says: a place in an attachment, behind a link, or words. Read with suspicion.

What comes in by the API holds `handoffs.evidence.Evidence`; what a step's own code gives may be anything.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from handoffs.models import Attachment, StepResult

Box = tuple[float, float, float, float]
MOST = 300  # places of one record that are looked at
LONGEST = 4000  # characters of a quote
_LINK: Final = re.compile(r"https?://[^\s]+\Z")


@dataclass(frozen=True, slots=True)
class Seen:
    """One place. `attachment`: a name or a digest; `box`: left, top, width and height as parts of the page."""

    pointer: str
    attachment: str = ""
    link: str = ""
    page: int | None = None
    box: Box | None = None
    quote: str = ""
    said: str = ""  # a page that is no number

    @property
    def host(self) -> str:
        try:
            return urlsplit(self.link).hostname or ""
        except ValueError:
            return ""

    def is_in(self, attachment: Attachment, others: Sequence[Attachment]) -> bool:
        """Whether this is a place in that attachment, of all the record has; the only one need not be named."""
        if not self.attachment:
            return not self.link and len(others) == 1
        return self.attachment in {attachment.name, attachment.digest}


def seen_by(result: StepResult) -> dict[str, tuple[Seen, ...]]:
    """The places that a result names, by pointer."""
    said: Any = json.loads(result.evidence)
    if not isinstance(said, dict):
        return {}
    return {pointer: found for pointer, each in list(said.items())[:MOST] if (found := tuple(_read(pointer, each)))}


def seen_at(result: StepResult, pointer: str) -> tuple[Seen, ...]:
    """Where one value was seen."""
    return seen_by(result).get(pointer, ())


def all_seen(results: Iterable[StepResult]) -> list[Seen]:
    """All places that still count: what a later result says of a field replaces what an earlier one said."""
    found: dict[str, tuple[Seen, ...]] = {}
    for result in results:
        found |= seen_by(result)
    return [seen for several in found.values() for seen in several][:MOST]


def _read(pointer: str, said: Any) -> Iterable[Seen]:
    for each in said if isinstance(said, list) else [said]:
        if isinstance(each, dict):
            yield _one(pointer, each)


def _one(pointer: str, said: dict[str, Any]) -> Seen:
    page, link = said.get("page"), _text(said.get("link"), 2000)
    is_number = isinstance(page, int) and not isinstance(page, bool) and 1 <= page < 100_000
    return Seen(
        pointer,
        _text(said.get("attachment"), 255),
        link if _LINK.match(link) else "",
        page if is_number else None,
        _box(said.get("box")),
        _text(said.get("quote"), LONGEST),
        "" if is_number or page is None else str(page)[:60],
    )


def _text(said: Any, longest: int) -> str:
    return said[:longest] if isinstance(said, str) else ""


def _box(said: Any) -> Box | None:
    if not isinstance(said, list | tuple) or len(said) != 4:
        return None
    if not all(isinstance(part, int | float) and not isinstance(part, bool) and 0 <= part <= 1 for part in said):
        return None
    left, top, width, height = map(float, said)
    return (left, top, min(width, 1 - left), min(height, 1 - top)) if width and height else None
