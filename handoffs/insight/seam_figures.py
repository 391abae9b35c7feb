"""How the seams of one flow fare: how often a step refused what it was handed, and what has waited longest."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Min, QuerySet

from handoffs.models import Escalation, Record, StepResult
from handoffs.states import Kind

SAMPLE = 1000  # the newest records that a rate is about: bounded, whatever the flow has seen


@dataclass(frozen=True, slots=True)
class Arrivals:
    """Of the newest records of a flow: how many arrived at a step, and how many of these it refused."""

    arrived: int = 0
    refused: int = 0

    @property
    def rate(self) -> float | None:
        return self.refused / self.arrived if self.arrived else None


def arrivals(records: QuerySet[Record], flow: str) -> dict[str, Arrivals]:
    """By step, over the newest SAMPLE of the given records in a flow: two queries."""
    newest = records.filter(flow=flow).order_by("-pk").values("pk")[:SAMPLE]
    refused = _by_step(Escalation.objects.filter(record__in=newest, kind=Kind.REFUSED.value))
    worked = _by_step(StepResult.objects.filter(record__in=newest))
    return {
        step: Arrivals(len(worked[step] | refused[step]), len(refused[step])) for step in [*worked, *refused]
    }  # fmt: skip


def oldest(escalations: QuerySet[Escalation], flow: str) -> dict[str, datetime]:
    """By step, when the longest waiting of the given escalations was opened: one query."""
    rows = escalations.filter(flow=flow).values("step").annotate(at=Min("opened_at"))
    return dict(rows.order_by("step").values_list("step", "at"))


def _by_step(rows: QuerySet[Escalation] | QuerySet[StepResult]) -> defaultdict[str, set[int]]:
    found: defaultdict[str, set[int]] = defaultdict(set)
    for step, record in rows.order_by("step", "record").values_list("step", "record").distinct():
        found[step].add(record)
    return found
