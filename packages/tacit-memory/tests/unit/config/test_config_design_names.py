"""Names of the design documents lead to the settings of the same meaning."""

from __future__ import annotations

import pytest

from tacit.config.design_names import ALIASES, DESIGN_NAMES, NOTES, settings_called
from tacit.config.fields import settings_by_key, unknown_setting
from tacit.config.layers import read_settings
from tacit.config.overrides import SettingsTarget, reset_values, set_values
from tacit.config.preset_files import preset_names


def test_every_name_leads_to_a_setting_of_a_preset():
    assert set(DESIGN_NAMES) <= set(preset_names())
    named = {key for names in DESIGN_NAMES.values() for keys in names.values() for key in keys}
    assert named <= set(settings_by_key())
    assert set(NOTES) <= {name for names in DESIGN_NAMES.values() for name in names}


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("SESSION_CAP", "`recall.scoped.session_tokens`"),
        ("ENABLE_PER_TURN_REFRESH", "`recall.refresh.top` (0 = off)"),
        ("recall.session_cap", "`recall.scoped.session_tokens`"),
        ("MEMORY_BUDGET.universal", "`recall.scoped.universal`"),
        (
            "QUERY_BUDGET",
            "`recall.scoped.asked_universal` and `recall.scoped.asked_language` and `recall.scoped.asked_project`",
        ),
        ("session_start.budget_tokens", "`recall.budgets.start`"),
        ("memory.injection.per_prompt.min_relevance_score", "`recall.thresholds.prompt`"),
        ("error_context.enabled", "`recall.budgets.failure` (0 = off)"),
        ("scoring.type_priority_weight", "`recall.typed.kind`"),
        (
            "learning_capture.deduplication_threshold",
            "`capture.near_cosine` (merges nothing: from this cosine on two statements are linked as near)",
        ),
    ],
)
def test_the_error_for_a_name_of_a_design_says_what_it_is_called_here(written, meant):
    assert unknown_setting(written, "config.yaml:2").hint == f"Here it is called {meant}."


def test_the_error_for_shared_preferences_names_the_values():
    hint = unknown_setting("isolation.share_preferences", "config.yaml:2").hint
    assert hint.startswith("Here it is called `project.others` (true = `preferences`, false = `public`")


def test_the_section_of_a_design_leads_to_the_page_of_its_names():
    assert "docs/reference/presets.md" in unknown_setting("memory", "config.yaml:1").hint


def test_other_names_lead_nowhere():
    assert settings_called("recall.max_itms") == ()


SEED = """
memory_injection:
  search_limit: 11
  contextual_min_score: 0.5
  context_window_depth: 7
  pinned_types: [todo]
  max_total: 9
  max_injected_blocks_in_history: 2
  pinned_limit: 4
agents:
  plan:
    memory_injection: {max_total: 5}
"""


def test_the_section_of_a_design_is_read_under_its_own_names(home):
    home.config_file.write_text(SEED)
    report = read_settings(home, environ={})
    recall = report.settings.recall
    assert report.warnings == ()
    assert (recall.candidates_per_space, recall.ambient.ratio, recall.reinject_after) == (11, 0.5, 7)
    assert (
        recall.ambient.pinned_kinds,
        recall.max_items,
        recall.history_blocks,
        recall.ambient.pinned_limit,
    ) == (
        ("todo",),
        9,
        2,
        4,
    )
    assert read_settings(home, agent="plan", environ={}).settings.recall.max_items == 5


@pytest.mark.parametrize("alias", sorted(ALIASES))
def test_a_name_of_this_project_goes_before_one_of_a_design(home, alias):
    value, other = {
        "recall.pinned_types": (["todo"], ["goal"]),
        "recall.types": (["decision"], ["goal"]),
        "recall.type_thresholds": ({"decision": 0.5}, {"decision": 0.6}),
        "recall.contextual_min_score": (0.5, 0.6),
        "recall.ambient_enabled": (True, False),
        "recall.pinned_sort": ("importance", "recent"),
    }.get(alias, (3, 4))
    set_values(home, SettingsTarget(), {ALIASES[alias]: value})
    text = home.config_file.read_text().replace(
        "recall:", f"recall:\n  {alias.removeprefix('recall.')}: {other}", 1
    )
    home.config_file.write_text(text)
    told = read_settings(home, environ={}).explain(ALIASES[alias])[-1]
    assert (told.layer, told.plain) == ("user", value)


