"""The page and the schema of the settings are those of the code."""

from __future__ import annotations

from pathlib import Path

from tacit.config.fields import settings_by_key
from tacit.config.layers import read_settings
from tacit.config.preset_files import preset_names
from tacit.config.project_rules import ALLOWED
from tacit.config.reference import schema_text, settings_page, settings_schema
from tacit.config.settings import KindSettings

PAGE = Path(__file__).parents[5] / "docs" / "reference" / "settings.md"


def test_the_page_is_current():
    assert PAGE.read_text("utf-8") == settings_page(), (
        "run: python -m tacit.config.reference > docs/reference/settings.md"
    )


def test_the_published_schema_is_current():
    assert PAGE.with_name("settings.schema.json").read_text("utf-8") == schema_text(), (
        "run: python -m tacit.config.reference --schema > docs/reference/settings.schema.json"
    )


def test_every_setting_has_a_row_and_a_meaning():
    rows = {line.split("`")[1]: line for line in settings_page().splitlines() if line.startswith("| `")}
    for key, setting in settings_by_key().items():
        of_preset = key.startswith(tuple(f"recall.{name}." for name in preset_names()))
        assert (key in rows) is not of_preset, "those of a preset stand in its README"
        assert setting.field.description, f"{key} has no description in settings.py"
    assert all(field.description for field in KindSettings.model_fields.values())


def test_every_project_rule_names_a_setting():
    assert set(ALLOWED) <= set(settings_by_key())


def test_the_schema_knows_every_section():
    schema = settings_schema()
    assert schema["additionalProperties"] is False
    assert set(schema["properties"]) == {
        *(key.partition(".")[0] for key in settings_by_key()),
        "kinds",
        "agents",
        "projects",
        "memory_injection",  # what a design calls `recall`
    }
    assert schema["properties"]["preset"]["enum"] == list(preset_names())
    assert schema["$defs"]["Budgets"]["properties"]["start"]["maximum"] == 20_000


def test_the_example_on_the_page_is_read_without_warnings(tmp_path):
    from tacit.config.home import Home

    examples = settings_page().split("```yaml\n")[1:]
    for example in examples:
        (tmp_path / "config.yaml").write_text(example.partition("```")[0])
        report = read_settings(Home(tmp_path), environ={}, agent="plan")
        assert report.warnings == ()
