"""Decisions on many escalations at once: what was chosen, frozen as ids, and what became of each."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Self

from django.conf import settings
from django.db import models
from django.db.models import Exists, OuterRef, Q

from handoffs.models.escalations import Escalation
from handoffs.models.queues import sees_all
from handoffs.states import BatchState, BatchVerb, ItemState

if TYPE_CHECKING:
    from handoffs.models.queues import Viewer


class BatchQuerySet(models.QuerySet["Batch"]):
    def visible_to(self, user: Viewer) -> Self:
        """One's own, and those that have begun and touch a queue which the person may see."""
        if sees_all(user):
            return self
        seen = BatchItem.objects.filter(batch=OuterRef("pk"), escalation__in=Escalation.objects.visible_to(user))
        return self.filter(Q(by=user.pk) | (~Q(state=BatchState.DRAFT.value) & Exists(seen)))

    def running(self) -> Self:
        return self.filter(state=BatchState.RUNNING.value)

    def begun(self) -> Self:
        return self.exclude(state=BatchState.DRAFT.value)


class Batch(models.Model):
    """One verdict for many escalations. A draft is what the preview shows; confirmed, workers carry it out."""

    verb = models.CharField(max_length=10, choices=[(v.value, v.value) for v in BatchVerb])
    state = models.CharField(max_length=10, choices=[(s.value, s.value) for s in BatchState])
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="batches")
    origin = models.ForeignKey("self", models.SET_NULL, null=True, related_name="+", help_text="tried again from there")
    query = models.TextField(blank=True, help_text="the view in which it was chosen, as in its address")
    choice = models.TextField(default="{}", help_text="reason, note, queue, person, until; side and patch")
    missing = models.TextField(default="[]", help_text="numbers that were asked for and not found")
    total = models.PositiveIntegerField(default=0)
    is_cut = models.BooleanField(default=False, help_text="more were chosen than one batch takes")
    made_at = models.DateTimeField()
    begun_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)

    objects = BatchQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "batches"
        constraints = [
            models.CheckConstraint(condition=Q(state__in=[s.value for s in BatchState]), name="batch_state"),
            models.CheckConstraint(
                condition=Q(state=BatchState.DRAFT.value, begun_at__isnull=True)
                | (~Q(state=BatchState.DRAFT.value) & Q(begun_at__isnull=False)),
                name="begun_unless_draft",
            ),
        ]
        indexes = [
            models.Index(fields=["id"], condition=Q(state=BatchState.RUNNING.value), name="batch_running"),
        ]

    def __str__(self) -> str:
        return self.label

    @property
    def label(self) -> str:
        return f"BATCH-{self.pk}"

    @property
    def chosen(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.choice)
        return found

    @property
    def missing_numbers(self) -> list[int]:
        found: list[int] = json.loads(self.missing)
        return found


class BatchItem(models.Model):
    """One escalation of a batch, as it was when the batch was made, and what became of it."""

    batch = models.ForeignKey(Batch, models.CASCADE, related_name="items")
    escalation = models.ForeignKey(Escalation, models.CASCADE, related_name="batch_items")
    version = models.PositiveIntegerField(help_text="of the escalation; one that has another by then is left alone")
    state = models.CharField(max_length=10, choices=[(s.value, s.value) for s in ItemState])
    code = models.CharField(max_length=60, blank=True)
    sentence = models.TextField(blank=True, help_text="why it was left, or failed")
    fingerprint = models.CharField(max_length=32, blank=True)
    seq = models.PositiveIntegerField(null=True, help_text="of the history row that the verdict wrote")
    ended_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["batch", "escalation"], name="once_in_a_batch"),
            models.CheckConstraint(condition=Q(state__in=[s.value for s in ItemState]), name="batch_item_state"),
        ]
        indexes = [models.Index(fields=["batch", "state", "id"], name="batch_item_state")]

    def __str__(self) -> str:
        return f"{self.escalation_id} {self.state}"
