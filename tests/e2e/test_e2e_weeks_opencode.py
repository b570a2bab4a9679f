"""A week in `typed`, in `ambient` and in `refresh`, with the real OpenCode, and what reaches the model.

`weeks/typed.yaml` and `weeks/opencode.yaml` hold what is said and done, `weeks/typed.given.yaml`, `ambient.txt` and `refresh.txt` what the model
was given; `--renew-golden` writes these. Read them as a user would.
They are run by `just long`; CI has the week of `multispace` in Claude Code, and OpenCode in `test_e2e_opencode.py` and `live/refresh`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest

from e2e.drivers.machine import PATIENT_MS, wait_for
from e2e.drivers.week import WEEKS, dump, given, known, week_of
from live.refresh.plugin import section
from presets.acceptance import acceptance
from scripted_model import ScriptedReply, find_places
from tacit.hosts.probe.stub_model import StubRequest
from tacit.hosts.probe.wire import CallTool, Say

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(600)]

DATED = re.compile(r" \((?:importance: [\d.]+; )?[^()]*\d{4}-\d\d-\d\d\)$|^\[\d+%, \d{4}-\d\d-\d\d\] ")
"""What depends on the day of the run."""


def brought(request: StubRequest, preset: str) -> Sequence[str]:
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
            marks=(acceptance("ambient", "WEEK", "HISTORY", "P7", "LAG"), pytest.mark.long),
        ),
        pytest.param(
            "refresh",
            "",
            marks=(acceptance("refresh", "WEEK", "PHASE-4", "OTHER-WORDS", "PHASE-3"), pytest.mark.long),
        ),
    ],
)
def test_a_week_in_opencode_brings_these_memories(sandbox, opencode, preset, settings, check_golden):
    week = week_of("opencode")
    lines = [f"# OpenCode with the preset {preset}. `just golden` writes this file."]
    sandbox.configure(f"preset: {preset}\n{settings}")
    opencode.install()
    for memory in week["known"]:
        sandbox.remember(memory["content"], kind=memory["kind"])
    sandbox.wake_daemon()
    with opencode.serve(TACIT_HOOK_DEADLINE_MS=PATIENT_MS) as server:
        for one in week["sessions"]:
            session = server.create_session()
            lines += ["", one["day"]]
            for words in one["says"]:
                server.prompt(session, words)
                lines += [
                    f"  > {words}",
                    *(f"    {line}" for line in brought(sandbox.stub.agent_requests[-1], preset)),
                ]
            stored = str(server.messages(session))
            assert "[Context from memory]" not in stored, "the host's own history holds no block"
            assert "[MEMORY]" not in stored
            if any(words.startswith("Remember that") for words in one["says"]):
                sandbox.wait_for_memory("ogs are welcome")
    assert sum(line.startswith("  > ") for line in lines) == 40
    check_golden(WEEKS / f"{preset}.txt", "\n".join((*lines, "")))


@pytest.mark.long
@acceptance("typed", "WEEK")
def test_a_week_of_typed_in_opencode(sandbox, opencode, check_golden):
    sandbox.configure("preset: typed\nembedder: {provider: minilm}\n")
    opencode.install()
    sandbox.wake_daemon()
    told: dict[str, list[dict[str, object]]] = {}
    with opencode.serve() as server:
        for day, turns in week_of("typed").items():
            assert len(turns) == 8
            session, seen = server.create_session(), set()
            for turn in turns:
                if meanwhile := turn.get("meanwhile"):
                    sandbox.tacit("remember", meanwhile["text"], "--kind", meanwhile["kind"])
                run = turn.get("runs")
                call = [CallTool(name="bash", input={"command": run, "description": "run it"})] if run else []
                words = re.escape(turn["say"].splitlines()[-1])
                sandbox.stub.script[:] = [
                    ScriptedReply(when=words, answers=(*call, Say(text=turn["answer"])))
                ]
                assert server.prompt(session, turn["say"]).error is None
                new = [
                    block
                    for block in dict.fromkeys(given(sandbox.stub.agent_requests[-1].body))
                    if block not in seen
                ]
                seen.update(new)
                told.setdefault(day, []).append({"say": turn["say"], "given": new})
                if word := turn.get("learns"):
                    wait_for(lambda word=word: any(word in text for text, _ in known(sandbox)))
    check_golden(WEEKS / "typed.given.yaml", dump(told))
