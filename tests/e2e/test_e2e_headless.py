"""Writers over the real clients: one request, no hook of ours, no session kept, nothing left running; only the model is a stub."""

from __future__ import annotations

import json
import time
from contextlib import closing
from pathlib import Path

import pytest

from e2e.drivers.clients import client_path
from loopback import QuietHandler, loopback
from tacit.errors import ProviderError
from tacit.hosts.probe import claude_code as claude_probe
from tacit.hosts.probe import opencode as opencode_probe
from tacit.hosts.probe.stub_model import CallTool, Reply, Say
from tacit.ports.writer import WriterRequest
from tacit.providers.writing.clients import client_named
from tacit.providers.writing.command_line import CommandLineWriter

pytestmark = pytest.mark.e2e

BLOCK = r"<tacit-memory"
RULE = "Always run ruff before every commit"
LEARNINGS = {"type": "array", "items": {"type": "string"}}
SCHEMA = {
    "type": "object",
    "properties": {"learnings": LEARNINGS},
    "required": ["learnings"],
    "additionalProperties": False,
}
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
    return CommandLineWriter(client_named(name), model=model, timeout_s=timeout_s, environ=environ)


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
    sandbox.stub.script += [Reply(when=MARK, answers=(structured, text)), Reply(when=MARK, answers=(text,))]
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


@pytest.mark.parametrize("name", ["claude", "opencode"])
def test_hooks_that_run_all_the_same_do_nothing_in_a_headless_run(sandbox, request, name):
    client = request.getfixturevalue(name)
    client.install()
    sandbox.remember(RULE, kind="preference", when="always")
    if name == "claude":
        client.ask("Remember that we always run `make lint` before committing.", TACIT_HEADLESS="1")
    else:
        with client.serve(TACIT_HEADLESS="1") as server:
            server.prompt(server.create_session(), "Remember that we always run `make lint` first.")
    assert sandbox.stub.agent_requests
    assert not any(sent.find(BLOCK) for sent in sandbox.stub.requests)
    assert sandbox.daemon_pid() is None
    assert not (sandbox.tacit_home / "log" / "hook.count").exists()
    assert not list((sandbox.tacit_home / "spool").glob("*"))
    assert sandbox.contents() == [RULE]


class Hanging(QuietHandler):
    """Takes requests and never answers."""

    def do_POST(self) -> None:  # noqa: N802 - the name that the library calls
        time.sleep(600)


class Garbled(QuietHandler):
    """Answers every request with 200 and half a line."""

    def do_POST(self) -> None:  # noqa: N802 - the name that the library calls
        self.rfile.read(int(self.headers.get("content-length", 0)))
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", "9")
        self.end_headers()
        self.wfile.write(b'data: {"x')


@pytest.mark.parametrize("handler", [Hanging, Garbled])
@pytest.mark.parametrize("name", ["claude", "opencode"])
def test_a_run_that_gets_no_answer_ends_with_its_whole_group(sandbox, request, name, handler):
    request.getfixturevalue(name)
    with loopback(handler) as url:
        with pytest.raises(ProviderError) as caught:
            writer_over(name, sandbox, url=url, timeout_s=20.0).write(asking(MARK))
        assert caught.value.reason in ("timed out", "refused", "garbage")
        if handler is Hanging:
            assert caught.value.reason == "timed out"
        assert not wait_until_gone(sandbox.home)
    assert not holding(sandbox.home, MARK)


def test_a_client_without_login_says_so(sandbox, claude):
    environ = environment_of("claude", sandbox)
    environ.pop("ANTHROPIC_API_KEY")
    writer = CommandLineWriter(client_named("claude"), timeout_s=START_S, environ=environ)
    with pytest.raises(ProviderError) as caught:
        writer.write(asking(MARK))
    assert caught.value.reason == "not logged in"
    assert not sandbox.stub.requests


def test_a_finished_session_is_written_up_by_one_headless_run(sandbox, claude):
    sandbox.configure("capture:\n  extractor:\n    provider: claude\n    least_chars: 0\n")
    claude.install()
    said = "Put the limiter into the gateway, the billing service must stay free of it. Go."
    learning = {
        "content": "The billing service must stay free of the rate limiter",
        "kind": "decision",
        "message": 1,
        "quote": "the billing service must stay free of it",
        "when": ["editing the billing service"],
        "confidence": 0.8,
        "fates": [],
    }
    found = CallTool(name="StructuredOutput", input={"statements": [learning]})
    sandbox.stub.script.append(Reply(when="Messages:", answers=(found, Say(text="done"))))
    claude.ask(said, PATH=sandbox.search_path)
    assert any(
        "free of the rate limiter" in text for text in sandbox.wait_for_memory("free of the rate limiter")
    )
    sandbox.tacit("stop")
    asked = [sent for sent in sandbox.stub.requests if sent.find("Messages:")]
    assert len(asked) == 1, "asked once, and the headless run is not a session of its own"
    with closing(sandbox.engine()) as engine:
        told = engine.status()
    assert (told.extractor.asked, told.extractor.failed, told.store.sessions) == (1, 0, 1)
