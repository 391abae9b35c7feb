"""The lists as files: every row of the filter, nothing that is not to be seen, and nothing that runs."""

from __future__ import annotations

import csv
import io
import json

import pytest
from django.urls import reverse

from reviewqueue import exports
from tests.cast import document, opened, waiting, work

FORMULAS = [
    "=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", " =1+1", "=cmd|' /C calc'!A0", "＝1+1", "\u00a0=1",
    "=HYPERLINK(\"http://x\",\"y\")", "@", "=", "-2+3+cmd|x",
]  # fmt: skip


def text_of(response) -> str:
    return b"".join(response.streaming_content).decode()


def rows_of(response) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text_of(response), newline="")))


@pytest.fixture
def stopped(cast):
    records = [opened(document(f"A-{n}", order="")) for n in range(3)]
    work()
    return [waiting(record) for record in records]


def test_a_csv_has_every_row_of_the_filter(client, cast, stopped):
    client.force_login(cast.bob)
    rows = rows_of(client.get(reverse("export-escalations", args=["csv"]), {"kind": "refused", "step": "check"}))
    assert {row["escalation"] for row in rows} == {escalation.label for escalation in stopped}
    assert {row["pointer"] for row in rows} == {"/purchase_order"}
    assert rows_of(client.get(reverse("export-escalations", args=["csv"]), {"kind": "asked"})) == []


def test_an_ndjson_line_is_one_object_with_numbers_as_numbers(client, cast, stopped):
    client.force_login(cast.bob)
    lines = text_of(client.get(reverse("export-escalations", args=["ndjson"]))).splitlines()
    assert len(lines) == 3
    assert {type(json.loads(line)["violations"]) for line in lines} == {int}


def test_records_are_exported_under_their_own_filter(client, cast, stopped):
    client.force_login(cast.bob)
    url = reverse("export-records", args=["csv"])
    assert len(rows_of(client.get(url, {"status": "escalated"}))) == 3
    assert rows_of(client.get(url, {"status": "completed"})) == []


def test_an_outsider_gets_no_row_and_a_stranger_is_asked_to_sign_in(client, cast, stopped):
    url = reverse("export-escalations", args=["csv"])
    assert client.get(url).status_code == 302
    client.force_login(cast.charlie)
    assert rows_of(client.get(url)) == []
    assert rows_of(client.get(reverse("export-records", args=["csv"]))) == []


def test_a_filter_that_means_nothing_is_refused_instead_of_sending_everything(client, cast, stopped):
    client.force_login(cast.bob)
    answer = client.get(reverse("export-escalations", args=["csv"]), {"kind": "nonsense"})
    assert answer.status_code == 400
    assert "Kind" in answer.content.decode()


@pytest.mark.parametrize("text", FORMULAS)
def test_no_cell_begins_like_a_formula(client, cast, text):
    record = opened({"subject": text}, flow="tickets", external_id=f"{text}x".strip() or "x")
    client.force_login(cast.dora)
    url = reverse("export-records", args=["csv"])
    row = next(row for row in rows_of(client.get(url)) if row["record"] == f"REC-{record.pk}")
    assert all(not value.lstrip().startswith(("=", "+", "-", "@", "＝")) for value in row.values())
    raw = json.loads(text_of(client.get(reverse("export-records", args=["ndjson"]))).splitlines()[0])
    assert raw["title"] == record.title


def test_numbers_stay_numbers_and_nothing_becomes_an_empty_cell():
    assert [exports.safe(value) for value in (-3, 0.5, None, "-3", "plain")] == [-3, 0.5, "", "'-3", "plain"]


def test_a_byte_order_mark_comes_only_when_asked_for(client, cast, stopped):
    client.force_login(cast.bob)
    url = reverse("export-escalations", args=["csv"])
    assert text_of(client.get(url, {"bom": "1"})).startswith("\ufeff")
    assert not text_of(client.get(url)).startswith("\ufeff")


def test_times_stand_in_utc_and_where_the_person_is(client, cast, stopped):
    cast.bob.time_zone = "Asia/Kathmandu"
    cast.bob.save(update_fields=["time_zone"])
    client.force_login(cast.bob)
    row = rows_of(client.get(reverse("export-escalations", args=["csv"])))[0]
    assert row["opened_utc"].endswith("+00:00")
    assert row["opened_local"].endswith("+05:45")


def test_all_chunks_are_sent_in_the_order_of_the_list(client, cast, stopped, monkeypatch):
    monkeypatch.setattr(exports, "CHUNK", 1)
    client.force_login(cast.bob)
    rows = rows_of(client.get(reverse("export-escalations", args=["csv"]), {"sort": "due"}))
    assert [row["escalation"] for row in rows] == [escalation.label for escalation in stopped]


def test_the_lists_lead_to_their_export_with_their_filter(client, cast, stopped):
    client.force_login(cast.bob)
    page = client.get(reverse("inbox"), {"step": "check"}).content.decode()
    assert f"{reverse('export-escalations', args=['csv'])}?step=check" in page
    assert (
        f"{reverse('export-records', args=['ndjson'])}?flow=orders"
        in client.get(reverse("records"), {"flow": "orders"}).content.decode()
    )
