from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import dj_email_url
import django
import pytest

from handoffs.conf import DEFAULTS
from reviewqueue import policy

ROOT = Path(__file__).resolve().parents[2]
SETTINGS = (ROOT / "reviewqueue" / "settings.py").read_text()


def test_every_variable_is_documented_with_its_default_and_no_other():
    rows = [line.split("|")[1] for line in (ROOT / "docs" / "settings.md").read_text().splitlines() if "|" in line]
    documented = set(re.findall(r"`([A-Z_]+)`", " ".join(rows)))
    read = set(re.findall(r'env\.\w+\("([A-Z_]+)"', SETTINGS)) | {f"HANDOFFS_{name}" for name in DEFAULTS}
    assert documented >= read
    assert documented - read <= {"HANDOFFS_STATE_DIR"}


def start(tmp_path, **environment):
    known = {k: v for k, v in os.environ.items() if not k.startswith("HANDOFFS_")}
    return subprocess.run(
        [sys.executable, "manage.py", "check"],
        cwd=ROOT,
        env=known | {"HANDOFFS_STATE_DIR": str(tmp_path)} | environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_all_wrong_values_stop_the_start_at_once(tmp_path):
    stopped = start(tmp_path, HANDOFFS_BATCH="0", HANDOFFS_PERIOD="0,5", DEBUG="perhaps")
    assert stopped.returncode != 0
    assert all(name in stopped.stderr for name in ("HANDOFFS_BATCH", "HANDOFFS_PERIOD", "DEBUG"))


def test_an_installation_with_a_database_needs_its_key(tmp_path):
    stopped = start(tmp_path, DATABASE_URL="postgres://nobody@127.0.0.1:1/none", SECRET_KEY="")
    assert "SECRET_KEY is not set" in stopped.stderr


def test_an_embedded_installation_keeps_its_key_to_its_owner(tmp_path):
    start(tmp_path)
    key = tmp_path / "secret_key"
    assert len(key.read_text()) >= 50
    assert key.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    ("url", "backend"),
    [("dummy://", "dummy"), ("submission://u:p@mail.example.org", "smtp"), ("file:///m", "filebased")],
)
def test_an_email_url_gives_the_settings_that_this_django_wants(url, backend):
    given = policy.mail(dj_email_url.parse(url))
    if django.VERSION < (6, 1):
        assert (given["EMAIL_BACKEND"].split(".")[-2], given["EMAIL_TIMEOUT"]) == (backend, policy.MAIL_TIMEOUT)
        return
    mailer = given["MAILERS"]["default"]
    assert mailer["BACKEND"].split(".")[-2] == backend
    at = {"host": "mail.example.org", "port": 587, "username": "u", "password": "p", "use_tls": True, "use_ssl": False}
    assert mailer["OPTIONS"] == {"smtp": at | {"timeout": 10}, "filebased": {"file_path": "m"}}.get(backend, {})


def test_an_email_url_of_an_unknown_kind_is_refused(tmp_path):
    stopped = start(tmp_path, EMAIL_URL="smtp+tls://u:secret@mail.example.org")
    assert stopped.returncode != 0
    assert "EMAIL_URL begins with" in stopped.stderr
    assert "secret" not in stopped.stderr
