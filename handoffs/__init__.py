"""Handoffs: every seam of an AI workflow explicit, observable and recoverable.

The names of this module are all that a flow's declaration needs; they import no framework.
"""

from handoffs.contracts import Carried, Contract
from handoffs.flows import (
    Flow,
    NeedsHuman,
    PermanentError,
    Result,
    Retry,
    Step,
    StepContext,
    TransientError,
)
from handoffs.invariants import invariant

__all__ = [
    "Carried",
    "Contract",
    "Flow",
    "NeedsHuman",
    "PermanentError",
    "Result",
    "Retry",
    "Step",
    "StepContext",
    "TransientError",
    "invariant",
]
