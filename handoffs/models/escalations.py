"""Escalations: records that stopped and wait for a person; alerts: what needs an owner while no record waits."""

from __future__ import annotations

import json
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Self

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from handoffs.models.queues import Queue, sees_all
from handoffs.models.records import Record, StepResult
from handoffs.states import AlertKind, EscalationState, Kind, Resolution

if TYPE_CHECKING:
    from handoffs.models.queues import Viewer

UNRESOLVED = Q(state__in=[EscalationState.OPEN.value, EscalationState.CLAIMED.value])


class EscalationQuerySet(models.QuerySet["Escalation"]):
    def visible_to(self, user: Viewer) -> Self:
        if sees_all(user):
            return self
        return self.filter(queue__in=Queue.objects.visible_to(user))

    def decidable_by(self, user: Viewer) -> Self:
        return self.filter(queue__in=Queue.objects.decidable_by(user))

    def unresolved(self) -> Self:
        return self.filter(UNRESOLVED)

    def awake(self, now: datetime) -> Self:
        """Unresolved, and not hidden until later."""
        return self.unresolved().filter(Q(snoozed_until__isnull=True) | Q(snoozed_until__lte=now))

    def snoozed(self, now: datetime) -> Self:
        """Unresolved, and hidden until later."""
        return self.unresolved().filter(snoozed_until__gt=now)

    def takeable(self, now: datetime) -> Self:
        """Awake, and nobody's or under a claim that ran out."""
        lapsed = Q(state=EscalationState.CLAIMED.value, assigned=False, claimed_until__lt=now)
        return self.awake(now).filter(Q(state=EscalationState.OPEN.value) | lapsed)

    def held_by(self, user: Viewer) -> Self:
        """Unresolved, and claimed by or assigned to this person."""
        return self.unresolved().filter(assignee=user.pk)

    def overdue(self, now: datetime) -> Self:
        return self.awake(now).filter(due_at__lt=now)

    def decided(self) -> Self:
        return self.filter(state=EscalationState.RESOLVED.value)

    def decided_since(self, since: datetime) -> Self:
        return self.decided().filter(resolved_at__gte=since)

    def most_urgent_first(self) -> Self:
        return self.order_by("-priority", "due_at", "pk")


