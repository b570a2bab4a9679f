"""Writers over the real clients: one request, no hook of ours, no session kept, nothing left running; only the model is a stub."""

from __future__ import annotations

import json
import time
from contextlib import closing
from pathlib import Path

import pytest

from e2e.drivers.clients import client_path
from scripted_model import ScriptedReply
from tacit.hosts.claude_code import install as claude_probe
from tacit.hosts.opencode import install as opencode_probe
from tacit.hosts.probe.wire import CallTool, Say
from tacit.ports.writer import WriterRequest
from tacit.providers.writing.clients import CLIENTS
from tacit.providers.writing.command_line import CommandLineWriter
from writer_server import SCHEMA

pytestmark = pytest.mark.e2e

BLOCK = r"<tacit-memory"
RULE = "Always run ruff before every commit"
ANSWER = {"learnings": ["mail goes to ops@example.org"]}
MARK = "zanzibar-41"
START_S = 240.0
"""How long a client may take on a busy machine where the test is not about time."""


def environment_of(name, sandbox, url=""):
    probe = claude_probe if name == "claude" else opencode_probe
    found = probe.environment(url or sandbox.stub.url, home=sandbox.home, tacit_home=sandbox.tacit_home)
    return {**found, "PATH": f"{client_path(name).parent}:{found['PATH']}"}


def writer_over(name, sandbox, *, url="", timeout_s=START_S):
    model = "" if name == "claude" else f"{opencode_probe.PROVIDER}/{opencode_probe.SMALL_MODEL}"
    environ = environment_of(name, sandbox, url)
    return CommandLineWriter(CLIENTS[name], model=model, timeout_s=timeout_s, environ=environ)


def asking(text):
    return WriterRequest(system="Note what matters.", user=text, most_output_tokens=700, schema=SCHEMA)


def processes_of(home: Path) -> list[str]:
    """Living processes with this home folder."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            alive = entry.name.isdigit() and (entry / "stat").read_text().rpartition(")")[2].split()[0] != "Z"
            if alive and f"HOME={home}\0".encode() in (entry / "environ").read_bytes():
                found.append(f"{entry.name} {(entry / 'cmdline').read_bytes()[:200]!r}")
        except OSError:
            continue
    return found


def wait_until_gone(home: Path) -> list[str]:
    end = time.monotonic() + 30
    while (left := processes_of(home)) and time.monotonic() < end:
        time.sleep(0.05)
    return left


def holding(folder: Path, text: str) -> list[str]:
    """Files below `folder` that hold `text`."""
    files = [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
    return [str(path) for path in files if text.encode() in path.read_bytes()]


@pytest.mark.parametrize("name", ["claude", "opencode"])
def test_one_request_without_hooks_tools_or_traces(sandbox, request, name):
    client = request.getfixturevalue(name)
    client.install()
    sandbox.remember(RULE, kind="preference", when="always")
    secret = sandbox.write("secret.txt", "the-content-of-a-file")
    structured = CallTool(name="StructuredOutput", input=ANSWER)
    text = Say(text=json.dumps(ANSWER))
    sandbox.stub.script += [
        ScriptedReply(when=MARK, answers=(structured, text)),
        ScriptedReply(when=MARK, answers=(text,)),
    ]
    before = sandbox.daemon_pid()
    answer = writer_over(name, sandbox).write(asking(f"{MARK}: mail goes to ops@example.org, see @{secret}"))
    assert json.loads(answer.text) == ANSWER
    (sent,) = sandbox.stub.requests
    assert not sent.find(BLOCK)
    assert not sent.find("the-content-of-a-file")
    tools = [tool.get("name") for tool in sent.body.get("tools", [])]
    assert tools in ([], ["StructuredOutput"])
    assert sandbox.daemon_pid() == before, "a headless run starts no daemon"
    assert not (sandbox.tacit_home / "log" / "hook.count").exists()
    assert not list((sandbox.tacit_home / "spool").glob("*"))
    assert not holding(sandbox.home, MARK), "nothing of the text is left in the user's home"
    assert not wait_until_gone(sandbox.home)


TYPED = "7c0ffee0-1234-4abc-8def-000000000001"
OLD = "The rate limiter runs in the billing service"
NEW = "The rate limiter runs in the gateway"
STATED = f"Go on with the move. {NEW}, because billing must stay free of it."
WRITTEN = {
    "statements": [
        {
            "content": NEW,
            "kind": "decision",
            "message": 1,
            "quote": NEW,
            "further": [],
            "when": ["editing the gateway"],
            "confidence": 0.8,
            "fates": [{"memory": "m1", "fate": "supersede", "reason": "it moved to the gateway"}],
        }
    ]
}


def allow_writing(sandbox, name):
    """The user lets the client write up sessions; the stub model answers."""
    model = (
        f"    model: {opencode_probe.PROVIDER}/{opencode_probe.SMALL_MODEL}\n" if name == "opencode" else ""
    )
    sandbox.configure(f"capture:\n  extractor:\n    provider: {name}\n{model}    least_chars: 0\n")
    sandbox.remember(OLD, kind="decision")
    structured = CallTool(name="StructuredOutput", input=WRITTEN)
    answers = (structured, Say(text="done")) if name == "claude" else (Say(text=json.dumps(WRITTEN)),)
    sandbox.stub.script.append(ScriptedReply(when="Messages:", answers=answers))


def wait_until_replaced(sandbox):
    end = time.monotonic() + 90
    while OLD in (found := sandbox.contents()) and time.monotonic() < end:
        time.sleep(0.3)
    # The user's own sentence is stored, with its reason.
    assert any(text.startswith(NEW) for text in found)
    assert OLD not in found


@pytest.mark.long
def test_a_finished_session_is_written_up_by_one_headless_run_and_the_next_one_knows(sandbox, claude):
    allow_writing(sandbox, "claude")
    claude.install()
    claude.ask(STATED, PATH=sandbox.search_path)
    (path,) = claude.transcripts()
    assert '"promptSource":"sdk"' in path.read_text()
    # What a program sent is not the user's word: such a session is not written up. A person typed the same into another one.
    typed = path.with_name(f"{TYPED}.jsonl")
    lines = path.read_text().replace(path.stem, TYPED)
    typed.write_text(lines.replace('"promptSource":"sdk","turnOrigin":"sdk"', '"promptSource":"typed"'))
    sandbox.tacit("import", "transcripts", str(typed), "--write-up", "--yes")
    wait_until_replaced(sandbox)
    asked = [sent for sent in sandbox.stub.requests if sent.find("Messages:")]
    assert len(asked) == 1, "asked once, and the headless run is not a session of its own"
    assert asked[0].find(OLD), "the memory it may concern is sent along"
    claude.ask("In which service do I look for the rate limiter?", PATH=sandbox.search_path)
    told = sandbox.stub.agent_requests[-1]
    assert told.find(NEW)
    assert not told.find(OLD)
    sandbox.tacit("stop")
    with closing(sandbox.engine()) as engine:
        told = engine.status()
    assert (told.extractor.failed, told.store.sessions) == (0, 2)
