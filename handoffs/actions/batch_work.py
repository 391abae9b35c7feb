"""Carrying batches out: each item by itself, through the very action that a single verdict uses.

An item's new state and what the verdict writes are one transaction, so a worker that is killed leaves an item either
done or untouched, and the next one goes on where it ended. Several workers may share a batch.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Final

from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import Error as DatabaseError
from django.db import transaction
from django.db.models import Exists, OuterRef
from django.utils import translation
from django.utils.translation import gettext as _

from handoffs.actions import audit, escalations, verdicts
from handoffs.actions.batch_gate import fixed, said_of
from handoffs.actions.batches import counts_of
from handoffs.actions.escalations import Person, actor_of
from handoffs.actions.verdicts import Seen
from handoffs.crashpoints import reach
from handoffs.errors import ContractBroken, HandoffsError, LostRace, NotAllowed, TransitionNotAllowed
from handoffs.models import Batch, BatchItem, Escalation, Queue, Record, sql
from handoffs.states import BatchState, BatchVerb, ItemState, Side

logger = logging.getLogger(__name__)
LEFT: Final = (LostRace, NotAllowed, TransitionNotAllowed)  # somebody else's doing: it is left as it is

Chosen = Mapping[str, Any]
Act = Callable[[BatchItem, Person, Chosen], object]


def work_off(*, limit: int, is_stopped: Callable[[], bool] = lambda: False) -> int:
    """Decide up to `limit` items of the batches that run, an equal share of each; how many were decided."""
    running = list(Batch.objects.running().select_related("by").order_by("pk"))
    decided = 0
    for batch in running:
        share = max(1, limit // len(running))
        with translation.override(getattr(batch.by, "language", "") or settings.LANGUAGE_CODE):
            while share and not is_stopped() and _decide_next(batch):
                share, decided = share - 1, decided + 1
        if share and not is_stopped():
            _end(batch)
    return decided


def is_waiting() -> bool:
    """Whether there is a batch to be carried out."""
    return Batch.objects.running().exists()


@transaction.atomic
def _decide_next(batch: Batch) -> bool:
    """Decide the next item that no other worker has; False where there is none."""
    waiting = BatchItem.objects.filter(batch=batch, batch__state=BatchState.RUNNING, state=ItemState.WAITING)
    item = waiting.select_for_update(skip_locked=True, of=("self",)).order_by("pk").first()
    if item is None:
        return False
    values = _outcome(item, batch)
    BatchItem.objects.filter(pk=item.pk).update(**values, ended_at=sql.now())
    reach("in_batch")
    return True


def _outcome(item: BatchItem, batch: Batch) -> dict[str, Any]:
    """Give the verdict, or say why not: then nothing of it is written."""
    try:
        with transaction.atomic():
            ACTS[BatchVerb(batch.verb)](item, batch.by, batch.chosen)
    except LEFT as error:
        return {"state": ItemState.SKIPPED.value, "code": error.code, "sentence": str(error)}
    except ContractBroken as error:
        return {"state": ItemState.FAILED.value, "code": error.code, "sentence": said_of(error.violations)}
    except HandoffsError as error:
        return {"state": ItemState.FAILED.value, "code": error.code, "sentence": str(error)}
    except DatabaseError:
        raise  # the database's trouble is not the item's: its turn comes again
    except Exception as error:
        # A flow's own code ran; one item must not hold up the others for ever.
        logger.exception("item %s of %s failed", item.pk, batch.label)
        sentence = _("The flow's own code failed (%(error)s).") % {"error": type(error).__name__}
        return {"state": ItemState.FAILED.value, "code": "error", "sentence": sentence}
    seq = Record.objects.filter(escalations=item.escalation_id).values_list("seq", flat=True).get()
    return {"state": ItemState.DONE.value, "seq": seq}


@transaction.atomic
def _end(batch: Batch) -> None:
    """Close a batch of which nothing waits; another worker may hold its last item."""
    waiting = BatchItem.objects.filter(batch=OuterRef("pk"), state=ItemState.WAITING)
    ended = Batch.objects.running().filter(~Exists(waiting), pk=batch.pk)
    if ended.update(state=BatchState.ENDED.value, ended_at=sql.now()):
        audit.note(actor=actor_of(batch.by), action="batch_ended", subject=batch.label, after=counts_of(batch))


# --- what each verb does to one item ---------------------------------------------------------------------------------


def _seen(item: BatchItem) -> Seen:
    return Seen(item.version)


def _retry(item: BatchItem, by: Person, chosen: Chosen) -> object:
    return verdicts.retry(escalation_id=item.escalation_id, by=by, seen=_seen(item))


def _approve(item: BatchItem, by: Person, chosen: Chosen) -> object:
    return verdicts.approve(escalation_id=item.escalation_id, by=by, seen=_seen(item))


def _close(item: BatchItem, by: Person, chosen: Chosen) -> object:
    reason, note = chosen["reason"], chosen.get("note", "")
    return verdicts.close(escalation_id=item.escalation_id, by=by, seen=_seen(item), reason=reason, note=note)


def _transfer(item: BatchItem, by: Person, chosen: Chosen) -> object:
    to = Queue.objects.filter(slug=chosen["queue"]).first()
    if to is None:
        raise TransitionNotAllowed(_("That queue is gone."))
    return escalations.transfer(escalation_id=item.escalation_id, by=by, to=to, version=item.version)


def _assign(item: BatchItem, by: Person, chosen: Chosen) -> object:
    to = get_user_model().objects.filter(username=chosen["person"], is_active=True).first()
    if to is None:
        raise NotAllowed(_("That person can't sign in any more."))
    return escalations.assign(escalation_id=item.escalation_id, by=by, to=to, version=item.version)


def _snooze(item: BatchItem, by: Person, chosen: Chosen) -> object:
    until = datetime.fromisoformat(chosen["until"])
    return escalations.snooze(escalation_id=item.escalation_id, by=by, until=until, version=item.version)


def _fix(item: BatchItem, by: Person, chosen: Chosen) -> object:
    escalation = Escalation.objects.select_related("record", "result").get(pk=item.escalation_id)
    body = fixed(escalation, escalation.record, chosen)
    side = Side(chosen["side"])
    return verdicts.fix(escalation_id=escalation.pk, by=by, seen=_seen(item), body=body, side=side)


ACTS: Final[dict[BatchVerb, Act]] = {
    BatchVerb.FIX: _fix,
    BatchVerb.RETRY: _retry,
    BatchVerb.APPROVE: _approve,
    BatchVerb.CLOSE: _close,
    BatchVerb.TRANSFER: _transfer,
    BatchVerb.ASSIGN: _assign,
    BatchVerb.SNOOZE: _snooze,
}
