"""How the seams of one flow fare: how often a step refused what it was handed, what waits, and what broke alike."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Max, Min, QuerySet

from handoffs.models import Escalation, Record, StepResult, Violation
from handoffs.states import Kind

SAMPLE = 1000  # the newest records that a rate is about: bounded, whatever the flow has seen
MOST_BREAKS = 50  # the largest groups of one flow: what is told is bounded, however many ways there are to break


@dataclass(frozen=True, slots=True)
class Arrivals:
    """Of the newest records of a flow: how many arrived at a step, and how many of these it refused."""

    arrived: int = 0
    refused: int = 0

    @property
    def rate(self) -> float | None:
        return self.refused / self.arrived if self.arrived else None


@dataclass(frozen=True, slots=True)
class Break:
    """Escalations that stopped at one step for one reason; `first` is the first violation of the oldest of them."""

    step: str
    fingerprint: str
    count: int
    since: datetime
    last: datetime
    first: Violation


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


def waiting(escalations: QuerySet[Escalation], flow: str) -> dict[str, int]:
    """By step, how many of the given escalations there are: one query."""
    rows = escalations.filter(flow=flow).order_by("step").values("step").annotate(n=Count("pk"))
    return dict(rows.values_list("step", "n"))


def breaks(escalations: QuerySet[Escalation], flow: str) -> list[Break]:
    """The given escalations by what stopped them, the MOST_BREAKS largest groups first: two queries."""
    marked = escalations.filter(flow=flow).exclude(fingerprint="").order_by().values("step", "fingerprint")
    counted = list(
        marked.annotate(n=Count("pk"), since=Min("opened_at"), last=Max("opened_at"), oldest=Min("pk"))
        .order_by("-n", "step", "fingerprint")[:MOST_BREAKS]
    )  # fmt: skip
    of_oldest = Violation.objects.filter(escalation__in=[row["oldest"] for row in counted]).order_by("-pk")
    first = {(v.escalation_id, v.fingerprint): v for v in of_oldest}  # the earliest of each comes last, and stays
    return [
        Break(row["step"], row["fingerprint"], row["n"], row["since"], row["last"], found)
        for row in counted
        if (found := first.get((row["oldest"], row["fingerprint"])))
    ]


def _by_step(rows: QuerySet[Escalation] | QuerySet[StepResult]) -> defaultdict[str, set[int]]:
    found: defaultdict[str, set[int]] = defaultdict(set)
    for step, record in rows.order_by("step", "record").values_list("step", "record").distinct():
        found[step].add(record)
    return found
