"""The page of one escalation."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from reviewqueue.case import escalation_case
from reviewqueue.escalation_page import note_look, show


@require_safe
@login_required
def escalation(request: HttpRequest, pk: int) -> HttpResponse:
    """Everything that is needed to decide. Others than the queue's people get 404."""
    case = escalation_case(request, pk)
    note_look(case)
    return show(request, case)
