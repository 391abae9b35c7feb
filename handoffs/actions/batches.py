"""Decisions on many escalations at once: the draft with its preview, its begin, its stop, and trying again.

The set is frozen as ids, each with its version, before the preview is shown: what the button counts is what changes.
Nothing here decides; `batch_work` does, one item after the other, through the same actions as a single verdict.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from types import MappingProxyType
from typing import Any, Final

from django.db import transaction
from django.db.models import Count
from django.utils.translation import gettext as _

from handoffs import conf, dispatch
from handoffs.actions import audit
from handoffs.actions.batch_gate import Finding, foresee
from handoffs.actions.escalations import Person, actor_of
from handoffs.engine import as_json
from handoffs.errors import NotAllowed, ReasonRequired, TransitionNotAllowed
from handoffs.models import Batch, BatchItem, Queue, sql
from handoffs.states import BatchState, BatchVerb, ItemState

DRAFT_FOR: Final = timedelta(days=1)  # how long a preview that nobody confirmed is kept
MISSING_KEPT: Final = 200
AGAIN: Final = (ItemState.FAILED.value, ItemState.SKIPPED.value, ItemState.STOPPED.value)


def draft(
    *,
    verb: BatchVerb,
    by: Person,
    escalations: Sequence[int],
    query: str = "",
    origin: Batch | None = None,
    choice: Mapping[str, Any] = MappingProxyType({}),
) -> Batch:
    """Freeze a choice of escalations, with what would become of each now. Nothing is decided yet.

    At most `BULK` are taken, in the order given; what the person may not see is noted as missing. A fix has its `side`
    and its `patch` chosen from the start, since the preview judges what they make of each body.
    """
    now, limit = sql.now(), int(conf.get("BULK"))
    ids = list(dict.fromkeys(escalations))
    findings = list(foresee(ids[:limit], verb=verb, by=by, now=now, choice=choice))
    seen = {finding.escalation_id for finding in findings}
    missing = [pk for pk in ids[:limit] if pk not in seen][:MISSING_KEPT]
    with transaction.atomic():
        batch = Batch.objects.create(
            verb=verb.value,
            state=BatchState.DRAFT.value,
            by=by,
            origin=origin,
            query=query,
            choice=as_json(dict(choice)),
            missing=as_json(missing),
            total=len(findings),
            is_cut=len(ids) > limit,
            made_at=now,
        )
        BatchItem.objects.bulk_create([_item(batch, finding) for finding in findings], batch_size=500)
    return batch


def _item(batch: Batch, finding: Finding) -> BatchItem:
    return BatchItem(
        batch=batch,
        escalation_id=finding.escalation_id,
        version=finding.version,
        state=finding.state.value,
        code=finding.code,
        sentence=finding.sentence,
        fingerprint=finding.fingerprint,
    )


@transaction.atomic
def begin(*, batch: Batch, by: Person, choice: dict[str, Any]) -> bool:
    """Confirm a draft: workers carry it out from here. Whether it was this call that began it.

    `choice` says what the verb needs: reason and note, queue (slug), person (username) or until (ISO).

    Raises:
        NotAllowed: it is somebody else's.
        ReasonRequired: something that the verb needs is missing.
    """
    if batch.by_id != by.pk:
        raise NotAllowed(_("Only who chose them can begin this."))
    needed = NEEDED.get(BatchVerb(batch.verb))
    if needed and not choice.get(needed):
        raise ReasonRequired
    now = sql.now()
    values = {"state": BatchState.RUNNING.value, "begun_at": now, "choice": as_json(batch.chosen | choice)}
    if not Batch.objects.filter(pk=batch.pk, state=BatchState.DRAFT).update(**values):
        return False
    kept = {
        name: value for name, value in choice.items() if name != "note"
    }  # what people typed stays where it can be erased
    facts = {"verb": batch.verb, "items": counts_of(batch), "query": batch.query} | kept
    audit.note(actor=actor_of(by), action="batch_begun", subject=batch.label, after=facts)
    dispatch.ring_after_commit(dispatch.first_job_queue())
    return True


NEEDED: Final = {
    BatchVerb.CLOSE: "reason",
    BatchVerb.TRANSFER: "queue",
    BatchVerb.ASSIGN: "person",
    BatchVerb.SNOOZE: "until",
}


@transaction.atomic
def stop(*, batch: Batch, by: Person) -> None:
    """Leave the items whose turn has not come as they are.

    Raises:
        NotAllowed: it is somebody else's, and the person is no admin.
        TransitionNotAllowed: it does not run.
    """
    if batch.by_id != by.pk and not by.is_superuser:
        raise NotAllowed(_("Only who began it, or an admin, can stop it."))
    now = sql.now()
    if not Batch.objects.running().filter(pk=batch.pk).update(state=BatchState.STOPPED.value, ended_at=now):
        raise TransitionNotAllowed(_("It has ended already."))
    BatchItem.objects.filter(batch=batch, state=ItemState.WAITING).update(state=ItemState.STOPPED.value)
    audit.note(actor=actor_of(by), action="batch_stopped", subject=batch.label, after=counts_of(batch))


def again(*, batch: Batch, by: Person) -> Batch:
    """A new draft of those that were not done, as they are now."""
    left = BatchItem.objects.filter(batch=batch, state__in=AGAIN).order_by("pk")
    ids = list(left.values_list("escalation_id", flat=True))
    return draft(
        verb=BatchVerb(batch.verb), by=by, escalations=ids, query=batch.query, origin=batch, choice=batch.chosen
    )


def counts_of(batch: Batch) -> dict[str, int]:
    """How many items stand where."""
    rows = batch.items.values_list("state").annotate(n=Count("pk")).order_by("state")
    return {state.value: 0 for state in ItemState} | dict(rows)


def queues_of(batch: Batch) -> list[Queue]:
    """The queues of the items whose turn comes."""
    waiting = batch.items.filter(state=ItemState.WAITING).values("escalation__queue")
    return list(Queue.objects.filter(pk__in=waiting).order_by("title", "pk"))


def forget_drafts() -> int:
    """Drop the previews that nobody confirmed; how many rows."""
    old = Batch.objects.filter(state=BatchState.DRAFT, made_at__lt=sql.now() - DRAFT_FOR)
    return old.delete()[0]
