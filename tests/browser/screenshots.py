"""`python -m tests.browser.screenshots`: pictures of the pages after the demo, into docs/screenshots/.

Sets up a demo of its own in a temporary folder, serves it, and stops it again.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from handoffs import children

ROOT = Path(__file__).resolve().parents[2]
TARGET = ROOT / "docs" / "screenshots"
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync"]
PASSWORD = "only for the pictures"
PREPARE = f"""
from django.contrib.auth import get_user_model
from handoffs.models import Escalation
person = get_user_model().objects.get(username="ana")
person.set_password({PASSWORD!r}); person.save()
print("refused", Escalation.objects.get(kind="refused", pointer="/supplier_id").pk)
print("record", Escalation.objects.get(kind="refused", pointer="/supplier_id").record_id)
"""
VIEWS = [("light", 1440, "light"), ("dark", 1440, "dark"), ("narrow", 320, "light")]


def manage(state: Path, *words: str) -> str:
    ran = subprocess.run(
        [sys.executable, "manage.py", *words],
        cwd=ROOT,
        env=os.environ | {"HANDOFFS_STATE_DIR": str(state)},
        check=True,
        capture_output=True,
        text=True,
    )
    return ran.stdout


@contextmanager
def served(state: Path) -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "manage.py", "serve", "--port", str(port)]
    env = os.environ | {"HANDOFFS_STATE_DIR": str(state)}
    with children.start(command, cwd=ROOT, env=env, output=subprocess.DEVNULL):
        address = f"http://127.0.0.1:{port}"
        for _ in range(300):
            try:
                urllib.request.urlopen(f"{address}/healthz", timeout=5)
                break
            except OSError:
                time.sleep(0.2)
        yield address


def shoot(browser: Browser, address: str, pages: dict[str, str]) -> None:
    for name, width, scheme in VIEWS:
        context = browser.new_context(
            base_url=address, viewport={"width": width, "height": 900}, color_scheme=scheme, reduced_motion="reduce"
        )
        page = context.new_page()
        page.goto("/accounts/login/")
        page.screenshot(path=TARGET / f"login-{name}.png")
        page.locator("[name=username]").fill("ana")
        page.locator("[name=password]").fill(PASSWORD)
        page.locator("main button[type=submit]").click()
        page.wait_for_url("**/inbox/**")
        for title, path in pages.items():
            page.goto(path)
            page.screenshot(path=TARGET / f"{title}-{name}.png")
        context.close()


def main() -> None:
    TARGET.mkdir(parents=True, exist_ok=True)
    program = shutil.which("chromium") or shutil.which("google-chrome")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        state = Path(folder)
        manage(state, "demo", "--once", "--state-dir", folder)
        found = dict(line.split() for line in manage(state, "shell", "-v0", "-c", PREPARE).splitlines() if " " in line)
        pages = {
            "inbox": "/inbox/",
            "escalation": f"/escalations/{found['refused']}/",
            "record": f"/records/{found['record']}/",
            "records": "/records/",
            "queues": "/queues/",
            "flow": "/flows/invoices/",
            "contracts": "/contracts/",
            "dashboard": "/dashboard/",
            "api-docs": "/api/docs/",
            "profile": "/accounts/profile/",
        }
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
        with served(state) as address:
            shoot(browser, address, pages)
        browser.close()


if __name__ == "__main__":
    main()
