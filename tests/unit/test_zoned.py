"""Date and time in a form: shown where the person is, kept as the instant; an hour that is none, or two, is refused."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest
from django.utils import timezone

from handoffs.contracts import Contract
from reviewqueue import zoned
from reviewqueue.schema_fields import shape_of
from reviewqueue.schema_forms import SchemaForm


class Visit(Contract):
    at: datetime
    until: datetime | None = None


@pytest.fixture(autouse=True)
def berlin():
    with timezone.override("Europe/Berlin"):
        yield


def form(sent: str, typed: dict[str, str] | None = None) -> Any:
    fresh = SchemaForm(shape_of(Visit), sent)
    return fresh if typed is None else SchemaForm(shape_of(Visit), sent, data=fresh.controls | typed)


SENT = '{"at":"2026-07-01T10:00:00.000Z"}'


def test_an_instant_is_shown_where_the_person_is_and_stays_as_sent_untouched():
    shown = form(SENT)
    assert (shown.leaves[0].text, shown.leaves[0].zone) == ("2026-07-01 12:00", "Europe/Berlin")
    assert form(SENT, {}).text == SENT


@pytest.mark.parametrize(
    ("typed", "kept"),
    [
        ("2026-07-01 12:30", "2026-07-01T10:30:00Z"),
        ("2026-12-01T12:30:05", "2026-12-01T11:30:05Z"),
        ("2026-07-01 12:30+05:00", "2026-07-01T12:30+05:00"),
        ("2026-07-01T12:30:00Z", "2026-07-01T12:30:00Z"),
        ("tomorrow", "tomorrow"),
        ("2026-13-01 12:30", "2026-13-01 12:30"),
    ],
)
def test_what_is_typed_is_read_where_the_person_is(typed, kept):
    assert form(SENT, {"/at": typed}).root.value["at"] == kept


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("2026-03-29 02:30", "2026-03-29 02:30 never comes in Europe/Berlin"),
        ("2026-10-25 02:30", "comes twice in Europe/Berlin, as the clocks go back. Write which one: "
         "2026-10-25 02:30:00+02:00 or 2026-10-25 02:30:00+01:00."),
    ],
)  # fmt: skip
def test_an_hour_that_is_none_or_two_is_refused_with_what_to_write(typed, said):
    ((node, sentence),) = form(SENT, {"/at": typed}).problems
    assert node.pointer == "/at"
    assert said in sentence


def test_the_hours_that_come_twice_are_told_apart_when_shown():
    for sent in ("2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z"):
        shown = zoned.shown(sent)
        assert zoned.instant(shown) == zoned.instant(sent)
    assert zoned.shown("2026-10-25T00:30:00Z") == "2026-10-25 02:30+02:00"


def test_a_time_without_an_offset_stays_without_one():
    sent = '{"at":"2026-07-01T10:00:00"}'
    assert (form(sent).leaves[0].text, form(sent).leaves[0].zone) == ("2026-07-01T10:00:00", "")
    assert form(sent, {"/at": "2026-07-01T11:00:00"}).root.value["at"] == "2026-07-01T11:00:00"


@pytest.mark.parametrize(
    "sent", ["9999-12-31T23:59:59Z", "0001-01-01T00:00:00+14:00", "2026-07-01T10:00:00.123456789Z"]
)
def test_the_ends_of_time_and_odd_digits_are_shown_and_kept(sent):
    body = f'{{"at":"{sent}"}}'
    assert form(body, {}).text == body
