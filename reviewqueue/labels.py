"""The values of the tables in the reader's language."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from handoffs.states import AlertKind, BatchVerb, ItemState, Kind, Resolution, Role, Status

KINDS = {
    Kind.REFUSED: _("Refused"),
    Kind.BROKEN_OUTPUT: _("Broken output"),
    Kind.LOW_CONFIDENCE: _("Low confidence"),
    Kind.FAILED: _("Failed"),
    Kind.ASKED: _("Asked"),
    Kind.REVIEW: _("Review"),
    Kind.STRANDED: _("Stranded"),
    Kind.REOPENED: _("Reopened"),
}
STATUSES = {
    Status.READY: pgettext_lazy("record", "Ready"),
    Status.RUNNING: pgettext_lazy("record", "Running"),
    Status.ESCALATED: pgettext_lazy("record", "Escalated"),
    Status.COMPLETED: pgettext_lazy("record", "Completed"),
    Status.CLOSED: pgettext_lazy("record", "Closed"),
}
RESOLUTIONS = {
    Resolution.FIX: pgettext_lazy("decision", "fixed"),
    Resolution.APPROVE: pgettext_lazy("decision", "approved"),
    Resolution.ANSWER: pgettext_lazy("decision", "answered"),
    Resolution.RETRY: pgettext_lazy("decision", "retried"),
    Resolution.CLOSE: pgettext_lazy("decision", "closed"),
}
ROLES = {
    Role.VIEWER: _("sees"),
    Role.REVIEWER: _("sees and decides"),
    Role.OWNER: _("sees, decides and looks after the queue"),
}
OWNER = _("owner: answers for the queue")
BACKUP = _("backup: stands in for the owner")
DOERS = {"worker": _("a worker"), "agent": _("an agent outside"), "human": _("a person")}
ALERTS = {
    AlertKind.UNSERVED: _("Unserved"),
    AlertKind.HELD: _("Held"),
    AlertKind.DRIFT: _("Drift"),
    AlertKind.REGRESSED: _("Regressed"),
    AlertKind.SHIM_EXPIRED: _("Shim expired"),
    AlertKind.UNWATCHED: _("Unwatched"),
    AlertKind.UNREACHABLE: _("Unreachable"),
    AlertKind.ENDPOINT: _("Endpoint"),
    AlertKind.CALIBRATION: _("Calibration"),
    AlertKind.UNTRUE: _("Untrue"),
}

BATCH_VERBS = {
    BatchVerb.FIX: _("Fix"),
    BatchVerb.RETRY: _("Retry"),
    BatchVerb.APPROVE: _("Approve"),
    BatchVerb.CLOSE: _("Close"),
    BatchVerb.TRANSFER: _("Transfer"),
    BatchVerb.ASSIGN: _("Assign"),
    BatchVerb.SNOOZE: _("Snooze"),
}
BATCH_DONE = {
    BatchVerb.FIX: _("%(n)d fixed"),
    BatchVerb.RETRY: _("%(n)d retried"),
    BatchVerb.APPROVE: _("%(n)d approved"),
    BatchVerb.CLOSE: _("%(n)d closed"),
    BatchVerb.TRANSFER: _("%(n)d transferred"),
    BatchVerb.ASSIGN: _("%(n)d assigned"),
    BatchVerb.SNOOZE: _("%(n)d snoozed"),
}
ITEM_STATES = {
    ItemState.WAITING: pgettext_lazy("batch", "waiting"),
    ItemState.DONE: pgettext_lazy("batch", "done"),
    ItemState.FAILED: pgettext_lazy("batch", "failed"),
    ItemState.SKIPPED: pgettext_lazy("batch", "skipped"),
    ItemState.STOPPED: pgettext_lazy("batch", "not tried"),
}


def choices(labels: Mapping[Any, Any]) -> list[tuple[str, Any]]:
    """Labels as a form field takes them."""
    return [(str(value), label) for value, label in labels.items()]
