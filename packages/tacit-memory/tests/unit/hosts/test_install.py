"""Installing and uninstalling: idempotent, foreign bytes kept, malformed files refused, links and modes kept."""

from __future__ import annotations

import errno
import json
import re
import shlex
import stat
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tacit.config.home import Home
from tacit.errors import HostError, NotFound
from tacit.hosts.claude_code.install import CALLS, EVENTS, TOOLS
from tacit.hosts.install import installed, plan, rulings, uninstall
from tacit.hosts.install.clients import CLIENTS, detect, found_clients
from tacit.hosts.install.files import STAMP, InstallPlan, OwnFile, Target, apply, plugin_text
from tacit.hosts.install.files import Place as InstallPlace
from tacit.hosts.registry import BUILT_IN

SETTINGS = """{
    // my own settings
    "model": "opus",  /* keep */
    "hooks": {
        "Stop": [
            { "hooks": [{ "type": "command", "command": "say done" }] },
        ],
        "SessionStart": []
    },
    "permissions": {"allow": ["Bash(ls:*)"], "deny": []},
}
"""


class Place:
    """A user's home, a data home and a launcher below one temporary folder."""

    def __init__(self, root: Path) -> None:
        self.user = root / "user"
        self.user.mkdir()
        self.home = Home(root / "tacit")
        self.home.bin_dir.mkdir(parents=True)
        self.home.launcher.write_text("#!/bin/sh\n")
        self.project = root / "project"
        self.project.mkdir()

    def plan(self, host: str, **more: Any) -> InstallPlan:
        return plan(host, user_home=self.user, home=self.home, **more)

    def install(self, host: str, **more: Any) -> None:
        apply(self.plan(host, **more))

    def uninstall(self, host: str, **more: Any) -> None:
        apply(uninstall(host, user_home=self.user, home=self.home, **more))

    def state(self, host: str, **more: Any) -> str:
        return installed(host, user_home=self.user, home=self.home, **more).state

    def targets(self, host: str, project_root: Path | None = None) -> tuple[Target, ...]:
        site = InstallPlace(self.user, project_root, self.home)
        return BUILT_IN[host].part("install").targets(site)

    def files(self) -> dict[str, bytes]:
        return {
            str(path.relative_to(self.user.parent)): path.read_bytes()
            for base in (self.user, self.project)
            for path in sorted(base.rglob("*"))
            if path.is_file()
        }

    def write(self, name: str, text: str) -> Path:
        path = self.user / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
        return path


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


both = pytest.mark.parametrize("host", BUILT_IN)
scopes = pytest.mark.parametrize("in_project", [False, True], ids=["user", "project"])


def where(place: Place, in_project: bool) -> dict[str, Any]:
    return {"project_root": place.project} if in_project else {}


@both
@scopes
def test_install_into_nothing_twice_and_out_again(place: Place, host: str, *, in_project: bool) -> None:
    scope = where(place, in_project)
    assert place.state(host, **scope) == "absent"
    place.install(host, **scope)
    first = place.files()
    assert first
    assert place.state(host, **scope) == "installed"
    assert place.plan(host, **scope).edits == ()
    place.install(host, **scope)
    assert place.files() == first
    place.uninstall(host, **scope)
    assert place.files() == {}
    assert place.state(host, **scope) == "absent"
    assert not list(place.home.root.rglob("installs.json"))
    assert [*place.user.iterdir(), *place.project.iterdir()] == []
    assert not (place.home.root / "hosts").exists()


def test_folders_of_somebody_else_stay_and_ours_go_when_they_are_empty(place: Place) -> None:
    (place.user / ".claude/commands").mkdir(parents=True)
    place.install("claude-code")
    place.uninstall("claude-code")
    assert [path.relative_to(place.user).as_posix() for path in sorted(place.user.rglob("*"))] == [
        ".claude",
        ".claude/commands",
    ]
    place.install("opencode")
    kept = place.write(".config/opencode/theirs.txt", "mine")
    place.uninstall("opencode")
    assert list(kept.parent.iterdir()) == [kept]


