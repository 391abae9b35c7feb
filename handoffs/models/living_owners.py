"""A queue's owner can sign in: triggers refuse any other, and refuse that an owner is shut out, in both databases.

They are put there after each `migrate`, since SQLite loses the triggers of a table that a migration makes anew. On
PostgreSQL the row of the person is locked where a queue is given to them: of a queue that somebody is given and their
being shut out at the same moment, one is refused.
"""

from __future__ import annotations

from typing import Any

from django.contrib.auth import get_user_model
from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper

POSTGRES = """
CREATE OR REPLACE FUNCTION handoffs_queue_living_owner() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM 1 FROM {people} WHERE id = NEW.owner_id AND is_active FOR SHARE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'the owner of a queue must be able to sign in' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE OR REPLACE FUNCTION handoffs_person_owns_nothing() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM handoffs_queue WHERE owner_id = NEW.id) THEN
        RAISE EXCEPTION 'who owns a queue can not be shut out' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE OR REPLACE TRIGGER handoffs_queue_living_owner BEFORE INSERT OR UPDATE OF owner_id ON handoffs_queue
    FOR EACH ROW EXECUTE FUNCTION handoffs_queue_living_owner();
CREATE OR REPLACE TRIGGER handoffs_person_owns_nothing BEFORE UPDATE OF is_active ON {people}
    FOR EACH ROW WHEN (OLD.is_active AND NOT NEW.is_active) EXECUTE FUNCTION handoffs_person_owns_nothing();
"""
SQLITE = (
    "CREATE TRIGGER IF NOT EXISTS handoffs_queue_living_owner_{when} BEFORE {event} ON handoffs_queue "
    "WHEN NOT EXISTS (SELECT 1 FROM {people} WHERE id = NEW.owner_id AND is_active) "
    "BEGIN SELECT RAISE(ABORT, 'the owner of a queue must be able to sign in'); END"
)
SQLITE_PERSON = (
    "CREATE TRIGGER IF NOT EXISTS handoffs_person_owns_nothing BEFORE UPDATE OF is_active ON {people} "
    "WHEN OLD.is_active AND NOT NEW.is_active AND EXISTS (SELECT 1 FROM handoffs_queue WHERE owner_id = NEW.id) "
    "BEGIN SELECT RAISE(ABORT, 'who owns a queue can not be shut out'); END"
)


def add(connection: BaseDatabaseWrapper) -> None:
    """Put the triggers there, where they are not."""
    if connection.vendor == "postgresql":
        statements = [POSTGRES]
    else:
        events = {"insert": "INSERT", "update": "UPDATE OF owner_id"}
        statements = [SQLITE.replace("{when}", when).replace("{event}", event) for when, event in events.items()]
        statements.append(SQLITE_PERSON)
    _execute(connection, statements)


def remove(connection: BaseDatabaseWrapper) -> None:
    """Take them away, for what must be spoiled on purpose."""
    names: tuple[str, ...]
    if connection.vendor == "postgresql":
        names = ("handoffs_queue_living_owner ON handoffs_queue", "handoffs_person_owns_nothing ON {people}")
    else:
        names = (
            "handoffs_queue_living_owner_insert",
            "handoffs_queue_living_owner_update",
            "handoffs_person_owns_nothing",
        )
    _execute(connection, [f"DROP TRIGGER IF EXISTS {name}" for name in names])


def after_migrate(using: str, **_signal: Any) -> None:
    """The receiver of `post_migrate`."""
    connection = connections[using]
    tables = connection.introspection.table_names()
    if {"handoffs_queue", _people()} <= set(tables):
        add(connection)


def _execute(connection: BaseDatabaseWrapper, statements: list[str]) -> None:
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement.replace("{people}", _people()))


def _people() -> str:
    return str(get_user_model()._meta.db_table)
