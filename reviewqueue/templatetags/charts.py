"""Tags that draw a figure: `{% load charts %}{% columns figure %}`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django import template

from reviewqueue import charts
from reviewqueue.charts import Figure

register = template.Library()
Context = dict[str, Any]


@register.inclusion_tag("charts/bars.html")
def bars(figure: Figure) -> Context:
    """A lying bar for each point, with its name and its value."""
    rows = [(point, point.shown[0], charts.bar(point.values[0], figure.edge)) for point in figure.points]
    return {"figure": figure, "rows": rows}


@register.inclusion_tag("charts/columns.html")
def columns(figure: Figure) -> Context:
    """Upright bars over time, a few series side by side."""
    return {"figure": figure, "boxes": charts.columns(figure), **_ends(figure)}


@register.inclusion_tag("charts/lines.html")
def lines(figure: Figure) -> Context:
    """A line over time for each series."""
    return {"figure": figure, "paths": charts.lines(figure), **_ends(figure)}


@register.inclusion_tag("charts/stacked.html")
def stacked(figure: Figure) -> Context:
    """One bar, divided into its points."""
    return {"figure": figure, "boxes": charts.stacked(figure)}


@register.inclusion_tag("charts/strip.html")
def strip(figure: Figure) -> Context:
    """A row of shaded cells for each point."""
    first, last = (figure.series[0], figure.series[-1]) if figure.series else ("", "")
    return {"figure": figure, "rows": charts.strip(figure), "first": first, "last": last}


@register.inclusion_tag("charts/spark.html")
def spark(values: Sequence[float | None]) -> Context:
    """A small line beside a number that already says what matters."""
    return {"path": charts.spark(values)}


def _ends(figure: Figure) -> Context:
    labels = [point.label for point in figure.points] or [""]
    return {"first": labels[0], "last": labels[-1] if len(labels) > 1 else ""}
