from __future__ import annotations

import hashlib
import json
import threading
from dataclasses import replace
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from handoffs import Contract, Flow, Step, flows, jobs, taking_in
from handoffs.actions.records import Opening, open_record
from handoffs.flows import Intake
from handoffs.models import Queue, Record
from handoffs.states import Status
from tests import sample_flows
from tests.cast import document, work

pytestmark = pytest.mark.django_db(transaction=True)


def taken_in(*words: object, flow: str = "orders") -> tuple[int, str, str]:
    """(exit code, standard output, standard error)"""
    said, noted, code = StringIO(), StringIO(), 0
    try:
        call_command("intake", flow, *map(str, words), stdout=said, stderr=noted)
    except SystemExit as ended:
        code = int(ended.code or 0)
    return code, said.getvalue(), noted.getvalue()


def told(*words: object, flow: str = "orders") -> tuple[int, dict]:
    code, said, _ = taken_in(*words, "--json", flow=flow)
    return code, json.loads(said)


@pytest.fixture
def folder(tmp_path):
    """Three orders in nested folders, a broken one, and a hidden file."""
    inbox = tmp_path / "inbox"
    (inbox / "b").mkdir(parents=True)
    for number, name in enumerate(["c.json", "b/z.json", "b/a.json"], start=1):
        (inbox / name).write_text(json.dumps(document(f"A-{number}")))
    (inbox / "a-broken.json").write_text('{"text": 7}')
    (inbox / ".hidden.json").write_text("{}")
    return inbox


def test_folder_is_taken_with_all_below_it_in_order(cast, folder):
    _, run = told(folder)
    assert [one["file"].removeprefix(f"{folder}/") for one in run["records"]] == [
        "a-broken.json",
        "b/a.json",
        "b/z.json",
        "c.json",
    ]
    assert (run["files"], run["opened"], run["already_there"], run["not_taken_in"]) == (4, 4, 0, 0)
    assert run["by_status"] == {"ready": 3, "escalated": 1}


def test_body_is_kept_as_it_stands_in_the_file(cast, tmp_path):
    (tmp_path / "one.json").write_bytes(b'{ "text":\t"A-1,PO-7,10" }')
    _, run = told(tmp_path)
    assert Record.objects.get(pk=run["records"][0]["record"]).payload == '{ "text":\t"A-1,PO-7,10" }'


def test_same_file_again_opens_nothing_and_says_so(cast, folder):
    taken_in(folder)
    _, said, _ = taken_in(folder)
    assert "4 files: 4 already there." in said
    assert Record.objects.count() == 4


def test_refused_body_is_a_record_that_waits_for_its_owner(cast, folder):
    code, run = told(folder / "a-broken.json")
    [one] = run["records"]
    assert code == 3
    assert (one["status"], one["kind"], one["at"], one["owner"]) == ("escalated", "refused", "/text", "Alice Ek")
    assert one["queue"] == "Order exceptions"


def test_summary_counts_by_status_and_reason(cast, folder):
    _, said, noted = taken_in(folder)
    rows = [line.split() for line in said.splitlines()]
    assert ["3", "ready", "extract"] in rows
    assert ["1", "escalated", "intake", "refused", "/text", "Order", "exceptions", "Alice", "Ek"] in rows
    assert "3 wait for a worker" in noted


def test_list_has_a_line_for_each_record(cast, folder):
    _, said, _ = taken_in(folder, "--list")
    assert "Order exceptions, owned by Alice Ek: 1 record waits" in said
    assert {line.split()[0] for line in said.splitlines() if ".json" in line} == {
        "a-broken.json",
        "b/a.json",
        "b/z.json",
        "c.json",
    }


def test_path_that_is_not_there_is_named_and_the_others_are_taken(cast, folder):
    code, said, noted = taken_in(folder / "c.json", folder / "missing.json")
    assert code == 1
    assert "2 files: 1 opened, 1 not taken in." in said
    assert f"{folder / 'missing.json'}: There is no such file." in noted


def test_file_that_can_not_be_read_is_named(cast, folder, monkeypatch):
    def deny(path):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(taking_in, "_read", deny)
    code, run = told(folder / "c.json")
    assert (code, run["records"][0]["problem"]) == (1, "Permission denied.")


def test_huge_file_is_not_even_read(cast, folder, monkeypatch):
    monkeypatch.setattr(taking_in, "LARGEST", 10)
    code, run = told(folder / "c.json")
    assert code == 1
    assert "files up to 10 are read" in run["records"][0]["problem"]


def test_empty_folder_is_nothing_to_do(cast, tmp_path):
    code, said, _ = taken_in(tmp_path)
    assert (code, said.strip()) == (0, "0 files: 0 opened.")


def test_each_line_of_a_line_file_is_a_body(cast, tmp_path):
    lines = tmp_path / "orders.ndjson"
    lines.write_text(f"{json.dumps(document('A-1'))}\n\n{json.dumps(document('A-2'))}\n{json.dumps(document('A-1'))}")
    _, run = told(lines)
    assert [one["file"] for one in run["records"]] == [f"{lines}:1", f"{lines}:3", f"{lines}:4"]
    assert run["opened"] == 3, "equal lines are pieces of work of their own"
    lines.write_text(lines.read_text() + f"\n{json.dumps(document('A-3'))}")
    assert told(lines)[1]["opened"] == 1, "a file that grew brings its new lines only"


