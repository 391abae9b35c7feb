"""Who has an escalation: claim, take next, release, transfer, assign, snooze, comment.

Every change is a compare-and-set on the escalation's version, with one history row of the record. The record's row is
locked first, here and in the verdicts, so that two people never wait for each other in a circle.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth import get_user_model
from django.db import transaction
from django.db.models import Case, F, Q, Value, When
from django.db.models.functions import Coalesce
from django.utils.translation import gettext as _

from handoffs import conf
from handoffs.actions import outbox
from handoffs.actions.plans import Plan
from handoffs.actions.writing import carry_out
from handoffs.errors import LostRace, NotAllowed, TransitionNotAllowed
from handoffs.flows import get_flow
from handoffs.models import Comment, Escalation, Membership, Queue, Record, StepResult, sql
from handoffs.models.escalations import EscalationQuerySet
from handoffs.models.moves import lock
from handoffs.models.queues import is_auditor
from handoffs.states import ESCALATION_TRANSITIONS, EscalationEvent, EscalationState, Event, Role

Person = Any  # AUTH_USER_MODEL


def actor_of(person: Person) -> str:
    """How a person is named in the history."""
    return f"reviewer:{person.get_username()}"


@dataclass(frozen=True, slots=True)
class Held:
    """An escalation and its record's plan, both locked and as they are now."""

    escalation: Escalation
    plan: Plan


def hold(*, escalation_id: int, version: int | None, by: Person) -> Held:
    """Lock an escalation's record, then the escalation, and check that it is what the person saw.

    Raises:
        NotAllowed: the person may not decide in its queue.
        LostRace: somebody changed it first; the message says who and how.
    """
    at = sql.now()
    record_id = Escalation.objects.values_list("record_id", flat=True).get(pk=escalation_id)
    row = lock([record_id])[record_id]
    escalation = (
        Escalation.objects.select_for_update(of=("self",)).select_related("record", "queue").get(pk=escalation_id)
    )
    require_decider(by, escalation.queue)
    if version is not None and escalation.version != version:
        raise LostRace(who_was_first(escalation))
    return Held(escalation, Plan(row, get_flow(row.flow), at, actor_of(by)))


def require_decider(person: Person, queue: Queue) -> None:
    if not Queue.objects.decidable_by(person).filter(pk=queue.pk).exists():
        raise NotAllowed(_("You may look at this queue, but not decide in it."))


def who_was_first(escalation: Escalation) -> str:
    if escalation.is_resolved and escalation.resolved_by:
        return _("%(name)s decided it (%(what)s) before you.") % {
            "name": escalation.resolved_by.get_full_name() or escalation.resolved_by.get_username(),
            "what": escalation.get_resolution_display(),
        }
    if escalation.assignee:
        name = escalation.assignee.get_full_name() or escalation.assignee.get_username()
        return _("%(name)s has it now.") % {"name": name}
    return _("It was changed after you opened it.")


def change(held: Held, event: EscalationEvent, **values: Any) -> None:
    """Move an escalation by its table, compare and set on its version.

    Raises:
        TransitionNotAllowed: its state does not allow that.
    """
    escalation = held.escalation
    state = EscalationState(escalation.state)
    new = ESCALATION_TRANSITIONS.get((state, event))
    if new is None:
        raise TransitionNotAllowed(_("An escalation that is %(state)s does not allow that.") % {"state": state})
    values = {"state": new.value, "version": F("version") + 1} | values
    if not Escalation.objects.filter(pk=escalation.pk, version=escalation.version, state=state).update(**values):
        raise LostRace(who_was_first(escalation))
    if escalation.result_id is not None and event in {EscalationEvent.RESOLVE, EscalationEvent.UNDO}:
        awaits = event is EscalationEvent.UNDO
        StepResult.objects.filter(pk=escalation.result_id).update(awaits=awaits)


def is_held_by_another(escalation: Escalation, person: Person, now: datetime) -> bool:
    """Whether somebody else has it: assigned, or claimed and the claim has not run out."""
    if escalation.state != EscalationState.CLAIMED or escalation.assignee_id == person.pk:
        return False
    return escalation.assigned or (escalation.claimed_until is not None and escalation.claimed_until > now)


def _note(held: Held, event: Event, code: str = "") -> None:
    held.plan.happen(event, held.plan.status, code=code)
    carry_out([held.plan], held.plan.at)


def _claimed_until(at: datetime) -> datetime:
    return at + timedelta(seconds=conf.get("CLAIM"))


def _claim_values(person: Person, at: datetime) -> dict[str, Any]:
    return {
        "assignee": person,
        "claimed_until": _claimed_until(at),
        "assigned": False,
        "snoozed_until": None,
    }


@transaction.atomic
def claim(*, escalation_id: int, by: Person, version: int | None = None, take_over: bool = False) -> None:
    """Take an escalation; with `take_over`, from somebody else, which the history shows.

    Raises:
        LostRace: somebody else has it.
        NotAllowed, TransitionNotAllowed: see `hold` and `change`.
    """
    held = hold(escalation_id=escalation_id, version=version, by=by)
    taken = is_held_by_another(held.escalation, by, held.plan.at)
    if taken and not take_over:
        raise LostRace(who_was_first(held.escalation))
    change(held, EscalationEvent.CLAIM, **_claim_values(by, held.plan.at))
    _note(held, Event.CLAIM, "taken_over" if taken else "")


