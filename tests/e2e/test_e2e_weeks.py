"""A week with a preset in the real Claude Code: five sessions of eight turns, and every block that reaches the model.

`weeks/<preset>.yaml` holds what is said and done, `weeks/<preset>.given.yaml` what the model was given; `--renew-golden` writes it.
"""

from __future__ import annotations

import re
from functools import reduce
from pathlib import Path

import pytest
import yaml

from e2e.drivers.claude import ALLOWED_TOOLS
from e2e.drivers.machine import wait_for
from e2e.test_e2e_mcp import WithTools, load_tools
from tacit.hosts.probe.stub_model import CallTool, Reply, Say

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(400)]

WEEKS = Path(__file__).parent / "weeks"
_BLOCK = re.compile(r"<tacit-memory.*?</tacit-memory>|This session has had its [^\"\\]*", re.DOTALL)
_MADE_AT = (
    (re.compile(r"20\d\d-\d\d-\d\d"), "DATE"),
    (re.compile(r"\([0-9a-f]{7,12}\)"), "(COMMIT)"),
    (re.compile(r"\(id \w+\)"), "(id ID)"),
    (re.compile(r"(?:just now|\d+ minutes? ago)"), "SOME TIME AGO"),
)


class Claude(WithTools):
    """The client of a person who lets Tacit's tools and the usual ones run."""

    def _command(self) -> list[str]:
        *command, tools = super()._command()
        return [*command, f"{tools} {ALLOWED_TOOLS}"]


def texts(value: object) -> list[str]:
    """Every text in a request, in order."""
    if isinstance(value, str):
        return [value]
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for part in parts for text in texts(part)]


def given(request) -> list[str]:
    """The blocks of a request, without what differs from run to run."""
    blocks = (
        block for text in texts(list(request.messages)) for block in _BLOCK.findall(text.replace("\\n", "\n"))
    )
    return [reduce(lambda told, made: made[0].sub(made[1], told), _MADE_AT, block) for block in blocks]


def script(sandbox, turn) -> None:
    """Tell the stub model what it does and says when it is asked this."""
    calls = []
    for call in turn.get("does", ()):
        ((tool, told),) = call.items()
        if "file_path" in told:
            told = {**told, "file_path": str(sandbox.project / told["file_path"])}
        if tool == "Edit":  # the client wants to have read what it edits
            calls.append(CallTool(name="Read", input={"file_path": told["file_path"]}))
        calls.append(CallTool(name=tool, input={**told, "description": "do it"} if tool == "Bash" else told))
    words = re.escape(turn["say"].strip().splitlines()[0])
    sandbox.stub.script[:] = [Reply(when=words, answers=(*calls, Say(text=turn.get("answer", "Done."))))]


@pytest.mark.parametrize("preset", ["multispace", "scoped"])
def test_a_week_of_sessions_gets_these_blocks(sandbox, claude, preset, check_golden):
    week = yaml.safe_load((WEEKS / f"{preset}.yaml").read_text("utf-8"))
    sandbox.configure(f"preset: {preset}\nmcp:\n  tools: full\n")
    for name, text in week["files"].items():
        sandbox.write(name, text)
    sandbox.git("config", "user.email", "ada@example.com")
    sandbox.git("config", "user.name", "Ada")
    sandbox.git("add", ".")
    client = Claude(sandbox, claude.executable)
    client.install()
    sandbox.wake_daemon()
    load_tools(sandbox)
    days = []
    for session in week["sessions"]:
        assert len(session["turns"]) == 8
        before: list[str] = []
        turns = []
        with client.session() as talk:
            for turn in session["turns"]:
                script(sandbox, turn)
                sandbox.stub.clear()
                talk.ask(turn["say"])
                now = given(sandbox.stub.agent_requests[-1])
                turns.append({"say": turn["say"], "given": now[len(before) :]})
                before = now
        wait_for(lambda words=session["learned"]: any(words in text for text, _ in known(sandbox)))
        days.append(turns)
    kept = [
        f"{times} x {text}"
        for text, times in known(sandbox)
        if not text.startswith(("impl:", "block:", "next:", "done:"))
    ]
    check_golden(WEEKS / f"{preset}.given.yaml", dump({"sessions": days, "stated": sorted(kept)}))


def known(sandbox) -> list[tuple[str, int]]:
    """Every active memory, with how often it was stated."""
    listed = sandbox.ask_daemon("/v1/memories?limit=500")["memories"]
    return [(memory["content"], memory["frequency"]) for memory in listed]


class _Blocks(yaml.SafeDumper):
    """Writes texts of several lines as they are."""


_Blocks.add_representer(
    str,
    lambda dumper, text: dumper.represent_scalar(
        "tag:yaml.org,2002:str", text, style="|" if "\n" in text else None
    ),
)


def dump(value: object) -> str:
    return yaml.dump(value, Dumper=_Blocks, allow_unicode=True, sort_keys=False, width=10_000)
