"""Decisions on many at once: the choice, the preview, the batch at work, its results."""

from __future__ import annotations

import csv
import io
from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils.timezone import now

from handoffs.actions import escalations, queues, verdicts
from handoffs.actions.verdicts import Seen
from handoffs.models import AuditEntry, Batch, BatchItem, Escalation, Record, Transition
from tests import sample_flows
from tests.browsing import form, send_with
from tests.cast import document, opened, waiting, work
from tests.pages import change, large, listed, main_words, refused, unsure, worker_is_seen

pytestmark = pytest.mark.django_db
INBOX, BULK = reverse("inbox"), reverse("escalation-bulk")


@pytest.fixture
def bob(client, cast):
    client.force_login(cast.bob)
    return client


def failed(number):
    """A record whose step failed for good; its input holds."""
    sample_flows.behaviour["check"] = lambda given, context: (_ for _ in ()).throw(sample_flows.PermanentError("no"))
    record = opened(document(number))
    work()
    sample_flows.behaviour.pop("check")
    return waiting(record)


def choose(client, verb, found, query=""):
    ids = [escalation.pk for escalation in found]
    return client.post(f"{BULK}{query}", {"verb": verb, "ids": ids}, follow=True)


def begin(client, page, **typed):
    """Press the button of a preview."""
    return send_with(client, form(page, "/begin/"), typed)


def batch():
    return Batch.objects.latest("pk")


def states(of=None):
    rows = BatchItem.objects.filter(batch=of or batch()).order_by("pk")
    return list(rows.values_list("escalation_id", "state"))


def test_a_preview_runs_the_gate_and_groups_what_still_fails(bob, cast):
    good, broken = [failed("G-1"), failed("G-2")], [refused("R-1"), refused("R-2")]
    page = choose(bob, "retry", [*good, *broken])
    text = main_words(page)
    assert "Retry: 4 escalations" in text
    assert "2 pass, 2 still fail, in 1 group" in text
    assert "2 /purchase_order Null is not allowed here" in text
    assert "Retry 2 Ctrl" in text
    assert Escalation.objects.unresolved().count() == 4, "a preview changes nothing"


def test_what_is_confirmed_is_carried_out_by_a_worker_each_with_one_history_row(bob, cast):
    found = [failed("G-1"), failed("G-2"), refused("R-1")]
    begin(bob, choose(bob, "retry", found))
    assert Escalation.objects.unresolved().count() == 3, "the worker does it, not the page"
    work()
    assert [state for _pk, state in states()] == ["done", "done", "failed"]
    for escalation in found[:2]:
        rows = Transition.objects.filter(record=escalation.record_id, actor="reviewer:bob")
        assert list(rows.values_list("event", "old_status", "new_status")) == [("retry", "escalated", "ready")]
    text = main_words(bob.get(reverse("batch", args=[batch().pk])))
    assert "2 retried, 0 skipped, 1 failed" in text
    assert "failed" in text


def test_case_r05_exactly_what_was_counted_is_closed(bob, cast, monkeypatch):
    monkeypatch.setattr("reviewqueue.paging.SIZE", 5)
    others = [refused(f"R-{n}") for n in range(3)]
    doubtful = [unsure() for _n in range(12)]
    query = "?kind=low_confidence"
    page = bob.get(INBOX + query)
    assert "all 12 of this view" in main_words(page)
    preview = bob.post(f"{BULK}{query}", {"verb": "close", "all": "1"}, follow=True)
    late = [unsure() for _n in range(3)]  # in another tab, three more begin to match
    taken = doubtful[3]
    escalations.claim(escalation_id=taken.pk, by=cast.alice)
    assert "Close 12 Ctrl" in main_words(preview)
    begin(bob, preview, reason="Duplicate")
    work()
    closed = set(Escalation.objects.decided().values_list("pk", flat=True))
    assert closed == {e.pk for e in doubtful} - {taken.pk}
    assert not closed & {e.pk for e in [*others, *late]}
    text = main_words(bob.get(reverse("batch", args=[batch().pk]) + "?state=skipped"))
    assert "11 closed, 1 skipped" in text
    assert f"ESC-{taken.pk}" in text
    assert "Alice Ek has it now." in text


