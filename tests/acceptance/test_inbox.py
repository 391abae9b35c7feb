"""The inbox: what waits, why, and for how long; to whom it is shown."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils.timezone import now

from handoffs.actions import escalations, queues, verdicts
from handoffs.actions.verdicts import Seen
from handoffs.models import Alert, Escalation
from tests import sample_flows
from tests.cast import opened, waiting, work
from tests.pages import broken_intake, change, large, link, listed, main_words, refused, unsure, words, worker_is_seen

pytestmark = pytest.mark.django_db
INBOX = reverse("inbox")


@pytest.fixture
def bob(client, cast):
    client.force_login(cast.bob)
    return client


def test_a_row_says_what_stopped_where_and_why(bob, cast):
    escalation = refused("A-17", external_id="x-17")
    row = main_words(bob.get(INBOX))
    assert f"Refused A-17 – ESC-{escalation.pk}" in row
    assert "check would not run: /purchase_order Null is not allowed here" in row
    assert "Order exceptions, owner Alice Ek · total 10" in row
    assert "nobody yet due in 24 h waiting under 1 min" in row


def test_only_the_first_violated_field_is_named_and_the_others_are_counted(bob, cast):
    broken_intake()
    assert "It could not be taken in: /text +1" in main_words(bob.get(INBOX))


def test_a_confidence_stands_against_its_bar_and_a_missing_one_is_no_zero(bob, cast):
    unsure(0.62)
    assert "0.62 needs 0.85" in main_words(bob.get(INBOX))
    unsure(None)
    assert "not reported, needs 0.85" in main_words(bob.get(INBOX))


def test_a_question_is_shown_as_it_was_asked(bob, cast):
    ask = sample_flows.NeedsHuman("Which of <b>both</b>?")
    sample_flows.behaviour["check"] = lambda given, context: (_ for _ in ()).throw(ask)
    opened({"text": "C-1,PO-1,5"})
    work()
    page = bob.get(INBOX)
    assert "check asks: Which of <b>both</b>?" in main_words(page)
    assert "<b>both</b>" not in page.content.decode()


def test_who_has_an_item_is_told(bob, cast):
    mine, hers, given, lapsed = refused("A-1"), refused("A-2"), refused("A-3"), refused("A-4")
    escalations.claim(escalation_id=mine.pk, by=cast.bob)
    escalations.claim(escalation_id=hers.pk, by=cast.alice)
    escalations.assign(escalation_id=given.pk, by=cast.bob, to=cast.alice)
    escalations.claim(escalation_id=lapsed.pk, by=cast.alice)
    change(lapsed, claimed_until=now() - timedelta(seconds=1))
    text = main_words(bob.get(INBOX))
    assert "you have it" in text
    assert "being reviewed by Alice Ek" in text
    assert "assigned to Alice Ek" in text
    assert text.count("nobody yet due") == 1


def test_a_late_item_says_by_how_much_and_carries_its_time(bob, cast):
    due = now() - timedelta(hours=3, minutes=5)
    change(refused(), due_at=due)
    page = bob.get(INBOX)
    assert "overdue 3 h" in main_words(page)
    assert f'datetime="{due.isoformat()}"' in page.content.decode()


def test_priority_is_a_shape_and_a_word(bob, cast):
    change(refused("A-1"), priority=5)
    change(refused("A-2"), priority=-5)
    page = bob.get(INBOX)
    assert "priority 5" in main_words(page)
    assert "priority -5" in main_words(page)
    assert 'href="#i-up"' in page.content.decode()


def test_nothing_an_agent_sent_becomes_markup(bob, cast):
    refused('<img src=x onerror="alert(1)">')
    page = bob.get(INBOX).content.decode()
    assert "<img" not in page
    assert "&lt;img src=x onerror=&quot;alert(1)&quot;&gt;" in page


def test_most_urgent_comes_first(bob, cast):
    first, second, third = refused("A-1"), refused("A-2"), refused("A-3")
    change(third, priority=1)
    change(second, due_at=first.due_at - timedelta(hours=1))
    assert listed(bob.get(INBOX)) == [third.pk, second.pk, first.pk]
    assert listed(bob.get(INBOX, {"sort": "due"})) == [second.pk, first.pk, third.pk]


# --- whose it is ------------------------------------------------------------------------------------------------------


def test_people_see_their_queues_and_no_others(client, cast):
    here, there = refused(), large()
    queues.set_member(queue=here.queue, user=cast.charlie, role="viewer")
    client.force_login(cast.charlie)
    page = client.get(INBOX)
    assert listed(page) == [here.pk]
    assert str(there.queue) not in words(page)
    client.force_login(cast.dora)
    assert set(listed(client.get(INBOX))) == {here.pk, there.pk}


def test_an_outsider_is_told_whom_to_ask(client, cast):
    refused()
    client.force_login(cast.charlie)
    page = client.get(INBOX)
    assert "You are in no queue yet" in main_words(page)
    assert "Alice Ek" in main_words(page)
    assert "Order exceptions" not in words(page)


def test_a_viewer_sees_and_cannot_take(client, cast):
    escalation = refused()
    queues.set_member(queue=escalation.queue, user=cast.charlie, role="viewer")
    client.force_login(cast.charlie)
    page = client.get(INBOX)
    assert listed(page) == [escalation.pk]
    assert "Take next" not in main_words(page)


# --- filters ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "label"),
    [
        ("kind=nope", "Kind"),
        ("kind=refused&kind=nope", "Kind"),
        ("queue=nope", "Queue"),
        ("queue=books-of-others", "Queue"),
        ("flow=nope", "Flow"),
        ("step=nope", "Step"),
        ("view=nope", "View"),
        ("sort=nope", "Sorted by"),
        ("assignee=nope", "Assignee"),
        ("conf_lt=high", "Confidence below"),
        ("conf_lt=87", "Confidence below"),
        ("conf_lt=NaN", "Confidence below"),
        ("age_gt=soon", "Older than"),
        ("age_gt=999999d", "Older than"),
        ("same=zz", "Stopped the same way"),
        ("q=a%00b", "Search"),
        (f"q={'x' * 201}", "Search"),
        (f"field={'x' * 501}", "Violated field"),
    ],
)
def test_a_value_that_means_nothing_shows_no_rows_and_says_so(bob, cast, query, label):
    queues.create_queue(slug="books-of-others", owner=cast.alice)
    refused()
    page = bob.get(f"{INBOX}?{query}")
    assert page.status_code == 200
    assert listed(page) == []
    assert "No rows are shown: a filter means nothing here" in main_words(page)
    assert f"{label} :" in main_words(page)
    assert "Clear filters" in main_words(page)


def test_unknown_keys_are_ignored(bob, cast):
    escalation = refused()
    assert listed(bob.get(INBOX, {"utm_source": "mail", "page": "7"})) == [escalation.pk]


def test_what_a_form_leaves_empty_is_taken_out_of_the_address(bob, cast):
    answer = bob.get(f"{INBOX}?q=&kind=refused&age_gt=&conf_lt=")
    assert (answer.status_code, answer["Location"]) == (302, f"{INBOX}?kind=refused")


def cases(cast):
    """One of each, by name."""
    found = {"refused": refused("A-1", external_id="ext-7"), "unsure": unsure(0.62), "large": large("L-1")}
    found["intake"] = broken_intake()
    return found


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("kind=low_confidence", {"unsure"}),
        ("kind=refused&kind=review", {"refused", "large", "intake"}),
        ("queue=approvals", {"large"}),
        ("flow=orders", {"refused", "unsure", "large", "intake"}),
        ("flow=tickets", set()),
        ("step=check", {"refused"}),
        ("step=intake&step=extract", {"intake", "unsure"}),
        ("field=/purchase_order", {"refused"}),
        ("field=/more", {"intake"}),
        ("field=/nothing", set()),
        ("conf_lt=0.7", {"unsure"}),
        ("conf_lt=0.62", set()),
        ("age_gt=24h", {"large"}),
        ("assignee=bob", {"refused"}),
        ("assignee=nobody", {"unsure", "large", "intake"}),
        ("q=l-1", {"large"}),
        ("q=ext-7", {"refused"}),
        ("q=%22purchase_order%22", {"refused", "unsure", "large"}),
        ("kind=refused&step=check&q=A-1", {"refused"}),
    ],
)
def test_each_filter_narrows_the_list(bob, cast, query, expected):
    found = cases(cast)
    change(found["large"], opened_at=now() - timedelta(hours=25))
    escalations.claim(escalation_id=found["refused"].pk, by=cast.bob)
    names = {escalation.pk: name for name, escalation in found.items()}
    assert {names[pk] for pk in listed(bob.get(f"{INBOX}?{query}"))} == expected


def test_items_that_stopped_the_same_way_are_found_by_their_fingerprint(bob, cast):
    first, second = refused("A-1"), refused("A-2")
    unsure()
    assert set(listed(bob.get(INBOX, {"same": first.fingerprint}))) == {first.pk, second.pk}


def test_a_missing_confidence_counts_as_low(bob, cast):
    escalation = unsure(None)
    assert listed(bob.get(INBOX, {"conf_lt": "0.1"})) == [escalation.pk]


def test_search_finds_numbers_and_text_as_json_writes_it(bob, cast):
    record = opened(b'{"text": "M\\u00fcller & \\"Sons\\",PO-1,5", "more": 1}')
    escalation = waiting(record)
    for text in ("Müller", '& "Sons"', f"ESC-{escalation.pk}", f"REC-{record.pk}", f"rec{record.pk}"):
        assert listed(bob.get(INBOX, {"q": text})) == [escalation.pk], text
    for text in ("Möller", "ESC-999999999999999999", "REC-0", "%", "_"):
        assert listed(bob.get(INBOX, {"q": text})) == [], text


def test_a_filter_that_is_on_can_be_taken_off_by_itself(bob, cast):
    refused()
    page = bob.get(f"{INBOX}?kind=refused&queue=order-exceptions&sort=due")
    assert "Kind: Refused" in main_words(page)
    assert f'href="{INBOX}?queue=order-exceptions&amp;sort=due"' in page.content.decode()
    assert f'href="{INBOX}?kind=refused&amp;sort=due"' in page.content.decode()


# --- views -----------------------------------------------------------------------------------------------------------


def test_each_view_holds_what_its_name_says(bob, cast):
    mine, other, late, asleep, done = (refused(f"A-{n}") for n in range(1, 6))
    escalations.claim(escalation_id=mine.pk, by=cast.bob)
    escalations.claim(escalation_id=other.pk, by=cast.alice)
    change(late, due_at=now() - timedelta(minutes=1))
    escalations.snooze(escalation_id=asleep.pk, by=cast.bob, until=now() + timedelta(hours=2))
    verdicts.close(escalation_id=done.pk, by=cast.bob, seen=Seen(0), reason="Duplicate")
    seen = {view: set(listed(bob.get(INBOX, {"view": view}))) for view in ("mine", "unassigned", "overdue", "snoozed")}
    assert seen == {"mine": {mine.pk}, "unassigned": {late.pk}, "overdue": {late.pk}, "snoozed": {asleep.pk}}
    assert set(listed(bob.get(INBOX))) == {mine.pk, other.pk, late.pk}
    assert listed(bob.get(INBOX, {"view": "decided"})) == [done.pk]
    assert "Mine 1 Unassigned 1 Overdue 1 All open 3 Snoozed 1 Decided today 1" in words(bob.get(INBOX))
    assert "back in 2 h" in main_words(bob.get(INBOX, {"view": "snoozed"}))
    assert "closed just now" in main_words(bob.get(INBOX, {"view": "decided"}))


def test_today_begins_at_midnight_where_the_person_is(bob, cast):
    done = refused()
    verdicts.close(escalation_id=done.pk, by=cast.bob, seen=Seen(0), reason="Duplicate")
    change(done, resolved_at=now() - timedelta(days=1))
    assert listed(bob.get(INBOX, {"view": "decided"})) == []


def test_counts_stop_where_nobody_reads_on(bob, cast, monkeypatch):
    monkeypatch.setattr("reviewqueue.counting.CAP", 1)
    refused("A-1")
    assert "All open 1 " in words(bob.get(INBOX))
    refused("A-2")
    refused("A-3")
    assert "All open 1+ " in words(bob.get(INBOX))


# --- when there is nothing -------------------------------------------------------------------------------------------


def test_an_empty_place_says_how_the_first_record_comes_in(bob, cast):
    text = main_words(bob.get(INBOX))
    assert "No record yet" in text
    assert "python manage.py demo" in text
    assert "python manage.py intake" in text


def test_when_all_is_decided_it_says_what_was_done(bob, cast):
    verdicts.close(escalation_id=refused().pk, by=cast.bob, seen=Seen(0), reason="Duplicate")
    text = main_words(bob.get(INBOX))
    assert "All decided" in text
    assert "Decided today: 1." in text
    assert "Waiting without an assignee: 0." in text
    assert "Nothing is yours" in main_words(bob.get(INBOX, {"view": "mine"}))


def test_filters_that_nothing_fits_can_be_cleared(bob, cast):
    refused()
    page = bob.get(INBOX, {"kind": "stranded", "sort": "due"})
    assert "Nothing fits these filters" in main_words(page)
    assert f'href="{INBOX}?sort=due">Clear filters' in page.content.decode()


# --- alerts ----------------------------------------------------------------------------------------------------------


def test_a_missing_worker_is_told_with_the_command(bob, cast):
    assert "No worker was seen for a minute" in main_words(bob.get(INBOX))
    assert "python manage.py worker" in main_words(bob.get(INBOX))
    worker_is_seen()
    assert "No worker was seen" not in main_words(bob.get(INBOX))


def test_alerts_stand_apart_and_only_before_those_who_see_the_queue(client, cast):
    alert = {
        "kind": "unserved",
        "flow": "orders",
        "step": "post",
        "sentence": "No worker takes post.",
        "opened_at": now(),
    }
    Alert.objects.create(queue=cast.queues["ledger"], **alert)
    Alert.objects.create(queue=cast.queues["approvals"], closed_at=now(), **{**alert, "sentence": "It is over."})
    refused()
    client.force_login(cast.bob)
    page = client.get(INBOX)
    assert "No worker takes post. Ledger, owner Alice Ek" in main_words(page)
    assert "It is over" not in words(page)
    queues.set_member(queue=cast.queues["approvals"], user=cast.charlie, role="viewer")
    client.force_login(cast.charlie)
    assert "No worker takes post" not in words(client.get(INBOX))


# --- many ------------------------------------------------------------------------------------------------------------


def many(count):
    for number in range(count):
        opened({"text": number})


@pytest.mark.parametrize("query", ["", "?view=unassigned&kind=refused&q=text&field=/text&sort=due"])
def test_the_number_of_queries_does_not_grow_with_the_rows(bob, cast, query, django_assert_max_num_queries):
    many(1)
    worker_is_seen()
    bob.get(INBOX + query)
    with django_assert_max_num_queries(12) as one:
        assert len(listed(bob.get(INBOX + query))) == 1
    many(49)
    with django_assert_max_num_queries(12) as fifty:
        assert len(listed(bob.get(INBOX + query))) == 50
    assert len(one) == len(fifty)


def test_pages_follow_one_another_without_gap_or_repeat(bob, cast):
    many(120)
    seen, address, pages = [], INBOX, 0
    while address:
        page = bob.get(address)
        seen += listed(page)
        address, pages = link(page, "next"), pages + 1
    assert pages == 3
    assert seen == list(Escalation.objects.most_urgent_first().values_list("pk", flat=True))
    assert "50 of 120, sorted by priority, then due time" in main_words(bob.get(INBOX))


def test_closing_a_page_never_makes_the_next_one_skip(bob, cast):
    many(60)
    first = bob.get(INBOX)
    rest = [pk for pk in Escalation.objects.most_urgent_first().values_list("pk", flat=True) if pk not in listed(first)]
    for pk in listed(first):
        verdicts.close(escalation_id=pk, by=cast.bob, seen=Seen(0), reason="Duplicate")
    many(2)
    following = bob.get(link(first, "next"))
    assert listed(following)[:10] == rest
    assert len(set(listed(following))) == 12
    assert "12 of 12" in main_words(following)


def test_a_page_that_emptied_meanwhile_leads_to_the_first(bob, cast):
    many(51)
    following = link(bob.get(INBOX), "next")
    Escalation.objects.update(snoozed_until=now() + timedelta(days=1))
    page = bob.get(following)
    assert "The list ends before this page" in main_words(page)


@pytest.mark.parametrize("cursor", ["x", "é" * 50, "a:b:c", "x" * 5000, "WyJ1cmdlbnQiXQ:1x:y", "%00"])
def test_a_place_that_is_none_is_a_page_of_its_own(bob, cast, cursor):
    page = bob.get(INBOX, {"after": cursor})
    assert page.status_code == 400
    assert "names no place in the list" in main_words(page)
    assert f'href="{INBOX}"' in page.content.decode()


def test_a_place_belongs_to_its_order(bob, cast):
    many(51)
    following = link(bob.get(INBOX), "next")
    assert bob.get(f"{following}&sort=due").status_code == 400


def test_the_inbox_is_read_not_written_to(bob, cast):
    assert bob.post(INBOX).status_code == 405
