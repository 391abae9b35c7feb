"""The review pages over a million records, beside a bare page of one query and beside Django admin's list.

    python benchmarks/review_pages.py                    1,000,000 records, 100,000 of them waiting
    python benchmarks/review_pages.py --resolved 10000000    the same pages again with so many resolved escalations more

On a private PostgreSQL, filled by plain SQL. Every page is asked for in this process through Django's test client, with
the session and all middleware; the bare page (one keyset query without filters, one small template) goes through the
same. The pages take turns, so that what else the machine does falls on all of them; the median counts.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from importlib import import_module
from typing import Any

from tests import servers

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "reviewqueue.settings")
os.environ.setdefault("SECRET_KEY", "only for a benchmark, and nobody else's")
os.environ.setdefault("LOG_LEVEL", "ERROR")
os.environ.setdefault("HANDOFFS_FLOWS", "examples.invoices.flows")

TURNS = 15
TEXT_INDEXES = import_module("handoffs.migrations.0012_search").INDEXES
QUEUES = 8
ROWS = """<!doctype html><title>Waiting</title><table>{% for row in rows %}<tr><td><a href="/escalations/{{ row.pk }}/">
{{ row.record.title }}</a><td>{{ row.kind }}<td>{{ row.step }}<td>{{ row.reason }}<td>{{ row.priority }}
<td>{{ row.due_at }}</tr>{% endfor %}</table>{% if next %}<a href="?after={{ next }}">next</a>{% endif %}"""


# --- the database ----------------------------------------------------------------------------------------------------

RECORDS = """
INSERT INTO handoffs_record (flow, external_id, status, step, queue_id, job_queue, attempt, tries_left, available_at,
    claimed_with, alone, payload, encoding, answer, title, columns, priority, producer, opened_at, ended_at, salt, seq,
    head)
SELECT 'invoices', 'INV-2026-' || lpad(i::text, 8, '0'), CASE WHEN i %% 10 = 3 THEN 'escalated' ELSE 'completed' END,
    CASE WHEN i %% 10 = 3 THEN 'check' ELSE 'post' END, q.ids[1 + (i / 10) %% {queues}], '', 1, 2, now(), 0, false,
    '{{"supplier":"Vendor ' || i %% 5000 || ' GmbH","invoice_number":"INV-2026-' || lpad(i::text, 8, '0') ||
    '","currency":"EUR","total":"' || i %% 100000 || '.10","purchase_order":null,"note":"' || repeat('lorem ', 30) ||
    '"}}',
    '', '', 'Vendor ' || i %% 5000 || ' GmbH INV-2026-' || lpad(i::text, 8, '0'), '["' || i %% 100000 || '.10", "EUR"]',
    i %% 3, 'agent:intake', now() - ({rows} - i) * interval '3 seconds',
    CASE WHEN i %% 10 = 3 THEN NULL ELSE now() END, md5(i::text), 3, ''
FROM generate_series(1, {rows}) i,
    (SELECT array_agg(id ORDER BY id) ids FROM handoffs_queue WHERE slug LIKE 'bench-%%') q"""

RESULTS = """
INSERT INTO handoffs_stepresult (record_id, step, side, attempt, outcome, output, encoding, confidence, bar,
    field_confidence, evidence, usage, unknown_fields, started_at, ended_at, actor, contract_hash, code, message, patch,
    superseded, awaits)
SELECT id, 'extract', 'returns', 1, CASE WHEN status = 'escalated' THEN 'low_confidence' ELSE 'accepted' END,
    payload, '', (id %% 100) / 100.0, 0.85, '{{}}', '{{}}', '{{}}', '[]', opened_at, opened_at, 'worker:x', '', '', '',
    '[]', false, status = 'escalated'
FROM handoffs_record WHERE (id / 10) %% 3 = 0"""

ESCALATIONS = """
INSERT INTO handoffs_escalation (record_id, queue_id, kind, state, flow, step, side, result_id, reason, code, question,
    answers, pointer, violated, fingerprint, confidence, bar, priority, version, assigned, opened_at, due_at,
    resolved_at, resolved_by_id, resolution, close_reason, note, came_from, before)
SELECT r.id, r.queue_id,
    CASE WHEN s.id IS NOT NULL THEN 'low_confidence' WHEN r.id %% 20 = 13 THEN 'failed' ELSE 'refused' END,
    {state}, 'invoices', 'check', 'receives', s.id, 'check would not run: /purchase_order: A value is needed.', '', '',
    '[]', '/purchase_order', 1, md5((r.id %% 40)::text), s.confidence, s.bar, r.priority, 0, false, r.opened_at,
    r.opened_at + interval '30 days', {resolved_at}, {by}, {resolution}, '', '', '', '{{}}'
