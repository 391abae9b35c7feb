"""The outbox: what is to be told, written in the transaction of what it tells of.

`tell` is all that other actions need. Telling is done later (`spreading`, `deliveries`, `handoffs.sender`), so that no
endpoint and no mail server can stop a move.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from handoffs import conf
from handoffs.asks import FLOW as ASKS
from handoffs.models import Comment, Endpoint, Escalation, OutboxRow, Queue, Record, StepResult, sql
from handoffs.models.outbox import new_id
from handoffs.states import Kind, Outcome, Resolution, Told

Person = Any  # AUTH_USER_MODEL
LONGEST_ANSWER = 50_000  # characters that go out with an event; a longer one is fetched
COLUMNS = (
    "uid", "event", "fault", "queue_id", "record_id", "escalation_id", "endpoint_id", "to_owner", "people", "data",
    "happened_at", "available_at",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Telling:
    """One thing to be told. `data` holds ids and codes, and, but for answers, never what a body says.

    It goes to every endpoint that wants the event (or to `endpoint` alone), to whoever answers for the queue
    (`to_owner`), and to `people` (ids). A person is told things of the same `fault` as one.
    """

    event: Told
    at: datetime
    data: Mapping[str, Any] = field(default_factory=dict)
    queue_id: int | None = None
    record_id: int | None = None
    escalation_id: int | None = None
    fault: str = ""
    to_owner: bool = False
    people: Sequence[int] = ()
    endpoint: Endpoint | None = None
    delay: timedelta = timedelta(0)


def tell(*tellings: Telling) -> None:
    """Put these into the outbox, within the caller's transaction, in their order."""
    sql.insert(OutboxRow, COLUMNS, [_row(telling) for telling in tellings])


def _row(t: Telling) -> list[Any]:
    return [
        new_id(),
        t.event.value,
        t.fault[:200],
        t.queue_id,
        t.record_id,
        t.escalation_id,
        t.endpoint.pk if t.endpoint else None,
        t.to_owner,
        json.dumps(list(t.people)),
        json.dumps(dict(t.data), ensure_ascii=False, sort_keys=True),
        t.at,
        t.at + t.delay,
    ]


def opened(values: Mapping[str, Any], *, pk: int, external_id: str | None, queue: Queue, at: datetime) -> Telling:
    """An escalation of these columns was opened: its owner is told, one fault as one."""
    place = f"{values['flow']}/{values['step']}/{values['kind']}"
    data = {
        "escalation": pk,
        "record": values["record_id"],
        "external_id": external_id,
        "queue": queue.slug,
        **{name: values.get(name) or "" for name in ("flow", "step", "kind", "code", "pointer")},
        "priority": values.get("priority") or 0,
        "due_at": values["due_at"].isoformat(),
    }
    return Telling(
        Told.OPENED,
        at,
        data,
        queue_id=values["queue_id"],
        record_id=values["record_id"],
        escalation_id=pk,
        fault=f"{queue.slug}:{values.get('fingerprint') or place}",
        to_owner=True,
    )


def facts_of(escalation: Escalation) -> dict[str, Any]:
    """What a webhook says of an escalation."""
    return {
        "escalation": escalation.pk,
        "record": escalation.record_id,
        "external_id": escalation.record.external_id,
        "queue": escalation.queue.slug,
        **{name: getattr(escalation, name) for name in ("flow", "step", "kind", "code", "pointer", "priority")},
        "due_at": escalation.due_at.isoformat(),
    }


def resolved(escalation: Escalation, by: Person) -> None:
    """A verdict was given; told when it can no longer be taken back."""
    more = {"resolution": escalation.resolution, "close_reason": escalation.close_reason, "by": by.get_username()}
    if escalation.resolved_at is None:
        raise ValueError("only a resolved escalation is told as one")
    at, delay = escalation.resolved_at, timedelta(seconds=conf.get("UNDO"))
    tellings = [about(Told.RESOLVED, escalation, at, more, delay=delay)]
    if escalation.resolution == Resolution.ANSWER and (escalation.flow == ASKS or escalation.kind == Kind.ASKED):
        tellings.append(about(Told.ANSWERED, escalation, at, _answered(escalation, by), delay=delay))
    tell(*tellings)


def _answered(escalation: Escalation, by: Person) -> dict[str, Any]:
    """What a person answered, who and when: the one thing written by people that leaves here, for who asked for it."""
    given = StepResult.objects.filter(record=escalation.record_id, outcome=Outcome.ANSWERED, superseded=False)
    text = given.order_by("-pk").values_list("output", flat=True).first() or "null"
    answer = json.loads(text) if len(text) <= LONGEST_ANSWER else None
    return {
        "answer": answer["answer"] if isinstance(answer, dict) and escalation.flow == ASKS else answer,
        "answered_by": by.get_full_name() or by.get_username(),
        "answered_at": escalation.resolved_at.isoformat() if escalation.resolved_at else None,
    }


def about(event: Told, escalation: Escalation, at: datetime, more: Mapping[str, Any], **how: Any) -> Telling:
    """Something about an escalation."""
    return Telling(
        event,
        at,
        facts_of(escalation) | dict(more),
        queue_id=escalation.queue_id,
        record_id=escalation.record_id,
        escalation_id=escalation.pk,
        **how,
    )


def take_back(escalation: Escalation) -> None:
    """A verdict was undone before it was told."""
    events = [Told.RESOLVED, Told.ANSWERED]
    untold = OutboxRow.objects.filter(escalation_id=escalation.pk, event__in=events, spread_at__isnull=True)
    untold.filter(record=escalation.record_id).delete()


def assigned(escalation: Escalation, to: Person, by: Person, at: datetime) -> None:
    """Somebody was given an escalation by somebody else."""
    if to.pk != by.pk:
        more = {"by": by.get_username(), "assignee": to.get_username()}
        fault = f"assigned:{escalation.pk}"
        tell(about(Told.ASSIGNED, escalation, at, more, people=[to.pk], fault=fault))


def mention(*, comment: Comment, people: Iterable[Person]) -> list[Person]:
    """Tell people that a comment names them; those who may not see the record are left out. Who is told."""
    seeing = [p for p in people if p.is_active and p.pk != comment.author_id and _sees(p, comment.record_id)]
    if seeing:
        record = comment.record
        by = comment.author.get_username()
        data = {"comment": comment.pk, "record": record.pk, "flow": record.flow, "by": by}
        waiting = record.escalations.unresolved().values_list("pk", flat=True).first()
        tell(
            Telling(
                Told.MENTIONED,
                comment.written_at,
                data | {"escalation": waiting},
                queue_id=record.queue_id,
                record_id=record.pk,
                escalation_id=waiting,
                people=[person.pk for person in seeing],
                fault=f"comment:{comment.pk}",
            )
        )
    return seeing


def _sees(person: Person, record_id: int) -> bool:
    return Record.objects.visible_to(person).filter(pk=record_id).exists()


def forget(record_ids: Iterable[int]) -> None:
    """Drop what was, or is to be, told of these records; for a purge. Their notices go as well."""
    ids = list(record_ids)
    OutboxRow.objects.filter(record__in=ids).delete()
    for record in Record.objects.filter(pk__in=ids):
        record.notices.all().delete()
