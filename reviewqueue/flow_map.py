"""The map of a flow: where its steps and seams stand in the drawing, and the list behind each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse
from django.utils.translation import gettext as _

from handoffs.insight.seam_figures import Arrivals
from handoffs.states import INTAKE, Kind
from reviewqueue.charts import written
from reviewqueue.dashboard import inbox_url

BOX, GAP = (156, 132), (64, 36)
LONGEST_NAME = 17  # letters that fit into a box


@dataclass(frozen=True, slots=True)
class Cell:
    """One count in a step's box."""

    status: str
    count: str
    url: str
    x: int
    is_hot: bool


@dataclass(frozen=True, slots=True)
class Station:
    """One step's box; x and y are its corner. `waits`: how long the oldest has waited there, "" if nothing waits."""

    name: str
    by: str
    url: str
    x: int
    y: int
    cells: tuple[Cell, ...]
    waits: str

    @property
    def short(self) -> str:
        return self.name if len(self.name) <= LONGEST_NAME else f"{self.name[: LONGEST_NAME - 1]}…"


@dataclass(frozen=True, slots=True)
class Arrow:
    """The seam in front of a step: a path, and where its rate stands. `label` is for who does not see the drawing."""

    path: str
    rate: str
    label: str
    url: str
    x: int
    y: int
    is_hot: bool


@dataclass(frozen=True, slots=True)
class Map:
    """One drawing, for places of a certain width."""

    size: str
    width: int
    height: int
    stations: tuple[Station, ...]
    arrows: tuple[Arrow, ...]


def rate_text(arrivals: Arrivals) -> str:
    """How often a step refused, as a short label; "" where nothing has arrived."""
    if arrivals.rate is None:
        return ""
    return _("%(n)s %%") % {"n": written(round(100 * arrivals.rate, 1 if arrivals.rate < 0.1 else 0))}


def refusals_url(flow: str, step: str) -> str:
    return inbox_url(view="any", flow=flow, step=step, kind=Kind.REFUSED.value)


def maps(flow: str, rows: Sequence[Mapping[str, Any]]) -> list[Map]:
    """The flow for wide places and for narrower ones. `rows` are those of the table of steps."""
    return [_map(flow, rows, "wide", 5), _map(flow, rows, "middling", 3)]


def _map(flow: str, rows: Sequence[Mapping[str, Any]], size: str, per_row: int) -> Map:
    places = [(GAP[0] // 4 + column * (BOX[0] + GAP[0]), 8 + line * (BOX[1] + GAP[1])) for line, column in
              (divmod(place, per_row) for place in range(len(rows)))]  # fmt: skip
    stations = tuple(_station(flow, row, x, y) for row, (x, y) in zip(rows, places, strict=True))
    arrows = tuple(
        _arrow(flow, row, before, here) for row, before, here in zip(rows[1:], places, places[1:], strict=False)
    )
    columns = min(per_row, len(rows))
    lines = -(-len(rows) // per_row)
    width = columns * (BOX[0] + GAP[0]) - GAP[0] // 2
    return Map(size, width, 16 + lines * (BOX[1] + GAP[1]) - GAP[1], stations, arrows)


def _station(flow: str, row: Mapping[str, Any], x: int, y: int) -> Station:
    third = BOX[0] // 3
    cells = tuple(
        Cell(
            status,
            row["counts"][status],
            row["inbox_url"] if status == "escalated" else f"{row['records_url']}&status={status}",
            x + place * third,
            status == "escalated" and row["has_stopped"],
        )
        for place, status in enumerate(row["counts"])
    )
    by = str(row.get("by", "")) if row["name"] != INTAKE else _("what comes in")
    return Station(row["name"], by, row["records_url"], x, y, cells, row["oldest"])


def _arrow(flow: str, row: Mapping[str, Any], before: tuple[int, int], here: tuple[int, int]) -> Arrow:
    (x1, y1), (x2, y2) = (before[0] + BOX[0], before[1] + BOX[1] // 2), (here[0], here[1] + BOX[1] // 2)
    if before[1] == here[1]:
        path, at = f"M{x1} {y1}H{x2 - 3}", ((x1 + x2) // 2, y1 - 8)
    else:  # on to the next line: down beside the last box, back to the first, and in from the left
        turn = here[1] - GAP[1] // 2
        path = f"M{x1} {y1}h12V{turn}H{x2 - 12}V{y2}h9"
        at = ((x1 + x2) // 2, turn - 5)
    label = _("%(step)s refused %(refused)s of %(arrived)s") % {
        "step": row["name"],
        "refused": written(row["arrivals"].refused),
        "arrived": written(row["arrivals"].arrived),
    }
    return Arrow(path, row["rate"], label, refusals_url(flow, row["name"]), *at, row["arrivals"].refused > 0)


def records_url(flow: str, **choices: str) -> str:
    return f"{reverse('records')}?{urlencode({'flow': flow, **choices})}"
