"""What a new version of a contract does to both sides, in one word."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from handoffs.insight.versions import Harm, compare


class Compatibility(StrEnum):
    """Whom a change of a contract can break."""

    SAME = "the schema is the same, its rules in code changed"  # whom that breaks, only bodies tell
    BOTH = "compatible"  # nobody
    FOR_PRODUCERS = "compatible for producers, may break consumers"
    FOR_CONSUMERS = "compatible for consumers, may break producers"
    NEITHER = "breaking"  # both may break


def classify(older: Mapping[str, Any], newer: Mapping[str, Any]) -> Compatibility:
    """Class the change from one JSON Schema to another."""
    rows = compare(older, newer)
    before, after = _rules(older), _rules(newer)
    if not rows and before == after:
        return Compatibility.SAME
    producers = bool(after - before) or any(row.producers is not Harm.NONE for row in rows)
    consumers = bool(before - after) or any(row.consumers is not Harm.NONE for row in rows)
    if producers and consumers:
        return Compatibility.NEITHER
    if producers:
        return Compatibility.FOR_CONSUMERS
    return Compatibility.FOR_PRODUCERS if consumers else Compatibility.BOTH


def _rules(schema: Mapping[str, Any]) -> set[tuple[str, str]]:
    """(contract, name) of every invariant, also of contracts inside."""
    inner = schema.get("$defs", {}).items()
    return {(where, rule["name"]) for where, part in [("", schema), *inner] for rule in part.get("x-invariants", ())}
