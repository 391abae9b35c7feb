"""The flows: their steps, the seams between them, and where records stand."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from handoffs import readiness, seams
from handoffs.flows import Flow, Step
from handoffs.insight import seam_figures
from handoffs.insight.seam_figures import Arrivals
from handoffs.models import Alert, Escalation, Queue, Record
from handoffs.seams import Finding
from handoffs.states import INTAKE, Status
from reviewqueue import labels
from reviewqueue.counting import shown, tally
from reviewqueue.dashboard import inbox_url
from reviewqueue.desk import Desk, desk_of
from reviewqueue.durations import in_words
from reviewqueue.flow_map import maps, rate_text, records_url, refusals_url
from reviewqueue.rows import alert_rows
from reviewqueue.unready import unready

OPEN = (Status.READY, Status.RUNNING, Status.ESCALATED)


@dataclass(frozen=True, slots=True)
class Seam:
    """The place between two neighbours; `findings` are those of the static reading."""

    name: str
    contracts: str
    findings: list[Finding]

    @property
    def has_error(self) -> bool:
        return any(finding.level == "error" for finding in self.findings)


@require_safe
@login_required
def flows(request: HttpRequest) -> HttpResponse:
    """The flows that stop in a queue which the person may see."""
    desk = desk_of(request)
    visible = Record.objects.visible_to(desk.user)
    wanted = {
        f"{place}_{status}": visible.filter(flow=flow.name, status=status)
        for place, flow in enumerate(desk.flows)
        for status in Status
    }
    counts = tally(desk.user, **wanted)
    why = unready(desk.flows)
    rows = [
        {
            "flow": flow,
            "counts": [(status, shown(counts[f"{place}_{status}"])) for status in Status],
            "why_not": why.get(flow.name, ""),
        }
        for place, flow in enumerate(desk.flows)
    ]
    return render(request, "flows.html", {"rows": rows})


@require_safe
@login_required
def flow(request: HttpRequest, name: str) -> HttpResponse:
    """One flow, step by step."""
    desk = desk_of(request)
    found = next((flow for flow in desk.flows if flow.name == name), None)
    if found is None:
        raise Http404
    alerts = Alert.objects.visible_to(desk.user).standing().filter(flow=name).select_related("queue__owner")
    steps = _steps(desk, found)
    context = {
        "flow": found,
        "why_not": unready([found]).get(found.name, ""),
        "is_held": readiness.is_held(found),
        "steps": steps,
        "maps": maps(found.name, steps),
        "totals": _totals(desk, found),
        "sample": seam_figures.SAMPLE,
        "seams": seams_of(found),
        "alerts": alert_rows(alerts.order_by("-opened_at", "-pk")[:20], desk.now),
    }
    return render(request, "flow.html", context)


def _steps(desk: Desk, flow: Flow) -> list[dict[str, Any]]:
    """The steps with what stands there, what has waited longest and how often each refused: four queries."""
    records = Record.objects.visible_to(desk.user).filter(flow=flow.name)
    stopped = Escalation.objects.visible_to(desk.user).unresolved().filter(flow=flow.name)
    names = [INTAKE, *(step.name for step in flow.steps)]
    wanted: dict[str, Any] = {}
    for place, name in enumerate(names):
        wanted[f"ready_{place}"] = records.filter(step=name, status=Status.READY)
        wanted[f"running_{place}"] = records.filter(step=name, status=Status.RUNNING)
        wanted[f"escalated_{place}"] = stopped.filter(step=name)
    counts = tally(desk.user, **wanted)
    arrived, waiting = seam_figures.arrivals(records, flow.name), seam_figures.oldest(stopped, flow.name)
    return [
        {
            "name": name,
            **_declared(flow, name),
            "queue": desk_queue(desk, flow.queue_of(name)),
            "counts": {status.value: shown(counts[f"{status}_{place}"]) for status in OPEN},
            "records_url": records_url(flow.name, step=name),
            "inbox_url": inbox_url(flow=flow.name, step=name),
            "has_stopped": counts[f"escalated_{place}"] > 0,
            "arrivals": arrived.get(name, Arrivals()),
            "rate": rate_text(arrived.get(name, Arrivals())),
            "refusals_url": refusals_url(flow.name, name),
            "oldest": in_words(desk.now - waiting[name]) if name in waiting else "",
        }
        for place, name in enumerate(names)
    ]


def _totals(desk: Desk, flow: Flow) -> list[tuple[str, str, str]]:
    """(status, count, list) of the flow's records: one query. They also say what the map's shapes mean."""
    records = Record.objects.visible_to(desk.user).filter(flow=flow.name)
    counts = tally(desk.user, **{status.value: records.filter(status=status) for status in Status})
    return [(s.value, shown(counts[s.value]), records_url(flow.name, status=s.value)) for s in Status]


def _declared(flow: Flow, name: str) -> dict[str, Any]:
    """What a step's row says of its declaration. Templates would call a contract or a rule that they are given."""
    if name == INTAKE:
        return {"contracts": [flow.intake.__name__]}
    step = flow.step(name)
    return {
        "by": labels.DOERS[step.by],
        "is_optional": step.when is not None,
        "observes": not step.enforce,
        "contracts": [step.receives.__name__, step.returns.__name__],
        "cap": step.retry.cap if step.by != "human" else None,
        "bar": step.confidence,
    }


def desk_queue(desk: Desk, slug: str) -> Queue | None:
    """A queue by its name; None where the person may not see it."""
    return next((queue for queue in desk.queues if queue.slug == slug), None)


@cache
def seams_of(flow: Flow) -> list[Seam]:
    """The seams of a flow, also those around a step that may be skipped, where the reading found something there."""
    findings = seams.read(flow)
    nearest = [Seam(f"{INTAKE} → {flow.steps[0].name}", _contracts(flow, None, flow.steps[0]), [])]
    for producer, consumer in zip(flow.steps, flow.steps[1:], strict=False):
        nearest.append(Seam(f"{producer.name} → {consumer.name}", _contracts(flow, producer, consumer), []))
    by_name = {seam.name: seam for seam in nearest}
    for finding in findings:
        by_name.setdefault(finding.seam, Seam(finding.seam, "", [])).findings.append(finding)
    return list(by_name.values())


def _contracts(flow: Flow, producer: Step | None, consumer: Step) -> str:
    given = producer.returns if producer else flow.intake
    return f"{given.__name__} → {consumer.receives.__name__}"
