"""What the lists can be narrowed by: one FilterSet for a page, its export and its actions.

A value that means nothing shows no rows, and the page says so: django-filter alone would drop it and show them all.
Unknown keys are ignored.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Any, ClassVar, Generic, TypeVar, cast

from django import forms
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db.models import Exists, Model, OuterRef, Q, QuerySet
from django.http import QueryDict
from django.utils.translation import gettext_lazy as _
from django_filters.filters import CharFilter, ChoiceFilter, DateFilter, Filter, MultipleChoiceFilter, NumberFilter
from django_filters.filterset import FilterSet

from handoffs.flows import Flow
from handoffs.models import Escalation, Queue, Record, Violation
from handoffs.models.escalations import EscalationQuerySet
from handoffs.states import INTAKE
from reviewqueue import labels
from reviewqueue.durations import read_span
from reviewqueue.models import User
from reviewqueue.paging import Order
from reviewqueue.requests import midnight, start_of_day
from reviewqueue.searching import LONGEST_WORD, Places, bound, holding

VIEWS = {
    "mine": _("Mine"),
    "unassigned": _("Unassigned"),
    "overdue": _("Overdue"),
    "open": _("All open"),
    "snoozed": _("Snoozed"),
    "decided": _("Decided today"),
}
# Not in the side: everything, whatever became of it; the dashboard leads here.
TITLES = {**VIEWS, "any": _("Open and decided")}
SORTS = {"urgent": _("priority, then due time"), "due": _("due time")}
AGES = {"1h": _("1 h"), "4h": _("4 h"), "24h": _("1 d"), "3d": _("3 d"), "7d": _("7 d"), "30d": _("30 d")}
NOBODY = "nobody"
DAYS = [MinValueValidator(date(1970, 1, 1)), MaxValueValidator(date(2999, 12, 31))]

URGENT = Order("urgent", ("-priority", "due_at", "pk"))
BY_DUE = Order("due", ("due_at", "pk"))
BY_WAKING = Order("waking", ("snoozed_until", "pk"))
BY_DECISION = Order("decided", ("-resolved_at", "-pk"))
NEWEST = Order("newest", ("-pk",))

M = TypeVar("M", bound=Model)


class SpanField(forms.CharField):
    """A span of time as `24h`."""

    def to_python(self, value: Any) -> Any:
        text = super().to_python(value)
        if not text:
            return None
        if (span := read_span(text)) is None:
            raise ValidationError(_("A span is needed, like 30m, 24h or 7d."))
        return span


class AnyOf(MultipleChoiceFilter):
    """One of some values, by `IN`: no DISTINCT, which would read all rows and could not be locked."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, widget=forms.CheckboxSelectMultiple, choices=kwargs.pop("choices", ()), **kwargs)

    def filter(self, qs: QuerySet[M], value: list[str]) -> QuerySet[M]:
        return qs.filter(**{f"{self.field_name}__in": value}) if value else qs


class SpanFilter(Filter):
    field_class: type[forms.Field] = SpanField


def only(choices: dict[str, Any], **kwargs: Any) -> ChoiceFilter:
    """A choice that the FilterSet reads itself."""
    return ChoiceFilter(choices=list(choices.items()), method="leave", **kwargs)


