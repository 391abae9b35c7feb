from __future__ import annotations

import json
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command

from handoffs.conf import masked

DOCUMENTED = Path(__file__).parents[2] / "docs" / "settings.md"


def printed(*words: str) -> str:
    said = StringIO()
    call_command("config", *words, stdout=said)
    return said.getvalue()


def test_secrets_are_masked(settings):
    settings.SECRET_KEY = "not for the screen"
    settings.SECRET_KEY_FALLBACKS = ["nor this one"]
    settings.DATABASE_URL = "postgres://handoffs:hunter2@db/handoffs?sslpassword=hunter3"
    settings.REDIS_URL = "redis://:hunter4@queue:6379/0"
    for said in (printed(), printed("--json")):
        assert not any(secret in said for secret in ("not for", "nor this", "hunter2", "hunter3", "hunter4"))
        assert "postgres://handoffs:***@db/handoffs?sslpassword=***" in said


def test_each_tells_where_it_comes_from(monkeypatch, settings):
    monkeypatch.setenv("HANDOFFS_PERIOD", "2.5")
    settings.HANDOFFS_PERIOD = 2.5
    told = {setting["name"]: setting for setting in json.loads(printed("--json"))}
    assert told["HANDOFFS_PERIOD"] == {"name": "HANDOFFS_PERIOD", "value": "2.5", "given": True}
    assert told["HANDOFFS_BATCH"]["given"] is False


def test_every_printed_variable_is_documented():
    text = DOCUMENTED.read_text()
    missing = [setting["name"] for setting in json.loads(printed("--json")) if f"`{setting['name']}`" not in text]
    assert missing == []


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("redis://queue:6379/0", "redis://queue:6379/0"),
        ("rediss://user:a:b@c@queue/0", "rediss://user:***@queue/0"),
        ("unix:///run/queue.sock?password=x&db=1", "unix:///run/queue.sock?password=***&db=1"),
        ("sqlite:////srv/handoffs.sqlite3", "sqlite:////srv/handoffs.sqlite3"),
        ("", ""),
    ],
)
def test_password_in_a_url_is_masked(url, shown):
    assert masked(url) == shown
