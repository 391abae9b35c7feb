"""The domain as an installable app."""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import entry_points

from django.apps import AppConfig
from django.conf import settings
from django.utils.module_loading import autodiscover_modules
from django.utils.translation import gettext_lazy as _

from handoffs.flows import Flow, register


class HandoffsConfig(AppConfig):
    """Finds the flows when it is ready: `flows.py` of every app, HANDOFFS_FLOWS, and entry points."""

    name = "handoffs"
    verbose_name = _("Handoffs")

    def ready(self) -> None:
        import_module("handoffs.checks")
        autodiscover_modules("flows")
        for module in getattr(settings, "HANDOFFS_FLOWS", []):
            import_module(module)
        for point in entry_points(group="handoffs.flows"):
            if isinstance(found := point.load(), Flow):
                register(found)
