"""Take next: one click, the most urgent item of the view, and never somebody else's."""

from __future__ import annotations

import threading
from datetime import timedelta
from urllib.parse import parse_qs, urlsplit

import pytest
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils.timezone import now

from handoffs.actions import escalations, queues
from handoffs.models import Escalation
from tests.cast import opened
from tests.pages import change, large, main_words, refused

NEXT, INBOX = reverse("inbox-next"), reverse("inbox")
pytestmark = pytest.mark.django_db


@pytest.fixture
def bob(client, cast):
    client.force_login(cast.bob)
    return client


def place(answer):
    """(path, what the page is told of the view) of a redirect."""
    parts = urlsplit(answer["Location"])
    return parts.path, parse_qs(parts.query).get("from", [""])[0]


def test_the_most_urgent_free_item_is_claimed_and_opened(bob, cast):
    later, urgent, taken = refused("A-1"), refused("A-2"), refused("A-3")
    change(urgent, priority=5)
    change(taken, priority=9)
    escalations.claim(escalation_id=taken.pk, by=cast.alice)
    answer = bob.post(NEXT)
    assert place(answer) == (reverse("escalation", args=[urgent.pk]), "")
    urgent.refresh_from_db()
    assert (urgent.state, urgent.assignee, urgent.assigned) == ("claimed", cast.bob, False)
    later.refresh_from_db()
    assert later.state == "open"


def test_it_comes_from_the_view_that_was_on_the_page(bob, cast):
    change(refused(), priority=9)
    wanted = large()
    answer = bob.post(f"{NEXT}?queue=approvals&kind=review&after=whatever")
    assert place(answer) == (reverse("escalation", args=[wanted.pk]), "queue=approvals&kind=review")


def test_what_sleeps_is_left_asleep_and_a_lapsed_claim_is_free_again(bob, cast):
    asleep, lapsed = refused("A-1"), refused("A-2")
    escalations.snooze(escalation_id=asleep.pk, by=cast.bob, until=now() + timedelta(hours=1))
    escalations.claim(escalation_id=lapsed.pk, by=cast.alice)
    assert place(bob.post(NEXT))[0] == INBOX
    change(lapsed, claimed_until=now() - timedelta(seconds=1))
    assert place(bob.post(NEXT))[0] == reverse("escalation", args=[lapsed.pk])


@pytest.mark.parametrize("view", ["mine", "snoozed", "decided"])
def test_where_nothing_can_be_taken_the_next_comes_from_all_that_is_open(bob, cast, view):
    escalation = refused()
    assert place(bob.post(f"{NEXT}?view={view}&kind=refused")) == (
        reverse("escalation", args=[escalation.pk]),
        "kind=refused",
    )


def test_when_nothing_is_left_it_says_so_and_keeps_the_view(bob, cast):
    answer = bob.post(f"{NEXT}?kind=asked", follow=True)
    assert answer.redirect_chain == [(f"{INBOX}?kind=asked", 302)]
    assert "There is nothing left to take here." in main_words(answer)


def test_a_filter_that_means_nothing_takes_nothing(bob, cast):
    escalation = refused()
    answer = bob.post(f"{NEXT}?kind=nope")
    assert answer["Location"] == f"{INBOX}?kind=nope"
    escalation.refresh_from_db()
    assert escalation.state == "open"


def test_who_may_only_look_takes_nothing(client, cast):
    escalation = refused()
    queues.set_member(queue=escalation.queue, user=cast.charlie, role="viewer")
    client.force_login(cast.charlie)
    assert place(client.post(NEXT))[0] == INBOX
    client.force_login(cast.dora)
    assert place(client.post(NEXT))[0] == reverse("escalation", args=[escalation.pk])


def test_looking_takes_nothing(bob, cast):
    refused()
    assert bob.get(NEXT).status_code == 405
    assert not Escalation.objects.filter(state="claimed").exists()


@pytest.mark.django_db(transaction=True)
def test_many_at_once_never_get_the_same_item(cast):
    for number in range(24):
        opened({"text": number})
    taken, failures, start = [], [], threading.Barrier(4)

    def take(person):
        try:
            client = Client()
            client.force_login(person)
            start.wait()
            for _ in range(6):
                taken.append(client.post(NEXT)["Location"])
        except Exception as error:
            failures.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=take, args=[who]) for who in (cast.alice, cast.bob, cast.dora, cast.bob)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert sorted(taken) == sorted(
        reverse("escalation", args=[pk]) for pk in Escalation.objects.values_list("pk", flat=True)
    )
