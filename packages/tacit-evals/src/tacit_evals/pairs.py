"""Pairs: two stored statements that may disagree, settled by the agent in the session that shows which holds. In: written pairs, recorded answers.

Each of the 80 pairs of `packages/tacit-evals/pairs` stands in a store of 60 statements of its project: 40 disagree, 40 can both hold. The pair and the rest are stored
through the shipped engine: what the user stated by `remember`, what an agent noted by `memory_add` in a session in which the names of the note
were typed, each of the two in a session of its own, the rest four to a session. Then a session starts, and the lines of the pair's session happen. A reader
who saw the start block and these lines, and no label, said what it would store; its answers are recorded in `packages/tacit-evals/answers/pairs` under the request
that they were given for, and count for no other. The call is really made, and the next session's block and both memories are judged.

Run: `python -m tacit_evals.pairs` scores the recorded answers. `--write FOLDER` writes the requests, shuffled, for some readers.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tacit.app.engine import Engine
from tacit.app.values import Caller
from tacit.app.wiring import open_engine
from tacit.config.environment import one_thread_for_arrays
from tacit.config.settings import EmbedderSettings
from tacit.errors import TacitError
from tacit.hosts.claude_code import ClaudeCode
from tacit.mcp.tools import BY_NAME, call
from tacit.model.memory import BY_TOOL, Memory, Speaker
from tacit.model.pack import Block
from tacit.model.session import SessionKey
from tacit.model.signal import PromptSubmitted, SessionEnded, SessionStarted, Signal
from tacit.ports.models import Embedder
from tacit.providers.clock import FakeClock
from tacit.providers.embedding import make_embedder

DATA = Path(__file__).resolve().parents[2] / "pairs"
ANSWERS = Path(__file__).resolve().parents[2] / "answers" / "pairs" / "answers.json"
STORE, OLDER_AT, NEWER_AT, PER_SESSION = 60, 15, 45, 4
HALF_DAY_MS, MINUTE_MS = 43_200_000, 60_000
NOW_MS = 1_788_000_000_000
"""When the first statement was stored; later ones follow by half days."""
HOST = "claude-code"

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedPair:
    """What became of a pair.

    Attributes:
        row: as written.
        told: the block said that the two may not both hold.
        lines: pairs that the block spoke of.
        answered: whether an answer is recorded.
        called: whether the reader stored anything.
        ended, behind: which of `older` and `newer` ended, or ranks behind.
        first: whether the right one stands before the other in the next block; of compatible ones, whether both stand there.
        answer: of the tool.
    """

    row: Row
    told: bool
    lines: int
    answered: bool
    called: bool
    ended: frozenset[str]
    behind: frozenset[str]
    first: bool
    answer: str = ""

    @property
    def right(self) -> bool:
        """Whether the right one holds and stands first, and the other ended, where the user said so, or ranks behind; of compatible ones, whether both hold."""
        if self.row["kind"] == "compatible":
            return not (self.ended or self.behind)
        wrong = "older" if self.row["right"] == "newer" else "newer"
        by_user = self.row["user_says"] and self.row[f"{wrong}_by"] == "user"
        settled = wrong in self.ended or (wrong in self.behind and not by_user)
        return settled and self.row["right"] not in self.ended | self.behind and self.first


class PairStore:
    """One pair in a store of its own."""

    def __init__(self, root: Path, row: Row, rest: Sequence[str], embedder: Embedder) -> None:
        """Store everything; `row` is the pair, `rest` the other statements of its project."""
        self._clock = FakeClock(NOW_MS, seed=int(row["id"].strip("p")))
        self._cwd = os.fspath(root / row["project"])
        Path(self._cwd).mkdir()
        self.engine: Engine = open_engine(root / "home", clock=self._clock, embedder=embedder)
        self._capabilities = ClaudeCode().capabilities
        self._row = row
        self.ids: dict[str, str] = {}
        statements = [(text, "user", "") for text in rest[: STORE - 2]]
        statements.insert(OLDER_AT, (row["older"], row["older_by"], "older"))
        statements.insert(NEWER_AT, (row["newer"], row["newer_by"], "newer"))
        for number, (text, by, name) in enumerate(statements):
            session = SessionKey(host=HOST, session_id=name or f"rest-{number // PER_SESSION}")
            self._clock.advance(HALF_DAY_MS)
            stored = self._note(text, session) if by == "agent" else self._said(text, session)
            if name:
                self.ids[name] = stored.id

    def _said(self, text: str, session: SessionKey) -> Memory:
        (change,) = self.engine.remember(text, cwd=self._cwd, session=session)
        return _stored(change)

    def _note(self, text: str, session: SessionKey) -> Memory:
        """An agent's own note: the user had typed what it names, and said nothing that vouches for it."""
        self._signal(SessionStarted(session=session, key="start", at_ms=self._clock.now_ms(), cwd=self._cwd))
        self._prompt(f"Is this still so: {text.rstrip('.')}?", session, "first")
        (change,) = self.engine.remember(
            text, cwd=self._cwd, session=session, speaker=Speaker.AGENT, source=BY_TOOL
        )
        self._signal(SessionEnded(session=session, key="end", at_ms=self._clock.now_ms(), cwd=self._cwd))
        return _stored(change)

    def _signal(self, signal: Signal) -> Block:
        self._clock.advance(MINUTE_MS)
        return self.engine.handle(signal, capabilities=self._capabilities, deadline_ms=60_000).block

    def _prompt(self, text: str, session: SessionKey, key: str) -> Block:
        return self._signal(
            PromptSubmitted(session=session, key=key, at_ms=self._clock.now_ms(), cwd=self._cwd, text=text)
        )

    def begin(self, name: str) -> Block:
        """Start a session of a host that lists our tools; its block."""
        self._clock.advance(HALF_DAY_MS)
        self.engine.nudges.record_tools_listed(HOST)
        started = SessionStarted(
            session=SessionKey(host=HOST, session_id=name),
            key="start",
            at_ms=self._clock.now_ms(),
            cwd=self._cwd,
        )
        return self._signal(started)

    def happen(self, name: str) -> str:
        """Let the lines of the pair's session happen; they, with the blocks that prompts were given."""
        lines: list[str] = []
        for number, line in enumerate(self._row["session"]):
            lines.append(line)
            who, _, text = line.partition(": ")
            if who == "user":
                block = self._prompt(text, SessionKey(host=HOST, session_id=name), f"p{number}")
                lines += [block.text] if block.text else []
        return "\n".join(lines)

    def add(self, arguments: Mapping[str, object]) -> str:
        """Call `memory_add` as the agent of the session at work; its answer."""
        try:
            return call(
                self.engine, Caller(cwd=self._cwd, client="agent"), "memory_add", dict(arguments)
            ).text
        except TacitError as error:
            return f"{error.message} {error.hint}"

    def end(self, name: str) -> None:
        """End a session."""
        key = SessionKey(host=HOST, session_id=name)
        self._signal(SessionEnded(session=key, key="end", at_ms=self._clock.now_ms(), cwd=self._cwd))

    def memory(self, name: str) -> Memory:
        """`older` or `newer` as it is now."""
        return self.engine.show(self.ids[name])


