from __future__ import annotations

from decimal import Decimal

from django.db import models


class LedgerEntry(models.Model):
    """One posted invoice or credit note: the system of record of this example.

    Amounts are text, since SQLite keeps decimals as floats. A number is used once per supplier and kind of document,
    and `key` once per record, so posting twice is posting once.
    """

    key = models.CharField(max_length=100, unique=True)
    kind = models.CharField(max_length=20)
    supplier = models.CharField(max_length=300)
    supplier_id = models.CharField(max_length=100)
    invoice_number = models.CharField(max_length=100)
    issue_date = models.DateField()
    currency = models.CharField(max_length=3)
    total = models.CharField(max_length=40)
    tax = models.CharField(max_length=40, blank=True)
    purchase_order = models.CharField(max_length=100, blank=True)
    cost_centre = models.CharField(max_length=20, blank=True)
    posted_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name_plural = "ledger entries"
        constraints = [
            models.UniqueConstraint(fields=["supplier_id", "kind", "invoice_number"], name="one_number_per_supplier"),
        ]

    def __str__(self) -> str:
        return f"{self.supplier} {self.invoice_number}: {self.total} {self.currency}"

    def says_the_same_as(self, other: LedgerEntry) -> bool:
        """Whether both book the same document with the same amount; 10.0 is 10.00."""
        facts = ("kind", "supplier_id", "invoice_number", "currency")
        same_amount = Decimal(self.total) == Decimal(other.total)
        return same_amount and all(getattr(self, fact) == getattr(other, fact) for fact in facts)
