"""Times of the day over a whole year with both changes of the clock, in three zones."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest

from handoffs.localtimes import next_local, out_of_quiet

ZONES = ("Europe/Berlin", "America/New_York", "Australia/Lord_Howe")
YEAR = datetime(2026, 6, 1, tzinfo=UTC)


def hours():
    return (YEAR + timedelta(hours=number) for number in range(365 * 24))


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("clock", [time(2, 30), time(1, 45), time(0), time(8), time(23, 59)])
def test_each_day_has_its_time_once(zone, clock):
    there = ZoneInfo(zone)
    found = {next_local(hour, clock, there) for hour in hours()}
    days = [at.astimezone(there).date() for at in sorted(found)]
    assert len(days) == len(set(days)) in {365, 366}
    assert all(later - earlier == timedelta(days=1) for earlier, later in itertools.pairwise(days))
    for at in found:
        shown = at.astimezone(there)
        assert shown.time() == clock or at.astimezone(UTC) != shown.astimezone(UTC) or not exists(shown, clock, there)


def exists(shown, clock, zone):
    """Whether a day shows a time at all: not in the gap that a spring makes."""
    local = datetime.combine(shown.date(), clock, zone)
    return local.astimezone(UTC).astimezone(zone).time() == clock


@pytest.mark.parametrize("zone", ZONES)
def test_what_comes_next_is_after_and_within_a_day_and_an_hour(zone):
    there = ZoneInfo(zone)
    for hour in hours():
        assert timedelta(0) < next_local(hour, time(2, 30), there) - hour <= timedelta(hours=25)


def test_the_hour_that_comes_twice_and_the_hour_that_does_not_come():
    berlin = ZoneInfo("Europe/Berlin")
    autumn = datetime(2026, 10, 24, 20, tzinfo=UTC)
    first = next_local(autumn, time(2, 30), berlin)
    assert (first, first.astimezone(berlin).tzname()) == (datetime(2026, 10, 25, 0, 30, tzinfo=UTC), "CEST")
    assert next_local(first, time(2, 30), berlin) == datetime(2026, 10, 26, 1, 30, tzinfo=UTC)
    spring = next_local(datetime(2027, 3, 27, 20, tzinfo=UTC), time(2, 30), berlin)
    assert spring == datetime(2027, 3, 28, 1, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("hour", "start", "end", "expected"),
    [
        (12, 22, 7, 12),
        (23, 22, 7, 31),
        (3, 22, 7, 7),
        (22, 22, 7, 31),
        (7, 22, 7, 7),
        (13, 12, 14, 14),
        (15, 12, 14, 15),
    ],
)
def test_quiet_hours_end_before_anything_is_said(hour, start, end, expected):
    day = datetime(2026, 12, 1, tzinfo=UTC)
    at = out_of_quiet(day + timedelta(hours=hour), time(start), time(end), ZoneInfo("UTC"))
    assert at == day + timedelta(hours=expected)
