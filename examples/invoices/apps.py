from __future__ import annotations

from django.apps import AppConfig


class InvoicesConfig(AppConfig):
    """The example flow on UBL e-invoices, with the ledger it posts to."""

    name = "examples.invoices"
    label = "invoices"
    verbose_name = "Example: invoices"
    default_auto_field = "django.db.models.BigAutoField"
