"""Just ask a human: the built-in flow of one step, which a person does. Each ask names its own queue."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Final, Literal

from pydantic import AwareDatetime, Field, JsonValue

from handoffs.contracts import Contract, Violation
from handoffs.evidence import Evidence
from handoffs.flows import Flow, Step
from handoffs.states import Side
from handoffs.strict_json import pointer, shown

FLOW: Final = "asks"

Choice = Annotated[str, Field(min_length=1, max_length=200)]
Scalar = str | int | float | bool


class AnswerField(Contract):
    """One field of a structured answer, in words of JSON Schema."""

    type: Literal["string", "number", "integer", "boolean"]
    title: Annotated[str, Field(max_length=200)] = ""
    description: Annotated[str, Field(max_length=1000)] = ""
    enum: Annotated[list[Scalar], Field(min_length=1, max_length=50)] | None = None
    minimum: float | None = None
    maximum: float | None = None
    maxLength: Annotated[int, Field(ge=1)] | None = None  # noqa: N815 - the name JSON Schema has for it

    def faults(self, value: object) -> Iterator[tuple[str, str, str]]:
        """(rule, expected, sentence) for each way in which a value does not fit."""
        kinds: dict[str, tuple[type, ...]] = {
            "string": (str,),
            "number": (int, float),
            "integer": (int,),
            "boolean": (bool,),
        }
        is_bool = isinstance(value, bool)
        if not isinstance(value, kinds[self.type]) or is_bool != (self.type == "boolean"):
            yield "wrong_type", self.type, f"A {self.type} is needed."
            return
        if self.enum is not None and value not in self.enum:
            listed = ", ".join(str(item) for item in self.enum)
            yield "not_allowed_value", listed, f"One of these is needed: {listed}."
        if isinstance(value, int | float) and self.minimum is not None and value < self.minimum:
            yield "too_small", f"at least {self.minimum:g}", f"At least {self.minimum:g} is needed."
        if isinstance(value, int | float) and self.maximum is not None and value > self.maximum:
            yield "too_large", f"at most {self.maximum:g}", f"At most {self.maximum:g} is allowed."
        if isinstance(value, str) and self.maxLength is not None and len(value) > self.maxLength:
            yield "too_long", f"at most {self.maxLength}", f"At most {self.maxLength} characters are allowed."


class AnswerSchema(Contract):
    """The shape of a structured answer: a small part of JSON Schema."""

    type: Literal["object"] = "object"
    properties: Annotated[dict[Annotated[str, Field(min_length=1, max_length=60)], AnswerField], Field(min_length=1)]
    required: list[str] = []
    additionalProperties: Literal[False] = False  # noqa: N815 - the name JSON Schema has for it


class Ask(Contract):
    """A question to the people of a queue, with what they need to answer it."""

    queue: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,100}$")]
    question: Annotated[str, Field(min_length=1, max_length=4000)]
    context: JsonValue = None
    evidence: Annotated[list[Evidence], Field(max_length=50)] | None = None
    answers: Annotated[list[Choice], Field(min_length=1, max_length=20)] | None = None
    answer_schema: AnswerSchema | None = None
    due: AwareDatetime | None = None


class Answer(Contract):
    """A person's answer: one of the answers or free text, or an object where the ask has a schema."""

    answer: Annotated[str, Field(min_length=1, max_length=10_000)] | dict[str, Scalar]

    @classmethod
    def __fits__(cls, given: Any, output: Any) -> Iterator[Violation]:
        """Hold an answer against what was asked."""
        answer, wanted = output["answer"], given.get("answer_schema")
        if wanted is not None:
            yield from _fits_schema(AnswerSchema.model_validate(wanted), answer)
        elif not isinstance(answer, str):
            yield _unfit((), "wrong_type", "text", answer, "The answer to this question is text.")
        elif given.get("answers") and answer not in given["answers"]:
            listed = ", ".join(given["answers"])
            yield _unfit((), "not_allowed_value", listed, answer, f"One of these is needed: {listed}.")


def _fits_schema(wanted: AnswerSchema, answer: object) -> Iterator[Violation]:
    if not isinstance(answer, dict):
        yield _unfit((), "wrong_type", "an object", answer, "The answer to this question has fields.")
        return
    for name in wanted.required:
        if name not in answer:
            yield _unfit((name,), "missing", "", "", "This field is missing.")
    for name, value in answer.items():
        if name not in wanted.properties:
            yield _unfit((name,), "unknown_field", "", value, "The question does not ask for this field.")
            continue
        for rule, expected, sentence in wanted.properties[name].faults(value):
            yield _unfit((name,), rule, expected, value, sentence)


def _unfit(path: tuple[str, ...], rule: str, expected: str, received: object, sentence: str) -> Violation:
    return Violation(Side.RETURNS, pointer(("answer", *path)), rule, expected, shown(str(received)), sentence)


asks = Flow(
    FLOW,
    intake=Ask,
    escalate_to=FLOW,  # never looked for: each ask names its queue
    title="{question}",
    require_drill=False,  # it has no seam of a user's
    steps=[Step("answer", receives=Ask, returns=Answer, by="human")],
)