def test_case_a01_twelve_closed_at_once_are_twelve_rows_of_history_with_one_number(bob, cast):
    found = [refused(f"R-{n}") for n in range(12)]
    begin(bob, choose(bob, "close", found), reason="Duplicate", note="sent twice")
    work()
    rows = Transition.objects.filter(event="close", actor="reviewer:bob")
    assert list(rows.values_list("old_status", "new_status")) == [("escalated", "closed")] * 12
    done = BatchItem.objects.filter(batch=batch(), state="done").select_related("escalation__record")
    assert {(i.escalation.record_id, i.seq) for i in done} == set(rows.values_list("record_id", "seq"))
    assert {(i.escalation.close_reason, i.escalation.note) for i in done} == {("Duplicate", "sent twice")}
    noted = list(AuditEntry.objects.filter(subject=batch().label).order_by("pk").values_list("actor", "action"))
    assert noted == [("reviewer:bob", "batch_begun"), ("reviewer:bob", "batch_ended")]
    page = bob.get(reverse("escalation", args=[found[0].pk]))
    assert f"together with others, in {batch().label}" in main_words(page)


@pytest.mark.parametrize(
    ("verb", "typed", "holds"),
    [
        ("approve", {}, lambda e: (e.resolution, e.record.status) == ("approve", "ready")),
        ("close", {"reason": "Duplicate"}, lambda e: e.record.status == "closed"),
        ("transfer", {"queue": "approvals"}, lambda e: e.queue.slug == "approvals"),
        ("assign", {"person": "alice"}, lambda e: e.assigned and e.assignee.username == "alice"),
        ("snooze", {"at": "2031-01-01T08:00"}, lambda e: e.snoozed_until.year == 2031),
    ],
)
def test_each_verb_does_to_many_what_it_does_to_one(bob, cast, verb, typed, holds):
    found = [unsure(), unsure()]
    begin(bob, choose(bob, verb, found), **typed)
    work()
    assert [state for _pk, state in states()] == ["done", "done"]
    assert all(holds(Escalation.objects.select_related("record", "queue", "assignee").get(pk=e.pk)) for e in found)


@pytest.mark.parametrize(
    ("verb", "typed", "sentence"),
    [
        ("close", {"reason": ""}, "Choose one of the queue's reasons."),
        ("transfer", {"queue": "nowhere"}, "Choose a queue."),
        ("assign", {"person": "nobody"}, "Choose a person."),
        ("snooze", {"at": "soon"}, "Choose a time"),
        ("snooze", {"at": "2001-01-01T08:00"}, "Choose a time"),
    ],
)
def test_a_batch_that_lacks_what_it_needs_does_not_begin(bob, cast, verb, typed, sentence):
    answer = begin(bob, choose(bob, verb, [refused()]), **typed)
    assert answer.status_code == 422
    assert sentence in main_words(answer)
    assert batch().state == "draft"


def test_what_is_not_theirs_to_decide_is_left_and_named(bob, cast):
    queues.set_member(queue=cast.queues["approvals"], user=cast.bob, role="viewer")
    mine, seen_only, hers, done = refused("R-1"), large(), refused("R-2"), refused("R-3")
    escalations.claim(escalation_id=hers.pk, by=cast.alice)
    verdicts.close(escalation_id=done.pk, by=cast.alice, seen=Seen(0), reason="Duplicate")
    text = main_words(choose(bob, "close", [mine, seen_only, hers, done]))
    assert "1 passes, 3 are left alone" in text
    assert "You may look at its queue, but not decide in it." in text
    assert "Alice Ek has it now." in text
    assert "It is decided already." in text


def test_a_number_that_one_may_not_see_is_not_found_and_unchanged(client, cast):
    mine, foreign = refused(), large()
    queues.set_member(queue=mine.queue, user=cast.charlie, role="reviewer")
    client.force_login(cast.charlie)
    page = choose(client, "close", [foreign, mine])
    assert f"none that you may see: ESC-{foreign.pk}" in main_words(page)
    begin(client, page, reason="Duplicate")
    work()
    assert Escalation.objects.get(pk=foreign.pk).state == "open"
    assert Escalation.objects.get(pk=mine.pk).state == "resolved"