class ListFilter(FilterSet, Generic[M]):
    """What both lists share. `queues` and `flows` are those the person may see."""

    base_filters: ClassVar[Mapping[str, Filter]]  # set by the metaclass

    queue = AnyOf(field_name="queue__slug", label=_("Queue"))
    flow = AnyOf(field_name="flow", label=_("Flow"))
    step = AnyOf(field_name="step", label=_("Step"))
    places: ClassVar[Places]

    q = CharFilter(method="leave", label=_("Search"), max_length=LONGEST_WORD)

    @property
    def order(self) -> Order:
        return NEWEST

    def __init__(self, query: QueryDict, rows: QuerySet[M], *, queues: Sequence[Queue], flows: Sequence[Flow]) -> None:
        super().__init__(query, rows)
        steps = dict.fromkeys([INTAKE, *(step.name for flow in flows for step in flow.steps)])
        self.offer("queue", [(queue.slug, str(queue)) for queue in queues])
        self.offer("flow", [(flow.name, flow.name) for flow in flows])
        self.offer("step", [(name, name) for name in steps])

    def offer(self, name: str, choices: Iterable[tuple[str, str]]) -> None:
        self.filters[name].extra["choices"] = list(choices)

    @classmethod
    def keys(cls) -> frozenset[str]:
        """What an address may say."""
        return frozenset(cls.base_filters)

    @property
    def is_clear(self) -> bool:
        """Whether every value means something."""
        return bool(self.is_valid())

    @property
    def rows(self) -> QuerySet[M]:
        """What fits; nothing where a value means nothing."""
        found: QuerySet[M] = self.qs if self.is_clear else self.queryset.none()
        return found

    @property
    def problems(self) -> list[tuple[str, str]]:
        """(label, sentence) for each value that means nothing."""
        form = self.form
        return [(str(form.fields[name].label), " ".join(form.errors[name])) for name in form.errors]

    def said(self, name: str) -> Any:
        """One value as understood; None where there is none, or it means nothing."""
        return self.form.cleaned_data.get(name) if self.form.is_bound and not self.form.errors.get(name) else None

    def filter_queryset(self, queryset: QuerySet[M]) -> QuerySet[M]:
        found: QuerySet[M] = super().filter_queryset(queryset)
        # Last, so that the other filters have narrowed what is searched.
        text = self.said("q")
        return holding(found, self.order, text, self.places, is_open=self.is_open) if text else found

    @property
    def is_open(self) -> bool:
        """Whether it is a list of what waits for a decision."""
        return False

    @property
    def searched(self) -> int | None:
        """In how many rows the words are looked for; None: in all, or there are none to look for."""
        return bound(self.said("q"), is_open=self.is_open) if self.said("q") else None

    def leave(self, rows: QuerySet[M], name: str, value: str) -> QuerySet[M]:
        return rows


