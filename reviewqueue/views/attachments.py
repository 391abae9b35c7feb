"""Documents that came along: as a download, as pictures of their pages, and on a page of their own."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils.http import content_disposition_header
from django.views.decorators.http import require_safe

from handoffs.models import Attachment, Record
from reviewqueue import pictures
from reviewqueue.case import record_case
from reviewqueue.documents import sort_of
from reviewqueue.render_page import PAGES
from reviewqueue.sheets import Look

KEPT_FOR = 300  # seconds that a browser may keep a page's picture


def _visible(request: HttpRequest, pk: int) -> Attachment:
    found = Attachment.objects.filter(record__in=Record.objects.visible_to(request.user))
    return get_object_or_404(found, pk=pk)


@require_safe
@login_required
def attachment(request: HttpRequest, pk: int) -> HttpResponse:
    """The bytes as they came, to be saved."""
    found = _visible(request, pk)
    if found.content is None:
        raise Http404
    return download(bytes(found.content), found.name)


@require_safe
@login_required
def view(request: HttpRequest, pk: int) -> HttpResponse:
    """The document as we show it: a part of another page for htmx, else a page of its own."""
    found = _visible(request, pk)
    case = record_case(request, found.record_id)
    look = Look.of(request.GET)
    context = {
        "case": case,
        "record": case.record,
        "document": case.document(Look(str(pk), look.page, look.zoom, look.at)),
        "is_part": bool(request.htmx),  # type: ignore[attr-defined]
    }
    return render(request, "escalation/_document.html" if context["is_part"] else "document.html", context)


@require_safe
@login_required
def page(request: HttpRequest, pk: int, page: int) -> HttpResponse:
    """One page as a picture that we drew; the document itself is never handed to a browser to show."""
    found = _visible(request, pk)
    sort = sort_of(found)
    if found.content is None or sort not in {"pdf", "image"} or not 1 <= page <= PAGES:
        raise Http404
    try:
        drawn = pictures.picture(found, sort, page, Look.of(request.GET).zoom)
    except pictures.Unshowable as reason:
        return harmless(HttpResponse(reason.sentence, status=422, content_type="text/plain; charset=utf-8"))
    response = HttpResponse(drawn, content_type="image/png" if drawn.startswith(b"\x89PNG") else "image/jpeg")
    response["Cache-Control"] = f"private, max-age={KEPT_FOR}"
    return harmless(response)


def download(content: bytes, name: str) -> HttpResponse:
    """Bytes that no browser opens by itself, whatever they are."""
    response = HttpResponse(content, content_type="application/octet-stream")
    response["Content-Disposition"] = content_disposition_header(True, name)
    return harmless(response)


def harmless(response: HttpResponse) -> HttpResponse:
    """Nothing in the answer may run, whatever a browser takes it for."""
    response["X-Content-Type-Options"] = "nosniff"
    response["Content-Security-Policy"] = "default-src 'none'; sandbox"
    return response
