"""The contracts of tests/cases/_contracts.json, written as Contract classes."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from handoffs.contracts import Contract


def _in_cents(number: float) -> float:
    if round(Decimal(repr(number)), 2) != Decimal(repr(number)):
        raise ValueError("at most 2 decimal places are allowed")
    return number


class InvoiceLine(Contract):
    description: Annotated[str, Field(max_length=500)]
    quantity: Annotated[float, Field(gt=0)]
    amount: Annotated[float, Field(ge=0)]


class InvoiceExtract(Contract):
    document_id: Annotated[int, Field(ge=1, le=9223372036854775807)]
    invoice_number: Annotated[str, Field(min_length=1, max_length=40)]
    supplier: Annotated[str, Field(min_length=1, max_length=200)]
    issue_date: date
    currency: Literal["EUR", "USD", "GBP", "JPY"]
    total: Annotated[float, Field(ge=0, le=99999999999999.98), AfterValidator(_in_cents)]
    vat_included: bool
    decision: Literal["approve", "reject", "needs_review"]
    lines: Annotated[list[InvoiceLine], Field(min_length=1)]


class Subscription(Contract):
    id: str
    status: Literal["active", "past_due", "canceled"]
    customer: str = ""
    current_period_end: int


class SubscriptionSync(Contract):
    event: str
    subscription: Subscription


class Invoice(Contract, unknown="count"):
    id: str
    amount_due: int = 0
    currency: str = ""


class InvoiceDue(Contract, unknown="count"):
    event: str
    invoice: Invoice


CONTRACTS: dict[str, type[Contract]] = {
    "invoice_extract": InvoiceExtract,
    "subscription_sync": SubscriptionSync,
    "invoice_due": InvoiceDue,
}
