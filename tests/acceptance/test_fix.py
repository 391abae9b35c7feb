"""Fixing what stopped a record, in the fields of its contract or as JSON; nothing typed is lost."""

from __future__ import annotations

import json

import pytest

from handoffs.models import Escalation
from tests.acceptance.stopped import body_of, broken, failed, go_on, refused, unreadable, unsure, url
from tests.browsing import form, send_with, text_of
from tests.cast import opened, waiting

pytestmark = pytest.mark.django_db


@pytest.fixture
def bob(client, cast):
    client.force_login(cast.bob)
    return client


def fix_form(client, escalation, query=""):
    return form(client.get(url(escalation) + query), "/fix/")


def test_typing_the_missing_value_completes_the_record(bob):
    escalation = refused()
    response = send_with(bob, fix_form(bob, escalation), {"/purchase_order": "PO-9"})
    assert response.status_code == 302
    record = go_on(escalation.record)
    assert record.status == "completed"
    fixed = record.results.get(outcome="fixed")
    assert json.loads(fixed.output) == {"number": "A-1", "purchase_order": "PO-9", "total": 10}
    assert json.loads(fixed.patch) == [{"op": "replace", "path": "/purchase_order", "value": "PO-9"}]


def test_every_value_keeps_its_digits(bob):
    escalation = waiting(opened(b'{"text": 5, "amount": 12345678901234.10}'))
    data = {"/text": "A-1,PO-1,10", "/amount": ""}
    response = send_with(bob, fix_form(bob, escalation, "fix/"), {"/text": "A-1,PO-1,10"})
    assert "The contract does not know this field." in text_of(response)
    assert "12345678901234.10" in response.content.decode()
    assert send_with(bob, form(response, "/fix/"), data).status_code == 302
    assert body_of(escalation.record) == {"text": "A-1,PO-1,10"}


def test_what_still_breaks_the_contract_is_told_beside_the_field_and_above(bob):
    escalation = refused()
    response = send_with(bob, fix_form(bob, escalation), {"/total": "ten", "/number": "B-2"})
    assert response.status_code == 422
    text, content = text_of(response), response.content.decode()
    assert "Not saved: this keeps it from being taken" in text
    assert "Total : A whole number is needed; text was sent." in text
    assert '<a href="#f-total">' in content
    assert 'id="f-total" type="text" name="/total" value="ten"' in content
    assert 'aria-invalid="true"' in content
    assert 'aria-describedby="f-total-from f-total-error"' in content
    assert form(response, "/fix/").data["/number"] == "B-2", "what was typed is kept"
    assert "sent 10" in text
    escalation.refresh_from_db()
    assert escalation.state == "open"


def test_violated_fields_stand_first(bob):
    content = bob.get(url(refused())).content.decode()
    assert content.index('id="f-purchase_order"') < content.index('id="f-number"') < content.index('id="f-total"')


def test_restore_brings_back_what_was_sent_without_a_script(bob):
    escalation = refused()
    found = fix_form(bob, escalation)
    response = send_with(bob, found, {"/total": "99", "/number": "typed", "op": "restore:/total"})
    assert response.status_code == 200
    again = form(response, "/fix/")
    assert (again.data["/total"], again.data["/number"]) == ("10", "typed")
    assert ("op", "restore:/number", "Restore Number") in again.buttons


def test_check_says_whether_it_holds_and_saves_nothing(bob):
    escalation = refused()
    found = fix_form(bob, escalation)
    assert "Every field holds the contract" in text_of(send_with(bob, found, {"/purchase_order": "P", "then": "check"}))
    response = send_with(bob, found, {"/total": "x", "then": "check"})
    assert "A whole number is needed" in text_of(response)
    escalation.refresh_from_db()
    assert escalation.state == "open"


def test_a_fix_that_changes_nothing_is_refused_where_nothing_can_be_approved(bob):
    escalation = failed()
    response = send_with(bob, fix_form(bob, escalation), {})
    assert response.status_code == 422
    assert "A fix needs a change." in text_of(response)


def test_a_fix_that_changes_nothing_is_an_approval_where_one_is_offered(bob):
    escalation = unsure()
    assert send_with(bob, fix_form(bob, escalation), {}).status_code == 302
    escalation.refresh_from_db()
    assert escalation.resolution == "approve"


def test_the_output_of_a_step_is_fixed_and_the_next_step_gets_it(bob):
    escalation = broken(total="12,50")
    response = bob.get(url(escalation))
    assert "sent <code>&quot;12,50&quot;</code>" in response.content.decode()
    assert form(response, "/fix/").data["/total"] == "", "no value is guessed from what was sent"
    assert send_with(bob, form(response, "/fix/"), {"/total": "12"}).status_code == 302
    assert go_on(escalation.record).status == "completed"
    assert json.loads(escalation.record.results.get(outcome="fixed").output)["total"] == 12


def test_a_failed_step_takes_its_output_from_a_person_instead(bob):
    escalation = failed()
    response = bob.get(url(escalation, "fix/?side=returns"))
    found = form(response, "/fix/")
    assert found.data["side"] == "returns"
    assert "is_large" in " ".join(found.data)
    assert send_with(bob, found, {"/is_large": "false"}).status_code == 302
    record = go_on(escalation.record)
    assert record.status == "completed"
    assert record.results.filter(step="check", outcome="fixed").exists()


