"""What scenarios of the `typed` preset share: a machine for a whole module, an agent's tools, a project of its own each."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from e2e.drivers.machine import Machine, wait_for
from e2e.drivers.session import Session

SETTINGS = "preset: typed\n"


class TypedMachine(Machine):
    """A machine with the shipped model; `in_project` moves it into a fresh project, which sees nothing of the others."""

    def __init__(self, settings: str = SETTINGS) -> None:
        super().__init__(TACIT_EMBEDDER__PROVIDER="minilm")
        self.home.root.mkdir(mode=0o700, exist_ok=True)
        self.set(settings)
        self._projects = 0

    def set(self, settings: str) -> None:
        """Write the user's settings."""
        self.home.config_file.write_text(settings, encoding="utf-8")

    def in_project(self) -> TypedMachine:
        """Go on in a project of its own."""
        self._projects += 1
        self.project = self.root / f"shop{self._projects}"
        (self.project / ".git" / "objects").mkdir(parents=True)
        return self

    def know(self, kind: str, text: str, **fields: object) -> str:
        """Store a statement of the user's without a trigger; its id."""
        return self.remember(text, kind=kind, when="", **fields)["memory"]["id"]

    def session(self, name: str = "s") -> Session:
        """A session in the present project."""
        return Session(self, f"{self.project.name}-{name}")

    def ask_prompt(self, text: str, name: str = "p") -> str:
        """The block that a prompt of a fresh session gets."""
        return self.prompt(text, session_id=f"{self.project.name}-{name}")

    def stored(self, **where: str) -> list[dict[str, Any]]:
        """Memories of the present project."""
        asked = "&".join(f"{name}={value}" for name, value in {"limit": "500", **where}.items())
        return self.request("GET", f"/v1/memories?cwd={self.project}&{asked}")["memories"]

    def learned(self, kind: str, count: int = 1, **where: str) -> list[dict[str, Any]]:
        """Wait until `count` memories of a kind are there."""

        def found() -> list[dict[str, Any]]:
            return [one for one in self.stored(**where) if one["kind"] == kind]

        wait_for(lambda: len(found()) >= count)
        return found()

    def touched(self, session: Session, path: str, tool: str = "Edit") -> None:
        """Tell of a file that the agent has just read or edited."""
        call = {"tool_name": tool, "tool_input": {"file_path": str(self.project / path)}}
        self.hook(
            self.payload("PostToolUse", session_id=session.name, tool_response={"success": True}, **call)
        )

    def last_trace(self) -> dict[str, Any]:
        """The newest recall."""
        return self.request("GET", "/v1/traces?whole=true&limit=1")["traces"][0]

    def listed_tools(self) -> set[str]:
        """Names of the tools that an agent is shown."""
        return {tool["name"] for tool in self._mcp("tools/list")["tools"]}

    def tool(self, name: str, **arguments: object) -> str:
        """Call a tool as an agent does."""
        result = self._mcp("tools/call", name=name, arguments=arguments)
        return "\n".join(part["text"] for part in result["content"])

    def _mcp(self, method: str, **params: object) -> dict[str, Any]:
        version = {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "t", "version": "1"},
        }
        messages = [
            {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": version},
            {"jsonrpc": "2.0", "method": "notifications/initialized"},
            {"jsonrpc": "2.0", "id": 2, "method": method, "params": params},
        ]  # fmt: skip
        process = self.popen("mcp", CLAUDE_PROJECT_DIR=str(self.project))
        out, _ = process.communicate(
            "".join(f"{json.dumps(one)}\n" for one in messages).encode(), timeout=180
        )
        answers = [json.loads(line) for line in out.splitlines()]
        return next(one for one in answers if one.get("id") == 2)["result"]


@pytest.fixture(scope="module")
def office() -> Iterator[TypedMachine]:
    """One daemon for the scenarios of a module that leave the settings alone."""
    with TypedMachine() as machine:
        machine.wake()
        yield machine


@pytest.fixture
def typed(office: TypedMachine) -> TypedMachine:
    """The office in a project of its own."""
    return office.in_project()


@pytest.fixture
def typed_with() -> Iterator[Callable[[str], TypedMachine]]:
    """Open a machine with further settings: `typed_with("recall: ...")`."""
    opened: list[TypedMachine] = []

    def open_machine(more: str) -> TypedMachine:
        machine = TypedMachine(SETTINGS + more)
        opened.append(machine)
        machine.wake()
        return machine

    yield open_machine
    for machine in opened:
        machine.__exit__()
