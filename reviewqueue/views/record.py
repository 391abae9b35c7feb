"""One record: its values and who wrote them, its results, its history; as JSON, and as sent."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.http import content_disposition_header
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from handoffs.actions import endings
from handoffs.bodies import raw_bytes
from handoffs.errors import HandoffsError, LostRace, NotAllowed, ReasonRequired, RecordPurged, TransitionNotAllowed
from handoffs.models import Record
from reviewqueue.case import record_case
from reviewqueue.record_page import as_json, context
from reviewqueue.views.attachments import download
from reviewqueue.views.errors import refused

STATUS = {NotAllowed: 403, LostRace: 409, TransitionNotAllowed: 409, RecordPurged: 409, ReasonRequired: 422}


@require_safe
@login_required
def record(request: HttpRequest, pk: int) -> HttpResponse:
    """The page. Records in queues that the person can't see are 404."""
    return render(request, "record.html", context(request, record_case(request, pk)))


@require_safe
@login_required
def record_json(request: HttpRequest, pk: int) -> JsonResponse:
    """The record with its whole history, for a program; bodies stand in it as the text they are."""
    case = record_case(request, pk)
    response = JsonResponse(as_json(case), json_dumps_params={"ensure_ascii": True, "indent": 2})
    response["Content-Disposition"] = content_disposition_header(True, f"record-{pk}.json")
    return response


@require_safe
@login_required
def record_body(request: HttpRequest, pk: int) -> HttpResponse:
    """The bytes of the body, as sent."""
    found = get_object_or_404(Record.objects.visible_to(request.user), pk=pk)
    return download(raw_bytes(found.payload, found.encoding), f"record-{pk}-body.txt")


@require_POST
@login_required
def reopen(request: HttpRequest, pk: int) -> HttpResponse:
    """Take an ended record up again; its escalation is opened."""
    case = record_case(request, pk)
    try:
        found = endings.reopen(record=case.record, by=case.user)
    except HandoffsError as error:
        return refused(request, STATUS.get(type(error), 409), str(error), request.path.removesuffix("reopen/"))
    return redirect("escalation", found.pk)


@require_POST
@login_required
def close(request: HttpRequest, pk: int) -> HttpResponse:
    """End a record that is ready or running, with a reason of its queue's list."""
    case = record_case(request, pk)
    try:
        endings.close_record(record=case.record, by=case.user, reason=request.POST.get("reason", ""))
    except HandoffsError as error:
        return refused(request, STATUS.get(type(error), 409), str(error), request.path.removesuffix("close/"))
    messages.success(request, _("The record is closed. It can be reopened."))
    return redirect("record", pk)
