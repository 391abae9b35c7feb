"""The work that is compared: an invoice of 0.9 KB through three steps, with a contract at every seam.

Every twentieth record loses its total on the way out of `extract`, as if upstream had stopped sending it; `validate`
must refuse it. `payload(i)` makes the record number `i`, the same for every product that is measured.
"""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Annotated, Any

from pydantic import Field

from handoffs import Contract, Flow, Result, Step
from handoffs.flows import StepContext

BROKEN_EVERY, BROKEN_AT = 20, 7
BAR, SURE = 0.85, 0.97


def is_broken(number: int) -> bool:
    return number % BROKEN_EVERY == BROKEN_AT


def payload(number: int) -> dict[str, Any]:
    """The record `number` as upstream sends it."""
    lines = [
        {
            "sku": f"SKU-{number:06d}-{k}",
            "description": f"Consulting and maintenance services, item {k + 1}, as agreed in framework",
            "quantity": k + 1,
            "unit_price": f"{10 * (k + 1) + number % 7}.25",
        }
        for k in range(5)
    ]
    total = sum((Decimal(str(line["unit_price"])) * int(str(line["quantity"])) for line in lines), Decimal(0))
    return {
        "record_id": number,
        "vendor": f"Vendor {number % 97} GmbH",
        "invoice_no": f"INV-2026-{number:07d}",
        "date": f"2026-11-{1 + number % 28:02d}",
        "currency": "EUR",
        "lines": lines,
        "total": str(total),
        "broken": is_broken(number),
    }


Name = Annotated[str, Field(min_length=1)]
Currency = Annotated[str, Field(pattern="^[A-Z]{3}$")]


class RawLine(Contract):
    sku: str
    description: str
    quantity: Annotated[int, Field(gt=0)]
    unit_price: Decimal


class Line(RawLine):
    amount: Decimal


class Sent(Contract):
    record_id: int
    vendor: Name
    invoice_no: str
    date: dt.date
    currency: Currency
    lines: list[RawLine]
    total: str
    broken: bool = False


class Extracted(Contract):
    record_id: int
    vendor: str
    invoice_no: str
    date: dt.date
    currency: str
    lines: list[Line]
    total: Decimal | None = None


class Complete(Contract):
    record_id: int
    vendor: Name
    invoice_no: str
    date: dt.date
    currency: Currency
    lines: Annotated[list[Line], Field(min_length=1)]
    total: Decimal


class Validated(Complete):
    checks: dict[str, bool]


class Entry(Contract):
    account: str
    debit: Decimal = Decimal(0)
    credit: Decimal = Decimal(0)
    text: str


class Posted(Contract):
    record_id: int
    voucher: str
    entries: list[Entry]


def extract(given: Sent, context: StepContext) -> Result:
    lines = [Line(**vars(line), amount=line.quantity * line.unit_price) for line in given.lines]
    output = Extracted(
        record_id=given.record_id,
        vendor=given.vendor.strip(),
        invoice_no=given.invoice_no.upper(),
        date=given.date,
        currency=given.currency,
        lines=lines,
        total=None if given.broken else Decimal(given.total),
    )
    return Result(output, confidence=SURE)


def validate(given: Complete, context: StepContext) -> Result:
    checks = {
        "sum_ok": sum(line.amount for line in given.lines) == given.total,
        "lines_ok": len(given.lines) == 5,
    }
    return Result(Validated(**vars(given), checks=checks), confidence=SURE)


def post(given: Validated, context: StepContext) -> Result:
    entries = [Entry(account="4400", debit=line.amount, text=line.description) for line in given.lines]
    entries.append(Entry(account="1600", credit=given.total, text=given.vendor))
    output = Posted(record_id=given.record_id, voucher=f"V-{given.invoice_no}", entries=entries)
    return Result(output, confidence=SURE)


invoice = Flow(
    "bench_invoice",
    intake=Sent,
    escalate_to="malformed",
    title="{vendor} {invoice_no}",
    steps=[
        Step("extract", receives=Sent, returns=Extracted, run=extract, confidence=BAR),
        Step("validate", receives=Complete, returns=Validated, run=validate, confidence=BAR),
        Step("post", receives=Validated, returns=Posted, run=post),
    ],
)
