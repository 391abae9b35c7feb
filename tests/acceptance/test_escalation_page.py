"""The escalation page shows everything that is needed to decide, to those who may see it, and nothing to others."""

from __future__ import annotations

from time import process_time

import pytest
from django.contrib.auth import get_user_model
from django.db import connection
from django.test.utils import CaptureQueriesContext

from handoffs.actions import escalations
from handoffs.models import Attachment, Escalation, Membership, Record
from handoffs.states import Role
from tests.acceptance.stopped import asked, broken, failed, refused, review, unreadable, unsure, url
from tests.browsing import form, forms, text_of
from tests.cast import opened, waiting

pytestmark = pytest.mark.django_db

VERBS = ["approve", "answer", "retry", "close", "undo", "claim", "release", "transfer", "assign", "snooze", "comment"]


@pytest.fixture
def bob(client, cast):
    client.force_login(cast.bob)
    return client


def read(client, escalation, query=""):
    response = client.get(url(escalation) + query)
    assert response.status_code == 200
    return text_of(response)


def test_others_get_404_and_strangers_sign_in_first(client, cast):
    escalation = refused()
    assert client.get(url(escalation)).status_code == 302
    client.force_login(cast.charlie)
    assert client.get(url(escalation)).status_code == 404
    assert client.get(url(escalation, "fix/")).status_code == 404
    for verb in ["fix", *VERBS]:
        assert client.post(url(escalation, f"{verb}/")).status_code == 404, verb


def test_get_on_a_verb_is_405(bob):
    escalation = refused()
    for verb in VERBS:
        assert bob.get(url(escalation, f"{verb}/")).status_code == 405, verb


def test_it_says_why_in_one_sentence_and_what_each_decision_does(bob):
    text = read(bob, refused())
    assert "Refused check would not run: /purchase_order: Null is not allowed here: text is needed." in text
    assert "Nothing was lost and no try was used." in text
    assert "Fix: check gets your version, with all its tries." in text
    assert "Retry check runs once more on the same input." in text
    assert "Close The record ends here, with a reason. It can be reopened." in text


def test_violations_show_pointer_sentence_expected_and_received(bob):
    text = read(bob, broken(total="12,50", number=["x"]))
    assert "2 violations, as judged when it stopped" in text
    assert '/total A whole number is needed; text was sent. a whole number "12,50"' in text
    assert '/number Text is needed; a list was sent. text ["x"]' in text
    assert "2 fields to fix" in text


def test_confidence_stands_against_its_bar(bob):
    assert "0.62 needs 0.85" in read(bob, unsure(0.62))
    assert "extract is not sure enough: 0.62, needs 0.85." in read(bob, Escalation.objects.get())


def test_a_missing_confidence_is_not_reported_and_never_0(bob):
    text = read(bob, unsure(None))
    assert "not reported, needs 0.85" in text


def test_the_confidence_of_each_field_and_where_it_was_seen_are_shown(bob):
    escalation = unsure(0.62, field_confidence={"/number": 0.41}, evidence={"/number": {"quote": "top right"}})
    text = read(bob, escalation)
    assert "/number 0.41" in text
    assert "by extract , 0.41" in text
    assert "seen top right" in text


def test_the_queue_s_instructions_and_the_agent_s_question_are_shown(bob, cast):
    queue = cast.queues["order-exceptions"]
    queue.instructions = "Ask purchasing."
    queue.save()
    text = read(bob, asked("Which <b>cost centre</b>?", "10", "20"))
    assert "Order exceptions: Ask purchasing." in text
    assert "Which <b>cost centre</b>?" in text
    assert "from the agent, shown as text" in text


def test_attempts_are_listed_with_their_errors(bob):
    text = read(bob, failed("The order is locked."))
    assert "check attempt 2 failed The order is locked. order_locked" in text
    assert "extract attempt 1 accepted 0.95 needs 0.85" in text


@pytest.mark.parametrize(
    ("make", "names"),
    [
        (refused, ["Fix f", "Retry r", "Close c"]),
        (unsure, ["Approve y", "Fix f", "Retry r", "Close c"]),
        (failed, ["Fix f", "Retry r", "Close c"]),
        (asked, ["Answer 1", "Fix f", "Retry r", "Close c"]),
        (review, ["Answer 1", "Fix f", "Retry r", "Close c"]),
    ],
)
def test_the_bar_has_what_the_kind_allows_and_nothing_else(bob, make, names):
    text = read(bob, make())
    bar = text[text.index("More ") - 20 : text.index("Snooze h")]
    for name in ["Approve y", "Answer 1", "Fix f", "Retry r", "Close c"]:
        assert (name in bar) is (name in names), name


