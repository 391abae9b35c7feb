"""Good invoices for the readiness drill: the samples under numbers of their own, which no ledger knows."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from examples.invoices import samples
from handoffs.flows import Intake

# A small one, a large one that a person approves, and one that gives money back.
FILES = ("above-limit.xml", "charges-and-prepayment.xml", "credit-note.xml")


def examples() -> Iterator[Intake]:
    """Make the intakes. A number that was posted before would be refused, rightly."""
    from examples.invoices.flows import read_file  # the flow names these examples, so it comes first

    for name in FILES:
        raw = (samples.FOLDER / name).read_bytes()
        number = b"DRILL-" + hashlib.sha256(raw).hexdigest()[:8].encode()
        before, _, rest = raw.partition(b"<cbc:ID>")
        after = rest.partition(b"</cbc:ID>")[2]
        yield read_file(name, before + b"<cbc:ID>" + number + b"</cbc:ID>" + after)
