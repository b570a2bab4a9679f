"""Programs on the published SDKs behind `tacit proxy`, with daemon and shipped model: what is known stands in the requests that the model gets."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from e2e.drivers.machine import Machine
from scripted_model import ScriptedModel

SMS = "Text messages go through Vonage; Twilio was dropped because of its price."
LEDGER = "Amounts in src/ledger/ are integers in cents."
LEASED = "`scripts/ship.sh staging` failed with: lease is held. Run `scripts/lease.sh drop staging` first."
OTHERS = ("The mobile app is written in Flutter.", "Invoices are archived after ninety days.", "Pull requests are merged by squashing.")  # fmt: skip
QUESTION = "Which service do our text messages go through?"
HELLO = "Good morning! The login page is too slow."


@contextmanager
def proxy(machine: Machine, model: ScriptedModel, *options: str) -> Iterator[str]:
    """Run `tacit proxy` on the machine until the block ends; its address."""
    told = ("--port", "0", "--openai", f"{model.url}/v1", "--anthropic", model.url, "--deadline-ms", "10000")
    process = subprocess.Popen(
        [sys.executable, "-m", "tacit.cli.main", "proxy", *told, *options, "--json"],
        cwd=machine.project,
        env=machine.environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        text = ""
        while not text.rstrip().endswith("}"):
            line = process.stdout.readline()
            assert line, process.stderr.read() if process.stderr else ""
            text += line
        yield json.loads(text)["url"]
    finally:
        process.terminate()
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 0, errors
        assert not list(machine.home.run_dir.glob("proxy-*.json"))


class Program:
    """A program that keeps its own list of messages, and knows nothing of Tacit but an address."""

    def __init__(self, api: str, url: str, model: ScriptedModel, **headers: str) -> None:
        self.api, self.model = api, model
        name = "anthropic" if api == "messages" else "openai"
        sdk = pytest.importorskip(name)
        address = url if api == "messages" else f"{url}/v1"
        self.client = (sdk.Anthropic if api == "messages" else sdk.OpenAI)(
            api_key="sk-hidden", base_url=address, default_headers=headers, max_retries=0
        )
        self.list: list[Any] = []

    def say(self, text: str) -> str:
        """The user's words go to the model; what arrived there, as JSON."""
        self.list.append({"role": "user", "content": text})
        return self._send()

    def ran(self, tool: str, args: dict[str, Any], output: str, *, failed: bool = False) -> str:
        """The model asked for a tool, and this came out; what arrived at the model then."""
        self.list.pop()  # the stub's own words
        call = f"call-{len(self.list)}"
        if self.api == "messages":
            self.list += [
                {"role": "assistant", "content": [{"type": "tool_use", "id": call, "name": tool, "input": args}]},
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call, "content": output, "is_error": failed}]},
            ]  # fmt: skip
        elif self.api == "chat":
            function = {"name": tool, "arguments": json.dumps(args)}
            self.list += [
                {"role": "assistant", "content": None, "tool_calls": [{"id": call, "type": "function", "function": function}]},
                {"role": "tool", "tool_call_id": call, "content": output},
            ]  # fmt: skip
        else:
            self.list += [
                {"type": "function_call", "call_id": call, "name": tool, "arguments": json.dumps(args)},
                {"type": "function_call_output", "call_id": call, "output": output},
            ]
        return self._send()

    def _send(self) -> str:
        if self.api == "messages":
            with self.client.messages.stream(model="m", max_tokens=99, messages=self.list) as stream:
                said = stream.get_final_message().content[0].text
        elif self.api == "chat":
            with self.client.chat.completions.stream(model="m", messages=self.list) as stream:
                said = stream.get_final_completion().choices[0].message.content
        else:
            said = self.client.responses.create(model="m", input=self.list).output_text
        self.list.append({"role": "assistant", "content": said})
        return json.dumps(self.arrived)

    @property
    def arrived(self) -> dict[str, Any]:
        """The newest request that the model got."""
        return dict(self.model.model_requests[-1].body)

    @property
    def newest(self) -> str:
        """The newest message of it."""
        body = self.arrived
        return json.dumps((body.get("messages") or body["input"])[-1])


@pytest.mark.parametrize("api", ["messages", "responses"])
def test_what_is_known_comes_at_the_start_at_a_prompt_at_a_call_and_after_a_failure(live, api):
    machine = live("preset: focused\nrecall: {budgets: {index: 0}}")
    rule = "Answers are written in British English."
    machine.remember(rule)
    with ScriptedModel() as model, proxy(machine, model) as url:
        program = Program(api, url, model)
        assert rule in program.say(HELLO)  # the start pack
        for content in (SMS, *OTHERS):
            machine.remember(content, kind="fact", when="")
        machine.remember(LEDGER, when="")
        machine.remember(LEASED, kind="error_pattern", when="")
        assert "Vonage" in program.say(QUESTION)
        assert "Vonage" in program.newest
        assert "Flutter" not in program.newest
        program.say("The discount is subtracted twice.")
        program.ran("edit_file", {"path": "src/ledger/discount.py", "old_string": "a", "new_string": "b"}, "ok")  # fmt: skip
        assert "integers in cents" in program.newest
        program.say("Please put it on the test machine.")
        program.ran("bash", {"command": "scripts/ship.sh staging"}, "Error: lease is held", failed=True)
        assert "lease.sh drop" in program.newest
        bodies = [request.body for request in model.model_requests]
        name = "input" if api == "responses" else "messages"
        for before, after in itertools.pairwise(bodies):
            assert after[name][: len(before[name])] == before[name]  # prefix reuse 1.00
        program.client.close()


def test_a_restart_of_proxy_and_daemon_changes_no_byte(live):
    machine = live("preset: focused")
    machine.remember(SMS, kind="fact")
    with ScriptedModel() as model:
        with proxy(machine, model) as url:
            program = Program("messages", url, model)
            program.say(HELLO)
            for content in OTHERS:
                machine.remember(content, kind="fact", when="")
            program.say("What is the app for phones written in?")
            before = program.arrived
            assert "Flutter" in json.dumps(before)
            machine.remember("Bills are sent by post as well.", kind="fact", when="")
        machine.stop()
        with proxy(machine, model) as url:
            machine.wake()
            again = Program("messages", url, model)
            again.list = program.list
            again.say("Thanks.")
            assert again.arrived["system"] == before["system"]
            assert again.arrived["messages"][:3] == before["messages"]
            machine.kill()  # the daemon goes: what was handed over keeps its bytes
            again.say("And one more thing.")
            assert again.arrived["messages"][:3] == before["messages"]
            assert again.arrived["system"] == before["system"]
