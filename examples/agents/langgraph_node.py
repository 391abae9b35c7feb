"""A LangGraph node whose `interrupt` becomes a question to people, and resumes with their answer.

The graph stops at `interrupt({"question": …, "answers": […]})`; `resume_with_people` puts each question to a queue,
waits, and resumes the graph with the answer. The thread and the interrupt name the ask, so running it again after a
crash finds the same ask and does not put the question twice.
"""

from __future__ import annotations

from typing import Any

from handoffs.client import Answer, Client


def resume_with_people(graph: Any, state: Any, thread: str, *, client: Client, queue: str, wait: float) -> Any:
    """Run a compiled graph with a checkpointer to its end, with people answering its interrupts.

    Raises:
        TimeoutError: nobody answered within `wait` seconds; run it again with `state=None` to go on waiting.
    """
    from langgraph.types import Command

    config = {"configurable": {"thread_id": thread}}
    reached = graph.invoke(state, config)
    while pending := _pending(graph, config):
        given = {}
        for interrupt in pending:
            asked = interrupt.value
            found = client.ask(
                queue=queue,
                question=asked["question"],
                answers=asked.get("answers", ()),
                context=asked.get("context"),
                wait=wait,
                key=f"langgraph-{thread}-{interrupt.id}",
            )
            if not isinstance(found, Answer):
                raise TimeoutError(f"ask {found} of thread {thread} has no answer yet")
            given[interrupt.id] = found.answer
        reached = graph.invoke(Command(resume=given), config)
    return reached


def _pending(graph: Any, config: Any) -> list[Any]:
    return [interrupt for task in graph.get_state(config).tasks for interrupt in task.interrupts]
