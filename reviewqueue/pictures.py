"""Pictures of documents' pages, made by a program of its own (`render_page`): bounded in time, memory and number.

A document that crashes, bombs or never ends takes that program with it and nothing else.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from django.core.cache import cache
from django.utils.translation import gettext as _

from handoffs.models import Attachment
from reviewqueue.evidence import Box

PROGRAM: Final = Path(__file__).with_name("render_page.py")
PATIENCE: Final = 30.0  # seconds for one page
AT_ONCE: Final = 4  # pages that are drawn at the same time
REMEMBERED: Final = 86_400  # seconds; how many pages a document has, and how large they are
WIDTHS: Final = {1: 900, 2: 1600, 3: 2600}  # zoom: pixels
PROBLEMS: Final = {
    "password": lambda: _("The document is locked with a password; download it to open it."),
    "large": lambda: _("The image is too large to be shown here; download it."),
    "broken": lambda: _("The document is damaged, or is not what it says it is; download it to look."),
    "slow": lambda: _("The document took too long to be drawn; download it, or try again."),
}
_turns = threading.BoundedSemaphore(AT_ONCE)


class Unshowable(Exception):
    """A page can't be drawn; the message is a key of PROBLEMS."""

    @property
    def sentence(self) -> str:
        return PROBLEMS.get(str(self), PROBLEMS["broken"])()


@dataclass(frozen=True, slots=True)
class Facts:
    """How many pages a document has, and the sizes of those that can be looked at; or why there is none."""

    pages: int
    sizes: tuple[tuple[float, float], ...]
    problem: str = ""


def facts(attachment: Attachment, sort: str) -> Facts:
    """What is known of a document's pages. `sort`: pdf or image."""
    key = f"pages-{sort}-{attachment.digest}"
    said = cache.get(key)
    if said is None:
        try:
            said = json.loads(_drawn(attachment, sort, "facts"))
        except Unshowable as reason:
            said = {"pages": 0, "sizes": [], "problem": str(reason)}
        if said.get("problem") != "slow":
            cache.set(key, said, REMEMBERED)
    return Facts(said["pages"], tuple((w, h) for w, h in said["sizes"]), said.get("problem", ""))


def picture(attachment: Attachment, sort: str, page: int, zoom: int) -> bytes:
    """One page as PNG (a photo as JPEG).

    Raises:
        Unshowable: see there.
    """
    return _drawn(attachment, sort, "page", str(page), str(WIDTHS[zoom]))


def places(attachment: Attachment, page: int, words: str) -> tuple[int, list[Box]]:
    """(the page, boxes as parts of it) where words stand in a PDF; page 0 asks for the first page that has them."""
    try:
        said: Any = json.loads(_drawn(attachment, "pdf", "find", str(page), words))
    except Unshowable:
        return 0, []
    return said["page"], [(box[0], box[1], box[2], box[3]) for box in said["boxes"]]


def _drawn(attachment: Attachment, *words: str) -> bytes:
    if not _turns.acquire(timeout=PATIENCE):
        raise Unshowable("slow")
    try:
        # Isolated, and with an empty environment: no secret of the site is within its reach.
        ran = subprocess.run(  # noqa: S603 - our own program, no shell
            [sys.executable, "-I", str(PROGRAM), *words],
            input=bytes(attachment.content or b""),
            capture_output=True,
            timeout=PATIENCE,
            env={},
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise Unshowable("slow") from error
    finally:
        _turns.release()
    if ran.returncode == 0:
        return ran.stdout
    reason = ran.stdout.decode("ascii", "replace") if ran.returncode == 3 else "broken"
    raise Unshowable(reason if reason in PROBLEMS else "broken")