def test_file_of_the_same_id_with_another_body_is_named(cast, folder):
    text = (folder / "c.json").read_bytes()
    opening = taking_in.opening_of(sample_flows.orders, folder / "c.json", text)
    open_record(flow=sample_flows.orders, opening=Opening(b'{"text":"x"}', opening.external_id), actor="agent:echo")
    code, run = told(folder / "c.json")
    assert code == 1
    assert "has the same id, and another body" in run["records"][0]["problem"]


def test_batches_take_in_all(cast, tmp_path, settings):
    settings.HANDOFFS_INTAKE_BATCH = 2
    for number in range(5):
        (tmp_path / f"{number}.json").write_text(json.dumps(document(f"A-{number}")))
    assert told(tmp_path)[1]["opened"] == 5


def test_sender_is_kept_with_the_record(cast, folder):
    _, run = told(folder / "c.json", "--from", "partner")
    assert Record.objects.get(pk=run["records"][0]["record"]).producer == "intake:partner"


# --- waiting and working ---------------------------------------------------------------------------------------------


def test_work_brings_all_to_rest_in_this_process(cast, folder):
    code, run = told(folder, "--work")
    assert code == 3
    assert run["by_status"] == {"escalated": 1, "completed": 3}


def test_work_on_files_that_all_complete_ends_with_0(cast, folder):
    assert told(folder / "b", "--work")[0] == 0


def test_work_waits_for_retries_that_are_due_later(cast, folder):
    def busy_once(given, context):
        if context.attempt == 3:
            raise sample_flows.TransientError("busy")
        return sample_flows.Posted(number=given.number, voucher="V-1")

    sample_flows.behaviour["post"] = busy_once
    code, run = told(folder / "c.json", "--work")
    assert (code, run["by_status"]) == (0, {"completed": 1})


def test_wait_sees_what_a_worker_does_meanwhile(cast, folder):
    started = threading.Timer(0.5, work_elsewhere)
    started.start()
    code, run = told(folder / "c.json", "--wait", "30")
    started.join()
    assert (code, run["by_status"]) == (0, {"completed": 1})


def work_elsewhere():
    from django.db import connection

    work()
    connection.close()


def test_wait_that_is_over_too_soon_ends_with_4(cast, folder):
    code, said, _ = taken_in(folder / "c.json", "--wait", "0.3")
    assert code == 4
    assert "ready" in said


def test_step_of_an_agent_is_not_waited_for(cast, tmp_path):
    (tmp_path / "ticket.json").write_text('{"subject": "Hello"}')
    code, run = told(tmp_path, "--work", flow="tickets")
    assert (code, run["by_status"]) == (0, {"ready": 1})


def test_work_that_is_interrupted_hands_back(cast, folder):
    seen = threading.Event()
    stopped = jobs.Drain("default", seen)
    record = told(folder / "c.json")[1]["records"][0]["record"]
    with stopped as drain:
        assert drain.claim()
        seen.set()
        drain.work_off()
    row = Record.objects.get(pk=record)
    assert (row.status, row.tries_left) == (Status.READY, 3)


# --- readers ---------------------------------------------------------------------------------------------------------


class Note(Contract):
    text: str


def read_note(path, raw: bytes) -> Intake:
    if path.suffix == ".bad":
        raise ValueError("no note in it")
    return Intake(json.dumps({"text": raw.decode()}), path.name, [(path.name, "text/plain", raw)])


def read_scan(path, raw: bytes) -> Intake:
    """The body names the file, the id is what is in it."""
    text = json.dumps({"text": path.name})
    return Intake(text, hashlib.sha256(raw).hexdigest(), [(path.name, "text/plain", raw)])


@pytest.fixture
def notes(cast):
    steps = [Step("file", receives=Note, returns=Note, by="agent")]
    flows.register(Flow("notes", intake=Note, escalate_to="note-troubles", steps=steps, reader=read_note))
    Queue.objects.create(slug="note-troubles", title="Note troubles", owner=cast.alice)


def test_reader_makes_body_id_and_attachment(notes, tmp_path):
    (tmp_path / "hello.txt").write_text("Hello")
    _, run = told(tmp_path, flow="notes")
    record = Record.objects.get(pk=run["records"][0]["record"])
    assert (record.external_id, record.payload) == ("hello.txt", '{"text": "Hello"}')
    assert bytes(record.attachments.get().content) == b"Hello"


def test_file_that_breaks_the_reader_does_not_stop_the_others(notes, tmp_path):
    (tmp_path / "a.bad").write_text("")
    (tmp_path / "b.txt").write_text("Hello")
    code, run = told(tmp_path, flow="notes")
    assert (code, run["opened"]) == (1, 1)
    assert run["records"][0]["problem"] == "The reader of notes failed: ValueError: no note in it"


def test_the_same_file_under_another_name_opens_nothing(notes, tmp_path):
    known = flows.get_flow("notes")
    flows.clear()
    flows.register(replace(known, reader=read_scan))
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text("Hello")
    code, run = told(tmp_path, flow="notes")
    assert (code, run["opened"], run["not_taken_in"]) == (0, 1, 0)
    (tmp_path / "c.txt").write_text("Hello")
    code, run = told(tmp_path / "c.txt", flow="notes")
    assert (code, run["opened"], run["not_taken_in"]) == (0, 0, 0)


# --- what it can not do ----------------------------------------------------------------------------------------------


def test_unknown_flow_is_answered_with_those_there_are(cast, folder):
    with pytest.raises(CommandError, match=r"No flow is named 'order'. Declared: .*orders"):
        taken_in(folder, flow="order")


def test_missing_queue_is_said_in_a_sentence(folder):
    with pytest.raises(CommandError, match="order-exceptions”, which does not exist"):
        taken_in(folder)
