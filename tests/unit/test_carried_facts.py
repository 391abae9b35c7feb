from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Annotated

import pytest

from handoffs.carried import check_carried
from handoffs.contracts import Carried, Contract, schema
from handoffs.states import Side
from tests.unit.judging import one


class Line(Contract):
    sku: Annotated[str, Carried()]
    price: Decimal


class Seller(Contract):
    vat_id: Annotated[str, Carried()]
    note: str = ""


class Before(Contract):
    number: Annotated[str, Carried()]
    total: Annotated[Decimal, Carried()]
    at: Annotated[datetime, Carried()] | None = None
    seller: Seller | None = None
    lines: list[Line] = []
    remark: str = ""
    dropped: Annotated[str, Carried()] = ""


class After(Contract):
    number: str
    total: Decimal
    at: datetime | None = None
    seller: Seller | None = None
    lines: list[Line] = []
    remark: Annotated[str, Carried()] = ""
    added: Annotated[str, Carried()] = ""


@pytest.mark.parametrize(
    ("given_", "output", "found"),
    [
        ({"number": "7", "total": "1.10"}, {"number": "7", "total": "1.10"}, []),
        ({"total": "1.10"}, {"total": 1.1}, []),
        ({"total": "1E+2"}, {"total": "100"}, []),
        ({"total": "1.10"}, {"total": "1.11"}, ["/total"]),
        ({"number": "1.10"}, {"number": "1.1"}, ["/number"]),
        ({"number": "7"}, {}, ["/number"]),
        ({"number": "7"}, {"number": None}, ["/number"]),
        ({"number": "7"}, {"number": 7}, ["/number"]),
        ({}, {"number": "7"}, []),
        ({"at": "2026-01-01T10:00:00Z"}, {"at": "2026-01-01T11:00:00+01:00"}, []),
        ({"at": "2026-01-01T10:00:00Z"}, {"at": "2026-01-01T10:00:00"}, ["/at"]),
        ({"at": "2026-01-01T10:00:00Z"}, {"at": None}, ["/at"]),
        ({"at": None}, {}, []),
        ({"seller": {"vat_id": "X", "note": "a"}}, {"seller": {"vat_id": "X", "note": "b"}}, []),
        ({"seller": {"vat_id": "X"}}, {"seller": {"vat_id": "Y"}}, ["/seller/vat_id"]),
        ({"seller": {"vat_id": "X"}}, {"seller": None}, ["/seller/vat_id"]),
        ({"lines": [{"sku": "a"}, {"sku": "b"}]}, {"lines": [{"sku": "a"}, {"sku": "c"}]}, ["/lines/1/sku"]),
        ({"lines": [{"sku": "a"}, {"sku": "b"}]}, {"lines": [{"sku": "a"}]}, ["/lines/1/sku"]),
        ({"lines": [{"sku": "a"}]}, {}, ["/lines/0/sku"]),
        ({"remark": "a"}, {"remark": "b"}, ["/remark"]),
        ({"dropped": "a"}, {"added": "b"}, []),
        ([], {}, []),
        ({"total": "1.10"}, None, ["/total"]),
    ],
)
def test_carried_facts_stay_as_they_are(given_: object, output: object, found: list[str]):
    violations = check_carried(Before, given_, After, output)
    assert [violation.pointer for violation in violations] == found
    assert {(violation.side, violation.rule) for violation in violations} <= {(Side.RETURNS, "carried_changed")}


def test_a_changed_fact_is_shown_before_and_after():
    [violation] = check_carried(Before, {"number": "7"}, After, {"number": "8"})
    assert (violation.expected, violation.received) == ('"7"', '"8"')
    assert violation.sentence == 'This fact must be handed on unchanged: it was "7" and became "8".'


def test_a_mark_without_parentheses_is_a_mark():
    contract = one(Annotated[str, Carried])
    assert check_carried(contract, {"v": "a"}, contract, {"v": "b"})
    assert schema(contract)["properties"]["v"]["x-carried"] is True
