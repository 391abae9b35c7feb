"""Is a flow ready? It is when its last whole drill was green and neither contracts, steps nor queues changed since.

Unless HANDOFFS_REQUIRE_DRILL is off, the starts of a flow that is not ready are held: its records wait, and go on by
themselves after a green drill.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from django.db.models import Max

from handoffs import conf
from handoffs.contracts import Contract, contract_hash
from handoffs.flows import Flow
from handoffs.models.drills import DrillRun
from handoffs.registry import registered
from handoffs.shapes import Shape
from handoffs.states import INTAKE
from handoffs.strict_types import source_of

FRESH = 5.0  # seconds for which a process believes what it read


def contracts_by_place(flow: Flow) -> dict[str, type[Contract]]:
    """The flow's contracts: "intake", "check receives", "check returns"."""
    found = {INTAKE: flow.intake}
    for step in flow.steps:
        found |= {f"{step.name} receives": step.receives, f"{step.name} returns": step.returns}
    return found


def hashes_of(flow: Flow) -> dict[str, str]:
    return {place: contract_hash(contract) for place, contract in contracts_by_place(flow).items()}


def schemas_of(flow: Flow) -> dict[str, dict[str, Any]]:
    return {place: dict(Shape.of(contract).schema) for place, contract in contracts_by_place(flow).items()}


@lru_cache(maxsize=256)
def fingerprint(flow: Flow) -> str:
    """64 hex digits over what a drill is about: contracts, steps with their own code, queues and allowances."""
    steps = [
        [
            step.name, step.by, str(step.retry), step.confidence, flow.queue_of(step.name), dict(step.takes),
            step.on_broken_output, step.enforce, step.timeout, step.effects, step.concurrency,
            *(source_of(code) if code else "" for code in (step.run, step.when, step.stand_in)),
        ]
        for step in flow.steps
    ]  # fmt: skip
    allowed = {name: sorted(what) for name, what in flow.allows.items()}
    said = [flow.name, hashes_of(flow), steps, flow.escalate_to, allowed]
    return hashlib.sha256(json.dumps(said, sort_keys=True, default=str).encode()).hexdigest()


def why_not_all(flows: Iterable[Flow]) -> dict[str, str]:
    """Why each flow is not ready, by name, "" where it is: one query for all of them."""
    known = {flow.name: flow for flow in flows}
    newest = DrillRun.objects.filter(flow__in=known, step="").values("flow").annotate(last=Max("pk")).values("last")
    runs = DrillRun.objects.filter(pk__in=newest).values_list("flow", "verdict", "fingerprint")
    last = {name: (verdict, seen) for name, verdict, seen in runs}
    return {name: _why_not(flow, last.get(name)) for name, flow in known.items()}


def last_drill(flow: Flow) -> DrillRun | None:
    """The last drill of the whole flow."""
    return DrillRun.objects.filter(flow=flow.name, step="").newest_first().first()


def last_green(flow: Flow) -> DrillRun | None:
    return DrillRun.objects.green().filter(flow=flow.name).newest_first().first()


def is_ready(flow: Flow) -> bool:
    """Whether the last whole drill was green, over the flow as it is declared now."""
    return not why_not(flow)


def why_not(flow: Flow) -> str:
    """Why the flow is not ready, in a sentence; empty where it is."""
    return why_not_all([flow])[flow.name]


def _why_not(flow: Flow, last: tuple[str, str] | None) -> str:
    if last is None:
        return f"{flow.name} was never drilled: manage.py drill {flow.name}"
    verdict, seen = last
    if seen != fingerprint(flow):
        return f"{flow.name} has changed since its last drill: manage.py drill {flow.name}"
    return "" if verdict == "ready" else f"The last drill of {flow.name} was not green."


class _Believed:
    """What this process believes about which flows are not ready, and until when."""

    def __init__(self) -> None:
        self.reasons: dict[str, str] = {}
        self.until = 0.0


_believed = _Believed()


def unready_flows() -> dict[str, str]:
    """Why, by name, of the flows that ask for a drill and are not ready; read anew at most every few seconds."""
    if time.monotonic() >= _believed.until:
        asked = [flow for flow in registered() if flow.require_drill]
        _believed.reasons = {name: why for name, why in why_not_all(asked).items() if why} if asked else {}
        _believed.until = time.monotonic() + FRESH
    return _believed.reasons


def held_flows() -> frozenset[str]:
    """The names of the flows whose starts are held."""
    return frozenset(unready_flows()) if conf.get("REQUIRE_DRILL") else frozenset()


def is_held(flow: Flow) -> bool:
    """Whether the starts of this flow are held. What is put in a flow's place says so itself."""
    return flow.require_drill and flow.name in held_flows()


def forget_held() -> None:
    """Read anew at the next question: after a drill, and between two slices of a worker."""
    _believed.until = 0.0


def believe(reasons: dict[str, str]) -> None:
    """Take this for what was read, until `forget_held`: for tests that are not about it."""
    _believed.reasons, _believed.until = reasons, float("inf")


def facts_of(flow: Flow) -> dict[str, Any]:
    """What is stored with a drill about the flow as it was."""
    return {
        "fingerprint": fingerprint(flow),
        "hashes": json.dumps(hashes_of(flow)),
        "schemas": json.dumps(schemas_of(flow), ensure_ascii=False),
    }
