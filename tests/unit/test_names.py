"""The names of things: the top level as it was agreed, rooms that say what is in them, no words that say nothing."""

from __future__ import annotations

import ast
import subprocess
from pathlib import Path

import pytest
from django.utils.module_loading import import_string

from handoffs import dispatch

ROOT = Path(__file__).resolve().parents[2]
TOP = {
    "manage.py", "pyproject.toml", "handoffs", "reviewqueue", "templates", "static", "tests", "README.md", ".ci",
    "examples", "benchmarks", "docs", "constraints.txt", "CHANGELOG.md", "LICENSE", "SECURITY.md", ".gitignore",
}  # fmt: skip
EMPTY_WORDS = {"utils", "helpers", "common", "base", "core", "misc"}
MODULES = [p for folder in ("handoffs", "reviewqueue", "examples") for p in sorted((ROOT / folder).rglob("*.py"))]


def test_the_top_level_is_the_agreed_one():
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False).stdout
    if not listed:
        pytest.skip("not a git checkout")
    assert {name.split("/")[0] for name in listed.splitlines()} <= TOP


def test_no_room_has_a_name_that_says_nothing():
    assert [p for p in MODULES if p.stem in EMPTY_WORDS] == []


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_no_function_only_manages_or_processes(path):
    names = [n.name for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.FunctionDef)]
    wrong = [n for n in names if n.startswith(("process_", "manage_", "do_", "handle_")) or n in {"process", "manage"}]
    assert [n for n in wrong if not n.startswith("process_view")] == []
    assert "update_status" not in names


def test_a_bell_names_a_function_that_is_there():
    assert dispatch.SERVE in dispatch.ALLOWED_FUNCTIONS
    assert callable(import_string(dispatch.SERVE))
