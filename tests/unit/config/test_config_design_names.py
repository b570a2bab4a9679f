"""Names of the design documents lead to the settings of the same meaning."""

from __future__ import annotations

import pytest

from tacit.config.design_names import DESIGN_NAMES, settings_called
from tacit.config.fields import settings_by_key, unknown_setting
from tacit.config.preset_files import preset_names


def test_every_name_leads_to_a_setting_of_a_preset():
    assert set(DESIGN_NAMES) <= set(preset_names())
    named = {key for names in DESIGN_NAMES.values() for keys in names.values() for key in keys}
    assert named <= set(settings_by_key())


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("SESSION_CAP", "`recall.session_tokens`"),
        ("recall.session_cap", "`recall.session_tokens`"),
        ("MEMORY_BUDGET.universal", "`recall.scopes.universal`"),
        (
            "QUERY_BUDGET",
            "`recall.scopes.asked_universal` and `recall.scopes.asked_language` and `recall.scopes.asked_project`",
        ),
    ],
)
def test_the_error_for_a_name_of_a_design_says_what_it_is_called_here(written, meant):
    assert unknown_setting(written, "config.yaml:2").hint == f"Here it is called {meant}."


def test_other_names_lead_nowhere():
    assert settings_called("recall.max_itms") == ()
