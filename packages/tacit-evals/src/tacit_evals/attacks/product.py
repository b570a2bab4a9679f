"""The product as hosts and agents meet it: a real daemon, the hook client, MCP and the API over the socket.

In: a folder. Out: replies, memories, start blocks. Speaks over the socket, or through the hook client's process where a case
asks for it. Ends the daemon that it started.
"""

from __future__ import annotations

import json
import math
import os
import random
import re
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import tacit_hook
from tacit_evals.daemon_under_test import DaemonUnderTest


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseOutcome:
    """One case.

    Attributes:
        form: its name in the area's table.
        tried: what was done, in short.
        survived: whether the product did what it must.
        came_out: what was seen instead.
    """

    form: str
    tried: str
    survived: bool
    came_out: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lab:
    """Where an area works.

    Attributes:
        root: an empty folder with a short path, removed after the run.
        chance: the only source of chance of this area.
        cases: how many cases it makes.
        python: the interpreter that has `tacit`.
    """

    root: Path
    chance: random.Random
    cases: int
    python: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Area:
    """One table of forms, what runs them and the least share that must survive.

    Attributes:
        name: as `--area` takes it.
        about: one sentence.
        forms: what each form is, by its name.
        run: makes the cases and judges them.
        least: share of the cases that must survive.
        standard: number of cases of a full run; a smaller run makes a proportional share.
        control: it says that something still works, not that something is refused.
    """

    name: str
    about: str
    forms: Mapping[str, str]
    run: Callable[[Lab], Sequence[CaseOutcome]]
    least: float = 1.0
    standard: int = 300
    control: bool = False

    def kept(self, outcomes: Sequence[CaseOutcome]) -> bool:
        """Whether enough survived, and anything was tried."""
        survived = sum(outcome.survived for outcome in outcomes)
        return bool(outcomes) and survived >= math.floor(self.least * len(outcomes) + 1e-9)