def test_the_right_to_decide_counts_when_it_is_used(bob, cast):
    found = [refused("R-1"), refused("R-2")]
    begin(bob, choose(bob, "close", found), reason="Duplicate")
    cast.bob.is_active = False
    cast.bob.save()
    work()
    assert [state for _pk, state in states()] == ["skipped", "skipped"]


def test_ticked_groups_mean_all_that_stopped_the_same_way(bob, cast):
    same = [refused("R-1"), refused("R-2")]
    unsure()
    bob.post(BULK, {"verb": "close", "same": [same[0].fingerprint]})
    assert {pk for pk, _state in states()} == {e.pk for e in same}


def test_a_second_click_begins_nothing_twice(bob, cast):
    page = choose(bob, "close", [refused()])
    begin(bob, page, reason="Duplicate")
    answer = begin(bob, page, reason="Duplicate")
    assert answer.status_code == 302
    assert AuditEntry.objects.filter(action="batch_begun").count() == 1


def test_a_draft_is_nobody_elses(client, bob, cast):
    choose(bob, "close", [refused()])
    client.force_login(cast.dora)
    assert client.post(reverse("batch-begin", args=[batch().pk]), {"reason": "Duplicate"}).status_code == 403
    client.force_login(cast.alice)
    assert client.get(reverse("batch", args=[batch().pk])).status_code == 404


def test_a_stopped_batch_leaves_the_rest_as_it_is_and_can_be_tried_again(bob, cast):
    found = [refused(f"R-{n}") for n in range(3)]
    begin(bob, choose(bob, "close", found), reason="Duplicate")
    from handoffs.actions import batch_work

    assert batch_work.work_off(limit=1) == 1
    bob.post(reverse("batch-stop", args=[batch().pk]))
    work()
    assert [state for _pk, state in states()] == ["done", "stopped", "stopped"]
    page = bob.get(reverse("batch", args=[batch().pk]))
    assert "1 closed, 0 skipped, 2 not tried" in main_words(page)
    assert "Stop" not in [label for f in [form(page, "/again/")] for _n, _v, label in f.buttons]
    preview = bob.post(reverse("batch-again", args=[batch().pk]), follow=True)
    assert "Close: 2 escalations" in main_words(preview)
    begin(bob, preview, reason="Duplicate")
    work()
    assert [state for _pk, state in states()] == ["done", "done"]


def test_one_that_failed_is_tried_again_once_it_is_mended(bob, cast):
    escalation = refused()
    other = failed("G-1")
    begin(bob, choose(bob, "retry", [escalation, other]))
    work()
    first = batch()
    Record.objects.filter(pk=escalation.record_id).update(payload='{"number":"A-1","purchase_order":"PO-1","total":10}')
    preview = bob.post(reverse("batch-again", args=[first.pk]), follow=True)
    assert "1 passes" in main_words(preview)
    assert f"again, from {first.label}" in main_words(preview)


def test_progress_asks_for_itself_only_while_it_runs(bob, cast):
    worker_is_seen()
    begin(bob, choose(bob, "close", [refused()]), reason="Duplicate")
    address = reverse("batch", args=[batch().pk])
    page = bob.get(address)
    assert 'hx-trigger="every 2s"' in page.content.decode()
    assert '<meta http-equiv="refresh"' in page.content.decode()
    assert "0 of 1" in main_words(page)
    work()
    part = bob.get(address, headers={"HX-Request": "true"})
    assert b"<html" not in part.content
    assert b"hx-trigger" not in part.content
    assert b"1 closed, 0 skipped" in part.content


def test_a_missing_worker_is_told(bob, cast):
    begin(bob, choose(bob, "close", [refused()]), reason="Duplicate")
    assert "No worker was seen for a minute" in main_words(bob.get(reverse("batch", args=[batch().pk])))


