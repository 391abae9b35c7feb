"""Values made unreadable that stay what they are: letters become x, digits 9, everything else stays in its place."""

from __future__ import annotations

import re
from typing import Any

_LOWER, _UPPER, _DIGIT = re.compile(r"[^\W\d_A-Z]"), re.compile(r"[A-Z]"), re.compile(r"\d")


def masked(value: Any) -> Any:
    """A value of the same kind and form that tells nothing; names of fields, numbers, true and false stay."""
    if isinstance(value, str):
        return _DIGIT.sub("9", _UPPER.sub("X", _LOWER.sub("x", value)))
    if isinstance(value, list):
        return [masked(inner) for inner in value]
    if isinstance(value, dict):
        return {key: masked(inner) for key, inner in value.items()}
    return value
