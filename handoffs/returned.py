"""What a step's code gave back or raised, made into something that can be judged and kept, whatever it is.

Nothing here raises: code that misbehaves stops its own record with a sentence, and none of its neighbours.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from handoffs import conf, strict_json
from handoffs.actions.work import Ended, Failure, Question
from handoffs.bodies import storable_text
from handoffs.contracts import Contract, Violation, dump, from_flaws, read_confidence
from handoffs.engine import Delivery
from handoffs.flows import NeedsHuman, PermanentError, Result, TransientError
from handoffs.states import Side

LONGEST_MESSAGE = 2000
LONGEST_QUESTION = 4000
LONGEST_ANSWER = 200
LONGEST_CODE = 60

# pydantic writes JSON that the gate takes, but for these and for depth.
_DOUBTFUL = ("\\u0000", "\\ud", "NaN", "Infinity")
_HUGE = re.compile("[0-9]{19}")


def ended_by(error: BaseException) -> Ended:
    """How an attempt ended whose code raised."""
    if isinstance(error, NeedsHuman):
        answers = tuple(_text(answer, LONGEST_ANSWER) for answer in error.answers)
        return Question(_text(error.question, LONGEST_QUESTION), answers)
    name = type(error).__name__
    if not isinstance(error, TransientError | PermanentError):
        return Failure(_text(name, LONGEST_CODE), _text(f"{name}: {_text(error)}"))
    permanent = isinstance(error, PermanentError)
    code = getattr(error, "code", None) or ("permanent" if permanent else "transient")
    message = getattr(error, "message", None) or error
    return Failure(_text(code, LONGEST_CODE), _text(message), permanent=permanent)


def delivery(returned: object) -> Ended:
    """What an attempt delivered, with the flaws of what a contract can't judge."""
    result = returned if isinstance(returned, Result) else Result(returned)  # type: ignore[arg-type]
    if not isinstance(result.output, Contract):
        sentence = f"Its code gave back {type(result.output).__name__}, not a contract."
        return Failure("wrong_return", sentence, permanent=True)
    try:
        text = _written(result.output)
    except Exception as error:  # the contract's own serializers may do anything
        sentence = f"What its code gave back can't be written as JSON. {type(error).__name__}: {_text(error)}"
        return Failure("wrong_return", _text(sentence), permanent=True)
    flaws = _flaws_of(text)
    around = {name: getattr(result, name) for name in ("field_confidence", "evidence", "usage")}
    for name, value in around.items():
        if value and (found := tuple(_flaws_around(name, value))):
            flaws, around[name] = (*flaws, *found), {}
    kept = "" if any(flaw.rule == "too_large" for flaw in flaws) else text
    return Delivery(kept, result.confidence, flaws=flaws, **around)


def _text(value: object, longest: int = LONGEST_MESSAGE) -> str:
    return storable_text(value, longest)


def _written(output: Contract) -> str:
    try:
        return dump(output)
    except UnicodeEncodeError:
        return json.dumps(output.model_dump(by_alias=True, round_trip=True, warnings=False), default=str)


def _flaws_of(text: str) -> tuple[Violation, ...]:
    longest = int(conf.get("MAX_BODY"))
    deep = text.count("{") + text.count("[") > strict_json.MAX_DEPTH
    doubtful = any(mark in text for mark in _DOUBTFUL) or _HUGE.search(text)
    if not deep and len(text) < longest // 4 and not doubtful:
        return ()
    read = strict_json.read(text.encode(), max_bytes=longest)
    return from_flaws(read, side=Side.RETURNS) if isinstance(read, tuple) else ()


def _flaws_around(name: str, value: Any) -> Iterator[Violation]:
    try:
        json.dumps(dict(value), allow_nan=False, ensure_ascii=False).encode()
    except Exception as error:
        sentence = f"{name} can't be written as JSON: {_text(error, 200)}"
        yield Violation(Side.ENVELOPE, f"/{name}", "not_json", "an object that JSON can hold", "", sentence)
        return
    if name == "field_confidence":
        for key, part in value.items():
            for flaw in read_confidence(part)[1]:
                yield replace(flaw, pointer=strict_json.pointer([name, str(key)]))
