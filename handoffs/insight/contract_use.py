"""How contracts fare: where each is used, how often it held, and which fields broke it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Min, Q

from handoffs.contracts import Contract
from handoffs.flows import Flow
from handoffs.models import Escalation, StepResult, Violation
from handoffs.states import INTAKE, Kind, Outcome, Side

MOST_FIELDS = 10
_READ = 200  # groups of violations that are folded into fields
HELD = [Outcome.ACCEPTED.value, Outcome.LOW_CONFIDENCE.value]  # low confidence is the bar's doing, not the contract's


@dataclass(frozen=True, slots=True)
class Place:
    """A place that holds bodies against a contract: a flow's intake, or one side of a step."""

    flow: str
    step: str
    side: Side

    @property
    def kind(self) -> Kind:
        """Why a record stops here when the contract does not hold."""
        return Kind.BROKEN_OUTPUT if self.side == Side.RETURNS else Kind.REFUSED


@dataclass(frozen=True, slots=True)
class Tally:
    """How many bodies held a contract and how many broke it."""

    held: int = 0
    broke: int = 0

    @property
    def count(self) -> int:
        return self.held + self.broke

    @property
    def rate(self) -> float | None:
        return self.held / self.count if self.count else None

    def plus(self, other: Tally) -> Tally:
        return Tally(self.held + other.held, self.broke + other.broke)


@dataclass(frozen=True, slots=True)
class ViolatedField:
    """A field that broke a contract, with "*" for the items of lists."""

    pointer: str
    rule: str
    sentence: str
    count: int


def places(contract: type[Contract], flows: Iterable[Flow]) -> list[Place]:
    """Where flows hold bodies against a contract, in the order of the records' way."""
    found = []
    for flow in flows:
        sides = [(INTAKE, Side.INTAKE, flow.intake)]
        for step in flow.steps:
            sides += [(step.name, Side.RECEIVES, step.receives), (step.name, Side.RETURNS, step.returns)]
        found += [Place(flow.name, name, side) for name, side, used in sides if used is contract]
    return found


def tallies(
    where: Collection[Place], queue_ids: Collection[int], since: datetime, lately: datetime
) -> tuple[Tally, Tally]:
    """How a contract fared at its places since a time, and since a later one: two queries.

    Held: taken in, started with, or delivered. Broke: stopped for it, or delivered broken (also where another try
    followed).
    """
    whole, late = Tally(), Tally()
    for more, recent in (_results(where, queue_ids, since, lately), _refused(where, queue_ids, since, lately)):
        whole, late = whole.plus(more), late.plus(recent)
    return whole, late


def violated_fields(hashes: Collection[str], queue_ids: Collection[int], since: datetime) -> list[ViolatedField]:
    """The fields that broke any of some versions of a contract most often since a time: one query."""
    rows = Violation.objects.filter(
        contract_hash__in=hashes, found_at__gte=since, record__queue__in=queue_ids
    ).values("fingerprint", "rule")  # fmt: skip
    groups = rows.annotate(count=Count("pk"), pointer=Min("pointer"), sentence=Min("sentence"))
    counts = Counter[tuple[str, str]]()
    sentences: dict[tuple[str, str], str] = {}
    for row in groups.order_by("-count", "fingerprint")[:_READ]:
        key = (re.sub(r"/[0-9]+(?=/|$)", "/*", row["pointer"]), row["rule"])
        counts[key] += row["count"]
        sentences.setdefault(key, row["sentence"])
    return [ViolatedField(*key, sentences[key], count) for key, count in counts.most_common(MOST_FIELDS)]


def stopped_at(where: Collection[Place], queue_ids: Collection[int]) -> dict[Place, int]:
    """How many unresolved escalations each place has that the contract is the cause of: one query."""
    if not where:
        return {}
    stopped = Escalation.objects.unresolved().filter(queue__in=queue_ids)
    rows = stopped.filter(_any_of(where)).values("flow", "step", "kind").annotate(count=Count("pk"))
    counts = {(row["flow"], row["step"], row["kind"]): row["count"] for row in rows.order_by("flow", "step", "kind")}
    return {place: counts.get((place.flow, place.step, place.kind.value), 0) for place in where}


def _any_of(where: Collection[Place]) -> Q:
    found = Q()
    for place in where:
        found |= Q(flow=place.flow, step=place.step, kind=place.kind.value)
    return found


def _results(
    where: Collection[Place], queue_ids: Collection[int], since: datetime, lately: datetime
) -> tuple[Tally, Tally]:
    """What was taken in, started with and delivered. A start held what its step receives, whatever came of it."""
    started, delivered, taken = Q(pk__in=[]), Q(pk__in=[]), Q(pk__in=[])
    for place in where:
        here = Q(record__flow=place.flow, step=place.step)
        if place.side == Side.INTAKE:
            taken |= here & Q(side=Side.INTAKE.value, outcome=Outcome.ACCEPTED.value)
        elif place.side == Side.RECEIVES:
            started |= here & Q(attempt__isnull=False)
        else:
            delivered |= here & Q(attempt__isnull=False)
    broke = delivered & Q(outcome=Outcome.BROKEN_OUTPUT.value)
    late = Q(ended_at__gte=lately)
    rows = StepResult.objects.filter(ended_at__gte=since, record__queue__in=queue_ids)
    rows = rows.filter(taken | started | delivered)
    counts = rows.aggregate(
        **{f"{name}{when}": Count("pk", filter=q & within)
           for name, q in {"given": taken | started, "held": delivered & Q(outcome__in=HELD), "broke": broke}.items()
           for when, within in {"": Q(), "_late": late}.items()}
    )  # fmt: skip
    return (
        Tally(counts["given"] + counts["held"], counts["broke"]),
        Tally(counts["given_late"] + counts["held_late"], counts["broke_late"]),
    )


def _refused(
    where: Collection[Place], queue_ids: Collection[int], since: datetime, lately: datetime
) -> tuple[Tally, Tally]:
    refusing = [place for place in where if place.side != Side.RETURNS]
    if not refusing:
        return Tally(), Tally()
    rows = Escalation.objects.filter(_any_of(refusing), queue__in=queue_ids, opened_at__gte=since)
    found = rows.aggregate(whole=Count("pk"), late=Count("pk", filter=Q(opened_at__gte=lately)))
    return Tally(broke=found["whole"]), Tally(broke=found["late"])
