"""The dashboard: figures of the queues that a person may see, each with its table and the list behind it."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from html import unescape
from zoneinfo import ZoneInfo

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from handoffs.actions import verdicts
from handoffs.actions.escalations import looked_at
from handoffs.actions.verdicts import Seen
from handoffs.insight import figures
from handoffs.insight.figures import Range
from handoffs.models import Escalation, sql
from handoffs.states import Resolution
from tests.cast import document, opened, waiting, work
from tests.sample_flows import behaviour

URL = "/dashboard/"


def refuse(count: int, start: int = 0) -> list[Escalation]:
    records = [opened(document(f"R-{start + n}", order="")) for n in range(count)]
    work()
    return [waiting(record) for record in records]


def seen(escalation: Escalation) -> Seen:
    return Seen(Escalation.objects.get(pk=escalation.pk).version)


def close(escalation: Escalation, by) -> None:
    verdicts.close(escalation_id=escalation.pk, by=by, seen=seen(escalation), reason="Duplicate")


def page_of(client, user, **query) -> str:
    client.force_login(user)
    answer = client.get(URL, query)
    assert answer.status_code == 200
    return unescape(answer.content.decode())


def stats(page: str) -> dict[str, str]:
    return {
        words: value for value, words in re.findall(r"<b(?: class=\"is-hot\")?>([^<]*)</b><span>([^<]*)</span>", page)
    }


def over(days: int = 7) -> Range:
    return Range(sql.now(), days, UTC)


def ids(cast) -> list[int]:
    return [queue.pk for queue in cast.queues.values()]


def test_what_waits_is_counted_by_queue_with_what_is_late(client, cast):
    first, *_others = refuse(3)
    Escalation.objects.filter(pk=first.pk).update(
        opened_at=sql.now() - timedelta(hours=50), due_at=sql.now() - timedelta(hours=26)
    )
    found = stats(page_of(client, cast.bob))
    assert (found["open"], found["overdue"], found["oldest"]) == ("3", "1", "2 d")
    (row,) = figures.waiting(ids(cast), sql.now())
    assert (row.queue_id, row.count, row.unassigned, row.overdue) == (cast.queues["order-exceptions"].pk, 3, 3, 1)


def test_opened_and_decided_are_counted_by_day_where_the_person_is(cast):
    early, late = refuse(2)
    Escalation.objects.filter(pk=early.pk).update(opened_at=datetime(2026, 5, 1, 22, 30, tzinfo=UTC))
    Escalation.objects.filter(pk=late.pk).update(opened_at=datetime(2026, 5, 2, 12, tzinfo=UTC))
    week = Range(datetime(2026, 5, 3, 12, tzinfo=UTC), 7, ZoneInfo("Europe/Berlin"))
    assert {day.isoformat(): n for day, n in figures.opened(ids(cast), week).by_day.items()} == {"2026-05-02": 2}
    assert len(week.dates) == 7
    assert week.dates[-1].isoformat() == "2026-05-03"


def test_median_and_ninth_tenth_are_those_of_the_times(cast):
    now = datetime(2026, 5, 3, 12, tzinfo=UTC)
    for minutes, escalation in enumerate(refuse(10), start=1):
        close(escalation, cast.bob)
        resolved = now - timedelta(days=minutes % 2)
        Escalation.objects.filter(pk=escalation.pk).update(
            opened_at=resolved - timedelta(minutes=minutes), resolved_at=resolved
        )
    took = figures.until_decision(ids(cast), Range(now, 7, UTC))
    assert took.whole is not None
    assert (took.whole.count, took.whole.median, took.whole.p90) == (10, timedelta(minutes=5), timedelta(minutes=9))
    assert {d.day: (s.count, s.median) for d, s in took.by_day.items()} == {
        2: (5, timedelta(minutes=5)),
        3: (5, timedelta(minutes=6)),
    }


def test_the_first_look_counts_only_what_was_looked_at(cast):
    first, _second = refuse(2)
    looked_at(escalations=[first.pk], by=cast.bob)
    took = figures.until_first_look(ids(cast), over())
    assert took.whole is not None
    assert took.whole.count == 1
    assert figures.until_first_look([], over()).whole is None


def test_an_output_that_held_and_was_changed_is_overridden(client, cast):
    from handoffs import Result
    from tests.sample_flows import Draft

    behaviour["extract"] = lambda given, context: Result(
        Draft(number=given.text, purchase_order="PO", total=1), confidence=0.5
    )
    held = [opened({"text": f"L-{n}"}) for n in range(2)]
    work()
    behaviour.clear()
    approved, changed = (waiting(record) for record in held)
    verdicts.approve(escalation_id=approved.pk, by=cast.bob, seen=seen(approved))
    body = '{"number": "L-1", "purchase_order": "PO-9", "total": 1}'
    verdicts.fix(escalation_id=changed.pk, by=cast.bob, seen=seen(changed), body=body)
    page = page_of(client, cast.bob)
    shares = dict(re.findall(r">([a-z ]+)</(?:a|span)>\s*<b>(\d+)</b>", page))
    assert (shares["approved unchanged"], shares["fixed what broke"], shares["overridden"]) == ("1", "0", "1")


def test_a_retry_that_stops_again_is_no_success(cast):
    from handoffs import PermanentError

    def fail(given, context):
        raise PermanentError("no")

    behaviour["check"] = fail
    records = [opened(document(f"F-{n}")) for n in range(2)]
    work()
    first, second = (waiting(record) for record in records)
    for escalation in (first, second):
        verdicts.retry(escalation_id=escalation.pk, by=cast.bob, seen=seen(escalation))
    under_way = figures.retries(ids(cast), over())
    assert (under_way.count, under_way.under_way, under_way.rate) == (2, 2, None)
    first.record.__class__.objects.filter(pk=first.record_id).update(available_at=sql.now() - timedelta(seconds=1))
    work()
    behaviour.clear()
    second.record.__class__.objects.filter(pk=second.record_id).update(available_at=sql.now() - timedelta(seconds=1))
    work()
    found = figures.retries(ids(cast), over())
    assert (found.count, found.went_on + found.stopped_again + found.under_way) == (2, 2)


def test_refusals_are_told_by_seam(client, cast):
    refuse(2)
    opened(b"not json")
    page = page_of(client, cast.bob)
    assert re.search(r"orders: extract → check</a>.*?<b>2</b>", page, re.DOTALL)
    assert re.search(r"orders: outside → intake</a>.*?<b>1</b>", page, re.DOTALL)


def test_every_figure_has_a_table_and_the_lists_behind_it_open(client, cast):
    done, *_open = refuse(3)
    close(done, cast.bob)
    looked_at(escalations=[done.pk], by=cast.bob)
    page = page_of(client, cast.bob)
    assert page.count("<details") == page.count("As a table") >= 5
    links = set(re.findall(r'href="(/inbox/[^"]*)"', page))
    assert any("view=decided&since=" in link and "resolution=close" in link for link in links)
    for link in links:
        answer = client.get(link)
        assert answer.status_code == 200, link
        assert "a filter means nothing" not in answer.content.decode(), link


def test_the_list_behind_a_day_has_what_the_figure_counted(client, cast):
    escalation, other = refuse(2)
    for each, day in ((escalation, 1), (other, 2)):
        close(each, cast.bob)
        at = datetime(2026, 5, day, 12, tzinfo=UTC)
        Escalation.objects.filter(pk=each.pk).update(resolved_at=at, opened_at=at)
    client.force_login(cast.bob)
    page = client.get(
        reverse("inbox"), {"view": "decided", "since": "2026-05-01", "until": "2026-05-01"}
    ).content.decode()
    assert escalation.label in page
    assert other.label not in page


@pytest.mark.parametrize("value", ["0001-01-01", "9999-12-31", "yesterday"])
def test_a_day_that_means_nothing_shows_nothing_and_says_so(client, cast, value):
    client.force_login(cast.bob)
    answer = client.get(reverse("inbox"), {"view": "decided", "until": value})
    assert answer.status_code == 200
    assert "a filter means nothing" in answer.content.decode()


def test_one_queue_can_be_looked_at_alone(client, cast):
    refuse(2)
    opened(document("B-1", total=5000))
    work()
    assert stats(page_of(client, cast.bob))["open"] == "3"
    page = page_of(client, cast.bob, queue="approvals", range="30d")
    assert stats(page)["open"] == "1"
    assert "Dashboard of Approvals" in page


@pytest.mark.parametrize("query", [{"range": "8d"}, {"queue": "not-there"}])
def test_a_choice_that_means_nothing_shows_no_figure(client, cast, query):
    page = page_of(client, cast.bob, **query)
    assert "a choice means nothing" in page
    assert 'class="stat"' not in page


def test_an_outsider_sees_no_figure_and_a_stranger_signs_in(client, cast):
    refuse(1)
    assert client.get(URL).status_code == 302
    page = page_of(client, cast.charlie)
    assert "You are in no queue yet" in page
    assert page_of(client, cast.charlie, queue="order-exceptions").count('class="stat"') == 0


def test_the_page_takes_as_many_queries_for_thirty_rows_as_for_one(client, cast):
    close(refuse(1)[0], cast.bob)
    refuse(1, start=10)
    page_of(client, cast.bob)
    with CaptureQueriesContext(connection) as few:
        page_of(client, cast.bob, range="90d")
    for escalation in refuse(30, start=100)[:15]:
        close(escalation, cast.bob)
    opened(document("B-1", total=5000))
    work()
    with CaptureQueriesContext(connection) as many:
        page_of(client, cast.bob, range="90d")
    assert len(many) == len(few)
    assert len(many) <= 20
    assert Escalation.objects.filter(resolution=Resolution.CLOSE).count() == 16
