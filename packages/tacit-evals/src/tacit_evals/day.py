"""Notes by rhythm: a developer's days through the real doors, with a recorded reader as the agent. What is noted, what of it lasts, and what it costs.

A day is typed prompt by prompt: the hook client's process, one daemon with the shipped model, and `tacit mcp` over standard input and output for each
session, as Claude Code starts them. The agent is a strong reader that saw what the model sees and nothing else: the server's instructions and tools, the
start block, each prompt behind what was injected with it, and the answers to its own calls. Nobody told it to look for notes. Its calls are carried out.
Its answers are recorded in `packages/tacit-evals/answers/days` under the request that they were given for. A request that differs only in other memories around the same
prompt gets the recorded answer too, and the output says how many did. A judge, who saw neither rules nor figures, said which memory holds which lasting thing.

Run: `python -m tacit_evals.day --data DIR [--only A ...]` plays DIR/everyday/typed_day.jsonl and the three days of `packages/tacit-evals/days`. `--judge-out FOLDER` writes
what a judge is asked, `--judge-in FOLDER` takes the judge's answers in, `--record FILE ...` takes a live reader's answers in.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import sys
import tempfile
import time
from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client, StdioServerParameters, stdio_client
from mcp.shared.exceptions import MCPError
from rich.console import Console
from rich.table import Table

from tacit.app.delivery_texts import NOT_KEPT, NUDGE
from tacit.config.home import Home
from tacit.daemon.launcher import write_launcher
from tacit.model.ids import LEAST_ENDING
from tacit.providers.tokens import ExactCounter
from tacit_evals.attacks.product import USERS, Memory, Product, write_transcript

Row = Mapping[str, Any]
Answer = Mapping[str, Any]
"""What the agent does: `calls` = [{"tool", "arguments"}], `say` = one line."""

EVALS = Path(__file__).resolve().parents[2]
DAYS, ANSWERS = EVALS / "days", EVALS / "answers" / "days"
MOST_ROUNDS = 4
"""Calls with their answers that follow one prompt."""
TYPED = "typed"
TAKEN_BACK = frozenset({("S4", 1)})
"""Lasting things of the typed day, by session and prompt, that a later prompt of the same day takes back."""
_IDS = ("id", "ids", "replaces")
_OTHER_ID = re.compile(r"\b(?!mem_)[a-z]{3}_[0-9a-z]{16}\b")
_LINE = "\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderRequest:
    """What the agent sees next; `key` is the same for the same text on another day and with other ids."""

    place: tuple[str, str, int, int]
    text: str
    key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryCall:
    """A call of a memory tool that was carried out, with its answer as the model reads it and the memories that the answer names."""

    session: str
    tool: str
    answer: str
    changed: tuple[str, ...] = ()


@dataclass(slots=True, kw_only=True)
class Day:
    """One day on one home. What was handed over and called is kept for the figures."""

    name: str
    rows: Sequence[Row]
    product: Product
    starts: list[str] = field(default_factory=list[str])
    carried: list[str] = field(default_factory=list[str])
    """What came with each prompt; "" = nothing."""
    calls: list[MemoryCall] = field(default_factory=list[MemoryCall])
    tools: str = ""

    def play(self) -> Generator[ReaderRequest, Answer, None]:
        """Play the day; yields what the agent sees and takes what it does."""
        launcher = write_launcher(Home(self.product.home))
        for row in self.rows:
            self.product.folder(row["project"])
        with start_blocking_portal() as portal:
            for session in dict.fromkeys(row["session"] for row in self.rows):
                rows = [row for row in self.rows if row["session"] == session]
                server = StdioServerParameters(
                    command=str(launcher),
                    args=["mcp"],
                    env={**os.environ, "TACIT_HOME": str(self.product.home)},
                    cwd=str(self.product.folder(rows[0]["project"])),
                )
                with portal.wrap_async_context_manager(Client(stdio_client(server))) as client:
                    yield from _HostSession(
                        day=self, name=session, rows=rows, portal=portal, client=client
                    ).play()

    def quiet(self) -> None:
        """Wait until the daemon has learned from what it heard: a person reads the answer and types meanwhile."""
        self.product.settle()
        while int(self.product.get("/v1/status")["store"]["handovers_pending"]):
            time.sleep(0.2)


@dataclass(slots=True, kw_only=True)
class _HostSession:
    """One session of the host: hooks, transcript, its own MCP server."""

    day: Day
    name: str
    rows: Sequence[Row]
    portal: BlockingPortal
    client: Client
    lines: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])

    def play(self) -> Generator[ReaderRequest, Answer, None]:
        project = self.rows[0]["project"]
        # A host lists the tools while the session starts; on any day but the first the store knows it from before.
        self.day.tools = self._tools()
        self.day.quiet()
        self.day.starts.append(self._hook("SessionStart", source="startup"))
        text = (
            f"A new session of the coding agent begins in the project {project}.\n\n{self.day.tools}\n\n"
            f"{_given('Context added at the start of the session', self.day.starts[-1])}"
        )
        for number, row in enumerate(self.rows):
            self.day.quiet()
            prompt = str(row["prompt"])
            if prompt.startswith("/compact"):
                self._hook("PreCompact", trigger="manual", custom_instructions=prompt.partition(" ")[2])
                self.day.starts.append(self._hook("SessionStart", source="compact"))
                text += _given("The conversation was compacted. Context added after it", self.day.starts[-1])
                continue
            carried = self._hook("UserPromptSubmit", prompt=prompt, prompt_id=f"{self.name}-{number}")
            self.day.carried.append(carried)
            self._line("user", prompt)
            text += f"{_given('Context added with the next prompt', carried) if carried else ''}The user types:\n{prompt}\n"
            said = ""
            for turn in range(MOST_ROUNDS):
                answer = yield self._request(number, turn, text)
                said = str(answer.get("say") or "Done, have a look.")
                text = self._act(said, answer.get("calls") or (), f"{number}-{turn}")
                if not text:
                    break
            self._write()
            self._hook("Stop", last_assistant_message=said)
            text = ""
        self._hook("SessionEnd", reason="other")

    def _request(self, number: int, turn: int, text: str) -> ReaderRequest:
        plain = anonymous(text, self.day.product.memories())
        plain = plain.replace(str(self.day.product.root), "~").replace(
            f"{datetime.now(UTC):%Y-%m-%d}", "TODAY"
        )
        key = hashlib.sha256(plain.encode()).hexdigest()[:20]
        return ReaderRequest(place=(self.day.name, self.name, number, turn), text=text, key=key)

    def _act(self, said: str, calls: Sequence[Row], turn: str) -> str:
        """Carry the agent's calls out; their answers as it reads them."""
        uses = [
            {
                "type": "tool_use",
                "id": f"toolu_{self.name}_{turn}_{at}",
                "name": f"mcp__tacit__{call['tool']}",
                "input": call.get("arguments") or {},
            }
            for at, call in enumerate(calls)
        ]
        self._line("assistant", [{"type": "text", "text": said}, *uses])
        shown: list[str] = []
        results: list[dict[str, Any]] = []
        for use, call in zip(uses, calls, strict=True):
            self._hook("PreToolUse", tool_name=use["name"], tool_input=use["input"], tool_use_id=use["id"])
            done = self._call(str(call["tool"]), use["input"])
            self.day.calls.append(done)
            shown.append(f"{call['tool']} answered:\n{done.answer}\n")
            results.append({"type": "tool_result", "tool_use_id": use["id"], "content": done.answer})
        if results:
            self._line("user", results)
        return _LINE.join(shown)

    def _call(self, tool: str, arguments: Mapping[str, Any]) -> MemoryCall:
        try:
            done = self.portal.call(self.client.call_tool, tool, dict(arguments))
        except MCPError as error:
            return MemoryCall(session=self.name, tool=tool, answer=f"Error: {error}")
        data = done.structured_content
        text = _LINE.join(block.text for block in done.content if hasattr(block, "text"))
        # Claude Code hands the model the JSON where there is one.
        answer = json.dumps(data, ensure_ascii=False, separators=(",", ":")) if data else text
        changed = tuple(str(row["id"]) for row in (data or {}).get("changes", ()) if row.get("id"))
        return MemoryCall(session=self.name, tool=tool, answer=answer, changed=changed)

    def _tools(self) -> str:
        listed = self.portal.call(self.client.list_tools).tools
        rows = [
            f"{tool.name}: {tool.description}\n  arguments: {json.dumps(tool.input_schema)}"
            for tool in listed
        ]
        return (
            f"MCP server tacit. Its instructions: {self.client.instructions}\nIts tools:\n{_LINE.join(rows)}"
        )

    def _hook(self, event: str, **fields: object) -> str:
        return self.day.product.hook(
            event,
            session=f"day-{self.name}",
            cwd=self.day.product.folder(self.rows[0]["project"]),
            by_process=True,
            transcript_path=str(self._transcript),
            **fields,
        )

    @property
    def _transcript(self) -> Path:
        return self.day.product.root / f"{self.name}.jsonl"

    def _line(self, role: str, content: object) -> None:
        stamp = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        self.lines.append({"type": role, "timestamp": stamp, "message": {"role": role, "content": content}})

    def _write(self) -> None:
        cwd = self.day.product.folder(self.rows[0]["project"])
        write_transcript(self._transcript, f"day-{self.name}", cwd, self.lines)


