"""A week in each preset with a real client: five sessions of eight turns, and what reaches the model.

`weeks/<preset>.yaml` holds what is said and done (`opencode.yaml` that of `ambient` and `refresh`), `weeks/<preset>.given.yaml` or `.txt` what the model
was given; `--renew-golden` writes these. Read them as a user would.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import reduce
from pathlib import Path

import pytest
import yaml

from e2e.drivers.claude import ALLOWED_TOOLS
from e2e.drivers.machine import PATIENT_MS, wait_for
from e2e.test_e2e_mcp import WithTools, load_tools
from live.refresh.plugin import section
from presets.acceptance import acceptance
from tacit.hosts.probe.stub_model import CallTool, ModelRequest, Reply, Say, find_places

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(600)]

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


def week_of(name: str):
    """What is said and done in a week."""
    return yaml.safe_load((WEEKS / f"{name}.yaml").read_text("utf-8"))


def texts(value: object) -> list[str]:
    """Every text in a request, in order."""
    if isinstance(value, str):
        return [value]
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for part in parts for text in texts(part)]


def given(value: object) -> list[str]:
    """The blocks in a part of a request, without what differs from run to run."""
    blocks = (block for text in texts(value) for block in _BLOCK.findall(text.replace("\\n", "\n")))
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


@pytest.mark.parametrize(
    "preset",
    [
        pytest.param("multispace", marks=acceptance("multispace", "WEEK")),
        pytest.param("scoped", marks=acceptance("scoped", "WEEK")),
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
                sandbox.stub.script[:] = [Reply(when=words, answers=(*call, Say(text=turn["answer"])))]
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
