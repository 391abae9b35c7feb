"""Figures about the review work: what waits, what was decided, how long it took, what became of retries.

Everything is counted by the database, over what waits now or over a range of days, and only in the queues it is asked
for. The number of queries does not depend on the number of rows, queues or days.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from datetime import date, datetime, timedelta, tzinfo
from typing import Any

from django.core.exceptions import EmptyResultSet
from django.db import connection
from django.db.models import Count, DurationField, Exists, ExpressionWrapper, F, Min, OuterRef, Q, QuerySet, Window
from django.db.models.functions import CumeDist, TruncDate

from handoffs.models import Escalation
from handoffs.states import EscalationState, Kind, Resolution, Status


@dataclass(frozen=True, slots=True)
class Range:
    """Whole days in a time zone, the last of them the one of `now`."""

    now: datetime
    days: int
    zone: tzinfo

    @property
    def since(self) -> datetime:
        """Midnight at which the first day began."""
        today = self.now.astimezone(self.zone).replace(hour=0, minute=0, second=0, microsecond=0)
        return today - timedelta(days=self.days - 1)

    @property
    def dates(self) -> list[date]:
        first = self.since.date()
        return [first + timedelta(days=passed) for passed in range(self.days)]


@dataclass(frozen=True, slots=True)
class Waiting:
    """What waits in one queue. `oldest`: when it was opened."""

    queue_id: int
    count: int
    unassigned: int
    overdue: int
    oldest: datetime


@dataclass(frozen=True, slots=True)
class Opened:
    """What was opened in a range, by day; the refusals also by the place that refused."""

    by_day: Counter[date]
    refusals: dict[tuple[str, str], Counter[date]]

    @property
    def total(self) -> int:
        return self.by_day.total()


@dataclass(frozen=True, slots=True)
class Decided:
    """What was decided in a range: by day, and by decision and kind of stop."""

    by_day: Counter[date]
    by_decision: Counter[tuple[str, str]]

    @property
    def total(self) -> int:
        return self.by_day.total()


@dataclass(frozen=True, slots=True)
class Spread:
    """How long something took: half took at most `median`, nine of ten at most `p90`."""

    count: int
    median: timedelta
    p90: timedelta


@dataclass(frozen=True, slots=True)
class Took:
    """A spread over the whole range (None where nothing happened), and those of its days."""

    whole: Spread | None
    by_day: dict[date, Spread]


@dataclass(frozen=True, slots=True)
class Retries:
    """What became of the records that reviewers sent to be tried again."""

    count: int
    stopped_again: int
    under_way: int

    @property
    def went_on(self) -> int:
        return self.count - self.stopped_again - self.under_way

    @property
    def rate(self) -> float | None:
        """The share that went on, of those that are not under way."""
        ended = self.count - self.under_way
        return self.went_on / ended if ended else None


def waiting(queue_ids: Collection[int], now: datetime) -> list[Waiting]:
    """What waits in each queue that has anything, most first. Snoozed items count, but are never overdue."""
    awake = Q(snoozed_until__isnull=True) | Q(snoozed_until__lte=now)
    found = _in(queue_ids).unresolved().values("queue_id").annotate(
        count=Count("pk"),
        unassigned=Count("pk", filter=Q(state=EscalationState.OPEN.value)),
        overdue=Count("pk", filter=Q(due_at__lt=now) & awake),
        oldest=Min("opened_at"),
    )  # fmt: skip
    return [Waiting(**row) for row in found.order_by("-count", "queue_id")]


def opened(queue_ids: Collection[int], over: Range) -> Opened:
    """What was opened in the range, whether or not it has been decided since."""
    rows = _in(queue_ids).filter(opened_at__gte=over.since).values("kind", "flow", "step")
    found = Opened(Counter(), {})
    for row in _by_day(rows, "opened_at", over.zone):
        found.by_day[row["day"]] += row["count"]
        if row["kind"] == Kind.REFUSED:
            found.refusals.setdefault((row["flow"], row["step"]), Counter())[row["day"]] += row["count"]
    return found


def decided(queue_ids: Collection[int], over: Range) -> Decided:
    """What was decided in the range, whenever it was opened."""
    rows = _in(queue_ids).decided_since(over.since).values("resolution", "kind")
    found = Decided(Counter(), Counter())
    for row in _by_day(rows, "resolved_at", over.zone):
        found.by_day[row["day"]] += row["count"]
        found.by_decision[row["resolution"], row["kind"]] += row["count"]
    return found


def until_first_look(queue_ids: Collection[int], over: Range) -> Took:
    """From the stop to the first look at it, of what was opened in the range and has been looked at."""
    rows = _in(queue_ids).filter(opened_at__gte=over.since, first_seen_at__isnull=False)
    return _took(rows, "first_seen_at", over.zone)


def until_decision(queue_ids: Collection[int], over: Range) -> Took:
    """From the stop to the decision, of what was decided in the range."""
    return _took(_in(queue_ids).decided_since(over.since), "resolved_at", over.zone)


def retries(queue_ids: Collection[int], over: Range) -> Retries:
    """What became of the retries that were decided in the range: under way means not yet past the step."""
    later = Escalation.objects.filter(record=OuterRef("record"), pk__gt=OuterRef("pk"))
    rows = _in(queue_ids).decided_since(over.since).filter(resolution=Resolution.RETRY.value)
    moving = Q(record__status__in=[Status.READY.value, Status.RUNNING.value], record__step=F("step"))
    found = rows.annotate(again=Exists(later)).aggregate(
        count=Count("pk"),
        stopped_again=Count("pk", filter=Q(again=True)),
        under_way=Count("pk", filter=Q(again=False) & moving),
    )
    return Retries(**found)


def _in(queue_ids: Collection[int]) -> Any:
    return Escalation.objects.filter(queue__in=queue_ids)


def _by_day(rows: QuerySet[Escalation, dict[str, Any]], field: str, zone: tzinfo) -> QuerySet[Any, dict[str, Any]]:
    return rows.annotate(day=TruncDate(field, tzinfo=zone), count=Count("pk")).order_by("day")


def _took(rows: QuerySet[Escalation], end: str, zone: tzinfo) -> Took:
    """Spread the time from `opened_at` to `end`, by the day of `end`: one query for the days and the whole."""
    span = ExpressionWrapper(F(end) - F("opened_at"), output_field=DurationField())
    day = TruncDate(end, tzinfo=zone)
    ranked = rows.annotate(
        day=day,
        span=span,
        place=Window(CumeDist(), order_by=F("span").asc()),
        day_place=Window(CumeDist(), partition_by=[F("day")], order_by=F("span").asc()),
    ).values("day", "span", "place", "day_place")
    # Both databases take this, but the ORM can't group by what a window has ranked.
    try:
        inner, params = ranked.query.sql_with_params()
    except EmptyResultSet:  # no queues
        return Took(None, {})
    least = "MIN(span) FILTER (WHERE {0} >= {1})"
    picked = ", ".join(least.format(place, share) for place in ("day_place", "place") for share in (0.5, 0.9))
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT day, COUNT(*), {picked} FROM ({inner}) AS ranked GROUP BY day", params)  # noqa: S608
        found = cursor.fetchall()
    return _read_took(found)


def _read_took(rows: list[Any]) -> Took:
    by_day = {date.fromisoformat(str(day)): Spread(n, _span(half), _span(most)) for day, n, half, most, *_ in rows}
    if not by_day:
        return Took(None, {})
    halves, mosts = ([row[column] for row in rows if row[column] is not None] for column in (4, 5))
    return Took(Spread(sum(day.count for day in by_day.values()), _span(min(halves)), _span(min(mosts))), by_day)


def _span(value: Any) -> timedelta:
    """SQLite gives microseconds."""
    return value if isinstance(value, timedelta) else timedelta(microseconds=int(value))