def _given(what: str, block: str) -> str:
    return f"{what}:\n{block or '(none)'}\n\n"


def anonymous(text: str, memories: Iterable[Memory]) -> str:
    """`text` with the statement of each memory in place of its id or the id's ending, which differ from run to run."""
    for memory in memories:
        text = text.replace(memory["id"], _token(memory))
    text = _OTHER_ID.sub("ID", text)
    return re.sub(
        rf"\b[0-9a-z]{{{LEAST_ENDING},12}}\b", lambda found: _by_ending(found.group(), memories), text
    )


def _token(memory: Memory) -> str:
    return f"<{memory['content']}>"


def _by_ending(ending: str, memories: Iterable[Memory]) -> str:
    named = [memory for memory in memories if memory["id"].endswith(ending)]
    return _token(named[0]) if len(named) == 1 else ending


def translated(answer: Answer, say: Any) -> dict[str, Any]:
    """`answer` with `say` applied to every id among the arguments of its calls."""

    def name(value: object) -> object:
        if isinstance(value, str):
            return say(value)
        return [say(each) for each in value] if isinstance(value, list) else value

    calls = [
        {
            **call,
            "arguments": {
                key: name(value) if key in _IDS else value
                for key, value in (call.get("arguments") or {}).items()
            },
        }
        for call in answer.get("calls") or ()
    ]
    return {"calls": calls, "say": answer.get("say", "")}


