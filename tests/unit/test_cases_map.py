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
ENGINE = "integration/test_cases.py"
FAULTS = "faults/test_reported_faults.py"

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
    "D01": (ENGINE, "test_case_of_drift_stops_before_the_step_s_code"),
    "D03": (ENGINE, "test_case_d03_an_open_contract_keeps_the_names_of_what_it_does_not_know"),
    "D04": (ENGINE, "test_case_d04_spares_the_others_of_its_batch"),
    "U01": (HTTP, "test_case_u01_posted_four_times_at_once_is_accepted_once"),
    "U03": (FAULTS, "test_case_u03_the_same_job_twice_on_the_list_runs_its_step_once"),
    "U05": (HTTP, "test_case_u05_step_that_is_not_open_stores_nothing"),
    "S01": (FAULTS, "test_case_s01_a_worker_killed_with_its_fork_is_replaced_without_anybody_s_help"),
    "S03": (FAULTS, "test_case_s03_a_wiped_job_queue_server_costs_nothing"),
    "S05": (ENGINE, "test_case_s05_retries_have_a_cap_and_a_reviewer_grants_one_more"),
    "S07": (VERDICTS, "test_a_fix_after_the_due_time_is_taken_while_the_record_is_still_open"),
    "R01": ("acceptance/test_conflict.py", "test_the_loser_sees_three_columns_and_who_decided_what_and_when"),
    "R03": (ENGINE, "test_case_r03_what_a_person_wrote_is_what_runs_and_the_original_stays"),
    "R05": ("acceptance/test_bulk.py", "test_case_r05_exactly_what_was_counted_is_closed"),
    "R07": ("acceptance/test_inbox.py", "test_closing_a_page_never_makes_the_next_one_skip"),
    "R09": ("acceptance/test_hostile_bodies.py", "test_hostile_values_are_text_everywhere"),
    "R11": (HTTP, "test_case_r11_of_two_megabytes_is_taken"),
    "R13": ("acceptance/test_fix.py", "test_every_value_keeps_its_digits"),
    "P01": (HTTP, "test_case_p01_record_of_another_flow_is_not_there"),
    "P04": (HTTP, "test_case_p04_token_is_kept_as_a_digest_and_taken_from_the_header_only"),
    "C01": (ENGINE, "test_case_c01_is_never_scaled_clamped_or_accepted_and_its_output_is_kept"),
    "C03": (ENGINE, "test_case_c03_missing_confidence_is_not_one_and_not_zero"),
    "C05": (ENGINE, "test_case_c05_the_bar_at_the_time_of_the_result_counts"),
    "T04": (FAULTS, "test_case_t04_a_process_whose_clock_is_a_day_ahead_ends_no_lease"),
    "A01": (
        "acceptance/test_bulk.py",
        "test_case_a01_twelve_closed_at_once_are_twelve_rows_of_history_with_one_number",
    ),
    "A03": (ENGINE, "test_case_a03_an_edit_that_changes_nothing_leaves_no_trace"),
}
PAGES = "acceptance/test_reported_pages.py"
SHOWN = {  # what a reviewer sees of it, where that is part of the case
    "M04": (PAGES, "test_m04_an_unstorable_character_is_marked_and_taken_out"),
    "M06": (PAGES, "test_m06_half_an_emoji_opens_and_is_mended"),
    "M08": (PAGES, "test_m08_a_number_of_thousands_of_digits_is_shown_cut"),
    "M11": (PAGES, "test_m11_a_decimal_comma_is_shown_as_sent_and_typed_anew"),
    "M13": (PAGES, "test_m13_a_date_that_could_be_two_is_not_guessed"),
    "M15": (PAGES, "test_m15_a_slip_in_a_word_is_a_choice_with_the_sent_word_beside_it"),
    "R09": (PAGES, "test_r09_markup_in_a_value_is_text_in_the_error_as_well"),
    "R11": (PAGES, "test_r11_a_body_of_a_megabyte_is_cut_counted_and_mended_in_one_field"),
    "R13": (PAGES, "test_r13_money_comes_through_a_form_to_the_digit"),
}
WAITING = {
    "O01": "handing a queue over when its owner leaves",
    "O03": "notifications",
    "T01": "reminders and due times in business hours",
}


def test_every_case_is_proven_or_waits_for_its_subject():
    assert {case["id"] for case in CASES} == PROVEN.keys() | WAITING.keys()
    assert not PROVEN.keys() & WAITING.keys()


@pytest.mark.parametrize(("case", "where"), [*PROVEN.items(), *SHOWN.items()])
def test_the_test_of_a_case_is_there(case, where):
    file, name = where
    assert re.search(rf"^def {name}\(", (TESTS / file).read_text(), re.MULTILINE)
