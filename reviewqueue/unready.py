"""Flows that no green drill says to be ready, as pages tell of them."""

from __future__ import annotations

from collections.abc import Iterable

from django.urls import reverse
from django.utils.translation import gettext as _

from handoffs import readiness
from handoffs.flows import Flow


def unready(flows: Iterable[Flow]) -> dict[str, str]:
    """Why, by name, of those flows that ask for a drill and are not ready."""
    names = {flow.name for flow in flows}
    return {name: why for name, why in readiness.unready_flows().items() if name in names}


def banners(flows: Iterable[Flow]) -> list[dict[str, str]]:
    """One banner for all of them together, or none."""
    found = list(flows)
    names = list(unready(found))
    if not names:
        return []
    url = reverse("readiness", args=names) if len(names) == 1 else reverse("flows")
    held = [flow.name for flow in found if flow.name in names and readiness.is_held(flow)]
    text = _("Not ready: %(flows)s.") % {"flows": ", ".join(names)}
    if held:
        text += " " + _("Their starts wait until a drill is green; records are taken in, and nothing is lost.")
    return [{"level": "warning", "text": text, "url": url, "word": _("Is it ready?")}]
