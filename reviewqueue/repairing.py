"""A guess at the JSON that was meant, where the extra `repair` is installed. No digit of a number may be lost by it."""

from __future__ import annotations

import re
from typing import Final

from handoffs.exact_json import Unreadable, parse, write
from handoffs.strict_json import read

LARGEST: Final = 20_000  # characters; nobody could check a guess at more
DEEPEST: Final = 400  # brackets; the guess at many that never close takes seconds
_STRING: Final = re.compile(r'"(?:[^"\\]|\\.)*"')
_NUMBER: Final = re.compile(r"-?[0-9][0-9.eE+-]*")


def repaired(text: str) -> str | None:
    """JSON text in which every number stands as it was written; None where there is no guess."""
    try:
        from json_repair import repair_json
    except ImportError:  # the extra is not installed: then nothing is suggested
        return None
    if not text.strip() or len(text) > LARGEST or text.count("{") + text.count("[") > DEEPEST:
        return None
    try:
        guess = write(parse(str(repair_json(text, ensure_ascii=False))), indent=2)
    except (Unreadable, ValueError, RecursionError, TypeError, LookupError):
        return None
    said = set(_NUMBER.findall(text))
    kept = all(number in said for number in _NUMBER.findall(_STRING.sub("", guess)))
    is_sound = len(guess) > 2 and guess[0] in "{[" and not isinstance(read(guess.encode()), tuple)
    return guess if kept and is_sound else None
