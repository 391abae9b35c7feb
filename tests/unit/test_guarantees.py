"""The table of promises names tests that are there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROWS = re.findall(r"^\| (G\d+) \| (.*)$", (ROOT / "docs/guarantees.md").read_text(), re.MULTILINE)
NAMED = sorted({name for _, row in ROWS for name in re.findall(r"`(tests/[^`]+)`", row)})


def test_every_promise_has_one_row():
    assert [number for number, _ in ROWS] == [f"G{n}" for n in range(1, 24)]


@pytest.mark.parametrize(("number", "row"), ROWS, ids=[number for number, _ in ROWS])
def test_a_row_names_its_tests_or_says_why_there_is_no_promise(number, row):
    assert ("`tests/" in row) != ("not promised, because" in row)


@pytest.mark.parametrize("name", NAMED)
def test_the_named_tests_are_there(name):
    path, _, function = name.partition("::")
    tree = ast.parse((ROOT / path).read_text())
    names = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    assert function in names if function else any(found.startswith("test_") for found in names)