class RecordedAnswers:
    """The reader's answers, by the request that they were given for."""

    def __init__(self, rows: Iterable[Row]) -> None:
        rows = list(rows)
        self._by_key = {(tuple(row["place"]), row["key"]): row for row in rows}
        self._by_place = {tuple(row["place"]): row for row in rows}
        self.exact = self.near = 0
        self.missing: list[tuple[str, str, int, int]] = []

    def answer(self, request: ReaderRequest, memories: Sequence[Memory]) -> Answer:
        """What the reader did; nothing where it was not asked. A further round that was not recorded is one in which it did no more."""
        row = self._by_key.get((request.place, request.key))
        if row is not None:
            self.exact += 1
        else:
            row = self._by_place.get(request.place)
            self.near += row is not None
        if row is None:
            if not request.place[-1]:
                self.missing.append(request.place)
            return {}
        # The newest of those with this content: what an agent was shown last.
        ids = {_token(memory): memory["id"] for memory in sorted(memories, key=lambda memory: memory["id"])}
        return translated(row, lambda name: ids.get(name, name))


def days_of(data: Path) -> dict[str, list[Row]]:
    """The prompts of each day."""
    days: dict[str, list[Row]] = {TYPED: _lines(data / "everyday" / "typed_day.jsonl")}
    for row in _lines(DAYS / "days.jsonl"):
        days.setdefault(row["day"], []).append(row)
    return days


