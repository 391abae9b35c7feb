from __future__ import annotations

from itertools import product

import pytest

from handoffs.errors import TransitionNotAllowed
from handoffs.states import (
    ALLOWED,
    ESCALATION_TRANSITIONS,
    TRANSITIONS,
    EscalationEvent,
    EscalationState,
    Event,
    Kind,
    Resolution,
    Status,
    require,
)

PAIRS = list(product([None, *Status], Event, Status))


@pytest.mark.parametrize(("old", "event", "new"), PAIRS)
def test_every_move_is_in_the_table_or_refused(old, event, new):
    if new in TRANSITIONS.get((old, event), ()):
        require(old, event, new)
    else:
        with pytest.raises(TransitionNotAllowed):
            require(old, event, new)


@pytest.mark.parametrize("status", Status)
def test_every_status_is_reached_and_left(status):
    assert any(status in news for (old, _), news in TRANSITIONS.items() if old != status)
    assert any(old == status and news - {status} for (old, _), news in TRANSITIONS.items())


@pytest.mark.parametrize("status", [Status.COMPLETED, Status.CLOSED])
def test_an_ended_record_leaves_only_by_reopen_and_undo(status):
    leaving = {event for (old, event), news in TRANSITIONS.items() if old == status and news != {status}}
    assert leaving == {Event.REOPEN, Event.UNDO}


@pytest.mark.parametrize("event", Event)
def test_every_event_happens_somewhere(event):
    assert any(e == event for _, e in TRANSITIONS)


def test_only_a_decision_resolves_an_escalation_and_only_undo_brings_it_back():
    assert {e for (_, e), new in ESCALATION_TRANSITIONS.items() if new is EscalationState.RESOLVED} == {
        EscalationEvent.RESOLVE
    }
    left = {e for (old, e) in ESCALATION_TRANSITIONS if old is EscalationState.RESOLVED}
    assert left == {EscalationEvent.UNDO}


@pytest.mark.parametrize("kind", Kind)
def test_every_kind_can_be_closed_and_can_be_recovered(kind):
    assert Resolution.CLOSE in ALLOWED[kind]
    assert ALLOWED[kind] - {Resolution.CLOSE}
