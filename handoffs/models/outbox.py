"""What is to be told, and to whom: outbox rows, the webhooks' endpoints and deliveries, and the people's notices.

An outbox row is written in the transaction of what it tells of; everything else is made from it later.
"""

from __future__ import annotations

import json
import secrets
from base64 import b64encode
from datetime import datetime, time
from typing import TYPE_CHECKING, Any, Self

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from handoffs.models.queues import Queue
from handoffs.models.records import Record
from handoffs.states import DeliveryState, MailState, MailWhen, Told

if TYPE_CHECKING:
    from handoffs.models.queues import Viewer


def new_id() -> str:
    """The id of an outbox row; whoever gets it twice knows by it that both are the same."""
    return f"evt_{secrets.token_hex(16)}"


def new_secret() -> str:
    """A webhook's secret: 256 random bits, in the form that the libraries of Standard Webhooks read."""
    return f"whsec_{b64encode(secrets.token_bytes(32)).decode()}"


class OutboxRow(models.Model):
    """Something that was done and is to be told. Holds ids and codes, never bodies or free text."""

    uid = models.CharField(max_length=40, unique=True, default=new_id)
    event = models.CharField(max_length=30, choices=[(e.value, e.value) for e in Told])
    fault = models.CharField(max_length=200, blank=True, help_text="rows of the same fault are told a person as one")
    queue = models.ForeignKey(Queue, models.CASCADE, null=True, related_name="+")
    record = models.ForeignKey(Record, models.CASCADE, null=True, related_name="outbox_rows")
    escalation_id = models.BigIntegerField(null=True)
    endpoint = models.ForeignKey(
        "Endpoint", models.CASCADE, null=True, related_name="+", help_text="null: all that want this event"
    )
    to_owner = models.BooleanField(default=False, help_text="tell whoever answers for the queue")
    people = models.TextField(default="[]", help_text="ids of others to tell")
    data = models.TextField(default="{}")
    happened_at = models.DateTimeField()
    available_at = models.DateTimeField()
    spread_at = models.DateTimeField(null=True, help_text="when deliveries and notices were made of it")

    class Meta:
        constraints = [models.CheckConstraint(condition=Q(event__in=[e.value for e in Told]), name="outbox_event")]
        indexes = [
            models.Index(fields=["available_at", "id"], condition=Q(spread_at__isnull=True), name="outbox_waiting"),
            models.Index(fields=["spread_at"], name="outbox_spread"),
        ]

    def __str__(self) -> str:
        return f"{self.event} {self.uid}"

    @property
    def facts(self) -> dict[str, Any]:
        facts: dict[str, Any] = json.loads(self.data)
        return facts


class Endpoint(models.Model):
    """Where webhooks go. What is to be sent to one goes out in order, one after the other."""

    name = models.CharField(_("name"), max_length=100, unique=True)
    url = models.CharField(_("address"), max_length=500)
    queue = models.ForeignKey(
        Queue,
        models.CASCADE,
        null=True,
        blank=True,
        related_name="endpoints",
        verbose_name=_("queue"),
        help_text=_("Empty: what happens in every queue."),
    )
    events = models.TextField(
        _("events"), blank=True, default="", help_text=_("One on each line, like “escalation.opened”. Empty: all.")
    )
    secret = models.CharField(max_length=100, default=new_secret)
    old_secret = models.CharField(max_length=100, blank=True, help_text="signs as well, until `old_until`")
    old_until = models.DateTimeField(null=True)
    failures = models.PositiveIntegerField(_("failures in a row"), default=0)
    failing_since = models.DateTimeField(_("failing since"), null=True)
    retry_at = models.DateTimeField(null=True)
    busy_until = models.DateTimeField(null=True, help_text="a process sends to it now")
    delivered_at = models.DateTimeField(_("last delivered"), null=True)
    paused_at = models.DateTimeField(_("paused"), null=True)
    paused_why = models.CharField(max_length=200, blank=True)

    class Meta:
        verbose_name = _("webhook endpoint")
        verbose_name_plural = _("webhook endpoints")

    def __str__(self) -> str:
        return self.name

    def wants(self, row: OutboxRow) -> bool:
        if row.endpoint_id is not None:
            return row.endpoint_id == self.pk
        in_scope = self.queue_id is None or self.queue_id == row.queue_id
        return in_scope and (not self.wanted or row.event in self.wanted)

    @property
    def wanted(self) -> list[str]:
        """The events that it wants; empty for all."""
        return self.events.split()

    def secrets_at(self, now: datetime) -> list[str]:
        """The secrets to sign with, the new one first."""
        rotating = self.old_secret and self.old_until is not None and self.old_until > now
        return [self.secret, self.old_secret] if rotating else [self.secret]