def lasting_of(day: str, rows: Sequence[Row], data: Path) -> list[Row]:
    """The lasting things of a day, each with whether it was `ended`."""
    file = data / "everyday" / "typed_day_lasting.json" if day == TYPED else DAYS / "days_lasting.json"
    sessions = {row["session"] for row in rows}
    return [
        {"ended": (item["session"], item["prompt"]) in TAKEN_BACK, **item}
        for item in json.loads(file.read_text("utf-8"))
        if item["session"] in sessions
    ]


def _lines(file: Path) -> list[Row]:
    return [json.loads(line) for line in file.read_text("utf-8").splitlines() if line.strip()]


def play_recorded(day: Day, recorded: RecordedAnswers) -> None:
    """Play a day with the reader's recorded answers."""
    play = day.play()
    try:
        request = next(play)
        while True:
            request = play.send(recorded.answer(request, day.product.memories()))
    except StopIteration:
        day.quiet()


@dataclass(frozen=True, slots=True, kw_only=True)
class DayFigures:
    """What a day showed; counts."""

    prompts: int
    lasting: int
    kept: int
    by_agent: int
    by_rules: int
    as_user: int
    ended: int
    ended_active: int
    notes: int
    notes_one_off: int
    rules: int
    rules_one_off: int
    reminders: int
    unjudged: int
    start: int
    prompt: int
    reminder: int
    add: int
    other: int

    @property
    def tokens(self) -> int:
        """All that was handed over, the list of tools apart."""
        return self.start + self.prompt + self.reminder + self.add + self.other


def figures(day: Day, memories: Sequence[Memory], lasting: Sequence[Row], labels: Row) -> DayFigures:
    """Count what became of the day. `memories` = all of the home in any state; `labels` = the judge's, by statement."""
    count = ExactCounter().count
    holds, one_off = labels.get("holds", {}), labels.get("one_off", {})
    by_agent = {name for call in day.calls if call.tool == "memory_add" for name in call.changed}
    active = [memory for memory in memories if memory["status"] == "active"]
    notes = [memory for memory in memories if memory["id"] in by_agent]
    rules = [memory for memory in active if memory["id"] not in by_agent]

    def whole(item: Row, among: Iterable[Memory]) -> bool:
        of_item = holds.get(item["lasting"], {})
        return any(of_item.get(memory["content"]) == "whole" for memory in among)

    wanted = [item for item in lasting if not item["ended"]]
    ended = [item for item in lasting if item["ended"]]
    reminded = [text for text in day.carried if NUDGE in text or NOT_KEPT in text]
    sentences = [NUDGE if NUDGE in text else NOT_KEPT for text in reminded]
    answers = [(call.tool == "memory_add", count(call.answer)) for call in day.calls]
    return DayFigures(
        prompts=len(day.carried),
        lasting=len(wanted),
        kept=sum(whole(item, active) for item in wanted),
        by_agent=sum(whole(item, [m for m in active if m["id"] in by_agent]) for item in wanted),
        by_rules=sum(whole(item, rules) for item in wanted),
        as_user=sum(whole(item, [m for m in active if m["provenance"]["tier"] in USERS]) for item in wanted),
        ended=len(ended),
        ended_active=sum(whole(item, active) for item in ended),
        notes=len(notes),
        notes_one_off=sum(bool(one_off.get(memory["content"])) for memory in notes),
        rules=len(rules),
        rules_one_off=sum(bool(one_off.get(memory["content"])) for memory in rules),
        reminders=len(reminded),
        unjudged=sum(memory["content"] not in one_off for memory in memories),
        start=sum(map(count, day.starts)),
        prompt=sum(map(count, day.carried)) - sum(map(count, sentences)),
        reminder=sum(map(count, sentences)),
        add=sum(tokens for is_add, tokens in answers if is_add),
        other=sum(tokens for is_add, tokens in answers if not is_add),
    )


