"""What the steps of the flow `invoices` hand over.

Amounts are exact decimals and travel as text, in the document's currency and with the document's sign: a credit note's
amounts are positive where it gives money back. Dates are calendar dates.
"""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Annotated, Literal

from pydantic import AwareDatetime, Field

from examples.invoices import arithmetic
from handoffs import Carried, Contract, invariant

MAX_BYTES = 5_000_000
MAX_LINES = 5_000  # more would not fit into a body that the gate takes

Short = Annotated[str, Field(min_length=1, max_length=100)]
Name = Annotated[str, Field(min_length=1, max_length=300)]
Amount = Annotated[Decimal, Field(max_digits=24, decimal_places=10)]
Positive = Annotated[Decimal, Field(gt=0, max_digits=24, decimal_places=10)]
Rate = Annotated[Decimal, Field(ge=0, le=100, max_digits=9, decimal_places=6)]
DocumentKind = Literal["invoice", "credit_note"]
# The currencies that the ledger keeps; `arithmetic.MINOR_UNITS` knows their decimals.
Currency = Literal[
    "AUD", "BGN", "BHD", "BRL", "CAD", "CHF", "CLP", "CNY", "CZK", "DKK", "EUR", "GBP", "HKD", "HUF", "ILS", "INR",
    "ISK", "JOD", "JPY", "KRW", "KWD", "MXN", "NOK", "NZD", "PLN", "RON", "RSD", "SEK", "SGD", "TND", "TRY", "UAH",
    "USD", "VND", "ZAR",
]  # fmt: skip


class Document(Contract):
    """The intake: one file, which travels beside it as the attachment `file_name`. `size` is in bytes."""

    file_name: Annotated[str, Field(min_length=1, max_length=255)]
    media_type: Literal["application/xml", "text/xml"]
    size: Annotated[int, Field(ge=1, le=MAX_BYTES)]
    digest: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class Adjustment(Contract):
    """An allowance (taken off) or a charge (put on), on a line or on the whole document."""

    is_charge: bool
    amount: Amount
    tax_category: Short | None
    tax_rate: Rate | None


class Line(Contract):
    """One line. `price` is for `base_quantity` units (1 where the document says nothing); rates are percentages."""

    number: Short | None
    quantity: Amount | None
    price: Amount | None
    base_quantity: Positive | None
    adjustments: list[Adjustment]
    net: Amount
    tax_category: Short | None
    tax_rate: Rate | None


class TaxShare(Contract):
    """What is taxed at one rate of one category, and the tax on it."""

    category: Short | None
    rate: Rate | None
    taxable: Amount
    tax: Amount


class Totals(Contract):
    """The sums that the document states itself, each null where it leaves one out."""

    lines: Amount | None
    allowances: Amount | None
    charges: Amount | None
    without_tax: Amount | None
    tax: Amount | None
    prepaid: Amount | None
    rounding: Amount | None


class Draft(Contract, unknown="count"):
    """What extract found in the document; null is what it did not find.

    `total` is with tax, `payable` what is still due. A root element that UBL does not have comes along under its own
    name and is counted: a partner's new field is seen the hour it begins, and stops nothing.
    """

    kind: Annotated[DocumentKind, Carried()]
    supplier: Annotated[Name | None, Carried()]
    supplier_id: Annotated[Short | None, Carried()]
    invoice_number: Annotated[Short | None, Carried()]
    issue_date: Annotated[date | None, Carried()]
    due_date: date | None
    purchase_order: Short | None
    buyer_reference: Name | None
    currency: Annotated[Short | None, Carried()]
    total: Annotated[Amount | None, Carried()]
    payable: Annotated[Amount | None, Carried()]
    totals: Totals
    tax_shares: list[TaxShare]
    adjustments: list[Adjustment]
    lines: Annotated[list[Line], Field(max_length=MAX_LINES)]


class CheckInput(Draft, unknown="count"):
    """What the check can't work without.

    EN 16931 wants a seller identifier (its rule BR-CO-26), and a duplicate is only found by one. An order reference is
    not asked for: the standard does not need it, and many good invoices have none.
    """

    supplier: Annotated[Name, Carried()]
    supplier_id: Annotated[Short, Carried()]
    invoice_number: Annotated[Short, Carried()]
    issue_date: Annotated[date, Carried()]
    currency: Annotated[Currency, Carried()]
    total: Annotated[Amount, Carried()]
    payable: Annotated[Amount, Carried()]
    lines: Annotated[list[Line], Field(min_length=1, max_length=MAX_LINES)]

    @invariant("Lines, allowances, charges, taxes and totals add up.", at="/total")
    def totals_add_up(self) -> bool | str:
        broken = arithmetic.broken_sums(self)
        return not broken or arithmetic.said(broken)

    @invariant("An invoice is due on or after the day of issue.", at="/due_date")
    def due_after_issue(self) -> bool:
        return self.due_date is None or self.due_date >= self.issue_date

    @invariant("An invoice does not ask for less than nothing: what gives money back is a credit note.", at="/total")
    def positive_unless_credit_note(self) -> bool:
        return self.kind == "credit_note" or self.total >= 0


class Finding(Contract):
    """Something that breaks no sum but should be seen before money moves."""

    code: Short
    sentence: Annotated[str, Field(min_length=1, max_length=500)]


class Facts(Contract):
    """What no step may change once check has held it together."""

    kind: Annotated[DocumentKind, Carried()]
    supplier: Annotated[Name, Carried()]
    supplier_id: Annotated[Short, Carried()]
    invoice_number: Annotated[Short, Carried()]
    issue_date: Annotated[date, Carried()]
    currency: Annotated[Currency, Carried()]
    total: Annotated[Amount, Carried()]
    payable: Annotated[Amount, Carried()]
    findings: Annotated[list[Finding], Carried()]


class Checked(Facts):
    """Its sums hold and its number is new for its supplier. Short, since an approver gets it as a form."""

    due_date: date | None
    purchase_order: Short | None


class Approval(Checked):
    """A person agreed to pay. Who does not agree closes the record, with a reason."""

    cost_centre: Annotated[str, Field(min_length=2, max_length=20)]


class ToPost(Checked):
    """Either of the two: small amounts come straight from check, with no cost centre. `draft` is what extract found."""

    cost_centre: Annotated[str, Field(min_length=2, max_length=20)] | None = None
    draft: Draft


class Posted(Facts):
    """The ledger has it, once, under `ledger_key`."""

    ledger_key: Short
    posted_at: AwareDatetime
