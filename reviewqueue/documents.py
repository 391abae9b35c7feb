"""Attached documents as a page shows them: text as text, images as images, everything else only as a download.

Nothing that an agent sent is ever interpreted: XML and JSON are laid out as text, SVG and HTML are text as well.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from handoffs.models import Attachment
from reviewqueue.exact_json import Unreadable, parse, write
from reviewqueue.visible import visible

IMAGES: Final = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_MARKUP: Final = re.compile(r"(application|text|image)/([a-z0-9.-]+\+)?(xml|xhtml|html|svg)\b", re.IGNORECASE)
_JSON: Final = re.compile(r"(application|text)/([a-z0-9.-]+\+)?json\b", re.IGNORECASE)
_DECLARED: Final = re.compile(rb"""<\?xml[^>]{0,100}encoding=["']([A-Za-z0-9._-]{1,40})["']""")
_ENCODINGS: Final = {"utf-8", "us-ascii", "iso-8859-1", "iso-8859-15", "windows-1252", "utf-16"}
# A comment, literal text, an element that holds text only, any other tag, text.
_TOKEN: Final = re.compile(r"<!--.*?-->|<!\[CDATA\[.*?\]\]>|<([\w:.-]+)[^<>]*>[^<]*</\1\s*>|<[^>]*>|[^<]+", re.DOTALL)
_BEGIN: Final = re.compile(r"<[^/!?][^>]*(?<!/)>")
READ = 200_000  # bytes that are read for showing
SHOWN = 60_000  # characters that are shown


@dataclass(frozen=True, slots=True)
class Document:
    """One attachment; `text` is None where it is not shown as text. `is_cut`: there is more than is shown."""

    attachment: Attachment
    text: str | None
    is_cut: bool

    @property
    def is_image(self) -> bool:
        return self.attachment.media_type in IMAGES and self.attachment.content is not None

    @property
    def is_kept(self) -> bool:
        return self.attachment.content is not None


def document(attachment: Attachment) -> Document:
    """An attachment as it is shown. Its content is loaded."""
    content, media_type = attachment.content, attachment.media_type
    if content is None or media_type in IMAGES:
        return Document(attachment, None, False)
    raw = bytes(content[:READ])
    is_markup, is_json = bool(_MARKUP.match(media_type)), bool(_JSON.match(media_type))
    if not (is_markup or is_json or media_type.startswith("text/")) or (b"\0" in raw and not _is_utf16(raw)):
        return Document(attachment, None, False)
    text = _decoded(raw)
    is_cut = len(content) > READ
    if is_markup:
        text = laid_out(text)
    elif is_json and not is_cut:
        text = _json(text)
    return Document(attachment, visible(text[:SHOWN]), is_cut or len(text) > SHOWN)


def _is_utf16(raw: bytes) -> bool:
    return raw.startswith((b"\xff\xfe", b"\xfe\xff"))


def _decoded(raw: bytes) -> str:
    if _is_utf16(raw):
        return raw.decode("utf-16", "replace")
    declared = _DECLARED.search(raw[:300])
    name = declared[1].decode().lower() if declared else "utf-8"
    return raw.decode(name if name in _ENCODINGS else "utf-8", "replace").lstrip("\ufeff")


def _json(text: str) -> str:
    try:
        return write(parse(text), indent=2)
    except Unreadable:
        return text


def laid_out(text: str) -> str:
    """Markup with one element to a line, where it came with almost none. Read as plain text: no entity is resolved."""
    if text.count("\n") * 120 > len(text):
        return text
    lines: list[str] = []
    depth = 0
    for token in (found[0].strip() for found in _TOKEN.finditer(text)):
        closes = token.startswith("</")
        depth = max(depth - 1, 0) if closes else depth
        if token:
            lines.append("  " * min(depth, 40) + token)
        if _BEGIN.fullmatch(token):
            depth += 1
    return "\n".join(lines)
