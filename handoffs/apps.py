"""The domain as an installable app."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from importlib.metadata import entry_points
from types import ModuleType

from django.apps import AppConfig, apps
from django.conf import settings
from django.db.models.signals import post_migrate
from django.utils.module_loading import module_has_submodule
from django.utils.translation import gettext_lazy as _

from handoffs.flows import Flow, register


class HandoffsConfig(AppConfig):
    """Finds the flows when it is ready: `flows.py` of every app, HANDOFFS_FLOWS, and entry points."""

    name = "handoffs"
    verbose_name = _("Handoffs")

    def ready(self) -> None:
        import_module("handoffs.checks")
        post_migrate.connect(import_module("handoffs.models.living_owners").after_migrate, sender=self)
        register(import_module("handoffs.asks").asks)
        for module in _flow_modules():
            for value in vars(module).values():
                if isinstance(value, Flow):
                    register(value)
        for point in entry_points(group="handoffs.flows"):
            if isinstance(found := point.load(), Flow):
                register(found)


def _flow_modules() -> Iterator[ModuleType]:
    for config in apps.get_app_configs():
        if config.module and module_has_submodule(config.module, "flows"):
            yield import_module(f"{config.name}.flows")
    for name in getattr(settings, "HANDOFFS_FLOWS", []):
        yield import_module(name)
