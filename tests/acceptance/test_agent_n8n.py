"""The n8n recipe, played node by node as its JSON says, against a real server: the very requests, and the loop."""

from __future__ import annotations

import json
import re
import urllib.request
from pathlib import Path
from urllib.parse import urlencode

import pytest

from handoffs.actions.agents import create_token
from handoffs.api import limits
from handoffs.models import Record
from tests.acceptance.test_agent_client import decide

pytestmark = pytest.mark.django_db(transaction=True)
RECIPE = json.loads((Path(__file__).parents[2] / "examples" / "agents" / "n8n.json").read_text())
NODES = {node["name"]: node for node in RECIPE["nodes"]}
SITE = "https://handoffs.example.com"
EXPRESSION = re.compile(r"\{\{(.*?)\}\}")


class Execution:
    """One run of the workflow: what each node gave, and what its expressions mean here."""

    def __init__(self, url: str, token: str) -> None:
        self.url, self.token = url, token
        self.given = {"Start": {"subject": "Order 1042"}}
        self.requests = []

    def value(self, text: str, item: dict) -> str:
        """A parameter; one that begins with “=” has expressions."""
        if not text.startswith("="):
            return text
        return EXPRESSION.sub(lambda found: self.meaning(found[1].strip(), item), text[1:])

    def meaning(self, expression: str, item: dict) -> str:
        known = {"$execution.id": "77", "$itemIndex": "0"}
        if expression in known:
            return known[expression]
        if inside := re.fullmatch(r"JSON\.stringify\((.*)\)", expression):
            text = re.sub(r"\$json\.(\w+)", lambda name: json.dumps(item[name[1]]), inside[1])
            return json.dumps(json.loads(re.sub(r"(\w+):(?= )", r'"\1":', text).replace("'", '"')))
        node, path = re.fullmatch(r"(?:\$json|\$\('(.+?)'\)\.item\.json)\.([\w.]+)", expression).groups()
        value = self.given[node] if node else item
        for name in path.split("."):
            value = value[name]
        return str(value).lower() if isinstance(value, bool) else str(value)

    def run(self, name: str, item: dict) -> dict:
        """What a node gives for an item."""
        node, parameters = NODES[name], NODES[name]["parameters"]
        if node["type"] == "n8n-nodes-base.httpRequest":
            item = self.request(parameters, item)
        elif node["type"] == "n8n-nodes-base.set":
            fields = parameters["assignments"]["assignments"]
            item = {each["name"]: self.value(each["value"], item) for each in fields}
        self.given[name] = item
        return item

    def request(self, parameters: dict, item: dict) -> dict:
        assert (parameters["authentication"], parameters["genericAuthType"]) == (
            "genericCredentialType", "httpHeaderAuth",
        )  # fmt: skip
        url = self.value(parameters["url"], item)
        assert url.startswith(SITE)
        headers = {"Authorization": f"Bearer {self.token}"}
        for each in parameters.get("headerParameters", {}).get("parameters", []):
            headers[each["name"]] = self.value(each["value"], item)
        body = None
        if parameters.get("sendBody"):
            body, headers["Content-Type"] = self.value(parameters["jsonBody"], item).encode(), "application/json"
        if parameters.get("sendQuery"):
            query = {each["name"]: each["value"] for each in parameters["queryParameters"]["parameters"]}
            assert float(query["timeout"]) * 1000 < parameters["options"]["timeout"]
            url += "?" + urlencode(query | {"timeout": "0.2"})  # a test need not wait as long
        sent = urllib.request.Request(self.url + url.removeprefix(SITE), body, headers, method=parameters["method"])
        self.requests.append(sent)
        with urllib.request.urlopen(sent, timeout=60) as answer:
            return json.load(answer)

    def following(self, name: str, item: dict) -> str | None:
        ways = RECIPE["connections"].get(name, {}).get("main")
        if not ways:
            return None
        way = 0
        if NODES[name]["type"] == "n8n-nodes-base.if":
            [condition] = NODES[name]["parameters"]["conditions"]["conditions"]
            way = 0 if self.value(condition["leftValue"], item) == "true" else 1
        return ways[way][0]["node"]


def test_recipe_asks_waits_and_goes_on_with_the_answer(cast, live_server, settings):
    settings.HANDOFFS_UNDO = 0.0
    limits.forget_requests()
    text = create_token(name="n8n", scopes_text="asks/ticket-questions: ask", by="system:tests").text
    execution = Execution(live_server.url, text)
    visited, name, item = [], "Start", execution.given["Start"]
    while name is not None and len(visited) < 20:
        visited.append(name)
        item = execution.run(name, item)
        if name == "A moment":
            decide(cast.bob, '{"answer": "cancellation"}')
        name = execution.following(name, item)
    waiting = ["Wait for the answer", "Answered?"]
    assert visited == ["Start", "Ask", *waiting, "A moment", *waiting, "Go on"]
    assert item == {"answer": "cancellation", "answered_by": "Bob Lind"}
    again = execution.run("Ask", execution.given["Start"])
    assert (again["id"], Record.objects.count()) == (Record.objects.get().pk, 1), "a retry asks once"
    assert json.loads(Record.objects.get().results.get(step="intake").output)["context"] == {"subject": "Order 1042"}
