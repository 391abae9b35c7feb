from __future__ import annotations

from django.apps import AppConfig


class TicketsConfig(AppConfig):
    """The example flow whose agent lives outside. Add `examples.tickets` to HANDOFFS_APPS."""

    name = "examples.tickets"
    label = "tickets"
    verbose_name = "Example: tickets"
