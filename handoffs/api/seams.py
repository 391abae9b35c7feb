"""How the seams of a flow fare: how often each refuses, and what waits there for one and the same reason."""

from __future__ import annotations

from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from ninja import Router

from handoffs.api import presenting
from handoffs.api.auth import flow_for
from handoffs.api.describing import reads
from handoffs.api.idempotency import answer
from handoffs.api.replies import Json, Reply, reply
from handoffs.api.schemas import SeamsOut
from handoffs.flows import Flow
from handoffs.insight import seam_figures
from handoffs.insight.seam_figures import Arrivals, Break
from handoffs.models import Escalation, Record
from handoffs.scopes import Verb
from handoffs.states import INTAKE

router = Router(tags=["contracts"])


@router.get("/flows/{flow}/seams", **reads("getSeams", "See how the seams of a flow fare", SeamsOut))
def see_seams(request: HttpRequest, flow: str) -> HttpResponse:
    """How often each step refused what it was handed, and what waits there, by what stopped it. The first seam is the
    one in front of the flow, the others are in the order of the steps."""

    def act() -> Reply:
        found = flow_for(request, Verb.READ, flow)
        return reply(200, {"flow": found.name, "sample": seam_figures.SAMPLE, "seams": _seams(found)})

    return answer(act)


def _seams(flow: Flow) -> list[Json]:
    stopped = Escalation.objects.unresolved()
    arrived = seam_figures.arrivals(Record.objects.all(), flow.name)
    waiting, oldest = seam_figures.waiting(stopped, flow.name), seam_figures.oldest(stopped, flow.name)
    broken = seam_figures.breaks(stopped, flow.name)
    names = [INTAKE, *(step.name for step in flow.steps)]
    return [
        {
            "producer": producer,
            "consumer": name,
            "queue": flow.queue_of(name),
            **_rates(arrived.get(name, Arrivals())),
            "waiting": waiting.get(name, 0),
            "oldest": presenting.time(oldest.get(name)),
            "breaks": [_break(found) for found in broken if found.step == name],
        }
        for producer, name in zip([None, *names], names, strict=False)
    ]


def _rates(arrivals: Arrivals) -> Json:
    return {"arrived": arrivals.arrived, "refused": arrivals.refused, "rate": arrivals.rate}


def _break(found: Break) -> Json:
    inbox = presenting.page("inbox")
    return {
        "fingerprint": found.fingerprint,
        "waiting": found.count,
        "since": presenting.time(found.since),
        "last": presenting.time(found.last),
        "producer": found.first.producer,
        "violation": presenting.violation(found.first),
        "page": f"{inbox}?{urlencode({'view': 'any', 'same': found.fingerprint})}" if inbox else None,
    }
