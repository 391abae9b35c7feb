"""The contract pages: schema, versions, how a contract fares, and a body held against it to see."""

from __future__ import annotations

import json
import re
from html import unescape

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from handoffs.actions.contracts import contracts_of, name_of, store_versions
from handoffs.contracts import schema
from handoffs.insight.versions import Change, Harm, compare, fields
from handoffs.models import ContractVersion, Escalation, Record, StepResult, sql
from tests.cast import document, opened, work
from tests.sample_flows import CheckInput, Draft, orders, tickets

NAME = name_of(CheckInput)


def page_of(client, user, *args, name: str = "contract", **query) -> str:
    client.force_login(user)
    answer = client.get(reverse(name, args=args), query)
    assert answer.status_code == 200
    return unescape(answer.content.decode())


def tried(client, user, body: str, name: str = NAME) -> str:
    client.force_login(user)
    answer = client.post(reverse("contract", args=[name]), {"body": body})
    assert answer.status_code == 200
    return unescape(answer.content.decode())


def stored(schema_of: dict, version: int, name: str = NAME) -> ContractVersion:
    return ContractVersion.objects.create(
        name=name, version=version, hash=f"{version:064}", schema=json.dumps(schema_of), first_seen_at=sql.now()
    )


def test_the_list_has_the_contracts_of_the_flows_one_sees_stored_or_not(client, cast):
    store_versions([Draft])
    page = page_of(client, cast.bob, name="contracts")
    assert [c.__name__ in page for c in contracts_of([orders, tickets])] == [True] * 9
    assert page.count("version 1") == 1
    assert "not stored yet" in page
    assert "No contract yet" in page_of(client, cast.charlie, name="contracts")


def test_a_contract_of_a_flow_one_does_not_see_is_not_there(client, cast):
    store_versions([CheckInput])
    client.force_login(cast.charlie)
    for name, args in (("contract", [NAME]), ("contract-version", [NAME, 1]), ("contract-compare", [NAME])):
        assert client.get(reverse(name, args=args)).status_code == 404
    client.logout()
    assert client.get(reverse("contract", args=[NAME])).status_code == 302


def test_the_schema_stands_as_a_table(client, cast):
    page = page_of(client, cast.bob, NAME)
    assert 'title="/purchase_order"' in page
    assert "carried unchanged" in page
    rows = {field.pointer: field for field in fields(schema(CheckInput))}
    assert (rows["/total"].type, rows["/total"].is_required) == ("whole number", True)
    assert rows["/number"].is_carried
    assert {f.pointer: f.type for f in fields(schema(Draft))}["/purchase_order"] == "text or null"


def test_how_often_it_held_and_what_broke_it(client, cast):
    for n in range(3):
        opened(document(f"A-{n}"))
    opened(document("B-1", order=""))
    work()
    page = page_of(client, cast.bob, NAME)
    assert re.search(r"<b>75 %</b><span>of 4 bodies held in 7 days", page)
    assert re.search(r"<code>/purchase_order</code>.*?<b>1</b>", page, re.DOTALL)
    assert "/inbox/?flow=orders&step=check&kind=refused" in page
    assert "extract → check" in page
    assert re.search(r"<b>100 %</b><span>of 4 bodies held in 7 days", page_of(client, cast.bob, name_of(Draft)))


def test_only_what_the_person_sees_is_counted(client, cast):
    opened(document("B-1", order=""))
    work()
    for membership in cast.queues["order-exceptions"].memberships.all():
        membership.delete()
    page = page_of(client, cast.bob, NAME)
    assert "No field broke it." in page
    assert "of 0 bodies held in 7 days" in page


def test_a_body_is_tried_and_nothing_is_written(client, cast):
    before = [model.objects.count() for model in (Record, StepResult, Escalation)]
    page = tried(client, cast.bob, '{"number": "A", "purchase_order": null, "total": "12"}')
    assert "It breaks the contract" in page
    assert "in 2 places" in page
    assert "Null is not allowed here" in page
    assert "It holds the contract" in tried(client, cast.bob, '{"number": "A", "purchase_order": "P", "total": 1}')
    assert [model.objects.count() for model in (Record, StepResult, Escalation)] == before


def test_the_form_can_be_sent_from_its_page(cast):
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(cast.bob)
    url = reverse("contract", args=[NAME])
    page = strict.get(url).content.decode()
    token = re.search(r'id="try".*?name="csrfmiddlewaretoken" value="([^"]+)"', page, re.DOTALL)
    assert token
    assert strict.post(url, {"body": "{}", "csrfmiddlewaretoken": token[1]}).status_code == 200
    assert strict.post(url, {"body": "{}"}).status_code == 403


@pytest.mark.parametrize(
    ("body", "rule"),
    [
        ("", "empty"),
        ("{", "not_json"),
        ('{"a": 1, "a": 2}', "duplicate_key"),
        ("[" * 100 + "]" * 100, "too_deep"),
        (json.dumps({"number": "x" * 2_000_001}), "too_large"),
    ],
    ids=["empty", "cut", "double", "deep", "large"],
)
def test_a_pasted_body_goes_through_the_gate(client, cast, body, rule):
    assert f"<p>{rule}</p>" in tried(client, cast.bob, body)


