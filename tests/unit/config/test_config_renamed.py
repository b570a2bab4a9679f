"""A setting under its old name works in every layer, with a warning that names the successor."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacit.config.fields import nearest_key, settings_by_key
from tacit.config.home import Home
from tacit.config.layers import SettingsReport, read_settings
from tacit.config.renamed import RENAMED
from tacit.errors import InvalidSetting

OLD = "capture.extractor.most_chars"
NEW = "capture.extractor.tokens_per_session"


def read(tmp_path: Path, text: str = "", **given: object) -> SettingsReport:
    home = Home(tmp_path / "home")
    home.ensure()
    home.config_file.write_text(text, "utf-8")
    return read_settings(home, **{"environ": {}, **given})  # type: ignore[arg-type]


def in_file(**values: object) -> str:
    return "capture:\n  extractor:\n" + "".join(f"    {name}: {value}\n" for name, value in values.items())


def test_every_row_of_the_table_names_a_setting_that_is_there() -> None:
    for old, renamed in RENAMED.items():
        assert old == renamed.old
        assert old not in settings_by_key()
        assert renamed.new in settings_by_key()
        assert nearest_key(old) == renamed.new


def test_the_warning_names_place_successor_and_value(tmp_path: Path) -> None:
    report = read(tmp_path, in_file(most_chars=40_000))
    assert report.settings.capture.extractor.tokens_per_session == 10_000
    assert report.explain(NEW)[-1].layer == "user"
    (warning,) = report.warnings
    place = f"{tmp_path / 'home' / 'config.yaml'}:3"
    assert str(warning).startswith(f"{place}: `{OLD}` is now called `{NEW}`. It still works in this release.")
    assert f"Write `{NEW}` in its place, with the value 10000." in str(warning)
    assert report.sound
    assert not report.settings.privacy.incognito


@pytest.mark.parametrize(
    ("given", "layer"),
    [
        ({"environ": {"TACIT_CAPTURE__EXTRACTOR__MOST_CHARS": "40000"}}, "environment"),
        ({"overrides": {"capture": {"extractor": {"most_chars": 40_000}}}}, "call"),
        (
            {"agent": "plan", "text": "agents:\n  plan:\n    capture: {extractor: {most_chars: 40000}}\n"},
            "agent",
        ),
    ],
)
def test_it_works_in_other_layers_too(tmp_path: Path, given: dict[str, object], layer: str) -> None:
    report = read(tmp_path, strict=True, **given)
    assert report.settings.capture.extractor.tokens_per_session == 10_000
    assert {warning.layer for warning in report.warnings} == {layer}


def test_the_new_name_goes_first(tmp_path: Path) -> None:
    report = read(tmp_path, in_file(tokens_per_session=7_000, most_chars=40_000))
    assert report.settings.capture.extractor.tokens_per_session == 7_000
    (warning,) = report.warnings
    assert "It is ignored, because the new one is set, too." in str(warning)


def test_a_value_outside_the_limits_of_the_successor_becomes_the_nearest(tmp_path: Path) -> None:
    assert read(tmp_path, in_file(most_chars=500)).settings.capture.extractor.tokens_per_session == 3_000


@pytest.mark.parametrize("value", ["many", "true"])
def test_a_value_that_cannot_be_read_is_an_error_as_ever(tmp_path: Path, value: str) -> None:
    report = read(tmp_path, in_file(most_chars=value))
    assert report.settings.capture.extractor.tokens_per_session == 12_000
    assert [type(warning.error) for warning in report.warnings if not warning.note] == [InvalidSetting]
