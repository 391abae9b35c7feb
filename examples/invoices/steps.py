"""The code of the steps. Each gets its validated input and a context, and gives its output or raises."""

from __future__ import annotations

import hashlib
from decimal import Decimal

from pydantic import ValidationError

from examples.invoices import arithmetic, ledger, places, safe_xml, ubl
from examples.invoices.contracts import Checked, CheckInput, Document, Draft, Facts, Finding, Posted, ToPost
from examples.invoices.models import LedgerEntry
from handoffs.flows import PermanentError, Result, StepContext

# An amount with tax above which a person approves, in units of the document's currency: about 10,000 EUR.
APPROVAL_LIMIT = Decimal(10_000)
APPROVAL_LIMITS = {
    currency: Decimal(limit)
    for currency, limit in {
        "BHD": 4_000, "BRL": 60_000, "CLP": 10_000_000, "CNY": 80_000, "CZK": 250_000, "DKK": 75_000, "HKD": 85_000,
        "HUF": 4_000_000, "INR": 900_000, "ISK": 1_500_000, "JOD": 7_500, "JPY": 1_600_000, "KRW": 15_000_000,
        "KWD": 3_300, "MXN": 200_000, "NOK": 115_000, "PLN": 43_000, "RON": 50_000, "RSD": 1_170_000, "SEK": 110_000,
        "TND": 34_000, "TRY": 400_000, "UAH": 450_000, "VND": 270_000_000, "ZAR": 190_000,
    }.items()
}  # fmt: skip
POST = "post"
_MAX_FINDINGS = 20


def extract(document: Document, context: StepContext) -> Result:
    """Read the attached file. What is no number or date goes out as it stands, for the contract to refuse.

    Raises:
        PermanentError: the file is missing, is another one than was announced, or can't be read (`safe_xml`, `ubl`).
    """
    reading = ubl.read(safe_xml.parse(_attached(document, context)))
    draft, is_sound = _draft(reading)
    confidence = dict(reading.confidence)
    if is_sound and arithmetic.confirms_total(draft):
        confidence |= {pointer: places.SURE for pointer in ("/total", "/payable") if pointer in confidence}
    return Result(
        draft,
        confidence=min(confidence.values(), default=0.0),
        field_confidence=confidence,
        evidence={
            pointer: {"attachment": document.file_name, "quote": xpath} for pointer, xpath in reading.places.items()
        },
    )


def _draft(reading: ubl.Reading) -> tuple[Draft, bool]:
    try:
        return Draft.model_validate(reading.fields), True
    except ValidationError:
        # Handed over as found: the seam says what is wrong with it.
        return Draft.model_construct(**reading.fields), False


def _attached(document: Document, context: StepContext) -> bytes:
    found = next((each for each in context.attachments if each.name == document.file_name), None)
    if found is None:
        raise PermanentError(f"No file named {document.file_name} is attached.", code="no_attachment")
    if found.size > safe_xml.MAX_BYTES:
        sentence = f"The file has {found.size:,} bytes; {safe_xml.MAX_BYTES:,} are taken at most."
        raise PermanentError(sentence, code="too_large")
    raw = found.read()
    if hashlib.sha256(raw).hexdigest() != document.digest:
        raise PermanentError("The attached file is not the one that was announced.", code="other_attachment")
    return raw


def check(draft: CheckInput, context: StepContext) -> Result:
    """Hold the number against the ledger, and look for what should be seen. That the sums hold, its input says.

    Raises:
        PermanentError: `duplicate_number`.
        TransientError: the ledger can't be read.
    """
    ledger.refuse_duplicate(
        kind=draft.kind,
        supplier_id=draft.supplier_id,
        invoice_number=draft.invoice_number,
        own_key=f"{context.record_id}:{POST}",
    )
    found = findings(draft)
    facts = {name: getattr(draft, name) for name in Checked.model_fields if name != "findings"}
    return Result(Checked(**facts, findings=found), confidence=places.UNSURE if found else places.SURE)


def findings(draft: Draft) -> list[Finding]:
    """List what breaks no sum but should be seen before money moves: lines that are off, tax that nothing explains."""
    found = [Finding(code="line_off", sentence=each.sentence) for each in arithmetic.lines_off(draft)]
    if draft.totals.tax and not draft.tax_shares:
        found.append(Finding(code="tax_unexplained", sentence="There is tax, and no rate says on what."))
    if len(found) > _MAX_FINDINGS:
        rest = len(found) - _MAX_FINDINGS
        found[_MAX_FINDINGS:] = [Finding(code="more", sentence=f"And {rest} more of these.")]
    return found


def needs_approval(checked: Checked) -> bool:
    """Whether a person decides: above the limit, or when check found something to look at."""
    limit = APPROVAL_LIMITS.get(checked.currency, APPROVAL_LIMIT)
    return bool(checked.findings) or abs(checked.total) > limit


def post(checked: ToPost, context: StepContext) -> Posted:
    """Write the ledger entry, once per record.

    Raises:
        TransientError: the ledger is busy.
        PermanentError: the number was posted meanwhile, or this record was posted otherwise.
    """
    tax = checked.draft.totals.tax
    entry = ledger.post(
        LedgerEntry(
            key=context.key,
            kind=checked.kind,
            supplier=checked.supplier,
            supplier_id=checked.supplier_id,
            invoice_number=checked.invoice_number,
            issue_date=checked.issue_date,
            currency=checked.currency,
            total=f"{checked.total:f}",
            tax="" if tax is None else f"{tax:f}",
            purchase_order=checked.purchase_order or "",
            cost_centre=checked.cost_centre or "",
        ),
        attempt=context.attempt,
    )
    facts = {name: getattr(checked, name) for name in Facts.model_fields}
    return Posted(**facts, ledger_key=entry.key, posted_at=entry.posted_at)
