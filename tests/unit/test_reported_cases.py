"""The cases of tests/cases that the gate or a contract judges by itself."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from handoffs.contracts import Checked, check, read_confidence, schema
from handoffs.states import Side
from handoffs.strict_json import Body, Flaw, read
from tests.cases_contracts import CONTRACTS, InvoiceDue, InvoiceExtract, SubscriptionSync
from tests.unit.judging import rules

CASES = Path(__file__).parent.parent / "cases"


def flaws(raw: bytes) -> tuple[Flaw, ...]:
    found = read(raw)
    assert isinstance(found, tuple)
    return found


def body(raw: bytes, **limits: int) -> Body:
    found = read(raw, **limits)
    assert isinstance(found, Body)
    return found


@pytest.mark.parametrize(
    ("name", "code", "where"),
    [
        ("M01.txt", "invalid_number", "/output/total"),
        ("M03.json", "duplicate_key", "/output/decision"),
        ("M04.json", "unstorable_character", "/output/lines/0/description"),
        ("M06.json", "unstorable_character", "/output/lines/0/description"),
        ("M08.json", "huge_integer", "/output/document_id"),
        ("M09.txt", "not_json", ""),
    ],
)
def test_case_is_refused(name: str, code: str, where: str):
    [flaw] = flaws((CASES / name).read_bytes())
    assert (flaw.code, flaw.pointer) == (code, where)


def test_case_m08_is_cut():
    assert flaws((CASES / "M08.json").read_bytes())[0].received == "2444… 5001 digits"


def test_case_m09_hints_at_the_fence():
    assert "code fence" in flaws((CASES / "M09.txt").read_bytes())[0].sentence


@pytest.mark.parametrize(
    "name", ["_baseline_ok.json", "C01.json", "C03.json", "M11.json", "M13.json", "M15.json", "R09.json", "R13.json"]
)
def test_case_is_json(name: str):
    raw = (CASES / name).read_bytes()
    assert body(raw) == Body(raw.decode(), json.loads(raw))


@cache
def made(script: str) -> bytes:
    return subprocess.run([sys.executable, CASES / script], capture_output=True, check=True).stdout


def test_case_m17_is_too_large():
    raw = made("make_m17.py")
    [flaw] = flaws(raw)
    assert flaw.code == "too_large"
    assert f"{len(raw):,}" in flaw.sentence
    assert "2,000,000" in flaw.sentence


def test_case_m17_one_kilobyte_below_the_limit_is_taken():
    raw = made("make_m17.py")
    assert body(raw, max_bytes=len(raw) + 1024)


def test_case_r11_is_taken():
    assert body(made("make_r11.py"))


def case(name: str) -> Any:
    return body((CASES / name).read_bytes()).data


def output(name: str) -> Checked:
    return check(InvoiceExtract, json.dumps(case(name)["output"]), side=Side.RETURNS)


def subscription(name: str) -> Checked:
    return check(SubscriptionSync, json.dumps(case(name)["input"]), side=Side.RECEIVES)


@pytest.mark.parametrize("name", ["_baseline_ok.json", "C01.json", "C03.json", "R13.json"])
def test_case_output_holds(name: str):
    assert output(name).violations == ()


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("M11.json", [("/total", "wrong_type")]),
        ("M13.json", [("/issue_date", "invalid_date")]),
        ("M15.json", [("/decision", "not_allowed_value")]),
        ("R09.json", [("/issue_date", "invalid_date")]),
    ],
)
def test_case_output_is_refused(name: str, found: list[tuple[str, str]]):
    assert rules(output(name)) == found


def test_case_m11_value_is_shown_as_sent():
    [violation] = output("M11.json").violations
    assert violation.received == '"1.234,56 €"'
    assert violation.sentence == "A number is needed; text was sent."


def test_case_m15_allowed_values_are_listed_in_order():
    [violation] = output("M15.json").violations
    assert violation.expected == "'approve', 'reject' or 'needs_review'"
    assert violation.received == '"Approve "'


@pytest.mark.parametrize(
    ("name", "found", "unknown"),
    [
        (
            "D01.json",
            [("/subscription/current_period_end", "missing"), ("/subscription/items", "unknown_field")],
            ("/subscription/items",),
        ),
        (
            "D03.json",
            [("/subscription/billing_mode", "unknown_field"), ("/api_release", "unknown_field")],
            ("/subscription/billing_mode", "/api_release"),
        ),
        ("D04.json", [("/subscription/status", "null_not_allowed")], ()),
    ],
)
def test_case_input_is_refused(name: str, found: list[tuple[str, str]], unknown: tuple[str, ...]):
    checked = subscription(name)
    assert (rules(checked), checked.unknown) == (found, unknown)


def test_case_d03_open_contract_takes_and_counts():
    checked = check(InvoiceDue, '{"event": "e", "invoice": {"id": "i", "tax": 1}, "release": 2}', side=Side.RECEIVES)
    assert checked.value.invoice.amount_due == 0
    assert sorted(checked.unknown) == ["/invoice/tax", "/release"]


def test_case_c01_confidence_is_refused_and_the_output_kept():
    confidence, [violation] = read_confidence(case("C01.json")["confidence"])
    assert (confidence, violation.rule, violation.received) == (None, "invalid_confidence", "95")


def test_case_c03_missing_confidence_is_none():
    assert read_confidence(case("C03.json").get("confidence")) == (None, ())


def test_case_c05_confidence_is_not_rounded():
    posted = [read_confidence(action["post"]["confidence"]) for action in case("C05.json")["actions"]]
    assert posted == [(0.989999, ()), (0.99, ()), (0.95, ())]


def plain(node: Any, defs: dict[str, Any]) -> Any:
    """A JSON Schema without references, titles, defaults, and what JSON Schema says in two ways."""
    if isinstance(node, list):
        return [plain(item, defs) for item in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        return plain(defs[node["$ref"].rpartition("/")[2]], defs)
    if "enum" in node:
        return {"enum": node["enum"]}
    words = {"title", "default", "$defs", "pattern", "x-kind", "x-decimal-places"}
    open_ = ("additionalProperties", True)
    return {k: plain(value, defs) for k, value in node.items() if k not in words and (k, value) != open_}


@pytest.mark.parametrize("name", CONTRACTS)
def test_case_contracts_are_those_of_the_file(name: str):
    found = schema(CONTRACTS[name])
    assert plain(found, found.get("$defs", {})) == plain(json.loads((CASES / "_contracts.json").read_bytes())[name], {})
