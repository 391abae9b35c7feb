"""Drills: when a flow was drilled and what was found, and what every drill tries. Their records are rolled back."""

from __future__ import annotations

import json
from functools import cached_property
from typing import Any, Self

from django.db import models

from handoffs.states import Side

BODIES = (Side.RECEIVES, Side.RETURNS)


class DrillRunQuerySet(models.QuerySet["DrillRun"]):
    def green(self) -> Self:
        """Whole drills after which the flow was ready."""
        return self.filter(verdict="ready", step="")

    def newest_first(self) -> Self:
        return self.order_by("-ended_at", "-pk")


class DrillRun(models.Model):
    """One drill of one flow."""

    flow = models.CharField(max_length=100)
    step = models.CharField(max_length=100, blank=True, help_text="empty: the whole flow was drilled")
    seed = models.BigIntegerField()
    verdict = models.CharField(
        max_length=12, choices=[(v, v) for v in ("ready", "not_ready", "not_covered")], help_text="of the whole flow"
    )
    fingerprint = models.CharField(max_length=64, help_text="of the flow's declaration, as it was drilled")
    started_at = models.DateTimeField()
    ended_at = models.DateTimeField()
    actor = models.CharField(max_length=150)
    hashes = models.TextField(default="{}", help_text="contract hashes by place")
    schemas = models.TextField(default="{}", help_text="JSON Schemas by place, to see what the next drill lets through")
    report = models.TextField(default="{}", help_text="the report as JSON; failing bodies with it")

    objects = DrillRunQuerySet.as_manager()

    class Meta:
        indexes = [models.Index(fields=["flow", "-ended_at"], name="drill_flow")]

    def __str__(self) -> str:
        return f"{self.flow} {self.verdict}"

    @cached_property
    def report_data(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.report)
        return found

    @cached_property
    def hashes_data(self) -> dict[str, str]:
        found: dict[str, str] = json.loads(self.hashes)
        return found


class DrillCase(models.Model):
    """What once broke at a place of a flow, and is tried by every later drill: the broken places, not the body."""

    flow = models.CharField(max_length=100)
    step = models.CharField(max_length=100, help_text='"intake", or the step')
    side = models.CharField(max_length=10, choices=[(s.value, s.value) for s in (Side.INTAKE, *BODIES)])
    changes = models.TextField(help_text="how a good body is broken: a JSON Patch, its values made unreadable")
    rules = models.CharField(max_length=500, help_text="the rules that were broken, divided by commas")
    digest = models.CharField(max_length=64, help_text="SHA-256 of the changes")
    record_id = models.BigIntegerField(help_text="the record it came from; it may be gone")
    kept_at = models.DateTimeField()
    kept_by = models.CharField(max_length=150)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["flow", "step", "side", "digest"], name="one_drill_case")]

    def __str__(self) -> str:
        return f"{self.flow} {self.step}, from record {self.record_id}"

    @cached_property
    def changes_data(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(self.changes)
        return found
