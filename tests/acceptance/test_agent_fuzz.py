"""Bodies of every kind: whatever comes, the answer is one that the description declares, and nothing is lost."""

from __future__ import annotations

import json
import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from handoffs.models import Record, StepResult
from tests.agents import Agent, set_stage

pytestmark = pytest.mark.django_db(transaction=True)
EXAMPLES = int(os.environ.get("HANDOFFS_EXAMPLES", "100"))
FUZZ = settings(
    max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), derandomize=EXAMPLES <= 100
)

text = st.text(st.characters(codec=None, exclude_categories=()), max_size=12)
scalars = st.none() | st.booleans() | st.integers() | st.floats() | text
values = st.recursive(scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(text, inner, max_size=4))
envelopes = st.fixed_dictionaries(
    {},
    optional={
        "output": st.just({"label": "x"}) | values,
        "input": st.just({"subject": "x"}) | values,
        "confidence": st.floats(0, 1) | values,
        "attempt": st.integers(0, 3) | values,
        "step": st.just("classify") | values,
        "field_confidence": values,
        "evidence": values,
        "usage": values,
        "external_id": text,
    },
)
written = (envelopes | values).map(lambda value: json.dumps(value).encode())
cut = st.builds(lambda raw, at: raw[: at % (len(raw) + 1)], written, st.integers(0, 500))
bodies = written | cut | st.binary(max_size=200) | st.text(max_size=100).map(lambda t: t.encode("utf-8", "ignore"))


@pytest.fixture
def agent(cast):
    set_stage(cast.alice)
    return Agent(requests_per_minute=10_000_000)


def test_any_result_is_judged_and_charged_to_its_attempt(agent):
    @FUZZ
    @given(bodies)
    def post(raw):
        record = agent.open("case-repairing", {"text": "x"}).json["id"]
        answer = agent.result(record, 1, raw)
        assert answer.status in {200, 400, 409, 422}, answer.text
        kept = StepResult.objects.filter(record=record, attempt=1).count()
        assert kept == (0 if answer.status == 409 else 1)
        assert agent.get(f"records/{record}").status == 200

    post()


def test_any_intake_is_kept(agent):
    @FUZZ
    @given(bodies)
    def post(raw):
        before = Record.objects.count()
        answer = agent.post("flows/tickets/records", raw)
        assert answer.status in {200, 201, 400, 409, 422}, answer.text
        kept = Record.objects.count() - before
        assert kept == (answer.status not in {200, 409})
        if kept:
            assert agent.get(f"records/{answer.json.get('id') or answer.json['record']['id']}").status == 200

    post()


@pytest.mark.parametrize(
    "path",
    [
        "asks",
        "flows/tickets/records/batch",
        "flows/tickets/steps/classify/claims",
        "flows/tickets/steps/classify/contract/check",
        "records/1/attempts/1/failure",
        "records/1/attempts/1/question",
        "records/1/attempts/1/release",
        "records/1/attachments/links",
        "records/1/attachments?name=a",
    ],
)
def test_any_body_anywhere_is_answered(agent, path):
    agent.open("tickets", {"subject": "x"})
    media = "application/x-ndjson" if "batch" in path else ("text/plain" if "?name" in path else None)

    @settings(FUZZ, max_examples=max(40, EXAMPLES // 10))
    @given(bodies)
    def post(raw):
        answer = agent.post(path, raw, media=media)
        assert answer.status < 500, answer.text

    post()


@pytest.mark.parametrize("path", ["flows/tickets/records", "records/1/wait", "records/1"])
def test_any_query_is_answered(agent, path):
    agent.open("tickets", {"subject": "x"})
    names = st.sampled_from(["external_id", "status", "step", "limit", "cursor", "timeout", "until", "since", "x"])

    @settings(FUZZ, max_examples=max(40, EXAMPLES // 10))
    @given(st.dictionaries(names, text | st.integers().map(str), max_size=4))
    def get(query):
        query = {name: value.encode("utf-8", "replace").decode() for name, value in query.items()}
        assert agent.get(path, **(query | {"timeout": "0"})).status < 500

    get()
