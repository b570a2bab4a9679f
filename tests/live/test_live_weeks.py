"""A week with the real OpenCode in each of two presets: five sessions of eight turns; what stands in the request of each turn that is new.

`weeks/week.yaml` holds what is known and said, `weeks/<preset>.txt` what each turn brought. Read these files as a user would.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from e2e.drivers.clients import require_client
from e2e.drivers.machine import PATIENT_MS
from e2e.drivers.opencode import OpenCode
from e2e.drivers.sandbox import Sandbox
from golden.recorded_day import read_yaml
from live.refresh.plugin import section
from presets.acceptance import acceptance
from tacit.hosts.probe.stub_model import ModelRequest, find_places

pytestmark = pytest.mark.e2e
WEEKS = Path(__file__).parent / "weeks"
DATED = re.compile(r" \((?:importance: [\d.]+; )?[^()]*\d{4}-\d\d-\d\d\)$|^\[\d+%, \d{4}-\d\d-\d\d\] ")
"""What depends on the day of the run."""


def brought(request: ModelRequest, preset: str) -> Sequence[str]:
    """The memories that the turn of a request brought, in their order, without dates and shares."""
    if preset == "refresh":
        (place,) = find_places(request.body, r"\[MEMORY\]\n")
        lines = section(place.text[place.offset :], "Relevant to Current Task").splitlines()
        return [DATED.sub("", line.removeprefix("- ")) for line in lines]
    newest = len(request.messages) - 1
    places = [
        place
        for place in find_places(request.body, r"\[Context from memory\]\n")
        if int(place.path.partition("[")[2].partition("]")[0]) == newest
    ]
    blocks = [place.text[place.offset :].partition("</tacit-memory>")[0] for place in places]
    return [
        DATED.sub("", line) for block in blocks for line in block.splitlines() if " (importance: " in line
    ]


@pytest.mark.parametrize(
    ("preset", "settings"),
    [
        pytest.param(
            "ambient",
            "memory_injection:\n  ambient_enabled: true\n  pinned_types: [goal]\n",
            marks=acceptance("ambient", "WEEK", "HISTORY", "P7", "LAG"),
        ),
        pytest.param("refresh", "", marks=acceptance("refresh", "WEEK", "PHASE-4", "OTHER-WORDS", "PHASE-3")),
    ],
)
def test_five_sessions_of_eight_turns_bring_these_memories(preset, settings, check_golden):
    client, week = require_client("opencode"), read_yaml(WEEKS / "week.yaml")
    lines = [f"# OpenCode with the preset {preset}. `just golden` writes this file."]
    with Sandbox() as machine:
        machine.search_path = f"{client.parent}:{machine.search_path}"
        machine.configure(f"preset: {preset}\n{settings}")
        opencode = OpenCode(machine, client)
        opencode.install()
        for memory in week["known"]:
            machine.remember(memory["content"], kind=memory["kind"])
        machine.wake_daemon()
        with opencode.serve(TACIT_HOOK_DEADLINE_MS=PATIENT_MS) as server:
            for one in week["sessions"]:
                session = server.create_session()
                lines += ["", one["day"]]
                for words in one["says"]:
                    server.prompt(session, words)
                    request = machine.stub.agent_requests[-1]
                    lines += [f"  > {words}", *(f"    {line}" for line in brought(request, preset))]
                stored = str(server.messages(session))
                assert "[Context from memory]" not in stored, "the host's own history holds no block"
                assert "[MEMORY]" not in stored
                if any(words.startswith("Remember that") for words in one["says"]):
                    machine.wait_for_memory("ogs are welcome")
    assert sum(line.startswith("  > ") for line in lines) == 40
    check_golden(WEEKS / f"{preset}.txt", "\n".join((*lines, "")))
