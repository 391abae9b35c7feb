"""Every finding is shown by a witness: a body that the producer's contract takes and the consumer's refuses."""

from __future__ import annotations

import json
from datetime import date, datetime, time
from decimal import Decimal
from typing import Annotated, Any, Literal
from uuid import UUID

import pytest
from pydantic import Field, create_model

from handoffs import Contract
from handoffs.contracts import check
from handoffs.fit import fit
from handoffs.shapes import Shape
from handoffs.states import Side


class Line(Contract):
    sku: str
    amount: int


class LineWithNote(Contract):
    sku: str
    amount: int
    note: str | None


class Cat(Contract):
    kind: Literal["cat"]


class Dog(Contract):
    kind: Literal["dog"]


class Loose(Contract, unknown="count"):
    sku: str


class Anything(Contract, unknown="count"):
    pass


class Tree(Contract):
    name: str
    branches: list[Tree]


class NarrowTree(Contract):
    name: Annotated[str, Field(max_length=3)]
    branches: list[NarrowTree]


Json = dict[str, Any]
Pet = Annotated[Cat | Dog, Field(discriminator="kind")]
A_LINE = {"sku": "a", "amount": 1}


def with_field(annotation, **config):
    return create_model("Body", __base__=Contract, field=annotation, **config)


def codes(given, needed):
    return [(gap.level, gap.code, gap.pointer) for gap in fit(Shape.of(given), Shape.of(needed))]


def takes(contract, body):
    return check(contract, json.dumps(body), side=Side.RECEIVES).value is not None


FITS = [
    (str, str, "x"),
    (str, str | None, "x"),
    (str | None, str | None, None),
    (int, float, 3),
    (int, Decimal, 3),
    (Decimal, Decimal, "1.10"),
    (int, Annotated[Decimal, Field(decimal_places=2)], 12),
    (Annotated[Decimal, Field(max_digits=5)], Annotated[Decimal, Field(max_digits=6)], "123.45"),
    (Decimal, float | str, "1.10"),
    (date, str, "2026-11-30"),
    (date, date, "2026-11-30"),
    (Literal["a"], Literal["b", "a"], "a"),
    (Literal["a", "b"], str, "a"),
    (Literal["ab"], Annotated[str, Field(min_length=2, pattern="^a")], "ab"),
    (Literal[1, 2], Annotated[int, Field(ge=1, lt=3)], 2),
    (Literal["a", 1], str | int, 1),
    (Literal["é"], Annotated[str, Field(pattern=r"^\p{L}$")], "é"),
    (Literal["a", None], Literal["a", "b", None], None),
    (Annotated[int, Field(gt=0)], Annotated[int, Field(ge=1)], 1),
    (Annotated[int, Field(lt=10)], Annotated[int, Field(le=9)], 9),
    (Annotated[float, Field(gt=0)], Annotated[float, Field(ge=0)], 0.5),
    (Annotated[int, Field(multiple_of=6)], Annotated[int, Field(multiple_of=3)], 6),
    (Annotated[str, Field(max_length=3)], Annotated[str, Field(min_length=0, max_length=4)], "abc"),
    (Annotated[str, Field(pattern="^a")], Annotated[str, Field(pattern="^a")], "a"),
    (Line, Line, A_LINE),
    (Line | None, Line | None, None),
    (list[Line], list[Line], [A_LINE]),
    (Annotated[list[int], Field(min_length=2)], Annotated[list[int], Field(min_length=1)], [1, 2]),
    (list[Line | None], list[Line | None], [None]),
    (tuple[int, str], tuple[int, str], [1, "a"]),
    (dict[str, int], dict[str, float], {"a": 1}),
    (Line, dict[str, int | str], A_LINE),
    (Line, Loose, A_LINE),
    (Pet, Pet, {"kind": "cat"}),
    (Cat, Pet, {"kind": "cat"}),
    (Tree, Tree, {"name": "a", "branches": []}),
    (str, Any, "x"),
    (Any, Any, [None]),
]


@pytest.mark.parametrize(("given", "needed", "body"), FITS)
def test_what_fits_has_no_findings(given, needed, body):
    producer, consumer = with_field(given), with_field(needed)
    assert codes(producer, consumer) == []
    assert takes(producer, {"field": body})
    assert takes(consumer, {"field": body})