JUDGE = """\
You judge what a memory for coding agents kept of a developer's day. Read NAME.json of this folder: `prompts` (what the developer typed, session by session),
`lasting` (things from the day that later sessions need, by number), `memories` (statements that were stored, by number).

1. For each lasting thing: which memories hold it whole (somebody who reads that statement alone knows all that the lasting thing says and would do the same), and
which hold a part of it. The reason for a rule need not be there. A memory that says more holds it too, as long as it says nothing wrong. A memory with an older or another value does not hold it.
2. Which memories are one-offs: they concern only the task, the file or the moment of that day, and a session next month would gain nothing from them. A wrong statement, or
one that nobody said, counts as one as well. What lasts for weeks (a fixed date, a person's role, a port) is no one-off.

Write NAME.labels.json beside it: {"holds": {"1": {"whole": [3], "partly": [7]}, ...}, "one_off": [2, ...]}, with every lasting thing as a key. Judge by reading, not by a script.
"""


def judge_out(folder: Path, day: Day, memories: Sequence[Memory], lasting: Sequence[Row]) -> None:
    """Write what a judge is asked of one day: no states, no authors, no figures."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "JUDGE.md").write_text(JUDGE, "utf-8")
    asked = {
        "prompts": [{name: row[name] for name in ("session", "project", "prompt")} for row in day.rows],
        "lasting": {str(number): item["lasting"] for number, item in enumerate(lasting, 1)},
        "memories": {
            str(number): content
            for number, content in enumerate(sorted({memory["content"] for memory in memories}), 1)
        },
    }
    (folder / f"{day.name}.json").write_text(json.dumps(asked, ensure_ascii=False, indent=1) + "\n", "utf-8")


def judge_in(folder: Path, labels: dict[str, Any]) -> dict[str, Any]:
    """`labels` with a judge's answers of a folder added, by statement instead of number."""
    for file in sorted(folder.glob("*.labels.json")):
        name = file.name.removesuffix(".labels.json")
        asked = json.loads((folder / f"{name}.json").read_text("utf-8"))
        told = json.loads(file.read_text("utf-8"))
        statement, one_off = asked["memories"], {str(number) for number in told["one_off"]}
        of_day = labels.setdefault(name, {"holds": {}, "one_off": {}})
        for number, item in asked["lasting"].items():
            held = told["holds"][number]
            of_item = of_day["holds"].setdefault(item, {})
            for how in ("partly", "whole"):
                of_item.update({statement[str(one)]: how for one in held.get(how, ())})
        of_day["one_off"].update({content: number in one_off for number, content in statement.items()})
    return labels


