"""Settings with which a host runs no hooks of ours: each is named with its file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tacit.config.home import Home
from tacit.hosts.install import installed_for, plan, switched_off
from tacit.hosts.install.files import apply


class Machine:
    def __init__(self, root: Path) -> None:
        self.user, self.project, self.admin = root / "u", root / "p", root / "etc"
        for folder in (self.user, self.project, self.admin):
            folder.mkdir()

    def write(self, name: str, value: object) -> Path:
        """Write a settings file: `u/`, `p/` or `etc/`, and the path below it."""
        path = self.user.parent / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(value if isinstance(value, str) else json.dumps(value))
        return path

    def told(self, host: str, *, connected: bool = True) -> tuple[str, ...]:
        return switched_off(
            host, user_home=self.user, project_root=self.project, connected=connected, machine=self.admin
        )


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.mark.parametrize(
    ("host", "name", "value", "setting"),
    [
        ("claude-code", "u/.claude/settings.json", {"disableAllHooks": True}, "disableAllHooks"),
        ("claude-code", "p/.claude/settings.json", {"disableAllHooks": True}, "disableAllHooks"),
        ("claude-code", "p/.claude/settings.local.json", '{"disableAllHooks": true, // now\n}', "disableAllHooks"),
        ("claude-code", "etc/managed-settings.json", {"disableAllHooks": True}, "disableAllHooks"),
        ("claude-code", "etc/managed-settings.json", {"allowManagedHooksOnly": True}, "allowManagedHooksOnly"),
        ("claude-code", "etc/managed-settings.d/10-hooks.json", {"allowManagedHooksOnly": True}, "allowManagedHooksOnly"),
        ("claude-code", "etc/managed-settings.json", {"strictPluginOnlyCustomization": ["hooks"]}, "strictPluginOnlyCustomization"),
        ("copilot", "u/.copilot/settings.json", {"disableAllHooks": True}, "disableAllHooks"),
        ("copilot", "u/.copilot/config.json", {"disableAllHooks": True}, "disableAllHooks"),
        ("copilot", "p/.github/copilot/settings.json", {"disableAllHooks": True}, "disableAllHooks"),
        ("gemini", "u/.gemini/settings.json", {"hooksConfig": {"enabled": False}}, "hooksConfig.enabled"),
        ("gemini", "p/.gemini/settings.json", {"hooksConfig": {"enabled": False}}, "hooksConfig.enabled"),
        ("gemini", "etc/settings.json", {"hooksConfig": {"disabled": ["x", "tacit"]}}, "hooksConfig.disabled"),
        ("codex", "u/.codex/config.toml", "[features]\nhooks = false\n", "features.hooks"),
        ("codex", "p/.codex/config.toml", "features.hooks = false\n", "features.hooks"),
    ],
)  # fmt: skip
def test_a_switch_is_named_with_its_file_and_what_to_do(
    machine: Machine, host: str, name: str, value: object, setting: str
) -> None:
    assert machine.told(host) == ()
    path = machine.write(name, value)
    (sentence,) = machine.told(host)
    assert setting in sentence
    assert str(path) in sentence


@pytest.mark.parametrize(
    ("host", "files"),
    [
        ("claude-code", {"u/.claude/settings.json": {"disableAllHooks": False}}),
        ("claude-code", {"u/.claude/settings.json": {"disableAllHooks": "true", "hooks": {}}}),
        ("claude-code", {"u/.claude/settings.json": {"allowManagedHooksOnly": True}}),
        (
            "claude-code",
            {
                "u/.claude/settings.json": {"disableAllHooks": True},
                "p/.claude/settings.local.json": {"disableAllHooks": False},
            },
        ),
        ("claude-code", {"u/.claude/settings.json": "not JSON", "etc/managed-settings.json": "[]"}),
        ("gemini", {"u/.gemini/settings.json": {"hooksConfig": {"disabled": ["other"]}}}),
        (
            "gemini",
            {
                "u/.gemini/settings.json": {"hooksConfig": {"enabled": False}},
                "p/.gemini/settings.json": {"hooksConfig": {"enabled": True}},
            },
        ),
        ("codex", {"u/.codex/config.toml": "[features]\nhooks = true\n[hooks]\n"}),
        ("copilot", {"u/.copilot/settings.json": {"hooks": {"disableAllHooks": True}}}),
        ("cursor", {"u/.cursor/hooks.json": {"disableAllHooks": True}}),
        ("opencode", {}),
    ],
)
def test_what_is_no_switch_or_is_overridden_is_no_problem(
    machine: Machine, host: str, files: dict[str, object]
) -> None:
    for name, value in files.items():
        machine.write(name, value)
    assert machine.told(host) == ()


def test_a_plugin_that_is_switched_off_is_told_where_nothing_else_calls_tacit(machine: Machine) -> None:
    path = machine.write(
        "u/.claude/settings.json", {"enabledPlugins": {"tacit@shop": False, "other@shop": False}}
    )
    (sentence,) = machine.told("claude-code", connected=False)
    assert "plugin tacit@shop is switched off" in sentence
    assert str(path) in sentence
    assert machine.told("claude-code") == ()
    machine.write("p/.claude/settings.json", {"enabledPlugins": {"tacit@shop": True}})
    assert machine.told("claude-code", connected=False) == ()
    machine.write("u/.claude/settings.json", {"disableAllHooks": True})
    (sentence,) = machine.told("claude-code", connected=False)  # of the plugin neither
    assert "disableAllHooks" in sentence


def test_a_host_that_is_not_connected_has_nothing_to_switch_off(machine: Machine) -> None:
    machine.write("u/.claude/settings.json", {"disableAllHooks": True})
    machine.write("u/.copilot/settings.json", {"disableAllHooks": True})
    assert machine.told("claude-code", connected=False) == ()
    assert machine.told("copilot", connected=False) == ()


@pytest.mark.parametrize("name", ["u/.claude/settings.json", "p/.claude/settings.local.json"])
def test_an_installation_whose_hooks_are_switched_off_is_a_problem(
    machine: Machine, tmp_path: Path, name: str
) -> None:
    home = Home(tmp_path / "t")
    machine.write(name, {"disableAllHooks": True})
    apply(plan("claude-code", user_home=machine.user, home=home))
    home.launcher.parent.mkdir(parents=True, exist_ok=True)
    home.launcher.write_text("")
    status = installed_for("claude-code", user_home=machine.user, project_root=machine.project, home=home)
    assert status.state == "installed"
    (problem,) = status.problems
    assert "disableAllHooks" in problem
