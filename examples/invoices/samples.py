"""The sample documents, and what becomes of each: for the demo and the tests.

All companies are made up. Two files are made when they are read, since nobody wants five megabytes in a repository.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from examples.invoices.contracts import MAX_BYTES
from handoffs.states import INTAKE, Kind, Status

FOLDER = Path(__file__).parent / "samples"


@dataclass(frozen=True, slots=True)
class Sample:
    """One file and where its record ends when nobody steps in.

    `step` and `kind` say where and why it stops (None when it completes); `at` is the pointer that is refused, or the
    code of the failure. `tries` counts the tries of the last step; `after` names the sample that must be posted before.
    """

    file: str
    about: str
    status: Status = Status.COMPLETED
    step: str | None = None
    kind: Kind | None = None
    at: str = ""
    unknown: tuple[str, ...] = ()
    tries: int = 1
    after: str = ""

    def read(self) -> bytes:
        """Load the file's bytes, or make them."""
        return _MADE[self.file]() if self.file in _MADE else (FOLDER / self.file).read_bytes()


def too_large() -> bytes:
    """Make a good invoice with a comment that takes it one byte above the limit."""
    good = (FOLDER / "paper.xml").read_bytes()
    opening, closing = b"<!-- ", b" -->\n"
    missing = MAX_BYTES + 1 - len(good) - len(opening) - len(closing)
    return good + opening + b"x" * missing + closing


_MADE: dict[str, Callable[[], bytes]] = {"too-large.xml": too_large, "empty.xml": bytes}


def _stops(step: str, kind: Kind, file: str, at: str, about: str, *, tries: int = 1, after: str = "") -> Sample:
    return Sample(file, about, Status.ESCALATED, step, kind, at, tries=tries, after=after)


SAMPLES: tuple[Sample, ...] = (
    Sample("paper.xml", "An everyday invoice"),
    Sample("no-order-reference.xml", "Neither an order reference nor a due date, which is allowed"),
    Sample("charges-and-prepayment.xml", "Allowance, charge, a price per 50, prepaid and rounded"),
    Sample("yen.xml", "A currency without decimals"),
    Sample("credit-note.xml", "A credit note"),
    Sample("latin-1.xml", "Declared as ISO-8859-1"),
    Sample("utf-16.xml", "UTF-16 with a byte order mark"),
    Sample("new-field.xml", "A partner added a field: counted, not refused", unknown=("/kf:LoyaltyPoints",)),
    Sample("ledger-recovers.xml", "The ledger is busy twice, then takes it", tries=3),
    _stops("approve", Kind.REVIEW, "above-limit.xml", "", "An amount that a person approves"),
    _stops("approve", Kind.REVIEW, "credit-note-above-limit.xml", "", "A large sum that goes back"),
    _stops(
        "approve", Kind.REVIEW, "line-off.xml", "line_off", "A line that is not quantity × price, in sums that hold"
    ),
    _stops(
        "check", Kind.REFUSED, "seller-without-id.xml", "/supplier_id", "The partner stopped sending its tax number"
    ),
    _stops("check", Kind.REFUSED, "unknown-currency.xml", "/currency", "A currency that the ledger does not keep"),
    _stops("check", Kind.REFUSED, "lines-differ.xml", "/total", "Lines that do not add up to the total"),
    _stops("check", Kind.REFUSED, "tax-differs.xml", "/total", "A tax that is not the rate of its amount"),
    _stops(
        "check",
        Kind.FAILED,
        "duplicate-number.xml",
        "duplicate_number",
        "A number that the supplier has used",
        after="paper.xml",
    ),
    _stops(
        "post", Kind.FAILED, "ledger-stays-busy.xml", "ledger_busy", "The ledger stays busy through all tries", tries=3
    ),
    _stops("extract", Kind.BROKEN_OUTPUT, "wrong-date.xml", "/issue_date", "A date as people write it"),
    _stops("extract", Kind.BROKEN_OUTPUT, "locale-number.xml", "/total", "A number with a decimal comma"),
    _stops("extract", Kind.LOW_CONFIDENCE, "no-currency.xml", "/currency", "The currency stands only at the amounts"),
    _stops("extract", Kind.LOW_CONFIDENCE, "two-currencies.xml", "/currency", "One line in another currency"),
    _stops("extract", Kind.FAILED, "entity-bomb.xml", "dtd_not_allowed", "Entities that unfold to sixty gigabytes"),
    _stops("extract", Kind.FAILED, "external-entity.xml", "dtd_not_allowed", "An entity that names a file"),
    _stops("extract", Kind.FAILED, "order.xml", "wrong_root", "An order, not an invoice"),
    _stops("extract", Kind.FAILED, "not-xml.xml", "not_xml", "A letter named .xml"),
    _stops("extract", Kind.FAILED, "cut-off.xml", "not_xml", "A file that ends in the middle"),
    _stops("extract", Kind.FAILED, "wrong-encoding.xml", "bad_encoding", "Bytes that are not in the declared encoding"),
    _stops(INTAKE, Kind.REFUSED, "letter.txt", "/media_type", "Not an XML file"),
    _stops(INTAKE, Kind.REFUSED, "too-large.xml", "/size", "One byte above the limit"),
    _stops(INTAKE, Kind.REFUSED, "empty.xml", "/size", "A file without content"),
)


def files() -> Iterator[tuple[str, bytes]]:
    """Give name and content of every sample, in an order in which each ends as it says."""
    for sample in SAMPLES:
        yield sample.file, sample.read()