def test_the_results_as_a_file_run_nothing(bob, cast):
    record = opened(document(number="=1+2", order=""))
    work()
    begin(bob, choose(bob, "retry", [waiting(record), failed("G-1")]))
    work()
    answer = bob.get(reverse("batch-csv", args=[batch().pk]))
    rows = list(csv.DictReader(io.StringIO(b"".join(answer.streaming_content).decode())))
    assert [row["result"] for row in rows] == ["failed", "done"]
    assert rows[0]["title"].startswith("'=1+2")
    assert "attachment" in answer["Content-Disposition"]


def test_nothing_ticked_and_no_verb_are_told(bob, cast):
    refused()
    assert "Tick some rows first." in main_words(bob.post(BULK, {"verb": "close"}, follow=True))
    assert bob.post(BULK, {"verb": "explode", "ids": ["1"]}).status_code == 400
    assert bob.get(BULK).status_code == 405


def test_more_than_one_batch_takes_is_cut_and_said(bob, cast, settings):
    settings.HANDOFFS_BULK = 2
    for n in range(3):
        refused(f"R-{n}")
    page = bob.post(BULK, {"verb": "close", "all": "1"}, follow=True)
    assert "these are the first 2 in the order of the view" in main_words(page)
    assert len(states()) == 2


def test_queues_without_a_common_reason_are_told_apart(bob, cast):
    first, second = refused(), large()
    queues.change_queue(queue=second.queue, by=cast.alice, close_reasons="Too dear")
    page = choose(bob, "close", [first, second])
    assert "Their queues have no reason in common" in main_words(page)


def test_only_the_assignable_are_offered(bob, cast):
    queues.set_member(queue=cast.queues["approvals"], user=cast.charlie, role="reviewer")
    page = choose(bob, "assign", [refused(), large()])
    assert "Charlie" not in main_words(page)
    assert "Alice Ek" in main_words(page)


def test_an_old_preview_is_forgotten(bob, cast):
    from handoffs import reconcile

    choose(bob, "close", [refused()])
    Batch.objects.update(made_at=now() - timedelta(days=2))
    reconcile.seen("r1")
    assert not Batch.objects.exists()


def test_who_may_not_decide_ticks_nothing(client, cast):
    escalation = refused()
    queues.set_member(queue=escalation.queue, user=cast.charlie, role="viewer")
    client.force_login(cast.charlie)
    page = client.get(INBOX)
    assert listed(page) == [escalation.pk]
    assert 'name="ids"' not in page.content.decode()
    text = main_words(choose(client, "close", [escalation]))
    assert "There is nothing to do" in text


def test_batches_are_listed_for_those_who_see_their_items(client, bob, cast):
    begin(bob, choose(bob, "close", [refused()]), reason="Duplicate")
    work()
    assert "Close: Duplicate" in main_words(bob.get(reverse("batches")))
    client.force_login(cast.alice)
    assert batch().label in main_words(client.get(reverse("batches")))
    client.force_login(cast.charlie)
    assert batch().label not in main_words(client.get(reverse("batches")))
    assert client.get(reverse("batch", args=[batch().pk])).status_code == 404


def test_an_item_whose_flow_fails_does_not_hold_up_the_others(bob, cast, monkeypatch):
    found = [failed("G-1"), failed("G-2")]
    begin(bob, choose(bob, "retry", found))
    from handoffs.actions import batch_work

    calls = []

    def act(item, by, chosen):
        calls.append(item.escalation_id)
        if len(calls) == 1:
            raise KeyError("x")
        return verdicts.retry(escalation_id=item.escalation_id, by=by, seen=Seen(item.version))

    monkeypatch.setitem(batch_work.ACTS, batch_work.BatchVerb.RETRY, act)
    assert batch_work.work_off(limit=50) == 2
    assert [state for _pk, state in states()] == ["failed", "done"]
    assert change(found[0]).state == "open"


def test_the_pages_take_as_many_queries_for_one_as_for_fifty(bob, cast, django_assert_max_num_queries):
    counts = []
    for number in (1, 49):
        found = [refused(f"R-{number}-{n}") for n in range(number)]
        begin(bob, choose(bob, "close", found), reason="Duplicate")
        work()
        address = reverse("batch", args=[batch().pk])
        with django_assert_max_num_queries(14) as asked:
            bob.get(address)
        counts.append(len(asked))
    assert counts[0] == counts[1]
