"""Reads UBL 2.1 invoices and credit notes: what stands where, how sure that is, and where it was seen.

Nothing is guessed and nothing repaired. A number or a date that is none (such as 1.234,56) is handed over as the text
that stands there, so that the contract refuses it by name and a person sees it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from typing import Any, Final

from lxml import etree

from examples.invoices.contracts import MAX_LINES
from examples.invoices.places import KNOWN, NAMESPACES, ONCE, PLACES, ROOTS, SUMMED, TORN, TOTALS
from handoffs.flows import PermanentError

_MAX_TEXT: Final = 1_000  # characters of one value; every contract refuses less
_MAX_UNKNOWN, _MAX_UNKNOWN_TEXT = 20, 200

_DECIMAL = re.compile(r"[+-]?(?:[0-9]{1,40}(?:\.[0-9]{0,40})?|\.[0-9]{1,40})")
_DATE = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})(?:Z|[+-][0-9]{2}:[0-9]{2})?")  # XML's dates may name a time zone
_BOOLEANS: Final = {"true": True, "1": True, "false": False, "0": False}


@dataclass(slots=True)
class Reading:
    """What was found: `fields` for a `Draft`, and per JSON pointer the confidence (0..1) and the XPath of its place."""

    fields: dict[str, Any] = field(default_factory=dict)
    confidence: dict[str, float] = field(default_factory=dict)
    places: dict[str, str] = field(default_factory=dict)


def read(root: etree._Element) -> Reading:
    """Read one document.

    Raises:
        PermanentError: `wrong_root` (neither an Invoice nor a CreditNote of UBL 2) or `too_many_lines`.
    """
    tag = str(root.tag)
    if tag not in ROOTS:
        sentence = f"The root element is {tag[:200]}, not a UBL Invoice or CreditNote."
        raise PermanentError(sentence, code="wrong_root")
    reading = Reading(fields={"kind": ROOTS[tag]})
    for name in PLACES:
        _read_field(root, name, reading)
    _read_lines(root, reading)
    reading.fields["adjustments"] = _adjustments(root)
    _read_totals(root, reading)
    # Sums over two currencies mean nothing, so such a document is one to look at.
    if {currency for path in SUMMED for currency in _texts(root, path)} - {reading.fields["currency"]}:
        reading.confidence["/currency"] = TORN
    reading.fields |= _partners_own(root)
    return reading


def _read_field(root: etree._Element, name: str, reading: Reading) -> None:
    reading.fields[name] = None
    for path, confidence in PLACES[name]:
        values = list(dict.fromkeys(_texts(root, path)))
        if values:
            torn = len(values) > 1 and path.startswith(ONCE)
            reading.fields[name] = _converter(name)(values[0])
            reading.confidence[f"/{name}"] = TORN if torn else confidence
            reading.places[f"/{name}"] = _absolute(root, path)
            return


def _converter(name: str) -> Callable[[str], object]:
    if name in {"total", "payable"}:
        return _amount
    return _date if name.endswith("_date") else str


def _read_lines(root: etree._Element, reading: Reading) -> None:
    tag = "cac:InvoiceLine" if reading.fields["kind"] == "invoice" else "cac:CreditNoteLine"
    lines = _find(root, tag)
    if len(lines) > MAX_LINES:
        sentence = f"The document has {len(lines):,} lines; {MAX_LINES:,} are taken at most."
        raise PermanentError(sentence, code="too_many_lines")
    reading.fields["lines"] = [_line(each) for each in lines]
    reading.places |= {f"/lines/{place}": _absolute(root, f"{tag}[{place + 1}]") for place in range(len(lines))}


def _line(element: etree._Element) -> dict[str, object]:
    category, rate = _tax(element, "cac:Item/cac:ClassifiedTaxCategory")
    quantity = _amount_at(element, "cbc:InvoicedQuantity")
    return {
        "number": _text(element, "cbc:ID"),
        "quantity": _amount_at(element, "cbc:CreditedQuantity") if quantity is None else quantity,
        "price": _amount_at(element, "cac:Price/cbc:PriceAmount"),
        "base_quantity": _amount_at(element, "cac:Price/cbc:BaseQuantity"),
        "adjustments": _adjustments(element),
        "net": _amount_at(element, "cbc:LineExtensionAmount"),
        "tax_category": category,
        "tax_rate": rate,
    }


def _adjustments(element: etree._Element) -> list[dict[str, object]]:
    return [_adjustment(each) for each in _find(element, "cac:AllowanceCharge")]


def _adjustment(element: etree._Element) -> dict[str, object]:
    category, rate = _tax(element, "cac:TaxCategory")
    indicator = _text(element, "cbc:ChargeIndicator")
    return {
        "is_charge": _BOOLEANS.get(indicator or "", indicator),
        "amount": _amount_at(element, "cbc:Amount"),
        "tax_category": category,
        "tax_rate": rate,
    }


def _tax(element: etree._Element, path: str) -> tuple[str | None, object]:
    """Give category and rate; nothing where there are several, since nobody can say which part is taxed how."""
    found = _find(element, path)
    return (_text(found[0], "cbc:ID"), _amount_at(found[0], "cbc:Percent")) if len(found) == 1 else (None, None)


def _read_totals(root: etree._Element, reading: Reading) -> None:
    totals = {name: _amount_at(root, path) for name, path in TOTALS.items()}
    seen = [name for name in totals if totals[name] is not None]
    reading.places |= {f"/totals/{name}": _absolute(root, TOTALS[name]) for name in seen}
    reading.fields["totals"] = totals | {"tax": _read_taxes(root, reading)}


def _read_taxes(root: etree._Element, reading: Reading) -> object:
    """Read the tax totals in the document's currency: another may repeat the tax in the currency of the accounts."""
    currency = reading.fields["currency"]
    path = "cac:TaxTotal"
    found = [each for each in _find(root, path) if _text(each, "cbc:TaxAmount/@currencyID") in {None, currency}]
    counted = [each for each in found if _find(each, "cac:TaxSubtotal")] or found[:1]
    amounts = [amount for each in counted if (amount := _amount_at(each, "cbc:TaxAmount")) is not None]
    shares = [_tax_share(share) for each in counted for share in _find(each, "cac:TaxSubtotal")]
    reading.fields["tax_shares"] = shares
    if amounts:
        reading.places["/totals/tax"] = _absolute(root, f"{path}/cbc:TaxAmount")
    subtotals = f"({_absolute(root, path)}/cac:TaxSubtotal)"
    reading.places |= {f"/tax_shares/{place}": f"{subtotals}[{place + 1}]" for place in range(len(shares))}
    return _added(amounts)


