"""A pydantic-ai agent that delivers to Handoffs: a deferred tool is a question to people, a refusal is its own retry.

`answer_deferred` puts each deferred tool call to a queue and gives back what the agent goes on with.
`classify_with` lets an agent read its refusal receipt and try again, within the cap of the step.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from handoffs.client import Answer, Claim, Client, Result


def answer_deferred(requests: Any, *, client: Client, queue: str, wait: float) -> Any:
    """Results for the deferred calls of a run (`DeferredToolRequests`), as people answered them.

    Raises:
        TimeoutError: nobody answered within `wait` seconds; the same calls again find the same asks.
    """
    from pydantic_ai import DeferredToolResults

    results = DeferredToolResults()
    for call in requests.calls:
        asked = call.args_as_dict()
        found = client.ask(
            queue=queue,
            question=asked["question"],
            answers=asked.get("answers", ()),
            wait=wait,
            key=f"pydantic-ai-{call.tool_call_id}",
        )
        if not isinstance(found, Answer):
            raise TimeoutError(f"ask {found} has no answer yet")
        results.calls[call.tool_call_id] = found.answer
    return results


def classify_with(agent: Any) -> Callable[[Claim], Result]:
    """A handler for `Client.work`: the agent's output, and after a refusal its output on being told why."""

    def handle(claim: Claim) -> Result:
        prompt = json.dumps(claim.input)
        if claim.refusal:
            told = "\n".join(f"{v['pointer']}: {v['sentence']}" for v in claim.refusal)
            prompt += f"\nYour last answer was refused:\n{told}"
        run = agent.run_sync(prompt)
        usage = {"output_tokens": run.usage.output_tokens, "input_tokens": run.usage.input_tokens}
        return Result(run.output, confidence=0.9, usage=usage)

    return handle
