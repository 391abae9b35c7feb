"""Saved views: filters under a name, each with its count, one's own or a queue's."""

from __future__ import annotations

import pytest
from django.urls import reverse

from handoffs.actions import queues
from reviewqueue.models import SavedView
from tests.browsing import form, send_with
from tests.pages import large, listed, main_words, refused, unsure, words, worker_is_seen

pytestmark = pytest.mark.django_db
INBOX, VIEWS = reverse("inbox"), reverse("views")


@pytest.fixture
def bob(client, cast):
    client.force_login(cast.bob)
    return client


def saved(client, query="kind=refused", title="Refusals", queue=""):
    client.post(VIEWS, {"query": query, "title": title, "queue": queue})
    return SavedView.objects.latest("pk")


def test_filters_are_kept_under_a_name_with_a_count(bob, cast):
    wanted, other = refused(), unsure()
    page = bob.get(f"{INBOX}?kind=refused&sort=due")
    answer = send_with(bob, form(page, VIEWS), {"title": "  My   refusals "})
    assert answer["Location"] == f"{INBOX}?kind=refused&sort=due"
    page = bob.get(answer["Location"])
    assert listed(page) == [wanted.pk] != [other.pk]
    assert "Saved views My refusals 1" in words(page)
    current = page.content.decode().split('aria-current="page"')
    assert len(current) == 2, "one place at a time"
    assert "My refusals" in current[1][:200]


def test_a_view_leads_to_its_filters_and_knows_itself_in_any_order(bob, cast):
    view = saved(bob, "kind=refused&queue=ledger&nonsense=1")
    assert view.query == "kind=refused&queue=ledger"
    assert bob.get(reverse("view", args=[view.pk]))["Location"] == f"{INBOX}?{view.query}"
    page = bob.get(f"{INBOX}?queue=ledger&kind=refused").content.decode()
    assert "Refusals" in page.split('aria-current="page"')[1][:200]


def test_a_queue_s_view_is_seen_by_its_people_and_a_private_one_by_nobody_else(client, bob, cast):
    saved(bob, title="Of all", queue="order-exceptions")
    saved(bob, title="Of Bob")
    client.force_login(cast.alice)
    text = words(client.get(INBOX))
    assert "Of all Order exceptions" in text
    assert "Of Bob</span>" not in client.get(INBOX).content.decode()
    queues.set_member(queue=cast.queues["approvals"], user=cast.charlie, role="viewer")
    client.force_login(cast.charlie)
    assert "Of all" not in words(client.get(INBOX))
    view = SavedView.objects.get(title="Of all")
    assert client.get(reverse("view", args=[view.pk])).status_code == 404
    assert client.post(reverse("view-delete", args=[view.pk])).status_code == 404


def test_counts_are_of_what_one_may_see(client, bob, cast):
    refused()
    large()
    saved(bob, "flow=orders", "Orders", queue="order-exceptions")
    assert "Orders Order exceptions 2" in words(bob.get(INBOX))
    queues.set_member(queue=cast.queues["order-exceptions"], user=cast.charlie, role="viewer")
    client.force_login(cast.charlie)
    assert "Orders Order exceptions 1" in words(client.get(INBOX))


def test_a_view_is_renamed_and_deleted(bob, cast):
    view = saved(bob)
    bob.post(reverse("view-rename", args=[view.pk]), {"title": "Stopped"})
    assert "Stopped" in main_words(bob.get(VIEWS))
    bob.post(reverse("view-delete", args=[view.pk]))
    assert "No saved view yet" in main_words(bob.get(VIEWS))


def test_a_queue_s_owner_changes_its_views_and_other_members_do_not(client, bob, cast):
    view = saved(bob, queue="ledger")
    queues.set_member(queue=cast.queues["ledger"], user=cast.charlie, role="reviewer")
    client.force_login(cast.charlie)
    assert client.post(reverse("view-delete", args=[view.pk])).status_code == 403
    client.force_login(cast.alice)
    client.post(reverse("view-rename", args=[view.pk]), {"title": "By the owner"})
    view.refresh_from_db()
    assert view.title == "By the owner"


def test_the_view_that_opens_first_is_where_one_begins(bob, cast):
    view = saved(bob)
    assert bob.get("/")["Location"] == INBOX
    bob.post(reverse("view-first", args=[view.pk]))
    assert bob.get("/")["Location"] == f"{INBOX}?kind=refused"
    assert "opens first" in main_words(bob.get(VIEWS))
    bob.post(reverse("view-first", args=[view.pk]), {"off": "1"})
    assert bob.get("/")["Location"] == INBOX
    bob.post(reverse("view-first", args=[view.pk]))
    view.delete()
    assert bob.get("/")["Location"] == INBOX


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        ({"title": "", "query": "kind=refused"}, "A view needs a name"),
        ({"title": "x" * 61, "query": "kind=refused"}, "A view needs a name"),
        ({"title": "x", "query": ""}, "There is no filter to save"),
        ({"title": "x", "query": "nonsense=1"}, "There is no filter to save"),
        ({"title": "x", "query": "kind=refused", "queue": "nowhere"}, "Choose a queue in which you decide."),
        ({"title": "Refusals", "query": "kind=failed"}, "There is a view of that name already."),
    ],
)
def test_a_view_that_means_nothing_is_not_saved(bob, cast, data, sentence):
    saved(bob)
    answer = bob.post(VIEWS, data)
    assert answer.status_code == 422
    assert sentence in main_words(answer)
    assert SavedView.objects.count() == 1


def test_a_view_whose_filter_lost_its_meaning_says_so_and_counts_nothing(bob, cast):
    view = saved(bob, "queue=ledger", "Gone")
    SavedView.objects.filter(pk=view.pk).update(query="queue=not-there-any-more")
    page = bob.get(f"{INBOX}?queue=not-there-any-more")
    assert "No rows are shown: a filter means nothing here" in main_words(page)
    assert "Gone Workflows" in words(page)


def test_many_views_cost_the_side_no_more_queries(bob, cast, django_assert_max_num_queries):
    worker_is_seen()
    saved(bob)
    with django_assert_max_num_queries(12) as one:
        bob.get(INBOX)
    for number in range(10):
        saved(bob, title=f"View {number}")
    with django_assert_max_num_queries(12) as eleven:
        bob.get(INBOX)
    assert len(one) == len(eleven)
