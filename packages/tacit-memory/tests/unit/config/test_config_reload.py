"""Settings that follow their files: how often they are looked at, what stays when a file became wrong."""

from __future__ import annotations

import os

import pytest

from tacit.config.home import Home
from tacit.config.reload import SettingsWatcher


class Seconds:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def seconds() -> Seconds:
    return Seconds()


@pytest.fixture
def watcher(home, seconds) -> SettingsWatcher:
    return SettingsWatcher(home, environ={}, monotonic_s=seconds)


def write(home: Home, text: str, *, at_ns: int) -> None:
    home.config_file.write_text(text)
    os.utime(home.config_file, ns=(at_ns, at_ns))


def test_a_change_is_seen_after_a_second_and_not_before(home, watcher, seconds):
    assert not watcher.current().statusline
    write(home, "statusline: true", at_ns=1)
    seconds.now += 0.9
    assert not watcher.current().statusline
    seconds.now += 0.2
    assert watcher.current().statusline
    home.config_file.unlink()
    seconds.now += 1.1
    assert not watcher.current().statusline


def test_the_same_size_at_another_time_is_a_change(home, watcher, seconds):
    write(home, "recall: {max_items: 3}", at_ns=1)
    assert watcher.current().recall.max_items == 3
    write(home, "recall: {max_items: 4}", at_ns=2)
    seconds.now += 2
    assert watcher.current().recall.max_items == 4


def test_an_unchanged_file_is_the_same_report(home, watcher, seconds):
    before = watcher.report()
    seconds.now += 5
    assert watcher.report() is before


def test_a_wrong_file_keeps_the_last_good_settings_and_says_so(home, watcher, seconds):
    write(home, "recall: {max_items: 3}\nprivacy: {incognito: false}", at_ns=1)
    good = watcher.current()
    write(home, "recall: {max_items: 3", at_ns=2)
    seconds.now += 2
    assert watcher.current() == good
    assert len(watcher.report().warnings) == 1
    write(home, "recall: {max_items: many}", at_ns=3)
    seconds.now += 2
    assert watcher.current() == good
    assert "many" in str(watcher.report().warnings[0])
    write(home, "recall: {max_items: 5}", at_ns=4)
    seconds.now += 2
    assert watcher.current().recall.max_items == 5
    assert watcher.report().warnings == ()


def test_a_wrong_value_keeps_its_own_last_good_one_and_the_log_says_so_once(home, watcher, seconds, caplog):
    write(home, "recall: {max_items: 3, reinject_after: 5}", at_ns=1)
    watcher.current()
    watcher.current(agent="plan")
    write(home, "recall: {max_items: many, reinject_after: 6}\nstatusline: true", at_ns=2)
    seconds.now += 2
    for settings in (watcher.current(), watcher.current(agent="plan")):
        assert (settings.recall.max_items, settings.recall.reinject_after, settings.statusline) == (
            3,
            6,
            True,
        )
    assert watcher.report().explain("recall.max_items")[-1].value == 3
    assert [line for line in caplog.messages if "many" in line] == [
        f"settings: {watcher.report().warnings[0]}"
    ]


@pytest.mark.parametrize("wrong", ["privacy: {incognitoo: true}", "preset: none", "agents: 3", "recall: {"])
def test_nothing_is_taken_from_a_file_where_what_decides_about_many_is_wrong(home, watcher, seconds, wrong):
    write(home, "recall: {max_items: 3}", at_ns=1)
    good = watcher.current()
    write(home, f"statusline: true\n{wrong}", at_ns=2)
    seconds.now += 2
    assert watcher.current() == good


def test_a_section_that_is_wrong_keeps_all_of_its_values(home, watcher, seconds):
    write(home, "recall: {max_items: 3}", at_ns=1)
    watcher.current()
    write(home, "recall: none\nstatusline: true", at_ns=2)
    seconds.now += 2
    assert (watcher.current().recall.max_items, watcher.current().statusline) == (3, True)


def test_a_file_that_was_wrong_from_the_start_gives_what_can_be_read(home, watcher, seconds):
    write(home, "recall: {max_items: many}\nstatusline: true", at_ns=1)
    assert watcher.current().statusline
    write(home, "recall: {max_items: many}", at_ns=2)
    seconds.now += 2
    assert not watcher.current().statusline


def test_a_project_cannot_hold_on_to_what_the_user_changed(home, watcher, seconds, tmp_path):
    (tmp_path / ".tacit").mkdir()
    project_file = tmp_path / ".tacit" / "config.yaml"
    assert not watcher.current(tmp_path).privacy.incognito
    project_file.write_text("daemon: {http_port: 64}\n")
    write(home, "statusline: true", at_ns=1)
    seconds.now += 2
    assert watcher.current(tmp_path).statusline
    assert watcher.current(tmp_path).daemon.http_port == 0
    write(home, "privacy: {incognito: true}", at_ns=2)
    seconds.now += 2
    assert watcher.current(tmp_path).privacy.incognito


def test_projects_and_agents_have_their_own(home, watcher, tmp_path):
    write(home, "agents: {plan: {recall: {max_items: 2}}}", at_ns=1)
    (tmp_path / ".tacit").mkdir()
    (tmp_path / ".tacit" / "config.yaml").write_text("recall: {max_items: 5}")
    assert watcher.current().recall.max_items == 8
    assert watcher.current(agent="plan").recall.max_items == 2
    assert watcher.current(tmp_path).recall.max_items == 5


def test_many_projects_do_not_pile_up(watcher, tmp_path):
    first = watcher.report(tmp_path / "0")
    for i in range(1, 65):
        watcher.report(tmp_path / str(i))
    assert watcher.report(tmp_path / "64") is watcher.report(tmp_path / "64")
    assert watcher.report(tmp_path / "0") is not first
