"""Records, what each attempt delivered, how contracts were broken, and the documents that came along."""

from __future__ import annotations

import json
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

from django.conf import settings
from django.contrib.postgres.indexes import BrinIndex
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from handoffs.models.queues import Queue, sees_all
from handoffs.states import Outcome, Side, Status

if TYPE_CHECKING:
    from handoffs.models.queues import Viewer


class RecordQuerySet(models.QuerySet["Record"]):
    def visible_to(self, user: Viewer) -> Self:
        """The records that stand in, or last stood in, a queue which the person may see."""
        if sees_all(user):
            return self
        return self.filter(queue__in=Queue.objects.visible_to(user))

    def newest_first(self) -> Self:
        return self.order_by("-pk")


class Record(models.Model):
    """One piece of work going through a flow. The row is the truth; only `models.moves.move` changes it."""

    flow = models.CharField(_("flow"), max_length=100)
    external_id = models.CharField(_("external id"), max_length=200, null=True, blank=True)
    status = models.CharField(_("status"), max_length=10, choices=[(s.value, s.value) for s in Status])
    step = models.CharField(_("step"), max_length=100)
    queue = models.ForeignKey(Queue, models.PROTECT, related_name="records", verbose_name=_("queue"))
    job_queue = models.CharField(max_length=50, blank=True, help_text="empty: not served by a worker")
    attempt = models.PositiveIntegerField(default=0, help_text="counted over the record's life; the fence")
    tries_left = models.PositiveIntegerField(default=0)
    available_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True)
    lease_expires_at = models.DateTimeField(null=True)
    claimed_with = models.PositiveIntegerField(default=0, help_text="records in the claim that started the attempt")
    alone = models.BooleanField(default=False, help_text="to be claimed by itself: a neighbour crashed")
    payload = models.TextField(help_text="the document at the current seam, as sent")
    encoding = models.CharField(max_length=10, blank=True, default="", help_text="base64 if it can't be kept as text")
    answer = models.TextField(blank=True, default="", help_text="a reviewer's answer for the current step")
    title = models.CharField(_("title"), max_length=300, blank=True)
    columns = models.TextField(default="[]")
    priority = models.IntegerField(_("priority"), default=0)
    producer = models.CharField(_("from"), max_length=150)
    opened_at = models.DateTimeField(_("opened"))
    ended_at = models.DateTimeField(null=True)
    purged_at = models.DateTimeField(null=True)
    salt = models.CharField(max_length=32)
    seq = models.PositiveIntegerField(default=0)
    head = models.CharField(max_length=64, default="")

    objects = RecordQuerySet.as_manager()

    class Meta:
        verbose_name = _("record")
        verbose_name_plural = _("records")
        constraints = [
            models.UniqueConstraint(fields=["flow", "external_id"], name="one_external_id"),
            models.CheckConstraint(condition=Q(status__in=[s.value for s in Status]), name="record_status"),
            models.CheckConstraint(
                condition=Q(status=Status.RUNNING.value, lease_expires_at__isnull=False, started_at__isnull=False)
                | (~Q(status=Status.RUNNING.value) & Q(lease_expires_at__isnull=True)),
                name="leased_iff_running",
            ),
        ]
        indexes = [
            models.Index(
                fields=["job_queue", "available_at", "id"], condition=Q(status=Status.READY.value), name="record_ready"
            ),
            models.Index(
                fields=["flow", "step", "available_at", "id"],
                condition=Q(status=Status.READY.value),
                name="record_ready_step",
            ),
            models.Index(fields=["lease_expires_at"], condition=Q(status=Status.RUNNING.value), name="record_leases"),
            models.Index(fields=["queue", "-id"], name="record_queue"),
            models.Index(fields=["flow", "status", "-id"], name="record_flow_status"),
        ]

    def __str__(self) -> str:
        return self.title or f"{self.flow} {self.pk}"

    @cached_property
    def column_values(self) -> list[str]:
        values: list[str] = json.loads(self.columns)
        return values


class Attachment(models.Model):
    """A document that came with a record; its bytes, or where it lies."""

    record = models.ForeignKey(Record, models.CASCADE, related_name="attachments")
    name = models.CharField(max_length=255)
    media_type = models.CharField(max_length=100)
    size = models.PositiveBigIntegerField()
    digest = models.CharField(max_length=64, help_text="SHA-256 of the bytes, hexadecimal")
    content = models.BinaryField(null=True)
    link = models.TextField(blank=True, default="", help_text="where it lies, if not here: http or https")
    added_at = models.DateTimeField()
    added_by = models.CharField(max_length=150)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["record", "digest"], name="one_attachment")]

    def __str__(self) -> str:
        return self.name