def test_foreign_settings_stay_byte_for_byte_and_come_back_exactly(place: Place) -> None:
    settings = place.write(".claude/settings.json", SETTINGS)
    servers = place.write(".claude.json", '{"numStartups":3,"mcpServers":{"other":{"command":"x"}}}')
    before = place.files()
    place.install("claude-code")
    text = settings.read_text()
    for line in SETTINGS.splitlines():
        if line.strip() not in {"]", "}", "[", "{", '"SessionStart": []'}:
            assert line.rstrip(",") in text, line
    assert json.loads(servers.read_text())["mcpServers"]["other"] == {"command": "x"}
    place.uninstall("claude-code")
    assert place.files() == before


def test_every_event_has_one_group_behind_those_of_others(place: Place) -> None:
    settings = place.write(
        ".claude/settings.json", '{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "a"}]}]}}'
    )
    place.install("claude-code")
    hooks = json.loads(settings.read_text())["hooks"]
    assert set(hooks) == {event for event, _, _ in EVENTS}
    assert hooks["Stop"][0]["hooks"][0]["command"] == "a"
    handler = hooks["SessionEnd"][0]["hooks"][0]
    assert handler == {
        "type": "command", "command": str(place.home.launcher), "args": ["claude-code", STAMP], "timeout": 10,
    }  # fmt: skip
    assert (hooks["PreToolUse"][0]["matcher"], hooks["PostToolUse"][0]["matcher"]) == (CALLS, TOOLS)


@pytest.mark.parametrize(
    ("tool", "called"),
    [
        ("Edit", True), ("Bash", True), ("Agent", True), ("Task", True), ("WebFetch", True), ("mcp__github__create_issue", True),
        ("mcp__tacit__memory_add", False), ("mcp__plugin_tacit_tacit__memory_add", False), ("TodoWrite", False), ("BashOutput", False),
    ],
)  # fmt: skip
def test_hooks_are_called_for_what_a_rule_may_govern_and_not_for_our_own_tools(
    tool: str, called: bool
) -> None:
    assert bool(re.search(TOOLS, tool)) == called


@pytest.mark.parametrize(
    ("tool", "called"),
    [
        ("Edit", True), ("mcp__github__create_issue", True), ("mcp__tacit__memory_add", True), ("mcp__plugin_tacit_tacit__memory_forget", True),
        ("mcp__tacit__memory_update", True), ("mcp__tacit__memory_search", False), ("mcp__tacit__memory_addition", False), ("TodoWrite", False),
    ],
)  # fmt: skip
def test_before_a_call_hooks_are_called_for_our_own_tools_that_write_too(tool: str, called: bool) -> None:
    assert bool(re.search(CALLS, tool)) == called


def test_the_plugin_hooks_the_same_calls_as_the_installation() -> None:
    hooks = json.loads(plugin_text("claude-code", "hooks", "hooks.json"))["hooks"]
    found = {(event, group.get("matcher", "")) for event, groups in hooks.items() for group in groups}
    assert found == {(event, matcher) for event, matcher, _ in EVENTS}


def test_only_ours_goes_when_someone_changed_the_file_after_us(place: Place) -> None:
    settings = place.write(".claude/settings.json", SETTINGS)
    place.install("claude-code")
    changed = settings.read_text().replace('"opus"', '"sonnet"')
    settings.write_text(changed)
    place.uninstall("claude-code")
    text = settings.read_text()
    assert "tacit" not in text
    assert text == SETTINGS.replace('"opus"', '"sonnet"').replace(',\n        "SessionStart": []', "")


def test_a_handler_that_someone_wrote_into_our_group_stays(place: Place) -> None:
    place.install("claude-code")
    settings = place.user / ".claude" / "settings.json"
    data = json.loads(settings.read_text())
    data["hooks"]["Stop"][0]["hooks"].append({"type": "command", "command": "mine"})
    settings.write_text(json.dumps(data))
    assert place.state("claude-code") == "outdated"
    place.uninstall("claude-code")
    assert json.loads(settings.read_text()) == {
        "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "mine"}]}]}
    }


