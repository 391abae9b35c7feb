"""The map of a flow: what stands where, how often each step refused, and the lists behind the drawing."""

from __future__ import annotations

import re
from datetime import timedelta
from html import unescape

from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from handoffs.insight.seam_figures import Arrivals, arrivals
from handoffs.models import Escalation, Record, sql
from reviewqueue.flow_map import maps, rate_text
from tests.cast import document, opened, waiting, work

URL = "/flows/orders/"


def page_of(client, user) -> str:
    client.force_login(user)
    answer = client.get(URL)
    assert answer.status_code == 200
    return unescape(answer.content.decode())


def some_records() -> None:
    for n in range(3):
        opened(document(f"A-{n}"))
    opened(document("B-1", order=""))
    opened(document("C-1", total=5000))
    opened(b"nonsense")
    work()


def test_a_step_refused_a_share_of_what_arrived_there(cast):
    some_records()
    found = arrivals(Record.objects.all(), "orders")
    assert found["check"] == Arrivals(5, 1)
    assert found["intake"] == Arrivals(6, 1)
    assert found["post"] == Arrivals(3, 0)
    assert "approve" not in found or found["approve"].refused == 0
    assert [rate_text(found["check"]), rate_text(Arrivals(1000, 3)), rate_text(Arrivals())] == ["20 %", "0.3 %", ""]


def test_the_map_tells_counts_rates_and_the_oldest(client, cast):
    some_records()
    refused = Escalation.objects.get(step="check")
    Escalation.objects.filter(pk=refused.pk).update(opened_at=sql.now() - timedelta(hours=5, minutes=10))
    page = page_of(client, cast.bob)
    assert page.count('<svg class="map ') == 2
    assert 'aria-label="check, Escalated: 1"' in page
    assert 'aria-label="check refused 1 of 5"' in page
    assert "oldest 5 h" in page


def test_every_part_of_the_map_leads_to_its_list(client, cast):
    some_records()
    page = page_of(client, cast.bob)
    drawing = page[page.index('<svg class="map ') : page.index("<caption>Steps")]
    links = set(re.findall(r'href="(/[^"]*)"', drawing))
    assert f"{reverse('inbox')}?view=any&flow=orders&step=check&kind=refused" in links
    assert f"{reverse('records')}?flow=orders&step=post&status=ready" in links
    for link in links:
        answer = client.get(link)
        assert answer.status_code == 200, link
        assert "a filter means nothing" not in answer.content.decode(), link


def test_the_table_below_says_what_the_map_says(client, cast):
    some_records()
    page = page_of(client, cast.bob)
    table = page[page.index("<caption>Steps") :]
    assert "20 %" in table
    assert table.count('data-label="Oldest"') == 5


def test_only_what_the_person_sees_is_counted(client, cast):
    some_records()
    for membership in cast.queues["order-exceptions"].memberships.all():
        membership.delete()
    page = page_of(client, cast.bob)
    assert 'aria-label="check, Escalated: 0"' in page
    client.force_login(cast.charlie)
    assert client.get(URL).status_code == 404


def test_a_long_flow_goes_on_in_further_lines():
    rows = [
        {"name": f"step-{n}", "by": "a worker", "counts": {"ready": "0"}, "records_url": "/r?", "inbox_url": "/i?",
         "has_stopped": False, "arrivals": Arrivals(), "rate": "", "oldest": ""}
        for n in range(7)
    ]  # fmt: skip
    wide, middling = maps("long", rows)
    assert len({station.y for station in wide.stations}) == 2
    assert len({station.y for station in middling.stations}) == 3
    assert all(station.x + 156 <= wide.width for station in wide.stations)
    assert len(wide.arrows) == 6


def test_a_long_name_is_cut_in_the_drawing_only():
    from reviewqueue.flow_map import Station

    station = Station("a-very-long-name-of-a-step", "", "", 0, 0, (), "")
    assert len(station.short) == 17
    assert station.short.endswith("…")


def test_the_page_takes_as_many_queries_for_many_records_as_for_few(client, cast):
    some_records()
    page_of(client, cast.bob)
    with CaptureQueriesContext(connection) as few:
        page_of(client, cast.bob)
    some_more = [opened(document(f"M-{n}", order="" if n % 2 else "PO")) for n in range(20)]
    work()
    assert waiting(some_more[1])
    with CaptureQueriesContext(connection) as many:
        page_of(client, cast.bob)
    assert len(many) == len(few)
