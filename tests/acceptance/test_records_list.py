"""The list of records: everything that went through the queues a person may see."""

from __future__ import annotations

import pytest
from django.urls import reverse

from handoffs.actions import queues
from handoffs.models import Record
from tests.cast import document, opened, work
from tests.pages import large, link, listed, main_words, refused

pytestmark = pytest.mark.django_db
RECORDS = reverse("records")


@pytest.fixture
def bob(client, cast):
    client.force_login(cast.bob)
    return client


def completed(number="OK-1"):
    record = opened(document(number))
    work()
    return record


def test_a_row_says_where_a_record_stands(bob, cast):
    record = refused("A-7", external_id="supplier:7").record
    text = main_words(bob.get(RECORDS))
    assert f"A-7 – REC-{record.pk} total 10 · supplier:7 Escalated check orders Order exceptions agent:echo" in text


def test_newest_come_first(bob, cast):
    records = [refused("A-1").record.pk, completed().pk, refused("A-2").record.pk]
    assert listed(bob.get(RECORDS)) == records[::-1]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("status=completed", {"done"}),
        ("status=escalated&status=completed", {"refused", "large", "done"}),
        ("flow=orders", {"refused", "large", "done"}),
        ("flow=tickets", {"ticket"}),
        ("queue=approvals", {"large"}),
        ("step=check", {"refused"}),
        ("q=ext-1", {"refused"}),
        ("q=a+refund", {"ticket"}),
        ("q=5000", {"large"}),
    ],
)
def test_each_filter_narrows_the_list(bob, cast, query, expected):
    found = {
        "refused": refused("A-1", external_id="ext-1").record.pk,
        "large": large().record.pk,
        "done": completed().pk,
        "ticket": opened({"subject": "A refund, please"}, flow="tickets").pk,
    }
    names = {pk: name for name, pk in found.items()}
    assert {names[pk] for pk in listed(bob.get(f"{RECORDS}?{query}"))} == expected


def test_a_record_is_found_by_its_number_or_its_escalations(bob, cast):
    completed()
    escalation = refused()
    assert listed(bob.get(RECORDS, {"q": f"ESC-{escalation.pk}"})) == [escalation.record_id]
    assert listed(bob.get(RECORDS, {"q": f"rec-{escalation.record_id}"})) == [escalation.record_id]


@pytest.mark.parametrize("query", ["status=nope", "flow=nope", "queue=nope", "step=nope", "q=%00"])
def test_a_value_that_means_nothing_shows_no_rows_and_says_so(bob, cast, query):
    refused()
    page = bob.get(f"{RECORDS}?{query}")
    assert listed(page) == []
    assert "a filter means nothing here" in main_words(page)


def test_people_see_the_records_of_their_queues(client, cast):
    here, there = refused(), large()
    queues.set_member(queue=here.queue, user=cast.charlie, role="viewer")
    client.force_login(cast.charlie)
    assert listed(client.get(RECORDS)) == [here.record_id]
    assert listed(client.get(RECORDS, {"q": f"REC-{there.record_id}"})) == []
    client.force_login(cast.dora)
    assert set(listed(client.get(RECORDS))) == {here.record_id, there.record_id}


def test_nothing_yet_and_nothing_that_fits_are_told_apart(bob, cast):
    assert "No record yet" in main_words(bob.get(RECORDS))
    refused()
    assert "Nothing fits these filters" in main_words(bob.get(RECORDS, {"q": "zzz"}))


def test_the_number_of_queries_does_not_grow_with_the_rows(bob, cast, django_assert_max_num_queries):
    opened({"text": 0})
    with django_assert_max_num_queries(9) as one:
        assert len(listed(bob.get(RECORDS))) == 1
    for number in range(49):
        opened({"text": number})
    with django_assert_max_num_queries(9) as fifty:
        assert len(listed(bob.get(RECORDS))) == 50
    assert len(one) == len(fifty)


def test_pages_follow_one_another(bob, cast):
    for number in range(60):
        opened({"text": number})
    first = bob.get(RECORDS)
    assert "50 of 60, newest first" in main_words(first)
    second = bob.get(link(first, "next"))
    assert listed(first) + listed(second) == list(Record.objects.newest_first().values_list("pk", flat=True))
    assert link(second, "first") == RECORDS
    assert bob.get(RECORDS, {"after": "nonsense"}).status_code == 400