def _stored(change: Any) -> Memory:
    memory: Memory | None = getattr(change, "memory", None)
    if memory is None:
        raise ValueError(f"A statement of the set was not stored: {change}")
    return memory


def request_of(block: str, happened: str) -> str:
    """What a reader sees: the start block, then what happened in the session."""
    return f"=== the start of your session: your memory gave you\n{block}\n=== then this happened\n{happened}\n=== your turn"


def key_of(request: str) -> str:
    """The name under which the answer to a request is recorded."""
    return hashlib.sha256(request.encode()).hexdigest()[:20]


def recorded(file: Path) -> dict[str, list[dict[str, object]]]:
    """The recorded answers: key of the request -> the calls of memory_add that the reader made."""
    return json.loads(file.read_text("utf-8"))["answers"] if file.exists() else {}


def judged(
    row: Row, rest: Sequence[str], embedder: Embedder, answers: Mapping[str, list[dict[str, object]]]
) -> tuple[JudgedPair, str]:
    """What became of a pair under the recorded answer, and the request."""
    with tempfile.TemporaryDirectory(prefix="pairs") as folder:
        world = PairStore(Path(folder), row, rest, embedder)
        with closing(world.engine):
            block = world.begin("now")
            told = [line for line in block.text.split("\n") if "may not both hold" in line]
            request = request_of(block.text, world.happen("now"))
            calls = answers.get(key_of(request))
            answer = "\n".join(world.add(arguments) for arguments in calls or ())
            world.end("now")
            following = world.begin("next").text
            return JudgedPair(
                row=row,
                told=any(all(_names(line, name) for name in world.ids.values()) for line in told),
                lines=len(told),
                answered=calls is not None,
                called=bool(calls),
                ended=frozenset(name for name in world.ids if world.memory(name).status != "active"),
                behind=frozenset(name for name in world.ids if world.memory(name).ranks_behind),
                first=_first(following, row),
                answer=answer,
            ), request