def test_a_moved_launcher_is_outdated_and_installing_again_moves_it(place: Place) -> None:
    place.write(".claude/settings.json", SETTINGS)
    place.install("claude-code")
    for file in (place.user / ".claude/settings.json", place.user / ".claude.json"):
        file.write_text(file.read_text().replace(str(place.home.launcher), "/old/bin/tacit-hook"))
    assert place.state("claude-code") == "outdated"
    place.install("claude-code")
    text = (place.user / ".claude/settings.json").read_text()
    assert "/old/" not in text
    assert place.state("claude-code") == "installed"
    place.uninstall("claude-code")
    text = (place.user / ".claude/settings.json").read_text()
    assert all(own in text for own in ("say done", "// my own settings", "permissions"))
    assert all(
        ours not in left
        for left in map(str, place.files().values())
        for ours in ("/old/", str(place.home.launcher), "tacit-hook")
    )


@both
@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{\n  "a": 1,\n  "b" 2\n}', "a colon is expected at line 3, column 7"),
        ('{\n  "a": [1, 2\n}', r"a comma or '\]' is expected at line 3"),
        ('{"a": tru}', "'tru' is no value at line 1"),
        ("[]", "an object is expected at line 1"),
        ('{"a": 1} x', "nothing more is expected at line 1"),
        ('{"a": "x', "text in double quotes is expected"),
        ('{"a":' * 300, "nested too deep"),
        ('{"hooks": [], "mcp": 3, "mcpServers": 3}', "is not an object"),
    ],
)
def test_malformed_json_is_named_with_file_and_line_and_nothing_is_written(
    place: Place, host: str, text: str, problem: str
) -> None:
    shared = next(target.path for target in place.targets(host) if not isinstance(target, OwnFile))
    path = place.write(str(shared.relative_to(place.user)), text)
    before = place.files()
    with pytest.raises(HostError, match=problem) as caught:
        place.install(host)
    assert str(path) in str(caught.value)
    assert caught.value.hint
    assert place.files() == before
    if "is not" not in problem:
        status = installed(host, user_home=place.user, home=place.home)
        assert any(str(path) in problem for problem in status.problems)


def test_a_file_that_is_not_utf8_is_refused(place: Place) -> None:
    path = place.write(".claude/settings.json", "{}")
    path.write_bytes(b'{"a": "\xff"}')
    with pytest.raises(HostError, match="not UTF-8"):
        place.install("claude-code")
    assert path.read_bytes() == b'{"a": "\xff"}'


