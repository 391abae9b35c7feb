"""Queues and who looks after them. Every change leaves an audit entry with what was before and after it."""

from __future__ import annotations

from collections.abc import Collection
from datetime import timedelta
from typing import Any

from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from handoffs.actions import audit, outbox
from handoffs.actions.escalations import Person, actor_of
from handoffs.actions.outbox import Telling
from handoffs.errors import UnfitQueue
from handoffs.models import Membership, Queue, sql
from handoffs.models.queues import DEFAULT_CLOSE_REASONS, forget_queues
from handoffs.states import Role, Told

TIMES = ("due_within", "unread_within", "watched_within")
SETTINGS = ("title", "owner", "backup", *TIMES, "two_people", "instructions", "close_reasons")
SYSTEM = "system:setup"


@transaction.atomic
def create_queue(
    *,
    slug: str,
    owner: Person,
    by: Person | None = None,
    title: str = "",
    backup: Person | None = None,
    due_within: timedelta = timedelta(days=1),
    unread_within: timedelta = timedelta(hours=1),
    watched_within: timedelta = timedelta(days=1),
    two_people: bool = False,
    instructions: str = "",
    close_reasons: str = DEFAULT_CLOSE_REASONS,
) -> Queue:
    """Make a queue; `by` is None where an installation sets itself up.

    Raises:
        UnfitQueue: the owner or the backup can't sign in, or there is no reason to close with.
    """
    queue = Queue(
        slug=slug,
        title=title or slug.replace("-", " ").capitalize(),
        owner=owner,
        backup=backup,
        due_within=due_within,
        unread_within=unread_within,
        watched_within=watched_within,
        two_people=two_people,
        instructions=instructions,
        close_reasons=close_reasons,
    )
    _require_fit(queue)
    queue.save(force_insert=True)
    forget_queues()
    audit.note(actor=_actor(by), action="queue.create", subject=queue.slug, after=_facts(queue))
    return queue


@transaction.atomic
def change_queue(*, queue: Queue, by: Person | None = None, is_told: bool = True, **settings: Any) -> Queue:
    """Change some of a queue's SETTINGS; the row as it is then. Its name never changes: flows refer to it.

    A new owner is told, unless the caller does that (`is_told`).

    Raises:
        UnfitQueue: as `create_queue`.
    """
    if unknown := settings.keys() - set(SETTINGS):
        raise TypeError(f"not a setting of a queue: {', '.join(sorted(unknown))}")
    row = Queue.objects.select_for_update(of=("self",)).select_related("owner", "backup").get(pk=queue.pk)
    before = _facts(row)
    for name, value in settings.items():
        setattr(row, name, value)
    _require_fit(row)
    after = _facts(row)
    if audit.note_change(actor=_actor(by), action="queue.change", subject=row.slug, before=before, after=after):
        _save(row, settings)
        if is_told and before["owner"] != after["owner"] and row.owner != by:
            _tell_owner(row)
    return row


def _save(queue: Queue, settings: Collection[str]) -> None:
    try:
        with transaction.atomic():
            queue.save(update_fields=list(settings))
    except IntegrityError as refused:  # shut out at this very moment: the triggers saw it first
        raise UnfitQueue(_("The owner must be somebody who can sign in.")) from refused


def _tell_owner(queue: Queue) -> None:
    """Tell who answers for a queue from now on."""
    data = {"queue": queue.slug, "owner": queue.owner.get_username()}
    fault = f"owner:{queue.slug}"
    people = [queue.owner_id]
    outbox.tell(Telling(Told.OWNER, sql.now(), data, queue_id=queue.pk, people=people, fault=fault))


@transaction.atomic
def set_member(*, queue: Queue, user: Person, role: Role | str, by: Person | None = None) -> Membership:
    """Let a person into a queue, or change what they may do there."""
    role = Role(role).value
    found = Membership.objects.select_for_update().filter(queue=queue, user=user).first()
    if found is not None and found.role == role:
        return found
    before = {user.get_username(): found.role if found else None}
    member, _created = Membership.objects.update_or_create(queue=queue, user=user, defaults={"role": role})
    after = {user.get_username(): role}
    audit.note(actor=_actor(by), action="queue.member", subject=queue.slug, before=before, after=after)
    return member


@transaction.atomic
def remove_member(*, queue: Queue, user: Person, by: Person | None = None) -> None:
    """Take a person out of a queue. Their claims there lapse; what was assigned to them waits to be given on."""
    found = Membership.objects.select_for_update().filter(queue=queue, user=user).first()
    if found is None:
        return
    found.delete()
    before, after = {user.get_username(): found.role}, {user.get_username(): None}
    audit.note(actor=_actor(by), action="queue.member", subject=queue.slug, before=before, after=after)


def _actor(by: Person | None) -> str:
    return actor_of(by) if by is not None else SYSTEM


def _require_fit(queue: Queue) -> None:
    if not queue.owner.is_active:
        raise UnfitQueue(_("The owner must be somebody who can sign in."))
    if queue.backup is not None and not queue.backup.is_active:
        raise UnfitQueue(_("The backup must be somebody who can sign in."))
    if any(getattr(queue, name) <= timedelta(0) for name in TIMES):
        raise UnfitQueue(_("A time within which something is to happen is longer than nothing."))
    if not queue.reasons:
        raise UnfitQueue(_("Name at least one reason to close with."))


def _facts(queue: Queue) -> dict[str, Any]:
    return {
        "title": queue.title,
        "owner": queue.owner.get_username(),
        "backup": queue.backup.get_username() if queue.backup else None,
        **{name: str(getattr(queue, name)) for name in TIMES},
        "two_people": queue.two_people,
        "instructions": queue.instructions,
        "close_reasons": queue.reasons,
    }
