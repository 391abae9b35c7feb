"""The queues: who looks after them, and what waits there."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.decorators import login_required
from django.db.models import OuterRef
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from handoffs.actions import watching
from handoffs.models import Alert, Escalation, Queue
from handoffs.states import INTAKE, Role
from reviewqueue import labels
from reviewqueue.counting import CappedCount, shown, tally
from reviewqueue.desk import Desk, desk_of, seen_queues
from reviewqueue.durations import in_words
from reviewqueue.filters import in_view
from reviewqueue.models import User
from reviewqueue.requests import now_of
from reviewqueue.rows import alert_rows
from reviewqueue.watch import watch_of

COUNTED = ("open", "unassigned", "overdue", "snoozed", "decided")


@require_safe
@login_required
def queues(request: HttpRequest) -> HttpResponse:
    """The queues that a person may see, with what waits in each."""
    user: User = request.user  # type: ignore[assignment]
    now = now_of(request)
    here = Escalation.objects.filter(queue=OuterRef("pk"))
    counts = {f"{name}_count": CappedCount(in_view(here, name, user, now)) for name in COUNTED}
    alerts = CappedCount(Alert.objects.standing().filter(queue=OuterRef("pk")))
    found = seen_queues(user).annotate(**counts, alert_count=alerts)
    return render(request, "queues.html", {"rows": [_row(queue, now) for queue in found]})


@require_safe
@login_required
def queue(request: HttpRequest, slug: str) -> HttpResponse:
    """One queue: its owner, its members and what they have, what stops here and what waits."""
    desk = desk_of(request)
    found: Any = get_object_or_404(seen_queues(desk.user), slug=slug)
    watching.looked_at(queues=[found], by=desk.user, at=desk.now)
    here = Escalation.objects.filter(queue=found)
    counts = tally(desk.user, **{name: in_view(here, name, desk.user, desk.now) for name in COUNTED})
    standing = Alert.objects.standing().filter(queue=found).select_related("queue__owner")
    context = {
        "queue": found,
        "counts": {name: shown(count) for name, count in counts.items()},
        "is_late": counts["overdue"] > 0,
        "oldest": in_words(desk.now - found.oldest) if found.oldest else "",
        "watch": watch_of(found, desk.now),
        "due_within": in_words(found.due_within),
        "people": _people(found),
        "places": _places(desk, slug),
        "alerts": alert_rows(standing.order_by("-opened_at", "-pk")[:20], desk.now),
    }
    return render(request, "queue.html", context)


def _row(queue: Any, now: Any) -> dict[str, Any]:
    return {
        "queue": queue,
        "counts": {name: shown(getattr(queue, f"{name}_count")) for name in COUNTED},
        "is_late": queue.overdue_count > 0,
        "oldest": in_words(now - queue.oldest) if queue.oldest else "",
        "alerts": queue.alert_count,
    }


def _people(queue: Queue) -> list[dict[str, Any]]:
    """Owner, backup and members, each once, with what they may do and how many items they have here."""
    mine = Escalation.objects.unresolved().filter(queue=queue, assignee=OuterRef("pk"))
    roles: dict[int, str] = dict(queue.memberships.values_list("user", "role"))
    leading = {queue.backup_id: labels.BACKUP, queue.owner_id: labels.OWNER}
    people = User.objects.filter(pk__in={*roles, *filter(None, leading)}).annotate(has=CappedCount(mine))
    rows = [
        {
            "person": person,
            "role": leading.get(person.pk) or labels.ROLES[Role(roles[person.pk])],
            "has": person.has,
            "leads": person.pk in leading,
        }
        for person in people.order_by("first_name", "last_name", "username", "pk")
    ]
    return sorted(rows, key=lambda row: (row["person"].pk != queue.owner_id, not row["leads"]))


def _places(desk: Desk, slug: str) -> list[tuple[str, str]]:
    """(flow, step) of everything that stops in this queue."""
    named = [(flow, name) for flow in desk.flows for name in (INTAKE, *(step.name for step in flow.steps))]
    return [(flow.name, name) for flow, name in named if flow.queue_of(name) == slug]
