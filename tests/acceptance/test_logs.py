"""Lines of the log as JSON: which request and who, or which record, step and attempt; never a body."""

from __future__ import annotations

import json
import logging

import pytest
from django.urls import reverse
from structlog.stdlib import ProcessorFormatter

from handoffs import PermanentError
from reviewqueue import policy
from reviewqueue.views import inbox
from tests import sample_flows
from tests.cast import document, opened, work

pytestmark = pytest.mark.django_db


@pytest.fixture
def lines():
    """What is logged while a test runs, as the JSON handler writes it."""
    told: list[dict] = []

    class Kept(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            told.append(json.loads(self.format(record)))

    made = policy.logging("INFO", "json")["formatters"]["line"]
    handler, root = Kept(), logging.getLogger()
    words = {name: value for name, value in made.items() if name != "()"}
    handler.setFormatter(ProcessorFormatter(**words))
    root.addHandler(handler)
    yield told
    root.removeHandler(handler)


def test_a_line_says_which_request_it_belongs_to_and_who_asks(lines, client, cast, monkeypatch):
    logger = logging.getLogger("tests.page")
    seen = inbox.render
    monkeypatch.setattr(inbox, "render", lambda *words, **more: logger.warning("drawn") or seen(*words, **more))
    client.force_login(cast.bob)
    client.get(reverse("inbox"), headers={"X-Request-ID": "abc-1"})
    [line] = [line for line in lines if line["logger"] == "tests.page"]
    assert (line["request"], line["actor"], line["level"]) == ("abc-1", "reviewer:bob", "warning")


def test_what_a_step_logs_says_which_attempt_it_was(lines, cast):
    def noisy(given, context):
        logging.getLogger("tests.step").warning("a line\nand a break")
        raise PermanentError("no")

    sample_flows.behaviour["extract"] = noisy
    record = opened(document("A-1"))
    work()
    [line] = [line for line in lines if line["logger"] == "tests.step"]
    assert (line["record"], line["step"], line["attempt"]) == (record.pk, "extract", 1)
    logging.getLogger("tests.step").warning("after it")
    assert "record" not in lines[-1]
