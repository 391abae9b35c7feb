"""What an agent's token may do: a scope names a flow, a step and verbs; whatever no scope names is refused.

As text, one scope on each line: `tickets/classify: work, read` or `invoices: open, read`; `*` stands for every flow or
every step. The built-in flow of asks has queues in the place of steps: `asks/refund-questions: ask, read`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from handoffs.declaring import require, require_name
from handoffs.errors import DeclarationError

EVERY = "*"


class Verb(StrEnum):
    """What a token may do with the records of a flow, or at a step."""

    OPEN = "open"  # hand records in
    READ = "read"  # see records, contracts and attachments, and wait for them
    WORK = "work"  # claim, heartbeat, result, failure, question and release at a step
    ATTACH = "attach"  # add files and links to records
    ASK = "ask"  # put a question to the people of a queue


@dataclass(frozen=True, slots=True)
class Scope:
    """Verbs at one step of one flow; `*` is every flow, or every step."""

    flow: str
    step: str
    verbs: frozenset[Verb]

    def covers_flow(self, flow: str) -> bool:
        return self.flow in {EVERY, flow}

    def allows(self, verb: Verb, flow: str, step: str | None = None) -> bool:
        """Whether it allows the verb on the flow, and at the step if one is named."""
        return verb in self.verbs and self.covers_flow(flow) and (step is None or self.step in {EVERY, step})

    def __str__(self) -> str:
        verbs = ", ".join(verb for verb in Verb if verb in self.verbs)
        return f"{self.flow}: {verbs}" if self.step == EVERY else f"{self.flow}/{self.step}: {verbs}"


def parse(text: str) -> tuple[Scope, ...]:
    """Read scopes, one on each line.

    Raises:
        DeclarationError: a line is no scope, or there is none at all.
    """
    scopes = tuple(_parse_line(line.strip()) for line in text.splitlines() if line.strip())
    require(bool(scopes), "A token without a scope may do nothing: name at least one, like “tickets/classify: work”.")
    return scopes


def _parse_line(line: str) -> Scope:
    place, colon, words = line.partition(":")
    flow, _, step = (part.strip() for part in place.partition("/"))
    require(bool(colon), f"“{line}” is no scope: write flow/step: verbs, like “tickets/classify: work, read”.")
    for name in {flow, step or EVERY} - {EVERY}:
        require_name(name, "the name of a flow or a step")
    return Scope(flow, step or EVERY, frozenset(_verbs(words)))


def _verbs(words: str) -> Iterable[Verb]:
    named = [word.strip() for word in words.split(",") if word.strip()]
    require(bool(named), f"A scope names at least one verb: {', '.join(Verb)}.")
    for word in named:
        try:
            yield Verb(word)
        except ValueError:
            raise DeclarationError(f"“{word}” is no verb: choose from {', '.join(Verb)}.") from None


def as_text(scopes: Sequence[Scope]) -> str:
    return "\n".join(str(scope) for scope in scopes)
