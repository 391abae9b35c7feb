"""A dump that was made while work went on is a whole installation: nothing lost, history still closed to changes."""

from __future__ import annotations

import subprocess

import psycopg
import pytest
from django.db import connection

from handoffs import supervisor
from handoffs.actions import work
from handoffs.models import Record, Transition
from tests import servers, workers
from tests.cast import document, opened
from tests.cast import work as work_off
from tests.soundness import faults

pytestmark = [pytest.mark.faults, pytest.mark.postgres, pytest.mark.django_db(transaction=True)]
COPY = "handoffs_restored"


def address(name: str) -> list[str]:
    at = connection.settings_dict
    return ["--host", at["HOST"], "--port", str(at["PORT"]), "--username", at["USER"], "--dbname", name]


def program(name: str, *words: str) -> None:
    command = [str(servers.postgres_programs() / name), *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


@pytest.fixture
def copy(cast, tmp_path):
    """A restored dump of an installation in which one attempt runs."""
    for number in range(8):
        opened(document(f"A-{number}", order="" if number % 3 == 0 else "PO"))
    work_off()
    opened(document("B-1"))
    assert len(work.claim_ready(job_queue="default", actor="worker:here", limit=1).started) == 1
    dump = tmp_path / "handoffs.dump"
    program("pg_dump", "--format=custom", f"--file={dump}", *address(connection.settings_dict["NAME"]))
    with connection.cursor() as cursor:
        cursor.execute(f"DROP DATABASE IF EXISTS {COPY}")
        cursor.execute(f"CREATE DATABASE {COPY}")
    program("pg_restore", "--no-owner", "--exit-on-error", *address(COPY), str(dump))
    yield workers.database_url().rpartition("/")[0] + f"/{COPY}"
    with connection.cursor() as cursor:
        cursor.execute(f"DROP DATABASE {COPY}")


def manage(url: str, *words: str) -> subprocess.CompletedProcess[str]:
    env = workers.environment("", HANDOFFS_FLOWS="tests.sample_flows") | {"DATABASE_URL": url}
    return subprocess.run(supervisor.command(*words), env=env, capture_output=True, text=True, timeout=120)


def test_a_restored_dump_is_whole_and_its_history_is_closed(copy):
    checked = manage(copy, "doctor", "--recoverable")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert manage(copy, "migrate", "--check").returncode == 0
    with psycopg.connect(copy, autocommit=True) as restored:
        cursor = restored.cursor()
        assert faults(cursor) == {}
        heads = dict(Record.objects.values_list("pk", "head"))
        assert dict(cursor.execute("SELECT id, head FROM handoffs_record").fetchall()) == heads
        [(rows,)] = cursor.execute("SELECT count(*) FROM handoffs_transition").fetchall()
        assert rows == Transition.objects.count() > 8
        with pytest.raises(psycopg.Error):
            cursor.execute("DELETE FROM handoffs_transition")
        with pytest.raises(psycopg.Error):
            cursor.execute("UPDATE handoffs_transition SET actor = 'nobody'")
