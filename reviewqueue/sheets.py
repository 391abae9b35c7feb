"""One page of a document as a picture, with the places marked that fields were read from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlencode

from handoffs.models import Attachment
from reviewqueue import pictures
from reviewqueue.evidence import Box, Seen
from reviewqueue.pictures import WIDTHS
from reviewqueue.render_page import PAGES

ANCHOR = "there"
SHEET = 1000  # how wide a page is in the units of its marks


@dataclass(frozen=True, slots=True)
class Look:
    """What somebody wants to see: which document, its page (0: where the marked place is), how large, which field."""

    doc: str = ""
    page: int = 0
    zoom: int = 1
    at: str = ""

    @classmethod
    def of(cls, query: Mapping[str, str]) -> Look:
        page, zoom = query.get("page", ""), query.get("zoom", "")
        is_page = page.isascii() and page.isdecimal() and len(page) < 6
        number = int(zoom) if zoom.isascii() and zoom.isdecimal() and len(zoom) < 3 else 1
        return cls(
            query.get("doc", ""), int(page) if is_page else 0, number if number in WIDTHS else 1, query.get("at", "")
        )


@dataclass(frozen=True, slots=True)
class Mark:
    """A place on a page, in the units of its sheet, as SVG attributes. `anchor` is where an address leads."""

    pointer: str
    x: str
    y: str
    width: str
    height: str
    is_on: bool
    anchor: str = ""

    @classmethod
    def of(cls, pointer: str, box: Box, height: float, is_on: bool) -> Mark:
        left, top, wide, high = box
        x, y, width, tall = (f"{n:.1f}" for n in (left * SHEET, top * height, wide * SHEET, high * height))
        return cls(pointer, x, y, width, tall, is_on)


@dataclass(frozen=True, slots=True)
class Sheet:
    """One page as a picture, with the places that are marked on it."""

    page: int
    pages: int
    zoom: int
    height: int  # where the width is SHEET
    marks: list[Mark]
    at: str = ""

    @property
    def view_box(self) -> str:
        return f"0 0 {SHEET} {self.height}"

    @property
    def previous(self) -> bool:
        return self.page > 1

    @property
    def following(self) -> bool:
        return self.page < min(self.pages, PAGES)

    @property
    def smaller(self) -> bool:
        return self.zoom - 1 in WIDTHS

    @property
    def larger(self) -> bool:
        return self.zoom + 1 in WIDTHS

    @property
    def to_previous(self) -> str:
        return self._to(self.page - 1, self.zoom)

    @property
    def to_following(self) -> str:
        return self._to(self.page + 1, self.zoom)

    @property
    def to_smaller(self) -> str:
        return self._to(self.page, self.zoom - 1)

    @property
    def to_larger(self) -> str:
        return self._to(self.page, self.zoom + 1)

    def _to(self, page: int, zoom: int) -> str:
        kept = {"at": self.at} if self.at and page == self.page else {}
        return "?" + urlencode({"page": page, "zoom": zoom} | kept)


def sheet_of(attachment: Attachment, sort: str, look: Look, seen: Sequence[Seen]) -> Sheet:
    """The page that is asked for; else the one where the asked field was seen.

    Raises:
        Unshowable: no page of it can be drawn.
    """
    known = pictures.facts(attachment, sort)
    if not known.sizes:
        raise pictures.Unshowable(known.problem)
    places = list(_boxes(attachment, sort, look, seen))
    page = look.page or next((page for one, page, _box in places if one.pointer == look.at), 1)
    page = max(1, min(page, len(known.sizes)))
    width, height = known.sizes[page - 1]
    tall = max(1, round(SHEET * height / width)) if width > 0 else SHEET
    marks = [Mark.of(one.pointer, box, tall, one.pointer == look.at) for one, on, box in places if on == page]
    marks.sort(key=lambda mark: mark.is_on)  # drawn last, it lies on top
    return Sheet(page, known.pages, look.zoom, tall, _anchored(marks), look.at)


def _anchored(marks: list[Mark]) -> list[Mark]:
    """The same; the first of those that are asked for is where an address leads."""
    first = next((place for place, mark in enumerate(marks) if mark.is_on), None)
    return [replace(mark, anchor=ANCHOR) if place == first else mark for place, mark in enumerate(marks)]


def _boxes(attachment: Attachment, sort: str, look: Look, seen: Sequence[Seen]) -> Iterator[tuple[Seen, int, Box]]:
    """(place, page, box); words are searched for only where they are what is asked for."""
    for one in seen:
        if one.box is not None:
            yield one, one.page or 1, one.box
        elif one.pointer == look.at and sort == "pdf" and one.quote:
            page, boxes = pictures.places(attachment, one.page or 0, " ".join(one.quote.split()))
            yield from ((one, page, box) for box in boxes)