class EscalationFilter(ListFilter[Escalation]):
    """Escalations of one view."""

    places = Places(
        numbers={"ESC": "pk", "REC": "record"},
        record="record__",
        names=("record__title", "record__external_id"),
        bodies=("record__payload", "result__output"),
    )

    view = only(TITLES, label=_("View"))
    kind = AnyOf(field_name="kind", label=_("Kind"), choices=labels.choices(labels.KINDS))
    field = CharFilter(
        method="violating",
        label=_("Violated field"),
        max_length=500,
        widget=forms.TextInput(attrs={"placeholder": "/lines/0/amount", "autocomplete": "off"}),
    )
    conf_lt = NumberFilter(
        method="below",
        label=_("Confidence below"),
        min_value=0,
        max_value=1,
        max_digits=20,
        widget=forms.NumberInput(attrs={"placeholder": "0.85"}),
    )
    age_gt = SpanFilter(method="older", label=_("Older than"))
    assignee = ChoiceFilter(method="had_by", label=_("Assignee"), empty_label=_("anybody"))
    same = CharFilter(
        field_name="fingerprint", label=_("Stopped the same way"), validators=[RegexValidator("^[0-9a-f]{32}$")]
    )
    resolution = AnyOf(field_name="resolution", label=_("Decision"), choices=labels.choices(labels.RESOLUTIONS))
    since = DateFilter(method="not_before", label=_("Since"), validators=DAYS)
    until = DateFilter(method="not_after", label=_("Until"), validators=DAYS)
    sort = only(SORTS, label=_("Sorted by"))
    group = only({"1": _("what stopped them")}, label=_("Grouped by"))

    def __init__(
        self,
        query: QueryDict,
        *,
        user: User,
        now: datetime,
        queues: Sequence[Queue],
        flows: Sequence[Flow],
        people: Sequence[User] = (),
    ) -> None:
        super().__init__(query, Escalation.objects.visible_to(user), queues=queues, flows=flows)
        self.user, self.now = user, now
        self.ids = {person.username: person.pk for person in people}
        names = [(person.username, person.display_name) for person in people]
        self.filters["age_gt"].extra["widget"] = forms.Select(choices=_ages(query.get("age_gt", "")))
        self.offer("assignee", [(NOBODY, str(_("nobody yet"))), *names])

    @property
    def is_open(self) -> bool:
        return self.view_name not in {"decided", "any"}

    @property
    def view_name(self) -> str:
        return self.said("view") or "open"

    @property
    def order(self) -> Order:
        """The order of the view, or the one that was asked for."""
        fixed = {"snoozed": BY_WAKING, "decided": BY_DECISION, "any": NEWEST}
        chosen = BY_DUE if self.said("sort") == "due" else URGENT
        return fixed.get(self.view_name, chosen)

    def filter_queryset(self, queryset: QuerySet[Escalation]) -> QuerySet[Escalation]:
        visible = cast(EscalationQuerySet, queryset)
        asked_days = self.view_name == "decided" and (self.said("since") or self.said("until"))
        seen = visible.decided() if asked_days else in_view(visible, self.view_name, self.user, self.now)
        return super().filter_queryset(seen)

    @property
    def _moment(self) -> str:
        """What `since` and `until` are about."""
        return "resolved_at" if self.view_name == "decided" else "opened_at"

    def not_before(self, rows: QuerySet[Escalation], name: str, value: date) -> QuerySet[Escalation]:
        return rows.filter(**{f"{self._moment}__gte": midnight(value)})

    def not_after(self, rows: QuerySet[Escalation], name: str, value: date) -> QuerySet[Escalation]:
        """Up to the end of the day."""
        return rows.filter(**{f"{self._moment}__lt": midnight(value + timedelta(days=1))})

    def violating(self, rows: QuerySet[Escalation], name: str, value: str) -> QuerySet[Escalation]:
        return rows.filter(Exists(Violation.objects.filter(escalation=OuterRef("pk"), pointer=value)))

    def below(self, rows: QuerySet[Escalation], name: str, value: float) -> QuerySet[Escalation]:
        """A confidence that was not reported counts as low wherever there is a bar."""
        return rows.filter(Q(confidence__lt=value) | Q(confidence__isnull=True, bar__isnull=False))

    def older(self, rows: QuerySet[Escalation], name: str, value: timedelta) -> QuerySet[Escalation]:
        return rows.filter(opened_at__lt=self.now - value)

    def had_by(self, rows: QuerySet[Escalation], name: str, value: str) -> QuerySet[Escalation]:
        return rows.filter(assignee=None if value == NOBODY else self.ids[value])


def _ages(said: str) -> list[tuple[str, Any]]:
    """The ages that the menu offers, and the one that the address says."""
    own: dict[str, Any] = {said: said} if read_span(said) else {}
    return [("", _("any age")), *(own | AGES).items()]


def in_view(escalations: EscalationQuerySet, view: str, user: User, now: datetime) -> EscalationQuerySet:
    """The escalations of one of the views."""
    if view == "any":
        return escalations
    if view == "mine":
        return escalations.awake(now).held_by(user)
    if view == "unassigned":
        return escalations.takeable(now)
    if view == "overdue":
        return escalations.overdue(now)
    if view == "snoozed":
        return escalations.snoozed(now)
    if view == "decided":
        return escalations.decided_since(start_of_day(now))
    return escalations.awake(now)


class RecordFilter(ListFilter[Record]):
    """Records, newest first."""

    places = Places(
        numbers={"ESC": "escalations", "REC": "pk"}, record="", names=("title", "external_id"), bodies=("payload",)
    )

    status = AnyOf(field_name="status", label=_("Status"), choices=labels.choices(labels.STATUSES))

    def __init__(self, query: QueryDict, *, user: User, queues: Sequence[Queue], flows: Sequence[Flow]) -> None:
        super().__init__(query, Record.objects.visible_to(user), queues=queues, flows=flows)