@transaction.atomic
def take_next(*, view: EscalationQuerySet, by: Person) -> int | None:
    """Claim the most urgent item of a view that nobody has; its id, or None where there is none left."""
    at = sql.now()
    candidates = view.decidable_by(by).takeable(at).most_urgent_first().select_related("record").only("record__id")
    # Both rows, and never waiting: a verdict locks the record first, so waiting for it here could be a circle.
    chosen = candidates.select_for_update(skip_locked=True, of=("self", "record")).first()
    if chosen is None:
        return None
    found = chosen.pk
    held = hold(escalation_id=found, version=None, by=by)
    change(held, EscalationEvent.CLAIM, **_claim_values(by, at))
    _note(held, Event.CLAIM)
    return found


@transaction.atomic
def release(*, escalation_id: int, by: Person) -> None:
    """Hand one's own escalation back to its queue. An owner may release anybody's."""
    held = hold(escalation_id=escalation_id, version=None, by=by)
    own = held.escalation.assignee_id == by.pk
    if not own and held.escalation.queue.owner_id != by.pk and not by.is_superuser:
        raise NotAllowed(_("Only who has it, or the queue's owner, can release it."))
    change(held, EscalationEvent.RELEASE, assignee=None, claimed_until=None, assigned=False)
    _note(held, Event.RELEASE)


@transaction.atomic
def transfer(*, escalation_id: int, by: Person, to: Queue, version: int | None = None) -> None:
    """Move an escalation to another queue; nobody has it there, and its due time starts anew."""
    held = hold(escalation_id=escalation_id, version=version, by=by)
    due = held.plan.at + to.due_within
    change(held, EscalationEvent.TRANSFER, queue=to, assignee=None, claimed_until=None, assigned=False, due_at=due)
    held.plan.set(queue_id=to.pk)
    _note(held, Event.TRANSFER, to.slug)


@transaction.atomic
def assign(*, escalation_id: int, by: Person, to: Person, version: int | None = None) -> None:
    """Give an escalation to somebody who may decide in its queue; it stays with them."""
    held = hold(escalation_id=escalation_id, version=version, by=by)
    if not Queue.objects.decidable_by(to).filter(pk=held.escalation.queue_id).exists():
        raise NotAllowed(_("That person may not decide in this queue."))
    change(held, EscalationEvent.ASSIGN, assignee=to, claimed_until=None, assigned=True)
    _note(held, Event.ASSIGN, to.get_username()[:60])
    outbox.assigned(held.escalation, to, by, held.plan.at)


@transaction.atomic
def snooze(*, escalation_id: int, by: Person, until: datetime, version: int | None = None) -> None:
    """Hide an escalation until a time."""
    held = hold(escalation_id=escalation_id, version=version, by=by)
    if until <= held.plan.at:
        raise TransitionNotAllowed(_("That time has passed."))
    change(held, EscalationEvent.SNOOZE, snoozed_until=until, assignee=None, claimed_until=None, assigned=False)
    _note(held, Event.SNOOZE)


@transaction.atomic
def comment(*, record: Record, by: Person, text: str) -> Comment:
    """Write a comment to a record; whoever may see it may comment."""
    if is_auditor(by) or not Record.objects.visible_to(by).filter(pk=record.pk).exists():
        raise NotAllowed(_("You may look at this queue, and change nothing."))
    lock([record.pk])  # first, as everywhere: else the comment's row would wait for it with the escalation held
    _renew_claims(by, record.escalations.unresolved())
    return Comment.objects.create(record=record, author=by, text=text, written_at=sql.now())


def _renew_claims(person: Person, escalations: EscalationQuerySet) -> None:
    _free(escalations.filter(assignee=person, assigned=False)).update(claimed_until=_claimed_until(sql.now()))


def _free(found: EscalationQuerySet) -> EscalationQuerySet:
    """Those that nobody else is changing now, locked: to wait for several, each in its own order, could be a circle."""
    ids = found.order_by("pk").select_for_update(skip_locked=True).values_list("pk", flat=True)
    return Escalation.objects.filter(pk__in=list(ids))


@transaction.atomic
def looked_at(*, escalations: Iterable[int], by: Person) -> None:
    """Note the first look at open escalations by somebody who may decide, and renew that person's own claim."""
    now = sql.now()
    mine = Q(assignee=by, assigned=False)
    found = Escalation.objects.unresolved().filter(Q(first_seen_at__isnull=True) | mine, pk__in=list(escalations))
    # One update: at a second one of the same row, PostgreSQL would look at its record again, which waits for verdicts.
    _free(found).update(
        first_seen_at=Coalesce("first_seen_at", Value(now)),
        claimed_until=Case(When(mine, then=Value(_claimed_until(now))), default=F("claimed_until")),
    )


def people_of(queue: Queue) -> list[Person]:
    """The people who may decide in a queue, by name."""
    members = Membership.objects.filter(queue=queue, role__in=[Role.REVIEWER, Role.OWNER]).values("user")
    deciding = Q(is_superuser=True) | Q(pk__in=[queue.owner_id, queue.backup_id]) | Q(pk__in=members)
    people = get_user_model().objects.filter(deciding, is_active=True)
    return list(people.order_by("first_name", "username", "pk"))
