"""Cases that came from real refusals: every drill tries them at the place where they were refused."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from handoffs.actions.drill_cases import apply
from handoffs.contracts import Contract, check
from handoffs.drill.judging import Hole, Judged
from handoffs.drill.mutants import Mutant, encode
from handoffs.drill.samples import enrich
from handoffs.models import DrillCase
from handoffs.shapes import Shape
from handoffs.states import Side

KIND = "kept case"


@dataclass(frozen=True, slots=True)
class Place:
    """Where cases are kept."""

    flow: str
    step: str
    side: Side


def with_kept(judged: Judged, contract: type[Contract], valid: str, place: Place) -> tuple[Judged, list[Mutant]]:
    """(what was judged, with the kept cases among it; the cases that are refused, all to go through the engine)."""
    made = _mutants(contract, valid, place)
    refused = [mutant for mutant in made if check(contract, mutant.body.decode(), side=place.side).violations]
    holes = [Hole(mutant, "no_longer_refused") for mutant in made if mutant not in refused]
    return replace(judged, refused=[*judged.refused, *refused], holes=[*judged.holes, *holes]), refused


def _mutants(contract: type[Contract], valid: str, place: Place) -> Sequence[Mutant]:
    found = DrillCase.objects.filter(flow=place.flow, step=place.step, side=place.side).order_by("pk")
    rich = enrich(Shape.of(contract), json.loads(valid))
    made = []
    for case in found:
        try:
            body = encode(apply(case.changes_data, rich))
        except (KeyError, IndexError, TypeError):
            continue  # the contract no longer has such a place
        note = f"as record {case.record_id} broke it ({case.rules.replace(',', ', ')})"
        made.append(Mutant(KIND, case.changes_data[0]["path"], note, body))
    return made
