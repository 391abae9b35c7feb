"""The flow `tickets`: classified by an agent, verified by a person where the account changes hands, answered."""

from __future__ import annotations

from examples.tickets import drilling
from examples.tickets.contracts import Classified, Reply, Ticket, ToReply, Verified
from handoffs import Contract, Flow, Retry, Step


def changes_hands(ticket: Contract) -> bool:
    """Whether somebody has to look at who wrote: an account must not be given away by mail."""
    return getattr(ticket, "label", "") == "change_of_owner"


tickets = Flow(
    "tickets",
    intake=Ticket,
    escalate_to="ticket-questions",
    title="{number} {subject}",
    columns=["label", "sender"],
    examples=drilling.EXAMPLES,
    steps=[
        Step(
            "classify",
            receives=Ticket,
            returns=Classified,
            by="agent",
            confidence=0.8,
            retry=Retry(cap=3),
            stand_in=drilling.classify,
        ),
        # The sender attaches two pictures: the identity card, and the face beside it.
        Step(
            "verify",
            receives=Classified,
            returns=Verified,
            by="human",
            when=changes_hands,
            escalate_to="identity-checks",
            stand_in=drilling.verify,
        ),
        Step("reply", receives=ToReply, returns=Reply, by="agent", stand_in=drilling.reply),
    ],
)
