"""A program of its own, which turns one page of a document into a picture: nothing in it can harm the server.

    python -I render_page.py pdf facts < file               {"sizes": [[595.0, 842.0], …], "pages": 3}
    python -I render_page.py pdf find 2 "the words" < file    {"page": 2, "boxes": [[left, top, width, height], …]}
    python -I render_page.py image page 1 1200 < file         the picture, 1200 pixels wide at most

Exits with 3 and one word (`password`, `large`, `broken`) where there is nothing to show. Knows neither Django nor the
site's settings, and bounds its own memory, time and files before it reads a byte.
"""

from __future__ import annotations

import io
import json
import math
import sys
from typing import Any, Final

from PIL import Image, ImageOps

PAGES: Final = 500  # pages of one document that can be looked at
PIXELS: Final = 60_000_000  # of an image that is opened at all
DRAWN: Final = 9_000_000  # of a picture that is made
LONGEST: Final = 16_000  # pixels of one side of it
MEMORY, SECONDS = 1_500_000_000, 20
FORMATS: Final = ("PNG", "JPEG", "GIF", "WEBP")
FOUND = 20  # places of a quote on one page
SEARCHED = 50  # pages that are searched for a quote


class NothingToShow(Exception):
    """`password`, `large` or `broken`."""


def confine() -> None:
    """Bound what a document can make this process take; nothing is written to disk."""
    try:
        import resource
    except ImportError:  # not on Windows: there the parent's patience is the only bound
        return
    for what, bound in (
        (resource.RLIMIT_AS, MEMORY),
        (resource.RLIMIT_CPU, SECONDS),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(what, (bound, bound))


def scale_of(width: float, height: float, wanted: float) -> float:
    """By how much a page is enlarged so that it is `wanted` wide, and never more pixels than are drawn."""
    if width <= 0 or height <= 0:
        raise NothingToShow("broken")
    return min(wanted / width, math.sqrt(DRAWN / (width * height)), LONGEST / max(width, height))


# --- images ----------------------------------------------------------------------------------------------------------


def image(raw: bytes) -> Image.Image:
    """An image whose head was read; its pixels were not."""
    Image.MAX_IMAGE_PIXELS = None  # it has a bound of its own, below
    opened = Image.open(io.BytesIO(raw), formats=FORMATS)
    if opened.width * opened.height > PIXELS:
        raise NothingToShow("large")
    return opened


def image_facts(raw: bytes) -> dict[str, Any]:
    opened = image(raw)
    turned = opened.getexif().get(0x0112) in {5, 6, 7, 8}
    size = [opened.height, opened.width] if turned else [opened.width, opened.height]
    return {"pages": 1, "sizes": [size]}


def image_page(raw: bytes, number: int, wanted: int) -> bytes:
    opened = image(raw)
    is_photo = opened.format == "JPEG"
    opened.draft("RGB", (wanted, wanted))
    upright = ImageOps.exif_transpose(opened)
    scale = min(scale_of(*upright.size, wanted), 1)
    size = tuple(max(1, round(side * scale)) for side in upright.size)
    picture = upright.convert("RGBA").resize((size[0], size[1]))
    sheet = Image.new("RGB", picture.size, "white")
    sheet.paste(picture, mask=picture.getchannel("A"))
    return written(sheet, "JPEG" if is_photo else "PNG")


def written(picture: Image.Image, sort: str) -> bytes:
    file = io.BytesIO()
    picture.save(file, sort)
    return file.getvalue()


# --- PDF -------------------------------------------------------------------------------------------------------------


def pdf(raw: bytes) -> Any:
    import pypdfium2

    try:
        return pypdfium2.PdfDocument(raw)  # type: ignore[no-untyped-call]
    except pypdfium2.PdfiumError as error:
        raise NothingToShow("password" if "assword" in str(error) else "broken") from error


def pdf_facts(raw: bytes) -> dict[str, Any]:
    document = pdf(raw)
    count = len(document)
    return {"pages": count, "sizes": [list(document.get_page_size(page)) for page in range(min(count, PAGES))]}


def pdf_page(raw: bytes, number: int, wanted: int) -> bytes:
    document = pdf(raw)
    document.init_forms()
    page = document.get_page(number - 1)
    width, height = page.get_size()
    drawn = page.render(scale=scale_of(width, height, wanted)).to_pil()
    return written(drawn.convert("RGB"), "PNG")


def pdf_find(raw: bytes, number: int, words: str) -> dict[str, Any]:
    """The places of words on a page; with 0, on the first page that has them."""
    document = pdf(raw)
    pages = [number] if number else range(1, min(len(document), SEARCHED) + 1)
    for each in pages:
        if boxes := _boxes(document.get_page(each - 1), words):
            return {"page": each, "boxes": boxes}
    return {"page": 0, "boxes": []}


def _boxes(page: Any, words: str) -> list[list[float]]:
    text, (width, height) = page.get_textpage(), page.get_size()
    found = text.search(words).get_next()
    boxes = []
    for rect in range(min(text.count_rects(*found), FOUND) if found else 0):
        left, bottom, right, top = text.get_rect(rect)
        boxes.append([left / width, 1 - top / height, (right - left) / width, (top - bottom) / height])
    return boxes


# --- the program -----------------------------------------------------------------------------------------------------


def answer(sort: str, what: str, words: list[str], raw: bytes) -> bytes:
    if what == "facts":
        return json.dumps(pdf_facts(raw) if sort == "pdf" else image_facts(raw)).encode()
    if what == "find":
        return json.dumps(pdf_find(raw, int(words[0]), words[1])).encode()
    draw = pdf_page if sort == "pdf" else image_page
    return draw(raw, int(words[0]), int(words[1]))


def main() -> int:
    confine()
    sort, what, *words = sys.argv[1:]
    try:
        sys.stdout.buffer.write(answer(sort, what, words, sys.stdin.buffer.read()))
    except NothingToShow as reason:
        sys.stdout.write(str(reason))
        return 3
    except MemoryError:
        sys.stdout.write("large")
        return 3
    except Exception:  # whatever a document breaks, it is the document that is broken
        sys.stdout.write("broken")
        return 3
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