# --- as JSON ---------------------------------------------------------------------------------------------------------


def test_the_whole_body_is_fixed_as_json_with_what_was_typed_before(bob):
    escalation = refused()
    response = send_with(bob, fix_form(bob, escalation), {"/number": "typed", "op": "json"})
    found = form(response, "/fix/")
    assert json.loads(found.data["body"])["number"] == "typed"
    assert found.data["as"] == "json"
    body = json.dumps({"number": "typed", "purchase_order": "PO", "total": 1})
    assert send_with(bob, found, {"body": body}).status_code == 302
    assert body_of(escalation.record)["number"] == "typed"


def test_json_that_cannot_be_read_comes_back_with_the_place(bob):
    escalation = refused()
    found = form(bob.get(url(escalation, "fix/?as=json")), "/fix/")
    response = send_with(bob, found, {"body": '{"number": "x",\n "total": 1,}'})
    assert response.status_code == 422
    assert "Line 2, column" in text_of(response)
    assert form(response, "/fix/").data["body"] == '{"number": "x",\n "total": 1,}'
    twice = send_with(bob, found, {"body": '{"number": "x", "number": "y"}'})
    assert "This key is sent twice." in text_of(twice)
    broken_contract = send_with(bob, found, {"body": '{"number": "x"}'})
    assert broken_contract.status_code == 422
    assert "/purchase_order This field is missing." in text_of(broken_contract)


def test_a_body_that_is_no_json_is_shown_as_it_came_and_fixed_as_text(bob):
    escalation = unreadable(b'{"text": "A,PO-1,5"')
    response = bob.get(url(escalation))
    found = form(response, "/fix/")
    assert found.data["body"] == '{"text": "A,PO-1,5"'
    assert "What was sent can't be read" in text_of(response)
    assert send_with(bob, found, {}).status_code == 422
    assert send_with(bob, found, {"body": '{"text": "A,PO-1,5"}'}).status_code == 302
    assert go_on(escalation.record).status == "completed"


def test_the_fenced_part_is_taken_as_a_person_s_edit(bob):
    escalation = unreadable(b'Here it is:\n```json\n{"text": "A,PO-1,5"}\n```\nAnything else?')
    found = fix_form(bob, escalation)
    assert ("op", "fence", "Take the fenced part") in found.buttons
    response = send_with(bob, found, {"op": "fence"})
    taken = form(response, "/fix/")
    assert taken.data["body"] == '{"text": "A,PO-1,5"}'
    assert Escalation.objects.get().state == "open", "nothing is saved yet"
    assert send_with(bob, taken, {}).status_code == 302
    assert escalation.record.results.get(outcome="fixed").actor == "reviewer:bob"


def test_bytes_that_are_no_text_are_shown_and_fixed(bob):
    escalation = unreadable(b'{"text": "\xff"}')
    found = fix_form(bob, escalation)
    assert found.data["body"] == '{"text": "\ufffd"}'
    assert send_with(bob, found, {"body": '{"text": "A,PO-1,5"}'}).status_code == 302
    assert go_on(escalation.record).status == "completed"


def test_a_nul_is_seen_and_taken_out(bob):
    escalation = unreadable(b'{"text": "A,PO\\u0000,5"}')
    found = fix_form(bob, escalation)
    assert found.data["/text"] == "A,PO␀,5"
    assert send_with(bob, found, {}).status_code == 422
    assert send_with(bob, found, {"/text": "A,PO,5"}).status_code == 302
    assert go_on(escalation.record).status == "completed"


# --- lists and the like, end to end ----------------------------------------------------------------------------------


def test_unknown_fields_are_left_out_by_a_button(bob):
    escalation = waiting(opened({"text": "A,PO,5", "extra": {"a": 1}}))
    found = fix_form(bob, escalation)
    assert ("op", "clear:/extra", "Leave out extra") in found.buttons
    cleared = form(send_with(bob, found, {"op": "clear:/extra"}), "/fix/")
    assert send_with(bob, cleared, {}).status_code == 302
    assert body_of(escalation.record) == {"text": "A,PO,5"}


def test_after_a_verdict_the_next_item_of_the_same_view_is_claimed(bob, cast):
    first, second = refused(number="A-1"), refused(number="A-2")
    unsure()
    found = fix_form(bob, first, "?from=kind%3Drefused")
    response = send_with(bob, found, {"/purchase_order": "PO"})
    assert response.headers["Location"] == f"/escalations/{second.pk}/?from=kind%3Drefused"
    second.refresh_from_db()
    assert second.assignee == cast.bob
    last = send_with(bob, fix_form(bob, second, "?from=kind%3Drefused"), {"/purchase_order": "PO"})
    assert last.headers["Location"] == "/inbox/?kind=refused"


def test_an_undo_is_offered_on_the_next_page(bob):
    escalation = refused()
    send_with(bob, fix_form(bob, escalation), {"/purchase_order": "PO"})
    response = bob.get("/inbox/")
    assert f"ESC-{escalation.pk} fixed. Undo z" in text_of(response)
