"""The dashboard's figures in words: what they are called, how they are written, and the list behind each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from urllib.parse import urlencode

from django import forms
from django.urls import reverse
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from handoffs.errors import UnknownFlow, UnknownStep
from handoffs.flows import get_flow
from handoffs.insight.figures import Decided, Opened, Range, Retries, Spread, Took, Waiting
from handoffs.models import Queue
from handoffs.states import INTAKE, Kind, Resolution
from reviewqueue.charts import ABSENT, Figure, Point, rounded_up, written
from reviewqueue.desk import Desk
from reviewqueue.durations import in_words

DAYS = {
    "1d": gettext_lazy("Today"),
    "7d": gettext_lazy("7 days"),
    "30d": gettext_lazy("30 days"),
    "90d": gettext_lazy("90 days"),
}
# A fix of these changes an output that held its contract: the reviewer knew better than the agent.
HELD = frozenset({Kind.LOW_CONFIDENCE.value, Kind.REOPENED.value})
_UNITS = {"min": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1)}


class Scope(forms.Form):
    """Which days and which queue; without a word the last seven days of every queue that the person may see."""

    range = forms.ChoiceField(label=gettext_lazy("Days"), choices=list(DAYS.items()), required=False)
    queue = forms.ChoiceField(label=gettext_lazy("Queue"), required=False)

    def __init__(self, data: object, desk: Desk) -> None:
        super().__init__(data)  # type: ignore[arg-type]
        self.desk = desk
        every = [("", _("All queues"))]
        self.fields["queue"] = forms.ChoiceField(
            label=_("Queue"), required=False, choices=every + [(queue.slug, str(queue)) for queue in desk.queues]
        )

    @property
    def range_name(self) -> str:
        return self.cleaned_data["range"] or "7d"

    @property
    def days(self) -> int:
        return int(self.range_name.removesuffix("d"))

    @property
    def queues(self) -> list[Queue]:
        chosen = self.cleaned_data["queue"]
        return [queue for queue in self.desk.queues if chosen in ("", queue.slug)]


@dataclass(frozen=True, slots=True)
class Board:
    """Makes the figures of one page. `slug` is the queue it is narrowed to, "" for all."""

    over: Range
    queues: Sequence[Queue]
    slug: str

    def link(self, **choices: str) -> str:
        """The inbox, narrowed to this board's queue and to some choices."""
        return inbox_url(queue=self.slug, **choices)

    @property
    def since(self) -> str:
        return self.over.since.date().isoformat()

    def waiting(self, rows: Sequence[Waiting]) -> Figure:
        """What waits by queue; the table adds what a bar can't show."""
        titles = {queue.pk: queue for queue in self.queues}
        points = [
            Point(
                str(titles[row.queue_id]),
                (row.count, row.unassigned, row.overdue, 0),
                (*map(written, (row.count, row.unassigned, row.overdue)), in_words(self.over.now - row.oldest)),
                inbox_url(queue=titles[row.queue_id].slug),
            )
            for row in rows
        ]
        heads = (_("Open"), _("Nobody yet"), _("Overdue"), _("Oldest"))
        return Figure(_("What waits, by queue"), _("Queue"), heads, tuple(points), scale=float(_most(rows)))

    def flow(self, opened: Opened, decided: Decided) -> Figure:
        """What came and what was decided, by day."""
        sentence = _("%(opened)s opened and %(decided)s decided, by day") % {
            "opened": written(opened.total),
            "decided": written(decided.total),
        }
        points = [
            Point(day_text(day), (opened.by_day[day], decided.by_day[day]), url=self._decided_on(day))
            for day in self.over.dates
        ]
        return Figure(sentence, _("Day"), (_("Opened"), _("Decided")), tuple(points))

    def took(self, sentence: str, took: Took) -> Figure:
        """How long something took, by day: the median and what nine of ten took at most."""
        longest = max((spread.p90 for spread in took.by_day.values()), default=timedelta())
        unit = next((name for name in ("d", "h") if longest >= 2 * _UNITS[name]), "min")
        edge = rounded_up(longest / _UNITS[unit])
        points = [
            _took_point(day, took.by_day.get(day), _UNITS[unit], self._decided_on(day)) for day in self.over.dates
        ]
        top = {"d": _("%(n)s d"), "h": _("%(n)s h"), "min": _("%(n)s min")}[unit] % {"n": written(edge)}
        return Figure(sentence, _("Day"), (_("Median"), _("9 of 10 within")), tuple(points), edge, top)

    def decisions(self, decided: Decided) -> Figure:
        """What reviewers decided; approved, fixed and overridden apart, since they say how good the agents are."""
        fixes = Counter({r: n for r, n in decided.by_decision.items() if r[0] == Resolution.FIX})
        overridden = sum(n for (_fix, kind), n in fixes.items() if kind in HELD)
        counts = Counter[str]()
        for (resolution, _kind), count in decided.by_decision.items():
            counts[resolution] += count
        held = [kind.value for kind in Kind if kind in HELD]
        broke = [kind.value for kind in Kind if kind not in HELD]
        rows = [
            (_("approved unchanged"), counts[Resolution.APPROVE], Resolution.APPROVE, ()),
            (_("fixed what broke"), counts[Resolution.FIX] - overridden, Resolution.FIX, broke),
            (_("overridden"), overridden, Resolution.FIX, held),
            (_("answered"), counts[Resolution.ANSWER], Resolution.ANSWER, ()),
            (_("retried"), counts[Resolution.RETRY], Resolution.RETRY, ()),
            (_("closed"), counts[Resolution.CLOSE], Resolution.CLOSE, ()),
        ]
        points = [
            self._share(label, count, decided.total, self._decided(resolution, kinds))
            for label, count, resolution, kinds in rows
        ]
        note = _("Overridden: the output held its contract, and a reviewer changed it all the same.")
        return Figure(_said(points), _("Decision"), (_("Number"), _("Share")), tuple(points), note=note)

    def retries(self, found: Retries) -> Figure:
        """What became of retries."""
        rows = [
            (_("went on"), found.went_on),
            (_("stopped again"), found.stopped_again),
            (_("under way"), found.under_way),
        ]
        url = self._decided(Resolution.RETRY, ())
        points = [self._share(label, count, found.count, url) for label, count in rows]
        note = _("Went on: the record came past the step where it had stopped, and has not stopped again.")
        return Figure(_said(points), _("After the retry"), (_("Number"), _("Share")), tuple(points), note=note)

    def refusals(self, opened: Opened) -> Figure:
        """Refusals by seam and day, the worst seam first."""
        worst = sorted(opened.refusals.items(), key=lambda item: (-item[1].total(), item[0]))
        points = [
            Point(
                f"{flow}: {seam_text(flow, step)}",
                tuple(by_day[day] for day in self.over.dates),
                url=self.link(view="any", flow=flow, step=step, kind=Kind.REFUSED.value, since=self.since),
            )
            for (flow, step), by_day in worst
        ]
        days = tuple(day_text(day) for day in self.over.dates)
        return Figure(_("Refusals by seam and day"), _("Seam"), days, tuple(points))

    def _decided(self, resolution: str, kinds: Sequence[str]) -> str:
        return self.link(view="decided", since=self.since, resolution=resolution) + "".join(f"&kind={k}" for k in kinds)

    def _decided_on(self, day: date) -> str:
        return self.link(view="decided", since=day.isoformat(), until=day.isoformat())

    def _share(self, label: str, count: int, total: int, url: str) -> Point:
        share = _("%(n)s %%") % {"n": written(round(100 * count / total))} if total else ABSENT
        return Point(label, (count, None), (written(count), share), url if count else "")


