"""Times of the day where a person is, as instants in UTC. Changes of the clock neither skip one nor repeat it."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo


def at_local(day: datetime, clock: time, zone: ZoneInfo) -> datetime:
    """The one instant (UTC) at which a day shows a time: the first of two, the moment after the gap for none."""
    return datetime.combine(day.date(), clock, zone).replace(fold=0).astimezone(UTC)


def next_local(after: datetime, clock: time, zone: ZoneInfo) -> datetime:
    """The next instant after `after` at which a clock in the zone shows `clock`, once for each day."""
    day = after.astimezone(zone)
    for days in (-1, 0, 1, 2):
        found = at_local(day + timedelta(days=days), clock, zone)
        if found > after:
            return found
    raise ValueError("a day has one such time, so one of four days must have one that comes")


def out_of_quiet(at: datetime, start: time | None, end: time | None, zone: ZoneInfo) -> datetime:
    """`at`, or the end of the quiet hours if it lies in them. The hours may go over midnight."""
    if start is None or end is None or start == end:
        return at
    began, ends = next_local(at, start, zone), next_local(at, end, zone)
    return ends if ends < began else at
