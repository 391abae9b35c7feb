"""Files and links of a record. Bytes go out as they came in, and never as something that a browser would run."""

from __future__ import annotations

from typing import Annotated

from django.http import HttpRequest, HttpResponse
from ninja import Router
from pydantic import Field

from handoffs import conf
from handoffs.actions import attachments
from handoffs.actions.attachments import File
from handoffs.api import parts, presenting
from handoffs.api.auth import caller, record_for
from handoffs.api.describing import RecordId, contract_body, reads, writes
from handoffs.api.envelopes import read_as
from handoffs.api.idempotency import once
from handoffs.api.problems import Problem, reply_of
from handoffs.api.replies import Json, Reply, reply
from handoffs.api.schemas import AttachmentOut
from handoffs.contracts import Contract
from handoffs.evidence import Link
from handoffs.models import Attachment, Record
from handoffs.scopes import Verb

router = Router(tags=["attachments"])
HERE = "/records/{record_id}/attachments"
# What runs nothing in any browser keeps its type; HTML, SVG, XML, PDF and the rest go out as bytes.
HARMLESS = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp", "text/plain"})
FILE: Json = {"type": "string", "format": "binary"}
FORM: Json = {"type": "object", "properties": {"file": FILE}, "required": ["file"]}
FileName = Annotated[str, Field(min_length=1, max_length=255)]


class LinkSent(Contract):
    """Where a file lies. The digest is SHA-256 of its bytes, hexadecimal."""

    name: Annotated[str, Field(min_length=1, max_length=255)]
    media_type: Annotated[str, Field(max_length=100)]
    url: Link
    size: Annotated[int, Field(ge=0, le=2**53)] = 0
    digest: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None = None


@router.post(
    HERE,
    **writes(
        "attachFile",
        "Attach a file",
        {200: AttachmentOut, 201: AttachmentOut},
        {
            "required": True,
            "content": {
                "application/octet-stream": {"schema": FILE},
                parts.MULTIPART: {"schema": FORM, "example": {"file": "%PDF-1.7 …"}},
            },
        },
    ),
)
def upload(request: HttpRequest, record_id: RecordId, name: FileName | None = None) -> HttpResponse:
    """The body is the file, its Content-Type the file's and `name` its name; or a form (`multipart/form-data`) with one
    part `file`, which says both itself. The same bytes again are answered as before (200). A file has to be what its
    type says, if that is one that browsers draw (PNG, JPEG, GIF, WebP, PDF)."""

    def act(raw: bytes) -> Reply:
        record = record_for(request, Verb.ATTACH, record_id)
        return _attached(record, _file(request, raw, name), caller(request).actor)

    allowed = conf.get("MAX_ATTACHMENT") + (parts.FRAME if parts.is_form(request) else 0)
    return once(request, act, media_types=None, allowed=allowed)


def _file(request: HttpRequest, raw: bytes, name: str | None) -> File:
    if parts.is_form(request):
        part = parts.only_file(request, raw)
        return File(name or part.name, part.media_type, part.content)
    if name is None:
        raise Problem("invalid_parameter", "The address needs the file's name: ?name=order.pdf")
    return File(name, request.content_type or "", raw)


@router.post(
    f"{HERE}/links",
    **writes(
        "attachLink",
        "Attach a link",
        {200: AttachmentOut, 201: AttachmentOut},
        contract_body(
            LinkSent,
            {"name": "order.pdf", "media_type": "application/pdf", "url": "https://files.example.com/order.pdf"},
        ),
    ),
)
def link(request: HttpRequest, record_id: RecordId) -> HttpResponse:
    """Nothing is fetched: people open it, if they trust it."""

    def act(raw: bytes) -> Reply:
        record = record_for(request, Verb.ATTACH, record_id)
        sent = read_as(LinkSent, raw)
        what = attachments.Link(sent.name, sent.media_type, sent.url, sent.size, sent.digest or "")
        return _attached(record, what, caller(request).actor)

    return once(request, act)


def _attached(record: Record, what: File | attachments.Link, actor: str) -> Reply:
    found, is_new = attachments.attach(record=record, what=what, actor=actor)
    return reply(201 if is_new else 200, presenting.attachment(found))


@router.get(f"{HERE}/{{attachment_id}}", **reads("getAttachment", "Download a file", None))
def download(request: HttpRequest, record_id: RecordId, attachment_id: RecordId) -> HttpResponse:
    """The bytes as they came. What a browser might run goes out as application/octet-stream."""
    try:
        record = record_for(request, Verb.READ, record_id)
        found = Attachment.objects.filter(record=record, pk=attachment_id).first()
        if found is None or found.content is None:
            raise Problem("not_found", f"Record {record_id} has no file {attachment_id}.")
    except Exception as error:
        return reply_of(error).response()
    return _download(found)


def _download(found: Attachment) -> HttpResponse:
    media_type = found.media_type if found.media_type in HARMLESS else "application/octet-stream"
    response = HttpResponse(bytes(found.content or b""), content_type=media_type)
    response.headers["Content-Disposition"] = f'attachment; filename="{found.digest[:16]}"'
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.headers["Content-Security-Policy"] = "default-src 'none'; sandbox"
    response.headers["ETag"] = f'"{found.digest}"'
    return response
