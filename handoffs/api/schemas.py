"""The shapes of the answers, for the OpenAPI description."""

from __future__ import annotations

from typing import Any, Literal

from ninja import Schema
from pydantic import Field

from handoffs.states import EscalationState, Kind, Outcome, Side, Status


class ViolationOut(Schema):
    """One way a body breaks a contract; the pointer leads into the body that was sent."""

    side: Side
    pointer: str
    rule: str
    expected: str
    received: str
    sentence: str


class EscalationOut(Schema):
    """Why a record waits for a person, and where."""

    id: int
    kind: Kind
    code: str
    queue: str
    state: EscalationState
    reason: str
    opened_at: str
    due_at: str
    page: str | None


class Links(Schema):
    """Addresses without the host; `page` is for people."""

    self: str
    wait: str
    page: str | None


class RecordBrief(Schema):
    """Where a record stands. `seq` counts what happened to it."""

    id: int
    flow: str
    external_id: str | None
    status: Status
    step: str
    attempt: int
    tries_left: int
    seq: int
    links: Links


class AttemptOut(Schema):
    """How one attempt ended."""

    attempt: int
    step: str
    outcome: Outcome
    code: str
    confidence: float | None
    bar: float | None
    actor: str
    started_at: str
    ended_at: str


class AttachmentOut(Schema):
    """A file or a link. The digest is SHA-256 of the bytes, hexadecimal; of a link, what its sender said."""

    id: int
    name: str
    media_type: str
    size: int
    digest: str
    link: str | None
    stored: bool


class RecordOut(RecordBrief):
    """All about a record. `document` is the document at its current seam, digit for digit; null if it is no JSON."""

    title: str
    queue: str
    opened_at: str
    available_at: str | None
    lease_expires_at: str | None
    ended_at: str | None
    attempts: list[AttemptOut]
    violations: list[ViolationOut]
    escalation: EscalationOut | None
    attachments: list[AttachmentOut]
    document: Any


class RecordPage(Schema):
    """One page of records, the newest first; `next` is the cursor of the next page."""

    records: list[RecordBrief]
    next: str | None


class Waited(Schema):
    """`done`: what was waited for has happened; if not, ask again (after Retry-After, if that is given)."""

    done: bool
    record: RecordOut


class LineVerdict(Schema):
    """What became of one line of a batch; a refused one has the members of a problem."""

    line: int
    status: int
    code: str = ""
    record: RecordBrief | None = None
    violations: list[ViolationOut] = []


class ClaimOut(Schema):
    """One attempt that has begun. `input` is what the step was handed, digit for digit."""

    record: int
    external_id: str | None
    flow: str
    step: str
    attempt: int
    key: str = Field(description="The same over all attempts of this step: give it to what must happen only once.")
    answer: str | None = Field(description="What a person answered to this step's question, if one was asked.")
    lease_expires_at: str
    attachments: list[AttachmentOut]
    links: dict[str, str]
    input: Any


class Claims(Schema):
    """The attempts that began; none, if nothing is ready."""

    claims: list[ClaimOut]


class Resubmit(Schema):
    """How to try again at once."""

    method: Literal["POST"]
    url: str
    attempt: int


class ResultOut(Schema):
    """How an attempt's end was judged, and where the record stands now."""

    record: RecordBrief
    attempt: int
    outcome: Outcome
    code: str
    escalation: EscalationOut | None


class Beat(Schema):
    """Until when the attempt may not be taken over."""

    lease_expires_at: str


class ContractSide(Schema):
    """One contract. The hash is over the schema and the validators' source; the version counts hashes seen here."""

    name: str
    hash: str
    version: int | None
    definition: dict[str, Any]


class ContractOut(Schema):
    """Both sides of a step, and how its outputs are judged."""

    flow: str
    step: str
    receives: ContractSide
    returns: ContractSide
    confidence: float | None
    tries: int


class CheckOut(Schema):
    """What a dry run found; nothing was written."""

    holds: bool
    violations: list[ViolationOut]
    unknown_fields: list[str]


class StepOut(Schema):
    """One step of a flow."""

    name: str
    by: Literal["worker", "agent", "human"]
    confidence: float | None
    queue: str
    contract: str


class FlowOut(Schema):
    """One flow, as far as the token may know it."""

    name: str
    queue: str
    ready: bool = Field(description="Whether the last readiness drill was green, over the flow as it is now.")
    why_not_ready: str | None
    held: bool = Field(description="Whether its starts wait for a green drill. Records are taken in all the same.")
    steps: list[StepOut]
    links: dict[str, str]


class Flows(Schema):
    """The flows that the token's scopes name."""

    flows: list[FlowOut]


class BreakOut(Schema):
    """Records that wait because they broke one rule in one place, all sent by one producer."""

    fingerprint: str
    waiting: int
    since: str
    last: str
    producer: str
    violation: ViolationOut = Field(description="The first one of the record that has waited longest.")
    page: str | None


class SeamOut(Schema):
    """What hands over (`null`: whoever hands records in) and what receives, with how often that was refused."""

    producer: str | None
    consumer: str
    queue: str
    arrived: int
    refused: int
    rate: float | None = Field(description="`null` where nothing has arrived.")
    waiting: int
    oldest: str | None
    breaks: list[BreakOut]


class SeamsOut(Schema):
    """How the seams of a flow fare. `sample`: over how many of the newest records `arrived` and `refused` count."""

    flow: str
    sample: int
    seams: list[SeamOut]


class AskOut(Schema):
    """A question and, once it is given, its answer. An answer can be taken back for a few seconds; then it is told."""

    id: int
    status: Literal["waiting", "answered", "closed"]
    queue: str
    question: str
    due_at: str | None
    answered_by: str | None
    answered_at: str | None
    reason: str | None = Field(description="Why it was closed without an answer.")
    links: Links
    answer: Any


class AskWaited(Schema):
    """`done`: there is an answer, or it was closed."""

    done: bool
    ask: AskOut


class Problem(Schema):
    """A refusal (RFC 9457). `code` is stable; the sentence in `detail` is for people."""

    type: str
    title: str
    status: int
    code: str
    detail: str
    violations: list[ViolationOut] | None = None
    record: RecordBrief | None = None
    attempt: int | None = None
    contract: dict[str, Any] | None = None
    escalation: EscalationOut | None = None
    resubmit: Resubmit | None = None
    sent: int | None = Field(None, description="Bytes that were sent, where they were too many.")
    allowed: int | None = Field(None, description="Bytes that are taken.")
