"""An independent judge of what the database holds: plain SQL that both databases speak, and none of our own code.

Each query lists what must never be there; together they say that nothing is lost, doubled or stuck.
"""

from __future__ import annotations

from typing import Any

TAKEN = "('accepted', 'fixed', 'approved', 'answered')"

MUST_BE_EMPTY = {
    "escalated without exactly one unresolved escalation": """
        SELECT r.id FROM handoffs_record r WHERE r.status = 'escalated' AND
        (SELECT count(*) FROM handoffs_escalation e WHERE e.record_id = r.id AND e.state <> 'resolved') <> 1""",
    "an unresolved escalation of a record that is not escalated": """
        SELECT r.id FROM handoffs_record r JOIN handoffs_escalation e ON e.record_id = r.id
        WHERE e.state <> 'resolved' AND r.status <> 'escalated'""",
    "an escalation in another queue than its record": """
        SELECT r.id FROM handoffs_record r JOIN handoffs_escalation e ON e.record_id = r.id
        WHERE e.state <> 'resolved' AND r.queue_id <> e.queue_id""",
    "an escalation that counts other violations than it has": """
        SELECT e.record_id FROM handoffs_escalation e
        WHERE e.violated <> (SELECT count(*) FROM handoffs_violation v WHERE v.escalation_id = e.id)""",
    "ready without a try left": """
        SELECT id FROM handoffs_record WHERE status = 'ready' AND tries_left < 1""",
    "ended without a time, or a time without an end": """
        SELECT id FROM handoffs_record WHERE (status IN ('completed', 'closed')) <> (ended_at IS NOT NULL)""",
    "a history with gaps": """
        SELECT r.id FROM handoffs_record r LEFT JOIN
        (SELECT record_id, count(*) AS n, min(seq) AS first, max(seq) AS last FROM handoffs_transition
         GROUP BY record_id) t ON t.record_id = r.id
        WHERE t.n IS NULL OR t.first <> 1 OR t.last <> t.n OR t.last <> r.seq""",
    "a history that ends elsewhere than its record": """
        SELECT r.id FROM handoffs_record r JOIN handoffs_transition t ON t.record_id = r.id AND t.seq = r.seq
        WHERE t.new_status <> r.status OR t.hash <> r.head OR t.attempt <> r.attempt""",
    "a history that jumps": """
        SELECT t.record_id FROM handoffs_transition t JOIN handoffs_transition b
        ON b.record_id = t.record_id AND b.seq = t.seq - 1 WHERE b.new_status <> t.old_status""",
    "another number of starts than of attempts": """
        SELECT r.id FROM handoffs_record r WHERE r.attempt <>
        (SELECT count(*) FROM handoffs_transition t WHERE t.record_id = r.id AND t.event = 'start')""",
    "an attempt that ended without exactly one result": """
        SELECT r.id FROM handoffs_record r
        WHERE r.attempt - (CASE WHEN r.status = 'running' THEN 1 ELSE 0 END) <>
        (SELECT count(*) FROM handoffs_stepresult s
         WHERE s.record_id = r.id AND s.attempt IS NOT NULL AND s.outcome <> 'late')""",
    "a step taken twice": f"""
        SELECT record_id FROM handoffs_stepresult WHERE outcome IN {TAKEN} AND attempt IS NOT NULL AND NOT superseded
        GROUP BY record_id, step HAVING count(*) > 1""",
    "a result that ended before it began": """
        SELECT record_id FROM handoffs_stepresult WHERE ended_at < started_at""",
    "a completed record whose steps were not all taken or skipped": """
        SELECT r.id FROM handoffs_record r WHERE r.status = 'completed' AND NOT EXISTS
        (SELECT 1 FROM handoffs_transition t WHERE t.record_id = r.id
         AND t.old_status <> t.new_status AND t.new_status = 'completed')""",
}


def faults(cursor: Any) -> dict[str, list[int]]:
    """What the judge finds, with the ids of the records; empty if all is sound."""
    found = {}
    for name, query in MUST_BE_EMPTY.items():
        cursor.execute(query)
        if rows := [row[0] for row in cursor.fetchall()]:
            found[name] = rows
    return found


def assert_sound() -> None:
    """Judge the test's own database."""
    from django.db import connection

    with connection.cursor() as cursor:
        assert faults(cursor) == {}
