"""Deleting any one required field, bound or enum of what a step receives is noticed: as red, or as a hole.

Each contract is really declared without the rule, and held against what the last green drill knew, as a drill does.
"""

from __future__ import annotations

import types
from collections.abc import Iterator
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import pytest
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from examples.invoices.contracts import Checked, CheckInput, Document, ToPost
from examples.tickets.contracts import Classified, Ticket, ToReply
from handoffs import Contract
from handoffs.contracts import schema
from handoffs.drill.judging import judge
from handoffs.drill.samples import sample
from handoffs.shapes import Shape

TICKET = {
    "number": "T-1", "sender": "kim@example.com", "subject": "Hours", "text": "When?", "label": "question",
    "urgent": False, "same_person": True,
}  # fmt: skip
CONSUMERS = [Document, CheckInput, Checked, ToPost, Ticket, Classified, ToReply]
ENOUGH = 0.95


def good(contract: type[Contract]) -> Any:
    if contract.__module__.startswith("examples.tickets"):
        return {name: TICKET[name] for name in contract.model_fields}
    return sample(Shape.of(contract))


def relaxed(contract: type[Contract]) -> Iterator[tuple[str, type[Contract]]]:
    """(the rule, the contract without it) for every single rule."""
    for name, field in contract.model_fields.items():
        whole = Annotated[(field.annotation, *field.metadata)] if field.metadata else field.annotation
        if field.is_required():
            yield f"required {name}", declared(contract, name, whole, None)
        default = PydanticUndefined if field.is_required() else field.default
        for rule, annotation in without_one(whole):
            yield f"{name}: {rule}", declared(contract, name, annotation, default)


def declared(contract: type[Contract], name: str, annotation: Any, default: Any) -> type[Contract]:
    members = {"__annotations__": {name: annotation}, "__module__": contract.__module__}
    return type("Relaxed", (contract,), members if default is PydanticUndefined else members | {name: default})


def without_one(annotation: Any) -> Iterator[tuple[str, Any]]:
    """(the rule, the type without it) for every bound and enum of a type, also inside it."""
    origin, args = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        inner, marks = args[0], [mark for given in args[1:] for mark in marks_of(given)]
        for place, mark in enumerate(marks):
            if not type(mark).__name__.startswith("Carried"):
                left = marks[:place] + marks[place + 1 :]
                yield repr(mark), Annotated[(inner, *left)] if left else inner
        yield from ((rule, Annotated[(other, *marks)]) for rule, other in without_one(inner))
    elif origin is Literal:
        yield f"one of {len(args)}", str
    elif origin in {Union, types.UnionType}:
        for place, arg in enumerate(args):
            for rule, other in without_one(arg):
                yield rule, Union[(*args[:place], other, *args[place + 1 :])]
    elif origin is list:
        yield from ((rule, list[other]) for rule, other in without_one(args[0]))
    elif isinstance(annotation, type) and issubclass(annotation, Contract):
        yield from ((f"{annotation.__name__}.{rule}", other) for rule, other in relaxed(annotation))


def marks_of(given: Any) -> list[Any]:
    """A Field(ge=0, le=9) as its single bounds; max_digits and decimal_places stay together in one."""
    if not isinstance(given, FieldInfo):
        return [given]
    return [part for mark in given.metadata for part in split(mark)]


def split(mark: Any) -> list[Any]:
    from pydantic import Field

    said = {key: value for key, value in vars(mark).items() if value is not None} if hasattr(mark, "__dict__") else {}
    if type(mark).__name__ != "PydanticGeneralMetadata" or len(said) < 2:
        return [mark]
    return [part for key, value in said.items() for part in Field(**{key: value}).metadata]


@pytest.mark.parametrize("contract", CONSUMERS, ids=lambda contract: contract.__name__)
def test_a_contract_without_any_one_of_its_rules_has_a_hole(contract):
    before, valid = schema(contract), good(contract)
    assert judge(contract, valid, seed="1", before=before).holes == []
    missed, tried = [], 0
    for rule, without in relaxed(contract):
        tried += 1
        if not judge(without, valid, seed="1", before=before).holes:
            missed.append(rule)
    print(f"{contract.__name__}: {tried - len(missed)} of {tried} noticed; {missed}")
    assert tried > 3
    assert len(missed) <= (1 - ENOUGH) * tried, missed