def test_what_is_set_under_a_name_of_a_design_is_written_and_taken_back_under_ours(home):
    set_values(home, SettingsTarget(), {"recall.search_limit": 12})
    assert "candidates_per_space: 12" in home.config_file.read_text()
    home.config_file.write_text("memory_injection:\n  search_limit: 13\n")
    assert read_settings(home, environ={}).settings.recall.candidates_per_space == 13
    assert reset_values(home, SettingsTarget(), key="recall.candidates_per_space")
    assert read_settings(home, environ={}).settings.recall.candidates_per_space == 32


def test_an_environment_variable_may_have_a_name_of_a_design(home):
    settings = read_settings(home, environ={"TACIT_RECALL__PINNED_TYPES": "todo,goal"}).settings
    assert settings.recall.ambient.pinned_kinds == ("todo", "goal")


def test_a_wrong_value_under_a_name_of_a_design_is_refused(home):
    home.config_file.write_text("recall:\n  max_total: many\n")
    [warning] = read_settings(home, environ={}).warnings
    assert "`recall.max_items` is 'many'" in str(warning)


INJECTION = """
preset: typed
memory:
  injection:
    enabled: true
    session_start: {enabled: true, budget_tokens: 1900}
    per_prompt: {enabled: false, budget_tokens: 700, min_relevance_score: 0.45}
    error_context: {enabled: true, budget_tokens: 250}
    learning_capture:
      enabled: true
      capture_decisions: true
      capture_preferences: true
      capture_errors: false
      capture_outcomes: false
      deduplication_threshold: 0.8
    scoring:
      semantic_similarity_weight: 0.35
      recency_weight: 0.25
      importance_weight: 0.15
      access_frequency_weight: 0.10
      type_priority_weight: 0.15
    type_thresholds: {preference: 0.31, outcome: 0.5}
    types: [preference, decision, research]
    isolation: {enabled: false, share_preferences: false}
"""


def test_the_configuration_of_typeds_design_is_read_as_it_stands(home):
    home.config_file.write_text(INJECTION)
    report = read_settings(home, environ={})
    assert report.warnings == ()
    recall, capture = report.settings.recall, report.settings.capture
    assert (recall.enabled, recall.budgets.start, recall.budgets.prompt, recall.budgets.failure) == (
        True,
        1900,
        0,
        250,
    )
    assert (recall.thresholds.prompt, recall.kinds) == (0.45, ("preference", "decision", "research"))
    assert (recall.typed.semantic, recall.typed.recency, recall.typed.similarity["preference"]) == (
        0.35,
        0.25,
        0.31,
    )
    assert (capture.enabled, capture.near_cosine) == (True, 0.8)
    assert not {"error_pattern", "outcome", "digest"} & set(capture.kinds)
    assert {"decision", "preference", "correction", "fact"} <= set(capture.kinds)
    assert report.settings.project.link == ("*",)
    assert report.settings.project.others == "public"


def test_a_name_that_is_not_in_typeds_design_is_refused_beside_those_that_are(home):
    home.config_file.write_text(
        "memory: {injection: {session_start: {budget_tokens: 900, size: 3}, isolation: {share_preferences: true}}}"
    )
    report = read_settings(home, environ={})
    assert report.settings.recall.budgets.start == 900
    assert report.settings.project.others == "preferences"
    (size,) = report.warnings
    assert "there is no setting `memory.injection.session_start.size`" in str(size)


def test_a_wrong_switch_of_typeds_design_is_refused_under_our_name(home):
    home.config_file.write_text("memory: {injection: {session_start: {enabled: maybe}}}")
    [warning] = read_settings(home, environ={}).warnings
    assert "`recall.budgets.start` is 'maybe'" in str(warning)


def test_our_own_name_goes_before_typeds_design_and_is_taken_back_under_both(home):
    home.config_file.write_text(
        "memory: {injection: {session_start: {budget_tokens: 900}}}\nrecall: {budgets: {start: 800}}\n"
    )
    assert read_settings(home, environ={}).settings.recall.budgets.start == 800
    home.config_file.write_text("memory:\n  injection:\n    session_start:\n      budget_tokens: 900\n")
    assert reset_values(home, SettingsTarget(), key="recall.budgets.start")
    assert read_settings(home, environ={}).settings.recall.budgets.start != 900
