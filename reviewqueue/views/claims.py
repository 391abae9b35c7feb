"""Who has an escalation: claim, release, transfer, assign, snooze; and comments."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from handoffs.actions import escalations
from handoffs.errors import NotAllowed
from handoffs.models import Queue
from reviewqueue.case import Case, escalation_case
from reviewqueue.deciding import change
from reviewqueue.escalation_page import Refusal, show
from reviewqueue.models import User
from reviewqueue.place import Place
from reviewqueue.requests import read_time
from reviewqueue.views.errors import refused

LONGEST = 10_000  # characters of a comment


@require_POST
@login_required
def claim(request: HttpRequest, pk: int) -> HttpResponse:
    """Take it; with `take_over`, from who has it."""
    case = escalation_case(request, pk)
    over = request.POST.get("take_over") == "1"
    return change(
        request,
        case,
        lambda: escalations.claim(escalation_id=pk, by=case.user, take_over=over),
        _("It is yours."),
        panel="",
        stay=True,
    )


@require_POST
@login_required
def release(request: HttpRequest, pk: int) -> HttpResponse:
    """Hand it back to its queue."""
    case = escalation_case(request, pk)
    said = _("Released: it waits for somebody else.")
    return change(request, case, lambda: escalations.release(escalation_id=pk, by=case.user), said, panel="", stay=True)


@require_POST
@login_required
def transfer(request: HttpRequest, pk: int) -> HttpResponse:
    """Move it to another queue."""
    case = escalation_case(request, pk)
    to = Queue.objects.filter(slug=request.POST.get("queue", "")).first()
    if to is None:
        return _incomplete(request, case, "transfer", "#transfer-queue", _("Choose a queue."))
    said = _("Transferred to %(queue)s.") % {"queue": to}
    return change(
        request,
        case,
        lambda: escalations.transfer(escalation_id=pk, by=case.user, to=to),
        said,
        panel="transfer",
        stay=False,
    )


@require_POST
@login_required
def assign(request: HttpRequest, pk: int) -> HttpResponse:
    """Give it to somebody; it stays with them."""
    case = escalation_case(request, pk)
    to = User.objects.filter(username=request.POST.get("person", ""), is_active=True).first()
    if to is None:
        return _incomplete(request, case, "assign", "#assign-person", _("Choose a person."))
    said = _("Assigned to %(name)s.") % {"name": to.display_name}
    return change(
        request,
        case,
        lambda: escalations.assign(escalation_id=pk, by=case.user, to=to),
        said,
        panel="assign",
        stay=to == case.user,
    )


@require_POST
@login_required
def snooze(request: HttpRequest, pk: int) -> HttpResponse:
    """Hide it until a time."""
    case = escalation_case(request, pk)
    until = read_time(request.POST.get("until") or request.POST.get("at", ""))
    if until is None:
        return _incomplete(request, case, "snooze", "#snooze-at", _("Choose a time, like 2026-11-30 14:05."))
    said = _("Snoozed until %(time)s.") % {"time": timezone.localtime(until).strftime("%Y-%m-%d %H:%M")}
    return change(
        request,
        case,
        lambda: escalations.snooze(escalation_id=pk, by=case.user, until=until),
        said,
        panel="snooze",
        stay=False,
    )


@require_POST
@login_required
def comment(request: HttpRequest, pk: int) -> HttpResponse:
    """Write to the record."""
    case = escalation_case(request, pk)
    text = request.POST.get("text", "").strip()
    if not text or len(text) > LONGEST:
        detail = _("Write something.") if not text else _("At most 10,000 characters are kept.")
        return _incomplete(request, case, "comment", "#comment", detail)
    try:
        escalations.comment(record=case.record, by=case.user, text=text)
    except NotAllowed as error:
        return refused(request, 403, str(error), Place.of(request, case.desk).url(pk))
    messages.success(request, _("Commented."))
    return redirect(f"{Place.of(request, case.desk).url(pk)}#timeline")


def _incomplete(request: HttpRequest, case: Case, panel: str, href: str, sentence: str) -> HttpResponse:
    refusal = Refusal(_("Nothing was changed"), [(href, _("What is missing"), sentence)], panel=panel)
    return show(request, case, refusal=refusal, status=422)
