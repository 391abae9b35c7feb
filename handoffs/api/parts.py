"""The one file of a form: what browsers, curl and HTTP nodes send as multipart/form-data."""

from __future__ import annotations

from dataclasses import dataclass
from io import BytesIO

from django.core.exceptions import SuspiciousOperation
from django.core.files.uploadhandler import FileUploadHandler, MemoryFileUploadHandler
from django.http import HttpRequest
from django.http.multipartparser import MultiPartParser, MultiPartParserError

from handoffs import conf
from handoffs.api.limits import TooLarge
from handoffs.api.problems import Problem

MULTIPART = "multipart/form-data"
FRAME = 10_000  # bytes that a form has around its file


@dataclass(frozen=True, slots=True)
class Part:
    """A file as a form holds it; the name has no folders."""

    name: str
    media_type: str
    content: bytes


class _InMemory(MemoryFileUploadHandler):
    """The body was read already, and is bounded: nothing is gained by files on disk."""

    activated = True
    handle_raw_input = FileUploadHandler.handle_raw_input  # which does not look at the length


def is_form(request: HttpRequest) -> bool:
    return request.content_type == MULTIPART


def only_file(request: HttpRequest, raw: bytes) -> Part:
    """The file of a form, whatever its part is called.

    Raises:
        Problem: it can't be read, has not exactly one file, or one that is too large.
    """
    try:
        parser = MultiPartParser(request.META, BytesIO(raw), [_InMemory(request)], request.encoding)
        _fields, files = parser.parse()
    except (MultiPartParserError, SuspiciousOperation) as error:
        raise Problem("invalid_form", f"The form can't be read: {str(error)[:200] or type(error).__name__}.") from error
    found = [file for name in files for file in files.getlist(name)]
    if len(found) != 1:
        raise Problem("invalid_form", f"A form holds one file; {len(found)} came. Post others by themselves.")
    content = found[0].read()
    if len(content) > conf.get("MAX_ATTACHMENT"):
        raise TooLarge(len(content), conf.get("MAX_ATTACHMENT")).problem()
    return Part(found[0].name or "", found[0].content_type or "application/octet-stream", content)
