"""The API's own page, and the description that it is made of."""

from __future__ import annotations

import json
import re

import pytest

from handoffs.api.problems import CODES, STATUS
from handoffs.errors import HandoffsError
from tests.agents import API

pytestmark = pytest.mark.django_db


@pytest.fixture
def described(client):
    answer = client.get(f"{API}openapi.json")
    assert answer.headers["Content-Type"] == "application/json"
    return json.loads(answer.content)


def operations(described):
    return [(method, path, op) for path, ops in described["paths"].items() for method, op in ops.items()]


def test_description_is_openapi_3_1_and_says_how_to_come_in(described):
    assert described["openapi"] == "3.1.0"
    [(name, scheme)] = described["components"]["securitySchemes"].items()
    assert (scheme["type"], scheme["scheme"]) == ("http", "bearer")
    assert all(op["security"] == [{name: []}] for _, _, op in operations(described))


def test_every_operation_declares_its_refusals_as_problems(described):
    for method, path, op in operations(described):
        wanted = {"401", "403", "404", "422", "429", "503"} | (
            {"400", "409", "413", "415"} if method == "post" else set()
        )
        assert wanted <= op["responses"].keys(), path
        for status, told in op["responses"].items():
            assert (int(status) < 400) or list(told["content"]) == ["application/problem+json"], path


def test_every_body_has_a_shape_and_an_example(described):
    for method, path, op in operations(described):
        for media, told in op.get("requestBody", {}).get("content", {}).items():
            assert "schema" in told
            assert media == "application/octet-stream" or "example" in told, (method, path)
            assert "$ref" not in json.dumps(told)


def test_every_reference_leads_somewhere(described):
    for name in re.findall(r'"#/components/schemas/(\w+)"', json.dumps(described)):
        assert name in described["components"]["schemas"]


def test_every_write_takes_a_key(described):
    for method, path, op in operations(described):
        named = [p["name"] for p in op["parameters"] if p["in"] == "header"]
        assert named == (["Idempotency-Key"] if method == "post" else []), path


def test_every_error_of_the_map_has_a_line_in_the_table():
    for error, status in STATUS.items():
        assert issubclass(error, HandoffsError)
        assert CODES[error.code][0] == status, error


def test_page_shows_every_operation_and_every_error_to_anybody(client, described):
    page = client.get("/api/docs/", headers={"Host": "localhost:8123"}).content.decode()
    for _, _, op in operations(described):
        assert f'id="{op["operationId"]}"' in page
    for code in CODES:
        assert f'id="error-{code}"' in page
    assert "http://localhost:8123/api/v1/asks" in page
    assert "{{" not in page
    assert "<script>" not in page
    assert "style=" not in page
