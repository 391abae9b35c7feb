"""What changed, by field: against what was sent, the attempt before, what was accepted; and in the timeline."""

from __future__ import annotations

import html
import re

import pytest

from handoffs.exact_json import parse
from handoffs.models import Record
from handoffs.patching import PatchDoesNotFit, patch_of, patched
from reviewqueue.differences import changes
from tests import sample_flows
from tests.acceptance.stopped import refused, review, unsure, url
from tests.browsing import form, send_with, text_of
from tests.cast import document, opened, waiting, work

pytestmark = pytest.mark.django_db


@pytest.fixture
def bob(client, cast):
    client.force_login(cast.bob)
    return client


def rows(response):
    """(pointer, before, after) of the table; None where it is not there."""
    table = response.content.decode().partition('class="list diff"')[2].partition("</table>")[0]
    found = re.findall(
        r'<code class="pointer">(.*?)</code>.*?<td[^>]*>(.*?)</td>\s*<td[^>]*>(.*?)</td>', table, re.DOTALL
    )
    value = re.compile(r"<(?:del|ins)>(.*?)</(?:del|ins)>")
    return [
        (pointer, *(html.unescape(said[1]) if (said := value.search(cell)) else None for cell in cells))
        for pointer, *cells in found
    ]


def test_a_decided_fix_is_shown_against_what_was_sent(bob):
    escalation = unsure(0.5)
    send_with(bob, form(bob.get(url(escalation)), "/fix/"), {"/total": "12", "/purchase_order": "PO-8"})
    response = bob.get(url(escalation) + "?show=changes&against=sent")
    assert rows(response) == [("/purchase_order", '"PO-7"', '"PO-8"'), ("/total", "10", "12")]
    assert "extract, attempt 1 Bob Lind" in text_of(response)
    assert '{"op": "replace", "path": "/total", "value": 12}' in text_of(response)


def test_a_fixed_input_is_shown_against_what_the_step_before_sent(bob):
    escalation = refused()
    send_with(bob, form(bob.get(url(escalation)), "/fix/"), {"/purchase_order": "PO-9"})
    assert rows(bob.get(url(escalation) + "?show=changes")) == [("/purchase_order", "null", '"PO-9"')]


def test_an_attempt_is_shown_against_the_one_before(bob):
    totals = iter(["1,0", "2,0", "3,0"])

    def extract(given, context):
        draft = sample_flows.Draft.model_construct(number="A-1", purchase_order="PO-7", total=next(totals))
        return sample_flows.Result(draft, confidence=0.9)

    sample_flows.behaviour["extract"] = extract
    record = opened(document())
    for _ in range(3):
        Record.objects.filter(pk=record.pk).update(available_at=record.opened_at)
        work()
    response = bob.get(url(waiting(record)) + "?show=changes&against=previous")
    assert rows(response) == [("/total", '"2,0"', '"3,0"')]
    assert "extract, attempt 2 extract, attempt 3" in text_of(response)


def test_a_body_is_shown_against_what_was_accepted_before(bob):
    escalation = review()
    response = bob.get(url(escalation) + "?show=changes&against=accepted")
    assert rows(response) == [("/is_large", None, "true")]
    assert "added" in text_of(response)


def test_where_there_is_no_other_version_it_says_so(bob):
    escalation = waiting(opened({"text": 5}))
    assert "There is no other version of it yet." in text_of(bob.get(url(escalation) + "?show=changes&against=nope"))


def test_the_record_page_compares_too_and_the_timeline_shows_before_and_after(bob):
    escalation = refused()
    send_with(bob, form(bob.get(url(escalation)), "/fix/"), {"/purchase_order": "PO-9"})
    assert rows(bob.get(f"/records/{escalation.record_id}/?tab=changes")) == [("/purchase_order", "null", '"PO-9"')]
    history = bob.get(f"/records/{escalation.record_id}/?tab=history").content.decode()
    assert "<code>/purchase_order</code> <del>null</del> <ins>&quot;PO-9&quot;</ins>" in history


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("[1,2,3,4]", "[1,3,4]", [("/1", "2", None)]),
        ("[1,2]", "[1,9,2]", [("/1", None, "9")]),
        ('[{"a":1,"b":2}]', '[{"a":1,"b":3}]', [("/0/b", "2", "3")]),
        ('{"n":1.10}', '{"n":1.1}', [("/n", "1.10", "1.1")]),
        ('{"a":null}', "{}", [("/a", "null", None)]),
        ("5", '"5"', [("", "5", '"5"')]),
        ("[]", "[]", []),
    ],
)
def test_differences_are_the_smallest_that_say_it(before, after, told):
    assert [(c.pointer, c.before, c.after) for c in changes(parse(before), parse(after))] == told


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('{"a": 1.10, "b": [1, 2]}', '{"a": 1.10, "b": [1, 3]}'),
        ('{"a": {"x": null}}', '{"a": {}, "c/d~e": 12345678901234567890.10}'),
        ("[1, 2, 3]", "[3]"),
        ("5", '{"a": 5}'),
    ],
)
def test_a_patch_makes_the_one_of_the_other_to_the_digit(before, after):
    assert patched(before, patch_of(before, after)) == after


def test_a_patch_that_does_not_fit_is_refused():
    patch = patch_of('{"a": {"b": 1}}', '{"a": {"b": 2}}')
    assert patched('{"a": {}, "z": 1.0}', patch) == '{"a": {"b": 2}, "z": 1.0}'
    for body in ('{"x": 1}', "nope", "[]", '{"a": 5}'):
        with pytest.raises(PatchDoesNotFit):
            patched(body, patch)
