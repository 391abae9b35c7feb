"""`manage.py check` reads the seams of every flow; with `--database` it also looks for each queue and its owner."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any

from django.apps import AppConfig, apps
from django.core.checks import CheckMessage, Error, Tags, Warning, register
from django.db import connections, router

from handoffs import asks, conf, flows, seams
from handoffs.flows import Flow
from handoffs.states import INTAKE

# The number and the hint of each finding: an error has the id handoffs.E001, the same as a warning handoffs.W001.
FINDINGS = {
    "never_written": (1, "Let an earlier step return the field, give it a default, or take it with takes=."),
    "incompatible_type": (2, "Give both contracts the same type, or convert it in a step between."),
    "incompatible_values": (3, "Let the values and limits of both contracts overlap."),
    "unknown_field": (4, 'Add the field to what the step receives, or declare that contract with unknown="count".'),
    "takes_clash": (5, "Choose another key in takes=."),
    "not_guaranteed": (6, "Require it of the producer, or let the consumer do without; what lacks it will be refused."),
    "type_not_guaranteed": (7, "Narrow what the producer returns, or widen what the step receives."),
    "values_not_guaranteed": (8, "Let the step receive every value that the producer may return."),
    "limits_not_guaranteed": (9, "Put the same limit on what the producer returns."),
    "unknown_may_come": (10, "Refuse unknown fields at the producer already, or count them on both sides."),
    "never_filled": (11, "Mend the name if it is a mistake, or remove the field."),
    "carried_dropped": (12, "Add the field to what the step returns, or remove Carried() where the fact ends."),
    "shown_unknown": (13, "Name a field of the intake or of what a step returns."),
}


@register("handoffs")
def check_seams(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    """Tell what the static reading of every declared flow found."""
    return [_message(flow, found) for flow in flows.declared().values() for found in seams.read(flow)]


def _message(flow: Flow, found: seams.Finding) -> CheckMessage:
    number, hint = FINDINGS[found.code]
    kind, letter = (Error, "E") if found.level == "error" else (Warning, "W")
    place = f"{found.pointer}: " if found.pointer else ""
    where = f"{flow.name}, {found.seam}"
    return kind(f"{place}{found.sentence}", hint=hint, obj=where, id=f"handoffs.{letter}{number:03}")


@register(Tags.database)
def check_queues(
    app_configs: Sequence[AppConfig] | None, databases: Sequence[str] | None = None, **kwargs: Any
) -> list[CheckMessage]:
    """Tell which queues of the declared flows are missing, or belong to somebody who is gone.

    Warnings, not errors: `migrate` runs these too, and must be able to install what the queues are made with.
    """
    return [message for alias in databases or () for message in _unreachable(alias)]


def _unreachable(alias: str) -> Iterator[CheckMessage]:
    queue = apps.get_model("handoffs", "Queue")
    if not router.allow_migrate_model(alias, queue):
        return
    if queue._meta.db_table not in connections[alias].introspection.table_names():
        return
    # Two columns only, so that a column that a pending migration adds is not asked for.
    owners = dict(queue._default_manager.using(alias).values_list("slug", "owner__is_active"))
    for slug, places in queues_in_use().items():
        if slug not in owners:
            hint = f"Create the queue {slug!r} and give it an owner: nothing that stops there can be seen before."
            yield Warning(f"The queue {slug!r} does not exist.", hint=hint, obj=", ".join(places), id="handoffs.W020")
        elif not owners[slug]:
            hint = "Give the queue an owner who can log in."
            message = f"The owner of the queue {slug!r} is not active."
            yield Warning(message, hint=hint, obj=", ".join(places), id="handoffs.W021")


@register(Tags.database)
def check_readiness(
    app_configs: Sequence[AppConfig] | None, databases: Sequence[str] | None = None, **kwargs: Any
) -> list[CheckMessage]:
    """Tell which flows no green drill says to be ready, and whether their starts wait for one."""
    if not databases:
        return []
    if "handoffs_drillrun" not in connections["default"].introspection.table_names():
        return []
    readiness = import_module("handoffs.readiness")  # it has models, and checks are found before those are
    asked = [flow for flow in flows.declared().values() if flow.require_drill]
    hint = "Its starts wait." if conf.get("REQUIRE_DRILL") else "It starts all the same: HANDOFFS_REQUIRE_DRILL is off."
    found = readiness.why_not_all(asked).items()
    return [Warning(why, hint=hint, obj=name, id="handoffs.W022") for name, why in found if why]


def queues_in_use() -> dict[str, list[str]]:
    """The queues that the declared flows name, each with the places that do, like `invoices/check`."""
    used: dict[str, list[str]] = {}
    for flow in flows.declared().values():
        if flow.name == asks.FLOW:  # each ask names its own queue
            continue
        for place in (INTAKE, *(step.name for step in flow.steps)):
            used.setdefault(flow.queue_of(place), []).append(f"{flow.name}/{place}")
    return used
