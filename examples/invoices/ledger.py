"""The ledger that the flow posts to: a table here, an accounting system elsewhere.

So that retries can be seen without breaking anything, the ledger plays busy for samples, and says so: a supplier whose
id is `SAMPLE-BUSY-UNTIL-n` is refused on every attempt of its record that is numbered below n. Attempts are counted
over a record's whole life, so with three tries at step post (attempts 3, 4, 5) `…-5` recovers by itself, and `…-6` uses
up its tries and posts when a reviewer grants one more. No real tax or company number has that form.
"""

from __future__ import annotations

import re
from decimal import Decimal

from django.db import IntegrityError, OperationalError, transaction

from examples.invoices import arithmetic
from examples.invoices.models import LedgerEntry
from handoffs.flows import PermanentError, TransientError

_BUSY = re.compile(r"SAMPLE-BUSY-UNTIL-([0-9]{1,4})")


def refuse_duplicate(*, kind: str, supplier_id: str, invoice_number: str, own_key: str) -> None:
    """Refuse a number that this supplier has used; the record's own entry, of an earlier run, is none.

    Raises:
        PermanentError: `duplicate_number`.
        TransientError: `ledger_busy`.
    """
    found = LedgerEntry.objects.filter(supplier_id=supplier_id, kind=kind, invoice_number=invoice_number)
    try:
        standing = found.exclude(key=own_key).first()
    except OperationalError as error:
        raise TransientError(f"The ledger can't be read: {error}", code="ledger_busy") from error
    if standing:
        raise _duplicate(standing)


def post(entry: LedgerEntry, *, attempt: int) -> LedgerEntry:
    """Write an entry once per key, and give the one that stands.

    Raises:
        TransientError: `ledger_busy`.
        PermanentError: `duplicate_number`, or `posted_otherwise` when the key stands for another document or amount.
    """
    _play_busy(entry.supplier_id, attempt)
    try:
        with transaction.atomic():
            entry.save(force_insert=True)
    except OperationalError as error:
        raise TransientError(f"The ledger can't be written: {error}", code="ledger_busy") from error
    except IntegrityError:
        return _standing(entry)
    return entry


def _standing(entry: LedgerEntry) -> LedgerEntry:
    standing = LedgerEntry.objects.filter(key=entry.key).first()
    if standing is None:
        number = {"supplier_id": entry.supplier_id, "kind": entry.kind, "invoice_number": entry.invoice_number}
        raise _duplicate(LedgerEntry.objects.get(**number))
    if not standing.says_the_same_as(entry):
        sentence = f"This record is in the ledger as “{standing}”; it can't be posted again as “{entry}”."
        raise PermanentError(sentence, code="posted_otherwise")
    return standing


def _duplicate(standing: LedgerEntry) -> PermanentError:
    amount = arithmetic.show(Decimal(standing.total), standing.currency)
    sentence = (
        f"{standing.supplier} has sent number {standing.invoice_number} before: {amount}, posted on"
        f" {standing.posted_at:%Y-%m-%d} ({standing.key})."
    )
    return PermanentError(sentence, code="duplicate_number")


def _play_busy(supplier_id: str, attempt: int) -> None:
    sample = _BUSY.fullmatch(supplier_id)
    if sample and attempt < int(sample[1]):
        sentence = f"The ledger is busy (it plays busy for this sample until attempt {sample[1]}; this is {attempt})."
        raise TransientError(sentence, code="ledger_busy")
