"""Finding records by what people have at hand: a number, an external id, a word of the title or of the body.

A number or a whole external id is looked up in an index. So are words of three letters and more in what waits for a
decision, on PostgreSQL: an index holds the trigrams of its titles, ids and bodies, and of nothing else. Everywhere else
words are looked for in the first rows of a list only, and the page says so: reading all bodies of a large table would
keep it waiting for seconds.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from django.core.exceptions import EmptyResultSet
from django.db import connection
from django.db.models import F, Model, Q, QuerySet

from handoffs.flows import declared
from handoffs.models.sql import is_postgres
from reviewqueue.counting import CAP
from reviewqueue.paging import Order

LONGEST_WORD = 200
SEARCHED = 20_000  # rows of a list whose texts are read on PostgreSQL
SEARCHED_EMBEDDED = 100_000  # the same on SQLite, whose reading costs no round trip
FOUND = 5000  # rows that an index may name; more than that are found soon by reading on
SHORTEST = 3  # letters that an index of trigrams needs
_REFERENCE = re.compile(r"(?:(ESC|REC)-?)?([0-9]{1,18})", re.IGNORECASE)
M = TypeVar("M", bound=Model)


@dataclass(frozen=True, slots=True)
class Places:
    """Where a list's rows have what people search for: lookup paths from the row.

    `numbers` maps a reference's prefix to the field with that number; `record` leads to the record ("" on a record).
    """

    numbers: Mapping[str, str]
    record: str
    names: tuple[str, ...]
    bodies: tuple[str, ...]


def reference(text: str) -> tuple[str, int] | None:
    """(prefix or "", number) of “ESC-1042”, “rec-8817” or “1042”; None for anything else."""
    found = _REFERENCE.fullmatch(text.strip())
    return ((found[1] or "").upper(), int(found[2])) if found else None


def bound(text: str, *, is_open: bool) -> int | None:
    """In how many of a list's rows a text is looked for; None: in all. `is_open`: of what waits for a decision."""
    if (said := reference(text)) and said[0]:
        return None
    if not is_postgres():
        return SEARCHED_EMBEDDED
    return None if is_open and len(text) >= SHORTEST else SEARCHED


def holding(rows: QuerySet[M], order: Order, text: str, places: Places, *, is_open: bool = False) -> QuerySet[M]:
    """The rows that hold a text. Takes one or two queries.

    A term that very many rows hold is left to the database, which finds a page of those soon.
    """
    if (said := reference(text)) and said[0]:
        return rows.filter(**{places.numbers[said[0]]: said[1]})
    exact = Q(**{f"{places.record}flow__in": list(declared()), f"{places.record}external_id": text})
    if said:
        for field in places.numbers.values():
            exact |= Q(**{field: said[1]})
    limit = bound(text, is_open=is_open)
    near = _indexed(text) if limit is None else _near(rows, order, text, places, limit)
    if len(near) > (FOUND if limit is None else CAP):
        return rows.filter(exact | in_texts(text, places))
    whole = list(rows.filter(exact).values_list("pk", flat=True)[:CAP])
    return rows.filter(pk__in={*near, *whole})


def in_texts(text: str, places: Places) -> Q:
    """Rows that hold the text in one of the fields, wherever they stand in the list."""
    found = Q()
    for field, spelling in _spellings(text, places):
        found |= Q(**{f"{field}__icontains": spelling})
    return found


def _spellings(text: str, places: Places) -> list[tuple[str, str]]:
    """(field, text) to look for. In bodies also as JSON may write it: `M\\u00fcller`, `\\"`."""
    plain = [(name, text) for name in places.names]
    return plain + [(body, spelling) for body in places.bodies for spelling in _as_written(text)]


def _as_written(text: str) -> list[str]:
    return sorted({text, json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1]})


INDEXED = """
    SELECT e.id FROM handoffs_escalation e JOIN handoffs_record r ON r.id = e.record_id
    WHERE e.state IN ('open', 'claimed') AND r.status = 'escalated' AND ({names})
    UNION SELECT e.id FROM handoffs_escalation e JOIN handoffs_stepresult s ON s.id = e.result_id
    WHERE e.state IN ('open', 'claimed') AND s.awaits AND ({outputs})
    LIMIT %s"""


def _indexed(text: str) -> list[int]:
    """The ids of up to FOUND + 1 unresolved escalations that hold the text, by the indexes of trigrams."""
    bodies = [_like(spelling) for spelling in _as_written(text)]
    names = ["UPPER(r.title) LIKE UPPER(%s)", "UPPER(r.external_id) LIKE UPPER(%s)"]
    names += ["UPPER(r.payload) LIKE UPPER(%s)"] * len(bodies)
    outputs = ["UPPER(s.output) LIKE UPPER(%s)"] * len(bodies)
    sql = INDEXED.format(names=" OR ".join(names), outputs=" OR ".join(outputs))
    with connection.cursor() as cursor:
        cursor.execute(sql, [_like(text), _like(text), *bodies, *bodies, FOUND + 1])
        return [row[0] for row in cursor.fetchall()]


def _like(text: str) -> str:
    return f"%{connection.ops.prep_for_like_query(text)}%"


def _near(rows: QuerySet[M], order: Order, text: str, places: Places, limit: int) -> list[int]:
    """The ids of up to CAP + 1 of the first `limit` rows that hold the text.

    The limit stands inside, so that the database cannot look at the texts of other rows first.
    """
    fields = (*places.names, *places.bodies)
    alias = {field: f"text_{n}" for n, field in enumerate(fields)}
    first = rows.order_by(*order.fields).values(row=F("pk"), **{alias[field]: F(field) for field in fields})[:limit]
    try:
        sql, params = first.query.sql_with_params()
    except EmptyResultSet:
        return []
    looked_for = _spellings(text, places)
    where = " OR ".join(f"UPPER({alias[field]}) LIKE UPPER(%s) ESCAPE '\\'" for field, _spelling in looked_for)
    likes = [_like(spelling) for _field, spelling in looked_for]
    with connection.cursor() as cursor:
        cursor.execute(f'SELECT "row" FROM ({sql}) AS near WHERE {where} LIMIT {CAP + 1}', [*params, *likes])  # noqa: S608
        return [row[0] for row in cursor.fetchall()]