def inbox_url(**choices: str) -> str:
    said = {key: value for key, value in choices.items() if value}
    return f"{reverse('inbox')}?{urlencode(said)}" if said else reverse("inbox")


def day_text(day: date) -> str:
    """A day as a label: “24 Nov”."""
    return date_format(day, "j M")


def seam_text(flow: str, step: str) -> str:
    """The place between a step and the one before it: “extract → check”."""
    try:
        before = None if step == INTAKE else get_flow(flow).before(step)
    except (UnknownFlow, UnknownStep):
        return f"→ {step}"
    if step == INTAKE:
        return _("outside → intake")
    return f"{before.name if before else INTAKE} → {step}"


def spread_text(took: Took) -> str:
    """A median for a headline."""
    return in_words(took.whole.median) if took.whole else ABSENT


def retries_text(found: Retries) -> str:
    """How many retries a rate is about."""
    return ngettext("of %(n)s retry went on", "of %(n)s retries went on", found.count) % {"n": written(found.count)}


def _most(rows: Sequence[Waiting]) -> int:
    return max((row.count for row in rows), default=1)


def _said(points: Sequence[Point]) -> str:
    return ", ".join(f"{point.label} {point.shown[0]}" for point in points)


def _took_point(day: date, spread: Spread | None, unit: timedelta, url: str) -> Point:
    if spread is None:
        return Point(day_text(day), (None, None), (ABSENT, ABSENT))
    texts = (in_words(spread.median), in_words(spread.p90))
    return Point(day_text(day), (spread.median / unit, spread.p90 / unit), texts, url)