def _names(line: str, memory_id: str) -> bool:
    ids = line.partition("(")[2].partition(")")[0].split(", ")
    return any(memory_id.endswith(name) for name in ids)


def _first(block: str, row: Row) -> bool:
    """Whether the right statement of a pair stands before the other one; what was reworded in the call is not looked for."""
    places = {name: block.find(row[name]) for name in ("older", "newer")}
    if row["kind"] == "compatible":
        return min(places.values()) >= 0
    wrong = "older" if row["right"] == "newer" else "newer"
    return places[wrong] < 0 or 0 <= places[row["right"]] < places[wrong]


def write(folder: Path, requests: Sequence[str], readers: int) -> None:
    """Write the requests for some readers, in the order of their keys, and what the tool says of itself."""
    folder.mkdir(parents=True, exist_ok=True)
    tool = BY_NAME["memory_add"]
    about = {"name": tool.name, "description": tool.about, "arguments": tool.schema["properties"]}
    (folder / "tool.json").write_text(json.dumps(about, indent=1, ensure_ascii=False), "utf-8")
    rows = sorted(({"key": key_of(text), "request": text} for text in requests), key=lambda row: row["key"])
    for number in range(readers):
        part = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows[number::readers])
        (folder / f"reader{number + 1}.jsonl").write_text(part, "utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    """Score the recorded answers, or write what readers are to be asked."""
    one_thread_for_arrays()
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--write", type=Path, help="write the requests here, without labels")
    parser.add_argument("--readers", type=int, default=4)
    parser.add_argument("--answers", type=Path, default=ANSWERS)
    parser.add_argument("--misses", action="store_true", help="print the pairs that came out wrong")
    asked = parser.parse_args(arguments)
    rows: list[Row] = json.loads((DATA / "pairs.json").read_text("utf-8"))
    rest: dict[str, list[str]] = json.loads((DATA / "stores.json").read_text("utf-8"))
    embedder = make_embedder(EmbedderSettings(provider="minilm"), cache_entries=100_000)
    answers = recorded(asked.answers)
    done = [judged(row, rest[row["project"]], embedder, answers) for row in rows]
    if asked.write:
        write(asked.write, [request for _, request in done], asked.readers)
    report([one for one, _ in done], misses=asked.misses)
    return 0


def report(done: Sequence[JudgedPair], *, misses: bool) -> None:
    """Print the figures."""
    lines = [one.lines for one in done]
    print(f"lines in a block: {sum(lines) / len(lines):.1f}, at most {max(lines)}")
    for kind in ("disagree", "compatible"):
        of_kind = [one for one in done if one.row["kind"] == kind]
        answered = [one for one in of_kind if one.answered]
        wrong = [one for one in answered if not one.right]
        fates = Counter(
            f"{'ended' if one.ended else 'behind' if one.behind else 'as before'}" for one in answered
        )
        print(
            f"{kind}: {len(of_kind)} pairs, {sum(one.told for one in of_kind)} with the line, {len(answered)} answered,"
            f" {sum(one.called for one in answered)} with a call, {len(answered) - len(wrong)} right"
            f" ({dict(fates)})"
        )
        for one in wrong if misses else ():
            print(
                f"  {one.row['id']} told={one.told} called={one.called} ended={sorted(one.ended)} behind={sorted(one.behind)}"
                f" first={one.first}: {one.answer[:300]}"
            )


if __name__ == "__main__":
    sys.exit(main())