def _added(amounts: list[object]) -> object:
    numbers = [amount for amount in amounts if isinstance(amount, Decimal)]
    if len(numbers) < len(amounts):
        return next(amount for amount in amounts if not isinstance(amount, Decimal))  # what the contract will refuse
    return sum(numbers[1:], numbers[0]) if numbers else None


def _tax_share(element: etree._Element) -> dict[str, object]:
    category, rate = _tax(element, "cac:TaxCategory")
    return {
        "category": category,
        "rate": _amount_at(element, "cbc:Percent") if rate is None else rate,  # where UBL 2.0 had it
        "taxable": _amount_at(element, "cbc:TaxableAmount"),
        "tax": _amount_at(element, "cbc:TaxAmount"),
    }


def _partners_own(root: etree._Element) -> dict[str, str]:
    """Give the root elements that UBL does not have, under the names they were sent with, their text cut."""
    own: dict[str, str] = {}
    for element in root.iterchildren(tag=etree.Element):
        name = etree.QName(element)
        if name.namespace in NAMESPACES.values() and name.localname in KNOWN:
            continue
        if len(own) < _MAX_UNKNOWN:
            key = f"{element.prefix or etree.QName(root).localname}:{name.localname}"[:100]
            own[key] = " ".join("".join(element.itertext()).split())[:_MAX_UNKNOWN_TEXT]
    return own


def _find(element: etree._Element, path: str) -> list[etree._Element]:
    return element.findall(path, NAMESPACES)


def _texts(element: etree._Element, path: str) -> list[str]:
    """List what stands at an XPath, elements' text or attributes, blanks folded, empty ones left out."""
    found = element.xpath(path, namespaces=NAMESPACES)
    contents = [_content(each) for each in found] if isinstance(found, list) else []
    return [text for content in contents if (text := " ".join(content.split())[:_MAX_TEXT])]


def _content(found: object) -> str:
    return "".join(found.itertext()) if isinstance(found, etree._Element) else str(found)


def _text(element: etree._Element, path: str) -> str | None:
    return next(iter(_texts(element, path)), None)


def _amount_at(element: etree._Element, path: str) -> object:
    text = _text(element, path)
    return None if text is None else _amount(text)


def _amount(text: str) -> Decimal | str:
    return Decimal(text) if _DECIMAL.fullmatch(text) else text


def _date(text: str) -> date | str:
    found = _DATE.fullmatch(text)
    try:
        return date.fromisoformat(found[1]) if found else text
    except ValueError:
        return text


def _absolute(root: etree._Element, path: str) -> str:
    return f"/{etree.QName(root).localname}/{path}"
