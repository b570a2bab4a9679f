"""Every numbered item of the seeds, and every row of their audits, has its test or a reason; the READMEs that list them are up to date."""

from __future__ import annotations

import pytest

from presets.acceptance import FOLDER, PAGE, items_of, page, presets, readme, shown_by
from presets.rows import listed as rows_listed
from presets.rows import rows
from tacit.config.preset_files import preset_names


@pytest.mark.parametrize("preset", presets())
def test_every_item_has_a_test_or_a_reason(preset):
    listed, shown = items_of(preset), shown_by(preset)
    assert sorted(set(shown) - set(listed.items)) == [], "tests name items that the list does not have"
    assert sorted(set(listed.elsewhere) - set(listed.items)) == [], "reasons for items that are not listed"
    assert sorted(set(listed.items) - set(shown) - set(listed.elsewhere)) == [], "items without a test"
    assert sorted(set(shown) & set(listed.elsewhere)) == [], (
        "items with both a test and a reason for having none"
    )


@pytest.mark.parametrize("preset", [preset for preset in presets() if items_of(preset).audit])
def test_every_row_of_the_audit_has_a_test_or_a_reason(preset):
    assert sorted(set(items_of(preset).audit) - set(rows_listed(preset))) == [], (
        "rows that the audit does not list"
    )
    assert [row.id for row in rows(preset) if row.verdict() == "MISSING"] == [], (
        "rows without a test or a reason"
    )
    assert [row.id for row in rows(preset) if not row.promise] == [], "rows without their promise"


def test_the_page_of_presets_is_up_to_date():
    assert PAGE.read_text("utf-8") == page(), "run: python tests/presets/acceptance.py"


@pytest.mark.parametrize("preset", preset_names())
def test_the_readme_of_a_preset_is_up_to_date(preset):
    text = (FOLDER / preset / "README.md").read_text("utf-8")
    assert text == readme(preset), "run: python tests/presets/acceptance.py"
