"""The tables. Reads are querysets with domain names; `moves.move` is the only way a record's row changes."""

from handoffs.models.agents import AgentToken, IdempotencyKey
from handoffs.models.batches import Batch, BatchItem
from handoffs.models.drafts import Draft
from handoffs.models.drills import DrillCase, DrillRun
from handoffs.models.escalations import Alert, Escalation
from handoffs.models.history import AuditEntry, ContractVersion, Heartbeat, Transition
from handoffs.models.outbox import Delivery, Endpoint, MailChoice, Notice, OutboxRow
from handoffs.models.queues import Membership, Queue
from handoffs.models.records import Attachment, Comment, Record, StepResult, Violation

__all__ = [
    "AgentToken",
    "Alert",
    "Attachment",
    "AuditEntry",
    "Batch",
    "BatchItem",
    "Comment",
    "ContractVersion",
    "Delivery",
    "Draft",
    "DrillCase",
    "DrillRun",
    "Endpoint",
    "Escalation",
    "Heartbeat",
    "IdempotencyKey",
    "MailChoice",
    "Membership",
    "Notice",
    "OutboxRow",
    "Queue",
    "Record",
    "StepResult",
    "Transition",
    "Violation",
]
