"""Where records stand: status, step, and who has to do what about it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.db.models import Q

from handoffs.models import Escalation, Record
from handoffs.states import Status

CHUNK = 500  # ids in one query


@dataclass(frozen=True, slots=True)
class Standing:
    """One record as it is now. Kind, reason, `at`, queue and owner are empty unless it is escalated.

    `at` is the first violated field or, where no field is, the code of the failure.
    """

    record_id: int
    title: str
    status: str
    step: str
    kind: str = ""
    reason: str = ""
    at: str = ""
    queue: str = ""
    owner: str = ""


def standing_of(ids: Iterable[int]) -> dict[int, Standing]:
    """Where each of the records stands, by id."""
    wanted = list(ids)
    return {
        standing.record_id: standing
        for start in range(0, len(wanted), CHUNK)
        for standing in _read(wanted[start : start + CHUNK])
    }


def _read(ids: Sequence[int]) -> list[Standing]:
    waiting = Escalation.objects.unresolved().filter(record__in=ids).select_related("queue__owner")
    escalations = {escalation.record_id: escalation for escalation in waiting}
    records = Record.objects.filter(pk__in=ids).only("pk", "title", "status", "step", "flow")
    return [_standing(record, escalations.get(record.pk)) for record in records]


def _standing(record: Record, escalation: Escalation | None) -> Standing:
    if escalation is None:
        return Standing(record.pk, record.title, record.status, record.step)
    return Standing(
        record.pk,
        record.title,
        record.status,
        record.step,
        escalation.kind,
        escalation.reason,
        escalation.pointer or escalation.code,
        str(escalation.queue),
        escalation.queue.owner.get_full_name() or escalation.queue.owner.get_username(),
    )


def moving(ids: Sequence[int]) -> list[int]:
    """Those of the records that a worker has, or will take by itself."""
    at_work = Q(status=Status.RUNNING) | (Q(status=Status.READY) & ~Q(job_queue=""))
    return [
        found
        for start in range(0, len(ids), CHUNK)
        for found in Record.objects.filter(at_work, pk__in=ids[start : start + CHUNK]).values_list("pk", flat=True)
    ]
