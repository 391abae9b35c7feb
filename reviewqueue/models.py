"""The people."""

from __future__ import annotations

import zoneinfo

from django.contrib.auth.models import AbstractUser
from django.core.exceptions import ValidationError
from django.db import models
from django.utils.translation import gettext_lazy as _


def validate_time_zone(name: str) -> None:
    if name not in zoneinfo.available_timezones():
        raise ValidationError(_("There is no time zone of that name."))


class User(AbstractUser):
    """A person who reviews, owns queues or administers, with their preferences."""

    class Theme(models.TextChoices):
        SYSTEM = "", _("as the system")
        LIGHT = "light", _("light")
        DARK = "dark", _("dark")

    time_zone = models.CharField(_("time zone"), max_length=60, default="UTC", validators=[validate_time_zone])
    theme = models.CharField(_("theme"), max_length=5, choices=Theme, default=Theme.SYSTEM, blank=True)
    language = models.CharField(_("language"), max_length=10, default="", blank=True)
    keys = models.BooleanField(_("keyboard shortcuts"), default=True)

    @property
    def display_name(self) -> str:
        return self.get_full_name() or self.username

    @property
    def initials(self) -> str:
        return "".join(word[0] for word in self.display_name.split()[:2]).upper()
