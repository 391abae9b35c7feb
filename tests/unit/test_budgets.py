"""The shape of the code: nothing grows beyond what a reader takes in at once."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from django.contrib.staticfiles import finders

ROOT = Path(__file__).resolve().parents[2]
FUNCTION, VIEW, MODULE, TEMPLATE, SCRIPT, ALL_SCRIPT = 40, 25, 300, 150, 8_000, 70_000
SOURCES = [
    path
    for folder in ("handoffs", "reviewqueue", "examples")
    for path in sorted((ROOT / folder).rglob("*.py"))
    if "migrations" not in path.parts
]
MARKED_SAFE = {"_form_field.html": "Django's own help texts of its password forms are lists"}


def too_long(path: Path) -> dict[str, int]:
    found = {}
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            is_view = "views" in path.parts and [a.arg for a in node.args.args][:1] == ["request"]
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if lines > (VIEW if is_view else FUNCTION):
                found[f"{path.relative_to(ROOT)}:{node.name}"] = lines
    return found


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT)))
def test_modules_and_functions_stay_within_their_budget(path):
    assert path.read_text().count("\n") <= MODULE
    assert too_long(path) == {}


@pytest.mark.parametrize("path", sorted((ROOT / "templates").rglob("*.html")), ids=lambda p: p.name)
def test_templates_stay_within_their_budget(path):
    text = path.read_text()
    assert text.count("\n") <= TEMPLATE
    assert "<script>" not in text
    assert " style=" not in text
    assert "|safe" not in text or path.name in MARKED_SAFE


def test_our_own_script_stays_small():
    assert sum(p.stat().st_size for p in (ROOT / "static").rglob("*.js")) < SCRIPT


def test_all_the_script_of_a_page_stays_small():
    """Ours and htmx, as they are served: nothing else is loaded."""
    htmx = finders.find("django_htmx/htmx-2.min.js")
    own = [p.stat().st_size for p in (ROOT / "static").rglob("*.js")]
    assert Path(htmx).stat().st_size + sum(own) < ALL_SCRIPT
    assert (ROOT / "templates" / "base.html").read_text().count("<script ") == 1
