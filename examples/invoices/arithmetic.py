"""Whether a document's sums hold, exactly: EN 16931's rules BR-CO-10 to BR-CO-17 and BR-S-08 with its sisters.

Tolerances, in the currency's smallest unit (0.01 EUR, 1 JPY, 0.001 KWD):

- a sum must be met to less than one unit (lines may carry more decimals than totals);
- the tax at one rate may be off by half a unit for every line and document-level allowance or charge taxed at it (tax
  may have been rounded line by line), and by one unit at least;
- a line may be off its own quantity × price by two units, for a price that was rounded.

A line that is off is no broken sum. The standard has no rule for it (prices and quantities may be rounded, and its own
public examples hold such lines), so it becomes a finding that a person sees, while a broken sum stops the record.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal, localcontext
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the contracts hold themselves against these sums
    from examples.invoices.contracts import Adjustment, Draft, Line, Totals

# Currencies that do not have two decimals (ISO 4217).
MINOR_UNITS = {"CLP": 0, "ISK": 0, "JPY": 0, "KRW": 0, "VND": 0, "BHD": 3, "JOD": 3, "KWD": 3, "TND": 3}
_MAX_NAMED = 3  # differences in one sentence
_PRECISION = 60  # digits: products of the longest amounts that the contracts take stay exact
_ZERO = Decimal(0)

TaxKey = tuple[str, Decimal]


@dataclass(frozen=True, slots=True)
class Difference:
    """Two numbers that should be one: what `what` gives, and what the document states; `rule` as EN 16931 names it."""

    rule: str
    what: str
    computed: Decimal
    stated: Decimal
    currency: str

    @property
    def sentence(self) -> str:
        computed, stated = show(self.computed, self.currency), show(self.stated, self.currency)
        return f"{self.what} gives {computed}, but the document states {stated} ({self.rule})."


def unit(currency: str | None) -> Decimal:
    """Give the smallest amount of a currency, such as 0.01."""
    return Decimal(1).scaleb(-MINOR_UNITS.get(currency or "", 2))


def show(amount: Decimal, currency: str | None) -> str:
    """Write an amount with the decimals its currency has, or up to four more where it has more."""
    smallest = unit(currency)
    with localcontext(prec=_PRECISION):
        rounded, finer = amount.quantize(smallest), amount.quantize(smallest.scaleb(-4))
        shown = rounded if rounded == finer else finer.normalize()
    return f"{shown:f} {currency or ''}".strip()


def broken_sums(draft: Draft) -> list[Difference]:
    """List the sums that do not hold, in the order in which a person would add up. Absent numbers are not judged."""
    smallest = unit(draft.currency)
    with localcontext(prec=_PRECISION):
        sums = [*_totals(draft), *_taxable_amounts(draft)]
        differences = [
            Difference(rule, what, computed, stated, draft.currency or "")
            for rule, what, computed, stated in sums
            if stated is not None and abs(computed - stated) >= smallest
        ]
        return differences + list(_wrong_taxes(draft, smallest))


def said(broken: list[Difference]) -> str:
    """Name the first few differences in words."""
    named = " ".join(difference.sentence for difference in broken[:_MAX_NAMED])
    more = len(broken) - _MAX_NAMED
    return f"{named} And {more} more." if more > 0 else named


def lines_off(draft: Draft) -> list[Difference]:
    """List the lines whose net amount is not quantity × price ÷ base quantity, less allowances, plus charges."""
    differences = []
    with localcontext(prec=_PRECISION):
        for place, line in enumerate(draft.lines, start=1):
            computed = _line_net(line)
            if computed is not None and abs(computed - line.net) > 2 * unit(draft.currency):
                what = f"Line {line.number or place}: quantity × price"
                differences.append(Difference("line amount", what, computed, line.net, draft.currency or ""))
    return differences


def confirms_total(draft: Draft) -> bool:
    """Tell whether the total with tax follows from lines, allowances, charges and taxes."""
    if draft.total is None or not draft.lines:
        return False
    return not broken_sums(draft)


def _line_net(line: Line) -> Decimal | None:
    if line.quantity is None or line.price is None:
        return None
    goods = line.quantity * line.price / (line.base_quantity or 1)
    return goods - _sum(line.adjustments, False) + _sum(line.adjustments, True)


def _sum(adjustments: Iterable[Adjustment], charges: bool) -> Decimal:
    return sum((each.amount for each in adjustments if each.is_charge is charges), _ZERO)


def _totals(draft: Draft) -> Iterator[tuple[str, str, Decimal, Decimal | None]]:
    totals: Totals = draft.totals
    lines = sum((line.net for line in draft.lines), _ZERO)
    allowances, charges = _sum(draft.adjustments, False), _sum(draft.adjustments, True)
    taxes = sum((share.tax for share in draft.tax_shares), _ZERO)
    yield "BR-CO-10", "Adding up the lines", lines, totals.lines
    yield "BR-CO-11", "Adding up the allowances", allowances, totals.allowances
    yield "BR-CO-12", "Adding up the charges", charges, totals.charges
    without_tax = _given(totals.lines, lines) - _given(totals.allowances, allowances) + _given(totals.charges, charges)
    yield "BR-CO-13", "Lines less allowances plus charges", without_tax, totals.without_tax
    if draft.tax_shares:
        yield "BR-CO-14", "Adding up the tax of each rate", taxes, totals.tax
    total = _given(totals.without_tax, without_tax) + _given(totals.tax, taxes)
    yield "BR-CO-15", "The total without tax plus the tax", total, draft.total
    payable = _given(draft.total, total) - _given(totals.prepaid, _ZERO) + _given(totals.rounding, _ZERO)
    yield "BR-CO-16", "The total with tax less what is prepaid plus rounding", payable, draft.payable


def _given(stated: Decimal | None, computed: Decimal) -> Decimal:
    return computed if stated is None else stated


def _taxable_amounts(draft: Draft) -> Iterator[tuple[str, str, Decimal, Decimal | None]]:
    parts = [(_key(line.tax_category, line.tax_rate), line.net) for line in draft.lines]
    for each in draft.adjustments:
        parts.append((_key(each.tax_category, each.tax_rate), each.amount if each.is_charge else -each.amount))
    stated: dict[TaxKey | None, Decimal] = defaultdict(Decimal)
    for share in draft.tax_shares:
        stated[_key(share.category, share.rate)] += share.taxable
    computed: dict[TaxKey | None, Decimal] = defaultdict(Decimal)
    for key, amount in parts:
        computed[key] += amount
    if not stated or None in stated or None in computed:
        return  # no breakdown, or a part of which nobody can say where it belongs
    for key in dict.fromkeys([*stated, *computed]):
        category, rate = key or ("", _ZERO)
        what = f"Adding up what is taxed at {rate.normalize():f} % in category {category}"
        yield f"BR-{category}-08", what, computed[key], stated[key]


def _key(category: str | None, rate: Decimal | None) -> TaxKey | None:
    """Where an amount belongs. Only the standard rate "S" comes in several rates, so the others need none."""
    if category is None or (category == "S" and rate is None):
        return None
    return category, rate or _ZERO


def _wrong_taxes(draft: Draft, smallest: Decimal) -> Iterator[Difference]:
    counts = Counter(_key(line.tax_category, line.tax_rate) for line in draft.lines)
    counts += Counter(_key(each.tax_category, each.tax_rate) for each in draft.adjustments)
    for share in draft.tax_shares:
        if share.rate is None:
            continue
        computed = share.taxable * share.rate / 100
        tolerance = max(smallest, smallest / 2 * counts[_key(share.category, share.rate)])
        if abs(computed - share.tax) > tolerance:
            what = f"{share.rate.normalize():f} % of {show(share.taxable, draft.currency)}"
            yield Difference("BR-CO-17", what, computed, share.tax, draft.currency or "")
