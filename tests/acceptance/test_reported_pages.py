"""What others reported of review pages (R, A and M in tests/cases), on ours: the bodies of the reports as an intake."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from time import process_time

import pytest

from handoffs import Flow, Step, flows
from tests.acceptance.stopped import url
from tests.browsing import form, send_with, text_of
from tests.cases_contracts import InvoiceExtract
from tests.cast import fresh, opened, waiting

pytestmark = pytest.mark.django_db
CASES = Path(__file__).parent.parent / "cases"


@pytest.fixture
def bob(client, cast):
    step = Step("book", receives=InvoiceExtract, returns=InvoiceExtract, by="agent")
    flows.register(Flow("extracts", intake=InvoiceExtract, steps=[step], escalate_to="order-exceptions"))
    client.force_login(cast.bob)
    return client


def output_text(name):
    """The output of a case as its very text: numbers must not go through a float on their way into the test."""
    raw = (CASES / name).read_text()
    start = raw.index('"output":') + len('"output":')
    return raw[start : raw.rindex("}")].strip()


def stopped(text):
    return waiting(opened(text.encode(), flow="extracts"))


def test_r13_money_comes_through_a_form_to_the_digit(bob):
    text = output_text("R13.json").replace('"EUR"', '"XXX"')
    assert "12345678901234.10" in text
    escalation = stopped(text)
    response = bob.get(url(escalation))
    found = form(response, "/fix/")
    assert found.data["/total"] == "12345678901234.10"
    assert send_with(bob, found, {}).status_code == 422, "nothing was changed, so it still breaks the contract"
    assert send_with(bob, found, {"/currency": '"EUR"'}).status_code == 302
    assert '"total": 12345678901234.10' in fresh(escalation.record).payload
    [change] = json.loads(escalation.record.results.get(outcome="fixed").patch)
    assert change == {"op": "replace", "path": "/currency", "value": "EUR"}


def test_r11_a_body_of_a_megabyte_is_cut_counted_and_mended_in_one_field(bob):
    made = subprocess.run([sys.executable, CASES / "make_r11.py"], capture_output=True, text=True, check=True)
    body = json.loads(made.stdout)["output"]
    body["lines"][11_500]["amount"] = "many"
    escalation = stopped(json.dumps(body))
    bob.get(url(escalation))
    started = process_time()
    response = bob.get(url(escalation))
    assert process_time() - started < 2
    assert len(response.content) < 1_000_000
    text = text_of(response)
    assert "12000 items" in text
    assert (
        "11979 items are not shown and stay as they are" in text or "items are not shown and stay as they are" in text
    )
    assert "Lines 11501 ›" in text
    assert len(bob.get("/inbox/").content) < 300_000
    assert send_with(bob, form(response, "/fix/"), {"/lines/11500/amount": "1.00"}).status_code == 302
    body["lines"][11_500]["amount"] = 1.00
    assert json.loads(fresh(escalation.record).payload) == body


def test_r09_markup_in_a_value_is_text_in_the_error_as_well(bob):
    escalation = stopped(output_text("R09.json"))
    response = bob.get(url(escalation))
    assert b"<svg/onload" not in response.content
    assert b"<img src=x" not in response.content
    assert "<svg/onload=alert(1)>" in text_of(response)


def test_m13_a_date_that_could_be_two_is_not_guessed(bob):
    escalation = stopped(output_text("M13.json"))
    response = bob.get(url(escalation))
    assert form(response, "/fix/").data["/issue_date"] == ""
    assert "A date is needed, like 2026-11-30." in text_of(response)
    sent = json.loads(output_text("M13.json"))["issue_date"]
    assert f'sent "{sent}"' in text_of(response)


def test_m11_a_decimal_comma_is_shown_as_sent_and_typed_anew(bob):
    escalation = stopped(output_text("M11.json"))
    response = bob.get(url(escalation))
    found = form(response, "/fix/")
    assert found.data["/total"] == ""
    sent = json.loads(output_text("M11.json"))["total"]
    assert f'sent "{sent}"' in text_of(response)
    assert send_with(bob, found, {"/total": "1234.56"}).status_code == 302
    assert '"total": 1234.56' in fresh(escalation.record).payload


def test_m15_a_slip_in_a_word_is_a_choice_with_the_sent_word_beside_it(bob):
    escalation = stopped(output_text("M15.json"))
    response = bob.get(url(escalation))
    text = text_of(response)
    assert "approve reject needs_review" in text
    assert f"sent {json.dumps(json.loads(output_text('M15.json'))['decision'])}" in text
    assert send_with(bob, form(response, "/fix/"), {"/decision": '"approve"'}).status_code == 302


def test_m04_an_unstorable_character_is_marked_and_taken_out(bob):
    escalation = stopped(output_text("M04.json"))
    response = bob.get(url(escalation))
    found = form(response, "/fix/")
    name = "/lines/0/description"
    assert "␀" in found.data[name]
    assert send_with(bob, found, {name: found.data[name].replace("␀", "")}).status_code == 302


def test_m06_half_an_emoji_opens_and_is_mended(bob):
    escalation = stopped(output_text("M06.json"))
    assert bob.get("/inbox/").status_code == 200
    assert bob.get(f"/records/{escalation.record_id}/").status_code == 200
    found = form(bob.get(url(escalation)), "/fix/")
    [name] = [key for key, text in found.data.items() if "\ufffd" in text]
    assert send_with(bob, found, {name: "mended"}).status_code == 302


def test_m08_a_number_of_thousands_of_digits_is_shown_cut(bob):
    escalation = stopped(output_text("M08.json"))
    assert "digits" in text_of(bob.get(url(escalation)))
    found = form(bob.get(url(escalation)), "/fix/")
    assert send_with(bob, found, {"/document_id": "84213377"}).status_code == 302
