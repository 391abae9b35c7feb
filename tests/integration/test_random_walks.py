"""Whatever happens in whatever order: after each event everything is sound, and every open record is somebody's."""

from __future__ import annotations

import os
import random
from datetime import timedelta

import pytest

from handoffs.actions import endings, escalations, repairs, verdicts, work
from handoffs.actions.starts import Claimer
from handoffs.actions.verdicts import Seen
from handoffs.actions.work import Failure, Finished, Question
from handoffs.engine import Delivery
from handoffs.errors import HandoffsError
from handoffs.flows import get_flow
from handoffs.insight.recoverability import lost_records
from handoffs.models import Escalation, Record, StepResult, sql
from handoffs.models.history import verify
from handoffs.states import Side
from tests.cast import document, opened
from tests.soundness import assert_sound

pytestmark = pytest.mark.django_db
LONG_AGO = "2026-01-01T00:00Z"
FIRST = int(os.environ.get("SEED", "0"))
WALKS = int(os.environ.get("HANDOFFS_WALKS", "8"))
STEPS = 100

ORDER = '{"number":"A-1","purchase_order":"P","total":10}'
LARGE = ORDER.replace("10", "9000")
NO_ORDER = ORDER.replace('"P"', "null")
CHECKED = ORDER.replace("}", ',"is_large":false}')
CHECKED_LARGE = LARGE.replace("}", ',"is_large":true}')
APPROVED = CHECKED_LARGE.replace("}", ',"approved_by":"bob"}')
POSTED = '{"number":"A-1","voucher":"V-1"}'
# What fits, by step: what it may receive, and what it may return.
RECEIVES = {
    "intake": ['{"text":"A-1,P,10"}'],
    "extract": ['{"text":"A-1,P,10"}'],
    "check": [ORDER, LARGE],
    "approve": [CHECKED_LARGE],
    "post": [CHECKED, APPROVED],
    "classify": ['{"subject":"s"}'],
}
RETURNS = {
    "extract": [ORDER, LARGE, NO_ORDER],
    "check": [CHECKED, CHECKED_LARGE],
    "approve": [APPROVED],
    "post": [POSTED],
    "classify": ['{"label":"x"}'],
}
UNFIT = [POSTED.replace("A-1", "OTHER"), '{"text":5}', "{}", "no json", '{"a":1,"a":2}', ORDER]
OFTEN = {"a_worker_claims": 5, "some_attempts_end": 8, "the_reconciler_comes": 3, "time_passes": 4, "one_comes_in": 2}


