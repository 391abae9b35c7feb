"""Drafts: what a person typed and does not want to send yet."""

from __future__ import annotations

from collections.abc import Mapping

from django.db import transaction
from django.utils.translation import gettext as _

from handoffs.actions import escalations
from handoffs.actions.escalations import Person, require_decider
from handoffs.engine import as_json
from handoffs.errors import TransitionNotAllowed
from handoffs.models import Draft, Escalation, sql
from handoffs.states import EscalationState


@transaction.atomic
def save(*, escalation_id: int, by: Person, verb: str, side: str, typed: Mapping[str, str]) -> Draft:
    """Keep what a person typed, in the place of what they kept before. Who writes has it, if nobody had it.

    Raises:
        NotAllowed: the person may not decide in its queue.
        TransitionNotAllowed: it is decided.
        LostRace: somebody took it at this very moment.
    """
    escalation = Escalation.objects.select_related("queue").get(pk=escalation_id)
    require_decider(by, escalation.queue)
    if escalation.is_resolved:
        raise TransitionNotAllowed(_("It is decided."))
    if escalation.state == EscalationState.OPEN:
        escalations.claim(escalation_id=escalation_id, by=by)
    values = {"verb": verb, "side": side, "data": as_json(dict(typed)), "saved_at": sql.now()}
    draft, _made = Draft.objects.update_or_create(escalation=escalation, author=by, defaults=values)
    return draft


def discard(*, escalation_id: int, by: Person) -> None:
    """Throw one's own draft away, if there is one."""
    Draft.objects.filter(escalation=escalation_id, author=by).delete()
