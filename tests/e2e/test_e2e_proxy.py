"""Real clients that know nothing of Tacit but an address: behind `tacit proxy` their model gets what is known. Only the model is a stub."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import contextmanager

import pytest

pytestmark = pytest.mark.e2e

SMS = "Text messages go through Vonage; Twilio was dropped because of its price."
QUESTION = "Which service do our text messages go through?"


@contextmanager
def proxy(sandbox):
    """Run `tacit proxy` in front of the stub until the block ends; its address."""
    url = sandbox.stub.url
    told = ["--port", "0", "--openai", f"{url}/v1", "--anthropic", url, "--deadline-ms", "5000", "--json"]
    command = [sys.executable, "-m", "tacit.cli.main", "proxy", *told]
    started = sandbox.start(command, sandbox.environment(), stdout=subprocess.PIPE)
    text = ""
    while not text.rstrip().endswith("}"):
        line = started.stdout.readline()
        assert line, "the proxy did not start"
        text += line
    try:
        yield json.loads(text)["url"]
    finally:
        started.terminate()
        assert started.wait(30) == 0
        started.stdout.close()


def test_claude_code_behind_the_proxy(sandbox, claude):
    sandbox.remember("Answer in British English.", kind="preference")
    with proxy(sandbox) as url:
        sandbox.wait_for_daemon()
        with claude.session(ANTHROPIC_BASE_URL=url) as session:
            session.ask("hello")
            first = sandbox.stub.agent_requests[-1]
            assert "British English" in json.dumps(first.body["system"])
            sandbox.remember(SMS, kind="fact")
            session.ask("thanks, that is all")
            assert "Vonage" not in json.dumps(sandbox.stub.agent_requests[-1].body)
            session.ask(QUESTION)
            third = sandbox.stub.agent_requests[-1]
            assert "Vonage" in json.dumps(third.messages[-1])
            assert third.body["system"] == first.body["system"]
            session.ask("Good. Make its button green.")
            fourth = sandbox.stub.agent_requests[-1]
            assert json.dumps(fourth.body).count("Vonage") == 1