def test_a_retry_that_would_be_refused_stays_and_says_why(bob):
    response = bob.get(url(refused()))
    assert b'aria-describedby="no-retry" data-key="r"' in response.content
    assert "Retry waits: /purchase_order still breaks the contract." in text_of(response)


def test_every_key_is_on_a_real_control(bob):
    content = bob.get(url(unsure())).content.decode()
    for key in ["f", "y", "r", "c", "h", "t", "a", "i", "m"]:
        assert f'data-key="{key}"' in content, key


def test_viewers_see_and_have_no_verdicts(client, cast):
    escalation = refused()
    Membership.objects.create(queue=cast.queues["order-exceptions"], user=cast.charlie, role=Role.VIEWER)
    client.force_login(cast.charlie)
    response = client.get(url(escalation))
    assert "You may look at this queue, but not decide in it." in text_of(response)
    assert {f.action.rsplit("/", 2)[1] for f in forms(response)} == {"comment", "logout", "records"}
    for verb in ["approve", "retry", "close", "claim", "transfer", "fix"]:
        data = {"version": escalation.version, "reason": "Duplicate", "queue": "ledger"}
        assert client.post(url(escalation, f"{verb}/"), data).status_code in {403, 409, 422}, verb
    escalation.refresh_from_db()
    assert escalation.state == "open"


def test_a_look_of_somebody_who_decides_is_noted_and_a_viewer_s_is_not(client, cast):
    escalation = refused()
    Membership.objects.create(queue=cast.queues["order-exceptions"], user=cast.charlie, role=Role.VIEWER)
    client.force_login(cast.charlie)
    client.get(url(escalation))
    escalation.refresh_from_db()
    assert escalation.first_seen_at is None
    client.force_login(cast.bob)
    client.get(url(escalation))
    escalation.refresh_from_db()
    assert escalation.first_seen_at is not None


def test_what_somebody_else_has_can_be_taken_over_first(bob, cast):
    escalation = refused()
    escalations.claim(escalation_id=escalation.pk, by=cast.alice)
    response = bob.get(url(escalation))
    text = text_of(response)
    assert "Alice Ek has it. Take it over first." in text
    assert "Take over i" in text
    assert not [f for f in forms(response) if f.action.endswith("/fix/")]


def test_the_way_through_the_steps_and_the_facts_are_shown(bob):
    text = read(bob, refused())
    assert "extract done check stopped approve to come post to come" in text
    assert "Owner Alice Ek" in text
    assert "Tries 2 of 2 left" in text
    assert "From echo" in text


def test_the_timeline_tells_it_newest_first(bob, cast):
    escalation = refused()
    escalations.comment(record=escalation.record, by=cast.bob, text="Asked <i>them</i>.")
    response = bob.get(url(escalation))
    text = text_of(response)
    story = text[text.index("Timeline all people machines") :]
    told = [
        "Bob Lind commented",
        "Asked <i>them</i>.",
        "check refused",
        "extract was accepted: confidence 0.95",
        "echo opened",
    ]
    places = [story.index(each) for each in told]
    assert places == sorted(places)
    assert b'<time datetime="' in response.content
    assert "extract was accepted" not in read(bob, escalation, "?who=people").partition("Timeline")[2]
    assert "commented" not in read(bob, escalation, "?who=system").partition("Timeline")[2]


def test_escalations_that_stopped_the_same_way_are_counted_and_linked(bob):
    first = refused(number="A-1")
    for place in range(7):
        refused(number=f"B-{place}")
    text = read(bob, first)
    assert "More than 5 others stopped the same way" in text
    assert f"/inbox/?same={first.fingerprint}" in bob.get(url(first)).content.decode()


def test_the_body_is_shown_by_field_as_json_and_as_it_came(bob):
    escalation = waiting(opened(b'{"text":5,  "z":1.10}'))
    assert '"z": 1.10' in read(bob, escalation, "?show=json")
    assert "Text is needed; a number was sent." in read(bob, escalation, "?show=json")
    assert '{"text":5, "z":1.10}' in read(bob, escalation, "?show=raw")
    response = bob.get(f"/records/{escalation.record_id}/body/")
    assert response.content == b'{"text":5,  "z":1.10}'
    assert response["Content-Disposition"].startswith("attachment")


