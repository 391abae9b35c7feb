"""A client for agents, with nothing but the standard library.

    client = Client("https://handoffs.example.com", token)
    answer = client.ask(queue="refund-questions", question="Refund?", answers=["yes", "no"], wait=3600)

    def classify(claim: Claim) -> Result:
        return Result({"label": guess(claim.input)}, confidence=0.93)

    client.work("tickets", "classify", classify)

A request that changes something carries an `Idempotency-Key`; when it is repeated, the key is the same, so that it
happens once whatever the network does.
"""

from handoffs.client.agent import Client
from handoffs.client.claims import Answer, Claim, Failed, Question, Result
from handoffs.client.transport import ApiError, Unreachable

__all__ = ["Answer", "ApiError", "Claim", "Client", "Failed", "Question", "Result", "Unreachable"]