class Delivery(models.Model):
    """One outbox row on its way to one endpoint."""

    row = models.ForeignKey(OutboxRow, models.CASCADE, related_name="deliveries", verbose_name=_("event"))
    endpoint = models.ForeignKey(Endpoint, models.CASCADE, related_name="deliveries", verbose_name=_("endpoint"))
    state = models.CharField(
        _("state"),
        max_length=10,
        choices=[(s.value, s.value) for s in DeliveryState],
        default=DeliveryState.WAITING.value,
    )
    tries = models.PositiveIntegerField(_("tries"), default=0)
    log = models.TextField(default="[]", help_text="the last tries: at, status or error, milliseconds")
    made_at = models.DateTimeField()
    done_at = models.DateTimeField(_("delivered"), null=True)

    class Meta:
        verbose_name = _("delivery")
        verbose_name_plural = _("deliveries")
        constraints = [
            models.CheckConstraint(condition=Q(state__in=[s.value for s in DeliveryState]), name="delivery_state")
        ]
        indexes = [
            models.Index(fields=["endpoint", "id"], condition=Q(state="waiting"), name="delivery_waiting"),
        ]

    def __str__(self) -> str:
        return f"{self.row.event} → {self.endpoint.name}"

    @property
    def attempts(self) -> list[dict[str, Any]]:
        """The last tries, the newest at the end."""
        attempts: list[dict[str, Any]] = json.loads(self.log)
        return attempts


class NoticeQuerySet(models.QuerySet["Notice"]):
    def visible_to(self, user: Viewer) -> Self:
        """One's own, and no others."""
        return self.filter(user=user.pk) if user.is_active else self.none()

    def unread(self) -> Self:
        return self.filter(read_at__isnull=True)

    def newest_first(self) -> Self:
        return self.order_by("-last_at", "-pk")


class Notice(models.Model):
    """What one person is told. While it is unread, more of the same fault is counted in it."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="notices")
    event = models.CharField(max_length=30, choices=[(e.value, e.value) for e in Told])
    fault = models.CharField(max_length=200, blank=True)
    queue = models.ForeignKey(Queue, models.CASCADE, null=True, related_name="+")
    record = models.ForeignKey(Record, models.CASCADE, null=True, related_name="notices")
    escalation_id = models.BigIntegerField(null=True, help_text="the latest one")
    data = models.TextField(default="{}")
    count = models.PositiveIntegerField(default=1)
    first_at = models.DateTimeField()
    last_at = models.DateTimeField()
    read_at = models.DateTimeField(null=True)
    mail = models.CharField(max_length=10, choices=[(s.value, s.value) for s in MailState])
    mail_at = models.DateTimeField(null=True, help_text="when a mail is due")
    mailed_at = models.DateTimeField(null=True, help_text="when the last mail that told of it left")

    objects = NoticeQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["user", "event", "fault"], condition=Q(read_at__isnull=True), name="one_unread_notice"
            ),
            models.CheckConstraint(condition=Q(mail__in=[s.value for s in MailState]), name="notice_mail"),
        ]
        indexes = [
            models.Index(fields=["user", "-last_at", "-id"], name="notice_newest"),
            models.Index(fields=["mail_at"], condition=Q(mail_at__isnull=False), name="notice_mail_due"),
            models.Index(fields=["escalation_id"], name="notice_escalation"),
        ]

    def __str__(self) -> str:
        return f"{self.event} ({self.count})"

    @property
    def facts(self) -> dict[str, Any]:
        facts: dict[str, Any] = json.loads(self.data)
        return facts


class MailChoice(models.Model):
    """When one person wants mail. Who never chose gets it at once."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, models.CASCADE, related_name="mail_choice")
    when = models.CharField(
        _("mail"),
        max_length=10,
        choices=[
            (MailWhen.AT_ONCE.value, _("at once")),
            (MailWhen.DIGEST.value, _("once a day, all in one")),
            (MailWhen.NEVER.value, _("never")),
        ],
        default=MailWhen.AT_ONCE.value,
    )
    digest_at = models.TimeField(_("daily mail at"), default=time(8), help_text=_("In your time zone."))
    quiet_from = models.TimeField(_("quiet from"), null=True, blank=True, help_text=_("No mail from then …"))
    quiet_to = models.TimeField(_("quiet to"), null=True, blank=True, help_text=_("… until then."))

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(when__in=[w.value for w in MailWhen]), name="mail_when"),
            models.CheckConstraint(
                condition=Q(quiet_from__isnull=True, quiet_to__isnull=True)
                | Q(quiet_from__isnull=False, quiet_to__isnull=False),
                name="quiet_from_and_to",
            ),
        ]

    def __str__(self) -> str:
        return str(self.when)
