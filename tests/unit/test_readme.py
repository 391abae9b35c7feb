"""The README says what is true: its pictures are the tables, its example is a flow, its links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from handoffs import Flow, seams
from handoffs.states import ALLOWED, ESCALATION_TRANSITIONS, TRANSITIONS

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()
PICTURES = re.findall(r"```mermaid\n(.*?)```", README, re.DOTALL)


def edges(picture: str) -> set[tuple[str, str, str]]:
    found = set()
    for old, new, events in re.findall(r"^\s+(\S+) --> (\w+): (.+)$", picture, re.MULTILINE):
        found |= {("" if old == "[*]" else old, event, new) for event in events.split(", ")}
    return found


def test_the_picture_of_the_record_is_the_table():
    moving = {(old or "", event, new) for (old, event), news in TRANSITIONS.items() for new in news if new != old}
    assert edges(PICTURES[0]) == moving


def test_the_picture_of_the_escalation_is_the_table():
    moving = {(old, event, new) for (old, event), new in ESCALATION_TRANSITIONS.items() if new != old}
    assert edges(PICTURES[1]) == moving


def test_every_kind_stands_in_the_readme():
    for kind in ALLOWED:
        assert f"| `{kind}` |" in README


def test_the_example_is_a_flow_whose_seam_is_read_as_the_readme_says():
    code = re.search(r"```python\n(.*?)```", README, re.DOTALL)[1]
    names: dict[str, object] = {"__name__": "readme_example"}
    exec(compile(code, "README.md", "exec", dont_inherit=True), names)
    flow = names["orders"]
    assert isinstance(flow, Flow)
    findings = [(f.level, f.seam, f.pointer) for f in seams.read(flow)]
    assert findings == [("warning", "extract → check", "/purchase_order")]


@pytest.mark.parametrize("target", sorted(set(re.findall(r"\]\(((?!http)[^)#]+)\)", README))))
def test_every_link_leads_somewhere(target):
    assert (ROOT / target).exists()
