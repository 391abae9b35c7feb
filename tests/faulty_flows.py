"""Flows that are wrong in one way each, beside their repaired twins, and what a drill must say of them.

Each is made anew when it is asked for, so that what one remembers does not reach the next.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, field_validator, model_validator

from handoffs import Carried, Contract, Flow, Retry, Step, TransientError, invariant
from handoffs.errors import StaleAttempt
from handoffs.flows import Intake
from handoffs.models import Escalation, Heartbeat, Queue, sql
from tests.cast import shut_out_by_force

QUEUE = "order-exceptions"
RETRY = Retry(cap=2, first=0.01)


class Order(Contract):
    """What comes in, and what the first step needs."""

    number: Annotated[str, Field(min_length=1, max_length=20), Carried()]
    quantity: Annotated[int, Field(ge=1, le=1000)]


class Priced(Contract):
    number: Annotated[str, Field(min_length=1, max_length=20), Carried()]
    quantity: Annotated[int, Field(ge=1, le=1000)]
    price: Annotated[Decimal, Field(ge=0)]


class Booked(Contract):
    number: Annotated[str, Field(min_length=1, max_length=20), Carried()]


def price(order: Order, context: Any) -> Priced:
    return Priced(number=order.number, quantity=order.quantity, price=Decimal(order.quantity))


def book(priced: Any, context: Any) -> Booked:
    return Booked(number=priced.number)


def flow(*, receives: type[Contract] = Priced, run: Any = book, **changes: Any) -> Flow:
    """Two steps: price, then book. `changes` go to the flow, those of a step as `price={…}` or `book={…}`."""
    of_price, of_book = changes.pop("price", {}), changes.pop("book", {})
    steps = [
        Step("price", **{"receives": Order, "returns": Priced, "run": price, "retry": RETRY} | of_price),
        Step("book", **{"receives": receives, "returns": Booked, "run": run, "retry": RETRY} | of_book),
    ]
    example = Intake('{"number":"A-1","quantity":2}')
    said = {"intake": Order, "steps": steps, "escalate_to": QUEUE, "examples": [example]}
    return Flow(changes.pop("name", "faulty"), **said | changes)


@dataclass(frozen=True)
class Faulty:
    """One faulty flow. `expected`: (seam, class, code) of everything the drill finds; `harm` spoils the database."""

    name: str
    make: Callable[[], Flow]
    expected: set[tuple[str, str, str]]
    mended: Callable[[], Flow] = flow
    harm: Callable[[Any], None] | None = None


# --- contracts -------------------------------------------------------------------------------------------------------


def coercing() -> Flow:
    """Takes a number for text: what upstream gets wrong is put right in silence."""

    class Lenient(Priced):
        quantity: Annotated[int, Field(ge=1, le=1000), BeforeValidator(lambda v: int(v) if isinstance(v, str) else v)]

    return flow(receives=Lenient)


def swallowing_validator() -> Flow:
    """Puts a number of its own in the place of one that breaks the range."""

    class Clamped(Priced):
        quantity: Annotated[int, Field(ge=1, le=1000), BeforeValidator(lambda v: 1000 if v == 1001 else v)]

    return flow(receives=Clamped)


def losing_unknown() -> Flow:
    """Drops what it does not know before anybody can count it."""

    class Losing(Priced):
        @model_validator(mode="before")
        @classmethod
        def known_only(cls, data: Any) -> Any:
            return {k: v for k, v in data.items() if k in cls.model_fields} if isinstance(data, dict) else data

    return flow(receives=Losing)


def failing_validator() -> Flow:
    """Divides by what it should have judged first."""

    class Dividing(Priced):
        @field_validator("price", mode="before")
        @classmethod
        def divided(cls, value: Any) -> Any:
            if value == "":
                raise KeyError("no price")  # pydantic takes only a ValueError for an answer
            return value

    return flow(receives=Dividing)


def forgetful_contract() -> Flow:
    """Receives less strictly than what hands it over promises."""

    class Loose(Priced):
        quantity: int

    return flow(receives=Loose)


def writing_contract() -> Flow:
    """Writes to the database while it judges: a side effect before the input is known to be good."""

    class Writing(Priced):
        @model_validator(mode="after")
        def note(self) -> Writing:
            Heartbeat.objects.update_or_create(name="judge", defaults={"kind": "x", "seen_at": sql.now()})
            return self

    return flow(receives=Writing)


def writing_when() -> Flow:
    """Its `when` writes to the database."""

    def wanted(priced: Any) -> bool:
        Heartbeat.objects.update_or_create(name="when", defaults={"kind": "x", "seen_at": sql.now()})
        return True

    return flow(book={"when": wanted})


def unfixable_contract() -> Flow:
    """Takes nothing while somebody looks at it: no fix satisfies it."""

    class Unfixable(Priced):
        @field_validator("price")
        @classmethod
        def nobody_looks(cls, value: Decimal) -> Decimal:
            if Escalation.objects.unresolved().exists():
                raise ValueError("somebody looks at it")
            return value

    return flow(receives=Unfixable)


def toothless_rule() -> Flow:
    """Has a rule that never says no."""

    class Toothless(Priced):
        @invariant("The price is fair.", at="/price")
        def is_fair(self) -> bool:
            return True

    return flow(receives=Toothless)


def blind_rule() -> Flow:
    """Has a rule that does not see what it says it sees."""

    class Blind(Priced):
        @invariant("Nobody buys for nothing.", at="/price", broken={"/price": "0"})
        def costs_something(self) -> bool:
            return self.price >= 0

    return flow(receives=Blind)


def keeping_rule() -> Flow:
    """Has a rule over what it receives, and one over what it hands over in the light of that."""

    class Fair(Priced):
        @invariant("A piece costs one.", at="/price")
        def is_fair(self) -> bool:
            return self.price == self.quantity

        @invariant("As much is priced as was ordered.", at="/quantity")
        def keeps_the_quantity(self, given: Order) -> bool:
            return self.quantity == given.quantity

    return flow(receives=Fair, price={"returns": Fair})


# --- code ------------------------------------------------------------------------------------------------------------


def swallowing() -> Flow:
    """Makes a result of every error."""

    def swallow(priced: Any, context: Any) -> Booked:
        try:
            return Booked(number=priced.number)
        except Exception:
            return Booked(number="A-1")

    return flow(run=swallow)


def retrying_inside() -> Flow:
    """Tries again by itself, where no cap counts it."""

    def insist(priced: Any, context: Any) -> Booked:
        for _ in range(3):
            try:
                return Booked(number=priced.number)
            except TransientError as error:
                last = error
        raise last

    return flow(run=insist)


def going_on() -> Flow:
    """Goes on after its heartbeat said that the lease is lost."""

    def go_on(priced: Any, context: Any) -> Booked:
        with suppress(StaleAttempt):
            context.heartbeat()
        return Booked(number=priced.number)

    return flow(run=go_on)


def beating() -> Flow:
    """Stops where its heartbeat says so."""

    def beat(priced: Any, context: Any) -> Booked:
        context.heartbeat()
        return Booked(number=priced.number)

    return flow(run=beat)


def never_looking() -> Flow:
    """Runs in threads, where no time limit reaches it, and never asks whether it still may."""
    return flow(book={"concurrency": 4})


def looking() -> Flow:
    return flow(run=beating().step("book").run, book={"concurrency": 4})


def overwriting_fact() -> Flow:
    """Changes the fact that it must carry."""
    return flow(run=lambda priced, context: Booked(number=priced.number.lower()))


def dropping_type() -> Flow:
    """Gives back what is no contract."""
    return flow(run=lambda priced, context: {"number": priced.number})


def raising_when() -> Flow:
    """Its `when` fails on a good input."""
    return flow(book={"when": lambda priced: priced.nobody})


def outside() -> Flow:
    """Acts outside of the database, and says so, and has no stand-in."""
    return flow(book={"effects": True})


def outside_with_stand_in() -> Flow:
    return flow(book={"effects": True, "stand_in": book})


def wrong_stand_in() -> Flow:
    """Its stand-in hands over another fact than it was given."""
    return flow(book={"effects": True, "stand_in": lambda given, context: Booked(number="X-9")})


# --- queues ----------------------------------------------------------------------------------------------------------


def _owner_leaves(cast: Any) -> None:
    shut_out_by_force(cast.alice)


def _queue_goes(cast: Any) -> None:
    Queue.objects.filter(slug="approvals").delete()


def other_queue() -> Flow:
    return flow(book={"escalate_to": "approvals"})


BEFORE, AFTER = "price → book", "book → done"
FIXED = (
    "bad_format", "cap_reached", "empty", "locale_number", "missing", "null", "out_of_range", "permanent_error",
    "renamed", "too_long", "unknown_field", "wrong_type",
)  # fmt: skip
ERRORS = ("transient_error", "permanent_error")
FAULTY = [
    Faulty("coercing", coercing, {(BEFORE, "wrong_type", "let_through")}),
    Faulty("swallowing validator", swallowing_validator, {(BEFORE, "out_of_range", "let_through")}),
    Faulty("losing unknown fields", losing_unknown, {(BEFORE, "unknown_field", "unknown_lost")}),
    Faulty("failing validator", failing_validator, {(BEFORE, "empty", "validator_broke")}),
    Faulty("laxer than its producer", forgetful_contract, {(BEFORE, "out_of_range", "laxer_than_producer")}),
    Faulty("unfixable contract", unfixable_contract, {(BEFORE, kind, "fix_refused") for kind in FIXED}),
    Faulty("toothless rule", toothless_rule, {(BEFORE, "invariant is_fair", "never_broken")}, keeping_rule),
    Faulty("blind rule", blind_rule, {(BEFORE, "invariant costs_something", "let_through")}, keeping_rule),
    Faulty("never looking", never_looking, {(BEFORE, "taken_over", "never_looks")}, looking),
    Faulty("writing contract", writing_contract, {(BEFORE, "judging", "acts_before_validation")}),
    Faulty("writing when", writing_when, {(BEFORE, "judging", "acts_before_validation")}),
    Faulty("swallowing errors", swallowing, {(BEFORE, kind, "error_swallowed") for kind in ERRORS}),
    Faulty("retrying inside", retrying_inside, {(BEFORE, "transient_error", "retries_inside")}),
    Faulty("going on when stale", going_on, {(BEFORE, "taken_over", "stale_ignored")}, beating),
    Faulty("overwriting a fact", overwriting_fact, {(BEFORE, "example", "example_stopped")}),
    Faulty("giving back no contract", dropping_type, {(BEFORE, "example", "example_stopped")}),
    Faulty("when that fails", raising_when, {(BEFORE, "example", "example_stopped")}),
    Faulty("wrong stand-in", wrong_stand_in, {(BEFORE, "example", "example_stopped")}, outside_with_stand_in),
    Faulty("owner gone", flow, {("intake → price", "queue", "owner_unreachable")}, flow, _owner_leaves),
    Faulty("queue gone", other_queue, {(BEFORE, "queue", "queue_missing")}, other_queue, _queue_goes),
]


def allowing(made: Flow, *names: str) -> Flow:
    return replace(made, allows={"book": names})
