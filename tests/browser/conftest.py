"""A real browser on a real server: Chromium, with and without JavaScript, in light and dark, wide and narrow."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from tests.cast import PASSWORD

# Playwright's own loop runs in this thread; Django would take that for asynchronous code.
os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
ABORTED = ("htmx:sendAbort", "htmx:afterRequest")  # what htmx says of a request that a new page ends
PATIENCE = 30_000  # milliseconds; machines are shared and slow at times


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program, args=FLAGS)
        yield started
        started.close()


class Visitor:
    """One person's browser: what they open, and what the browser complained about."""

    def __init__(self, browser: Browser, address: str, **options: Any) -> None:
        self.context = browser.new_context(base_url=address, **options)
        self.context.set_default_timeout(PATIENCE)
        self.page: Page = self.context.new_page()
        self.complaints: list[str] = []
        self.page.on("console", self._listen)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))

    def _listen(self, message: Any) -> None:
        # A page that is refused on purpose (403, 404, 409, 422) is logged by the browser too. So is a part of a page
        # that was still asked for when one went elsewhere: no fault of a page.
        refused = "the server responded with a status of 4" in message.text
        expected = refused or message.text.startswith(ABORTED)
        if message.type in {"error", "warning"} and not expected:
            self.complaints.append(message.text)

    def log_in(self, name: str) -> Page:
        self.page.goto("/accounts/login/")
        self.page.get_by_label("Name", exact=False).first.fill(name)
        self.page.locator("input[type=password]").fill(PASSWORD)
        self.page.locator("main button[type=submit]").click()
        self.page.wait_for_url("**/inbox/**")
        return self.page


@pytest.fixture
def visit(browser: Browser, live_server: Any) -> Iterator[Any]:
    """Opens browsers on the live server: `visit(javascript=True, theme="light", width=1440)`; no page may complain."""
    opened: list[Visitor] = []

    def start(*, javascript: bool = True, theme: str = "light", width: int = 1440) -> Visitor:
        visitor = Visitor(
            browser,
            live_server.url,
            java_script_enabled=javascript,
            color_scheme=theme,
            viewport={"width": width, "height": 900},
        )
        opened.append(visitor)
        return visitor

    yield start
    complaints = [complaint for visitor in opened for complaint in visitor.complaints]
    for visitor in opened:
        visitor.context.close()
    assert complaints == []
