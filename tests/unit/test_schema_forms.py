"""A form made from a contract gives back what was sent, to the digit, unless a person changed it."""

from __future__ import annotations

import json
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import Field

from handoffs import exact_json
from handoffs.contracts import Carried, Contract, check
from handoffs.exact_json import Number, Unreadable
from handoffs.states import Side
from reviewqueue.schema_fields import Sort, shape_of
from reviewqueue.schema_forms import FIELDS, SchemaForm


class Colour(Enum):
    RED = "red"
    GREEN = "green"


class Cat(Contract):
    kind: Literal["cat"]
    lives: int


class Dog(Contract):
    kind: Literal["dog"]
    name: str


class Line(Contract):
    text: str
    amount: Decimal
    tax: Decimal | None = None


class Address(Contract):
    street: str
    city: str | None


class Everything(Contract, unknown="count"):
    number: Annotated[str, Carried()]
    story: Annotated[str, Field(max_length=4000, title="The whole story", description="In a few lines.")]
    count: int
    total: Decimal
    rate: float
    day: date
    moment: datetime
    clock: time
    span: timedelta
    key: UUID
    is_paid: bool
    is_late: bool | None
    colour: Colour
    level: Literal[1, 2, 3] | None
    currency: Literal["EUR", "USD", "GBP", "JPY", "CHF", "SEK"]
    note: str | None = None
    address: Address
    other: Address | None
    lines: list[Line]
    tags: list[str]
    pet: Annotated[Cat | Dog, Field(discriminator="kind")]
    extra: dict[str, int]
    anything: Any


SHAPE = shape_of(Everything)


def posted(form: SchemaForm) -> dict[str, str]:
    """What a browser sends when nobody touches the form; line ends as browsers make them."""
    return {
        name: text.replace("\r\n", "\n").replace("\r", "\n").replace("\n", "\r\n")
        for name, text in form.controls.items()
    }


def saved(sent: str, changes: dict[str, str] | None = None, *, shape=SHAPE, **options: Any) -> SchemaForm:
    """Open a form, type into it, send it."""
    opened = SchemaForm(shape, sent, **options)
    return SchemaForm(shape, sent, data=posted(opened) | (changes or {}), **options)


def body(**changes: Any) -> dict[str, Any]:
    return {
        "number": "A-1",
        "story": "once\nupon",
        "count": 3,
        "total": "12345678901234567890.10",
        "rate": 0.5,
        "day": "2026-11-30",
        "moment": "2026-11-30T14:05:00.120Z",
        "clock": "14:05:00",
        "span": "P1DT2H",
        "key": "0b2cf3a5-6d1e-4c1f-9a53-2f6f0f0c7d11",
        "is_paid": True,
        "is_late": None,
        "colour": "red",
        "level": 2,
        "currency": "EUR",
        "address": {"street": "Kai 4", "city": None},
        "other": None,
        "lines": [{"text": "a", "amount": "1.10"}, {"text": "b", "amount": "2.20", "tax": None}],
        "tags": ["x", "y", "z"],
        "pet": {"kind": "cat", "lives": 9},
        "extra": {"a": 1},
        "anything": [1, {"b": None}],
    } | changes


def sent(**changes: Any) -> str:
    return json.dumps(body(**changes))


def data_of(form: SchemaForm) -> Any:
    return json.loads(form.text)


def test_the_sample_holds_its_contract():
    assert check(Everything, sent(), side=Side.RETURNS).violations == ()


def test_open_and_save_gives_the_very_text_that_was_sent():
    text = '{ "number":"A-1",  "total":12345678901234.10, "count":9223372036854775807,"rate":1e2,"new":0.10 }'
    form = saved(text)
    assert form.text == text
    assert not form.is_changed
    assert form.changes == []


def test_one_changed_field_leaves_every_other_number_as_its_text():
    text = '{"number":"A-1","total":12345678901234.10,"count":9223372036854775807,"rate":1.50,"unknown":[0.10]}'
    form = saved(text, {"/number": "A-2"})
    assert form.text == (
        '{"number": "A-2", "total": 12345678901234.10, "count": 9223372036854775807, "rate": 1.50, "unknown": [0.10]}'
    )
    assert [node.name for node in form.changes] == ["/number"]


