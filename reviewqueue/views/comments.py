"""Comments on a record, from its own page or from that of its escalation."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST

from handoffs.actions import escalations
from handoffs.actions.mentions import named_in
from handoffs.errors import NotAllowed
from reviewqueue.case import Case, escalation_case, record_case
from reviewqueue.escalation_page import Refusal, show
from reviewqueue.place import Place
from reviewqueue.record_page import context
from reviewqueue.views.errors import refused

LONGEST = 10_000  # characters of a comment


@require_POST
@login_required
def on_escalation(request: HttpRequest, pk: int) -> HttpResponse:
    """Write to the record of an escalation."""
    case = escalation_case(request, pk)
    if problem := _problem(request):
        return show(request, case, refusal=problem, status=422)
    return _written(request, case, Place.of(request, case.desk).url(pk))


@require_POST
@login_required
def on_record(request: HttpRequest, pk: int) -> HttpResponse:
    """Write to a record, whether or not it waits."""
    case = record_case(request, pk)
    if problem := _problem(request):
        found = context(request, case, tab="history") | {"refusal": problem, "panel": "comment", "typed": request.POST}
        return render(request, "record.html", found, status=422)
    return _written(request, case, reverse("record", args=[pk]) + "?tab=history")


def _problem(request: HttpRequest) -> Refusal | None:
    text = request.POST.get("text", "").strip()
    if text and len(text) <= LONGEST:
        return None
    detail = _("At most 10,000 characters are kept.") if text else _("Write something.")
    return Refusal(_("Nothing was changed"), [("#comment", _("What is missing"), detail)], panel="comment")


def _written(request: HttpRequest, case: Case, url: str) -> HttpResponse:
    text = request.POST.get("text", "").strip()
    try:
        escalations.comment(record=case.record, by=case.user, text=text)
    except NotAllowed as error:
        return refused(request, 403, str(error), url)
    named = named_in(text, case.record.queue)
    told = [person for person in named.people if person != case.user]
    messages.success(request, _told(told) if told else _("Commented."))
    if named.unknown:
        words = {"names": ", ".join(f"@{name}" for name in named.unknown[:5])}
        messages.warning(request, _("Nobody of this queue is called %(names)s, so nobody was told.") % words)
    return redirect(f"{url}#timeline")


def _told(people: list[object]) -> str:
    names = ", ".join(str(getattr(person, "display_name", person)) for person in people[:5])
    said = ngettext("Commented. %(names)s is told.", "Commented. %(names)s are told.", len(people))
    return said % {"names": names}
