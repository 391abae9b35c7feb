"""Agents outside: their tokens, and the answers that a repeated request gets again."""

from __future__ import annotations

import hashlib
import secrets
from datetime import datetime
from functools import cached_property

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from handoffs import scopes
from handoffs.scopes import Scope, Verb

_NOBODY = hashlib.sha256(b"nobody").hexdigest()


class AgentToken(models.Model):
    """The right of one agent to use the API. Of its secrets only the SHA-256 is kept."""

    name = models.CharField(_("agent"), max_length=100, unique=True, help_text=_("As it stands in every history."))
    public_id = models.CharField(_("token"), max_length=20, unique=True)
    digest = models.CharField(max_length=64, help_text="SHA-256 of the secret, hexadecimal")
    old_digest = models.CharField(max_length=64, blank=True, help_text="of the secret before the last rotation")
    old_until = models.DateTimeField(null=True, help_text="until when the old secret is taken")
    scopes = models.TextField(_("scopes"), help_text=_("One on each line, like “tickets/classify: work, read”."))
    requests_per_minute = models.PositiveIntegerField(
        _("requests per minute"), null=True, blank=True, help_text=_("Empty: the installation's limit.")
    )
    made_at = models.DateTimeField(_("made"))
    made_by = models.CharField(max_length=150)
    expires_at = models.DateTimeField(_("expires"), null=True, blank=True)
    revoked_at = models.DateTimeField(_("revoked"), null=True)
    revoked_by = models.CharField(max_length=150, blank=True)
    last_used_at = models.DateTimeField(_("last used"), null=True, help_text="to the minute")

    class Meta:
        verbose_name = _("agent token")
        verbose_name_plural = _("agent tokens")

    def __str__(self) -> str:
        return f"{self.name} (hf_{self.public_id}_…)"

    @property
    def actor(self) -> str:
        """How the agent is named in the history."""
        return f"agent:{self.name}"

    @cached_property
    def granted(self) -> tuple[Scope, ...]:
        return scopes.parse(self.scopes)

    def allows(self, verb: Verb, flow: str, step: str | None = None) -> bool:
        return any(scope.allows(verb, flow, step) for scope in self.granted)

    def knows(self, flow: str) -> bool:
        """Whether any scope names the flow at all: to others its records do not exist."""
        return any(scope.covers_flow(flow) for scope in self.granted)

    def takes(self, secret: str, now: datetime) -> bool:
        """Whether the secret is right and the token may be used. Both digests are always compared."""
        sent = digest_of(secret)
        new, old = secrets.compare_digest(sent, self.digest), secrets.compare_digest(sent, self.old_digest or _NOBODY)
        rotating = self.old_until is not None and self.old_until > now
        living = self.revoked_at is None and (self.expires_at is None or self.expires_at > now)
        return living and (new or (old and rotating))


def digest_of(secret: str) -> str:
    """SHA-256, hexadecimal. A secret has 256 random bits, so a slow hash would add nothing."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def compare_with_nobody(secret: str) -> None:
    """What an unknown token costs, so that the time says nothing about which ids exist."""
    secrets.compare_digest(digest_of(secret), _NOBODY)
    secrets.compare_digest(digest_of(secret), _NOBODY)


class IdempotencyKey(models.Model):
    """What a request with an `Idempotency-Key` was answered, to answer it again; written in its own commit."""

    token = models.ForeignKey(AgentToken, models.CASCADE, related_name="keys")
    key = models.CharField(max_length=255)
    request = models.CharField(max_length=64, help_text="SHA-256 of method, path, query and body, hexadecimal")
    status = models.PositiveSmallIntegerField(default=0, help_text="0: not answered yet")
    headers = models.TextField(default="{}")
    body = models.TextField(blank=True)
    answered_at = models.DateTimeField()
    replayed = models.PositiveIntegerField(default=0, help_text="how often it was answered again")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["token", "key"], name="one_idempotency_key"),
            models.CheckConstraint(condition=Q(status=0) | Q(status__gte=200, status__lt=500), name="no_5xx_is_stored"),
        ]
        indexes = [models.Index(fields=["answered_at"], name="idempotency_age")]

    def __str__(self) -> str:
        return self.key