@pytest.mark.parametrize(
    ("name", "typed", "key", "value"),
    [
        ("/count", " 42 ", "count", 42),
        ("/count", "1,200", "count", "1,200"),
        ("/count", "007", "count", "007"),
        ("/total", "1234.50", "total", "1234.50"),
        ("/total", "1.234,50", "total", "1.234,50"),
        ("/rate", "0.25", "rate", 0.25),
        ("/rate", "87 %", "rate", "87 %"),
        ("/day", "2026-12-01", "day", "2026-12-01"),
        ("/day", "30.11.26", "day", "30.11.26"),
        ("/number", "  A 1 ", "number", "  A 1 "),
        ("/is_paid", "false", "is_paid", False),
        ("/is_late", "true", "is_late", True),
        ("/colour", '"green"', "colour", "green"),
        ("/level", "3", "level", 3),
        ("/level", "null", "level", None),
        ("/currency", '"CHF"', "currency", "CHF"),
        ("/extra", '{"b": 2}', "extra", {"b": 2}),
        ("/anything", "null", "anything", None),
    ],
)
def test_typed_text_becomes_a_value_only_where_it_is_one(name, typed, key, value):
    changed = data_of(saved(sent(), {name: typed}))[key]
    assert changed == value
    assert type(changed) is type(value)


def test_a_decimal_that_was_sent_as_a_number_stays_one():
    text = sent().replace('"12345678901234567890.10"', "10.50")
    assert '"total": 10.70' in saved(text, {"/total": "10.70"}).text
    assert '"total": "0.12345678901234567890"' in saved(text, {"/total": "0.12345678901234567890"}).text


def test_empty_null_and_left_out_are_told_apart():
    assert data_of(saved(sent(note="x"), {"/note": ""}))["note"] is None
    assert data_of(saved(sent(note="x"), {"/note": "", "empty:/note": "text"}))["note"] == ""
    assert "note" not in data_of(saved(sent(note="x"), {"/note": "", "empty:/note": "absent"}))
    assert data_of(saved(sent(), {"/note": "", "empty:/note": "null"}))["note"] is None
    assert "note" not in data_of(saved(sent(), {"/number": "B"}))
    assert data_of(saved(sent(note=""), {"/number": "B"}))["note"] == ""
    assert "count" not in data_of(saved(sent(), {"/count": ""}))


def test_a_required_field_that_was_not_sent_stays_missing_until_somebody_types():
    given = body()
    del given["number"], given["address"], given["lines"]
    form = saved(json.dumps(given), {"/count": "4"})
    assert {"number", "address", "lines"}.isdisjoint(data_of(form))
    form = saved(json.dumps(given), {"/number": "A-9", "/address/street": "Kai 5"})
    assert data_of(form)["number"] == "A-9"
    assert data_of(form)["address"] == {"street": "Kai 5"}


def test_what_a_control_cannot_hold_stands_beside_it_and_is_kept():
    form = saved(sent(day="30.11.26", count="12", colour="Red ", rate=True), {"/number": "B"})
    assert data_of(form) == body(day="30.11.26", count="12", colour="Red ", rate=True, number="B")
    leaves = {node.name: node for node in form.root.walk()}
    assert (leaves["/day"].text, leaves["/day"].control, leaves["/day"].shows_sent) == ("", "text", True)
    assert leaves["/count"].sent_text == '"12"'
    assert leaves["/colour"].shows_sent
    assert not leaves["/colour"].is_chosen


def test_a_typed_date_that_is_none_is_not_swallowed_by_a_date_control():
    form = saved(sent(), {"/day": "30.11.26"})
    leaf = next(node for node in form.root.walk() if node.name == "/day")
    assert (leaf.control, leaf.text) == ("text", "30.11.26")


def test_characters_that_no_control_can_hold_survive():
    text = json.dumps(body(number="a\u0000b\u202e\u200bc\r\nd", story="\n\nx\r"))
    assert saved(text).text == text
    assert data_of(saved(text, {"/count": "4"}))["number"] == "a\u0000b\u202e\u200bc\r\nd"
    leaf = next(node for node in SchemaForm(SHAPE, text).root.walk() if node.name == "/number")
    assert "␀" in leaf.text
    assert "\0" not in leaf.text
    assert data_of(saved(text, {"/number": leaf.text + "!"}))["number"] == "a\u0000b\u202e\u200bc\nd!"


def test_half_a_surrogate_pair_can_be_shown_and_mended():
    text = '{"number": "x\\ud83d"}'
    assert saved(text).text == text
    SchemaForm(SHAPE, text).text.encode()
    assert data_of(saved(text, {"/number": "x"}))["number"] == "x"


# --- lists -----------------------------------------------------------------------------------------------------------


def pressed(form_data: dict[str, str], op: str, text: str, **options: Any) -> SchemaForm:
    return SchemaForm(SHAPE, text, data=form_data | {"op": op}, **options)