class Escalation(models.Model):
    """A record that stopped. It is unresolved if and only if the record's status is `escalated`."""

    record = models.ForeignKey(Record, models.CASCADE, related_name="escalations")
    queue = models.ForeignKey(Queue, models.PROTECT, related_name="escalations", verbose_name=_("queue"))
    kind = models.CharField(_("kind"), max_length=20, choices=[(k.value, k.value) for k in Kind])
    state = models.CharField(_("state"), max_length=10, choices=[(s.value, s.value) for s in EscalationState])
    flow = models.CharField(_("flow"), max_length=100)
    step = models.CharField(_("step"), max_length=100)
    side = models.CharField(max_length=10, help_text="the body that a fix edits")
    result = models.ForeignKey(StepResult, models.SET_NULL, null=True, related_name="+")
    reason = models.TextField(help_text="one sentence: why it stopped")
    code = models.CharField(max_length=60, blank=True)
    question = models.TextField(blank=True)
    answers = models.TextField(default="[]")
    pointer = models.TextField(blank=True, help_text="the first violated field")
    violated = models.PositiveIntegerField(default=0, help_text="number of violations")
    fingerprint = models.CharField(max_length=32, blank=True)
    confidence = models.FloatField(null=True)
    bar = models.FloatField(null=True)
    priority = models.IntegerField(default=0)
    version = models.PositiveIntegerField(default=0)
    assignee = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="escalations", verbose_name=_("assignee")
    )
    claimed_until = models.DateTimeField(null=True, help_text="null with an assignee: assigned, does not lapse")
    assigned = models.BooleanField(default=False)
    opened_at = models.DateTimeField()
    due_at = models.DateTimeField()
    snoozed_until = models.DateTimeField(null=True)
    first_seen_at = models.DateTimeField(null=True)
    unread_told_at = models.DateTimeField(null=True, help_text="when the backup was told that nobody looked")
    overdue_told_at = models.DateTimeField(null=True, help_text="when the backup was told that it is past its due time")
    resolved_at = models.DateTimeField(null=True)
    resolved_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")
    resolution = models.CharField(max_length=10, blank=True, choices=[(r.value, r.value) for r in Resolution])
    close_reason = models.CharField(max_length=200, blank=True)
    note = models.TextField(blank=True)
    came_from = models.CharField(max_length=10, blank=True, help_text="reopened: the status it had ended with")
    before = models.TextField(default="{}", help_text="resolved: what undo brings back")

    objects = EscalationQuerySet.as_manager()

    class Meta:
        verbose_name = _("escalation")
        verbose_name_plural = _("escalations")
        constraints = [
            models.UniqueConstraint(fields=["record"], condition=UNRESOLVED, name="one_unresolved_escalation"),
            models.CheckConstraint(condition=Q(state__in=[s.value for s in EscalationState]), name="escalation_state"),
            models.CheckConstraint(condition=Q(kind__in=[k.value for k in Kind]), name="escalation_kind"),
            models.CheckConstraint(
                condition=Q(state=EscalationState.CLAIMED.value, assignee__isnull=False)
                | Q(state=EscalationState.OPEN.value, assignee__isnull=True)
                | Q(state=EscalationState.RESOLVED.value),
                name="assignee_iff_claimed",
            ),
            models.CheckConstraint(
                condition=Q(state=EscalationState.RESOLVED.value, resolved_at__isnull=False)
                | (~Q(state=EscalationState.RESOLVED.value) & Q(resolved_at__isnull=True)),
                name="resolved_at_iff_resolved",
            ),
        ]
        indexes = [
            models.Index(F("priority").desc(), "due_at", "id", condition=UNRESOLVED, name="escalation_urgent"),
            models.Index(
                "queue", F("priority").desc(), "due_at", "id", condition=UNRESOLVED, name="escalation_queue_urgent"
            ),
            models.Index(fields=["assignee", "due_at", "id"], condition=UNRESOLVED, name="escalation_mine"),
            models.Index(fields=["fingerprint", "id"], condition=UNRESOLVED, name="escalation_same"),
            models.Index(
                "flow",
                "step",
                F("priority").desc(),
                "due_at",
                "id",
                condition=UNRESOLVED,
                name="escalation_place_urgent",
            ),
            models.Index(
                "kind", F("priority").desc(), "due_at", "id", condition=UNRESOLVED, name="escalation_kind_urgent"
            ),
            models.Index(fields=["due_at", "id"], condition=UNRESOLVED, name="escalation_due"),
            models.Index(fields=["queue", "opened_at", "id"], condition=UNRESOLVED, name="escalation_queue_oldest"),
            models.Index(fields=["queue", "opened_at"], name="escalation_opened"),
            models.Index(
                fields=["snoozed_until", "id"],
                condition=UNRESOLVED & Q(snoozed_until__isnull=False),
                name="escalation_snoozed",
            ),
            models.Index(
                fields=["queue", "opened_at"],
                condition=UNRESOLVED & Q(first_seen_at__isnull=True, unread_told_at__isnull=True),
                name="escalation_unread",
            ),
            models.Index(
                fields=["due_at"], condition=UNRESOLVED & Q(overdue_told_at__isnull=True), name="escalation_due_untold"
            ),
            models.Index(
                fields=["-resolved_at", "-id"],
                condition=Q(state=EscalationState.RESOLVED.value),
                name="escalation_decided",
            ),
        ]

    def __str__(self) -> str:
        return self.label

    @property
    def label(self) -> str:
        return f"ESC-{self.pk}"

    @property
    def is_resolved(self) -> bool:
        return self.state == EscalationState.RESOLVED

    @cached_property
    def allowed_answers(self) -> list[str]:
        answers: list[str] = json.loads(self.answers)
        return answers


class AlertQuerySet(models.QuerySet["Alert"]):
    def visible_to(self, user: Viewer) -> Self:
        if sees_all(user):
            return self
        return self.filter(queue__in=Queue.objects.visible_to(user))

    def standing(self) -> Self:
        return self.filter(closed_at__isnull=True)


class Alert(models.Model):
    """Something about a step or queue that needs its owner while no single record waits for a decision."""

    kind = models.CharField(max_length=20, choices=[(k.value, k.value) for k in AlertKind])
    flow = models.CharField(max_length=100, blank=True)
    step = models.CharField(max_length=100, blank=True)
    queue = models.ForeignKey(Queue, models.PROTECT, related_name="alerts")
    sentence = models.TextField()
    opened_at = models.DateTimeField()
    closed_at = models.DateTimeField(null=True)

    objects = AlertQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["kind", "flow", "step", "queue"], condition=Q(closed_at__isnull=True), name="one_standing_alert"
            ),
            models.CheckConstraint(condition=Q(kind__in=[k.value for k in AlertKind]), name="alert_kind"),
        ]

    def __str__(self) -> str:
        return self.sentence
