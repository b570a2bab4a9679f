"""A week with the preset `typed` and the real OpenCode: five sessions of eight turns, and every block that the agent is given.

`weeks/typed.turns.yaml` holds what is said; `weeks/typed.yaml` what was given, with `DAY` for each date. Read both as a person would.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from e2e.drivers.machine import wait_for
from e2e.drivers.sandbox import Sandbox
from presets.acceptance import acceptance
from tacit.hosts.probe.stub_model import CallTool, Reply, Say, find_places

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]
WEEKS = Path(__file__).parent / "weeks"
WEEK = yaml.safe_load((WEEKS / "typed.turns.yaml").read_text("utf-8"))
_BLOCK = re.compile(r"<tacit-memory.*?</tacit-memory>", re.DOTALL)
_DATE = re.compile(r"20\d\d-\d\d-\d\d")


class _Readable(yaml.SafeDumper):
    """Writes text of several lines as a block."""

    def represent_str(self, data: str) -> yaml.ScalarNode:
        return self.represent_scalar("tag:yaml.org,2002:str", data, style="|" if "\n" in data else None)


_Readable.add_representer(str, _Readable.represent_str)


def _script() -> list[Reply]:
    """What the stub model answers to each prompt of the week."""
    replies = []
    for turn in (turn for turns in WEEK.values() for turn in turns):
        run = turn.get("runs")
        call = [CallTool(name="bash", input={"command": run, "description": "run it"})] if run else []
        replies.append(
            Reply(when=re.escape(turn["say"].splitlines()[-1]), answers=(*call, Say(text=turn["answer"])))
        )
    return replies


def _blocks(sandbox: Sandbox) -> list[str]:
    """The blocks in the newest request of the agent."""
    request = sandbox.stub.agent_requests[-1]
    texts = dict.fromkeys(place.text for place in find_places(request.body, r"<tacit-memory"))
    return [_DATE.sub("DAY", block) for text in texts for block in _BLOCK.findall(text)]


@acceptance("typed", "WEEK")
def test_a_week_of_five_sessions(sandbox, opencode, check_golden):
    sandbox.stub.script.extend(_script())
    sandbox.configure("preset: typed\nembedder: {provider: minilm}\n")
    opencode.install()
    sandbox.wake_daemon()
    given: dict[str, list[dict[str, object]]] = {}
    with opencode.serve() as server:
        for day, turns in WEEK.items():
            assert len(turns) == 8
            session, seen = server.create_session(), set()
            for turn in turns:
                if meanwhile := turn.get("meanwhile"):
                    sandbox.tacit("remember", meanwhile["text"], "--kind", meanwhile["kind"])
                assert server.prompt(session, turn["say"]).error is None
                new = [block for block in _blocks(sandbox) if block not in seen]
                seen.update(new)
                given.setdefault(day, []).append({"say": turn["say"], "given": new})
                if word := turn.get("learns"):
                    _wait_for(sandbox, word)
    text = yaml.dump(given, Dumper=_Readable, sort_keys=False, allow_unicode=True, width=140)
    check_golden(
        WEEKS / "typed.yaml",
        f"# What the agent is given in the week. `--renew-golden` writes this file.\n{text}",
    )


def _wait_for(sandbox: Sandbox, word: str) -> None:
    """Wait until a memory holds `word`."""
    wait_for(lambda: word in str(sandbox.ask_daemon("/v1/memories?limit=500")))
