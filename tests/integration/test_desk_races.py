"""Many reviewers on one view: nothing is given to two, nothing is left out; of two who decide, one does.

HANDOFFS_RACES says how many; the default is small, for machines that are shared.
"""

from __future__ import annotations

import os
from functools import partial

import pytest
from django.db import connection
from django.test import Client
from django.urls import reverse

from handoffs.actions import escalations
from handoffs.actions.records import Opening, open_records
from handoffs.flows import get_flow
from handoffs.models import Escalation, Membership
from reviewqueue.models import User
from tests.racing import race

pytestmark = pytest.mark.django_db(transaction=True)
RACES = int(os.environ.get("HANDOFFS_RACES", "60"))
REVIEWERS = 12


@pytest.fixture
def reviewers(cast):
    people = [User.objects.create_user(f"reviewer-{number}") for number in range(REVIEWERS)]
    Membership.objects.bulk_create(Membership(queue=q, user=p) for q in cast.queues.values() for p in people)
    return people


def stopped(count: int) -> list[int]:
    """Escalations: their intake was refused."""
    openings = [Opening(b'{"text": 7}') for _ in range(count)]
    opened = open_records(flow=get_flow("orders"), openings=openings, actor="agent:echo")
    return list(
        Escalation.objects.filter(record__in=[o.record_id for o in opened]).order_by("pk").values_list("pk", flat=True)
    )


def take_all(person: User) -> list[int]:
    """Take next until nothing is left."""
    taken: list[int] = []
    while (pk := escalations.take_next(view=Escalation.objects.all(), by=person)) is not None:
        taken.append(pk)
    return taken


def test_twelve_who_take_next_share_all_items_and_none_twice(reviewers):
    items = stopped(RACES)
    people = reviewers if connection.vendor == "postgresql" else reviewers[:3]
    taken = race([partial(take_all, person) for person in people])
    taken.append(take_all(people[0]))  # what two looked at in the same moment, both may have passed by
    assert sorted(pk for some in taken for pk in some) == items
    holders = dict(Escalation.objects.filter(pk__in=items).values_list("pk", "assignee"))
    assert all(holders[pk] == person.pk for person, some in zip(people, taken, strict=False) for pk in some)


def close(client: Client, pk: int, seen: int, note: str) -> tuple[int, bool]:
    """(status, whether what was typed is on the page)"""
    answer = client.post(reverse("escalation-close", args=[pk]), {"reason": "Duplicate", "note": note, "version": seen})
    return answer.status_code, note in answer.content.decode()


def test_of_two_who_close_one_does_and_the_other_keeps_what_they_typed(cast, reviewers):
    clients = [Client(), Client()]
    for client, person in zip(clients, reviewers, strict=False):
        client.force_login(person)
    for pk in stopped(RACES):
        notes = [f"what {who} typed about {pk}" for who in ("one", "the other")]
        seen = Escalation.objects.get(pk=pk).version
        told = sorted(
            race([partial(close, client, pk, seen, note) for client, note in zip(clients, notes, strict=True)])
        )
        assert [status for status, _ in told] == [302, 409], told
        assert told[1][1], "the loser's text is on the page"
        assert Escalation.objects.get(pk=pk).note in notes