def test_previous_and_next_follow_the_view_it_was_opened_from(bob):
    first, second, third = (refused(number=f"A-{place}") for place in range(3))
    asked()
    response = bob.get(url(second) + "?from=kind%3Drefused")
    content = response.content.decode()
    assert f'href="/escalations/{first.pk}/?from=kind%3Drefused" data-key="k"' in content
    assert f'href="/escalations/{third.pk}/?from=kind%3Drefused" data-key="j"' in content
    assert "2 of 3" in text_of(response)
    assert 'href="/inbox/?kind=refused#ESC-' in content


def test_documents_are_shown_as_text_and_saved_only(bob, cast):
    escalation = refused()
    made = {"record": escalation.record, "size": 3, "added_at": escalation.opened_at, "added_by": "agent:echo"}
    page = Attachment.objects.create(
        name="a.html", media_type="text/html", content=b"<script>alert(1)</script><p>x</p>", digest="1", **made
    )
    pdf = Attachment.objects.create(
        name="c\u202e.pdf", media_type="application/pdf", content=b"%PDF", digest="3", **made
    )
    text = read(bob, escalation)
    assert "<script>alert(1)</script>" in text
    assert b"<script>alert(1)" not in bob.get(url(escalation)).content
    for attachment in (page, pdf):
        response = bob.get(f"/attachments/{attachment.pk}/?show")
        assert response["Content-Disposition"].startswith("attachment")
        assert response["Content-Type"] == "application/octet-stream"
        assert response["X-Content-Type-Options"] == "nosniff"
    bob.force_login(cast.charlie)
    assert bob.get(f"/attachments/{page.pk}/").status_code == 404


def test_a_flow_that_the_code_no_longer_has_opens_and_offers_nothing(bob):
    escalation = refused()
    Record.objects.filter(pk=escalation.record_id).update(flow="gone")
    Escalation.objects.filter(pk=escalation.pk).update(flow="gone")
    response = bob.get(url(escalation))
    assert "The flow gone is not in the code that runs here." in text_of(response)
    data = {"version": escalation.version, "reason": "Duplicate"}
    assert bob.post(url(escalation, "close/"), data).status_code == 422


def test_a_decided_one_says_who_decided_and_offers_nothing(bob, cast):
    escalation = refused()
    found = form(bob.get(url(escalation)), "/close/")
    bob.post(found.action, found.data | {"reason": "Duplicate", "note": "twice"})
    text = read(bob, escalation)
    assert "Bob Lind closed it" in text
    assert ": Duplicate." in text
    assert [f for f in forms(bob.get(url(escalation))) if f.action.endswith(("/fix/", "/retry/"))] == []


def queries(client, escalation):
    with CaptureQueriesContext(connection) as captured:
        assert client.get(url(escalation)).status_code == 200
    return len(captured)


def test_the_number_of_queries_does_not_grow_with_the_history(bob, cast):
    escalation = refused()
    bob.get(url(escalation))
    few = queries(bob, escalation)
    for place in range(25):
        person = get_user_model().objects.create_user(f"reviewer{place}")
        Membership.objects.create(queue=escalation.queue, user=person)
        escalations.comment(record=escalation.record, by=cast.alice if place % 2 else cast.bob, text="x")
        escalations.claim(escalation_id=escalation.pk, by=cast.bob)
        refused(number=f"B-{place}")
    bob.get(url(escalation))
    assert queries(bob, escalation) <= few + 1  # the claimant's name
    assert few <= 32


def test_an_unreadable_body_has_its_page(bob):
    for raw in (
        b"",
        b"nope",
        b"\xff\xfe\x00",
        b'{"text": "a", "text": "b"}',
        b"[" * 500 + b"]" * 500,
        b'{"text": "\\u0000"}',
    ):
        assert "What came in" in read(bob, unreadable(raw))


def test_long_lists_of_values_stay_below_a_megabyte_and_two_seconds(bob):
    lines = {f"extra_{place}": {"text": f"t{place}", "amount": place} for place in range(12_000)}
    escalation = waiting(opened({"text": 5, **lines}))
    bob.get(url(escalation))
    started = process_time()
    response = bob.get(url(escalation))
    assert process_time() - started < 2
    assert len(response.content) < 1_000_000
    assert "more violations are shown once these are mended" in text_of(response)
    assert len(bob.get(url(escalation, "fix/?all=1")).content) < 1_000_000
    found = form(response, "/fix/")
    typed = {"/text": "A,PO,1"} | {f"/extra_{place}": "" for place in range(12_000) if f"/extra_{place}" in found.data}
    assert bob.post(found.action, found.data | typed).status_code == 422  # those that were not shown are still there