def test_items_are_added_removed_and_moved_without_losing_what_was_typed():
    text = sent()
    data = posted(SchemaForm(SHAPE, text)) | {"/lines/1/text": "typed"}
    data = posted(pressed(data, "up:/lines/1", text))
    data = posted(pressed(data, "add:/lines", text)) | {"/lines/n0/text": "new", "/lines/n0/amount": "3"}
    form = SchemaForm(SHAPE, text, data=data)
    assert data_of(form)["lines"] == [
        {"text": "typed", "amount": "2.20", "tax": None},
        {"text": "a", "amount": "1.10"},
        {"text": "new", "amount": "3"},
    ]
    data = posted(pressed(data, "remove:/lines/0", text))
    data = posted(pressed(data, "down:/lines/1", text))
    assert data_of(SchemaForm(SHAPE, text, data=data))["lines"] == [
        {"text": "new", "amount": "3"},
        {"text": "typed", "amount": "2.20", "tax": None},
    ]


def test_a_list_of_texts_takes_empty_ones_and_an_added_item_is_typed():
    text = sent()
    data = posted(pressed(posted(SchemaForm(SHAPE, text)), "add:/tags", text))
    assert data_of(SchemaForm(SHAPE, text, data=data))["tags"] == ["x", "y", "z", ""]
    assert data_of(SchemaForm(SHAPE, text, data=data | {"/tags/0": ""}))["tags"] == ["", "y", "z", ""]


def test_objects_are_filled_in_set_to_null_and_left_out():
    text = sent()
    data = posted(pressed(posted(SchemaForm(SHAPE, text)), "fill:/other", text))
    filled = SchemaForm(SHAPE, text, data=data | {"/other/street": "X"})
    assert data_of(filled)["other"] == {"street": "X", "city": None}
    again = posted(pressed(data, "null:/other", text))
    assert data_of(SchemaForm(SHAPE, text, data=again))["other"] is None


def test_another_variant_brings_its_own_fields():
    text = sent()
    data = posted(SchemaForm(SHAPE, text)) | {"kind:/pet": "dog"}
    data = posted(pressed(data, "kind:/pet", text)) | {"/pet/name": "Rex"}
    assert data_of(SchemaForm(SHAPE, text, data=data))["pet"] == {"kind": "dog", "name": "Rex"}
    back = posted(pressed(data | {"kind:/pet": "cat"}, "kind:/pet", text))
    assert SchemaForm(SHAPE, text, data=back).text == text


def test_restore_brings_back_what_was_sent():
    text = sent()
    data = posted(SchemaForm(SHAPE, text)) | {"/count": "99"}
    form = pressed(data, "restore:/count", text)
    assert form.text == text


def test_violated_fields_stand_first_with_their_errors():
    text = sent(count="x", lines=[{"text": "a", "amount": "1"}, {"text": "b", "amount": "1,5"}])
    form = SchemaForm(SHAPE, text, violations=check(Everything, text, side=Side.RECEIVES).violations)
    assert [node.pointer for node in form.broken] == ["/count", "/lines/1/amount"]
    assert form.broken[1].crumbs == ("Lines 2",)
    assert form.broken[0].errors[0].startswith("A whole number is needed")
    assert "/count" not in [node.pointer for node in form.others]
    assert form.first_id == "f-count"


def test_an_error_follows_its_item_when_it_is_moved():
    text = sent(lines=[{"text": "a", "amount": "1"}, {"text": "b", "amount": "1,5"}])
    data = posted(pressed(posted(SchemaForm(SHAPE, text)), "up:/lines/1", text))
    form = SchemaForm(SHAPE, text, data=data)
    form = form.with_violations(check(Everything, form.text, side=Side.RECEIVES).violations)
    assert [(node.name, node.pointer) for node in form.broken] == [("/lines/1/amount", "/lines/0/amount")]


def test_violations_without_a_field_are_said_at_the_top():
    text = sent(extra={"a": "no"})
    violations = check(Everything, text, side=Side.RECEIVES).violations
    form = SchemaForm(SHAPE, text, violations=violations)
    assert [node.pointer for node in form.broken] == ["/extra"]
    hidden = shape_of(Everything, frozenset({"extra"}))
    assert [v.pointer for v in SchemaForm(hidden, text, violations=violations).general] == ["/extra/a"]


def test_json_that_cannot_be_read_is_told_with_its_place_and_kept():
    form = saved(sent(), {"/extra": '{"a": 1,\n "a": 2}'})
    [(node, sentence)] = form.problems
    assert node.name == "/extra"
    assert sentence.startswith("Line 2, column 2: This key is sent twice")
    assert node.text == '{"a": 1,\n "a": 2}'


# --- large bodies ----------------------------------------------------------------------------------------------------


