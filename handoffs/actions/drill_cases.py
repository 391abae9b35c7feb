"""From a real refusal to a case of the drill: what broke at a place is kept, without what else the body said."""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Sequence
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from handoffs import conf, engine, strict_json
from handoffs.actions import audit
from handoffs.actions.judging import body_of
from handoffs.actions.work import outputs_of
from handoffs.bodies import raw_bytes
from handoffs.contracts import Contract, Violation, check
from handoffs.errors import UnfitCase
from handoffs.flows import Flow, get_flow
from handoffs.invariants import contracts_in, invariants_of
from handoffs.masking import masked
from handoffs.models import DrillCase, Escalation, sql
from handoffs.states import INTAKE, Kind, Side
from handoffs.titles import parts

KINDS = (Kind.REFUSED, Kind.BROKEN_OUTPUT)
MOST = 20  # broken places of one case

Change = dict[str, Any]


def is_fit(escalation: Escalation) -> bool:
    """Whether a body that broke its contract is what it waits over."""
    return escalation.kind in KINDS


@transaction.atomic
def keep_case(*, record_id: int, by: str) -> DrillCase:
    """Keep what a record stopped over as a case of its flow's drill; one that is there already stays as it is.

    Raises:
        UnfitCase: it did not stop over a body, or nothing of it can be tried again.
        UnknownFlow, UnknownStep: the code no longer has the place.
    """
    escalation = Escalation.objects.filter(record=record_id, kind__in=KINDS).select_related("record", "result")
    found = escalation.unresolved().first()
    if found is None:
        raise UnfitCase(_("The record does not wait over a body that broke its contract."))
    flow, side = get_flow(found.flow), Side.INTAKE if found.step == INTAKE else Side(found.side)
    contract, body = _broken(flow, found, side)
    changes = changes_of(contract, body, side)
    text = json.dumps(changes, ensure_ascii=True, sort_keys=True)
    rules = list(dict.fromkeys(change["rule"] for change in changes))
    facts = {"changes": text, "rules": ",".join(rules)[:500], "record_id": record_id, "kept_at": sql.now()}
    case, is_new = DrillCase.objects.get_or_create(
        flow=flow.name,
        step=found.step,
        side=side,
        digest=hashlib.sha256(text.encode()).hexdigest(),
        defaults=facts | {"kept_by": by[:150]},
    )
    if is_new:
        after = {"case": case.pk, "step": case.step, "rules": case.rules}
        audit.note(actor=by, action="drill_case.keep", subject=flow.name, after=after)
    return case


@transaction.atomic
def forget_case(*, case: DrillCase, by: str) -> None:
    """No longer try a case."""
    audit.note(actor=by, action="drill_case.forget", subject=case.flow, before={"case": case.pk, "step": case.step})
    case.delete()


def _broken(flow: Flow, escalation: Escalation, side: Side) -> tuple[type[Contract], str]:
    record = escalation.record
    body = body_of(escalation, record, side)
    encoding = (escalation.result.encoding if escalation.result else "") if side is Side.RETURNS else record.encoding
    read = strict_json.read(raw_bytes(body, encoding), max_bytes=conf.get("MAX_BODY"))
    if isinstance(read, tuple):
        raise UnfitCase(_("The body can't be read. The drill makes such bodies itself, of every kind."))
    if side is Side.INTAKE:
        return flow.intake, body
    step = flow.step(escalation.step)
    if side is Side.RETURNS:
        return step.returns, body
    return step.receives, engine.assemble(step, body, outputs_of(record.pk))[0]


def changes_of(contract: type[Contract], body: str, side: Side) -> list[Change]:
    """How a good body has to be changed to break as this one does; values are masked.

    Raises:
        UnfitCase: nothing of it is broken at a place of its own any more.
    """
    checked = check(contract, body, side=side)
    own = {rule.name for part in contracts_in(contract) for rule in invariants_of(part)}
    data = json.loads(body)
    changes = [
        change
        for violation in checked.violations[:MOST]
        if violation.rule not in own and (change := _change(violation, data, violation.pointer in checked.unknown))
    ]
    kept = [change for change in changes if _still_breaks(contract, data, change, side)]
    if not kept:
        raise UnfitCase(_("Nothing is broken at a place of its own; the drill breaks rules over the whole itself."))
    return kept


def _change(violation: Violation, data: Any, is_unknown: bool) -> Change | None:
    change: Change = {"path": violation.pointer, "rule": violation.rule}
    if violation.rule == "missing":
        return change | {"op": "remove"}
    try:
        return change | {"op": "add" if is_unknown else "replace", "value": masked(_at(data, violation.pointer))}
    except (KeyError, IndexError, TypeError, ValueError):
        return None


def _still_breaks(contract: type[Contract], data: Any, change: Change, side: Side) -> bool:
    """Whether it breaks the same rule at the same place although its value was masked."""
    try:
        text = json.dumps(apply([change], data), ensure_ascii=False)
    except (KeyError, IndexError, TypeError, ValueError):
        return False
    found = check(contract, text, side=side).violations
    return (change["path"], change["rule"]) in {(violation.pointer, violation.rule) for violation in found}


def apply(changes: Sequence[Change], data: Any) -> Any:
    """The data with the changes made. An item that a list does not have stands for its last one.

    Raises:
        KeyError, IndexError, TypeError: a place is not there.
    """
    whole = copy.deepcopy(data)
    for change in changes:
        path = _parts(change["path"])
        if not path:
            return change["value"]
        holder = whole
        for part in path[:-1]:
            holder = holder[_key(holder, part)]
        key = _key(holder, path[-1])
        if change["op"] != "remove":
            holder[key] = change["value"]
        elif key in holder or isinstance(holder, list):
            del holder[key]
    return whole


def _at(data: Any, pointer: str) -> Any:
    for part in _parts(pointer):
        data = data[_key(data, part)]
    return data


def _parts(pointer: str) -> list[str]:
    return parts(pointer) if pointer else []


def _key(holder: Any, part: str) -> Any:
    return min(int(part), len(holder) - 1) if isinstance(holder, list) else part
