"""The dashboard: how the review work goes, for the queues that a person may see."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from handoffs.insight import figures
from handoffs.insight.figures import Range
from reviewqueue.addresses import Address
from reviewqueue.charts import ABSENT, written
from reviewqueue.dashboard import DAYS, Board, Scope, retries_text, spread_text
from reviewqueue.desk import Desk, desk_of
from reviewqueue.durations import in_words


@require_safe
@login_required
def dashboard(request: HttpRequest) -> HttpResponse:
    """The figures of some days in one queue, or in all that the person may see."""
    desk = desk_of(request)
    scope = Scope(request.GET, desk)
    context: dict[str, Any] = {"scope": scope, "has_queues": bool(desk.queues)}
    if scope.is_valid():
        address = Address.of(request.path, request.GET, {"range", "queue"})
        context["ranges"] = [(label, str(address.set("range", n)), n == scope.range_name) for n, label in DAYS.items()]
        context |= _board(desk, scope)
    return render(request, "dashboard.html", context)


def _board(desk: Desk, scope: Scope) -> dict[str, Any]:
    over = Range(desk.now, scope.days, timezone.get_current_timezone())
    queues = scope.queues
    board = Board(over, queues, scope.cleaned_data["queue"])
    ids = [queue.pk for queue in queues]
    waiting = figures.waiting(ids, desk.now)
    opened, decided, retried = figures.opened(ids, over), figures.decided(ids, over), figures.retries(ids, over)
    look, decision = figures.until_first_look(ids, over), figures.until_decision(ids, over)
    oldest, late = min((row.oldest for row in waiting), default=None), sum(row.overdue for row in waiting)
    return {
        "chosen_queue": queues[0] if board.slug else None,
        "stats": [
            (written(sum(row.count for row in waiting)), _("open"), board.link(), False),
            (written(late), _("overdue"), board.link(view="overdue"), late > 0),
            (in_words(desk.now - oldest) if oldest else ABSENT, _("oldest"), board.link(sort="due"), False),
            (written(opened.total), _("opened"), board.link(view="any", since=board.since), False),
            (written(decided.total), _("decided"), board.link(view="decided", since=board.since), False),
            (spread_text(look), _("median to the first look"), "", False),
            (spread_text(decision), _("median to the decision"), "", False),
            (_percent(retried.rate), retries_text(retried), "", False),
        ],
        "waiting": board.waiting(waiting),
        "by_day": board.flow(opened, decided),
        "look": board.took(_("Time to the first look, by day"), look),
        "decision": board.took(_("Time to the decision, by day"), decision),
        "decisions": board.decisions(decided),
        "retries": board.retries(retried),
        "refusals": board.refusals(opened),
        "links": _links(board),
    }


def _links(board: Board) -> dict[str, str]:
    """The list behind each figure."""
    return {
        "open": board.link(),
        "opened": board.link(view="any", since=board.since),
        "decided": board.link(view="decided", since=board.since),
        "retried": board.link(view="decided", since=board.since, resolution="retry"),
        "refused": board.link(view="any", kind="refused", since=board.since),
    }


def _percent(rate: float | None) -> str:
    return ABSENT if rate is None else _("%(n)s %%") % {"n": written(round(100 * rate))}
