"""Is a flow ready? What its last drill found, seam by seam and class by class."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from handoffs import readiness as ready
from handoffs.flows import Flow
from handoffs.models import DrillRun
from reviewqueue.desk import desk_of


@require_safe
@login_required
def readiness(request: HttpRequest, name: str) -> HttpResponse:
    """The last drill of the whole flow; with `?format=json` its report as it was kept."""
    flow = next((flow for flow in desk_of(request).flows if flow.name == name), None)
    if flow is None:
        raise Http404
    run = ready.last_drill(flow)
    if request.GET.get("format") == "json":
        return JsonResponse(_as_json(flow, run))
    context = {
        "flow": flow,
        "run": run,
        "why_not": ready.why_not(flow),
        "is_held": ready.is_held(flow),
        "seams": [_seam(seam) for seam in run.report_data["seams"]] if run else [],
        "totals": _totals(run.report_data) if run else {},
    }
    return render(request, "readiness.html", context)


def _as_json(flow: Flow, run: DrillRun | None) -> dict[str, Any]:
    return {"flow": flow.name, "ready": ready.is_ready(flow), "why_not": ready.why_not(flow)} | (
        {"report": run.report_data, "hashes": run.hashes_data} if run else {}
    )


def _seam(seam: dict[str, Any]) -> dict[str, Any]:
    """A seam as the page shows it: one cell per class, the worst first."""
    classes = [{"name": name, **counts} for name, counts in seam["classes"].items()]
    classes.sort(key=lambda one: (-one["faults"], -one["holes"], one["name"]))
    failing = [case for case in seam["failing"] if not case["allowed"]]
    return seam | {"classes": classes, "failing": failing, "holes": sum(one["holes"] for one in classes)}


def _totals(report: dict[str, Any]) -> dict[str, int]:
    classes = [counts for seam in report["seams"] for counts in seam["classes"].values()]
    wrong = {word: sum(counts[word] for counts in classes) for word in ("holes", "faults", "allowed")}
    stopped = report["cases"] - sum(wrong.values())
    return wrong | {"stopped": stopped, "cases": report["cases"], "recovered": report["through_engine"]}
