"""The texts that people search for, of what waits for a decision: trigrams on PostgreSQL; SQLite reads the rows."""

from django.db import DatabaseError, connections, migrations, models, transaction

NAMED = "UPPER(title) gin_trgm_ops, UPPER(external_id) gin_trgm_ops, UPPER(payload) gin_trgm_ops"
INDEXES = {
    "record_waiting_text": f"handoffs_record USING gin ({NAMED}) WHERE status = 'escalated'",
    "result_waiting_text": "handoffs_stepresult USING gin (UPPER(output) gin_trgm_ops) WHERE awaits",
}
MARK = """
    UPDATE handoffs_stepresult SET awaits = true WHERE id IN (
        SELECT result_id FROM handoffs_escalation WHERE state IN ('open', 'claimed') AND result_id IS NOT NULL)"""


def add(apps, schema_editor):
    schema_editor.execute(MARK)
    if schema_editor.connection.vendor != "postgresql" or not _has_trigrams(schema_editor.connection.alias):
        return
    for name, what in INDEXES.items():
        schema_editor.execute(f"CREATE INDEX {name} ON {what}")


def _has_trigrams(alias):
    """Whether the extension is there, or may be installed. Without it a search reads all that waits, and is slower."""
    try:
        with transaction.atomic(using=alias), connections[alias].cursor() as cursor:
            cursor.execute("CREATE EXTENSION IF NOT EXISTS pg_trgm")
    except DatabaseError:
        return False
    return True


def remove(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        for name in INDEXES:
            schema_editor.execute(f"DROP INDEX IF EXISTS {name}")


class Migration(migrations.Migration):
    dependencies = [("handoffs", "0011_group_fixes")]

    operations = [
        migrations.AddField(
            model_name="stepresult",
            name="awaits",
            field=models.BooleanField(
                default=False, help_text="an unresolved escalation is about it: its text is indexed"
            ),
        ),
        migrations.RunPython(add, remove),
    ]
