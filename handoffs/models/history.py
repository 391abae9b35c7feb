"""Append-only history. Triggers in both databases refuse to change or remove a row; there is no switch for that."""

from __future__ import annotations

from django.db import models

from handoffs.models.chain import End, Line, faults
from handoffs.models.records import Record
from handoffs.states import Event, Status


class Transition(models.Model):
    """One event of a record. Holds codes and salted digests, never bodies or free text."""

    record = models.ForeignKey(Record, models.PROTECT, related_name="transitions")
    seq = models.PositiveIntegerField()
    event = models.CharField(max_length=10, choices=[(e.value, e.value) for e in Event])
    old_status = models.CharField(max_length=10, blank=True)
    new_status = models.CharField(max_length=10, choices=[(s.value, s.value) for s in Status])
    step = models.CharField(max_length=100)
    attempt = models.PositiveIntegerField()
    actor = models.CharField(max_length=150)
    code = models.CharField(max_length=60, blank=True)
    digest = models.CharField(max_length=64, blank=True, help_text="SHA-256 of salt and body, hexadecimal")
    happened_at = models.DateTimeField()
    hash = models.CharField(max_length=64, help_text="SHA-256 over the hash before and this row")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["record", "seq"], name="one_seq")]

    def __str__(self) -> str:
        return f"{self.seq} {self.event}"


def verify(record: Record) -> list[str]:
    """What is wrong with a record's history, one sentence each: rows that were edited, removed, added or swapped."""
    rows = record.transitions.order_by("seq", "pk").values_list(*Line.__slots__)
    return faults([Line(*row) for row in rows], End(record.seq, record.head, record.status, record.attempt))


def step_begun(record_id: int, attempt: int) -> str | None:
    """The step at which an attempt began, if it did."""
    begun = Transition.objects.filter(record=record_id, event=Event.START, attempt=attempt)
    return begun.order_by("-seq").values_list("step", flat=True).first()


class AuditEntry(models.Model):
    """One change of anything that is not a record: configuration, access, tokens."""

    happened_at = models.DateTimeField()
    actor = models.CharField(max_length=150)
    action = models.CharField(max_length=60)
    subject = models.CharField(max_length=200)
    before = models.TextField(default="{}")
    after = models.TextField(default="{}")

    class Meta:
        verbose_name_plural = "audit entries"

    def __str__(self) -> str:
        return f"{self.action} {self.subject}"


class ContractVersion(models.Model):
    """One version of a contract, immutable: its JSON Schema under its hash."""

    name = models.CharField(max_length=200)
    version = models.PositiveIntegerField()
    hash = models.CharField(max_length=64)
    schema = models.TextField()
    first_seen_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["name", "hash"], name="one_contract_hash"),
            models.UniqueConstraint(fields=["name", "version"], name="one_contract_version"),
        ]

    def __str__(self) -> str:
        return f"{self.name}@{self.version}"


class Heartbeat(models.Model):
    """When a worker, its supervisor or the reconciler was last seen, in database time."""

    name = models.CharField(max_length=150, unique=True)
    kind = models.CharField(max_length=20)
    job_queue = models.CharField(max_length=50, blank=True)
    seen_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.name
