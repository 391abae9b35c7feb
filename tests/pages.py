"""What a person would read off a page."""

from __future__ import annotations

import html
import re
from typing import Any

from handoffs.models import Escalation, Heartbeat, sql
from tests import sample_flows
from tests.cast import document, opened, waiting, work

TAGS = re.compile(r"<(script|style|svg)\b.*?</\1>|<[^>]+>", re.DOTALL)


def words(response: Any) -> str:
    """The text of a page, on one line."""
    return " ".join(html.unescape(TAGS.sub(" ", response.content.decode())).split())


def main_words(response: Any) -> str:
    """The text of a page's main column."""
    body = response.content.decode().split("<main", 1)[1].split("</main>")[0]
    return " ".join(html.unescape(TAGS.sub(" ", f"<main{body}")).split())


def listed(response: Any) -> list[int]:
    """The numbers of the escalations or records in a list, in their order."""
    return [int(number) for number in re.findall(r'<tr id="(?:ESC|REC)-(\d+)"', response.content.decode())]


def link(response: Any, rel: str) -> str | None:
    """Where a link of the pager leads."""
    found = re.search(rf'href="([^"]+)" rel="{rel}"', response.content.decode())
    return html.unescape(found[1]) if found else None


def refused(number: str = "A-1", **kwargs: Any) -> Escalation:
    """A record that `check` refuses, for the want of a purchase order."""
    record = opened(document(number=number, order=""), **kwargs)
    work()
    return waiting(record)


def unsure(confidence: float | None = 0.62) -> Escalation:
    """A record whose extract was not sure enough."""
    draft = sample_flows.Draft(number="B-1", purchase_order="PO-1", total=3)
    sample_flows.behaviour["extract"] = lambda given, context: sample_flows.Result(draft, confidence=confidence)
    record = opened(document("B-1"))
    work()
    sample_flows.behaviour.pop("extract")
    return waiting(record)


def large(number: str = "L-1") -> Escalation:
    """A record that waits for a person's approval, in another queue."""
    record = opened(document(number=number, total=5000))
    work()
    return waiting(record)


def broken_intake() -> Escalation:
    """A record that could not be taken in: two fields are wrong."""
    return waiting(opened({"text": 5, "more": "<b>x</b>"}))


def worker_is_seen() -> None:
    Heartbeat.objects.update_or_create(name="w1", defaults={"kind": "worker", "seen_at": sql.now()})


def change(escalation: Escalation, **values: Any) -> Escalation:
    """Set columns that time or others would set."""
    Escalation.objects.filter(pk=escalation.pk).update(**values)
    escalation.refresh_from_db()
    return escalation
