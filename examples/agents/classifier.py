"""Classify tickets: a plain script. `python -m examples.agents.classifier https://handoffs.example.com`

The token comes from the environment, HANDOFFS_TOKEN; its scope is `tickets/classify: work, read`.
"""

from __future__ import annotations

import os
import sys

from handoffs.client import Claim, Client, Question, Result

WORDS = {
    "cancellation": ("stop order", "cancel", "no longer need"),
    "complaint": ("damaged", "sorted out", "refund"),
    "change_of_owner": ("in my name", "late father"),
    "question": ("when ", "how ", "?"),
}


def classify(claim: Claim) -> Result:
    """Tell what a ticket is about; ask where its words do not say."""
    ticket = claim.input
    label, sure = (claim.answer, 1.0) if claim.answer else guess(ticket["text"])
    if label is None:
        raise Question(f"Is “{ticket['subject']}” a complaint or a cancellation?", ["complaint", "cancellation"])
    evidence = {"/label": {"quote": ticket["text"][:200]}}
    output = ticket | {"label": label, "urgent": label == "complaint"}
    return Result(output, confidence=sure, evidence=evidence, usage={"model": "word list"})


def guess(text: str) -> tuple[str | None, float]:
    """(label, confidence); no label where nothing, or too much, was found."""
    found = [label for label, words in WORDS.items() if any(word in text.lower() for word in words)]
    return (found[0], 0.9) if len(found) == 1 else (None, 0.0)


if __name__ == "__main__":
    Client(sys.argv[1], os.environ["HANDOFFS_TOKEN"]).work("tickets", "classify", classify)
