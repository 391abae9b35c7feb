"""What the steps take and return, and a dry run against it."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from ninja import Router

from handoffs import asks, engine, readiness, strict_json
from handoffs.actions.contracts import name_of
from handoffs.api import presenting
from handoffs.api.auth import caller, step_for
from handoffs.api.cutting import member
from handoffs.api.describing import json_body, reads, writes
from handoffs.api.envelopes import unreadable
from handoffs.api.idempotency import answer, once
from handoffs.api.limits import max_body
from handoffs.api.problems import PREFIX, Problem, violations
from handoffs.api.replies import Json, Reply, reply
from handoffs.api.schemas import CheckOut, ContractOut, Flows
from handoffs.contracts import Checked, Contract, Violation, check, contract_hash, schema
from handoffs.flows import Flow, Step, declared
from handoffs.models import ContractVersion
from handoffs.scopes import Verb
from handoffs.states import Side

router = Router(tags=["contracts"])
CONTRACT = "/flows/{flow}/steps/{step}/contract"
BODIES = {
    "input": {"description": "Held against what the step receives."},
    "output": {"description": "Held against what the step returns."},
}


@router.get("/flows", **reads("listFlows", "See the flows", Flows))
def see_flows(request: HttpRequest) -> HttpResponse:
    """Those that the token's scopes name."""
    token = caller(request)
    found = [flow for name, flow in sorted(declared().items()) if token.knows(name) and name != asks.FLOW]

    def act() -> Reply:
        why = readiness.why_not_all(found)
        return reply(200, {"flows": [_flow(flow, why[flow.name]) for flow in found]})

    return answer(act)


def _flow(flow: Flow, why_not: str) -> Json:
    here = presenting.address(f"flows/{flow.name}")
    return {
        "name": flow.name,
        "queue": flow.escalate_to,
        "ready": not why_not,
        "why_not_ready": why_not or None,
        "held": readiness.is_held(flow),
        "steps": [
            {
                "name": step.name,
                "by": step.by,
                "confidence": step.confidence,
                "queue": flow.queue_of(step.name),
                "contract": f"{here}/steps/{step.name}/contract",
            }
            for step in flow.steps
        ],
        "links": {"records": f"{here}/records", "page": presenting.page("flow", flow.name) or ""},
    }


@router.get(CONTRACT, **reads("getContract", "See both contracts of a step", ContractOut))
def see_contract(request: HttpRequest, flow: str, step: str) -> HttpResponse:
    """JSON Schemas, with the hash that every result keeps."""

    def act() -> Reply:
        found, at = step_for(request, Verb.READ, flow, step)
        return reply(
            200,
            {
                "flow": found.name,
                "step": at.name,
                "receives": _side(at.receives),
                "returns": _side(at.returns),
                "confidence": at.confidence,
                "tries": at.retry.cap,
            },
        )

    return answer(act)


def _side(contract: type[Contract]) -> Json:
    digest = contract_hash(contract)
    seen = ContractVersion.objects.filter(name=name_of(contract), hash=digest).values_list("version", flat=True)
    return {"name": contract.__name__, "hash": digest, "version": seen.first(), "definition": schema(contract)}


@router.post(
    f"{CONTRACT}/check",
    **writes(
        "checkContract",
        "Hold bodies against a step's contracts",
        {200: CheckOut},
        json_body(BODIES, {"output": {"label": "cancellation"}}),
    ),
)
def check_contract(request: HttpRequest, flow: str, step: str) -> HttpResponse:
    """A dry run: `input` against what the step receives, `output` against what it returns; nothing is written. With
    both, facts that have to be carried are compared as well."""

    def act(raw: bytes) -> Reply:
        _, at = step_for(request, Verb.READ, flow, step)
        read = strict_json.read(raw, max_bytes=max_body())
        if isinstance(read, tuple):
            raise unreadable(read)
        bodies = {name: member(read.text, name) for name in BODIES} if isinstance(read.data, dict) else {}
        unknown = [name for name in read.data if name not in BODIES] if isinstance(read.data, dict) else []
        if not any(text is not None for text in bodies.values()) or unknown:
            raise Problem("contract_broken", "Send an object with “input”, “output” or both, and nothing else.")
        return reply(200, _judged(at, bodies["input"], bodies["output"]))

    return once(request, act)


def _judged(step: Step, given: str | None, output: str | None) -> Json:
    found: list[Violation] = []
    unknown: list[str] = []
    for side, checked in _sides(step, given, output):
        found += checked.violations
        unknown += [PREFIX[side] + pointer for pointer in checked.unknown]
    return {"holds": not found, "violations": violations(found), "unknown_fields": unknown}


def _sides(step: Step, given: str | None, output: str | None) -> list[tuple[Side, Checked]]:
    sides = []
    if given is not None:
        sides.append((Side.RECEIVES, check(step.receives, given, side=Side.RECEIVES)))
    if output is not None and given is not None:
        checked, violated = engine.check_output(step, given, output)
        sides.append((Side.RETURNS, Checked(checked.value, violated, checked.unknown)))
    elif output is not None:
        sides.append((Side.RETURNS, check(step.returns, output, side=Side.RETURNS)))
    return sides
