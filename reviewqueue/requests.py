"""What a request of a signed-in person has, for the type checker; and the time that its page speaks of."""

from __future__ import annotations

from datetime import date, datetime, time

from django.http import HttpRequest
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django_htmx.middleware import HtmxDetails

from handoffs.models import sql
from reviewqueue.models import User


class ReviewerRequest(HttpRequest):
    """A request that has passed the middleware and `login_required`."""

    user: User
    htmx: HtmxDetails
    request_id: str


def now_of(request: HttpRequest) -> datetime:
    """The database's time, read once per request, so that all parts of a page agree on what is late."""
    if not hasattr(request, "read_at"):
        request.read_at = sql.now()  # type: ignore[attr-defined]
    read_at: datetime = request.read_at  # type: ignore[attr-defined]
    return read_at


def start_of_day(now: datetime) -> datetime:
    """Midnight before `now`, where the person is."""
    return timezone.localtime(now).replace(hour=0, minute=0, second=0, microsecond=0)


def midnight(day: date) -> datetime:
    """When a day begins, where the person is."""
    return timezone.make_aware(datetime.combine(day, time.min))


def read_time(text: str) -> datetime | None:
    """A time as a form sends it: with an offset, or where the person is. None for what is none."""
    try:
        found = parse_datetime(text)
    except ValueError:
        return None
    return timezone.make_aware(found) if found is not None and timezone.is_naive(found) else found
