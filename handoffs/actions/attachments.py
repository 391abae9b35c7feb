"""Files and links that belong to a record."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

from django.db import transaction
from django.utils.translation import gettext as _

from handoffs import conf
from handoffs.errors import RecordPurged, UnfitAttachment
from handoffs.models import Attachment, Record, sql

MEDIA_TYPE = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]{0,48}/[a-z0-9][a-z0-9!#$&^_.+-]{0,48}\Z")
# How files begin that browsers draw by themselves: what calls itself one of these has to be one.
BEGINNINGS: dict[str, tuple[bytes, ...]] = {
    "image/png": (b"\x89PNG",),
    "image/jpeg": (b"\xff\xd8\xff",),
    "image/gif": (b"GIF87a", b"GIF89a"),
    "image/webp": (b"RIFF",),
    "application/pdf": (b"%PDF-",),
}
MOST = 100  # attachments of one record
_UNFIT = re.compile(r"[\x00-\x1f\x7f/\\]")


@dataclass(frozen=True, slots=True)
class File:
    """A file to attach."""

    name: str
    media_type: str
    content: bytes


@dataclass(frozen=True, slots=True)
class Link:
    """Where a file lies, with its size in bytes (0: not known) and its SHA-256 (empty: not known)."""

    name: str
    media_type: str
    url: str
    size: int = 0
    digest: str = ""


@transaction.atomic
def attach(*, record: Record, what: File | Link, actor: str) -> tuple[Attachment, bool]:
    """(the attachment, whether it is new): the same bytes are kept once.

    Raises:
        UnfitAttachment: too large, too many, with a name or a media type that is none, or not of its media type.
        RecordPurged: the record's bodies were erased.
    """
    locked = Record.objects.select_for_update(of=("self",)).only("pk", "purged_at").get(pk=record.pk)
    if locked.purged_at is not None:
        raise RecordPurged
    _require_fit(what)
    digest = _digest(what)
    known = Attachment.objects.filter(record=record, digest=digest).defer("content").first()
    if known is not None:
        return known, False
    if Attachment.objects.filter(record=record).count() >= MOST:
        raise UnfitAttachment(_("A record has at most %(most)s attachments.") % {"most": MOST})
    made = Attachment.objects.create(
        record=record,
        name=what.name,
        media_type=what.media_type,
        size=len(what.content) if isinstance(what, File) else what.size,
        digest=digest,
        content=what.content if isinstance(what, File) else None,
        link=what.url if isinstance(what, Link) else "",
        added_at=sql.now(),
        added_by=actor,
    )
    return made, True


def _digest(what: File | Link) -> str:
    if isinstance(what, File):
        return hashlib.sha256(what.content).hexdigest()
    return what.digest or hashlib.sha256(what.url.encode()).hexdigest()


def _require_fit(what: File | Link) -> None:
    if not 1 <= len(what.name) <= 255 or _UNFIT.search(what.name):
        raise UnfitAttachment(_("A file's name has 1 to 255 characters, and neither slashes nor control characters."))
    if not MEDIA_TYPE.match(what.media_type):
        raise UnfitAttachment(_("A media type is needed, like application/pdf."))
    if isinstance(what, File):
        _require_fit_content(what.content)
        beginnings = BEGINNINGS.get(what.media_type)
        if beginnings and not what.content[:1024].lstrip().startswith(beginnings):
            raise UnfitAttachment(_("The file is not what its media type %(type)s says.") % {"type": what.media_type})


def _require_fit_content(content: bytes) -> None:
    most = conf.get("MAX_ATTACHMENT")
    if not content:
        raise UnfitAttachment(_("The file is empty."))
    if len(content) > most:
        raise UnfitAttachment(f"The file has {len(content):,} bytes; at most {most:,} are taken.")
