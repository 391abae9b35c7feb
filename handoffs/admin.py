"""The admin: queues can be changed, each change through an action; what happened can only be read."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.core.paginator import Paginator
from django.db.models import Model, QuerySet
from django.forms import BaseModelFormSet, ModelForm
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

import handoffs.token_admin
import handoffs.webhook_admin  # noqa: F401 - registers itself, as does the other
from handoffs.actions import queues
from handoffs.models import (
    Alert,
    AuditEntry,
    ContractVersion,
    Escalation,
    Heartbeat,
    Membership,
    Queue,
    Record,
    StepResult,
    Transition,
    Violation,
)

if TYPE_CHECKING:
    ReadOnlyBase = admin.ModelAdmin[Model]
    QueueBase = admin.ModelAdmin[Queue]
    MemberBase = admin.TabularInline[Membership, Queue]
    QueueModelForm = forms.ModelForm[Queue]
else:
    ReadOnlyBase = QueueBase = admin.ModelAdmin
    MemberBase = admin.TabularInline
    QueueModelForm = forms.ModelForm

COUNTED = 10_000


class CappedPaginator(Paginator):  # type: ignore[type-arg]
    """Counts no further than COUNTED rows: these tables have no bound."""

    @cached_property
    def count(self) -> int:
        rows = self.object_list
        return rows[:COUNTED].count() if isinstance(rows, QuerySet) else len(rows)


class QueueForm(QueueModelForm):
    """A queue's settings, refused where nobody could look after it."""

    def clean_owner(self) -> Any:
        return self._who_can_sign_in("owner")

    def clean_backup(self) -> Any:
        return self._who_can_sign_in("backup")

    def clean_close_reasons(self) -> str:
        reasons: str = self.cleaned_data["close_reasons"]
        if not reasons.strip():
            raise ValidationError(_("Name at least one reason to close with."))
        return reasons

    def _who_can_sign_in(self, name: str) -> Any:
        person = self.cleaned_data[name]
        if person is not None and not person.is_active:
            raise ValidationError(_("This must be somebody who can sign in."))
        return person


class MemberInline(MemberBase):
    model = Membership
    autocomplete_fields = ("user",)
    extra = 0
    verbose_name_plural = _("members")


@admin.register(Queue)
class QueueAdmin(QueueBase):
    """Queues, their owners and members. A queue is never deleted: flows refer to it by its name."""

    form = QueueForm
    list_display = ("title", "slug", "owner", "backup", "due_within")
    list_select_related = ("owner", "backup")
    search_fields = ("title", "slug")
    ordering = ("title", "pk")
    autocomplete_fields = ("owner", "backup")
    fields = ("title", "slug", "owner", "backup", *queues.TIMES, "two_people", "instructions", "close_reasons")
    inlines = (MemberInline,)

    def get_readonly_fields(self, request: HttpRequest, obj: Queue | None = None) -> tuple[str, ...]:
        return ("slug",) if obj else ()

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def save_model(self, request: HttpRequest, obj: Queue, form: ModelForm[Queue], change: bool) -> None:
        if change:
            changed = {name: form.cleaned_data[name] for name in form.changed_data if name in queues.SETTINGS}
            queues.change_queue(queue=obj, by=request.user, **changed)
            return
        settings = {name: form.cleaned_data[name] for name in queues.SETTINGS}
        made = queues.create_queue(slug=form.cleaned_data["slug"], by=request.user, **settings)
        obj.pk, obj._state.adding = made.pk, False

    def save_formset(
        self, request: HttpRequest, form: ModelForm[Queue], formset: BaseModelFormSet[Any, Any], change: bool
    ) -> None:
        queue = form.instance
        members = formset.save(commit=False)
        for member in formset.deleted_objects:
            queues.remove_member(queue=queue, user=member.user, by=request.user)
        for member, changed in formset.changed_objects:
            if "user" in changed:
                was = Membership.objects.select_related("user").get(pk=member.pk)
                queues.remove_member(queue=queue, user=was.user, by=request.user)
        for member in members:
            queues.set_member(queue=queue, user=member.user, role=member.role, by=request.user)


class ReadOnlyAdmin(ReadOnlyBase):
    """Rows that only the product writes."""

    ordering = ("-pk",)
    paginator = CappedPaginator
    show_full_result_count = False
    list_per_page = 50

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(Record)
class RecordAdmin(ReadOnlyAdmin):
    list_display = ("id", "title", "flow", "status", "step", "queue", "external_id", "opened_at")
    list_select_related = ("queue",)
    list_filter = ("status",)
    search_fields = ("external_id__exact", "id__exact")
    search_help_text = _("An external id or a record's number, whole.")
    exclude = ("salt",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Model]:
        return super().get_queryset(request).defer("payload", "answer")


@admin.register(StepResult)
class StepResultAdmin(ReadOnlyAdmin):
    list_display = ("id", "record_id", "step", "attempt", "outcome", "confidence", "actor", "ended_at")
    list_filter = ("outcome",)
    search_fields = ("record__id__exact",)
    search_help_text = _("A record's number, whole.")
    raw_id_fields = ("record",)


@admin.register(Violation)
class ViolationAdmin(ReadOnlyAdmin):
    list_display = ("id", "record_id", "seam", "side", "pointer", "rule", "found_at")
    list_filter = ("side",)
    search_fields = ("record__id__exact", "fingerprint__exact")
    search_help_text = _("A record's number or a fingerprint, whole.")


@admin.register(Escalation)
class EscalationAdmin(ReadOnlyAdmin):
    list_display = ("label", "record_id", "kind", "state", "queue", "assignee", "opened_at", "due_at")
    list_select_related = ("queue", "assignee")
    list_filter = ("state", "kind", "queue")
    search_fields = ("id__exact", "record__id__exact")
    search_help_text = _("An escalation's or a record's number, whole.")


@admin.register(Transition)
class TransitionAdmin(ReadOnlyAdmin):
    list_display = ("id", "record_id", "seq", "event", "old_status", "new_status", "step", "actor", "happened_at")
    list_filter = ("event",)
    search_fields = ("record__id__exact",)
    search_help_text = _("A record's number, whole.")


@admin.register(AuditEntry)
class AuditEntryAdmin(ReadOnlyAdmin):
    list_display = ("happened_at", "actor", "action", "subject")
    list_display_links = ("subject",)
    list_filter = ("action",)
    search_fields = ("subject__exact", "actor__exact")
    search_help_text = _("A queue, a person or an actor, whole.")


@admin.register(ContractVersion)
class ContractVersionAdmin(ReadOnlyAdmin):
    list_display = ("name", "version", "hash", "first_seen_at")
    search_fields = ("name",)


@admin.register(Alert)
class AlertAdmin(ReadOnlyAdmin):
    list_display = ("kind", "queue", "flow", "step", "sentence", "opened_at", "closed_at")
    list_select_related = ("queue",)
    list_filter = ("kind",)


@admin.register(Heartbeat)
class HeartbeatAdmin(ReadOnlyAdmin):
    list_display = ("name", "kind", "job_queue", "seen_at")
