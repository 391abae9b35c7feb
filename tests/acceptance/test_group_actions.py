"""Several that stopped the same way: the same change or verdict for all, after a look at what passes."""

from __future__ import annotations

import json

import pytest

from handoffs.actions import escalations
from handoffs.actions.batch_work import work_off
from handoffs.models import Batch, Membership
from tests.acceptance.stopped import asked, go_on, refused, url
from tests.browsing import form, forms, send_with, text_of
from tests.cast import fresh

pytestmark = pytest.mark.django_db


@pytest.fixture
def bob(client, cast):
    client.force_login(cast.bob)
    return client


def same(client, escalation, typed):
    """Type something and ask for the same to all; the answer."""
    return send_with(client, form(client.get(url(escalation)), "/fix/"), typed | {"then": "same"})


def test_one_fix_is_done_to_all_after_a_look_at_which_pass(bob, cast):
    first, second, held = refused(number="A-1"), refused(number="B-2"), refused(number="C-3")
    asked()
    escalations.claim(escalation_id=held.pk, by=cast.alice)
    answer = same(bob, first, {"/purchase_order": "PO-9"})
    assert (answer.status_code, first.record.status) == (302, "escalated")
    preview = bob.get(answer.headers["Location"])
    text = text_of(preview)
    assert "2 pass, 1 is left alone" in text
    assert 'Each gets the same change: /purchase_order "PO-9"' in text
    assert "Alice Ek has it now." in text
    send_with(bob, form(preview, "/begin/"), {})
    assert work_off(limit=10) == 2
    for escalation in (first, second):
        done = go_on(escalation.record)
        assert json.loads(done.payload)["number"] == escalation.record.title.split()[0]
        assert done.status == "completed"
    assert fresh(held.record).status == "escalated"
    assert "2 fixed" in text_of(bob.get(answer.headers["Location"]))


def test_a_change_that_mends_only_some_says_so_first(bob):
    first = refused(number="A-1")
    refused(number="B-2")
    preview = bob.get(same(bob, first, {"/purchase_order": "PO-9", "/total": "1.5"}).headers["Location"])
    assert "0 pass, 2 still fail, in 1 group" in text_of(preview)
    assert not [f for f in forms(preview) if f.action.endswith("/begin/")]


def test_nothing_typed_is_no_change_to_share(bob):
    first = refused(number="A-1")
    refused(number="B-2")
    response = same(bob, first, {})
    assert response.status_code == 422
    assert "Type the change first" in text_of(response)
    assert Batch.objects.count() == 0


def test_a_verdict_for_all_goes_through_its_preview_too(bob):
    first = refused(number="A-1")
    refused(number="B-2")
    found = form(bob.get(url(first)), "/escalations/bulk/")
    assert {value for name, value, _label in found.buttons if name == "verb"} == {"retry", "close"}
    preview = bob.get(send_with(bob, found, {"verb": "close"}).headers["Location"])
    assert "2 pass" in text_of(preview)
    send_with(bob, form(preview, "/begin/"), {"reason": "Duplicate"})
    assert work_off(limit=10) == 2
    assert fresh(first.record).status == "closed"


def test_who_may_only_look_has_no_group_action(client, cast):
    first = refused(number="A-1")
    refused(number="B-2")
    Membership.objects.create(queue=first.queue, user=cast.charlie, role="viewer")
    client.force_login(cast.charlie)
    page = client.get(url(first))
    assert not [f for f in forms(page) if f.action.endswith("/bulk/")]
    data = form(page, "/comment/").data | {"then": "same", "/purchase_order": "PO-9"}
    preview = client.get(client.post(url(first, "fix/"), data | {"digest": ""}).headers["Location"])
    assert "0 pass, 2 are left alone" in text_of(preview)


def test_what_changed_before_its_turn_is_left_alone(bob, cast):
    first, second = refused(number="A-1"), refused(number="B-2")
    preview = bob.get(same(bob, first, {"/purchase_order": "PO-9"}).headers["Location"])
    send_with(bob, form(preview, "/begin/"), {})
    escalations.claim(escalation_id=second.pk, by=cast.alice)
    work_off(limit=10)
    assert fresh(first.record).status == "ready"
    assert fresh(second.record).status == "escalated"
    items = {i.escalation_id: i.state for i in Batch.objects.get().items.all()}
    assert items == {first.pk: "done", second.pk: "skipped"}
