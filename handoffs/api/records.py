"""Handing records in, reading them, waiting for them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from django.http import HttpRequest, HttpResponse
from ninja import Router
from pydantic import Field

from handoffs import conf
from handoffs.actions.records import Opened, Opening, open_records
from handoffs.api import presenting, waiting
from handoffs.api.auth import caller, flow_for, record_for
from handoffs.api.describing import RecordId, json_body, properties_of, reads, writes
from handoffs.api.envelopes import AroundInput, read_opening
from handoffs.api.idempotency import REPLAYED, answer, once
from handoffs.api.limits import max_body
from handoffs.api.problems import Problem, problem, violations
from handoffs.api.replies import LINES, Json, Reply, dumped, reply, spliced
from handoffs.api.schemas import LineVerdict, RecordBrief, RecordOut, RecordPage, Waited
from handoffs.flows import Flow
from handoffs.models import Record
from handoffs.scopes import Verb
from handoffs.states import Status

router = Router(tags=["records"])
INPUT = {"input": {"description": "The document, as the flow's intake contract has it."}}
EXAMPLE = {"external_id": "mail-2291", "input": {"subject": "Cancel my order", "text": "Please stop order 1042."}}
Limit = Annotated[int, Field(ge=1, le=200)]
Cursor = Annotated[str, Field(pattern=r"^[1-9][0-9]{0,18}$")]
Given = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]+$")]
Seconds = Annotated[float, Field(ge=0, le=600)]


@router.post(
    "/flows/{flow}/records",
    **writes(
        "openRecord",
        "Hand in one record",
        {200: RecordBrief, 201: RecordBrief},
        json_body(properties_of(AroundInput) | INPUT, EXAMPLE, required=("input",)),
    ),
)
def open_one(request: HttpRequest, flow: str) -> HttpResponse:
    """The record is kept whatever it is: one that breaks the intake's contract is refused here (400 or 422) and waits
    for a person, and the answer says where. The same `external_id` with the same input gives the same answer."""

    def act(raw: bytes) -> Reply:
        found = flow_for(request, Verb.OPEN, flow)
        opening, status, code = read_opening(raw)
        [opened] = open_records(flow=found, openings=[opening], actor=caller(request).actor)
        return _opened(opened, opening, status, code)

    return once(request, act)


def _opened(opened: Opened, opening: Opening, status: int, code: str) -> Reply:
    record = Record.objects.get(pk=opened.record_id)
    shown = presenting.brief(record, record.pk)
    if opened.conflict:
        sentence = f"“{opening.external_id}” is record {record.pk}, with another body. Nothing was written."
        return problem(409, "external_id_in_use", sentence, record=shown)
    if opened.violations:
        return _refused(opened, record, status or 422, code or "contract_broken")
    if not opened.created:
        return reply(200, shown, {REPLAYED: "true"})
    return reply(201, shown, {"Location": shown["links"]["self"]})


def _refused(opened: Opened, record: Record, status: int, code: str) -> Reply:
    waiting_for = record.escalations.unresolved().select_related("queue").first()
    where = f" in {waiting_for.queue.slug}" if waiting_for else ""
    return problem(
        status,
        code,
        f"The input breaks what the flow takes in. It is kept as record {record.pk} and waits for a person{where}.",
        violations=violations(opened.violations),
        record=presenting.brief(record, record.pk),
        escalation=presenting.escalation(waiting_for) if waiting_for else None,
    )


@router.post(
    "/flows/{flow}/records/batch",
    **writes(
        "openRecords",
        "Hand in many records, one on each line",
        {200: LineVerdict},
        {"required": True, "content": {LINES: {"schema": {}, "example": dumped(EXAMPLE) + "\n"}}},
    ),
)
def open_batch(request: HttpRequest, flow: str) -> HttpResponse:
    """NDJSON in, NDJSON out: one verdict on each line, in order. A bad line never hurts its neighbours."""

    def act(raw: bytes) -> Reply:
        found = flow_for(request, Verb.OPEN, flow)
        lines = [(number, line) for number, line in enumerate(raw.split(b"\n"), 1) if line.strip()]
        if not lines:
            raise Problem("empty")
        most = conf.get("BATCH_LINES")
        if len(lines) > most:
            raise Problem("too_large", f"The batch has {len(lines):,} lines; at most {most:,} are taken.")
        return Reply(200, "".join(_verdicts(found, lines, caller(request).actor)), {"Content-Type": LINES})

    media_types = frozenset({LINES, "application/jsonl", "application/json-lines"})
    return once(request, act, media_types=media_types, allowed=conf.get("MAX_BATCH_BODY"))


def _verdicts(flow: Flow, lines: list[tuple[int, bytes]], actor: str) -> Iterator[str]:
    size = conf.get("INTAKE_BATCH")
    for start in range(0, len(lines), size):
        some = lines[start : start + size]
        kept = [(number, *read_opening(line)) for number, line in some if len(line) <= max_body()]
        opened = open_records(flow=flow, openings=[opening for _, opening, _, _ in kept], actor=actor)
        records = Record.objects.in_bulk([o.record_id for o in opened])
        verdicts = {
            number: _verdict(number, found, records[found.record_id], status, code)
            for found, (number, _, status, code) in zip(opened, kept, strict=True)
        }
        for number, _ in some:
            verdict = verdicts.get(number) or {"line": number, "status": 413, "code": "too_large"}
            yield dumped(verdict) + "\n"


def _verdict(number: int, opened: Opened, record: Record, status: int, code: str) -> Json:
    verdict: Json = {"line": number, "status": 201 if opened.created else 200}
    verdict["record"] = presenting.brief(record, record.pk)
    if opened.conflict:
        return verdict | {"status": 409, "code": "external_id_in_use"}
    if opened.violations:
        refused = {"status": status or 422, "code": code or "contract_broken"}
        return verdict | refused | {"violations": violations(opened.violations)}
    return verdict


@router.get("/flows/{flow}/records", **reads("listRecords", "Find records", RecordPage))
def find(
    request: HttpRequest,
    flow: str,
    external_id: Given | None = None,
    status: Status | None = None,
    step: Given | None = None,
    limit: Limit = 50,
    cursor: Cursor | None = None,
) -> HttpResponse:
    """The newest first. `next` of one page is the `cursor` of the next; records that come in between move nothing."""

    def act() -> Reply:
        found = flow_for(request, Verb.READ, flow)
        wanted: dict[str, Any] = {"external_id": external_id, "status": status, "step": step}
        rows = Record.objects.filter(flow=found.name, **{k: v for k, v in wanted.items() if v is not None})
        if cursor is not None:
            rows = rows.filter(pk__lt=min(int(cursor), 2**63 - 1))
        page = list(rows.newest_first().defer("payload", "answer")[: limit + 1])
        following = str(page[limit - 1].pk) if len(page) > limit else None
        return reply(200, {"records": [presenting.brief(r, r.pk) for r in page[:limit]], "next": following})

    return answer(act)


@router.get("/records/{record_id}", **reads("getRecord", "See one record", RecordOut))
def see(request: HttpRequest, record_id: RecordId) -> HttpResponse:
    """Where it stands, what every attempt delivered, why it waits for a person, and its document."""
    return answer(lambda: Reply(200, _shown(record_for(request, Verb.READ, record_id))))


def _shown(record: Record) -> str:
    return spliced(presenting.whole(record), "document", presenting.document_of(record))


@router.get("/records/{record_id}/wait", **reads("waitForRecord", "Wait until a record has moved", Waited))
def wait(
    request: HttpRequest,
    record_id: RecordId,
    timeout: Seconds = 30.0,
    until: Literal["ended", "stopped"] = "ended",
    since: Annotated[int, Field(ge=0, le=2**31 - 1)] | None = None,
) -> HttpResponse:
    """Answers when the record has ended (`until=stopped`: or waits for a person), or, with `since`, as soon as its
    `seq` is beyond that. A verdict counts once it can't be taken back any more."""

    def act() -> Reply:
        record_for(request, Verb.READ, record_id)
        happened = waiting.until(lambda: _has_moved(record_id, until, since), timeout)
        record = record_for(request, Verb.READ, record_id)
        body = f'{{"done":{dumped(happened.done)},"record":{_shown(record)}}}'
        return Reply(200, body, happened.headers)

    return answer(act)


def _has_moved(record_id: int, until: str, since: int | None) -> bool:
    status, seq = Record.objects.values_list("status", "seq").get(pk=record_id)
    if since is not None:
        return bool(seq > since)
    if until == "stopped" and status == Status.ESCALATED:
        return True
    return status in {Status.COMPLETED, Status.CLOSED} and waiting.stands(record_id)
