"""The history of everything that is not a record: who changed what, from what to what."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from handoffs.models import AuditEntry, sql

Facts = Mapping[str, Any]


def note(*, actor: str, action: str, subject: str, before: Facts | None = None, after: Facts | None = None) -> None:
    """Write one entry, within the caller's transaction. `before` and `after` hold what JSON can."""
    AuditEntry.objects.create(
        happened_at=sql.now(),
        actor=actor[:150],
        action=action,
        subject=subject[:200],
        before=as_json(before),
        after=as_json(after),
    )


def note_change(*, actor: str, action: str, subject: str, before: Facts, after: Facts) -> bool:
    """As `note`, with what differs only; whether anything did."""
    changed = [name for name in after if before.get(name) != after[name]]
    if changed:
        old, new = {name: before.get(name) for name in changed}, {name: after[name] for name in changed}
        note(actor=actor, action=action, subject=subject, before=old, after=new)
    return bool(changed)


def as_json(facts: Facts | None) -> str:
    """Facts as an entry keeps them."""
    return json.dumps(dict(facts or {}), ensure_ascii=False, sort_keys=True)
