"""The probes against small stand-in clients, so that every advice is shown without a real host."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tacit.hosts.claude_code import install as claude_code
from tacit.hosts.copilot import install as copilot
from tacit.hosts.cursor import install as cursor
from tacit.hosts.gemini import install as gemini
from tacit.hosts.opencode import install as opencode
from tacit.hosts.probe import SEARCH_PATH, ProofJob, hooks_only, problem_of, prove_server

NONCE = "nonce7c1e"

ASK = """#!{python}
import json, os, pathlib, subprocess, sys, urllib.request
def ask(url, text):
    body = json.dumps({{"model": "m", "messages": [{{"role": "user", "content": text}}], "tools": [{{"name": "t"}}]}})
    urllib.request.urlopen(urllib.request.Request(url, body.encode(), {{"content-type": "application/json"}})).read()
home = pathlib.Path(os.environ["HOME"])
"""
CLAUDE = (
    ASK
    + """
hooks = json.loads((home / ".claude/settings.json").read_text())["hooks"]
command = hooks["SessionStart"][0]["hooks"][0]["command"]
ask(os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages", subprocess.run([command], capture_output=True, text=True).stdout)
"""
)
OPENCODE = (
    ASK
    + """
config = json.loads(os.environ["OPENCODE_CONFIG_CONTENT"])
plugin = (home / ".config/opencode/plugins/tacit.js").read_text()
ask(config["provider"]["stub"]["options"]["baseURL"] + "/chat/completions", plugin)
"""
)

GEMINI = (
    ASK
    + """
hooks = json.loads((home / ".gemini/settings.json").read_text())["hooks"]
command = hooks["BeforeAgent"][0]["hooks"][0]["command"]
said = subprocess.run(command, shell=True, capture_output=True, text=True).stdout
body = json.dumps({{"contents": [{{"role": "user", "parts": [{{"text": said}}]}}], "tools": [{{"functionDeclarations": [{{"name": "t"}}]}}]}})
url = os.environ["GOOGLE_GEMINI_BASE_URL"] + "/v1beta/models/m:streamGenerateContent"
urllib.request.urlopen(urllib.request.Request(url, body.encode(), {{"content-type": "application/json"}})).read()
"""
)


def job(folder: Path, launcher: Path, *files: Path, client: str = "", timeout_s: float = 50.0) -> ProofJob:
    """What a host proves with `files`; `client` is the text of its program."""
    executable = script(folder / "client", client.format(python=sys.executable)) if client else Path()
    return ProofJob(
        files=files, user_home=folder / "u", tacit_home=folder, nonce=NONCE, launcher=launcher, search_path=SEARCH_PATH,
        executable=executable, timeout_s=timeout_s,
    )  # fmt: skip


def script(path: Path, text: str) -> Path:
    path.write_text(text)
    path.chmod(0o755)
    return path


@pytest.fixture
def launcher(tmp_path: Path) -> Path:
    return script(tmp_path / "tacit-hook", f"#!/bin/sh\necho {NONCE}\n")


def claude_settings(tmp_path: Path, command: Path) -> Path:
    path = tmp_path / "settings.json"
    hook = {"type": "command", "command": str(command)}
    path.write_text(json.dumps({"apiKeyHelper": "theirs", "hooks": {"SessionStart": [{"hooks": [hook]}]}}))
    return path


def run_claude(tmp_path: Path, client: str, settings: Path, launcher: Path, *, timeout_s: float = 50.0):
    servers = tmp_path / ".mcp.json"
    return claude_code.prove(job(tmp_path, launcher, settings, servers, client=client, timeout_s=timeout_s))


def test_claude_probe_finds_what_the_hook_said(tmp_path: Path, launcher: Path):
    settings = claude_settings(tmp_path, launcher)
    before = settings.read_bytes()
    result = run_claude(tmp_path, CLAUDE, settings, launcher)
    assert (result.ok, result.where, result.advice) == (True, ("messages[0].content",), "")
    assert settings.read_bytes() == before


def test_claude_probe_says_why_there_is_nothing(tmp_path: Path, launcher: Path):
    silent = script(tmp_path / "silent-hook", "#!/bin/sh\n")
    settings = claude_settings(tmp_path, silent)
    result = run_claude(tmp_path, CLAUDE, settings, silent)
    assert not result.ok
    assert "without the memory" in result.advice
    assert result.requests == 1
    broken = run_claude(tmp_path, "#!/bin/sh\necho no such option; exit 3\n", settings, silent)
    assert "ended with code 3" in broken.advice
    assert "no such option" in broken.output_end
    hung = run_claude(tmp_path, "#!/bin/sh\nsleep 60\n", settings, silent, timeout_s=0.3)
    assert "did not end in time" in hung.advice


def test_claude_probe_names_what_is_not_installed(tmp_path: Path, launcher: Path):
    other = claude_settings(tmp_path, tmp_path / "foreign")
    assert "no hook that calls" in run_claude(tmp_path, CLAUDE, other, launcher).advice
    gone = tmp_path / "gone-hook"
    settings = claude_settings(tmp_path, gone)
    assert "is missing" in run_claude(tmp_path, CLAUDE, settings, gone).advice
    settings.write_text("{broken")
    assert "not plain JSON" in run_claude(tmp_path, CLAUDE, settings, launcher).advice


def test_claude_probe_reads_settings_with_a_byte_order_mark_as_the_client_does(
    tmp_path: Path, launcher: Path
):
    settings = claude_settings(tmp_path, launcher)
    settings.write_text("\ufeff" + settings.read_text("utf-8"), "utf-8")
    assert run_claude(tmp_path, CLAUDE, settings, launcher).ok


def test_only_hooks_are_taken_from_the_users_settings():
    assert hooks_only({"apiKeyHelper": "x", "env": {"A": "b"}, "hooks": {"Stop": []}}) == {
        "hooks": {"Stop": []}
    }
    assert hooks_only({"hooks": "wrong"}) == {}
    assert hooks_only([]) == {}


@pytest.mark.parametrize("name", ["tacit-hook", "läuncher", "back\\slash"])
def test_a_launcher_is_found_however_json_writes_its_path(tmp_path: Path, name: str):
    launcher = script(tmp_path / name, "#!/bin/sh\n")
    for ascii_only in (True, False):
        hooks = json.dumps({"command": f"{launcher} acme"}, ensure_ascii=ascii_only)
        assert problem_of(hooks, file=tmp_path / "hooks.json", launcher=launcher, host="acme") is None


def test_opencode_probe_loads_a_copy_of_the_plugin(tmp_path: Path, launcher: Path):
    plugin = tmp_path / "tacit.js"
    plugin.write_text(f"// says {NONCE}")

    def run():
        return opencode.prove(job(tmp_path, launcher, plugin, client=OPENCODE))

    assert run().where == ("messages[0].content",)
    plugin.write_text("// says nothing")
    assert "without the memory" in run().advice
    plugin.unlink()
    assert "tacit install opencode" in run().advice


def test_gemini_probe_reuses_the_hooks_and_nothing_else_of_the_settings(tmp_path: Path, launcher: Path):
    settings = tmp_path / "settings.json"

    def run(text: str):
        settings.write_text(text)
        return gemini.prove(job(tmp_path, launcher, settings, client=GEMINI))

    hook = {"type": "command", "name": "tacit", "command": str(launcher)}
    text = json.dumps(
        {"security": {"auth": {"selectedType": "theirs"}}, "hooks": {"BeforeAgent": [{"hooks": [hook]}]}}
    )
    result = run(f"// mine\n{text}")
    assert (result.ok, result.where) == (True, ("contents[0].parts[0].text",))
    assert "no hook that calls" in run("{}").advice
    assert "line 1" in run("{broken").advice
    launcher.unlink()
    assert "is missing" in run(text).advice


COPILOT = (
    ASK
    + """
hooks = json.loads((home / ".copilot/hooks/tacit.json").read_text())["hooks"]
command = hooks["SessionStart"][0]["bash"]
ask(os.environ["COPILOT_PROVIDER_BASE_URL"] + "/chat/completions", subprocess.run(command, shell=True, capture_output=True, text=True).stdout)
"""
)
SERVER = """#!{python}
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if message.get("id") == 2:
        asked = message["params"]["arguments"]["query"]
        text = "found " + asked if message["params"]["name"] == "memory_search" and "talk" in sys.argv else "nothing"
        print(json.dumps({{"jsonrpc": "2.0", "id": 2, "result": {{"content": [{{"type": "text", "text": text}}]}}}}))
    elif "id" in message:
        print("no JSON"); print(json.dumps({{"jsonrpc": "2.0", "id": message["id"], "result": {{}}}}))
"""


def run_copilot(tmp_path: Path, hooks: Path, launcher: Path, client: str = COPILOT):
    return copilot.prove(job(tmp_path, launcher, hooks, client=client))


def test_copilot_probe_loads_a_copy_of_the_hooks_and_says_what_is_missing(tmp_path: Path, launcher: Path):
    hooks = tmp_path / "tacit.json"
    assert "cannot be read" in run_copilot(tmp_path, hooks, launcher).advice
    hooks.write_text(json.dumps({"hooks": {"SessionStart": [{"bash": str(launcher)}]}}))
    result = run_copilot(tmp_path, hooks, launcher)
    assert (result.ok, result.where) == (True, ("messages[0].content",)), result.advice
    silent = script(tmp_path / "silent-hook", "#!/bin/sh\n")
    assert "no hook that calls" in run_copilot(tmp_path, hooks, silent).advice
    hooks.write_text(json.dumps({"hooks": {"SessionStart": [{"bash": str(silent)}]}}))
    assert "without the memory" in run_copilot(tmp_path, hooks, silent).advice
    silent.unlink()
    assert "is missing" in run_copilot(tmp_path, hooks, silent).advice


def run_cursor(tmp_path: Path, hooks: Path, launcher: Path):
    return cursor.prove(job(tmp_path, launcher, hooks))


def test_cursor_probe_runs_the_command_of_the_file_with_a_documented_payload(tmp_path: Path):
    hooks = tmp_path / "hooks.json"
    answers = "import json, sys; given = json.load(sys.stdin); print(json.dumps({'additional_context': given['session_id']}))"
    launcher = script(tmp_path / "tacit-hook", f"#!{sys.executable}\n{answers}\n")
    hooks.write_text('{"hooks": {"sessionStart": [{"command": "theirs"}]} } // mine')
    assert "no hook that calls" in run_cursor(tmp_path, hooks, launcher).advice
    hooks.write_text(json.dumps({"hooks": {"sessionStart": [{"command": f"{launcher} cursor"}]}}))
    assert run_cursor(tmp_path, hooks, launcher).ok
    script(launcher, "#!/bin/sh\necho no json")
    assert "found nothing" in run_cursor(tmp_path, hooks, launcher).advice
    hooks.write_text("{broken")
    assert "not valid JSON" in run_cursor(tmp_path, hooks, launcher).advice


def run_server(tmp_path: Path, file: Path):
    return prove_server(job(tmp_path, tmp_path / "tacit-hook", file), ("servers", "tacit"))


def test_mcp_probe_starts_what_the_file_names_and_asks_it(tmp_path: Path):
    file, server = tmp_path / "mcp.json", script(tmp_path / "server", SERVER.format(python=sys.executable))
    assert "has no server servers.tacit" in run_server(tmp_path, file).advice
    entry = {"command": str(server), "args": ["talk"]}
    file.write_text("// comments are fine\n" + json.dumps({"servers": {"tacit": entry}}))
    assert run_server(tmp_path, file).ok
    file.write_text(json.dumps({"servers": {"tacit": {**entry, "args": []}}}))
    assert "did not answer with the memory" in run_server(tmp_path, file).advice
    file.write_text(json.dumps({"servers": {"tacit": {"command": str(tmp_path / "gone")}}}))
    assert "cannot be started" in run_server(tmp_path, file).advice
    file.write_text("{broken")
    assert "not valid JSON" in run_server(tmp_path, file).advice
