"""Is a flow ready? What its last drill found, seam by seam; asking for a drill, and what every drill tries."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from handoffs import readiness as ready
from handoffs.actions import drill_cases, drills
from handoffs.actions.escalations import actor_of
from handoffs.errors import HandoffsError, NoWorker
from handoffs.flows import Flow
from handoffs.models import DrillCase, DrillRun
from reviewqueue.case import escalation_case
from reviewqueue.desk import Desk, desk_of, queues_of
from reviewqueue.views.errors import refused


@require_safe
@login_required
def readiness(request: HttpRequest, name: str) -> HttpResponse:
    """The last drill of the whole flow; with `?format=json` its report as it was kept."""
    desk = desk_of(request)
    flow = _flow_or_404(desk, name)
    run = ready.last_drill(flow)
    if request.GET.get("format") == "json":
        return JsonResponse(_as_json(flow, run))
    context = {
        "flow": flow,
        "run": run,
        "why_not": ready.why_not(flow),
        "is_held": ready.is_held(flow),
        "may_drill": _may_drill(desk, flow),
        "kept": DrillCase.objects.filter(flow=flow.name).order_by("pk"),
        "seams": [_seam(seam) for seam in run.report_data["seams"]] if run else [],
        "totals": _totals(run.report_data) if run else {},
    }
    return render(request, "readiness.html", context)


@require_POST
@login_required
def readiness_drill(request: HttpRequest, name: str) -> HttpResponse:
    """Let a worker drill the flow."""
    desk = desk_of(request)
    flow = _flow_or_404(desk, name)
    if not _may_drill(desk, flow):
        return refused(request, 403, _("Only who decides in a queue of the flow may drill it."))
    try:
        drills.ask_for_drill(flow=flow, by=actor_of(desk.user))
        messages.info(request, _("A worker drills the flow now. Look again in a minute."))
    except NoWorker as error:
        messages.error(request, str(error))
    return redirect("readiness", flow.name)


@require_safe
@login_required
def readiness_input(request: HttpRequest, name: str, digest: str) -> HttpResponse:
    """The body of a case that failed in the last drill, as text."""
    run = ready.last_drill(_flow_or_404(desk_of(request), name))
    failing = [case for seam in (run.report_data["seams"] if run else ()) for case in seam["failing"]]
    body = next((case["body"] for case in failing if case["digest"] == digest and case["body"]), None)
    if body is None:
        raise Http404
    text = body.encode("utf-8", "backslashreplace")
    return HttpResponse(text, content_type="text/plain; charset=utf-8", headers={"Content-Disposition": "attachment"})


@require_POST
@login_required
def escalation_keep(request: HttpRequest, pk: int) -> HttpResponse:
    """Keep what an escalation stopped over as a case of every later drill."""
    case = escalation_case(request, pk)
    if not case.may_decide:
        return refused(request, 403, _("Only who decides in its queue may keep it for the drill."))
    try:
        kept = drill_cases.keep_case(record_id=case.record.pk, by=actor_of(case.user))
        messages.success(request, _("Kept: every later drill of %(flow)s tries it.") % {"flow": kept.flow})
    except HandoffsError as error:
        messages.error(request, str(error))
    return redirect("escalation", pk)


@require_POST
@login_required
def readiness_forget(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    """No longer try a kept case."""
    desk = desk_of(request)
    flow = _flow_or_404(desk, name)
    if not _may_drill(desk, flow):
        return refused(request, 403, _("Only who decides in a queue of the flow may do that."))
    case = get_object_or_404(DrillCase.objects.filter(flow=flow.name), pk=pk)
    drill_cases.forget_case(case=case, by=actor_of(desk.user))
    messages.info(request, _("Forgotten: drills no longer try it."))
    return redirect("readiness", flow.name)


def _flow_or_404(desk: Desk, name: str) -> Flow:
    flow = next((flow for flow in desk.flows if flow.name == name), None)
    if flow is None:
        raise Http404
    return flow


def _may_drill(desk: Desk, flow: Flow) -> bool:
    names = queues_of(flow)
    return any(queue.slug in names and getattr(queue, "may_decide", False) for queue in desk.queues)


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
