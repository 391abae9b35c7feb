"""Every publicly reported case has its test, or the subject that it waits for."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
CASES = json.loads((TESTS / "cases" / "_manifest.json").read_text())

HTTP = "acceptance/test_agent_cases.py"
BODIES = "unit/test_reported_cases.py"
VERDICTS = "integration/test_verdicts.py"
WORK = "integration/test_work.py"

PROVEN = {
    "M01": (HTTP, "test_case_that_is_not_taken_as_json_is_charged_and_kept"),
    "M03": (HTTP, "test_case_m03_is_found_in_the_envelope_as_well"),
    "M04": (HTTP, "test_case_that_is_not_taken_as_json_is_charged_and_kept"),
    "M06": (BODIES, "test_case_is_refused"),
    "M08": (HTTP, "test_case_m08_shows_the_value_cut"),
    "M09": (HTTP, "test_case_m09_hints_at_the_code_fence"),
    "M11": (BODIES, "test_case_m11_value_is_shown_as_sent"),
    "M13": (BODIES, "test_case_output_is_refused"),
    "M15": (HTTP, "test_case_m15_lists_the_allowed_values_in_order"),
    "M17": (HTTP, "test_case_m17_names_both_sizes_and_is_charged_without_the_body"),
    "D01": (HTTP, "test_case_of_drift_is_refused_at_the_door_and_kept"),
    "D03": (HTTP, "test_case_d03_open_contract_counts_what_it_does_not_know"),
    "D04": (HTTP, "test_case_d04_spares_its_neighbours_in_the_batch"),
    "U01": (HTTP, "test_case_u01_posted_four_times_at_once_is_accepted_once"),
    "U03": ("integration/test_races.py", "test_two_starters_of_one_record_have_one_winner_in_two_hundred_rounds"),
    "U05": (HTTP, "test_case_u05_step_that_is_not_open_stores_nothing"),
    "S01": ("integration/test_worker.py", "test_killed_listener_takes_its_fork_along_and_is_replaced"),
    "S03": ("integration/test_worker.py", "test_flushed_server_loses_nothing"),
    "S05": (WORK, "test_a_permanent_error_escalates_after_one_try_and_a_transient_one_after_the_cap"),
    "S07": (VERDICTS, "test_a_fix_after_the_due_time_is_taken_while_the_record_is_still_open"),
    "R01": ("acceptance/test_conflict.py", "test_the_loser_sees_three_columns_and_who_decided_what_and_when"),
    "R03": (VERDICTS, "test_a_person_s_edit_outlives_a_retry_of_the_step_after_it"),
    "R07": ("acceptance/test_inbox.py", "test_closing_a_page_never_makes_the_next_one_skip"),
    "R09": ("acceptance/test_hostile_bodies.py", "test_hostile_values_are_text_everywhere"),
    "R11": (HTTP, "test_case_r11_of_two_megabytes_is_taken"),
    "R13": ("acceptance/test_fix.py", "test_every_value_keeps_its_digits"),
    "P01": (HTTP, "test_case_p01_record_of_another_flow_is_not_there"),
    "P04": (HTTP, "test_case_p04_token_is_kept_as_a_digest_and_taken_from_the_header_only"),
    "C01": (HTTP, "test_case_c01_keeps_the_output_and_scales_nothing"),
    "C03": (HTTP, "test_case_c03_missing_confidence_is_stored_and_escalated"),
    "C05": (HTTP, "test_case_c05_bar_at_the_time_of_the_result_counts"),
    "T04": (WORK, "test_a_commit_after_its_lease_ran_out_is_taken_if_nobody_took_over"),
    "A03": (VERDICTS, "test_a_fix_that_changes_nothing_is_refused"),
}
WAITING = {
    "R05": "decisions on many items at once",
    "A01": "decisions on many items at once",
    "O01": "handing a queue over when its owner leaves",
    "O03": "notifications",
    "T01": "reminders and due times in business hours",
}


def test_every_case_is_proven_or_waits_for_its_subject():
    assert {case["id"] for case in CASES} == PROVEN.keys() | WAITING.keys()
    assert not PROVEN.keys() & WAITING.keys()


@pytest.mark.parametrize("case", PROVEN)
def test_the_test_of_a_case_is_there(case):
    file, name = PROVEN[case]
    assert re.search(rf"^def {name}\(", (TESTS / file).read_text(), re.MULTILINE)
