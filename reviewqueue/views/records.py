"""The list of records."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_safe

from reviewqueue.counting import shown, tally
from reviewqueue.desk import desk_of
from reviewqueue.filters import RecordFilter
from reviewqueue.listing import listing, tidied
from reviewqueue.paging import BadCursor
from reviewqueue.rows import listed_records, record_row
from reviewqueue.views.errors import bad_cursor


@require_safe
@login_required
def records(request: HttpRequest) -> HttpResponse:
    """One page of the records that a person may see, newest first."""
    if address := tidied(request, RecordFilter.keys()):
        return redirect(str(address))
    desk = desk_of(request)
    found = RecordFilter(request.GET, user=desk.user, queues=desk.queues, flows=desk.flows)
    try:
        seen = listing(request, found, listed_records(found.rows))
    except BadCursor:
        return bad_cursor(request, reverse("records"))
    rows = [record_row(record, desk.now) for record in seen.page.rows]
    count = tally(desk.user, found=found.rows)["found"]
    return render(request, "records.html", {"list": seen, "rows": rows, "count": count, "counted": shown(count)})
