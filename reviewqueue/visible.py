"""Text from outside, made safe to look at: what turns, hides or imitates other text is shown as a mark."""

from __future__ import annotations

import re
from typing import Final

# Controls, zero-width characters, bidirectional overrides and marks, half surrogate pairs; tabs and line ends are fine.
# Joiners are hidden only beside plain letters: between others they are part of how a script, or an emoji, is written.
_HIDDEN: Final = re.compile(
    "[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ud800-\udfff\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff]"
    "|(?<![^\0-\x7f])[\u200c\u200d]|[\u200c\u200d](?![^\0-\x7f])"
)


def visible(text: str) -> str:
    """The text with each hidden character as its code: `⟨U+202E⟩`."""
    return _HIDDEN.sub(lambda found: f"⟨U+{ord(found[0]):04X}⟩", text)


def has_hidden(text: str) -> bool:
    return _HIDDEN.search(text) is not None


def cut(text: str, limit: int) -> str:
    """At most `limit` characters."""
    return text if len(text) <= limit else f"{text[:limit]}…"