def test_modes_are_kept_and_links_are_followed(place: Place, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.json"
    real.write_text("{}\n")
    real.chmod(0o600)
    link = place.user / ".claude" / "settings.json"
    link.parent.mkdir()
    link.symlink_to(real)
    place.install("claude-code")
    assert link.is_symlink()
    assert "tacit-hook" in real.read_text()
    assert stat.S_IMODE(real.stat().st_mode) == 0o600
    place.uninstall("claude-code")
    assert link.is_symlink()
    assert real.read_text() == "{}\n"
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_a_file_changed_between_plan_and_apply_stops_everything(place: Place) -> None:
    path = place.write(".claude/settings.json", "{}\n")
    made = place.plan("claude-code")
    path.write_text('{"a": 1}\n')
    before = place.files()
    with pytest.raises(HostError, match="changed by someone else"):
        apply(made)
    assert place.files() == before


def test_a_failing_write_puts_the_earlier_files_back(place: Place) -> None:
    place.write(".claude/settings.json", SETTINGS)
    blocked = place.user / ".claude" / "commands"
    blocked.write_text("a file where a folder is needed")
    before = place.files()
    with pytest.raises(HostError, match="cannot be written"):
        place.install("claude-code")
    assert place.files() == before


@pytest.mark.parametrize(
    ("host", "name"),
    [("claude-code", ".claude/commands/tacit.md"), ("opencode", ".config/opencode/plugins/tacit.js")],
)
def test_a_file_of_someone_else_is_not_overwritten(place: Place, host: str, name: str) -> None:
    path = place.write(name, "mine")
    with pytest.raises(HostError, match="not Tacit's"):
        place.install(host)
    assert path.read_text() == "mine"
    place.uninstall(host)
    assert path.read_text() == "mine"


def test_windows_line_ends_and_a_byte_order_mark_stay(place: Place) -> None:
    path = place.write(".claude/settings.json", '\ufeff{\r\n\t"a": 1\r\n}\r\n')
    place.install("claude-code")
    raw = path.read_bytes().decode()
    assert raw.startswith('\ufeff{\r\n\t"a": 1,\r\n\t"hooks": {\r\n\t\t"SessionStart"')
    assert "\n" not in raw.replace("\r\n", "")
    place.uninstall("claude-code")
    assert path.read_bytes().decode() == '\ufeff{\r\n\t"a": 1\r\n}\r\n'


def test_opencode_plugin_knows_home_and_launcher(place: Place) -> None:
    place.install("opencode")
    text = (place.user / ".config/opencode/plugins/tacit.js").read_text()
    assert json.dumps(str(place.home.root)) in text
    assert json.dumps(str(place.home.launcher)) in text
    config = json.loads((place.user / ".config/opencode/opencode.json").read_text())
    assert config["mcp"]["tacit"] == {
        "type": "local", "command": [str(place.home.launcher), "mcp", "--host", "opencode"], "enabled": True,
    }  # fmt: skip


def test_opencode_config_with_comments_is_the_one_that_is_used(place: Place) -> None:
    path = place.write(".config/opencode/opencode.jsonc", '{\n  // theme\n  "theme": "x", // dark\n}\n')
    before = place.files()
    place.install("opencode")
    assert not (place.user / ".config/opencode/opencode.json").exists()
    assert '  // theme\n  "theme": "x",\n  "mcp": {' in path.read_text()
    place.uninstall("opencode")
    assert place.files() == before


@pytest.mark.parametrize("text", ['{\n  // theme\n  "theme": "x"\n}\n', '{\n  "theme": "x",\n}\n'])
def test_settings_that_claude_code_would_ignore_are_told(place: Place, text: str) -> None:
    place.write(".claude/settings.json", text)
    assert any("plain JSON" in note for note in place.plan("claude-code").notes)
    place.install("claude-code")
    status = installed("claude-code", user_home=place.user, home=place.home)
    assert status.state == "installed"
    assert "plain JSON" in "".join(status.problems)


def test_opencode_start_is_not_slowed_and_own_packages_are_left_alone(place: Place) -> None:
    place.install("opencode")
    folder = place.user / ".config" / "opencode"
    lock = json.loads((folder / "package-lock.json").read_text())
    assert "@opencode-ai/plugin" in lock["packages"][""]["dependencies"]
    assert (folder / "node_modules").is_dir()
    place.uninstall("opencode")
    for name in ("package.json", "package-lock.json", "bun.lock"):
        path = place.write(f".config/opencode/{name}", "{}")
        assert not any("package-lock" in str(edit.path) for edit in place.plan("opencode").edits)
        path.unlink()


def test_a_missing_launcher_is_a_problem_that_says_what_to_do(place: Place) -> None:
    place.install("claude-code")
    place.home.launcher.unlink()
    status = installed("claude-code", user_home=place.user, home=place.home)
    assert any("tacit install claude-code" in problem for problem in status.problems)


def test_an_unknown_host_names_the_known_ones(place: Place) -> None:
    with pytest.raises(NotFound, match="claude-code, opencode"):
        place.plan("emacs")


def test_a_damaged_record_costs_exact_restoration_only(place: Place) -> None:
    settings = place.write(".claude/settings.json", '{"a": 1}\n')
    place.install("claude-code")
    (place.home.root / "hosts" / "claude-code" / "installs.json").write_text("{broken")
    place.uninstall("claude-code")
    assert json.loads(settings.read_text()) == {"a": 1}


@both
def test_a_projects_links_never_choose_what_is_written_outside_it(place: Place, host: str) -> None:
    outside = place.project.parent / "outside"
    outside.mkdir()
    paths = [each.path.relative_to(place.project) for each in place.targets(host, place.project)]
    folder = next(path.parts[0] for path in paths if len(path.parts) > 1)
    (place.project / folder).symlink_to(outside)
    with pytest.raises(HostError, match="leads out of the project"):
        place.install(host, project_root=place.project)
    assert list(outside.iterdir()) == []


def test_a_users_link_is_named_with_its_target(place: Place) -> None:
    kept = place.user / "dotfiles"
    kept.mkdir()
    (place.user / ".claude").symlink_to(kept)
    notes = " ".join(place.plan("claude-code").notes)
    assert str(kept / "settings.json") in notes


@both
def test_what_is_remembered_of_a_file_is_for_its_owner_alone(place: Place, host: str) -> None:
    place.install(host)
    book = place.home.root / "hosts" / host / "installs.json"
    assert stat.S_IMODE(book.stat().st_mode) == 0o600
    for folder in (book.parent, book.parent.parent):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_a_launcher_whose_path_a_shell_would_split_is_quoted(tmp_path: Path) -> None:
    (tmp_path / "a b").mkdir()
    place = Place(tmp_path / "a b")
    place.install("gemini")
    (group,) = json.loads((place.user / ".gemini/settings.json").read_text())["hooks"]["SessionStart"]
    assert shlex.split(group["hooks"][0]["command"]) == [str(place.home.launcher), "gemini", STAMP]
    assert place.state("gemini") == "installed"
    place.uninstall("gemini")
    assert not (place.user / ".gemini").exists()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{\n  "ui": {},\n}\n', "no comma behind the last entry"),
        ('\ufeff{"ui": {}}', "begins with a byte order mark"),
        ('{"hooksConfig": {"enabled": false}}', "hooksConfig.enabled is false"),
        ('{"hooksConfig": {"disabled": ["tacit"]}}', "hooksConfig.disabled"),
    ],
    ids=["trailing comma", "byte order mark", "all hooks off", "our hooks off"],
)
def test_settings_with_which_gemini_runs_no_hooks_are_a_problem(
    place: Place, text: str, problem: str
) -> None:
    place.write(".gemini/settings.json", text)
    place.install("gemini")
    (told,) = installed("gemini", user_home=place.user, home=place.home).problems
    assert problem in told


