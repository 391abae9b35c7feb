"""The checks that every declaration shares."""

from __future__ import annotations

import math
import re

from handoffs.contracts import Contract
from handoffs.errors import DeclarationError

_NAME = re.compile(r"[a-z][a-z0-9]*(?:[-_][a-z0-9]+)*\Z")
_NAME_LENGTH = 60


def require(holds: bool, sentence: str) -> None:
    """Raise a DeclarationError with this sentence unless the condition holds."""
    if not holds:
        raise DeclarationError(sentence)


def require_name(value: object, what: str) -> None:
    """Require a short name that fits a URL, a column and a command line alike. Raises DeclarationError."""
    fits = isinstance(value, str) and len(value) <= _NAME_LENGTH and _NAME.match(value)
    require(bool(fits), f"{value!r} can't be {what}: use small letters, digits, '-' and '_', at most {_NAME_LENGTH}.")


def require_contract(value: object, what: str) -> None:
    """Require a contract class. Raises DeclarationError."""
    require(isinstance(value, type) and issubclass(value, Contract), f"{what} must be a Contract, not {value!r}.")


def is_number(value: object) -> bool:
    """Tell whether this is a finite number; true and false are none."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def is_count(value: object) -> bool:
    """Tell whether this is a whole number from 1."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1
