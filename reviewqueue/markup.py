"""Markup as text: laid out, and searched by path. No entity is resolved and nothing is interpreted.

Reads what a sender claims to be XML or HTML, so it takes anything, in time that grows with the text's length only.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Final

DEEPEST = 40  # levels that are set in; deeper ones stand below each other
_CLOSERS: Final = (("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>"), ("<", ">"))
_NAME: Final = re.compile(r"</?([\w:.-]+)")
_STEP: Final = re.compile(r"(@?[\w:.-]+)(?:\[(\d{1,6})\])?")
_CONDITION: Final = re.compile(r"\[(?!\d{1,6}\])[^\]]*\]")


def tokens(text: str) -> Iterator[str]:
    """Tags, comments, literal text and what stands between them; together they are the text."""
    at = 0
    while at < len(text):
        end = _end(text, at)
        yield text[at:end]
        at = end


def _end(text: str, at: int) -> int:
    if text[at] != "<":
        found = text.find("<", at)
        return found if found >= 0 else len(text)
    opening, closing = next(pair for pair in _CLOSERS if text.startswith(pair[0], at))
    found = text.find(closing, at + len(opening))
    return found + len(closing) if found >= 0 else len(text)


def _begins(token: str) -> bool:
    return token.startswith("<") and token[1:2] not in "/!?" and token.endswith(">") and not token.endswith("/>")


def name_of(token: str) -> str:
    found = _NAME.match(token)
    return found[1] if found else ""


def laid_out(text: str) -> str:
    """Markup with one element to a line, where it came with almost none."""
    if text.count("\n") * 120 > len(text):
        return text
    found = [token for token in map(str.strip, tokens(text)) if token]
    lines: list[str] = []
    depth = place = 0
    while place < len(found):
        count = _on_one_line(found[place : place + 3])
        token = "".join(found[place : place + count])
        depth -= token.startswith("</") and depth > 0
        lines.append("  " * min(depth, DEEPEST) + token)
        depth += count == 1 and _begins(token)
        place += count
    return "\n".join(lines)


def _on_one_line(following: list[str]) -> int:
    """How many tokens stay together: an element that holds nothing, or text only, is one line."""
    token, *after = following
    if _begins(token):
        for count, each in enumerate(after, 2):
            if each.startswith("</") and name_of(each) == name_of(token):
                return count
            if each.startswith("<"):
                break
    return 1


def place_of(path: str, text: str) -> tuple[int, int] | None:
    """Start and end in the text of the element that a path names, like `/Invoice/cac:Line[2]/cbc:Amount`.

    Names and positions are followed; other conditions are not read, so of several the first one is meant.
    """
    steps = _STEP.findall(_CONDITION.sub("", path)) if path.startswith("/") else []
    wanted = [(name, int(position or 1)) for name, position in steps if not name.startswith("@")]
    if not wanted or _STEP.sub("", _CONDITION.sub("", path)).strip("/"):
        return None
    counts: list[Counter[str]] = [Counter()]
    matched: list[bool] = []
    at, start = 0, -1
    for token in tokens(text):
        if token.startswith("</") and matched:
            counts.pop()
            if matched.pop() and len(matched) == len(wanted) - 1 and start >= 0:
                return start, at + len(token)
        elif (begins := _begins(token)) or token.endswith("/>"):
            level = len(matched)
            name = name_of(token)
            counts[-1][name] += 1
            is_on = level < len(wanted) and (not matched or matched[-1]) and (name, counts[-1][name]) == wanted[level]
            is_meant = is_on and level == len(wanted) - 1
            if is_meant and (not begins or len(steps) > len(wanted)):
                return at, at + len(token)  # an empty element, or an attribute of this one
            start = at if is_meant else start
            if begins:
                matched.append(is_on)
                counts.append(Counter())
        at += len(token)
    return None
