"""What can go wrong, each with a stable code.

A broken contract is data (`contracts.Violation`); an illegal or lost move is an exception from here. The domain knows
no HTTP: the API and the pages map these classes to answers in one place each.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from handoffs.contracts import Violation


class HandoffsError(Exception):
    """Something that Handoffs refuses to do."""

    code: ClassVar[str] = "handoffs_error"

    def __init__(self, message: str = "") -> None:
        super().__init__(message or (self.__doc__ or "").strip())


class DeclarationError(HandoffsError):
    """A flow, step or contract is declared in a way that cannot work."""

    code = "declaration"


class UnknownFlow(HandoffsError):
    """No flow of that name is declared."""

    code = "unknown_flow"


class UnknownStep(HandoffsError):
    """The flow has no step of that name."""

    code = "unknown_step"


class UnknownQueue(HandoffsError):
    """No queue of that name exists."""

    code = "unknown_queue"


class TransitionNotAllowed(HandoffsError):
    """The record or escalation is in a state that does not allow this."""

    code = "transition_not_allowed"


class LostRace(HandoffsError):
    """Somebody else changed it first."""

    code = "lost_race"


class StaleAttempt(HandoffsError):
    """The attempt is not the one that is running: its result comes too late."""

    code = "stale_attempt"


class BodyChanged(LostRace):
    """The body that was shown is not the body that is there now."""

    code = "body_changed"


class ExternalIdInUse(HandoffsError):
    """A record with this external id exists, with another body."""

    code = "external_id_in_use"


class ContractBroken(HandoffsError):
    """The body breaks its contract."""

    code = "contract_broken"

    def __init__(self, violations: Sequence[Violation], message: str = "") -> None:
        super().__init__(message or "; ".join(v.sentence for v in violations[:3]))
        self.violations = tuple(violations)


class NothingChanged(HandoffsError):
    """The edit changes nothing."""

    code = "nothing_changed"


class ReasonRequired(HandoffsError):
    """Closing needs a reason from the queue's list."""

    code = "reason_required"


class UndoExpired(HandoffsError):
    """The verdict can no longer be undone."""

    code = "undo_expired"


class NotAllowed(HandoffsError):
    """This person may not do that here."""

    code = "not_allowed"


class UnfitQueue(HandoffsError):
    """A queue needs an owner who can sign in, and at least one reason to close with."""

    code = "unfit_queue"


class NoSuccessor(HandoffsError):
    """Somebody else has to take over the queues of a person who is shut out."""

    code = "no_successor"


class UnfitEndpoint(HandoffsError):
    """A webhook's endpoint needs a name of its own, and a public address by https."""

    code = "unfit_endpoint"


class UnfitToken(HandoffsError):
    """A token needs a name of its own, and an expiry that lies ahead."""

    code = "unfit_token"


class UnknownRecord(HandoffsError):
    """There is no such record, or none that one may know of."""

    code = "not_found"


class StepNotOpen(HandoffsError):
    """The record does not stand at that step, or nobody may start it now."""

    code = "step_not_open"


class KeyRunning(HandoffsError):
    """The first request with this key is still being answered."""

    code = "idempotency_key_running"


class UnfitAttachment(HandoffsError):
    """An attachment is a file within the size limit, or a link by http or https."""

    code = "unfit_attachment"


class RecordPurged(HandoffsError):
    """The record's bodies were erased; it can't be taken up again."""

    code = "record_purged"


class QueueServerAway(HandoffsError):
    """The job queue server cannot be reached."""

    code = "queue_server_away"


class PatchDoesNotFit(HandoffsError):
    """The body has nothing at a place where the fix changes something."""

    code = "patch_does_not_fit"


class UnfitCase(HandoffsError):
    """Nothing of what stopped here can be kept for the drill."""

    code = "unfit_case"


class NoWorker(HandoffsError):
    """No worker is there that could do it."""

    code = "no_worker"
