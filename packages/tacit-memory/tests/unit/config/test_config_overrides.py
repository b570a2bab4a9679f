"""Settings files that a program changes: comments and order stay, what is taken back leaves nothing behind."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tacit.config.describe import describe_settings
from tacit.config.home import Home
from tacit.config.layers import read_settings
from tacit.config.overrides import HINT, SCHEMA_FILE, SettingsTarget, overridden, reset_values, set_values
from tacit.config.reference import schema_text
from tacit.config.yaml_file import parse_settings, without_key
from tacit.errors import InvalidSetting, UnknownSetting

WRITTEN = """\
# mine
preset: focused   # the best
recall:
  # few
  max_items: 5   # five
  # spaces
  spaces:
    - semantic   # one
    - recent

  # last
  budgets: {start: 100, prompt: 50}
# agents
agents:
  plan:
    recall:
      max_items: 3
# end
"""


def text(home: Home) -> str:
    return home.config_file.read_text()


def value(home: Home, key: str, **where) -> object:
    return read_settings(home, environ={}, **where).origins[key][-1].value


def test_comments_and_order_survive_a_change_and_taking_it_back(home):
    home.config_file.write_text(WRITTEN)
    set_values(home, SettingsTarget(), {"recall.max_items": 6, "recall": {"budgets": {"start": 200}}})
    assert text(home) == WRITTEN.replace("max_items: 5 ", "max_items: 6 ", 1).replace(
        "start: 100", "start: 200"
    )
    set_values(home, SettingsTarget(holder="agents", name="plan"), {"capture.enabled": False})
    assert reset_values(home, SettingsTarget(holder="agents", name="plan"), key="capture.enabled")
    set_values(home, SettingsTarget(), {"recall.max_items": 5, "recall.budgets.start": 100})
    assert text(home) == WRITTEN


def test_a_section_that_names_its_project_from_the_home_directory_is_the_one_changed(home):
    folder = Path("~/desk").expanduser()
    home.config_file.write_text("projects:\n  ~/desk:\n    recall: {max_items: 3}\n")
    set_values(home, SettingsTarget(holder="projects", name=str(folder)), {"recall.max_items": 4})
    assert text(home) == "projects:\n  ~/desk:\n    recall: {max_items: 4}\n"


def test_taking_back_takes_whole_lines_and_empty_sections(home):
    home.config_file.write_text(WRITTEN)
    assert reset_values(home, SettingsTarget(), key="recall.spaces")
    assert "semantic" not in text(home)
    assert "# last" in text(home)
    assert "# spaces" in text(home)
    assert reset_values(home, SettingsTarget(holder="agents", name="plan"))
    assert text(home).endswith("# agents\n# end\n")
    assert not reset_values(home, SettingsTarget(holder="agents", name="plan"))
    assert reset_values(home, SettingsTarget())
    assert parse_settings(text(home), place="f").values == {}
    assert "# mine" in text(home)
    set_values(home, SettingsTarget(), {"recall.max_items": 4})
    assert "# mine" in text(home)
    assert value(home, "recall.max_items") == 4


def test_a_first_file_tells_editors_where_its_schema_is(home):
    set_values(home, SettingsTarget(), {"statusline": True})
    assert text(home) == HINT + "statusline: true\n"
    assert home.config_file.with_name(SCHEMA_FILE).read_text() == schema_text()
    assert json.loads(schema_text())["properties"]["agents"]


def test_a_project_of_ones_own_is_found_by_any_name_of_its_folder(home, tmp_path):
    home.config_file.write_text(f"projects:\n  {tmp_path}/./shop:\n    recall: {{max_items: 2}}\n")
    place = SettingsTarget(holder="projects", name=str(tmp_path / "shop"))
    set_values(home, place, {"recall.max_items": 4})
    assert text(home).count("shop") == 1
    report = read_settings(home, tmp_path / "shop", environ={})
    assert overridden(report, "projects") == ("recall.max_items",)
    assert report.origins["recall.max_items"][-1].place.endswith("config.yaml:3")
    assert reset_values(home, place)
    assert text(home) == ""


def test_a_projects_file_is_told_what_it_may_not_say(home, tmp_path):
    place = SettingsTarget(holder="project_file", name=str(tmp_path))
    assert set_values(home, place, {"recall.max_items": 3}) == ()
    (note,) = set_values(home, place, {"recall.max_items": 50})
    assert str(note) == "`recall.max_items` has no effect: a project's file can only lower it; 8 stays."
    with pytest.raises(InvalidSetting, match="a project's file may not set it"):
        set_values(home, place, {"preset": "typed"})
    assert "preset" not in (tmp_path / ".tacit" / "config.yaml").read_text()
    assert reset_values(home, place)
    assert not (tmp_path / ".tacit").exists(), "what was made for one setting goes with it"


def test_a_projects_file_goes_when_nothing_is_left_and_takes_nothing_of_others_along(home, tmp_path):
    place = SettingsTarget(holder="project_file", name=str(tmp_path))
    file = tmp_path / ".tacit" / "config.yaml"
    set_values(home, place, {"recall.max_items": 3})
    (file.parent / "notes.md").write_text("mine")
    assert reset_values(home, place, key="recall.max_items")
    assert [path.name for path in file.parent.iterdir()] == ["notes.md"]
    file.write_text("# why we restrict\nrecall:\n  max_items: 3\n")
    assert reset_values(home, place)
    assert file.read_text().startswith("# why we restrict")


def test_a_file_that_was_wrong_before_is_named_with_its_line(home):
    home.config_file.write_text("recall:\n  max_itms: 5\n")
    with pytest.raises(UnknownSetting, match=r"config\.yaml:2: there is no setting `recall\.max_itms`"):
        set_values(home, SettingsTarget(), {"recall.max_items": 4})


def test_every_setting_is_described():
    for key, about in describe_settings().items():
        assert about.about, key
        assert about.type != "choice" or about.choices, key
        assert about.type != "list" or about.items, key
    assert describe_settings()["recall.max_items"].minimum == 1
    assert describe_settings()["recall.history_blocks"].nullable
    assert "todo and goal" in describe_settings()["recall.ambient.pinned_kinds"].guidance
    assert describe_settings()["retention.trace_days"].above_minimum
    assert not describe_settings()["daemon.http_port"].per_agent


NAMES = st.sampled_from(["a", "b", "c", "deep"])
TREES = st.recursive(
    st.one_of(st.integers(0, 9), st.lists(st.integers(0, 9), min_size=1, max_size=3)),
    lambda inner: st.dictionaries(NAMES, inner, min_size=1, max_size=3),
    max_leaves=8,
)


@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(NAMES, TREES, min_size=1, max_size=4), st.lists(NAMES, min_size=1, max_size=4))
def test_taking_a_key_out_of_a_text_takes_nothing_else(tree, path):
    def lines(node, depth=0):
        for name, below in node.items():
            yield f"{'  ' * depth}# about {name}"
            if isinstance(below, dict):
                yield f"{'  ' * depth}{name}:"
                yield from lines(below, depth + 1)
            elif isinstance(below, list):
                yield f"{'  ' * depth}{name}:"
                yield from (f"{'  ' * depth}- {item}" for item in below)
            else:
                yield f"{'  ' * depth}{name}: {below}  # eol"

    def without(node, at):
        if at[0] not in node:
            return node
        if len(at) == 1:
            return {name: below for name, below in node.items() if name != at[0]}
        if not isinstance(node[at[0]], dict):
            return node
        inner = without(node[at[0]], at[1:])
        if inner:
            return {**node, at[0]: inner}
        return {name: below for name, below in node.items() if name != at[0]}

    written = "\n".join(lines(tree)) + "\n"
    left = without_key(written, path)
    assert parse_settings(left, place="f").values == without(tree, path)
    assert left.count("# about") == written.count("# about") - (
        0 if left == written else written.count("# about") - left.count("# about")
    )


@pytest.mark.parametrize(
    ("written", "left"),
    [
        ("recall: {max_items: 3, reinject_after: 4}\n", "recall: {reinject_after: 4}\n"),
        ("recall: {reinject_after: 4, max_items: 3}\n", "recall: {reinject_after: 4}\n"),
        ('{"preset": "typed", "recall": {"max_items": 3}}', '{"preset": "typed"}'),
        ("preset: typed\nrecall: {max_items: 3}\n", "preset: typed\n"),
    ],
)
def test_of_an_inline_section_the_key_alone_goes(written, left):
    assert without_key(written, ["recall", "max_items"]) == left
