"""The client itself: records, asks, and the loop that works."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any, Literal
from urllib.parse import quote, urlencode

from handoffs.client.claims import Answer, Claim, Failed, Question, Result
from handoffs.client.transport import ApiError, Json, Transport, retry_after


class Client(Transport):
    """An agent's side of the API."""

    def open(self, flow: str, given: Any, *, external_id: str | None = None, key: str | None = None) -> Json:
        """Hand in one record. Raises `ApiError`: a refused one is kept, `error.body["record"]` says where."""
        body = {"input": given} if external_id is None else {"input": given, "external_id": external_id}
        return self.post(f"flows/{quote(flow)}/records", body, key=key)

    def record(self, record: int) -> Json:
        return self.get(f"records/{record}")

    def wait(self, record: int, *, seconds: float, until: Literal["ended", "stopped"] = "ended") -> Json | None:
        """The record once it has ended (or stopped); None if that takes longer than `seconds`."""
        found = self._poll(f"records/{record}/wait", seconds, until=until)
        return None if found is None else found["record"]

    def ask(
        self,
        *,
        queue: str,
        question: str,
        answers: Sequence[str] = (),
        context: Any = None,
        wait: float = 0.0,
        key: str | None = None,
        **more: Any,
    ) -> Answer | int:
        """Ask the people of a queue: their answer, or the ask's id if there is none within `wait` seconds."""
        body = {"queue": queue, "question": question, "context": context, **more}
        asked = self.post("asks", body | ({"answers": list(answers)} if answers else {}), key=key)
        return self.answer(asked["id"], wait=wait) or int(asked["id"])

    def answer(self, ask: int, *, wait: float = 0.0) -> Answer | None:
        """The answer to an earlier ask, or None while there is none.

        Raises:
            Failed: it was closed without an answer.
        """
        found = self._poll(f"asks/{ask}/wait", wait)
        if found is None:
            return None
        if found["ask"]["status"] == "closed":
            raise Failed(found["ask"]["reason"] or "closed", "closed", permanent=True)
        told = found["ask"]
        return Answer(told["answer"], told["answered_by"], datetime.fromisoformat(told["answered_at"]))

    def _poll(self, path: str, seconds: float, **query: Any) -> Json | None:
        end = time.monotonic() + seconds
        while True:
            left = end - time.monotonic()
            some = max(0.0, min(left, self.timeout / 2))
            found, headers = self.request("GET", f"{path}?{urlencode({'timeout': some, **query})}", None, {})
            if found["done"]:
                return dict(found)
            if left <= 0:
                return None
            time.sleep(min(max(0.0, end - time.monotonic()), retry_after(headers)))

    def claim(self, flow: str, step: str, *, limit: int = 1) -> list[Claim]:
        """Begin up to `limit` attempts; none if nothing is ready."""
        found, headers = self.posted(f"flows/{quote(flow)}/steps/{quote(step)}/claims", {"limit": limit}, None)
        now = parsedate_to_datetime(headers["Date"]) if headers.get("Date") else None
        return [self._claim(told, now) for told in found["claims"]]

    def _claim(self, told: Json, now: datetime | None) -> Claim:
        ends = datetime.fromisoformat(told["lease_expires_at"])
        lease = (ends - (now or datetime.now(ends.tzinfo))).total_seconds()
        names = ("record", "attempt", "step", "key", "input", "answer")
        return Claim(self, lease=max(1.0, lease), **{name: told[name] for name in names})

    def work(
        self,
        flow: str,
        step: str,
        handle: Callable[[Claim], Result],
        *,
        idle: float = 5.0,
        stop: threading.Event | None = None,
        limit: int = 1,
    ) -> None:
        """Claim and handle until `stop` is set. A handler returns a `Result` or raises `Question` or `Failed`; where
        its result is refused and tries are left, it is called again, with `claim.refusal`."""
        stop = stop or threading.Event()
        while not stop.is_set():
            claims = self.claim(flow, step, limit=limit)
            for place, claim in enumerate(claims):
                if stop.is_set():
                    for rest in claims[place:]:
                        rest.release("stopped")
                    return
                self.serve(claim, handle)
            if not claims:
                stop.wait(idle)

    def serve(self, claim: Claim, handle: Callable[[Claim], Result]) -> None:
        """Handle one claim to its end."""
        with claim.kept_alive():
            ended = _handled(claim, handle)
        try:
            ended()
        except ApiError as error:
            if error.next_attempt is not None:
                claim.attempt, claim.refusal = error.next_attempt, error.violations
                self.serve(claim, handle)
            elif error.status not in {409, 422, 400, 413}:  # those are judged: a person has it, or somebody else
                raise


def _handled(claim: Claim, handle: Callable[[Claim], Result]) -> Callable[[], Json]:
    try:
        result = handle(claim)
    except Question as question:
        asked = question
        return lambda: claim.ask(asked.question, asked.answers)
    except Failed as failed:
        said = failed
        return lambda: claim.fail(said.message, said.code, permanent=said.permanent)
    except Exception as error:  # the handler's own code: whatever it raises is a failed try
        message = f"{type(error).__name__}: {error}"[:2000]
        return lambda: claim.fail(message)
    return lambda: claim.submit(result)
