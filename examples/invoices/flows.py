"""The flow `invoices`: an e-invoice comes in as a file and ends in the ledger, or with a person who can say why not."""

from __future__ import annotations

import hashlib
import json
import mimetypes
from pathlib import PurePath

from examples.invoices import drilling, steps
from examples.invoices.contracts import MAX_BYTES, Approval, Checked, CheckInput, Document, Draft, Posted, ToPost
from handoffs import Contract, Flow, Retry, Step
from handoffs.flows import Intake


def by_amount(document: Contract) -> int:
    """Sooner the more money waits: the number of digits before the point; 0 while nobody knows the amount."""
    total = getattr(document, "total", None)
    return 0 if total is None else len(str(abs(int(total))))


def read_file(name: str | PurePath, raw: bytes) -> Intake:
    """Take a file in under the digest of its bytes, so that the same file again opens nothing twice.

    A file above the limit is announced with its size, for the intake contract to refuse, and not attached.
    """
    file_name = PurePath(name).name.encode("utf-8", "replace").decode()
    media_type = "application/xml" if file_name.lower().endswith(".xml") else mimetypes.guess_type(file_name)[0]
    media_type = media_type or "application/octet-stream"
    digest = hashlib.sha256(raw).hexdigest()
    document = {"file_name": file_name, "media_type": media_type, "size": len(raw), "digest": digest}
    attachments = [(file_name, media_type, raw)] if len(raw) <= MAX_BYTES else []
    return Intake(body=json.dumps(document), external_id=digest, attachments=attachments)


invoices = Flow(
    "invoices",
    intake=Document,
    escalate_to="invoice-exceptions",
    title="{supplier} {invoice_number}",
    columns=["total", "currency"],
    priority=by_amount,
    reader=read_file,
    examples=drilling.examples,
    allows={"post": ["null /cost_centre"]},  # what check hands over has none, and null says no more than that
    steps=[
        Step(
            "extract",
            receives=Document,
            returns=Draft,
            run=steps.extract,
            retry=Retry(cap=3, backoff="exponential"),
            confidence=0.85,
            on_broken_output="escalate",  # reading the same file again would find the same
        ),
        Step("check", receives=CheckInput, returns=Checked, run=steps.check),
        # Approval extends Checked; ToPost takes either, since approve may be skipped.
        Step(
            "approve",
            receives=Checked,
            returns=Approval,
            by="human",
            when=steps.needs_approval,
            escalate_to="approvals",
        ),
        Step(
            steps.POST,
            receives=ToPost,
            returns=Posted,
            run=steps.post,
            takes={"draft": "extract"},
            escalate_to="ledger",
            retry=Retry(cap=3, backoff="exponential"),
        ),
    ],
)
