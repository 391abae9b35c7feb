"""Finding records by what people have at hand: a number, an external id, a word of the title or of the body."""

from __future__ import annotations

import json
import re

from django.db.models import Q

LONGEST_WORD = 200
_REFERENCE = re.compile(r"(?:(ESC|REC)-?)?([0-9]{1,18})", re.IGNORECASE)


def reference(text: str) -> tuple[str, int] | None:
    """(prefix or "", number) of “ESC-1042”, “rec-8817” or “1042”; None for anything else."""
    found = _REFERENCE.fullmatch(text.strip())
    return ((found[1] or "").upper(), int(found[2])) if found else None


def in_texts(text: str, *, names: tuple[str, ...], bodies: tuple[str, ...]) -> Q:
    """Rows that hold the text in one of some fields. In bodies also as JSON may write it: `M\\u00fcller`, `\\"`."""
    found = Q()
    for name in (*names, *bodies):
        found |= Q(**{f"{name}__icontains": text})
    for written in {json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1]} - {text}:
        for name in bodies:
            found |= Q(**{f"{name}__icontains": written})
    return found