def test_comments_in_the_settings_of_gemini_are_no_problem(place: Place) -> None:
    place.write(".gemini/settings.json", '{ /* a, */ "ui": {"x": "// no, comment,"} // b,\n}')
    place.install("gemini")
    assert installed("gemini", user_home=place.user, home=place.home).problems == ()


def test_a_write_that_fails_names_the_file_and_not_its_temporary_copy(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuses(**where: Any) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", f"{where['dir']}/{where['prefix']}x7")

    monkeypatch.setattr("tempfile.mkstemp", refuses)
    with pytest.raises(
        HostError, match=f"^{place.user}/.cursor/hooks.json cannot be written: Permission denied"
    ):
        place.install("cursor")
    assert place.files() == {}


@pytest.fixture
def closed(tmp_path: Path) -> Path:
    """A folder below which no path can be looked at, by root neither: the system refuses its name."""
    return tmp_path / ("x" * 300)


@pytest.mark.parametrize("host", [*BUILT_IN, *CLIENTS])
def test_a_folder_that_cannot_be_read_is_named_instead_of_raising_the_system_error(
    host: str, place: Place, closed: Path
) -> None:
    with pytest.raises(HostError, match=f"{closed}.* cannot be read"):
        plan(host, user_home=closed, home=place.home)
    with pytest.raises(HostError, match=f"{closed}.* cannot be read"):
        uninstall(host, user_home=closed, home=place.home)
    assert installed(host, user_home=closed, home=place.home).problems


def test_looking_for_hosts_and_clients_passes_over_folders_that_cannot_be_read(closed: Path) -> None:
    assert detect(closed, "") == ()
    assert found_clients(closed) == ()


@pytest.mark.parametrize(
    ("host", "file", "text"),
    [
        ("codex", ".codex/hooks.json", '{"a": ' + 100_000 * "[" + 100_000 * "]" + "}"),
        ("codex", ".codex/config.toml", "a = " + 100_000 * "[" + 100_000 * "]"),
        ("claude-code", ".claude/settings.json", '{"a": ' + 100_000 * "[" + 100_000 * "]" + "}"),
        ("gemini", ".gemini/settings.json", '{"a": ' + 100_000 * "[" + 100_000 * "]" + "}"),
    ],
)
def test_values_that_are_nested_too_deep_are_named(place: Place, host: str, file: str, text: str) -> None:
    path = place.write(file, text)
    for change in (place.install, place.uninstall):
        with pytest.raises(HostError, match=f"{path} .*nested too deep"):
            change(host)
    assert path.read_text() == text
    assert place.state(host) == "absent"


def test_an_empty_file_is_there_again_after_an_uninstallation(place: Place) -> None:
    path = place.write(".codex/config.toml", "")
    place.install("codex")
    assert "tacit" in path.read_text()
    place.uninstall("codex")
    assert place.files() == {"user/.codex/config.toml": b""}


def test_a_folder_in_the_place_of_a_file_is_named(place: Place) -> None:
    path = place.user / ".cursor" / "hooks.json"
    path.mkdir(parents=True)
    with pytest.raises(HostError, match=f"{path} is a folder"):
        place.install("cursor")


GET, ADD = "mcp__tacit__memory_get", "mcp__tacit__memory_add"


def allowed(path: Path) -> list[str]:
    return json.loads(path.read_text()).get("permissions", {}).get("allow", [])


def test_the_rule_is_written_only_when_it_is_asked_for_and_stays_until_it_is_taken_out(place: Place) -> None:
    settings = place.write(".claude/settings.json", '{\n  "permissions": {"allow": ["Bash(ls:*)"]}\n}\n')
    before = place.files()
    place.install("claude-code")
    assert allowed(settings) == ["Bash(ls:*)"]
    assert any("--allow-tools" in note for note in place.plan("claude-code").notes)
    place.install("claude-code", allow=True)  # an installation without the rule gets it
    assert allowed(settings) == ["Bash(ls:*)", GET, ADD]
    first = place.files()
    for allow in (None, True):
        assert place.plan("claude-code", allow=allow).edits == ()
        assert not any("--allow-tools" in note for note in place.plan("claude-code", allow=allow).notes)
    settings.write_text(
        settings.read_text().replace("tacit-install:", "tacit-install:0")
    )  # of an earlier version
    assert place.state("claude-code") == "outdated"
    place.install("claude-code")
    assert place.files() == first
    place.install("claude-code", allow=False)
    assert allowed(settings) == ["Bash(ls:*)"]
    assert place.state("claude-code") == "installed"
    place.install("claude-code", allow=True)
    place.uninstall("claude-code")
    assert place.files() == before


def test_rules_go_from_a_file_that_was_changed_meanwhile_and_equal_ones_of_the_user_stay(
    place: Place,
) -> None:
    settings = place.write(".claude/settings.json", json.dumps({"permissions": {"allow": [ADD]}}))
    place.install("claude-code", allow=True)
    assert sorted(allowed(settings)) == [ADD, GET]
    values = json.loads(settings.read_text())
    settings.write_text(json.dumps({**values, "model": "opus"}))
    place.uninstall("claude-code")
    assert json.loads(settings.read_text()) == {"permissions": {"allow": [ADD]}, "model": "opus"}

    settings.write_text("{}\n")
    place.install("claude-code", allow=True)
    settings.write_text(json.dumps({**json.loads(settings.read_text()), "model": "opus"}))
    place.uninstall("claude-code")
    assert json.loads(settings.read_text()) == {"model": "opus"}


def test_what_the_user_took_out_again_does_not_come_back_by_itself(place: Place) -> None:
    settings = place.user / ".claude" / "settings.json"
    place.install("claude-code", allow=True)
    values = json.loads(settings.read_text())
    values["permissions"]["allow"].remove(ADD)
    settings.write_text(json.dumps(values))
    assert place.state("claude-code") == "installed"
    place.install("claude-code")
    assert allowed(settings) == [GET]


@pytest.mark.parametrize(
    ("word", "rule", "tools"),
    [("deny", ADD, "memory_add"), ("ask", GET, "memory_get"), ("deny", "mcp__tacit", "both"), ("ask", "mcp__*", "both"),
     ("deny", "mcp__*__memory_add", "memory_add"), ("allow", "mcp__tacit", "both"), ("allow", "mcp__tacit__*", "both"),
     ("allow", "mcp__*", ""), ("deny", "mcp__tac", ""), ("deny", "mcp__other__memory_add", ""), ("allow", "mcp__tacit*", "")],
)  # fmt: skip
def test_a_rule_of_the_user_wins_and_is_named(place: Place, word: str, rule: str, tools: str) -> None:
    settings = place.write(".claude/settings.json", json.dumps({"permissions": {word: [rule]}}))
    plan = place.plan("claude-code", allow=True)
    named = [note for note in plan.notes if rule in note]
    decided = {"both": {GET, ADD}, "": set()}.get(tools, {f"mcp__tacit__{tools}"})
    assert len(named) == len(decided)
    apply(plan)
    assert set(allowed(settings)) - {rule} == {GET, ADD} - decided
    assert json.loads(settings.read_text())["permissions"][word][0] == rule


def test_in_a_project_the_rule_is_the_users_own_and_no_teammates(place: Place) -> None:
    place.install("claude-code", allow=True, project_root=place.project)
    assert allowed(place.project / ".claude" / "settings.local.json") == [GET, ADD]
    assert allowed(place.project / ".claude" / "settings.json") == []
    place.install("claude-code", project_root=place.project)
    assert place.plan("claude-code", project_root=place.project).edits == ()
    place.install("claude-code", allow=False, project_root=place.project)
    assert not (place.project / ".claude" / "settings.local.json").exists()
    place.install("claude-code", allow=True, project_root=place.project)
    (place.project / ".claude" / "settings.local.json").unlink()
    place.install("claude-code", project_root=place.project)
    assert not (place.project / ".claude" / "settings.local.json").exists()
    place.install("claude-code", allow=True, project_root=place.project)
    place.uninstall("claude-code", project_root=place.project)
    assert place.files() == {}
    assert not (place.home.root / "hosts").exists()


def test_permissions_of_another_form_are_refused_as_a_whole(place: Place) -> None:
    place.write(".claude/settings.json", '{"permissions": {"allow": "all"}}')
    with pytest.raises(HostError, match=r"permissions\.allow is not a list"):
        place.plan("claude-code", allow=True)


def test_gemini_gets_a_policy_of_its_own_which_goes_again(place: Place) -> None:
    policy = place.user / ".gemini" / "policies" / "zz-tacit.toml"
    place.install("gemini")
    assert not policy.exists()
    place.install("gemini", allow=True)
    (rule,) = tomllib.loads(policy.read_text())["rule"]
    assert rule == {
        "mcpName": "tacit",
        "toolName": ["memory_get", "memory_add"],
        "decision": "allow",
        "priority": 0,
    }
    assert place.plan("gemini").edits == ()
    assert place.state("gemini") == "installed"
    place.install("gemini", allow=False)
    assert not policy.parent.exists()
    assert place.state("gemini") == "installed"
    assert any("--allow-tools" in note for note in place.plan("gemini").notes)
    assert any(
        "all projects" in note for note in place.plan("gemini", allow=True, project_root=place.project).notes
    )
    place.install("gemini", allow=True)
    place.uninstall("gemini")
    assert place.files() == {}


def words(place: Place, machine: Path) -> list[str]:
    found = rulings("claude-code", user_home=place.user, project_root=place.project, machine=machine)
    return [each.word for each in found]


def test_a_shared_file_allows_only_in_a_trusted_folder_and_an_administrator_may_be_the_only_one(
    place: Place, tmp_path: Path
) -> None:
    machine = tmp_path / "etc"
    machine.mkdir()
    shared = place.project / ".claude" / "settings.json"
    shared.parent.mkdir()
    shared.write_text(json.dumps({"permissions": {"allow": [GET], "deny": [ADD]}}))
    assert words(place, machine) == ["ask", "deny"]
    place.write(
        ".claude.json", json.dumps({"projects": {str(place.project): {"hasTrustDialogAccepted": True}}})
    )
    assert words(place, machine) == ["allow", "deny"]
    own = shared.with_name("settings.local.json")
    own.write_text(json.dumps({"permissions": {"ask": ["mcp__tacit__*"]}}))
    assert words(place, machine) == ["ask", "deny"], "what asks wins over what allows, in whichever file"
    managed = machine / "managed-settings.json"
    managed.write_text(json.dumps({"allowManagedPermissionRulesOnly": True, "permissions": {"allow": [ADD]}}))
    assert words(place, machine) == ["ask", "allow"]
    found = rulings("claude-code", user_home=place.user, project_root=place.project, machine=machine)
    assert str(found[0]) == f"asks before memory_get (allowManagedPermissionRulesOnly in {managed})"
