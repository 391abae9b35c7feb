"""Where the marks of a chart stand, and what its table says."""

from __future__ import annotations

import re

import pytest
from django.template import Context, Template
from django.utils import translation

from reviewqueue import charts
from reviewqueue.charts import Figure, Point

DAYS = Figure(
    "3 opened and 1 decided",
    "Day",
    ("Opened", "Decided"),
    (Point("1 May", (2, 1)), Point("2 May", (1, 0), url="/inbox/?since=2026-05-02"), Point("3 May", (0, None))),
)


def drawn(tag: str, figure: Figure) -> str:
    return Template("{% load charts %}{% " + tag + " figure %}").render(Context({"figure": figure}))


@pytest.mark.parametrize(
    ("value", "edge"), [(0, 1), (1, 1), (1.2, 2), (7, 8), (9, 10), (11, 20), (57, 60), (1001, 2000)]
)
def test_a_scale_ends_at_a_round_number_that_no_value_exceeds(value, edge):
    assert charts.rounded_up(value) == edge


def test_a_column_is_as_high_as_its_share_of_the_scale():
    first, second, *_rest = charts.columns(DAYS)
    assert (first.height, first.y, first.series) == ("40", "0", 1)
    assert (second.height, second.y, second.series) == ("20", "20", 2)


def test_a_line_breaks_where_there_is_no_value_and_a_lone_value_is_a_dot():
    figure = Figure("", "Day", ("Median",), tuple(Point(str(n), (v,)) for n, v in enumerate([1, None, 1, 0])))
    assert charts.lines(figure) == ["M12.5 0h.01M62.5 0h.01L87.5 40"]


def test_the_parts_of_a_whole_fill_it_and_an_empty_part_is_not_drawn():
    figure = Figure("", "Decision", ("Number",), (Point("a", (3,)), Point("b", (0,)), Point("c", (1,))))
    assert [(box.x, box.width, box.series) for box in charts.stacked(figure)] == [("0", "75", 1), ("75", "25", 3)]


def test_a_strip_shades_by_the_greatest_and_lists_what_is_not_zero():
    figure = Figure("", "Seam", ("1 May", "2 May"), (Point("a → b", (0, 4)), Point("b → c", (1, 0))))
    assert [[box.level for box in boxes] for _point, boxes, _sum in charts.strip(figure)] == [[0, 4], [2, 0]]
    assert figure.cells == [("a → b", "2 May", "4"), ("b → c", "1 May", "1")]


def test_a_figure_of_zeros_and_a_figure_of_nothing_can_be_drawn():
    for figure in (Figure("", "Day", (), ()), Figure("", "Day", ("a",), (Point("x", (0,)),))):
        assert figure.is_empty
        for tag in ("bars", "columns", "lines", "stacked", "strip"):
            assert "<table" in drawn(tag, figure)
    assert charts.spark([]) == ""


@pytest.mark.parametrize("tag", ["columns", "lines", "stacked"])
def test_a_drawing_says_in_words_what_it_shows(tag):
    assert f'role="img" aria-label="{DAYS.sentence}"' in drawn(tag, DAYS)


@pytest.mark.parametrize("tag", ["bars", "columns", "lines", "stacked", "strip"])
def test_every_chart_has_its_table_and_no_style_of_its_own(tag):
    page = drawn(tag, DAYS)
    assert page.count("<details") == 1
    assert page.index("<table") > page.index("<details")
    assert "style=" not in page
    assert not re.search(r"\bfill=|\bstroke=", page)


def test_the_table_has_every_value_and_the_link_behind_it():
    page = drawn("columns", DAYS)
    assert re.findall(r'<td class="is-number">(.*?)</td>', page) == ["2", "1", "1", "0", "0", "–"]
    assert '<th scope="row"><a href="/inbox/?since=2026-05-02">2 May</a></th>' in page


def test_what_a_point_is_called_is_shown_as_text():
    page = drawn("bars", Figure("", "Queue", ("Open",), (Point("<b>x", (1,)),)))
    assert "<b>x" not in page
    assert "&lt;b&gt;x" in page


def test_numbers_follow_the_language_and_coordinates_do_not():
    figure = Figure("", "Day", ("a",), (Point("x", (1234.5,)), Point("y", (0.5,)), Point("z", (0.25,))))
    with translation.override("de"):
        assert [point.shown[0] for point in figure.points] == ["1.234,5", "0,5", "0,25"]
        assert not re.search(r'(?:x|y|width|height)="[0-9]+,', drawn("columns", figure))


def test_a_spark_runs_from_the_least_to_the_greatest():
    assert charts.spark([5, 7]) == "M25 38h.01L75 2"
    assert "<path" in Template("{% load charts %}{% spark values %}").render(Context({"values": [1, 2, 3]}))
