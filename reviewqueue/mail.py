"""E-mail as a page shows it: the heads that people look at, the words, and what is attached. HTML is read as text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from email import message_from_bytes
from email.errors import MessageError
from email.header import decode_header, make_header
from email.message import Message
from html import unescape
from typing import Any, Final

from reviewqueue.markup import name_of, tokens

HEADS: Final = ("From", "To", "Cc", "Date", "Subject", "Reply-To")
LONGEST = 1000  # characters of a head
PARTS = 100  # of one mail that are looked at
_BLOCKS: Final = frozenset({"p", "div", "br", "tr", "li", "h1", "h2", "h3", "h4", "table", "blockquote", "hr"})
_SILENT: Final = frozenset({"script", "style", "head", "template"})
_GAPS: Final = re.compile(r"\n\s*\n\s*")
# What parsing a hostile mail may raise; the library promises nothing.
_BREAKS: Final = (MessageError, ValueError, LookupError, TypeError, AttributeError, RecursionError, AssertionError)


@dataclass(frozen=True, slots=True)
class Mail:
    """`heads`: (name, text); `text`: its words; `parts`: (name, media type, size in bytes) of what is attached."""

    heads: list[tuple[str, str]]
    text: str
    parts: list[tuple[str, str, int]]
    was_html: bool = False


def mail(raw: bytes) -> Mail | None:
    """A mail, or None where the bytes are none."""
    try:
        message = message_from_bytes(raw)
        heads = [(name, _head(message[name])) for name in HEADS if message[name]]
        if not heads:
            return None
        return _read(heads, list(_parts(message)))
    except _BREAKS:
        return None


def _parts(message: Message[Any, Any]) -> Iterator[Message[Any, Any]]:
    """The parts that hold something, in their order."""
    waiting = [message]
    for _count in range(PARTS):
        if not waiting:
            return
        part = waiting.pop(0)
        inside = part.get_payload()
        if part.is_multipart() and isinstance(inside, list):
            if part.get_content_maintype() == "multipart":
                waiting = [each for each in inside if isinstance(each, Message)] + waiting
            else:
                yield part  # a mail within the mail is one of its attachments
        else:
            yield part


def _read(heads: list[tuple[str, str]], parts: list[Message[Any, Any]]) -> Mail:
    words = {"text/plain": [], "text/html": []}  # type: dict[str, list[str]]
    attached = []
    for part in parts:
        sort = part.get_content_type()
        if sort in words and part.get_content_disposition() != "attachment":
            words[sort].append(_text(part))
        else:
            attached.append((_head(part.get_filename() or "") or sort, sort, len(_bytes(part))))
    was_html = not words["text/plain"] and bool(words["text/html"])
    text = "\n\n".join(plain_of(each) for each in words["text/html"]) if was_html else "\n\n".join(words["text/plain"])
    return Mail(heads, text, attached, was_html)


def _head(said: Any) -> str:
    text = str(said)[: 4 * LONGEST]
    with suppress(*_BREAKS):  # encoded in a way that nobody reads: as it came
        text = str(make_header(decode_header(text)))
    return " ".join(text.split())[:LONGEST]


def _bytes(part: Message[Any, Any]) -> bytes:
    found = part.get_payload(decode=True)
    return found if isinstance(found, bytes) else str(part.get_payload()).encode("utf-8", "replace")


def _text(part: Message[Any, Any]) -> str:
    raw = _bytes(part)
    try:
        return raw.decode(part.get_content_charset() or "utf-8", "replace")
    except (LookupError, ValueError):
        return raw.decode("utf-8", "replace")


def plain_of(html: str) -> str:
    """The words of HTML; nothing of it is run, fetched or shown as it asks."""
    found: list[str] = []
    silent = ""
    for token in tokens(html):
        name = name_of(token).lower()
        if silent:
            silent = "" if token.startswith("</") and name == silent else silent
        elif not token.startswith("<"):
            found.append(unescape(token))
        elif name in _SILENT and not token.startswith("</"):
            silent = name
        elif name in _BLOCKS:
            found.append("\n")
    lines = (" ".join(line.split()) for line in "".join(found).splitlines())
    return _GAPS.sub("\n\n", "\n".join(lines)).strip()
