"""Codex' files: the server in its settings, and the trust in hooks that only the user gives."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest

from tacit.config.home import Home
from tacit.errors import HostError
from tacit.hosts.codex.install import EVENTS, TOOLS, hooks_in, trust_of_hooks
from tacit.hosts.install import installed, plan, uninstall
from tacit.hosts.install.files import apply

SETTINGS = '# mine\nmodel = "gpt-5.4"\n\n[mcp_servers.other]  # theirs\ncommand = "other"\n'

HASHES = {
    "pre_tool_use": "sha256:bf6caf778cc53b0fd90d0f37832ceab9f8a5b910b3b3d9ef5d33dea524de3d6b",
    "post_tool_use": "sha256:5e3a4b292b5a5218935cc7142d5432546449109a6c1be1adc59710c7885cbdf3",
    "pre_compact": "sha256:acbd2befe4bc2950d05d2359dd3471c1262c9df8e591568ad0cfc33e5a6eebbd",
    "session_start": "sha256:402ff4bf87a351f6b201790bb4f5214e0b6697f0440cfd763bf245bb70890cca",
    "session_end": "sha256:b83357a72225615021f56b905c0211a62f60f123d82a6453c64ae7dfdf008d44",
    "user_prompt_submit": "sha256:c6dcb200b4271c405fd3bcc3e54ee586054e487d620f0e490dd3d616158c8282",
    "subagent_start": "sha256:646405af742763f715610ac32c517277e4183397982ad37c94d823da3309157b",
    "stop": "sha256:ec3645a2c50138662087916d06307797593c1c0010978aacc2641de4e437b7d3",
}


class Place:
    """A user's home with Codex' folder in it, a data home and a launcher whose path has a blank."""

    def __init__(self, root: Path) -> None:
        self.user, self.project = root / "user", root / "project"
        self.folder = self.user / ".codex"
        self.folder.mkdir(parents=True)
        self.project.mkdir()
        self.config, self.hooks = self.folder / "config.toml", self.folder / "hooks.json"
        self.home = Home(root / "my tacit")
        self.home.bin_dir.mkdir(parents=True)
        self.home.launcher.write_text("#!/bin/sh\n")

    def install(self, *, trust: bool = False, project: Path | None = None) -> None:
        apply(plan("codex", user_home=self.user, home=self.home, project_root=project, trust=trust))

    def uninstall(self, *, project: Path | None = None) -> None:
        apply(uninstall("codex", user_home=self.user, home=self.home, project_root=project))

    def waiting(self, project: Path | None = None) -> str:
        return installed("codex", user_home=self.user, home=self.home, project_root=project).waiting

    def trust(self) -> set[str]:
        found = trust_of_hooks(user_home=self.user, project_root=None, launcher=self.home.launcher)
        return set(found.values())

    def approved(self) -> dict[str, str]:
        states = tomllib.loads(self.config.read_text()).get("hooks", {}).get("state", {})
        return {key: state["trusted_hash"] for key, state in states.items()}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.delenv("CODEX_HOME", raising=False)
    return Place(tmp_path)


def test_hooks_are_trusted_only_at_the_users_word(place: Place) -> None:
    place.config.write_text(SETTINGS)
    place.install()
    assert place.approved() == {}
    assert place.trust() == {"untrusted"}
    assert "/hooks" in place.waiting()
    place.install(trust=True)
    assert len(place.approved()) == len(EVENTS)
    assert place.trust() == {"trusted"}
    assert place.waiting() == ""
    place.install()
    assert place.trust() == {"trusted"}, "once given it stays"
    place.uninstall()
    assert place.config.read_text() == SETTINGS
    assert not place.hooks.exists()


def test_the_hash_is_the_one_that_codex_computes(tmp_path: Path) -> None:
    """Taken from `hooks/list` of Codex 0.169.0; the end-to-end tests compare with the client at hand."""
    hooks = hooks_in(tmp_path / "hooks.json", Path("/opt/my tools/tacit-hook"))
    assert {key.split(":")[1]: approved for key, approved in hooks.approvals()} == HASHES


def test_keys_count_the_groups_of_others(place: Place) -> None:
    group = {"hooks": [{"type": "command", "command": "true"}]}
    place.hooks.write_text(json.dumps({"hooks": {"Stop": [group, group], "PreToolUse": [group]}}))
    place.install(trust=True)
    keys = {key.removeprefix(f"{place.hooks}:") for key in place.approved()}
    assert {"stop:2:0", "pre_tool_use:1:0", "session_start:0:0"} <= keys
    assert place.waiting() == ""


def test_a_changed_command_and_a_switched_off_hook_are_told(place: Place) -> None:
    place.install(trust=True)
    text = place.config.read_text()
    place.config.write_text(re.sub(r'(:stop:0:0"\]\n)', r"\1enabled = false\n", text))
    assert place.trust() == {"trusted", "disabled"}
    assert "Stop" in place.waiting()
    place.config.write_text(text.replace(place.approved()[f"{place.hooks}:stop:0:0"], "sha256:0"))
    assert place.trust() == {"trusted", "modified"}
    assert "these hooks of Tacit (Stop)" in place.waiting()


def test_removal_takes_the_trust_of_our_hooks_along_and_leaves_that_of_others(place: Place) -> None:
    foreign = f'\n[hooks.state."{place.hooks}:stop:1:0"]\ntrusted_hash = "sha256:1"\n'
    place.config.write_text(SETTINGS)
    place.install(trust=True)
    place.config.write_text(place.config.read_text() + foreign)
    place.uninstall()
    assert place.config.read_text() == SETTINGS + foreign


def test_a_project_has_its_own_hooks_and_the_users_settings_hold_the_trust(place: Place) -> None:
    place.config.write_text(SETTINGS)
    place.install(trust=True)
    of_user = place.config.read_text()
    place.install(trust=True, project=place.project)
    assert (place.project / ".codex" / "hooks.json").exists()
    assert "mcp_servers" in (place.project / ".codex" / "config.toml").read_text()
    assert len(place.approved()) == 2 * len(EVENTS)
    assert place.waiting(place.project) == ""
    place.uninstall(project=place.project)
    assert place.config.read_text() == of_user
    assert place.trust() == {"trusted"}
    assert not (place.project / ".codex").exists()


def test_without_trust_a_project_changes_nothing_of_the_user(place: Place) -> None:
    place.install(project=place.project)
    assert not place.config.exists()
    assert "/hooks" in place.waiting(place.project)


def test_a_folder_named_in_the_environment_is_the_one(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "codex"
    other.mkdir()
    monkeypatch.setenv("CODEX_HOME", str(other))
    place.install()
    assert sorted(file.name for file in other.iterdir()) == ["config.toml", "hooks.json"]
    assert list(place.folder.iterdir()) == []


@pytest.mark.parametrize("text", ["mcp_servers = {}\nb = {\n", "[a\n"])
def test_a_malformed_settings_file_is_refused_whole(place: Place, text: str) -> None:
    place.config.write_text(text)
    with pytest.raises(HostError, match="is not valid TOML"):
        place.install(trust=True)
    assert not place.hooks.exists()
    assert place.config.read_text() == text
    assert any("not valid TOML" in problem for problem in installed_problems(place))


@pytest.mark.parametrize("text", ["[hooks\n", "a = " + 100_000 * "[" + 100_000 * "]"])
def test_the_state_of_a_project_names_malformed_settings_of_the_user(place: Place, text: str) -> None:
    place.config.write_text(text)
    status = installed("codex", user_home=place.user, home=place.home, project_root=place.project)
    assert status.state == "absent"
    assert str(place.config) in "".join(status.problems)


def installed_problems(place: Place) -> tuple[str, ...]:
    return installed("codex", user_home=place.user, home=place.home).problems


@pytest.mark.parametrize("text", ['{\n  // mine\n  "hooks": {}\n}\n', '\ufeff{"hooks": {}}\n'])
def test_comments_and_a_byte_order_mark_in_the_hooks_file_are_told(place: Place, text: str) -> None:
    place.hooks.write_text(text, "utf-8")
    assert any(
        "Codex ignores all of" in note for note in plan("codex", user_home=place.user, home=place.home).notes
    )


@pytest.mark.parametrize(
    ("tool", "called"),
    [("Bash", True), ("apply_patch", True), ("spawn_agent", True), ("mcp__github__search", True),
     ("mcp__tac__x", True), ("mcp__tacitus__x", True), ("mcp__tacit__memory_add", False), ("write_stdin", False)],
)  # fmt: skip
def test_hooks_are_called_for_what_a_rule_may_govern_and_not_for_our_own_tools(
    tool: str, *, called: bool
) -> None:
    assert (re.match(TOOLS, tool) is not None) is called
    assert "(?" not in TOOLS, "Codex' regular expressions have no look-around"