WARNINGS = [
    (str | None, str, "not_guaranteed", "/field", None),
    (Literal["a", None], Literal["a"], "not_guaranteed", "/field", None),
    (Line | None, Line, "not_guaranteed", "/field", None),
    (list[str | None], list[str], "not_guaranteed", "/field/*", [None]),
    (Anything, Line, "not_guaranteed", "/field/sku", {}),
    (dict[str, str], Line, "not_guaranteed", "/field/sku", {}),
    (float, int, "type_not_guaranteed", "/field", 1.5),
    (str | int, str, "type_not_guaranteed", "/field", 1),
    (Decimal, float, "type_not_guaranteed", "/field", "1.1"),
    (str, date, "type_not_guaranteed", "/field", "soon"),
    (str, UUID, "type_not_guaranteed", "/field", "one"),
    (str, Decimal, "type_not_guaranteed", "/field", "twelve"),
    (Literal["a", "2026-11-30"], date, "type_not_guaranteed", "/field", "a"),
    (str | None, date | None, "type_not_guaranteed", "/field", "soon"),
    (Any, str, "type_not_guaranteed", "/field", 1),
    (list[Any], list[str], "type_not_guaranteed", "/field/*", [1]),
    (Pet, Cat, "type_not_guaranteed", "/field/kind", {"kind": "dog"}),
    (dict[str, int | str], dict[str, int], "type_not_guaranteed", "/field/*", {"a": "x"}),
    (str, Literal["a"], "values_not_guaranteed", "/field", "b"),
    (Literal["a", "b"], Literal["a"], "values_not_guaranteed", "/field", "b"),
    (Literal[1, 5], Annotated[int, Field(le=3)], "values_not_guaranteed", "/field", 5),
    (Literal["a", "abc"], Annotated[str, Field(max_length=2)], "values_not_guaranteed", "/field", "abc"),
    (Literal["a", "b"], Annotated[str, Field(pattern="^a")], "values_not_guaranteed", "/field", "b"),
    (int, Annotated[int, Field(ge=0)], "limits_not_guaranteed", "/field", -1),
    (Annotated[int, Field(ge=0)], Annotated[int, Field(gt=0)], "limits_not_guaranteed", "/field", 0),
    (Annotated[float, Field(le=10)], Annotated[float, Field(lt=10)], "limits_not_guaranteed", "/field", 10),
    (Annotated[int, Field(le=11)], Annotated[int, Field(le=10)], "limits_not_guaranteed", "/field", 11),
    (int, Annotated[int, Field(multiple_of=5)], "limits_not_guaranteed", "/field", 3),
    (str, Annotated[str, Field(min_length=1)], "limits_not_guaranteed", "/field", ""),
    (str, Annotated[str, Field(max_length=2)], "limits_not_guaranteed", "/field", "abc"),
    (str, Annotated[str, Field(pattern="^a")], "limits_not_guaranteed", "/field", "b"),
    (list[int], Annotated[list[int], Field(min_length=1)], "limits_not_guaranteed", "/field", []),
    (
        dict[str, int],
        Annotated[dict[str, int], Field(max_length=1)],
        "limits_not_guaranteed",
        "/field",
        {"a": 1, "b": 2},
    ),
    (Decimal, Annotated[Decimal, Field(ge=0)], "limits_not_guaranteed", "/field", -1),
    (Decimal, Annotated[Decimal, Field(decimal_places=2)], "limits_not_guaranteed", "/field", "1.234"),
    (int, Annotated[Decimal, Field(max_digits=3)], "limits_not_guaranteed", "/field", 12345),
    (Tree, NarrowTree, "limits_not_guaranteed", "/field/name", {"name": "abcd", "branches": []}),
    (Loose, Line, "unknown_may_come", "/field", {"sku": "a", "amount": 1, "new": 2}),
]


@pytest.mark.parametrize(("given", "needed", "code", "pointer", "witness"), WARNINGS)
def test_what_may_not_fit_is_a_warning(given, needed, code, pointer, witness):
    producer, consumer = with_field(given), with_field(needed)
    assert ("warning", code, pointer) in codes(producer, consumer)
    assert takes(producer, {"field": witness})
    assert not takes(consumer, {"field": witness})