def test_what_was_pasted_stays_text(client, cast):
    client.force_login(cast.bob)
    raw = client.post(reverse("contract", args=[NAME]), {"body": '{"number": "<script>alert(1)</script>"}'}).content
    assert b"<script>alert" not in raw
    assert b"&lt;script&gt;alert" in raw


def test_unknown_fields_that_would_be_counted_are_named(client, cast):
    from tests.sample_flows import ToPost

    page = tried(client, cast.bob, '{"number": "A", "total": 1, "colour": "red"}', name_of(ToPost))
    assert "1 field that it does not know would be counted" in page
    assert "<code>/colour</code>" in page


def test_a_stored_version_can_be_read_as_it_was(client, cast):
    store_versions([CheckInput])
    page = page_of(client, cast.bob, NAME, 1, name="contract-version")
    assert ContractVersion.objects.get().hash in page
    assert "It is the one that is declared now." in page
    client.force_login(cast.bob)
    assert client.get(reverse("contract-version", args=[NAME, 2])).status_code == 404


def test_two_versions_side_by_side_say_whom_a_change_breaks(client, cast):
    older = schema(CheckInput)
    del older["properties"]["purchase_order"]
    older["required"] = ["number", "total"]
    stored(older, 1)
    store_versions([CheckInput])
    page = page_of(client, cast.bob, NAME, name="contract-compare")
    assert "version 1 → 2" in page
    assert re.search(r"added</span> <code class=\"break\">/purchase_order", page)
    assert "It is required, and nothing before writes it." in page
    backwards = page_of(client, cast.bob, NAME, name="contract-compare", a="2", b="1")
    assert "version 2 → 1" in backwards
    assert "removed" in backwards


def test_versions_that_differ_in_their_validators_only_say_so(client, cast):
    stored(schema(CheckInput), 1)
    store_versions([CheckInput])
    assert "such as validators, have changed" in page_of(client, cast.bob, NAME, name="contract-compare")


@pytest.mark.parametrize("query", [{}, {"a": "9", "b": "1"}, {"a": "x", "b": "1"}, {"a": "9" * 40, "b": "-1"}])
def test_versions_that_are_not_there_cannot_be_compared(client, cast, query):
    store_versions([CheckInput])
    assert "There is nothing to compare" in page_of(client, cast.bob, NAME, name="contract-compare", **query)


def test_each_change_is_classed_for_producers_and_consumers():
    older = {"type": "object", "additionalProperties": False, "required": ["a", "b"], "properties": {
        "a": {"type": "string"}, "b": {"type": "integer", "maximum": 10}, "gone": {"type": "string"}}}  # fmt: skip
    newer = {"type": "object", "additionalProperties": False, "required": ["a"], "properties": {
        "a": {"type": "string", "maxLength": 5}, "b": {"type": "integer", "maximum": 20},
        "new": {"type": "string"}}}  # fmt: skip
    found = {d.pointer: (d.change, d.producers, d.consumers) for d in compare(older, newer)}
    assert found["/a"] == (Change.CHANGED, Harm.MAY_BREAK, Harm.NONE)
    assert found["/b"][:2] == (Change.CHANGED, Harm.NONE)
    assert found["/b"][2] is not Harm.NONE
    assert found["/gone"][0] is Change.REMOVED
    assert found["/gone"][1] is not Harm.NONE
    assert found["/new"][0] is Change.ADDED
    assert found["/new"][1] is Harm.NONE
    assert compare(older, older) == []


def test_a_contract_that_contains_itself_has_an_end():
    tree = {"$ref": "#/$defs/Tree", "$defs": {"Tree": {"type": "object", "properties": {
        "name": {"type": "string"}, "children": {"type": "array", "items": {"$ref": "#/$defs/Tree"}}}}}}  # fmt: skip
    assert [field.pointer for field in fields(tree)] == ["/name", "/children"]


def test_an_admin_still_sees_what_no_flow_names_any_more(client, cast):
    stored({"type": "object", "properties": {}}, 1, name="gone.Contract")
    assert "no longer declared" in page_of(client, cast.dora, "gone.Contract")
    assert "gone" in page_of(client, cast.dora, name="contracts")
    client.force_login(cast.bob)
    assert client.get(reverse("contract", args=["gone.Contract"])).status_code == 404


def test_the_pages_take_as_many_queries_for_many_rows_as_for_few(client, cast):
    store_versions(contracts_of([orders, tickets]))
    opened(document("B-0", order=""))
    work()
    page_of(client, cast.bob, NAME)
    counts = []
    for n in range(2):
        with CaptureQueriesContext(connection) as taken:
            page_of(client, cast.bob, NAME)
            page_of(client, cast.bob, name="contracts")
        counts.append(len(taken))
        for m in range(15):
            opened(document(f"C-{n}-{m}", order="" if m % 2 else "PO"))
        work()
    assert counts[0] == counts[1]
