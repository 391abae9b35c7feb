"""In a queue of two people, who fixed a record does not approve it: on the page, in a batch, in the action itself."""

from __future__ import annotations

import json

import pytest
from django.urls import reverse

from handoffs.actions import batches, verdicts
from handoffs.actions.verdicts import Seen
from handoffs.errors import NotAllowed
from handoffs.models import AuditEntry, Queue, Record
from handoffs.states import BatchVerb
from tests.cast import fresh, waiting, work
from tests.pages import large, main_words, refused, unsure

pytestmark = pytest.mark.django_db
SAID = "here somebody else has to approve it"


@pytest.fixture
def to_approve(cast):
    """Large, and fixed by bob: it waits for an approval in a queue of two people."""
    Queue.objects.filter(slug="approvals").update(two_people=True)
    stopped = refused()
    body = json.dumps(json.loads(stopped.record.payload) | {"purchase_order": "PO-1", "total": 5000})
    verdicts.fix(escalation_id=stopped.pk, by=cast.bob, seen=Seen(0), body=body)
    Record.objects.update(available_at=stopped.opened_at)
    work()
    found = waiting(stopped.record)
    assert (found.queue.slug, found.kind) == ("approvals", "review")
    return found


def answer_of(record) -> str:
    return json.dumps(json.loads(fresh(record).payload) | {"approved_by": "somebody"})


def test_the_page_says_why_it_can_not_be_approved_and_to_others_nothing(client, cast, to_approve):
    page = reverse("escalation", args=[to_approve.pk])
    client.force_login(cast.bob)
    assert SAID in main_words(client.get(page))
    client.force_login(cast.alice)
    assert SAID not in main_words(client.get(page))


def test_who_fixed_it_is_refused_and_another_is_not(cast, to_approve):
    text = answer_of(to_approve.record)
    with pytest.raises(NotAllowed, match=SAID):
        verdicts.answer(escalation_id=to_approve.pk, by=cast.bob, seen=Seen(0), text=text)
    verdicts.answer(escalation_id=to_approve.pk, by=cast.alice, seen=Seen(0), text=text)
    assert fresh(to_approve.record).status == "ready"


def test_a_posted_form_is_refused_too(client, cast, to_approve):
    client.force_login(cast.bob)
    sent = {"body": answer_of(to_approve.record), "version": to_approve.version}
    answer = client.post(reverse("escalation-answer", args=[to_approve.pk]), sent)
    assert answer.status_code == 403
    assert waiting(to_approve.record).pk == to_approve.pk


def test_elsewhere_one_person_is_enough(cast, to_approve):
    Queue.objects.update(two_people=False)
    verdicts.answer(escalation_id=to_approve.pk, by=cast.bob, seen=Seen(0), text=answer_of(to_approve.record))


def test_who_fixed_another_record_may_approve_this_one(cast, to_approve):
    other = large("L-2")
    verdicts.answer(escalation_id=other.pk, by=cast.bob, seen=Seen(0), text=answer_of(other.record))


@pytest.mark.parametrize(("who", "left"), [("bob", True), ("alice", False)])
def test_a_batch_leaves_it_out_and_says_so(cast, who, left):
    Queue.objects.update(two_people=True)
    item = unsure()
    person = getattr(cast, who)
    item.record.results.filter(outcome="low_confidence").update(outcome="fixed", actor="reviewer:bob")
    batch = batches.draft(verb=BatchVerb.APPROVE, by=person, escalations=[item.pk], query="")
    [row] = batch.items.all()
    assert (SAID in row.sentence) is left


def test_it_is_set_in_the_administration_and_audited(client, cast):
    client.force_login(cast.dora)
    queue = cast.queues["ledger"]
    url = reverse("admin:handoffs_queue_change", args=[queue.pk])
    said = {"title": "Ledger", "owner": cast.alice.pk, "backup": "", "due_within": "1 00:00:00", "two_people": "on",
            "unread_within": "01:00:00", "watched_within": "1 00:00:00", "close_reasons": queue.close_reasons,
            "memberships-TOTAL_FORMS": 0, "memberships-INITIAL_FORMS": 0}  # fmt: skip
    assert client.post(url, said).status_code == 302
    assert Queue.objects.get(pk=queue.pk).two_people
    assert json.loads(AuditEntry.objects.get(action="queue.change").after)["two_people"] is True