class Walk:
    """A random walk over a few records by everybody who may act on them."""

    def __init__(self, cast, seed):
        self.cast, self.chance = cast, random.Random(seed)
        self.attempts = []  # all that ever began, so that late ones are delivered too
        self.told = []

    def step(self):
        names = [name for name in dir(self) if name.startswith("then_")]
        [name] = self.chance.choices(names, [OFTEN.get(name[5:], 1) for name in names])
        try:
            outcome = getattr(self, name)() or "done"
        except HandoffsError as refusal:
            outcome = refusal.code
        self.told.append(f"{name[5:]}: {outcome}")

    def person(self, escalation=None):
        """Mostly who has it, else somebody; seldom an outsider."""
        if escalation and escalation.assignee and self.chance.random() < 0.8:
            return escalation.assignee
        return self.chance.choice([self.cast.alice, self.cast.bob, self.cast.dora] * 4 + [self.cast.charlie])

    def record(self):
        return self.chance.choice(list(Record.objects.order_by("pk")))

    def escalation(self):
        """Mostly one that waits."""
        found = list(Escalation.objects.order_by("pk"))
        waiting = [e for e in found if not e.is_resolved]
        return self.chance.choice(waiting if waiting and self.chance.random() < 0.8 else found)

    def body(self, step, side):
        if self.chance.random() < 0.15:
            return self.chance.choice(UNFIT)
        return self.chance.choice((RETURNS if side is Side.RETURNS else RECEIVES).get(step, UNFIT))

    # --- work --------------------------------------------------------------------------------------------------------

    def then_one_comes_in(self):
        bodies = [document(), document(order=""), document(total=9000), document(), {"text": 5}, b"\xff\0"]
        opened(self.chance.choice(bodies), external_id=self.chance.choice([None, f"X-{self.chance.random()}"]))

    def then_a_worker_claims(self):
        self._begin(work.claim_ready(job_queue="default", actor="worker:w", limit=self.chance.choice([1, 3])))

    def then_one_asks_an_agent(self):
        opened({"subject": "s"}, flow="tickets")

    def then_an_agent_claims(self):
        flow = get_flow("tickets")
        self._begin(work.claim_step(flow=flow, step=flow.steps[0], actor="agent:echo", limit=2))

    def _begin(self, claimed):
        return f"{self._note(claimed.started)} began"

    def _note(self, started):
        self.attempts += [(one.step.name, one.record_id, one.attempt, one.body) for one in started]
        return len(started)

    def then_some_attempts_end(self):
        if not self.attempts:
            return "none"
        newest = self.attempts[-6:] if self.chance.random() < 0.8 else self.attempts
        some = self.chance.sample(newest, min(len(newest), self.chance.choice([1, 2, 4])))
        serves = self.chance.choice([lambda step: step.by == "worker", lambda step: False])
        finished = [Finished(record, attempt, self._end(step, attempt), body) for step, record, attempt, body in some]
        began = self._note(work.commit(finished, Claimer("worker:w", serves, len(finished))))
        return f"{len(finished)} ended, {began} began"

    def _end(self, step, attempt):
        if self.chance.random() < 0.75:
            confidence = self.chance.choice([0.95] * 6 + [0.5, None, 95, "high"])
            return Delivery(self.body(step, Side.RETURNS) + " " * attempt, confidence)  # so that it says whose it is
        return self.chance.choice(
            [
                Failure("busy", "later"),
                Failure("gone", "never", permanent=True),
                Failure("stopped", "stopped", released=True),
                Question("which?", ("one", "two")),
            ]
        )

    def then_leases_run_out(self):
        running = list(Record.objects.filter(status="running").values_list("pk", flat=True))
        lost = self.chance.sample(running, len(running) // 2)
        Record.objects.filter(pk__in=lost).update(lease_expires_at=LONG_AGO)

    def then_the_reconciler_comes(self):
        repairs.expire_leases()
        repairs.ask_people()
        repairs.strand_lost()
        repairs.watch_starts()

    def then_time_passes(self):
        Record.objects.filter(status="ready").update(available_at=LONG_AGO)
        Escalation.objects.filter(claimed_until__isnull=False).update(claimed_until=LONG_AGO)

    def then_a_step_is_gone(self):
        if self.chance.random() < 0.1:
            Record.objects.filter(pk=self.record().pk, status__in=["ready", "running"]).update(step="gone")

    # --- people ------------------------------------------------------------------------------------------------------

    def then_somebody_takes_one(self):
        escalation = self.escalation()
        escalations.claim(escalation_id=escalation.pk, by=self.person(), take_over=self.chance.random() < 0.5)

    def then_somebody_takes_the_next(self):
        return escalations.take_next(view=Escalation.objects.all(), by=self.person())

    def then_somebody_gives_one_back(self):
        escalations.release(escalation_id=self.escalation().pk, by=self.person())

    def then_somebody_gives_one_on(self):
        escalation, by = self.escalation(), self.person()
        if self.chance.random() < 0.5:
            escalations.assign(escalation_id=escalation.pk, by=by, to=self.person())
        else:
            queue = self.chance.choice(list(self.cast.queues.values()))
            escalations.transfer(escalation_id=escalation.pk, by=by, to=queue)

    def then_somebody_hides_one(self):
        until = sql.now() + timedelta(hours=self.chance.choice([-1, 1]))
        escalations.snooze(escalation_id=self.escalation().pk, by=self.person(), until=until)

    def then_somebody_looks_and_comments(self):
        escalation, by = self.escalation(), self.person()
        escalations.looked_at(escalations=[escalation.pk], by=by)
        escalations.comment(record=escalation.record, by=by, text="hm")

    def _verdict(self, verb, **how):
        escalation = self.escalation()
        version = escalation.version if self.chance.random() < 0.95 else escalation.version + 1
        how = {name: value(escalation) if callable(value) else value for name, value in how.items()}
        by = self.person(escalation)
        getattr(verdicts, verb)(escalation_id=escalation.pk, by=by, seen=Seen(version), **how)
        return escalation.kind

    def then_somebody_fixes(self):
        side = self.chance.choice([None, None, Side.RETURNS, Side.RECEIVES])
        return self._verdict("fix", body=lambda e: self.body(e.step, side or Side(e.side)), side=side)

    def then_somebody_approves(self):
        return self._verdict("approve")

    def then_somebody_answers(self):
        def text(escalation):
            return self.body(escalation.step, Side.RETURNS) if escalation.kind == "review" else "one"

        return self._verdict("answer", text=text)

    def then_somebody_retries(self):
        steps = [None, None, None, "extract", "check", "post", "gone"]
        return self._verdict("retry", step=self.chance.choice(steps), tries=self.chance.choice([0, 1, 5]))

    def then_somebody_closes(self):
        if self.chance.random() < 0.5:
            return self._verdict("close", reason=self.chance.choice(["Duplicate", "because"]))
        endings.close_record(record=self.record(), by=self.person(), reason="Duplicate")
        return "a record"

    def then_somebody_reopens(self):
        endings.reopen(record=self.record(), by=self.person())

    def then_somebody_undoes(self):
        decided = Escalation.objects.filter(state="resolved").order_by("-resolved_at", "-pk").first()
        if decided:
            endings.undo(escalation_id=decided.pk, by=decided.resolved_by)
            return decided.kind
        return "none"


def assert_everybody_s_own():
    """What stands as an attempt's result was delivered by that attempt."""
    results = StepResult.objects.filter(attempt__isnull=False, output__isnull=False)
    assert [r.pk for r in results if len(r.output) - len(r.output.rstrip()) != r.attempt] == []


@pytest.mark.parametrize("seed", range(FIRST, FIRST + WALKS))
def test_a_walk_through_everything_leaves_everything_sound(cast, seed):
    walk = Walk(cast, seed)
    for total in (10, 10, 9000):
        opened(document(total=total))
    opened({"text": 5})
    for _ in range(STEPS):
        walk.step()
        try:
            assert_sound()
            assert_everybody_s_own()
            assert [fault for record in Record.objects.all() for fault in verify(record)] == []
            gone = {r.pk for r in Record.objects.filter(step="gone")}
            assert [lost for lost in lost_records() if lost.record_id not in gone and "lease" not in lost.why] == []
        except AssertionError:
            print("\n".join(walk.told[-12:]))
            raise
