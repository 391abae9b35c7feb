"""The reviewer's whole path in a real browser: by mouse, by keyboard alone, and with JavaScript off."""

from __future__ import annotations

import re

import pytest

from handoffs.models import Escalation
from tests.cast import document, fresh, opened, work
from tests.sample_flows import Draft, NeedsHuman, Result, behaviour

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def refused():
    record = opened(document(order=""))
    work()
    return fresh(record)


def unsure():
    behaviour["extract"] = lambda given, ctx: Result(Draft(number="A-2", purchase_order="P", total=9), confidence=0.5)
    record = opened(document("A-2"))
    work()
    behaviour.clear()
    return fresh(record)


def asked():
    def ask(given, ctx):
        raise NeedsHuman("Which order is meant?", ["PO-1", "PO-2"])

    behaviour["extract"] = ask
    record = opened(document("A-3"))
    work()
    behaviour.clear()
    return fresh(record)


@pytest.mark.parametrize("javascript", [True, False], ids=["script", "no-script"])
def test_a_reviewer_takes_the_next_item_fixes_it_and_undoes_it(cast, visit, javascript):
    record = refused()
    page = visit(javascript=javascript).log_in("bob")
    page.get_by_role("button", name="Take next").click()
    page.wait_for_url(re.compile(r"/escalations/\d+"))
    page.locator("[name='/purchase_order'], [name$='/purchase_order']").first.fill("PO-77")
    page.locator("form[action*='/fix/'] button[type=submit]:has-text('Fix')").last.click()
    page.get_by_text("Undo").first.wait_for()
    assert (fresh(record).status, "PO-77" in fresh(record).payload) == ("ready", True)
    page.get_by_role("button", name="Undo").first.click()
    page.wait_for_url(re.compile(r"/escalations/\d+"))
    assert fresh(record).status == "escalated"


@pytest.mark.parametrize("javascript", [True, False], ids=["script", "no-script"])
def test_approve_answer_and_close_each_take_one_press(cast, visit, javascript):
    doubtful, question, wrong = unsure(), asked(), refused()
    page = visit(javascript=javascript).log_in("bob")
    page.goto(f"/escalations/{doubtful.escalations.get().pk}/")
    page.get_by_role("button", name="Approve").first.click()
    page.get_by_text("Undo").first.wait_for()
    assert fresh(doubtful).status == "ready"
    page.goto(f"/escalations/{question.escalations.get().pk}/")
    page.get_by_role("button", name="PO-2").first.click()
    page.get_by_text("Undo").first.wait_for()
    assert fresh(question).answer == "PO-2"
    page.goto(f"/escalations/{wrong.escalations.get().pk}/")
    page.get_by_role("button", name="Close").first.click()
    page.locator("#close-reason").select_option("Duplicate")
    page.locator("form[action*='/close/'] button[type=submit]").last.click()
    page.get_by_text("Undo").first.wait_for()
    assert fresh(wrong).status == "closed"


def test_keys_alone_take_an_item_and_approve_it(cast, visit):
    record = unsure()
    page = visit().log_in("bob")
    page.keyboard.press("n")
    page.wait_for_url(re.compile(r"/escalations/\d+"))
    assert Escalation.objects.get().assignee == cast.bob
    page.keyboard.press("y")
    page.get_by_text("Undo").first.wait_for()
    assert fresh(record).status == "ready"
    page.keyboard.press("z")
    page.wait_for_function("() => !document.querySelector('[data-toast], .toast')")
    assert fresh(record).status == "escalated"


# --- many at once ----------------------------------------------------------------------------------------------------


def three_refused():
    for number in range(3):
        opened(document(f"B-{number}", order=""))
    work()
    return list(Escalation.objects.order_by("pk"))


def closed_now():
    work()
    return Escalation.objects.decided().count()


@pytest.mark.parametrize("javascript", [True, False], ids=["script", "no-script"])
def test_ticked_rows_are_looked_at_and_closed_at_once(cast, visit, javascript):
    first, second, _third = three_refused()
    page = visit(javascript=javascript).log_in("bob")
    assert not page.get_by_role("button", name="Close", exact=False).first.is_visible()
    for escalation in (first, second):
        page.get_by_label(f"Tick {escalation.label}").check()
    page.locator(".selection-bar").get_by_role("button", name="Close").click()
    page.get_by_text("2 pass").wait_for()
    page.get_by_label("Reason").select_option("Duplicate")
    page.get_by_role("button", name="Close 2").click()
    page.wait_for_url(re.compile(r"/batches/\d+/$"))
    assert closed_now() == 2
    page.get_by_role("heading", name="2 closed, 0 skipped").wait_for()  # by itself with script, by a refresh without


def test_keys_alone_tick_rows_and_snooze_them(cast, visit):
    three_refused()
    page = visit().log_in("bob")
    for key in ("j", "x", "j", "x", "h"):
        page.keyboard.press(key)
    page.wait_for_url(re.compile(r"/batches/\d+/$"))
    page.get_by_text("2 pass").wait_for()
    page.get_by_role("button", name="for 1 h").focus()
    page.keyboard.press("Enter")
    page.get_by_text("0 of 2").wait_for()
    work()
    page.get_by_text("2 snoozed, 0 skipped").first.wait_for()


def test_a_draft_is_kept_by_a_key_and_is_there_again(cast, visit):
    escalation = three_refused()[0]
    page = visit().log_in("bob")
    page.goto(f"/escalations/{escalation.pk}/")
    field = page.locator("[name$='/purchase_order']").first
    field.fill("PO-half")
    field.press("Control+s")
    page.get_by_text("Your draft, saved just now.").wait_for()
    assert page.locator("[name$='/purchase_order']").first.input_value() == "PO-half"


def test_the_row_one_stands_on_is_shown_beside_the_list(cast, visit):
    first = three_refused()[0]
    page = visit(width=1680).log_in("bob")
    page.keyboard.press("j")
    page.locator("#preview").get_by_text(first.label).wait_for()
    narrow = visit(width=1440).log_in("bob")
    narrow.keyboard.press("j")
    assert not narrow.locator("#preview").is_visible()


CUT_OFF = """[...document.querySelectorAll(".list-box > table")].filter(
    (table) => table.offsetWidth > table.parentElement.clientWidth + 1
).length"""


def test_no_column_of_a_list_is_cut_off_at_any_width(cast, visit):
    three_refused()
    page = visit().log_in("bob")
    for place in ("/inbox/", "/inbox/?group=1", "/records/", "/queues/"):
        page.goto(place)
        for width in (320, 760, 820, 900, 1100, 1280, 1440, 1600, 1920):
            page.set_viewport_size({"width": width, "height": 900})
            assert page.evaluate(CUT_OFF) == 0, (place, width)
