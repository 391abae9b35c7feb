"""Shutting a person out: what they answered for and what they had goes to others, in the same transaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.db.models import F, Q
from django.utils.translation import gettext as _

from handoffs.actions import audit, outbox, queues
from handoffs.actions.escalations import Person, actor_of
from handoffs.actions.outbox import Telling
from handoffs.actions.plans import Plan
from handoffs.actions.writing import carry_out
from handoffs.errors import NoSuccessor
from handoffs.flows import declared
from handoffs.models import AuditEntry, Escalation, Queue, sql
from handoffs.models.moves import lock
from handoffs.states import EscalationState, Event, Told

AUDIT = ("happened_at", "actor", "action", "subject", "before", "after")


@dataclass(frozen=True, slots=True)
class HandedOver:
    """What went to others: queues, open items in them, and items that the person had."""

    queues: int
    items: int
    released: int


@transaction.atomic
def shut_out(*, person: Person, by: Person, to: Person | None = None) -> HandedOver:
    """Let a person no longer sign in. Their queues go to `to`, else to each queue's backup; what they had is anybody's.

    Every open item has another owner in the same transaction, with an audit entry each; sessions end at once.

    Raises:
        NoSuccessor: a queue has no backup who can sign in, and nobody was named.
    """
    at = sql.now()
    _lock(person)
    given = _successors(person, to)
    items = _note_items(given, person, by, at)
    _give(given, person, by)
    released = _release(person, by, at)
    person.is_active = False
    person.save(update_fields=["is_active"])
    handed = HandedOver(len(given), sum(items.values()), released)
    after = {"is_active": False, "queues": handed.queues, "items": handed.items, "released": handed.released}
    audit.note(
        actor=actor_of(by), action="person.shut_out", subject=person.get_username(),
        before={"is_active": True}, after=after,
    )  # fmt: skip
    _tell(given, items, person, at)
    return handed


def _lock(person: Person) -> None:
    """Their queues, then the person: the order in which a change of a queue's owner takes them."""
    around = Queue.objects.filter(Q(owner=person) | Q(backup=person))
    list(around.select_for_update().order_by("pk").values_list("pk"))
    type(person).objects.select_for_update().get(pk=person.pk)


def _successors(person: Person, to: Person | None) -> dict[Queue, Person]:
    """Who takes over each of a person's queues. Raises `NoSuccessor`."""
    owned = Queue.objects.filter(owner=person).select_related("backup").select_for_update(of=("self",)).order_by("pk")
    found = {queue: to or queue.backup for queue in owned}
    given = {q: heir for q, heir in found.items() if heir is not None and heir.is_active and heir.pk != person.pk}
    if left := [str(queue) for queue in found if queue not in given]:
        raise NoSuccessor(_("First give these queues another owner: %(names)s.") % {"names": ", ".join(left)})
    return given


def _give(given: dict[Queue, Person], person: Person, by: Person) -> None:
    """Each queue to its successor; where somebody was the backup there is none."""
    for queue, successor in given.items():
        alone = {"backup": None} if queue.backup_id == successor.pk else {}
        queues.change_queue(queue=queue, by=by, is_told=False, owner=successor, **alone)
    for queue in Queue.objects.filter(backup=person).order_by("pk"):
        queues.change_queue(queue=queue, by=by, backup=None)


def _note_items(given: dict[Queue, Person], person: Person, by: Person, at: datetime) -> dict[int, int]:
    """An audit entry for each open item of these queues; how many there are, by queue."""
    names = {queue.pk: successor.get_username() for queue, successor in given.items()}
    open_items = list(Escalation.objects.unresolved().filter(queue__in=names).order_by("pk").values_list("pk", "queue"))
    was = audit.as_json({"owner": person.get_username()})
    rows = [
        [at, actor_of(by)[:150], "escalation.owner", f"ESC-{pk}", was, audit.as_json({"owner": names[queue]})]
        for pk, queue in open_items
    ]
    sql.insert(AuditEntry, AUDIT, rows)
    counted = dict.fromkeys(names, 0)
    for _pk, queue in open_items:
        counted[queue] += 1
    return counted


def _release(person: Person, by: Person, at: datetime) -> int:
    """Hand back to their queues what a person had claimed or was assigned; how much it was."""
    held = Escalation.objects.unresolved().filter(assignee=person)
    rows = lock(list(held.order_by("record").values_list("record", flat=True)))
    mine = list(held.select_for_update(of=("self",)).order_by("pk").values_list("pk", "record"))
    Escalation.objects.filter(pk__in=[pk for pk, _record in mine]).update(
        state=EscalationState.OPEN.value,
        assignee=None,
        claimed_until=None,
        assigned=False,
        version=F("version") + 1,
    )
    known = declared()
    plans = [
        Plan(rows[record], known[rows[record].flow], at, actor_of(by))
        for _pk, record in mine
        if rows[record].flow in known
    ]
    for plan in plans:
        plan.happen(Event.RELEASE, plan.status, code="shut_out")
    if plans:
        carry_out(plans, at)
    return len(mine)


def _tell(given: dict[Queue, Person], items: dict[int, int], person: Person, at: datetime) -> None:
    """One telling for each successor."""
    heirs: dict[int, list[Queue]] = {}
    for queue, successor in given.items():
        heirs.setdefault(successor.pk, []).append(queue)
    outbox.tell(*(_told(heir, taken, items, person, at) for heir, taken in sorted(heirs.items())))


def _told(heir: int, taken: Sequence[Queue], items: dict[int, int], person: Person, at: datetime) -> Telling:
    count = sum(items[queue.pk] for queue in taken)
    data = {"name": person.get_full_name() or person.get_username(), "queues": len(taken), "items": count}
    return Telling(Told.HANDED_OVER, at, data, people=[heir], fault=f"handed_over:{person.pk}")
