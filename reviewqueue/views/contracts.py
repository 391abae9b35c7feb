"""The contracts: what each says, in which versions, and how it fares; and a place to try a body against one."""

from __future__ import annotations

import json
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from handoffs.insight.versions import Difference, Harm, compare, fields
from handoffs.models import ContractVersion
from reviewqueue.contract_pages import Known, compare_url, figures_of, known_contracts, list_rows, tried
from reviewqueue.desk import Desk, desk_of


@require_safe
@login_required
def contracts(request: HttpRequest) -> HttpResponse:
    """The contracts of the flows that a person sees."""
    return render(request, "contracts.html", {"rows": list_rows(desk_of(request))})


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def contract(request: HttpRequest, name: str) -> HttpResponse:
    """One contract; a POST holds a pasted body against it and keeps nothing."""
    desk = desk_of(request)
    known = _known_or_404(desk, name)
    context: dict[str, Any] = {"contract": known, **figures_of(desk, known)}
    if request.method == "POST" and known.contract is not None:
        context["trial"] = tried(known.contract, request.POST.get("body", ""))
    if len(known.versions) > 1:
        context["compare_url"] = compare_url(known, known.versions[1].version, known.versions[0].version)
    return render(request, "contract.html", context)


@require_safe
@login_required
def contract_version(request: HttpRequest, name: str, number: int) -> HttpResponse:
    """One stored version, as it was."""
    known = _known_or_404(desk_of(request), name)
    version = _version(known, number)
    if version is None:
        raise Http404
    schema = json.loads(version.schema)
    context = {
        "contract": known,
        "version": version,
        "fields": fields(schema),
        "schema": json.dumps(schema, indent=2, ensure_ascii=False),
        "earlier": _version(known, number - 1),
    }
    return render(request, "contract_version.html", context)


@require_safe
@login_required
def contract_compare(request: HttpRequest, name: str) -> HttpResponse:
    """Two versions side by side: what changed, and whom it can break."""
    known = _known_or_404(desk_of(request), name)
    older, newer = (_asked(known, request.GET.get(key, ""), place) for key, place in (("a", 1), ("b", 0)))
    context: dict[str, Any] = {"contract": known, "older": older, "newer": newer}
    if older is not None and newer is not None:
        rows = compare(json.loads(older.schema), json.loads(newer.schema))
        context |= {"rows": rows, "verdicts": _verdicts(rows), "is_same": older.hash == newer.hash}
    return render(request, "contract_compare.html", context)


def _known_or_404(desk: Desk, name: str) -> Known:
    found = known_contracts(desk, name)
    if not found:
        raise Http404
    return found[0]


def _version(known: Known, number: int) -> ContractVersion | None:
    return next((version for version in known.versions if version.version == number), None)


def _asked(known: Known, said: str, place: int) -> ContractVersion | None:
    """The version that the address names; without a word the newest, or the one before it."""
    if not said:
        return known.versions[place] if place < len(known.versions) else None
    return _version(known, int(said)) if said.isascii() and said.isdecimal() and len(said) < 10 else None


def _verdicts(rows: list[Difference]) -> list[tuple[str, Harm, str]]:
    """(side, the worst that any change does to it, in words)."""
    order = [Harm.NONE, Harm.MAY_BREAK, Harm.BREAKS]
    sides = [
        (_("Producers"), [row.producers for row in rows]),
        (_("Consumers"), [row.consumers for row in rows]),
    ]
    words = {Harm.NONE: _("nothing breaks"), Harm.MAY_BREAK: _("may break"), Harm.BREAKS: _("break")}
    worst = [(side, max(harms, key=order.index, default=Harm.NONE)) for side, harms in sides]
    return [(side, harm, words[harm]) for side, harm in worst]
