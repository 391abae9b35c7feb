"""Search stays quick on large lists: numbers by index, words in the first rows, and the page says so."""

from __future__ import annotations

import pytest
from django.urls import reverse

from reviewqueue import searching
from tests.cast import opened
from tests.pages import broken_intake, listed, main_words, refused

pytestmark = pytest.mark.django_db
INBOX = reverse("inbox")


@pytest.fixture
def bob(client, cast):
    client.force_login(cast.bob)
    return client


def test_words_are_looked_for_in_the_first_rows_and_the_page_says_so(bob, cast, monkeypatch):
    first, second = refused("A-1"), refused("A-2")
    assert set(listed(bob.get(INBOX, {"q": "purchase_order"}))) == {first.pk, second.pk}
    monkeypatch.setattr(searching, "SEARCHED", 1)
    page = bob.get(INBOX, {"q": "purchase_order"})
    assert listed(page) == [first.pk]
    assert "Words are looked for in the first 20,000 of a view" in main_words(page)


def test_numbers_and_whole_external_ids_are_found_however_long_the_list_is(bob, cast, monkeypatch):
    first, last = refused("A-1"), refused("A-2", external_id="ext-2")
    monkeypatch.setattr(searching, "SEARCHED", 1)
    for text in ("ext-2", f"ESC-{last.pk}", f"REC-{last.record_id}", str(last.pk)):
        assert last.pk in listed(bob.get(INBOX, {"q": text})), text
    assert listed(bob.get(INBOX, {"q": "ext-"})) == []
    assert "Words are looked for" not in main_words(bob.get(INBOX, {"q": f"ESC-{first.pk}"}))


def test_a_term_that_very_many_hold_is_not_cut(bob, cast, monkeypatch):
    monkeypatch.setattr(searching, "CAP", 2)
    found = {refused(f"A-{n}").pk for n in range(5)}
    assert set(listed(bob.get(INBOX, {"q": "purchase_order"}))) == found


def test_the_other_filters_decide_what_the_first_rows_are(bob, cast, monkeypatch):
    broken_intake()
    wanted = refused("A-1")
    monkeypatch.setattr(searching, "SEARCHED", 1)
    assert listed(bob.get(INBOX, {"q": "A-1", "step": "check"})) == [wanted.pk]


def test_a_search_never_reaches_into_other_peoples_queues(client, cast):
    refused("A-1", external_id="ext-1")
    client.force_login(cast.charlie)
    for text in ("ext-1", "A-1", "REC-1", "ESC-1"):
        assert listed(client.get(reverse("records"), {"q": text})) == []


@pytest.mark.parametrize("text", ["100%", "a_b", "back\\slash", "it's", 'a"b', "?", "%s", "{0}", "\u202e", "😀"])
def test_signs_that_mean_something_to_a_database_are_only_signs(bob, cast, text):
    opened({"text": 1, "more": f"xx{text}xx"})
    opened({"text": 1, "more": "xxx100xxaxbxx"})
    assert len(listed(bob.get(INBOX, {"q": text}))) == 1
