"""Decisions on many at once: choose, look at what would happen, begin, watch, stop, try the rest again."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from handoffs.actions import batches
from handoffs.errors import NotAllowed, TransitionNotAllowed
from handoffs.models import Batch, Queue
from handoffs.states import BatchState, BatchVerb, ItemState
from reviewqueue.addresses import Address
from reviewqueue.batch_page import BY_TURN, ITEMS, BatchPage, item_rows, listed_items, seen_items
from reviewqueue.bulk import chosen_ids
from reviewqueue.desk import beating, desk_of
from reviewqueue.filters import NEWEST, EscalationFilter
from reviewqueue.models import User
from reviewqueue.paging import BadCursor, page
from reviewqueue.requests import read_time
from reviewqueue.views.errors import bad_cursor, refused
from reviewqueue.views.exports import sent
from reviewqueue.views.inbox import narrowed

NOTE = 2000  # characters of a note


@require_POST
@login_required
def choose(request: HttpRequest) -> HttpResponse:
    """Freeze what is ticked, or all that the view of this address holds, and show what would become of it."""
    desk = desk_of(request)
    address = Address.of(reverse("inbox"), request.GET, EscalationFilter.keys())
    if request.POST.get("verb") not in set(BatchVerb) - {BatchVerb.FIX}:  # a fix begins at the form of one of them
        return refused(request, 400, _("Choose what to do with them."), str(address))
    ids = chosen_ids(request, narrowed(desk, request.GET))
    if not ids:
        messages.info(request, _("Tick some rows first."))
        return redirect(str(address))
    verb = BatchVerb(request.POST["verb"])
    batch = batches.draft(verb=verb, by=desk.user, escalations=ids, query=address.query)
    return redirect("batch", batch.pk)


@require_safe
@login_required
def batch(request: HttpRequest, pk: int) -> HttpResponse:
    """The preview of one's own draft; of a batch that has begun, how far it is and what became of each item."""
    shown = _page_of(request, pk)
    if shown.is_draft:
        return _preview(request, shown)
    said = request.GET.get("state", "")
    items = seen_items(shown.batch, shown.desk)
    if said in set(ItemState):
        items = items.filter(state=said)
    try:
        found = page(listed_items(items), BY_TURN, request.GET.get("after", ""))
    except BadCursor:
        return bad_cursor(request, reverse("batch", args=[pk]))
    context = {"page": shown, "batch": shown.batch, "rows": item_rows(found.rows), "found": found, "said": said}
    context["has_worker"] = not shown.is_running or beating(shown.desk.now).exists()
    is_part = bool(getattr(request, "htmx", False))
    answer = render(request, "_batch_progress.html" if is_part else "batch.html", context)
    answer["Vary"] = "HX-Request, Cookie"
    return answer


def _page_of(request: HttpRequest, pk: int) -> BatchPage:
    desk = desk_of(request)
    return BatchPage(get_object_or_404(Batch.objects.visible_to(desk.user).select_related("by", "origin"), pk=pk), desk)


def _preview(request: HttpRequest, shown: BatchPage, problem: str = "") -> HttpResponse:
    context = {"page": shown, "batch": shown.batch, "problem": problem, "typed": request.POST}
    return render(request, "batch_preview.html", context, status=422 if problem else 200)


@require_POST
@login_required
def begin(request: HttpRequest, pk: int) -> HttpResponse:
    """Confirm a draft. A second click finds it begun."""
    shown = _page_of(request, pk)
    if not shown.is_draft:
        return redirect("batch", pk)
    choice = _choice(request, shown.verb)
    if choice is None:
        return _preview(request, shown, MISSING[shown.verb]())
    try:
        batches.begin(batch=shown.batch, by=shown.desk.user, choice=choice)
    except NotAllowed as error:
        return refused(request, 403, str(error), shown.back_url)
    return redirect("batch", pk)


MISSING = {
    BatchVerb.CLOSE: lambda: _("Choose one of the queue's reasons."),
    BatchVerb.TRANSFER: lambda: _("Choose a queue."),
    BatchVerb.ASSIGN: lambda: _("Choose a person."),
    BatchVerb.SNOOZE: lambda: _("Choose a time, like 2026-11-30 14:05."),
}


def _choice(request: HttpRequest, verb: BatchVerb) -> dict[str, Any] | None:
    """What the verb needs, as the form says it; None where it is missing, or means nothing."""
    said = request.POST
    if verb is BatchVerb.CLOSE:
        reason = said.get("reason", "")
        return {"reason": reason, "note": said.get("note", "")[:NOTE]} if reason else None
    if verb is BatchVerb.TRANSFER:
        queue = Queue.objects.filter(slug=said.get("queue", "")).first()
        return {"queue": queue.slug} if queue else None
    if verb is BatchVerb.ASSIGN:
        person = User.objects.filter(username=said.get("person", ""), is_active=True).first()
        return {"person": person.username} if person else None
    if verb is BatchVerb.SNOOZE:
        until = read_time(said.get("until") or said.get("at", ""))
        return {"until": until.isoformat()} if until and until > timezone.now() else None
    return {}


@require_POST
@login_required
def stop(request: HttpRequest, pk: int) -> HttpResponse:
    """Leave the rest as it is."""
    shown = _page_of(request, pk)
    try:
        batches.stop(batch=shown.batch, by=shown.desk.user)
    except NotAllowed as error:
        return refused(request, 403, str(error), reverse("batch", args=[pk]))
    except TransitionNotAllowed as error:
        messages.info(request, str(error))
    return redirect("batch", pk)


@require_POST
@login_required
def again(request: HttpRequest, pk: int) -> HttpResponse:
    """A new preview of what was not done."""
    shown = _page_of(request, pk)
    if not shown.left:
        messages.info(request, _("There is nothing left to try."))
        return redirect("batch", pk)
    return redirect("batch", batches.again(batch=shown.batch, by=shown.desk.user).pk)


@require_safe
@login_required
def batch_csv(request: HttpRequest, pk: int) -> HttpResponseBase:
    """What became of each item, as a file."""
    shown = _page_of(request, pk)
    return sent(request, ITEMS, seen_items(shown.batch, shown.desk), BY_TURN, "csv", name=shown.batch.label.lower())


@require_safe
@login_required
def all_batches(request: HttpRequest) -> HttpResponse:
    """The batches that one may see, the newest first."""
    desk = desk_of(request)
    rows = Batch.objects.visible_to(desk.user).exclude(state=BatchState.DRAFT).select_related("by")
    try:
        found = page(rows, NEWEST, request.GET.get("after", ""))
    except BadCursor:
        return bad_cursor(request, reverse("batches"))
    return render(request, "batches.html", {"found": found, "pages": [BatchPage(row, desk) for row in found.rows]})
