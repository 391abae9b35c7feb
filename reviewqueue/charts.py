"""Charts as the server draws them: what a figure says, and where its marks stand.

A drawing has no text inside: it is stretched to the width of its place, and words would be stretched with it. So labels
stand around it as text, and every figure can be read as a table too. Coordinates are written here, in the same way in
every language.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.utils.formats import number_format

WIDTH, HEIGHT = 100.0, 40.0
LEVELS = 4  # shades of a strip, beside "none"
ABSENT = "–"


@dataclass(frozen=True, slots=True)
class Point:
    """One row of a figure. `values` has one for each series, None where there is nothing to say.

    `texts` are the values in words, where a plain number would not do.
    """

    label: str
    values: tuple[float | None, ...]
    texts: tuple[str, ...] = ()
    url: str = ""

    @property
    def shown(self) -> tuple[str, ...]:
        return self.texts or tuple(written(value) for value in self.values)


@dataclass(frozen=True, slots=True)
class Figure:
    """What a chart shows. `sentence` says it in words, `head` names what the points are, `series` the values.

    `top` is the end of the scale in words, where a plain number would not do; `note` explains the words of the figure.
    """

    sentence: str
    head: str
    series: tuple[str, ...]
    points: tuple[Point, ...]
    scale: float = 0.0
    top: str = ""
    note: str = ""

    @property
    def is_empty(self) -> bool:
        return not any(value for point in self.points for value in point.values)

    @property
    def edge(self) -> float:
        """Where the scale ends: a round number that no value exceeds."""
        return self.scale or rounded_up(self._greatest)

    @property
    def edge_text(self) -> str:
        return self.top or written(self.edge)

    @property
    def cells(self) -> list[tuple[str, str, str]]:
        """(point, series, value) of every value that is not zero: a strip as a table."""
        return [
            (point.label, name, text)
            for point in self.points
            for name, value, text in zip(self.series, point.values, point.shown, strict=True)
            if value
        ]

    @property
    def _greatest(self) -> float:
        return max((value for point in self.points for value in point.values if value), default=0.0)


@dataclass(frozen=True, slots=True)
class Box:
    """One rectangle, its corners as SVG writes them. `series` counts from 1, `level` from 0."""

    x: str
    y: str
    width: str
    height: str
    series: int = 1
    level: int = 0


def written(value: float | None) -> str:
    """A number as the reader's language writes it, with at most two decimals."""
    if value is None:
        return ABSENT
    places = next((n for n in (0, 1) if round(value, n) == round(value, 2)), 2)
    return str(number_format(round(value, places), places, force_grouping=True))


def rounded_up(value: float) -> float:
    """The next number whose half is easy to read: 1, 2, 3, 4, 5, 6, 8, 10, 20 …; 1 for nothing at all."""
    if value <= 1:
        return 1.0
    power = 10.0 ** (len(str(int(value))) - 1)
    return next(step * power for step in (1, 2, 3, 4, 5, 6, 8, 10) if step * power >= value)


def columns(figure: Figure) -> list[Box]:
    """For each point a group of upright bars, one for each series; the first two series have a look of their own."""
    slot = WIDTH / max(len(figure.points), 1)
    wide = slot * 0.76 / max(len(figure.series), 1)
    boxes = []
    for place, point in enumerate(figure.points):
        for series, value in enumerate(point.values):
            high = HEIGHT * (value or 0) / figure.edge
            left = slot * (place + 0.12) + wide * series
            boxes.append(_box(left, HEIGHT - high, wide * 0.92, high, series + 1))
    return boxes


def lines(figure: Figure) -> list[str]:
    """For each series a path through its points; a value with no neighbour is a dot."""
    slot = WIDTH / max(len(figure.points), 1)
    return [
        _path(
            (slot * (place + 0.5), None if value is None else HEIGHT - HEIGHT * value / figure.edge)
            for place, value in enumerate(point.values[series] for point in figure.points)
        )
        for series in range(len(figure.series))
    ]


def stacked(figure: Figure) -> list[Box]:
    """The points one after the other in one bar, each as wide as its share."""
    total = sum(point.values[0] or 0 for point in figure.points)
    boxes, left = [], 0.0
    for series, point in enumerate(figure.points):
        share = WIDTH * (point.values[0] or 0) / total if total else 0.0
        if share:
            boxes.append(_box(left, 0, share, HEIGHT, series + 1))
        left += share
    return boxes


def strip(figure: Figure) -> list[tuple[Point, list[Box], str]]:
    """(point, cells, sum) for each row; a cell's level says how near it comes to the greatest of all cells."""
    slot = WIDTH / max(len(figure.series), 1)
    return [
        (
            point,
            [
                _box(slot * place, 0, slot, HEIGHT, level=_level(value, figure.edge))
                for place, value in enumerate(point.values)
            ],
            written(sum(value or 0 for value in point.values)),
        )
        for point in figure.points
    ]


def bar(value: float | None, edge: float) -> Box:
    """One lying bar: how much of the scale a value takes."""
    return _box(0, 0, WIDTH * min((value or 0) / edge, 1.0), HEIGHT)


def spark(values: Sequence[float | None]) -> str:
    """A path without a scale, from the least value to the greatest."""
    known = [value for value in values if value is not None]
    low, high = min(known, default=0.0), max(known, default=0.0)
    slot, span = WIDTH / max(len(values), 1), (high - low) or 1.0
    return _path(
        (slot * (place + 0.5), None if value is None else HEIGHT * (0.95 - 0.9 * (value - low) / span))
        for place, value in enumerate(values)
    )


def _level(value: float | None, edge: float) -> int:
    return min(1 + int(LEVELS * value / edge), LEVELS) if value else 0


def _path(places: Iterable[tuple[float, float | None]]) -> str:
    parts: list[str] = []
    drawing = False
    for x, y in places:
        if y is not None:
            parts.append(f"L{_n(x)} {_n(y)}" if drawing else f"M{_n(x)} {_n(y)}h.01")
        drawing = y is not None
    return "".join(parts)


def _box(x: float, y: float, width: float, height: float, series: int = 1, level: int = 0) -> Box:
    return Box(_n(x), _n(y), _n(width), _n(height), series, level)


def _n(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")
