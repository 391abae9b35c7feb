"""Attached documents as a page shows them: pages and images as pictures that we draw, everything else as text.

Nothing that an agent sent is ever interpreted by the browser: XML, HTML and SVG are laid out as text, a mail is read as
text, a PDF is drawn by a program of its own. Whatever is none of these is only a download.
"""

from __future__ import annotations

import mimetypes
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Final

from django.utils.translation import gettext as _

from handoffs.exact_json import Unreadable, parse, write
from handoffs.models import Attachment
from reviewqueue import mail as mails
from reviewqueue import markup, pictures
from reviewqueue.evidence import Seen
from reviewqueue.mail import Mail
from reviewqueue.sheets import ANCHOR, Look, Sheet, sheet_of
from reviewqueue.visible import visible

IMAGES: Final = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_MARKUP: Final = re.compile(r"(application|text|image)/([a-z0-9.-]+\+)?(xml|xhtml|html|svg)\b", re.IGNORECASE)
_JSON: Final = re.compile(r"(application|text)/([a-z0-9.-]+\+)?json\b", re.IGNORECASE)
_DECLARED: Final = re.compile(rb"""<\?xml[^>]{0,100}encoding=["']([A-Za-z0-9._-]{1,40})["']""")
_ENCODINGS: Final = {"utf-8", "us-ascii", "iso-8859-1", "iso-8859-15", "windows-1252", "utf-16"}
_TYPES: Final = mimetypes.MimeTypes()
READ, READ_MAIL = 200_000, 2_000_000  # bytes that are read for showing
SHOWN = 60_000  # characters that are shown
MARKED, FEW = 60, 5  # quotes that are looked for in one text, in a very long one


@dataclass(frozen=True, slots=True)
class Piece:
    """Some text; with a pointer, it is where that field was seen."""

    text: str
    pointer: str = ""
    is_on: bool = False
    anchor: str = ""


@dataclass(frozen=True, slots=True)
class Document:
    """One attachment. `pieces` is empty where it is not shown as text; `is_cut`: there is more than is shown."""

    attachment: Attachment
    sheet: Sheet | None = None
    pieces: list[Piece] = field(default_factory=list)
    mail: Mail | None = None
    is_cut: bool = False
    problem: str = ""

    @property
    def is_kept(self) -> bool:
        return self.attachment.content is not None

    @property
    def link(self) -> str:
        """Where it lies, if that is an address that people may open."""
        return self.attachment.link if self.attachment.link.startswith(("https://", "http://")) else ""


def sort_of(attachment: Attachment) -> str:
    """pdf, image, mail, markup, json, text or nothing; a file that says no more than “bytes” is known by its name."""
    said = attachment.media_type.lower()
    if said in {"application/octet-stream", "binary/octet-stream"}:
        said = _TYPES.guess_type(f"x{attachment.name[-40:]}")[0] or said
    if said in IMAGES:
        return "image"
    known = {"application/pdf": "pdf", "application/x-pdf": "pdf", "message/rfc822": "mail"}
    if said in known:
        return known[said]
    if _MARKUP.match(said):
        return "markup"
    if _JSON.match(said):
        return "json"
    return "text" if said.startswith("text/") else ""


def document(attachment: Attachment, look: Look, seen: Sequence[Seen]) -> Document:
    """An attachment as it is shown; its content is loaded. `seen`: the places in it that fields came from."""
    if attachment.content is None:
        return Document(attachment)
    # What is asked for stands first, and wins where two places overlap.
    ordered = sorted(seen, key=lambda each: each.pointer != look.at)
    sort = sort_of(attachment)
    if sort in {"pdf", "image"}:
        return _drawn(attachment, sort, look, ordered)
    raw = bytes(attachment.content[: READ_MAIL if sort == "mail" else READ])
    if sort == "mail" and (read := mails.mail(raw)) is not None:
        return _text(attachment, read.text, look, ordered, mail=read, is_cut=len(attachment.content) > READ_MAIL)
    if not sort or (b"\0" in raw and not _is_utf16(raw)):
        sentence = _("A document of the type %(type)s is not shown here; download it.")
        return Document(attachment, problem=sentence % {"type": attachment.media_type})
    is_cut = len(attachment.content) > len(raw)
    text = _decoded(raw)
    if sort == "markup":
        text = markup.laid_out(text)
    elif sort == "json" and not is_cut:
        text = _json(text)
    return _text(attachment, text, look, ordered, is_cut=is_cut)


def _drawn(attachment: Attachment, sort: str, look: Look, seen: Sequence[Seen]) -> Document:
    try:
        return Document(attachment, sheet_of(attachment, sort, look, seen))
    except pictures.Unshowable as reason:
        return Document(attachment, problem=reason.sentence)


# --- text ------------------------------------------------------------------------------------------------------------


def _text(
    attachment: Attachment,
    text: str,
    look: Look,
    seen: Sequence[Seen],
    *,
    mail: Mail | None = None,
    is_cut: bool = False,
) -> Document:
    found = sorted(_spans(text, seen), key=lambda each: each[:2])
    wanted = next((start for start, _end, one in found if one.pointer == look.at), 0)
    first = max(0, wanted - SHOWN // 2) if wanted > SHOWN - 1000 else 0
    last = first + SHOWN
    pieces: list[Piece] = []
    at = first
    for start, end, one in found:
        if at <= start and end <= last:
            is_on = one.pointer == look.at
            is_first = is_on and not any(each.is_on for each in pieces)
            pieces.append(Piece(visible(text[at:start])))
            pieces.append(Piece(visible(text[start:end]), one.pointer, is_on, ANCHOR if is_first else ""))
            at = end
    pieces.append(Piece(visible(text[at:last])))
    is_cut = is_cut or first > 0 or len(text) > last
    return Document(attachment, None, [each for each in pieces if each.text] or [Piece("")], mail, is_cut)


def _spans(text: str, seen: Sequence[Seen]) -> Iterator[tuple[int, int, Seen]]:
    """(start, end, place) of the quotes that stand in a text, none over another."""
    taken: list[tuple[int, int]] = []
    quoted = [each for each in seen if each.quote.strip()][: MARKED if len(text) <= SHOWN else FEW]
    words = _Words(text) if quoted else None
    for one in quoted:
        span = markup.place_of(one.quote, text) or (words.place_of(one.quote) if words else None)
        if span and all(span[1] <= start or end <= span[0] for start, end in taken):
            taken.append(span)
            yield *span, one


class _Words:
    """A text with one blank between its words, so that quotes are found whatever their line ends."""

    def __init__(self, text: str) -> None:
        found = list(re.finditer(r"\S+", text))
        self.text = " ".join(word[0] for word in found)
        self.there = [word.start() for word in found]
        self.here = [0, *accumulate(len(word[0]) + 1 for word in found)][:-1]

    def place_of(self, quote: str) -> tuple[int, int] | None:
        wanted = " ".join(quote.split())
        start = self.text.find(wanted)
        return None if start < 0 else (self._back(start), self._back(start + len(wanted) - 1) + 1)

    def _back(self, place: int) -> int:
        word = bisect_right(self.here, place) - 1
        return self.there[word] + place - self.here[word]


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