def main(arguments: Sequence[str] | None = None) -> int:
    """Play the days and print the figures; 1 where a prompt has no recorded answer."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--only", nargs="+", metavar="DAY", help="typed, A, B, C")
    parser.add_argument("--record", type=Path, nargs="+", metavar="FILE", help="rows of a live reader")
    parser.add_argument("--judge-out", type=Path, metavar="FOLDER")
    parser.add_argument("--judge-in", type=Path, metavar="FOLDER")
    parser.add_argument("--show", action="store_true", help="print each lasting thing with what holds it")
    asked = parser.parse_args(arguments)
    data = asked.data.resolve()
    rows_file, labels_file = ANSWERS / "answers.json", ANSWERS / "labels.json"
    if asked.record:
        fresh = [row for file in asked.record for row in _lines(file)]
        again = {row["place"][0] for row in fresh}
        kept = [row for row in _json(rows_file, []) if row["place"][0] not in again]
        _write_json(rows_file, [*kept, *fresh])
    labels: dict[str, Any] = _json(labels_file, {})
    if asked.judge_in:
        labels = judge_in(asked.judge_in, labels)
        _write_json(labels_file, labels)
    recorded = RecordedAnswers(_json(rows_file, []))
    done: dict[str, DayFigures] = {}
    for name, rows in days_of(data).items():
        if asked.only and name not in asked.only:
            continue
        with tempfile.TemporaryDirectory(prefix="d") as folder:
            product = Product(Path(folder), Path(sys.executable))
            with product.running():
                day = Day(name=name, rows=rows, product=product)
                play_recorded(day, recorded)
                memories, lasting = product.memories(), lasting_of(name, rows, data)
                if asked.judge_out:
                    judge_out(asked.judge_out, day, memories, lasting)
                of_day: Row = labels.get(name, {})
                done[name] = figures(day, memories, lasting, of_day)
                if asked.show:
                    _show(day, memories, lasting, of_day)
    console = Console(width=140)
    console.print(_table(done))
    console.print(
        f"Answers: {recorded.exact} for the very request, {recorded.near} for the same prompt with another"
        f" surrounding, {len(recorded.missing)} prompts without one."
    )
    return 1 if recorded.missing else 0


def _json(file: Path, otherwise: Any) -> Any:
    return json.loads(file.read_text("utf-8")) if file.exists() else otherwise


def _write_json(file: Path, value: object) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(value, ensure_ascii=False, indent=1) + "\n", "utf-8")


def _show(day: Day, memories: Sequence[Memory], lasting: Sequence[Row], labels: Row) -> None:
    agents = {name for call in day.calls for name in call.changed}
    for item in lasting:
        print(
            f"\n{day.name} {item['session']}/{item['prompt']}{' (ended)' if item['ended'] else ''}: {item['lasting']}"
        )
        for memory in memories:
            how = labels.get("holds", {}).get(item["lasting"], {}).get(memory["content"])
            if how:
                print(f"  {how}: {_described(memory, agents)}")
    for memory in memories:
        if labels.get("one_off", {}).get(memory["content"]):
            print(f"one-off: {_described(memory, agents)}")
    for call in day.calls:
        if not call.changed and call.tool not in ("memory_search", "memory_get"):
            print(f"refused: {call.session} {call.tool} {call.answer[:300]}")


def _described(memory: Memory, agents: set[str]) -> str:
    by = "agent" if memory["id"] in agents else "rules"
    return f"[{by}, {memory['status']}, {memory['provenance']['tier']}] {memory['content']}"


def _table(done: Mapping[str, DayFigures]) -> Table:
    table = Table(title="Notes by rhythm: what lasts of a day, who kept it, what it cost")
    unseen = _sum(row for name, row in done.items() if name != TYPED)
    columns = {**done, "unseen": unseen, "all": _sum(done.values())}
    for column in ("", *columns):
        table.add_column(column, justify="left" if not column else "right")
    rows = {
        "lasting things active at the next start": lambda f: _of(f.kept, f.lasting),
        "  by the agent": lambda f: _of(f.by_agent, f.lasting),
        "  by rules": lambda f: _of(f.by_rules, f.lasting),
        "  as the user's word": lambda f: _of(f.as_user, f.lasting),
        "taken back and still active": lambda f: _of(f.ended_active, f.ended),
        "one-offs among the agent's notes": lambda f: _of(f.notes_one_off, f.notes),
        "one-offs among what rules kept": lambda f: _of(f.rules_one_off, f.rules),
        "reminders per prompt": lambda f: _of(f.reminders, f.prompts),
        "tokens: start blocks": lambda f: str(f.start),
        "tokens: with prompts": lambda f: str(f.prompt),
        "tokens: reminders": lambda f: str(f.reminder),
        "tokens: answers of memory_add": lambda f: str(f.add),
        "tokens: answers of other tools": lambda f: str(f.other),
        "tokens in all": lambda f: str(f.tokens),
        "statements that no judge saw": lambda f: str(f.unjudged),
    }
    for label, cell in rows.items():
        table.add_row(label, *(cell(column) for column in columns.values()))
    return table


def _sum(items: Iterable[DayFigures]) -> DayFigures:
    items = list(items)
    return DayFigures(
        **{name: sum(getattr(row, name) for row in items) for name in DayFigures.__dataclass_fields__}
    )


def _of(part: int, whole: int) -> str:
    return f"{part} of {whole} ({part / whole:.2f})" if whole else "0 of 0"


if __name__ == "__main__":
    sys.exit(main())