class StepResultQuerySet(models.QuerySet["StepResult"]):
    def standing(self) -> Self:
        """What was handed over and still counts: accepted or made by a person, not superseded, not undone."""
        taken = [Outcome.ACCEPTED, Outcome.FIXED, Outcome.APPROVED, Outcome.ANSWERED]
        return self.filter(outcome__in=taken, superseded=False)


class StepResult(models.Model):
    """What one attempt, or one person's edit, delivered and how it was judged."""

    record = models.ForeignKey(Record, models.CASCADE, related_name="results")
    step = models.CharField(max_length=100)
    side = models.CharField(max_length=10, choices=[(s.value, s.value) for s in Side])
    attempt = models.PositiveIntegerField(null=True, help_text="null: a person's")
    outcome = models.CharField(max_length=20, choices=[(o.value, o.value) for o in Outcome])
    output = models.TextField(null=True)
    encoding = models.CharField(max_length=10, blank=True, default="")
    confidence = models.FloatField(null=True, help_text="null: not reported")
    bar = models.FloatField(null=True, help_text="what the confidence was held against; null: no bar")
    field_confidence = models.TextField(default="{}")
    evidence = models.TextField(default="{}")
    usage = models.TextField(default="{}")
    unknown_fields = models.TextField(default="[]", help_text="JSON pointers")
    started_at = models.DateTimeField()
    ended_at = models.DateTimeField()
    actor = models.CharField(max_length=150)
    contract_hash = models.CharField(max_length=64, blank=True)
    code = models.CharField(max_length=60, blank=True)
    message = models.TextField(blank=True)
    patch = models.TextField(default="[]", help_text="a person's change as JSON Patch")
    superseded = models.BooleanField(default=False, help_text="undone, or before a step that runs anew")
    awaits = models.BooleanField(default=False, help_text="an unresolved escalation is about it: its text is indexed")

    objects = StepResultQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["record", "attempt"],
                condition=~Q(outcome=Outcome.LATE.value) & Q(attempt__isnull=False),
                name="one_result_per_attempt",
            ),
            models.CheckConstraint(condition=Q(outcome__in=[o.value for o in Outcome]), name="result_outcome"),
            models.CheckConstraint(
                condition=Q(confidence__isnull=True) | Q(confidence__gte=0, confidence__lte=1), name="result_confidence"
            ),
        ]
        # Rows come in the order of their time, so a few bytes for each block of them find a range, and cost a worker
        # next to nothing. SQLite, which has no such index, makes an ordinary one.
        indexes = [BrinIndex(fields=["ended_at"], name="result_ended")]

    def __str__(self) -> str:
        return f"{self.step} {self.outcome}"

    def loaded(self, name: str) -> Any:
        """One of the JSON columns, parsed."""
        return json.loads(getattr(self, name))

    @property
    def duration_ms(self) -> float:
        return (self.ended_at - self.started_at).total_seconds() * 1000


class Violation(models.Model):
    """One way a body broke a contract."""

    record = models.ForeignKey(Record, models.CASCADE, related_name="violations")
    escalation = models.ForeignKey("Escalation", models.CASCADE, null=True, related_name="violations")
    attempt = models.PositiveIntegerField(null=True)
    flow = models.CharField(max_length=100)
    step = models.CharField(max_length=100)
    seam = models.CharField(max_length=205)
    side = models.CharField(max_length=10, choices=[(s.value, s.value) for s in Side])
    pointer = models.TextField()
    rule = models.CharField(max_length=60)
    expected = models.TextField(blank=True)
    received = models.TextField(blank=True)
    sentence = models.TextField()
    fingerprint = models.CharField(max_length=32)
    contract_hash = models.CharField(max_length=64, blank=True)
    producer = models.CharField(max_length=150)
    found_at = models.DateTimeField()

    class Meta:
        indexes = [
            models.Index(fields=["fingerprint", "id"], name="violation_fingerprint"),
            BrinIndex(fields=["found_at"], name="violation_found"),
        ]

    def __str__(self) -> str:
        return f"{self.pointer}: {self.rule}"


class Comment(models.Model):
    """What a person wrote to a record."""

    record = models.ForeignKey(Record, models.CASCADE, related_name="comments")
    author = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="comments")
    text = models.TextField(_("comment"), max_length=10_000)
    written_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.text[:60]
