from __future__ import annotations

from decimal import Decimal

import pytest

from handoffs.contracts import read_confidence
from handoffs.states import Side


@pytest.mark.parametrize(("raw", "confidence"), [(None, None), (0, 0.0), (1, 1.0), (0.87, 0.87), (0.989999, 0.989999)])
def test_confidence(raw: object, confidence: float | None):
    assert read_confidence(raw) == (confidence, ())


@pytest.mark.parametrize(
    ("raw", "received"),
    [
        (95, "95"),
        (87.0, "87.0"),
        (-0.01, "-0.01"),
        (1.0000001, "1.0000001"),
        (10**400, "1000… 401 digits"),
        (True, "true"),
        (False, "false"),
        ("high", '"high"'),
        ("0.9", '"0.9"'),
        (float("nan"), "NaN"),
        (float("inf"), "Infinity"),
        ([0.9], "[0.9]"),
        ({}, "{}"),
        (Decimal("0.9"), '"0.9"'),
    ],
)
def test_invalid_confidence(raw: object, received: str):
    confidence, [violation] = read_confidence(raw)
    assert confidence is None
    assert (violation.side, violation.pointer, violation.rule) == (Side.ENVELOPE, "/confidence", "invalid_confidence")
    assert violation.received == received
