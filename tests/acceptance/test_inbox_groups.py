"""The inbox by what stopped the records, its counts by kind, and the look at a row beside the list."""

from __future__ import annotations

import pytest
from django.urls import reverse

from handoffs.models import Batch, Escalation
from tests.browsing import form, send_with
from tests.cast import work
from tests.pages import broken_intake, large, listed, main_words, refused, unsure, words

pytestmark = pytest.mark.django_db
INBOX = reverse("inbox")


@pytest.fixture
def bob(client, cast):
    client.force_login(cast.bob)
    return client


def test_what_stopped_the_same_way_is_one_row_with_a_count(bob, cast):
    same = [refused(f"R-{n}") for n in range(3)]
    broken_intake()
    page = bob.get(INBOX, {"group": "1"})
    text = main_words(page)
    assert "3 records check would not run: /purchase_order" in text
    assert "1 record It could not be taken in" in text
    assert listed(page) == []
    assert f'href="{INBOX}?same={same[0].fingerprint}"' in page.content.decode()
    assert f'href="{INBOX}">One by one' in page.content.decode()


def test_a_ticked_group_is_decided_at_once(bob, cast):
    same = [refused(f"R-{n}") for n in range(3)]
    other = broken_intake()
    page = bob.get(INBOX, {"group": "1"})
    preview = send_with(bob, form(page, "/escalations/bulk/?group=1"), {"same": same[0].fingerprint, "verb": "close"})
    assert Batch.objects.get().total == 3
    begun = bob.get(preview["Location"])
    send_with(bob, form(begun, "/begin/"), {"reason": "Duplicate"})
    work()
    assert set(Escalation.objects.decided().values_list("pk", flat=True)) == {e.pk for e in same}
    assert Escalation.objects.unresolved().get() == other


def test_each_kind_has_its_count_and_leads_to_its_rows(bob, cast):
    refused("R-1"), refused("R-2"), unsure()
    page = bob.get(INBOX)
    assert "Refused 2 Low confidence 1" in main_words(page)
    assert f'href="{INBOX}?kind=low_confidence"' in page.content.decode()
    assert "Refused 2" not in main_words(bob.get(INBOX, {"kind": "refused"}))


def test_a_look_at_a_row_shows_what_it_is_about_and_does_not_count(client, bob, cast):
    escalation = refused("<script>alert(1)</script>")
    part = bob.get(reverse("escalation-preview", args=[escalation.pk]), {"from": "kind=refused"})
    assert b"<html" not in part.content
    assert b"<script>" not in part.content
    assert "/purchase_order" in words(part)
    assert f'href="/escalations/{escalation.pk}/?from=kind%3Drefused"' in part.content.decode()
    escalation.refresh_from_db()
    assert escalation.first_seen_at is None
    client.force_login(cast.charlie)
    assert client.get(reverse("escalation-preview", args=[escalation.pk])).status_code == 404


def test_a_look_at_a_large_body_is_cut(bob, cast):
    escalation = large("x" * 5000)
    part = bob.get(reverse("escalation-preview", args=[escalation.pk]))
    assert len(part.content) < 10_000
    assert "…" in words(part)


def test_groups_take_as_many_queries_for_one_as_for_many(bob, cast, django_assert_max_num_queries):
    refused("R-0")
    bob.get(INBOX)  # that somebody looked is noted once in a minute
    with django_assert_max_num_queries(14) as one:
        bob.get(INBOX, {"group": "1"})
    for number in range(20):
        refused(f"R-{number}")
    with django_assert_max_num_queries(14) as many:
        bob.get(INBOX, {"group": "1"})
    assert len(one) == len(many)
