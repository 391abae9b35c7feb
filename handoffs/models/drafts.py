"""What a person typed and did not send yet."""

from __future__ import annotations

import json

from django.conf import settings
from django.db import models

from handoffs.models.escalations import Escalation


class Draft(models.Model):
    """The fields of one person's form for one escalation, as the browser sent them; gone with their verdict."""

    escalation = models.ForeignKey(Escalation, models.CASCADE, related_name="drafts")
    author = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="drafts")
    verb = models.CharField(max_length=10)
    side = models.CharField(max_length=10)
    data = models.TextField(help_text="JSON: name of a field to what was typed")
    saved_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["escalation", "author"], name="one_draft")]

    def __str__(self) -> str:
        return f"{self.escalation_id} {self.verb}"

    @property
    def typed(self) -> dict[str, str]:
        found: dict[str, str] = json.loads(self.data)
        return found
