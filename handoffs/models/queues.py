"""Queues: named inboxes with an owner."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Self

from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from handoffs.states import Role

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractUser, AnonymousUser

    Viewer = AbstractUser | AnonymousUser

DEFAULT_CLOSE_REASONS = "Duplicate\nNot ours\nSent by mistake\nCannot be repaired"


def sees_all(user: Viewer) -> bool:
    """Admins, and auditors, who see all and change nothing."""
    return user.is_active and (user.is_superuser or is_auditor(user))


def is_auditor(user: Viewer) -> bool:
    return bool(getattr(user, "is_auditor", False))


class QueueQuerySet(models.QuerySet["Queue"]):
    def visible_to(self, user: Viewer) -> Self:
        """The queues that a person is a member of, owns or backs; all of them for an admin or auditor."""
        if not user.is_active:
            return self.none()
        if sees_all(user):
            return self
        return self.filter(Q(pk__in=Membership.objects.filter(user_id=user.pk).values("queue")) | _leads(user))

    def decidable_by(self, user: Viewer) -> Self:
        """The queues in which a person may decide."""
        if not user.is_active or is_auditor(user):
            return self.none()
        if user.is_superuser:
            return self
        deciding = Membership.objects.filter(user_id=user.pk, role__in=[Role.REVIEWER, Role.OWNER])
        return self.filter(Q(pk__in=deciding.values("queue")) | _leads(user))


def _leads(user: Viewer) -> Q:
    return Q(owner_id=user.pk) | Q(backup_id=user.pk)


class Queue(models.Model):
    """A named inbox. It cannot exist without an owner."""

    slug = models.SlugField(_("name"), max_length=100, unique=True)
    title = models.CharField(_("title"), max_length=200)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.PROTECT, related_name="owned_queues", verbose_name=_("owner")
    )
    backup = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.PROTECT,
        related_name="backed_queues",
        null=True,
        blank=True,
        verbose_name=_("backup"),
    )
    members = models.ManyToManyField(settings.AUTH_USER_MODEL, through="Membership", related_name="queues")
    due_within = models.DurationField(
        _("due within"), default=timedelta(days=1), help_text=_("From the escalation to the decision.")
    )
    unread_within = models.DurationField(
        _("unread within"),
        default=timedelta(hours=1),
        help_text=_("Whose first look takes longer is told to the backup."),
    )
    watched_within = models.DurationField(
        _("watched within"),
        default=timedelta(days=1),
        help_text=_("While something waits and no owner or member looks for longer, an alert rings."),
    )
    two_people = models.BooleanField(
        _("two people"),
        default=False,
        help_text=_("Who fixed a record may not approve it as well."),
    )
    last_looked_at = models.DateTimeField(null=True, editable=False, help_text="when an owner or member last looked")
    instructions = models.TextField(
        _("instructions"), blank=True, default="", help_text=_("Shown above every item of the queue.")
    )
    close_reasons = models.TextField(
        _("reasons to close"), default=DEFAULT_CLOSE_REASONS, help_text=_("One on each line.")
    )

    objects = QueueQuerySet.as_manager()

    class Meta:
        verbose_name = _("queue")
        verbose_name_plural = _("queues")

    def __str__(self) -> str:
        return self.title or self.slug

    @property
    def reasons(self) -> list[str]:
        return [line.strip() for line in self.close_reasons.splitlines() if line.strip()]


class Membership(models.Model):
    """What one person may do in one queue."""

    queue = models.ForeignKey(Queue, models.CASCADE, related_name="memberships")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="memberships")
    role = models.CharField(
        _("role"),
        max_length=10,
        choices=[
            (Role.VIEWER.value, _("viewer: sees")),
            (Role.REVIEWER.value, _("reviewer: sees and decides")),
            (Role.OWNER.value, _("owner: sees, decides and looks after the queue")),
        ],
        default=Role.REVIEWER.value,
    )

    class Meta:
        verbose_name = _("member")
        verbose_name_plural = _("members")
        constraints = [
            models.UniqueConstraint(fields=["queue", "user"], name="one_membership"),
            models.CheckConstraint(condition=Q(role__in=[role.value for role in Role]), name="membership_role"),
        ]

    def __str__(self) -> str:
        return f"{self.user} ({self.role})"


def who_answers(queue: Queue, at: datetime) -> list[Any]:
    """Who is to be turned to, the first one first: the owner, the backup, then the admins; none who can't sign in."""
    people = get_user_model().objects.filter(is_active=True)
    leading = people.in_bulk([pk for pk in (queue.owner_id, queue.backup_id) if pk is not None])
    ordered = [leading[pk] for pk in (queue.owner_id, queue.backup_id) if pk in leading]
    admins = people.filter(is_superuser=True).exclude(pk__in=leading).order_by("pk")
    return [*ordered, *admins]


def stands_in(queue: Queue, at: datetime) -> list[Any]:
    """Who is turned to when the owner does not come: the backup, else the admins; the owner where there is nobody."""
    others = [person for person in who_answers(queue, at) if person.pk != queue.owner_id]
    backup = [person for person in others if person.pk == queue.backup_id]
    return backup or others or who_answers(queue, at)[:1]


_QUEUE_IDS: dict[str, int] = {}


def queue_id(slug: str, fallback: int) -> int:
    """The id of a queue by its name. A queue's name never changes, so ids are remembered per process.

    A queue that is not there (`manage.py check --database` says so) gives the fallback.
    """
    if slug not in _QUEUE_IDS:
        _QUEUE_IDS.clear()
        _QUEUE_IDS.update(Queue.objects.values_list("slug", "pk"))
    return _QUEUE_IDS.get(slug, fallback)


def forget_queues() -> None:
    """Read queue ids anew: between two slices of a worker, and between tests."""
    _QUEUE_IDS.clear()
