"""History and contract versions can be added to, and nothing else: triggers refuse it in both databases.

PostgreSQL: ENABLE ALWAYS, so that `session_replication_role = replica` does not skip them, and one for TRUNCATE, which
row triggers do not see. SQLite: INSERT OR REPLACE would pass the delete trigger by, so connections set
`recursive_triggers` (see the settings).
"""

from django.db import migrations

TABLES = ("handoffs_transition", "handoffs_auditentry", "handoffs_contractversion")

POSTGRES = """
CREATE OR REPLACE FUNCTION handoffs_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = 'restrict_violation';
END $$;
"""
POSTGRES_TABLE = """
CREATE TRIGGER {table}_no_change BEFORE UPDATE OR DELETE ON {table}
    FOR EACH ROW EXECUTE FUNCTION handoffs_append_only();
ALTER TABLE {table} ENABLE ALWAYS TRIGGER {table}_no_change;
CREATE TRIGGER {table}_no_truncate BEFORE TRUNCATE ON {table}
    FOR EACH STATEMENT EXECUTE FUNCTION handoffs_append_only();
ALTER TABLE {table} ENABLE ALWAYS TRIGGER {table}_no_truncate;
"""
SQLITE_TABLE = (
    "CREATE TRIGGER {table}_no_update BEFORE UPDATE ON {table} "
    "BEGIN SELECT RAISE(ABORT, '{table} is append-only'); END",
    "CREATE TRIGGER {table}_no_delete BEFORE DELETE ON {table} "
    "BEGIN SELECT RAISE(ABORT, '{table} is append-only'); END",
)


def add(apps, schema_editor):
    postgres = schema_editor.connection.vendor == "postgresql"
    if postgres:
        schema_editor.execute(POSTGRES, params=None)
    for table in TABLES:
        for statement in [POSTGRES_TABLE] if postgres else SQLITE_TABLE:
            schema_editor.execute(statement.format(table=table), params=None)


def remove(apps, schema_editor):
    postgres = schema_editor.connection.vendor == "postgresql"
    for table in TABLES:
        for name in ("no_change", "no_truncate") if postgres else ("no_update", "no_delete"):
            schema_editor.execute(f"DROP TRIGGER {table}_{name}" + (f" ON {table}" if postgres else ""))
    if postgres:
        schema_editor.execute("DROP FUNCTION handoffs_append_only()")


class Migration(migrations.Migration):
    dependencies = [("handoffs", "0001_first")]

    operations = [migrations.RunPython(add, remove)]
