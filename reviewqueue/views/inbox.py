"""The inbox: what waits for a decision, and taking the next of it."""

from __future__ import annotations

from typing import Any, cast

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from handoffs.actions import escalations, watching
from handoffs.models import Alert, Escalation, Record
from handoffs.models.escalations import EscalationQuerySet
from handoffs.states import Kind
from reviewqueue import unready
from reviewqueue.addresses import Address
from reviewqueue.counting import shown, tally
from reviewqueue.desk import Desk, beating, deciders, desk_of, whom_to_ask
from reviewqueue.durations import in_words
from reviewqueue.filters import SORTS, TITLES, EscalationFilter, in_view
from reviewqueue.groups import groups
from reviewqueue.listing import Listing, listing, tidied
from reviewqueue.paging import BadCursor
from reviewqueue.rows import AlertRow, alert_rows, escalation_url, inbox_row, listed_escalations
from reviewqueue.views.errors import bad_cursor

ALERTS_SHOWN = 5
WATCHED_SHOWN = 3
# From these views nothing can be taken; there, the next one is taken from all that is open.
NOT_TAKEN_FROM = frozenset({"mine", "snoozed", "decided"})
NOT_TICKED = frozenset({"decided", "any"})


@require_safe
@login_required
def inbox(request: HttpRequest) -> HttpResponse:
    """One page of a view of the inbox, narrowed by filters."""
    if address := tidied(request, EscalationFilter.keys()):
        return redirect(str(address))
    desk = desk_of(request)
    if not desk.queues:
        return render(request, "inbox_without_queues.html", {"people": whom_to_ask()})
    found = narrowed(desk, request.GET)
    try:
        seen = listing(request, found, listed_escalations(found.rows))
    except BadCursor:
        return bad_cursor(request, reverse("inbox"))
    _note_look(desk, request.GET)
    context = _list(desk, seen) | _counts(desk, seen) | {"alerts": _alerts(desk), "groups": None}
    if found.said("group") and seen.page.rows:
        context["groups"] = groups(found, seen.address, desk.now)
    return render(request, "inbox.html", context)


def _note_look(desk: Desk, query: QueryDict) -> None:
    """Who sees the list has looked at its queues."""
    named = query.getlist("queue")
    watching.looked_at(queues=[q for q in desk.queues if not named or q.slug in named], by=desk.user, at=desk.now)


@require_POST
@login_required
def take_next(request: HttpRequest) -> HttpResponse:
    """Claim the most urgent item of a view that nobody has, and open it."""
    desk, query = desk_of(request), request.GET.copy()
    if query.get("view") in NOT_TAKEN_FROM:
        del query["view"]
    address = Address.of(reverse("inbox"), query, EscalationFilter.keys())
    found = narrowed(desk, query)
    if not found.is_clear:
        return redirect(str(address))
    taken = escalations.take_next(view=cast(EscalationQuerySet, found.rows), by=desk.user)
    if taken is None:
        messages.info(request, _("There is nothing left to take here."))
        return redirect(str(address))
    return redirect(escalation_url(taken, address))


def narrowed(desk: Desk, query: QueryDict) -> EscalationFilter:
    """The escalations that a person sees, as a query narrows them."""
    people = deciders(desk.queues)
    return EscalationFilter(query, user=desk.user, now=desk.now, queues=desk.queues, flows=desk.flows, people=people)


def _list(desk: Desk, seen: Listing[Escalation]) -> dict[str, Any]:
    found: EscalationFilter = seen.found  # type: ignore[assignment]
    by_due = found.order.name == "due"
    return {
        "list": seen,
        "rows": [inbox_row(escalation, desk.user, desk.now, seen.address) for escalation in seen.page.rows],
        "view": found.view_name,
        "title": TITLES[found.view_name],
        "decides": desk.decides,
        "ticks": desk.decides and found.view_name not in NOT_TICKED,
        "bulk_url": f"{reverse('escalation-bulk')}?{seen.address.query}",
        "take_url": f"{reverse('inbox-next')}?{seen.address.query}",
        "group_url": str(seen.address.set("group", "" if found.said("group") else "1")),
        "sort": found.said("sort") or "urgent",
        "sort_url": str(seen.address.set("sort", "" if by_due else "due")),
        "sorted_by": SORTS.get(found.order.name, ""),
    }


def _counts(desk: Desk, seen: Listing[Escalation]) -> dict[str, Any]:
    """How many there are, whether a worker is there, and, where the list is empty, what else there is."""
    wanted = {"found": seen.found.rows, "workers": beating(desk.now)}
    if not seen.page.rows:
        visible = Escalation.objects.visible_to(desk.user)
        wanted |= {"records": Record.objects.visible_to(desk.user)}
        wanted |= {name: in_view(visible, name, desk.user, desk.now) for name in ("unassigned", "decided")}
    by_kind = (
        {} if seen.is_narrowed or not seen.page.rows else {f"kind_{k}": seen.found.rows.filter(kind=k) for k in Kind}
    )
    counts = tally(desk.user, **wanted, **by_kind)
    waiting_since = [queue.oldest for queue in desk.queues if queue.oldest]  # type: ignore[attr-defined]
    return {
        "counts": {name: shown(count) for name, count in counts.items()},
        "count": counts["found"],
        "kinds": [
            (kind, shown(n), str(seen.address.set("kind", kind)))
            for kind in Kind
            if (n := counts.get(f"kind_{kind}", 0))
        ],
        "has_records": bool(seen.page.rows or counts["records"]),
        "oldest": in_words(desk.now - min(waiting_since)) if waiting_since else "",
        "watched": desk.queues if len(desk.queues) <= WATCHED_SHOWN else [],
        "banners": [*([] if counts["workers"] else [_no_worker()]), *unready.banners(desk.flows)],
    }


def _no_worker() -> dict[str, str]:
    text = _("No worker was seen for a minute: ready records wait. Start one with “python manage.py worker”.")
    return {"level": "danger", "text": text, "url": "", "word": ""}


def _alerts(desk: Desk) -> list[AlertRow]:
    standing = Alert.objects.visible_to(desk.user).standing().select_related("queue__owner")
    return alert_rows(standing.order_by("-opened_at", "-pk")[:ALERTS_SHOWN], desk.now)
