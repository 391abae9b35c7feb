"""The classes of what a drill breaks: every seam covers each of them, or says why it has none."""

from __future__ import annotations

from collections.abc import Collection

from handoffs.flows import Step

OF_BODIES = {
    "missing": "no field has to be there",
    "renamed": "no field has to be there",
    "null": "everything may be null",
    "wrong_type": "every type is allowed everywhere",
    "empty": "everything may be empty",
    "too_short": "nothing has to be longer than one character or item",
    "too_long": "nothing has a greatest length, or one too great to be sent",
    "out_of_range": "no number has a range",
    "pattern": "no text has to fit a pattern",
    "bad_format": "no text has a format",
    "locale_number": "no number is written as a text",
    "locale_date": "there is no date",
    "wrong_enum": "there is no list of what is allowed",
    "enum_case": "there is no list of words that are allowed",
    "list_item": "there is no list whose items may not be null",
    "unknown_field": "every field is known, or may have any name",
}
OF_BYTES = (
    "duplicate_key", "nul", "not_a_number", "deep", "huge", "bad_text", "not_json", "empty_body",
)  # fmt: skip
OF_CONFIDENCE = ("confidence_invalid", "confidence_missing", "confidence_low")
OF_FACTS = ("carried_changed", "carried_dropped")
OF_ATTEMPTS = (
    "transient_error", "permanent_error", "cap_reached", "worker_dead", "result_late", "result_twice", "taken_over",
)  # fmt: skip
ALL = frozenset({*OF_BODIES, *OF_BYTES, *OF_CONFIDENCE, *OF_FACTS, *OF_ATTEMPTS})


def not_applicable(covered: Collection[str], producer: Step | None, consumer: Step | None) -> dict[str, str]:
    """Why a seam has none of each class that it does not cover; the neighbours are None at either end of a flow."""
    whys = OF_BODIES | dict.fromkeys(OF_BYTES, "no bytes come in here: what hands it over is within the installation")
    whys |= dict.fromkeys(OF_CONFIDENCE, _no_confidence(producer))
    whys |= dict.fromkeys(OF_FACTS, "no fact is carried here" if producer else "nothing comes before the intake")
    whys |= dict.fromkeys(OF_ATTEMPTS, _no_attempts(consumer))
    return {kind: why for kind, why in whys.items() if kind not in covered}


def _no_confidence(producer: Step | None) -> str:
    if producer is None:
        return "who hands a record in does not say how sure it is"
    if producer.by == "human":
        return "a person hands it over, and decides"
    return f"{producer.name} has no bar for it"


def _no_attempts(consumer: Step | None) -> str:
    if consumer is None:
        return "no step comes after it"
    if consumer.by == "human":
        return "a person does the step, and no attempt of code runs"
    return f"{consumer.name} was not run"