ERRORS = [
    (str, int, "incompatible_type", "/field", "1"),
    (bool, int, "incompatible_type", "/field", True),
    (int, bool, "incompatible_type", "/field", 1),
    (date, datetime, "incompatible_type", "/field", "2026-11-30"),
    (datetime, date, "incompatible_type", "/field", "2026-11-30T10:00:00"),
    (Decimal, date, "incompatible_type", "/field", "1.1"),
    (time, date, "incompatible_type", "/field", "10:00:00"),
    (str, Line, "incompatible_type", "/field", "x"),
    (list[str], str, "incompatible_type", "/field", ["x"]),
    (list[str], list[int], "incompatible_type", "/field/*", ["x"]),
    (tuple[int, str], tuple[int, int], "incompatible_type", "/field/1", [1, "x"]),
    (str | None, int | None, "incompatible_type", "/field", "x"),
    (None, str, "incompatible_type", "/field", None),
    (Literal["a"], Literal["b"], "incompatible_values", "/field", "a"),
    (Literal["a"], Annotated[str, Field(min_length=2)], "incompatible_values", "/field", "a"),
    (Literal[True], Literal[1], "incompatible_type", "/field", True),
    (Cat, Dog, "incompatible_values", "/field/kind", {"kind": "cat"}),
    (Annotated[int, Field(ge=10)], Annotated[int, Field(lt=10)], "incompatible_values", "/field", 10),
    (Annotated[int, Field(le=-1)], Annotated[int, Field(ge=0)], "incompatible_values", "/field", -1),
    (Annotated[str, Field(max_length=2)], Annotated[str, Field(min_length=3)], "incompatible_values", "/field", "ab"),
    (Cat, Line, "never_written", "/field/sku", {"kind": "cat"}),
    (Line | None, LineWithNote | None, "never_written", "/field/note", A_LINE),
    (list[Line], list[LineWithNote], "never_written", "/field/*/note", [A_LINE]),
    (LineWithNote, Line, "unknown_field", "/field/note", {**A_LINE, "note": "x"}),
]


@pytest.mark.parametrize(("given", "needed", "code", "pointer", "witness"), ERRORS)
def test_what_cannot_fit_is_an_error(given, needed, code, pointer, witness):
    producer, consumer = with_field(given), with_field(needed)
    assert ("error", code, pointer) in codes(producer, consumer)
    assert takes(producer, {"field": witness})
    assert not takes(consumer, {"field": witness})


TYPES = [given for given, *_ in FITS + WARNINGS + ERRORS] + [needed for _, needed, *_ in FITS + WARNINGS + ERRORS]
VALUES = [row[-1] for row in FITS + WARNINGS + ERRORS] + ["", "12", 0, -1, 1.5, 12, False, [], ["a", "b"], {}, "é" * 9]


def is_hollow(value):
    """Nothing, or a list or object of nothing: it says nothing about the types inside."""
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return value is None or (isinstance(value, list | dict) and all(map(is_hollow, inside)))


def test_the_reading_is_true_for_every_pair_of_types():
    """Where nothing is found, nothing is refused; where an error is found, everything with content is."""
    contracts = {repr(annotation): with_field(annotation) for annotation in TYPES}
    shapes = {name: Shape.of(contract) for name, contract in contracts.items()}
    taken = {
        name: {at for at, value in enumerate(VALUES) if takes(contract, {"field": value})}
        for name, contract in contracts.items()
    }
    for given in contracts:
        for needed in contracts:
            gaps = fit(shapes[given], shapes[needed])
            refused = [VALUES[at] for at in taken[given] - taken[needed]]
            assert gaps or not refused, (given, needed, refused)
            # What an open producer does not declare counts as never written, though it may come.
            if any(gap.level == "error" for gap in gaps) and given != repr(Loose):
                both = [VALUES[at] for at in taken[given] & taken[needed]]
                assert all(map(is_hollow, both)), (given, needed, gaps, both)


def test_a_field_that_may_be_left_out_is_not_guaranteed():
    producer = create_model("Body", __base__=Contract, field=(str, "x"))
    assert codes(producer, with_field(str)) == [("warning", "not_guaranteed", "/field")]
    assert codes(producer, producer) == []
    assert takes(producer, {})
    assert not takes(with_field(str), {})


def test_a_pointer_is_escaped():
    producer = create_model("Body", __base__=Contract, field=(str, Field(alias="a/b~c")))
    assert codes(producer, create_model("Body", __base__=Contract)) == [("error", "unknown_field", "/a~1b~0c")]


def test_a_limit_is_spoken_as_a_person_would():
    pairs = [
        (int, Annotated[int, Field(ge=-3, lt=4)]),
        (float, Annotated[float, Field(gt=0.5)]),
        (Decimal, Annotated[Decimal, Field(decimal_places=2)]),
        (str, Annotated[str, Field(min_length=1, max_length=2)]),
    ]
    gaps = [gap for given, need in pairs for gap in fit(Shape.of(with_field(given)), Shape.of(with_field(need)))]
    sentences = [gap.sentence for gap in gaps]
    assert sentences == [
        "Not guaranteed: it has to be at least -3.",
        "Not guaranteed: it has to be at most 3.",
        "Not guaranteed: it has to be more than 0.5.",
        "Not guaranteed: it has to have at most 2 decimal places.",
        "Not guaranteed: it has to have at least 1 character.",
        "Not guaranteed: it has to have at most 2 characters.",
    ]
