"""The product's own settings, `HANDOFFS_<NAME>` in Django's settings; the defaults are stated here, nowhere else."""

from __future__ import annotations

import re
from typing import Any

from django.conf import settings

DEFAULTS: dict[str, Any] = {
    "MAX_BODY": 2_000_000,  # bytes of one body
    "MAX_ATTACHMENT": 10_000_000,  # bytes of one attached document
    "BATCH": 100,  # records in one claim of a worker, at most
    "SLICE": 120.0,  # seconds after which a draining worker ends its bell and rings the next
    "PERIOD": 5.0,  # seconds between two rounds of the reconciler
    "UNDO": 10.0,  # seconds in which a verdict can be taken back
    "CLAIM": 15 * 60.0,  # seconds that a reviewer's claim lasts without activity
    "STRAND_AFTER": 600.0,  # seconds that a record waits for a step that the code no longer has
    "BULK": 5000,  # escalations that one batch of decisions takes
    "INTAKE_BATCH": 200,  # records opened in one transaction
    "REQUESTS_PER_MINUTE": 6000,  # of one token, in one server process
    "BATCH_LINES": 1000,  # records in one posted batch
    "MAX_BATCH_BODY": 20_000_000,  # bytes of one posted batch
    "CLAIM_LIMIT": 100,  # records in one claim of an agent outside
    "WAITERS": 4,  # long polls that one server process holds at once; the rest are answered at once
    "LONGEST_WAIT": 60.0,  # seconds of one long poll
    "KEY_DAYS": 30,  # days for which a repeated request with an Idempotency-Key is answered as before
    "REQUIRE_DRILL": True,  # whether a flow starts nothing before its drill is green; with DEBUG it starts all the same
    "MAIL_EVERY": 15 * 60.0,  # seconds between two mails to one person about the same fault
    "WEBHOOK_DAYS": 3,  # days of failure after which an endpoint is paused
    "WEBHOOK_TIMEOUT": 5.0,  # seconds that an endpoint may take to connect, and to answer
    "WEBHOOKS_INSIDE": False,  # whether webhooks may go to private addresses, and by http
    "OUTBOX_DAYS": 30,  # days for which what was told is kept
    "SIGN_IN_PAUSE": 300.0,  # seconds in which nobody signs in under a name after five wrong passwords
    "LOCK_WAIT": 5.0,  # seconds that a repeated request waits for the first one to be answered
}


def get(name: str) -> Any:
    """The value of one setting.

    Raises:
        KeyError: no such setting.
    """
    return getattr(settings, f"HANDOFFS_{name}", DEFAULTS[name])


def masked(url: str) -> str:
    """A server's URL with its passwords, in front of the host or in the query, made unreadable."""
    before_host = re.sub(r"(://[^:/@]*:)[^/]*(@)", r"\1***\2", url)
    return re.sub(r"([?&][^=&]*pass[^=&]*=)[^&]*", r"\1***", before_host, flags=re.IGNORECASE)
