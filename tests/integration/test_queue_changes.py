"""Queues change through actions; each change leaves what was before and after it."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from handoffs.actions import queues
from handoffs.errors import UnfitQueue
from handoffs.models import AuditEntry, Membership, Queue

pytestmark = pytest.mark.django_db


def entries():
    return [
        (e.actor, e.action, e.subject, json.loads(e.before), json.loads(e.after))
        for e in AuditEntry.objects.order_by("pk")
    ]


def test_a_new_queue_is_in_the_audit_history(cast):
    queues.create_queue(slug="returns", owner=cast.alice, by=cast.dora)
    [(actor, action, subject, before, after)] = entries()
    assert (actor, action, subject, before) == ("reviewer:dora", "queue.create", "returns", {})
    assert (after["owner"], after["title"]) == ("alice", "Returns")


def test_an_installation_that_sets_itself_up_is_named_as_such(cast):
    queues.create_queue(slug="returns", owner=cast.alice)
    assert entries()[0][0] == "system:setup"


def test_a_change_of_owner_keeps_who_it_was(cast):
    queue = cast.queues["ledger"]
    queues.change_queue(queue=queue, by=cast.dora, owner=cast.bob, title=queue.title)
    assert entries() == [("reviewer:dora", "queue.change", "ledger", {"owner": "alice"}, {"owner": "bob"})]
    assert Queue.objects.get(pk=queue.pk).owner == cast.bob


def test_a_change_that_changes_nothing_leaves_no_entry(cast):
    queue = cast.queues["ledger"]
    queues.change_queue(queue=queue, by=cast.dora, title=queue.title, due_within=timedelta(days=1))
    queues.set_member(queue=queue, user=cast.bob, role="reviewer", by=cast.dora)
    queues.remove_member(queue=queue, user=cast.charlie, by=cast.dora)
    assert entries() == []


def test_a_queue_keeps_an_owner_who_can_sign_in(cast):
    cast.charlie.is_active = False
    cast.charlie.save()
    queue = cast.queues["ledger"]
    for settings in ({"owner": cast.charlie}, {"backup": cast.charlie}, {"close_reasons": " \n "}):
        with pytest.raises(UnfitQueue):
            queues.change_queue(queue=queue, by=cast.dora, **settings)
    with pytest.raises(UnfitQueue):
        queues.create_queue(slug="returns", owner=cast.charlie)
    assert Queue.objects.get(pk=queue.pk).owner == cast.alice
    assert entries() == []


def test_a_queues_name_cannot_be_changed(cast):
    with pytest.raises(TypeError, match="slug"):
        queues.change_queue(queue=cast.queues["ledger"], slug="books")


def test_members_come_change_and_go_with_an_entry_each(cast):
    queue = cast.queues["ledger"]
    queues.set_member(queue=queue, user=cast.charlie, role="viewer", by=cast.alice)
    queues.set_member(queue=queue, user=cast.charlie, role="reviewer", by=cast.alice)
    queues.remove_member(queue=queue, user=cast.charlie, by=cast.alice)
    assert [(before, after) for *_, before, after in entries()] == [
        ({"charlie": None}, {"charlie": "viewer"}),
        ({"charlie": "viewer"}, {"charlie": "reviewer"}),
        ({"charlie": "reviewer"}, {"charlie": None}),
    ]
    assert not Membership.objects.filter(queue=queue, user=cast.charlie).exists()
