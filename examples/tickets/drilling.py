"""For the readiness drill: good tickets, and what the agent and the person would deliver."""

from __future__ import annotations

import json

from examples.tickets.contracts import Classified, Label, Reply, Ticket, ToReply, Verified
from handoffs import Result
from handoffs.flows import Intake, StepContext

_SENT = [
    {"number": "T-9001", "sender": "kim@example.com", "subject": "Opening hours", "text": "Are you open on Saturday?"},
    {"number": "T-9002", "sender": "max@example.com", "subject": "Contract", "text": "Please put it in my name."},
]
EXAMPLES = [Intake(json.dumps(sent)) for sent in _SENT]  # one is answered at once, of one somebody looks at the sender


def classify(ticket: Ticket, context: StepContext) -> Result:
    """What the agent outside would say."""
    label: Label = "change_of_owner" if "my name" in ticket.text else "question"
    return Result(Classified(**ticket.model_dump(), label=label, urgent=False), confidence=0.95)


def verify(ticket: Classified, context: StepContext) -> Verified:
    """What a person would find who compares the pictures."""
    return Verified(**ticket.model_dump(), same_person=True, card_number_ends_with="4F7K")


def reply(ticket: ToReply, context: StepContext) -> Reply:
    """What the agent outside would answer."""
    return Reply(number=ticket.number, text="Thank you for your message.")
