"""Search stays quick on large lists: by index where there is one, else in the first rows, and the page says so."""

from __future__ import annotations

import pytest
from django.urls import reverse

from handoffs.actions import endings, verdicts
from handoffs.actions.verdicts import Seen
from handoffs.models import StepResult
from reviewqueue import searching
from tests.cast import opened
from tests.pages import broken_intake, listed, main_words, refused, unsure

pytestmark = pytest.mark.django_db
INBOX = reverse("inbox")


READS_ROWS = ("SEARCHED", "SEARCHED_EMBEDDED")


@pytest.fixture
def one_row(monkeypatch):
    """Words are looked for in the first row only, wherever an index does not find them."""
    for name in READS_ROWS:
        monkeypatch.setattr(searching, name, 1)


@pytest.fixture
def bob(client, cast):
    client.force_login(cast.bob)
    return client


@pytest.fixture
def without_index(monkeypatch):
    monkeypatch.setattr(searching, "SHORTEST", 100)


def test_words_are_looked_for_in_the_first_rows_and_the_page_says_so(bob, cast, without_index, one_row):
    first, _second = refused("A-1"), refused("A-2")
    page = bob.get(INBOX, {"q": "purchase_order"})
    assert listed(page) == [first.pk]
    assert "Words are looked for in the first 1 of a view" in main_words(page)


@pytest.mark.postgres
def test_in_what_waits_for_a_decision_words_are_found_however_long_the_list_is(bob, cast, one_row):
    refused("A-1")
    named, doubtful = refused("Beta-2", external_id="ext-9"), unsure()
    for text, found in (("beta-2", named), ("xt-9", named), ("O-1", doubtful)):
        page = bob.get(INBOX, {"q": text})
        assert listed(page) == [found.pk], text
        assert "Words are looked for" not in main_words(page)


@pytest.mark.postgres
def test_the_index_names_what_waits_and_nothing_else(bob, cast):
    escalation = unsure()
    assert StepResult.objects.filter(awaits=True).count() == 1
    verdicts.close(escalation_id=escalation.pk, by=cast.bob, seen=Seen(0), reason="Duplicate")
    assert StepResult.objects.filter(awaits=True).count() == 0
    assert searching._indexed("O-1") == []
    endings.undo(escalation_id=escalation.pk, by=cast.bob)
    assert searching._indexed("O-1") == [escalation.pk]


def test_numbers_and_whole_external_ids_are_found_however_long_the_list_is(bob, cast, without_index, one_row):
    first, last = refused("A-1"), refused("A-2", external_id="ext-2")
    for text in ("ext-2", f"ESC-{last.pk}", f"REC-{last.record_id}", str(last.pk)):
        assert last.pk in listed(bob.get(INBOX, {"q": text})), text
    assert listed(bob.get(INBOX, {"q": "ext-"})) == []
    assert "Words are looked for" not in main_words(bob.get(INBOX, {"q": f"ESC-{first.pk}"}))


def test_a_term_that_very_many_hold_is_not_cut(bob, cast, monkeypatch):
    monkeypatch.setattr(searching, "CAP", 2)
    monkeypatch.setattr(searching, "FOUND", 2)
    found = {refused(f"A-{n}").pk for n in range(5)}
    assert set(listed(bob.get(INBOX, {"q": "purchase_order"}))) == found


def test_the_other_filters_decide_what_the_first_rows_are(bob, cast, without_index, one_row):
    broken_intake()
    wanted = refused("A-1")
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