def spread(forms: Sequence[str], cases: int) -> list[str]:
    """`cases` names of forms, each about equally often, in the order of the table again and again.

    Fewer cases than forms are taken from the whole table at equal steps.
    """
    if cases < len(forms):
        return [forms[number * len(forms) // cases] for number in range(cases)]
    return [forms[number % len(forms)] for number in range(cases)]


TABLES: dict[str, tuple[str, ...]] = {
    "person": ("Anna", "Ben", "Chidi", "Dorota", "Emre", "Farah", "Goran", "Hye-jin", "Ines", "Jonas", "Kwame", "Lucía", "Mei", "Nils", "Olga", "Priya"),
    "company": ("Northwind", "Acme Hosting", "Brightpath", "Kestrel Labs", "Ostsee IT", "Tri-Cloud", "Umbra Systems", "Veld Analytics"),
    "pm": ("pnpm", "yarn", "npm", "bun", "pip", "uv", "poetry", "cargo"),
    "lib": ("axios", "lodash", "moment", "requests", "httpx", "zod", "pydantic", "serde", "tokio", "jest", "vitest", "pytest", "sqlalchemy", "prisma"),
    "tool": ("ruff", "eslint", "prettier", "black", "mypy", "golangci-lint", "clippy", "shellcheck", "hadolint", "tsc", "biome"),
    "command": ("make lint", "make test", "npm run check", "just fmt", "cargo fmt", "go vet ./...", "pytest -q", "pnpm typecheck", "bundle exec rspec", "terraform plan"),
    "branch": ("main", "develop", "release", "staging", "trunk", "hotfix", "next"),
    "folder": ("src/legacy", "packages/ui", "internal/auth", "services/billing", "apps/web", "lib/parsers", "infra/terraform", "tests/e2e", "db/migrations", "pkg/cache"),
    "file": ("docker-compose.yml", "src/config.ts", "Makefile", "schema.prisma", "settings.py", "routes.go", "Cargo.toml", "index.tsx", "pyproject.toml", "webpack.config.js"),
    "thing": ("login form", "invoice export", "search index", "retry logic", "date picker", "rate limiter", "upload handler", "session cache", "report page", "webhook consumer"),
    "db": ("Postgres", "MySQL", "SQLite", "Redis", "DynamoDB", "ClickHouse", "MongoDB"),
    "lang": ("German", "French", "Spanish", "Portuguese", "Polish", "Turkish", "Japanese"),
    "month": ("January", "March", "May", "August", "October", "December"),
    "day": ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday"),
    "env": ("staging", "production", "preview", "the demo cluster", "CI"),
    "topic": ("caching", "error handling", "feature flags", "log rotation", "pagination", "image resizing", "queue workers", "access control"),
    "verb": ("fix", "refactor", "speed up", "document", "clean up", "extend", "simplify"),
    "style": ("tabs", "two spaces", "four spaces", "single quotes", "double quotes", "trailing commas"),
}  # fmt: skip
_CONSONANTS, _VOWELS = "bdfgklmnprstvz", "aeiou"
_SLOT = re.compile(r"\{([a-z]+?)(\d*)\}")


class SlotWords:
    """Fills the slots of one case."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.chosen: dict[str, str] = {}

    def __call__(self, text: str) -> str:
        """`text` with every slot filled."""
        return _SLOT.sub(lambda slot: self.value(slot[1], slot[2]), text)

    def value(self, table: str, number: str = "") -> str:
        """The value of a slot in this case."""
        key = table + number
        if key not in self.chosen:
            self.chosen[key] = self._new(table)
        return self.chosen[key]

    def _new(self, table: str) -> str:
        chance = self.chance
        match table:
            case "word":
                return made_word(chance)
            case "host":
                return f"{made_word(chance)}.{chance.choice(('example', 'test', 'invalid', 'example.net'))}"
            case "number":
                return str(chance.randint(2, 98))
            case "port":
                return str(chance.randint(3000, 9900))
            case "ticket":
                return f"{chance.choice(('OPS', 'WEB', 'CORE', 'PAY', 'DX'))}-{chance.randint(100, 4999)}"
            case "hash":
                return f"{chance.getrandbits(28):07x}"
            case "clock":
                return f"{chance.randint(8, 18):02}:{chance.randint(0, 59):02}"
            case "date":
                return f"2026-{chance.randint(1, 12):02}-{chance.randint(1, 28):02}"
            case "script":
                return f"scripts/{made_word(chance)}.sh"
            case _:
                taken = {value for key, value in self.chosen.items() if key.rstrip("0123456789") == table}
                unused = [value for value in TABLES[table] if value not in taken]
                return chance.choice(unused or TABLES[table])

    def pick(self, choices: Sequence[str]) -> str:
        """One of the choices, filled."""
        return self(self.chance.choice(choices))


def made_word(chance: random.Random) -> str:
    """A word that nobody uses."""
    return "".join(
        chance.choice(_CONSONANTS) + chance.choice(_VOWELS) for _ in range(chance.randint(2, 3))
    ) + chance.choice(_CONSONANTS)


def content_words(text: str) -> set[str]:
    """Words of a text that carry its meaning, in lower case."""
    return {word for word in re.findall(r"[\w./-]{3,}", text.lower()) if word not in _LITTLE}


def share_of(text: str, other: str) -> float:
    """Share of the content words of `text` that stand in `other`."""
    words = content_words(text)
    return len(words & content_words(other)) / len(words) if words else 0.0


_LITTLE = frozenset(
    [
        "the", "and", "for", "with", "this", "that", "please", "from", "now", "into", "our", "you", "your", "are", "was", "all", "any",
        "here", "remember", "note",
    ]
)  # fmt: skip


HOOK = Path(tacit_hook.__file__)
USERS = frozenset({"user", "teammate", "proven"})
"""Tiers that the next session believes without a mark."""
_PAGE = 200
_SETTLED_S, _SETTLE_MOST_S = 1.0, 60.0

Memory = Mapping[str, Any]


class Product:
    """One home with its daemon and any number of project folders."""

    def __init__(self, root: Path, python: Path, *, environment: Mapping[str, str] | None = None) -> None:
        self.root = root
        self.home = root / "h"
        self.home.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.environment = {"TACIT_RECALL__DEADLINE_MS": "20000", **(environment or {})}
        self._python = python
        self._daemon = DaemonUnderTest(python, self.home, environment=self.environment)

    @contextmanager
    def running(self) -> Iterator[Product]:
        """With a daemon that has loaded its model."""
        with self._daemon:
            self._daemon.wait_warm()
            yield self

    def settle(self) -> None:
        """Wait until the daemon has written what it knows: nothing new for a second."""
        last, since = -1, time.monotonic()
        until = since + _SETTLE_MOST_S
        while time.monotonic() < min(since + _SETTLED_S, until):
            total = int(self.get("/v1/memories?status=all&limit=1")["total"])
            if total != last:
                last, since = total, time.monotonic()
            time.sleep(0.1)

    def finish(self) -> None:
        """Let the daemon finish its work and start it anew."""
        self._daemon.end()
        self._daemon.start()
        self._daemon.wait_warm()

    def folder(self, name: str) -> Path:
        """A project folder without git."""
        path = self.root / name
        path.mkdir(exist_ok=True)
        return path

    def hook(self, event: str, *, session: str, cwd: Path, by_process: bool = False, **fields: object) -> str:
        """Send one event of Claude Code; what its model would be given."""
        payload = {"hook_event_name": event, "session_id": session, "cwd": str(cwd), **fields}
        if by_process:
            return context_of(self._by_process(payload))
        reply = self._daemon.hook(payload)
        if reply.status != 200:
            raise OSError(f"{event}: status {reply.status}: {reply.body[:300]!r}")
        return context_of(reply.body)

    def _by_process(self, payload: Mapping[str, object]) -> bytes:
        """As the host does: a process of its own, payload on standard input."""
        patient = {"TACIT_HOOK_DEADLINE_MS": "30000"}
        environment = {**os.environ, **patient, **self.environment, "TACIT_HOME": str(self.home)}
        done = subprocess.run(
            [self._python, "-I", "-S", "-E", HOOK, "claude-code"],
            input=json.dumps(payload).encode(),
            env=environment,
            capture_output=True,
            timeout=60,
            check=True,
        )
        return done.stdout

    def whole_session(self, session: str, prompt: str, *, cwd: Path, by_process: bool = False) -> None:
        """A session with one prompt: the hook hears it, the agent works, and the transcript is handed over at its end."""
        path = self.root / f"{session}.jsonl"
        fields = {"transcript_path": str(path)}
        self.hook(
            "UserPromptSubmit", session=session, cwd=cwd, by_process=by_process, prompt=prompt, **fields
        )
        message = {"type": "user", "message": {"role": "user", "content": prompt}}
        content = [{"type": "text", "text": "Done, have a look."}]
        answer = {"type": "assistant", "message": {"role": "assistant", "content": content}}
        write_transcript(path, session, cwd, [message, answer])
        self.hook("Stop", session=session, cwd=cwd, last_assistant_message="Done, have a look.", **fields)
        self.hook("SessionEnd", session=session, cwd=cwd, reason="other", **fields)

    def start_block(self, cwd: Path, *, session: str) -> str:
        """What a new session in that folder is given."""
        return self.hook("SessionStart", session=session, cwd=cwd, source="startup")

    def get(self, path: str) -> dict[str, Any]:
        """GET from the API."""
        return json.loads(self._exchange("GET", path, b"", {}))

    def post(
        self, path: str, body: Mapping[str, object], *, token: str = "", method: str = "POST"
    ) -> dict[str, Any]:
        """Send `body` to the API, as the user with a personal token; problems come back as they are."""
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        return json.loads(self._exchange(method, path, json.dumps(body).encode(), headers) or b"{}")

    def memories(self, *, cwd: Path | None = None) -> list[Memory]:
        """All memories in any state; with `cwd` those that may be seen there."""
        memories: list[Memory] = []
        query = f"&cwd={quote(str(cwd))}" if cwd else ""
        cursor = ""
        while True:
            page = self.get(f"/v1/memories?status=all&limit={_PAGE}{query}{cursor}")
            memories += page["memories"]
            if not page["next_cursor"]:
                return memories
            cursor = f"&cursor={quote(page['next_cursor'])}"

    def call_tool(self, name: str, arguments: Mapping[str, object], *, cwd: Path) -> str:
        """Call a tool over MCP as an agent in `cwd` does; its text."""
        call = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": name, "arguments": arguments},
        }
        headers = {
            "Accept": "application/json, text/event-stream",
            "X-Tacit-Cwd": quote(str(cwd)),
            "X-Tacit-Host": "claude-code",
        }
        answer = json.loads(self._exchange("POST", "/mcp", json.dumps(call).encode(), headers))
        content = answer.get("result", {}).get("content", ())
        return "\n".join(item.get("text", "") for item in content) or json.dumps(answer.get("error", ""))

    def _exchange(self, method: str, path: str, body: bytes, headers: Mapping[str, str]) -> bytes:
        lines = [
            f"{method} {path} HTTP/1.1",
            "Host: tacit",
            "Connection: close",
            "Content-Type: application/json",
        ]
        lines += [f"Content-Length: {len(body)}", "X-Tacit-Deadline-Ms: 30000"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        with self._daemon.home.transport().connect(time.monotonic() + 60) as connection:
            connection.settimeout(60)
            connection.sendall("\r\n".join((*lines, "", "")).encode() + body)
            data = bytearray()
            while chunk := connection.recv(1 << 20):
                data += chunk
        return bytes(data).partition(b"\r\n\r\n")[2]


def context_of(reply: bytes) -> str:
    """The text for the model in a hook's answer; the answer itself where it is no JSON."""
    if not reply.strip():
        return ""
    try:
        answer = json.loads(reply)
    except ValueError:
        return reply.decode("utf-8", "replace")
    return str(answer.get("hookSpecificOutput", {}).get("additionalContext", ""))


def believed(memories: Sequence[Memory]) -> list[Memory]:
    """Those that are active and the user's."""
    return [
        memory
        for memory in memories
        if memory["status"] == "active" and memory["provenance"]["tier"] in USERS
    ]


def by_session(memories: Sequence[Memory]) -> dict[str, list[Memory]]:
    """Memories by the session that they came from."""
    grouped: dict[str, list[Memory]] = {}
    for memory in memories:
        grouped.setdefault(memory["provenance"]["session_id"], []).append(memory)
    return grouped


def write_transcript(path: Path, session: str, cwd: Path, lines: Sequence[Mapping[str, object]]) -> None:
    """A transcript as Claude Code writes it; each line has `type` and `message`, and what else the case sets."""
    rows: list[str] = []
    for number, line in enumerate(lines):
        base = {
            "parentUuid": f"u{number - 1}" if number else None,
            "isSidechain": False,
            "userType": "external",
            "uuid": f"u{number}",
            "timestamp": f"2026-03-02T10:{number // 60:02}:{number % 60:02}.000Z",
            "sessionId": session,
            "cwd": str(cwd),
            "version": "2.1.328",
            "gitBranch": "main",
        }
        rows.append(json.dumps({**base, **line}))
    path.write_text("".join(row + "\n" for row in rows), "utf-8")
