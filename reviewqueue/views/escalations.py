"""The page of one escalation, and a look at it beside the list."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from reviewqueue.case import escalation_case
from reviewqueue.decisions import Decisions
from reviewqueue.escalation_page import note_look, show
from reviewqueue.place import Place
from reviewqueue.requests import now_of

PREVIEWED = 2000  # characters of a body


@require_safe
@login_required
def escalation(request: HttpRequest, pk: int) -> HttpResponse:
    """Everything that is needed to decide. Others than the queue's people get 404."""
    case = escalation_case(request, pk)
    note_look(case, now_of(request))
    return show(request, case)


@require_safe
@login_required
def preview(request: HttpRequest, pk: int) -> HttpResponse:
    """What it is about, as a part of a page. It is no look that counts: nobody has it for that."""
    case = escalation_case(request, pk)
    body = case.body(Decisions(case).fix_side)
    shown = body if len(body) <= PREVIEWED else f"{body[:PREVIEWED]}…"
    context = {"case": case, "escalation": case.escalation, "body": shown, "url": Place.of(request, case.desk).url(pk)}
    return render(request, "_preview.html", context)