def test_a_large_body_shows_the_first_fields_and_those_that_break_it():
    lines = [{"text": f"t{place}", "amount": "1.00"} for place in range(12_000)]
    lines[11_000]["amount"] = "x"
    text = sent(lines=lines)
    violations = check(Everything, text, side=Side.RECEIVES).violations
    form = SchemaForm(SHAPE, text, violations=violations)
    assert form.size < FIELDS
    assert [node.pointer for node in form.broken] == ["/lines/11000/amount"]
    assert form.left_out > 11_900

    data = posted(form) | {"/lines/11000/amount": "7.00"}
    mended = json.loads(SchemaForm(SHAPE, text, data=data).text)
    lines[11_000]["amount"] = "7.00"
    assert mended["lines"] == lines


def test_items_far_down_are_opened_by_their_number_and_moved():
    lines = [{"text": f"t{place}", "amount": "1.00"} for place in range(500)]
    text = sent(lines=lines)
    data = posted(SchemaForm(SHAPE, text)) | {"show:/lines": "301"}
    form = pressed(data, "show:/lines", text)
    assert "/lines/300/text" in {node.name for node in form.root.walk()}
    data = posted(form)
    form = SchemaForm(SHAPE, text, data=posted(pressed(data, "up:/lines/300", text)))
    texts = [line["text"] for line in data_of(form)["lines"]]
    assert texts[298:302] == ["t298", "t300", "t299", "t301"]
    assert len(texts) == 500


def test_five_hundred_fields_are_shown_in_part_and_all_are_kept():
    given = {f"extra_{place}": place for place in range(500)}
    text = json.dumps(body() | given)
    form = saved(text, {"/count": "4"})
    assert data_of(form) == body() | given | {"count": 4}
    assert SchemaForm(SHAPE, text, show_all=True).left_out == 0


@pytest.mark.parametrize("text", ["", "nope", '{"a":1,"a":2}', "[" * 100 + "]" * 100, '{"a": NaN'])
def test_what_is_no_json_is_refused(text):
    if text:
        with pytest.raises(Unreadable):
            SchemaForm(SHAPE, text)


def test_a_forged_order_cannot_double_or_invent_items():
    text = sent()
    form = saved(text, {"order:/tags": "0,0,7,-1,1-99,n0,x,,2-1,0-1,00"})
    assert data_of(form)["tags"] == ["x", ""]


# --- whatever is sent ------------------------------------------------------------------------------------------------

scalars = (
    st.none() | st.booleans() | st.integers() | st.text(max_size=20) | st.sampled_from(["2026-11-30", "1.10", "x\r\ny"])
)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
)
bodies = st.fixed_dictionaries({}, optional={key: values | st.just(value) for key, value in body().items()})


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(bodies, st.dictionaries(st.text(max_size=6), values, max_size=2))
def test_whatever_was_sent_comes_back_unchanged(known, unknown):
    text = json.dumps({**unknown, **known})
    form = saved(text)
    assert form.text == text
    assert form.changes == []


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(bodies, st.text(alphabet=st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=20))
def test_one_typed_text_changes_one_field_and_nothing_else(known, typed):
    text = json.dumps(known | {"number": "A"})
    form = saved(text, {"/number": typed})
    assert data_of(form) == known | {"number": typed}


@settings(max_examples=100, deadline=None)
@given(values)
def test_json_is_written_as_it_was_read(value):
    text = json.dumps(value)
    assert json.loads(exact_json.write(exact_json.parse(text))) == value
    assert json.loads(exact_json.write(exact_json.parse(text), indent=2)) == value


def test_numbers_keep_their_text():
    assert exact_json.write(exact_json.parse("[1.10, 1e2, -0.0, 123456789012345678901]")) == (
        "[1.10, 1e2, -0.0, 123456789012345678901]"
    )
    assert exact_json.parse("1.10") == Number("1.10")


def test_shapes_know_labels_help_and_facts():
    fields = SHAPE.properties
    assert (fields["story"].label, fields["story"].help, fields["story"].sort) == (
        "The whole story",
        "In a few lines.",
        Sort.LONG,
    )
    assert fields["is_paid"].label == "Is paid"
    assert fields["number"].carried
    assert fields["total"].sort is Sort.DECIMAL
    assert (fields["level"].sort, fields["level"].nullable) == (Sort.CHOICE, True)
    assert fields["pet"].sort is Sort.VARIANT
    assert fields["extra"].sort is Sort.JSON


def test_a_new_item_begins_with_null_where_null_is_allowed_and_is_no_mistake_yet():
    text = sent()
    form = pressed(posted(SchemaForm(SHAPE, text)), "add:/lines", text)
    assert data_of(form)["lines"][2] == {}
    text = sent(other=None)
    form = pressed(posted(SchemaForm(SHAPE, text)), "fill:/other", text)
    assert data_of(form)["other"] == {"city": None}
    form = form.with_violations(check(Everything, form.text, side=Side.RETURNS).violations)
    assert [node.pointer for node in form.broken] == [], "what was just added stays where it is"
    assert [node.pointer for node in form.root.walk() if node.errors] == ["/other/street"]
