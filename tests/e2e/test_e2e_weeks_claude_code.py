"""A week in `multispace` and in `scoped`, with the real Claude Code, and what reaches the model.

`weeks/<preset>.yaml` holds what is said and done, `weeks/<preset>.given.yaml` what the model was given; `--renew-golden` writes these. Read them as a user would.
The week of one preset is part of CI, the others are run by `just long`.
"""

from __future__ import annotations

import re

import pytest

from e2e.drivers.claude import ALLOWED_TOOLS
from e2e.drivers.machine import wait_for
from e2e.drivers.week import WEEKS, dump, given, known, week_of
from e2e.test_e2e_mcp import WithTools, load_tools
from presets.acceptance import acceptance
from scripted_model import ScriptedReply
from tacit.hosts.probe.wire import CallTool, Say

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(600)]


class Claude(WithTools):
    """The client of a person who lets Tacit's tools and the usual ones run."""

    def _command(self) -> list[str]:
        *command, tools = super()._command()
        return [*command, f"{tools} {ALLOWED_TOOLS}"]


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
    sandbox.stub.script[:] = [
        ScriptedReply(when=words, answers=(*calls, Say(text=turn.get("answer", "Done."))))
    ]


@pytest.mark.parametrize(
    "preset",
    [
        pytest.param("multispace", marks=acceptance("multispace", "WEEK")),
        pytest.param("scoped", marks=(acceptance("scoped", "WEEK"), pytest.mark.long)),
    ],
)
def test_a_week_in_claude_code_gets_these_blocks(sandbox, claude, preset, check_golden):
    week = week_of(preset)
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
                now = given(list(sandbox.stub.agent_requests[-1].messages))
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
