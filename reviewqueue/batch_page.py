"""The page of a batch: before it begins, what it would do; afterwards, how far it is and what became of each item."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import tzinfo
from functools import cached_property
from typing import Any, Final

from django.db.models import Count, Min, QuerySet
from django.http import QueryDict
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from handoffs.actions import batches
from handoffs.actions.batch_gate import JUDGED, JUDGED_VERBS
from handoffs.actions.escalations import people_of
from handoffs.exact_json import parse, write
from handoffs.models import Batch, BatchItem, Escalation, Queue
from handoffs.states import BatchState, BatchVerb, ItemState
from reviewqueue import labels
from reviewqueue.addresses import Address
from reviewqueue.desk import Desk
from reviewqueue.durations import ago, in_words
from reviewqueue.escalation_page import snoozes
from reviewqueue.exports import Cells, Table, times
from reviewqueue.filters import TITLES, EscalationFilter
from reviewqueue.paging import Order
from reviewqueue.visible import cut, visible

EXAMPLES: Final = 3
LONGEST: Final = 300  # characters of a value
BY_TURN: Final = Order("turn", ("pk",))
TONES: Final = {"done": "is-good", "failed": "is-fault", "skipped": "is-unsure", "waiting": "", "stopped": ""}
ICONS: Final = {"done": "check", "failed": "cross", "skipped": "info", "waiting": "clock", "stopped": "cross"}


@dataclass(frozen=True, slots=True)
class Group:
    """Items that are left for the same reason: how many, and some of them."""

    sentence: str
    count: int
    examples: list[int]

    @property
    def more(self) -> int:
        return self.count - len(self.examples)


@dataclass(frozen=True, slots=True)
class Row:
    """One item, as the list of them shows it."""

    item: BatchItem
    url: str
    tone: str
    icon: str
    word: str


@dataclass(frozen=True)
class BatchPage:
    """A batch, as one person sees it."""

    batch: Batch
    desk: Desk

    @property
    def verb(self) -> BatchVerb:
        return BatchVerb(self.batch.verb)

    @property
    def label(self) -> str:
        return str(labels.BATCH_VERBS[self.verb])

    @cached_property
    def counts(self) -> dict[str, int]:
        return batches.counts_of(self.batch)

    @property
    def is_draft(self) -> bool:
        return self.batch.state == BatchState.DRAFT

    @property
    def is_running(self) -> bool:
        return self.batch.state == BatchState.RUNNING

    @property
    def is_mine(self) -> bool:
        return self.batch.by_id == self.desk.user.pk

    @property
    def may_stop(self) -> bool:
        return self.is_running and (self.is_mine or self.desk.user.is_superuser)

    @property
    def tried(self) -> int:
        return self.batch.total - self.counts["waiting"]

    @property
    def left(self) -> int:
        """How many could be tried again."""
        return 0 if self.is_draft or self.is_running else self.batch.total - self.counts["done"]

    @property
    def back_url(self) -> str:
        """The view in which the items were chosen."""
        return str(self._address)

    @property
    def view(self) -> str:
        said = next(iter(self._address.chosen("view")), "open")
        return str(TITLES.get(said, TITLES["open"]))

    @cached_property
    def _address(self) -> Address:
        return Address.of(reverse("inbox"), QueryDict(self.batch.query), EscalationFilter.keys())

    # --- before it begins --------------------------------------------------------------------------------------------

    @property
    def forecast(self) -> str:
        """What the gate says: “287 pass, 25 still fail, in 3 groups”."""
        passing, failing = self.counts["waiting"], self.counts["failed"]
        said = [ngettext("%(n)d passes", "%(n)d pass", passing) % {"n": passing}]
        if failing:
            groups = len(self.failing)
            within = ngettext("in %(n)d group", "in %(n)d groups", groups) % {"n": groups}
            said.append(ngettext("%(n)d still fails", "%(n)d still fail", failing) % {"n": failing} + f", {within}")
        if skipped := self.counts["skipped"]:
            said.append(ngettext("%(n)d is left alone", "%(n)d are left alone", skipped) % {"n": skipped})
        return ", ".join(said)

    @property
    def changes(self) -> list[tuple[str, str]]:
        """(pointer, new value as JSON) of what a fix does to each; empty where it takes the field out."""
        operations = parse(self.batch.chosen.get("patch", "[]"))
        shown = [(each["path"], write(each["value"]) if "value" in each else "") for each in operations]
        return [(visible(pointer) or "/", visible(cut(value, LONGEST))) for pointer, value in shown]

    @property
    def unjudged(self) -> int:
        """How many bodies the preview did not look at."""
        return max(0, self.batch.total - JUDGED) if self.verb in JUDGED_VERBS else 0

    @cached_property
    def failing(self) -> list[Group]:
        return self._grouped(ItemState.FAILED, "code", "fingerprint")

    @cached_property
    def skipping(self) -> list[Group]:
        return self._grouped(ItemState.SKIPPED, "code", "sentence")

    def _grouped(self, state: ItemState, *by: str) -> list[Group]:
        found = self._items.filter(state=state).values(*by)
        rows = list(found.annotate(n=Count("pk"), said=Min("sentence")).order_by("-n", "said"))
        return [Group(row["said"], row["n"], self._examples(state, {name: row[name] for name in by})) for row in rows]

    def _examples(self, state: ItemState, same: dict[str, str]) -> list[int]:
        found = self._items.filter(state=state, **same).order_by("pk")
        return list(found.values_list("escalation_id", flat=True)[:EXAMPLES])

    @property
    def _items(self) -> QuerySet[BatchItem]:
        """The items that this person may see."""
        return seen_items(self.batch, self.desk)

    # --- what its form offers ----------------------------------------------------------------------------------------

    @cached_property
    def _queues(self) -> list[Queue]:
        return batches.queues_of(self.batch)

    @property
    def reasons(self) -> list[str]:
        """Those that every queue of the choice has."""
        first, *others = [queue.reasons for queue in self._queues] or [[]]
        return [reason for reason in first if all(reason in reasons for reasons in others)]

    @property
    def people(self) -> list[Any]:
        """Those who may decide in every queue of the choice."""
        first, *others = [people_of(queue) for queue in self._queues] or [[]]
        return [person for person in first if all(person in people for people in others)]

    @property
    def targets(self) -> list[Queue]:
        found = Queue.objects.order_by("title", "pk")
        return list(found.exclude(pk=self._queues[0].pk) if len(self._queues) == 1 else found)

    @property
    def snoozes(self) -> list[tuple[str, str]]:
        return snoozes(self.desk.now)

    # --- afterwards --------------------------------------------------------------------------------------------------

    @property
    def result(self) -> str:
        """“12 closed, 0 skipped”."""
        done, skipped, failed = (self.counts[name] for name in ("done", "skipped", "failed"))
        said = [labels.BATCH_DONE[self.verb] % {"n": done}, _("%(n)d skipped") % {"n": skipped}]
        if failed:
            said.append(_("%(n)d failed") % {"n": failed})
        if stopped := self.counts["stopped"]:
            said.append(_("%(n)d not tried") % {"n": stopped})
        return ", ".join(said)

    @property
    def time(self) -> str:
        """How long it took, or when it began."""
        begun, ended = self.batch.begun_at, self.batch.ended_at
        if begun is None:
            return ""
        return in_words(ended - begun) if ended else ago(self.desk.now - begun)

    @property
    def begun(self) -> str:
        return ago(self.desk.now - self.batch.begun_at) if self.batch.begun_at else ""

    @property
    def choice(self) -> str:
        """What was chosen for all of them: a reason, a queue, a person, a time."""
        chosen = self.batch.chosen
        return str(next((chosen[name] for name in ("reason", "queue", "person", "until") if chosen.get(name)), ""))

    def tabs(self) -> list[tuple[str, str, int]]:
        """(state, word, count) for each state that items have."""
        return [(name, str(labels.ITEM_STATES[ItemState(name)]), n) for name, n in self.counts.items() if n]


def seen_items(batch: Batch, desk: Desk) -> QuerySet[BatchItem]:
    """The items of a batch that a person may see."""
    seen = Escalation.objects.visible_to(desk.user)
    return BatchItem.objects.filter(batch=batch, escalation__in=seen)


def listed_items(rows: QuerySet[BatchItem]) -> QuerySet[BatchItem]:
    """Items with what a row shows, and without the bodies."""
    names = ("record__title", "record__flow", "record__external_id")
    shown = [f"escalation__{name}" for name in ("kind", "state", "record_id", "resolution", *names)]
    own = ("batch_id", "version", "state", "code", "sentence", "ended_at", "seq", "fingerprint")
    return rows.select_related("escalation__record").only(*own, *shown)


def item_rows(items: Iterable[BatchItem]) -> list[Row]:
    return [
        Row(
            item,
            reverse("escalation", args=[item.escalation_id]),
            TONES[item.state],
            ICONS[item.state],
            str(labels.ITEM_STATES[ItemState(item.state)]),
        )
        for item in items
    ]


def item_cells(item: BatchItem, zone: tzinfo) -> Cells:
    """One item of a batch."""
    return {
        "escalation": item.escalation.label,
        "record": f"REC-{item.escalation.record_id}",
        "external_id": item.escalation.record.external_id,
        "title": item.escalation.record.title,
        "result": item.state,
        "code": item.code or None,
        "reason": item.sentence or None,
        **times("ended", item.ended_at, zone),
    }


ITEMS: Final = Table(
    "batch",
    listed_items,
    item_cells,
    ("escalation", "record", "external_id", "title", "result", "code", "reason", "ended_utc", "ended_local"),
)