FROM handoffs_record r LEFT JOIN handoffs_stepresult s ON s.record_id = r.id AND s.awaits {where}"""

VIOLATIONS = """
INSERT INTO handoffs_violation (record_id, escalation_id, flow, step, seam, side, pointer, rule, expected, received,
    sentence, fingerprint, contract_hash, producer, found_at)
SELECT record_id, id, flow, step, 'extract → check', 'receives', pointer, 'required', 'text', 'null',
    'A value is needed.', fingerprint, '', 'agent:intake', opened_at
FROM handoffs_escalation WHERE kind = 'refused' {where}"""


def fill(rows: int) -> None:
    """`rows` records, of which every tenth waits, in queues of one owner and one reviewer."""
    from django.contrib.auth import get_user_model
    from django.core.management import call_command

    from handoffs.actions.queues import create_queue, set_member

    call_command("migrate", verbosity=0, skip_checks=True)
    make = get_user_model().objects.create_user
    owner, reviewer = make("owner"), make("reviewer")
    get_user_model().objects.create_superuser("admin")
    for number in range(QUEUES):
        set_member(queue=create_queue(slug=f"bench-{number}", owner=owner), user=reviewer, role="reviewer")
    for name in TEXT_INDEXES:  # made anew at the end, which is quicker than row by row
        run(f"DROP INDEX {name}")
    run(RECORDS.format(rows=rows, queues=QUEUES))
    run(RESULTS.format())
    waiting = {"state": "'open'", "resolved_at": "NULL", "by": "NULL", "resolution": "''"}
    run(ESCALATIONS.format(where="WHERE r.status = 'escalated'", **waiting))
    run(VIOLATIONS.format(where=""))
    for name, what in TEXT_INDEXES.items():
        run(f"CREATE INDEX {name} ON {what}")
    vacuum()


def resolve(more: int) -> None:
    """`more` resolved escalations, several of each completed record."""
    by = "(SELECT id FROM reviewqueue_user WHERE username = 'reviewer')"
    decided = {"state": "'resolved'", "by": by, "resolution": "'close'"}
    at = "r.opened_at + n * interval '1 second'"
    where = f", generate_series(1, {more // 900_000 + 1}) n WHERE r.status = 'completed' LIMIT {more}"
    run(ESCALATIONS.format(where=where, resolved_at=at, **decided))
    vacuum()


def run(sql: str) -> None:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(sql, [])


def vacuum() -> None:
    run("VACUUM ANALYZE")


# --- the pages -------------------------------------------------------------------------------------------------------


def bare(request: Any) -> Any:
    """A keyset page as one would write it by hand: one query, no filter, no count."""
    from django.http import HttpResponse
    from django.template import engines

    from handoffs.models import Escalation

    rows = Escalation.objects.unresolved().order_by("-pk").select_related("record")
    if after := request.GET.get("after"):
        rows = rows.filter(pk__lt=int(after))
    shown = list(rows.defer("record__payload", "before")[:51])
    more = shown[49].pk if len(shown) > 50 else None
    template = engines["django"].from_string(ROWS)
    return HttpResponse(template.render({"rows": shown[:50], "next": more}))


def client(name: str) -> Any:
    from django.contrib.auth import get_user_model
    from django.test import Client

    found = Client()
    found.force_login(get_user_model().objects.get(username=name))
    return found


def deep(rows: int) -> str:
    """The address of the page in the middle of the list, page 1,000 of 2,000 where 100,000 wait."""
    from handoffs.models import Escalation
    from reviewqueue.filters import URGENT

    row = Escalation.objects.unresolved().most_urgent_first()[rows // 20]
    return f"/inbox/?after={URGENT.cursor(row)}"


def pages(rows: int) -> dict[str, tuple[str, str]]:
    """(who asks, address) by name."""
    from handoffs.models import Escalation

    some = Escalation.objects.unresolved().filter(kind="refused").order_by("pk")[1000]
    admin = "/admin/handoffs/escalation/?state__exact=open"
    return {
        "bare keyset page": ("reviewer", "/bare/"),
        "inbox": ("reviewer", "/inbox/"),
        "inbox, page 1,000": ("reviewer", deep(rows)),
        "inbox, one queue": ("reviewer", "/inbox/?queue=bench-3"),
        "inbox, one kind": ("reviewer", "/inbox/?kind=low_confidence"),
        "inbox, one step": ("reviewer", "/inbox/?step=check"),
        "inbox, violated field": ("reviewer", "/inbox/?field=/purchase_order"),
        "inbox, confidence below": ("reviewer", "/inbox/?conf_lt=0.1"),
        "inbox, older than": ("reviewer", "/inbox/?age_gt=7d"),
        "inbox, nobody's": ("reviewer", "/inbox/?assignee=nobody"),
        "inbox, same reason": ("reviewer", f"/inbox/?same={some.fingerprint}"),
        "inbox, unassigned": ("reviewer", "/inbox/?view=unassigned"),
        "inbox, overdue": ("reviewer", "/inbox/?view=overdue"),
        "inbox, by due time": ("reviewer", "/inbox/?sort=due"),
        "inbox, grouped": ("reviewer", "/inbox/?group=1"),
        "search, a rare word": ("reviewer", "/inbox/?q=00012343"),
        "search, a common word": ("reviewer", "/inbox/?q=Vendor%2042%20"),
        "search, every row": ("reviewer", "/inbox/?q=GmbH"),
        "escalation": ("reviewer", f"/escalations/{some.pk}/"),
        "Django admin, open": ("admin", admin),
        "Django admin, open, one queue": ("admin", f"{admin}&queue__id__exact={some.queue_id}"),
        "Django admin, search": ("admin", f"{admin}&q={some.pk}"),
    }


def measure(asked: dict[str, tuple[str, str]], turns: int) -> dict[str, tuple[float, float, int]]:
    """(milliseconds, of that in the database, queries) of each page: medians of turns after two to warm up."""
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    people = {name: client(name) for name in ("reviewer", "admin")}
    times: dict[str, list[tuple[float, float, int]]] = {name: [] for name in asked}
    for turn in range(turns + 2):
        for name, (who, address) in asked.items():
            begun = time.perf_counter()
            with CaptureQueriesContext(connection) as captured:
                answer = people[who].get(address)
            took = 1000 * (time.perf_counter() - begun)
            assert answer.status_code == 200, (name, answer.status_code)
            sql = 1000 * sum(float(query["time"]) for query in captured.captured_queries)
            if turn >= 2:
                times[name].append((took, sql, len(captured)))
    return {name: (middle(t[0] for t in all_), middle(t[1] for t in all_), all_[-1][2]) for name, all_ in times.items()}


def middle(values: Any) -> float:
    return statistics.median(values)


def report(title: str, found: dict[str, tuple[float, float, int]], before: dict[str, Any] | None = None) -> None:
    base = found["bare keyset page"][0]
    print(f"\n## {title}\n\n| page | ms | in the database | queries | × bare |" + (" vs before |" if before else ""))
    print("|---|---|---|---|---|" + ("---|" if before else ""))
    for name, (took, sql, queries) in found.items():
        last = f" {100 * (took / before[name][0] - 1):+.0f} % |" if before else ""
        print(f"| {name} | {took:.1f} | {sql:.1f} | {queries} | {took / base:.1f} |{last}")


def main() -> None:
    read = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    read.add_argument("--records", type=int, default=1_000_000)
    read.add_argument("--resolved", type=int, default=0, help="resolved escalations to add for a second look")
    read.add_argument("--turns", type=int, default=TURNS)
    read.add_argument("--explain", default="", help="print the slowest queries of this page, by its name")
    asked = read.parse_args()
    with servers.postgres() as server, tempfile.TemporaryDirectory() as state:
        os.environ |= {"DATABASE_URL": server.url, "HANDOFFS_STATE_DIR": state}
        timed(asked)


def timed(asked: argparse.Namespace) -> None:
    import django

    django.setup()
    prepare()
    begun = time.perf_counter()
    fill(asked.records)
    print(f"{asked.records:,} records filled in {time.perf_counter() - begun:.0f} s", flush=True)
    names = pages(asked.records)
    first = measure(names, asked.turns)
    report(f"{asked.records:,} records, {asked.records // 10:,} of them waiting", first)
    if asked.explain:
        explain(*names[asked.explain])
    if asked.resolved:
        resolve(asked.resolved)
        report(f"{asked.resolved:,} resolved escalations more", measure(names, asked.turns), first)


def prepare() -> None:
    """The site with the bare page beside it, and without the hashed files of an installation."""
    from django.conf import settings
    from django.urls import path

    from reviewqueue import urls

    plain = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
    settings.STORAGES = {**settings.STORAGES, "staticfiles": plain}
    settings.ALLOWED_HOSTS = ["*"]
    urls.urlpatterns.append(path("bare/", bare))


def explain(who: str, address: str) -> None:
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    with CaptureQueriesContext(connection) as captured:
        client(who).get(address)
    for query in sorted(captured.captured_queries, key=lambda q: -float(q["time"]))[:4]:
        print(f"\n-- {query['time']} s\n{query['sql'][:3000]}")


if __name__ == "__main__":
    main()
