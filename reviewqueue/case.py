"""One record, with what a page of it or of its escalation shows: read once, with as few queries as can be."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from django.db.models.functions import Length
from django.http import HttpRequest
from django.shortcuts import get_object_or_404

from handoffs.actions import drill_cases, judging
from handoffs.actions.escalations import actor_of, is_held_by_another
from handoffs.actions.plans import Plan
from handoffs.contracts import Contract, Violation
from handoffs.errors import UnknownFlow, UnknownStep
from handoffs.flows import Flow, Step, get_flow
from handoffs.models import Attachment, BatchItem, Comment, Draft, Escalation, Record, StepResult, Transition
from handoffs.models import Violation as ViolationRow
from handoffs.models.moves import COLUMNS, RecordRow
from handoffs.states import INTAKE, BatchVerb, Outcome, Side
from reviewqueue.actors import Actors
from reviewqueue.desk import Desk, desk_of
from reviewqueue.documents import Document, document
from reviewqueue.durations import ago
from reviewqueue.evidence import Seen, all_seen
from reviewqueue.models import User
from reviewqueue.provenance import Provenance
from reviewqueue.sheets import Look

TRACED: Final = 1_500_000  # characters of outputs up to which it is worked out who wrote each value
SIMILAR: Final = 5  # escalations of the same fingerprint that are named


@dataclass
class Case:
    """A record, its escalation where the page is about one, and the person who looks at it."""

    desk: Desk
    record: Record
    escalation: Escalation | None = None
    _judged: dict[tuple[Side, str], tuple[Violation, ...]] = field(default_factory=dict)

    @property
    def user(self) -> User:
        return self.desk.user

    # --- what the code knows of it -----------------------------------------------------------------------------------

    @cached_property
    def flow(self) -> Flow | None:
        """None where the code that runs here does not have it."""
        try:
            return get_flow(self.record.flow)
        except UnknownFlow:
            return None

    @cached_property
    def step(self) -> Step | None:
        """The step it is about; None at the intake, and where the code does not have it."""
        place = self.escalation.step if self.escalation else self.record.step
        try:
            return self.flow.step(place) if self.flow and place != INTAKE else None
        except UnknownStep:
            return None

    @property
    def is_at_intake(self) -> bool:
        return (self.escalation.step if self.escalation else self.record.step) == INTAKE

    @cached_property
    def plan(self) -> Plan:
        """The record as the domain judges it. Only where the flow is known."""
        if self.flow is None:
            raise UnknownFlow
        row = RecordRow(**{name: getattr(self.record, name) for name in COLUMNS})
        return Plan(row, self.flow, self.desk.now, actor_of(self.user))

    def contract(self, side: Side) -> type[Contract] | None:
        """What a body on that side is held against; None where the code does not know it."""
        if side is Side.INTAKE:
            return self.flow.intake if self.flow else None
        if self.step is None:
            return None
        return self.step.receives if side is Side.RECEIVES else self.step.returns

    def body(self, side: Side) -> str:
        if self.escalation is None:
            return self.record.payload
        return judging.body_of(self.escalation, self.record, side)

    def judge(self, side: Side, body: str) -> tuple[Violation, ...]:
        """How a body breaks its contract now."""
        if (side, body) not in self._judged:
            self._judged[side, body] = self._judge(side, body)
        return self._judged[side, body]

    def _judge(self, side: Side, body: str) -> tuple[Violation, ...]:
        if self.record.encoding and body == self.record.payload:
            return judging.violations_now(self.plan.row, self.plan, side)
        return judging.judge_body(self.plan, side, body).violations

    # --- who may do what ---------------------------------------------------------------------------------------------

    @cached_property
    def may_decide(self) -> bool:
        queue_id = self.escalation.queue_id if self.escalation else self.record.queue_id
        return any(queue.pk == queue_id and bool(getattr(queue, "may_decide", False)) for queue in self.desk.queues)

    @property
    def may_keep(self) -> bool:
        """Whether what it stopped over can be kept for the drill."""
        return self.may_decide and self.flow is not None and any(drill_cases.is_fit(e) for e in self.unresolved)

    @property
    def unresolved(self) -> list[Escalation]:
        """The one that waits, if any: the page's own, or the record's."""
        return [e for e in ([self.escalation] if self.escalation else self.escalations) if not e.is_resolved]

    @property
    def is_held_by_another(self) -> bool:
        return self.escalation is not None and is_held_by_another(self.escalation, self.user, self.desk.now)

    @property
    def is_mine(self) -> bool:
        return self.escalation is not None and self.escalation.assignee_id == self.user.pk and not self.is_resolved

    @property
    def is_resolved(self) -> bool:
        return self.escalation is not None and self.escalation.is_resolved

    # --- its history -------------------------------------------------------------------------------------------------

    @cached_property
    def results(self) -> list[StepResult]:
        """All results, oldest first, without their outputs."""
        return list(self.record.results.defer("output").annotate(size=Length("output")).order_by("pk"))

    @cached_property
    def provenance(self) -> Provenance:
        taken = {Outcome.ACCEPTED, Outcome.FIXED, Outcome.APPROVED, Outcome.ANSWERED}
        own = self.escalation.result_id if self.escalation else None
        standing = [
            r
            for r in self.results
            if r.pk == own or (r.outcome in taken and not r.superseded and r.side != Side.ENVELOPE)
        ]
        if sum(int(getattr(r, "size", None) or 0) for r in standing) > TRACED:
            return Provenance([])
        outputs = dict(StepResult.objects.filter(pk__in=[r.pk for r in standing]).values_list("pk", "output"))
        for result in standing:
            result.output = outputs[result.pk]
        return Provenance(standing)

    @cached_property
    def transitions(self) -> list[Transition]:
        return list(self.record.transitions.order_by("seq"))

    @cached_property
    def in_batches(self) -> dict[int, int]:
        """The batches in which people decided: history row's number -> batch's number."""
        verbs = set(BatchVerb)
        if not any(t.event in verbs and t.actor.startswith("reviewer:") for t in self.transitions):
            return {}
        done = BatchItem.objects.filter(escalation__record=self.record.pk, seq__isnull=False)
        return {seq: batch for seq, batch in done.values_list("seq", "batch_id") if seq is not None}

    @cached_property
    def comments(self) -> list[Comment]:
        return list(self.record.comments.select_related("author").order_by("pk"))

    @cached_property
    def draft(self) -> Draft | None:
        """What this person typed here before, and did not send."""
        if self.escalation is None or self.is_resolved or not self.may_decide:
            return None
        return Draft.objects.filter(escalation=self.escalation.pk, author=self.user.pk).first()

    @property
    def draft_age(self) -> str:
        return ago(self.desk.now - self.draft.saved_at) if self.draft else ""

    @cached_property
    def violations(self) -> list[ViolationRow]:
        """Why it stopped, as judged then."""
        return list(self.escalation.violations.order_by("pk")) if self.escalation else []

    @cached_property
    def escalations(self) -> list[Escalation]:
        """All of the record's that this person may see, oldest first."""
        found = self.record.escalations.filter(queue__in=[queue.pk for queue in self.desk.queues])
        return list(found.select_related("resolved_by").defer("before").order_by("pk"))

    @cached_property
    def actors(self) -> Actors:
        named = [t.actor for t in self.transitions] + [r.actor for r in self.results]
        assigned = [f"reviewer:{t.code}" for t in self.transitions if t.event == "assign"]
        return Actors.of([self.record.producer, *named, *assigned])

    # --- around it ---------------------------------------------------------------------------------------------------

    @cached_property
    def attachments(self) -> list[Attachment]:
        return list(self.record.attachments.defer("content").order_by("pk"))

    @cached_property
    def seen(self) -> list[Seen]:
        """Where its values were seen, as those who made them say."""
        return all_seen(result for result in self.results if not result.superseded)

    def document(self, look: Look) -> Document | None:
        """The attachment that is asked for, or where the asked field was seen, or the first."""
        if not self.attachments:
            return None
        asked = [each for each in self.attachments if str(each.pk) == look.doc]
        place = next((one for one in self.seen if one.pointer == look.at), None)
        seen_in = [each for each in self.attachments if place and place.is_in(each, self.attachments)]
        chosen = (asked or seen_in or self.attachments)[0]
        there = [one for one in self.seen if one.is_in(chosen, self.attachments)]
        return document(Attachment.objects.get(pk=chosen.pk), look, there)

    @cached_property
    def similar(self) -> list[Escalation]:
        """Open escalations that stopped the same way, one more than are named."""
        if self.escalation is None or not self.escalation.fingerprint:
            return []
        same = Escalation.objects.visible_to(self.user).unresolved().filter(fingerprint=self.escalation.fingerprint)
        same = same.exclude(pk=self.escalation.pk).select_related("record")
        return list(same.only("record__title", "record__flow", "opened_at").order_by("pk")[: SIMILAR + 1])


def escalation_case(request: HttpRequest, pk: int) -> Case:
    """An escalation that the person may see. Raises Http404."""
    desk = desk_of(request)
    people = ("assignee", "resolved_by", "queue__owner", "queue__backup")
    visible = Escalation.objects.visible_to(desk.user).select_related("record", "queue", "result", *people)
    found = get_object_or_404(visible, pk=pk)
    return Case(desk, found.record, found)


def record_case(request: HttpRequest, pk: int) -> Case:
    """A record that the person may see. Raises Http404."""
    desk = desk_of(request)
    visible = Record.objects.visible_to(desk.user).select_related("queue", "queue__owner")
    return Case(desk, get_object_or_404(visible, pk=pk))
