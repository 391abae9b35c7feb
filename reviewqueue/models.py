"""The people, and the views of the inbox that they keep."""

from __future__ import annotations

import zoneinfo

from django.contrib.auth.models import AbstractUser
from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from handoffs.models import Queue


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
    is_auditor = models.BooleanField(
        _("auditor"), default=False, help_text=_("Sees everything in every queue, and changes nothing.")
    )
    keys = models.BooleanField(_("keyboard shortcuts"), default=True)
    stays = models.BooleanField(_("stay on the page after a decision"), default=False)
    home = models.ForeignKey(
        "SavedView", models.SET_NULL, null=True, blank=True, related_name="+", help_text="what opens first"
    )

    @property
    def display_name(self) -> str:
        return self.get_full_name() or self.username

    @property
    def initials(self) -> str:
        return "".join(word[0] for word in self.display_name.split()[:2]).upper()


class SavedViewQuerySet(models.QuerySet["SavedView"]):
    def visible_to(self, user: User) -> SavedViewQuerySet:
        """One's own, and those of the queues that one may see."""
        return self.filter(Q(maker=user.pk, queue__isnull=True) | Q(queue__in=Queue.objects.visible_to(user)))


class SavedView(models.Model):
    """Filters of the inbox under a name: of one person, or of all who see a queue."""

    title = models.CharField(_("name"), max_length=60)
    query = models.TextField(help_text="as it stands in the address")
    maker = models.ForeignKey(User, models.CASCADE, related_name="views")
    queue = models.ForeignKey(Queue, models.CASCADE, null=True, related_name="+", help_text="null: its maker's own")
    made_at = models.DateTimeField()

    objects = SavedViewQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["maker", "title"], condition=Q(queue__isnull=True), name="one_own_view"),
            models.UniqueConstraint(fields=["queue", "title"], condition=Q(queue__isnull=False), name="one_queue_view"),
        ]

    def __str__(self) -> str:
        return self.title

    def may_change(self, user: User) -> bool:
        """Its maker; of a queue's view its owner and admins too."""
        leads = self.queue is not None and self.queue.owner_id == user.pk
        return self.maker_id == user.pk or leads or user.is_superuser
