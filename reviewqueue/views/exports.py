"""Lists as files, under the same filters as their pages."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.decorators import login_required
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponseBase, StreamingHttpResponse
from django.utils import timezone
from django.views.decorators.http import require_safe

from reviewqueue.desk import desk_of
from reviewqueue.exports import ESCALATIONS, RECORDS, Table, as_csv, as_ndjson
from reviewqueue.filters import ListFilter, RecordFilter
from reviewqueue.paging import Order
from reviewqueue.views.errors import refused
from reviewqueue.views.inbox import narrowed


@require_safe
@login_required
def escalations(request: HttpRequest, form: str) -> HttpResponseBase:
    """What an inbox of the same address shows, all of it."""
    return _sent(request, ESCALATIONS, narrowed(desk_of(request), request.GET), form)


@require_safe
@login_required
def records(request: HttpRequest, form: str) -> HttpResponseBase:
    """What a list of records of the same address shows, all of it."""
    desk = desk_of(request)
    found = RecordFilter(request.GET, user=desk.user, queues=desk.queues, flows=desk.flows)
    return _sent(request, RECORDS, found, form)


def _sent(request: HttpRequest, table: Table, found: ListFilter[Any], form: str) -> HttpResponseBase:
    if not found.is_clear:
        detail = "; ".join(f"{label}: {sentence}" for label, sentence in found.problems)
        return refused(request, 400, detail)
    return sent(request, table, found.rows, found.order, form)


def sent(
    request: HttpRequest, table: Table, found: QuerySet[Any], order: Order, form: str, *, name: str = ""
) -> HttpResponseBase:
    """All rows of a table as a file (`form`: csv or ndjson), while they are read."""
    # The person's zone is active only until the answer begins.
    rows = table.rows(found, order, timezone.get_current_timezone())
    is_csv = form == "csv"
    lines = as_csv(table, rows, bom=request.GET.get("bom") == "1") if is_csv else as_ndjson(rows)
    kind = "text/csv" if is_csv else "application/x-ndjson"
    name = f"{name or table.name}-{timezone.localdate():%Y-%m-%d}.{form}"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return StreamingHttpResponse(lines, content_type=f"{kind}; charset=utf-8", headers=headers)
