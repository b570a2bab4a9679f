"""Measures the first hour of each host: from the install of a wheel to the first memory that reaches the model. Prints every command with its seconds.

Run: `python -m tacit_evals.host_hour [--host NAME]... [--json FILE]`. Builds the wheel of the newest commit. For each host, a person who has an empty
home makes a virtual environment, installs the wheel with pip, connects the host, and states a rule. Then the real client of tests/e2e/clients runs against
the stub model on loopback, until a request holds the rule. Cursor and the MCP clients have no client that runs here: the command of the installed
hook answers a documented payload, and the installed server answers a search.

pip's cache is warm: an installation that is not counted fills it first. The interpreter is the one that runs this program.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tacit.config.home import Home
from tacit.hosts.claude_code import install as claude_code
from tacit.hosts.codex import install as codex
from tacit.hosts.copilot import install as copilot
from tacit.hosts.cursor import install as cursor
from tacit.hosts.gemini import install as gemini
from tacit.hosts.opencode import install as opencode
from tacit.hosts.probe import ProbeResult, ProofJob, prove_server
from tacit.hosts.probe.stub_model import StubModel
from tacit_evals.plain_install import build_wheel, commit_copy
from tacit_evals.team_hour import Machine
from tacit_evals.timeline import NONCE, PROMPT, RULE, TARGET_S, Person, find_client
from tacit_evals.timing import Row, print_rows, write_json


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """How the real client of a host runs one session against the stub model.

    Attributes:
        command: the client with its options; the prompt follows.
        environment: returns the variables of the client, given the person and the stub's address.
        settings: returns what the person has in the client's settings before the installation, by file below the home, given the stub's address.
        options: of `tacit install`.
    """

    command: tuple[str, ...]
    environment: Callable[[Person, str], Mapping[str, str]]
    settings: Callable[[str], Mapping[str, str]] = lambda _: {}
    options: tuple[str, ...] = ()


def _environment(of: Callable[..., Mapping[str, str]]) -> Callable[[Person, str], Mapping[str, str]]:
    return lambda person, url: of(
        url, home=person.home, tacit_home=person.tacit_home, search_path=person.search_path
    )


CLIENTS: Mapping[str, Client] = {
    "claude-code": Client(
        command=("claude", "--model", claude_code.MODEL, "-p"),
        environment=_environment(claude_code.environment),
    ),
    "opencode": Client(command=("opencode", "run"), environment=_environment(opencode.environment)),
    "codex": Client(
        command=("codex", *codex.OPTIONS),
        environment=lambda person, _: codex.environment(
            person.home, person.tacit_home, search_path=person.search_path
        ),
        settings=lambda url: {".codex/config.toml": codex.configuration(url)},
        options=("--trust-hooks",),
    ),
    "gemini": Client(
        command=("gemini", "-m", gemini.MODEL, "--approval-mode", "yolo", "-p"),
        environment=_environment(gemini.environment),
        settings=lambda _: {".gemini/settings.json": json.dumps(gemini.SETTINGS)},
    ),
    "copilot": Client(command=("copilot", "-p"), environment=_environment(copilot.environment)),
}
"""The hosts whose real client runs here."""


def _job(person: Person, *file: str) -> ProofJob:
    return ProofJob(
        files=(person.home.joinpath(*file),),
        user_home=person.home,
        tacit_home=person.tacit_home,
        nonce=NONCE,
        launcher=Home(person.tacit_home).launcher,
        search_path=person.search_path,
    )


def _cursor(person: Person) -> ProbeResult:
    return cursor.prove(_job(person, ".cursor", "hooks.json"))


def _windsurf(person: Person) -> ProbeResult:
    return prove_server(_job(person, ".codeium", "windsurf", "mcp_config.json"), ("mcpServers", "tacit"))


PROBES: Mapping[str, tuple[str, Callable[[Person], ProbeResult]]] = {
    "cursor": ("the hook's command answers a payload", _cursor),
    "windsurf": ("`tacit mcp` answers a search", _windsurf),
}
"""The other hosts: what stands for the session, and its run."""


def first_hour(root: Path, host: str, wheel: Path) -> list[Row]:
    """Do everything from an empty home to the rule in a session of `host`. Return the steps with their times, and the total."""
    client = CLIENTS.get(host)
    machine = Machine(root, host, find_client(client.command[0]) if client else None)
    person = machine.person
    with StubModel() as stub:
        try:
            if client:
                for name, text in client.settings(stub.url).items():
                    file = person.home / name
                    file.parent.mkdir(parents=True)
                    file.write_text(text, "utf-8")
            _pip_install(machine, root, wheel)
            machine.run("tacit", "install", host, "--yes", *(client.options if client else ()))
            machine.run("tacit", "remember", RULE, "--scope", "universal", "--when", "always")
            if client:
                command = (*client.command, PROMPT)
                print(f"{host}$ {shlex.join(command)}", flush=True)
                took_s, location = person.request_with(
                    re.escape(NONCE), stub, command, client.environment(person, stub.url)
                )
                person.note(f"{host}: request with the memory", took_s, note=f"at {location}")
            else:
                what, run = PROBES[host]
                print(f"{host}: {what}", flush=True)
                result = run(person)
                if not result.ok:
                    raise SystemExit(f"{host}: {result.advice}\n{result.output_end}")
                person.note(f"{host}: {what}", result.took_ms / 1000, note=f"in {result.where[0]}")
            print(f"    {person.steps[-1].value:.1f} s", flush=True)
        finally:
            machine.end()
    total_s = sum(row.value for row in person.steps)
    return [*person.steps, Row(name=f"{host}: total", value=total_s, unit="s", target=TARGET_S)]


def _pip_install(machine: Machine, root: Path, wheel: Path) -> None:
    """Install the wheel for the person, whose programs are in `root`/bin."""
    machine.run(sys.executable, "-m", "venv", str(root))
    machine.run("pip", "install", "-q", str(wheel))


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure the first hour of each host. The exit code is 1 if one took longer than the target."""
    parser = argparse.ArgumentParser(
        prog="tacit_evals.host_hour", description=(__doc__ or "").partition("\n")[0]
    )
    names = (*CLIENTS, *PROBES)
    parser.add_argument("--host", action="append", choices=names, help="only this host; may be repeated")
    parser.add_argument("--json", type=Path, help="also write the times to this file")
    options = parser.parse_args(arguments)
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="hh-", dir="/tmp") as folder:
        root = Path(folder)
        os.environ.setdefault("PIP_CACHE_DIR", str(root / "pip-cache"))
        began = time.perf_counter()
        wheel = build_wheel(commit_copy(root / "source"), root / "dist")
        _pip_install(Machine(root / "first", "not counted", None), root / "first", wheel)
        print(f"prepared in {time.perf_counter() - began:.0f} s, Python {sys.version.split()[0]}", flush=True)
        for host in options.host or names:
            rows += first_hour(root / host, host, wheel)
    print_rows(rows, title="The first hour of each host")
    write_json(options.json, rows)
    raise SystemExit(int(any(row.verdict == "over" for row in rows)))


if __name__ == "__main__":
    main()
