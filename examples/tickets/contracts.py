"""What the steps of `tickets` need and hand over."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from handoffs import Carried, Contract

Label = Literal["complaint", "cancellation", "question", "change_of_owner"]
Number = Annotated[str, Carried(), Field(pattern=r"^T-[0-9]{1,10}$")]

Sender = Annotated[str, Field(min_length=3, max_length=254)]


class Ticket(Contract):
    """A message from a customer, as the help desk has it."""

    number: Number
    sender: Sender
    subject: Annotated[str, Field(max_length=300)]
    text: Annotated[str, Field(min_length=1, max_length=20_000)]


class Classified(Ticket):
    """The ticket with what it is about."""

    label: Label
    urgent: bool


class Verified(Classified):
    """What a person found who compared the two attached pictures: the card, and the face beside it."""

    same_person: bool
    card_number_ends_with: Annotated[str, Field(pattern=r"^[0-9A-Z]{4}$")]


class ToReply(Contract, unknown="count"):
    """A ticket to be answered, whether or not somebody had to verify who wrote it."""

    number: Number
    sender: Sender
    label: Label
    same_person: bool = True


class Reply(Contract):
    """The answer to the customer."""

    number: Number
    text: Annotated[str, Field(min_length=1, max_length=20_000)]
