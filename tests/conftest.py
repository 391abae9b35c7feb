"""What the whole suite shares.

Tests marked `postgres`, `redis` or `browser` are skipped where the thing is not found, unless HANDOFFS_REQUIRE names it
(`HANDOFFS_REQUIRE=postgres,redis,browser`): then they fail, so that a run that must prove them can't pass without.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from importlib.util import find_spec

import hypothesis
import pytest

from handoffs import embedded
from handoffs.errors import QueueServerAway

os.environ.setdefault("HANDOFFS_REQUIRE_DRILL", "0")  # of workers and servers that tests start
CHROMIUMS = ("chromium", "chromium-browser", "google-chrome")


def lacks_postgres() -> str | None:
    url = os.environ.get("DATABASE_URL", "")
    return None if url.startswith("postgres") else "DATABASE_URL names no PostgreSQL"


def lacks_redis() -> str | None:
    try:
        embedded.find_program()
    except QueueServerAway as error:
        return str(error)
    return None


def lacks_browser() -> str | None:
    if find_spec("playwright") is None:
        return "playwright is not installed"
    return None if any(map(shutil.which, CHROMIUMS)) else "no Chromium on PATH"


NEEDS = {"postgres": lacks_postgres, "redis": lacks_redis, "browser": lacks_browser}


def required() -> set[str]:
    """What HANDOFFS_REQUIRE names. Raises `pytest.UsageError` for a word that means nothing."""
    words = {word.strip() for word in os.environ.get("HANDOFFS_REQUIRE", "").split(",")} - {""}
    if unknown := words - NEEDS.keys():
        raise pytest.UsageError(f"HANDOFFS_REQUIRE knows {', '.join(NEEDS)}; not {', '.join(sorted(unknown))}.")
    return words


def pytest_configure(config: pytest.Config) -> None:
    from django.conf import settings

    required()
    settings.HANDOFFS_REQUIRE_DRILL = False  # tests of the gate switch it on
    # Machines are shared and slow at times: no test is judged by the clock.
    hypothesis.settings.register_profile("calm", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
    hypothesis.settings.load_profile("calm")
    settings.STATIC_ROOT = tempfile.mkdtemp(prefix="handoffs-static-")
    atexit.register(shutil.rmtree, settings.STATIC_ROOT, ignore_errors=True)
    # Pages name their files plainly, so that nothing has to be collected; `hashed_files` serves them as in production.
    plain = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
    settings.STORAGES = {**settings.STORAGES, "staticfiles": plain}
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]  # the real one is slow on purpose


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    for need, lacks in NEEDS.items():
        if item.get_closest_marker(need) and (reason := lacks()):
            if need in required():
                pytest.fail(f"HANDOFFS_REQUIRE names {need}, but: {reason}", pytrace=False)
            pytest.skip(reason)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item):
    """Shows, beside a failure, the end of what the processes of its test logged."""
    report = yield
    folder = getattr(item, "funcargs", {}).get("tmp_path")
    if report.failed and folder is not None:
        for log in sorted(folder.glob("*log")):
            report.sections.append((f"the end of {log.name}", log.read_text(errors="replace")[-6000:]))
    return report


# --- the cast, and the flows that tests use --------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def _fresh_flows():
    from handoffs import flows, readiness
    from handoffs.models.queues import forget_queues
    from tests import sample_flows

    known = flows.declared()
    flows.clear()
    for flow in (*known.values(), sample_flows.orders, sample_flows.tickets):
        flows.register(flow)
    sample_flows.calls.clear()
    sample_flows.behaviour.clear()
    forget_queues()
    readiness.believe({})
    yield
    flows.clear()
    for flow in known.values():
        flows.register(flow)


@pytest.fixture(autouse=True, scope="session")
def _emptied_between_tests():
    """The triggers that keep history append-only also stop the flush after a test that commits; step around them."""
    from importlib import import_module

    from django.apps import apps
    from django.db import connection
    from django.test import TransactionTestCase

    triggers = import_module("handoffs.migrations.0002_append_only")
    flush = TransactionTestCase._fixture_teardown

    def without_triggers(case):
        with connection.schema_editor() as editor:
            triggers.remove(apps, editor)
        flush(case)
        with connection.schema_editor() as editor:
            triggers.add(apps, editor)

    TransactionTestCase._fixture_teardown = without_triggers
    yield
    TransactionTestCase._fixture_teardown = flush


@pytest.fixture
def cast(db):
    """alice owns the queues, bob reviews in them, charlie is an outsider, dora administers."""
    from tests.cast import Cast

    return Cast.assemble()


@pytest.fixture(scope="session")
def collected(tmp_path_factory):
    """Where the static files are collected under hashed names, once per session."""
    from django.core.management import call_command
    from django.test import override_settings

    from reviewqueue import settings as declared

    folder = tmp_path_factory.mktemp("collected")
    with override_settings(STATIC_ROOT=folder, STORAGES=declared.STORAGES):
        call_command("collectstatic", interactive=False, verbosity=0)
    return folder


@pytest.fixture
def hashed_files(collected, settings):
    """The site with its static files as in production: hashed names, served by WhiteNoise."""
    from reviewqueue import settings as declared

    settings.STATIC_ROOT = collected
    settings.STORAGES = declared.STORAGES
