"""Make clients of the HTTP API with three generators, and ask a daemon with one of them; fail on any warning.

    uv run --no-sync python scripts/generate_clients.py [--into FOLDER]

In: docs/reference/openapi.json. Out: a client in Python (openapi-python-client), types in TypeScript (openapi-typescript, of
web/node_modules), clients in Java and Go (openapi-generator) below FOLDER, else below a temporary folder; exit code 1 if a generator
warned or failed, or an answer was wrong. What openapi-generator says of the smallest document, with one operation and one shape, it says of
itself: that does not count. Needs uv, and Java 11 or newer; uv gets the generators from PyPI once and keeps them.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tacit.client.daemon_client import DaemonClient
from tacit.config.home import Home
from tacit.safety.authority import Authority

REPOSITORY = Path(__file__).parents[1]
DOCUMENT = REPOSITORY / "docs" / "reference" / "openapi.json"
PYTHON_CLIENT = ("openapi-python-client==0.29.1", "openapi-python-client")
GENERATOR = ("openapi-generator-cli==7.26.0", "openapi-generator-cli")
LANGUAGES = ("java", "go")
SMALLEST = {
    "openapi": "3.1.0",
    "info": {"title": "Smallest", "version": "1"},
    "paths": {
        "/": {
            "get": {
                "operationId": "get",
                "responses": {
                    "200": {
                        "description": "done",
                        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/One"}}},
                    }
                },
            }
        }
    },
    "components": {
        "schemas": {"One": {"type": "object", "title": "One", "properties": {"name": {"type": "string"}}}}
    },
}
SESSION = """
import sys
from tacit_client import AuthenticatedClient
from tacit_client.api.memories import edit_memory, list_memories, remember, undo_change
from tacit_client.models import Changed, Edit, Edited, ListedMemories, Problem, Remember, Undo

with AuthenticatedClient(base_url=sys.argv[1], token=sys.argv[2]) as client:
    stored = remember.sync(client=client, body=Remember(content="Amounts are integer cents.", scope="universal"))
    assert isinstance(stored, Changed), stored
    name = stored.changes[0].memory.id
    listed = list_memories.sync(client=client, limit=10)
    assert isinstance(listed, ListedMemories) and [one.id for one in listed.memories] == [name], listed
    edited = edit_memory.sync(name, client=client, body=Edit(content="Amounts are whole cents."))
    assert isinstance(edited, Edited) and edited.memory.content == "Amounts are whole cents.", edited
    undone = undo_change.sync(client=client, body=Undo(id=edited.change_id))
    assert isinstance(undone, Changed), undone
    refused = edit_memory.sync("mem_none", client=client, body=Edit(content="Nothing."))
    assert isinstance(refused, Problem) and refused.code == "not_found", refused
print("remember, list_memories, edit_memory, undo_change and a typed refusal: as described")
"""


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--into", type=Path, help="keep the clients in this folder")
    wanted: Path | None = parser.parse_args().into
    with tempfile.TemporaryDirectory() as temporary:
        into = (wanted or Path(temporary, "clients")).absolute()
        into.mkdir(parents=True, exist_ok=True)
        warnings = [
            *_python(into),
            *_typescript(into),
            *_generated(into),
        ]
        for line in warnings:
            print(line)
        if not warnings:
            _ask_daemon(into, Path(temporary))
    print(f"{len(warnings)} warnings" if warnings else "no warnings")
    return int(bool(warnings))


def _run(*command: str | Path) -> str:
    """Run a program to its end; all that it said."""
    # The Python generator formats with the ruff that stands beside this interpreter.
    environ = {**os.environ, "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environ)
    said = done.stdout + done.stderr
    if done.returncode:
        raise SystemExit(f"{command[0]} failed with {done.returncode}:\n{said}")
    return said


def _tool(tool: tuple[str, str], *arguments: str | Path) -> str:
    package, command = tool
    return _run("uv", "tool", "run", "--from", package, command, *arguments)


def _python(into: Path) -> list[str]:
    target = into / "tacit_client"
    said = _tool(
        PYTHON_CLIENT,
        "generate",
        "--path",
        DOCUMENT,
        "--output-path",
        target,
        "--meta",
        "none",
        "--overwrite",
    )
    print("python: openapi-python-client")
    return [f"python: {said}"] if "arning" in said else []


def _typescript(into: Path) -> list[str]:
    program = REPOSITORY / "web" / "node_modules" / ".bin" / "openapi-typescript"
    said = _run(program, DOCUMENT, "-o", into / "tacit.d.ts")
    print("typescript: openapi-typescript")
    return [f"typescript: {line}" for line in said.splitlines() if "⚠" in line or "warn" in line.lower()]


def _generated(into: Path) -> list[str]:
    smallest = into / "smallest.json"
    smallest.write_text(json.dumps(SMALLEST))
    own = set(_warned("python", smallest, into / "smallest"))
    warned: list[str] = []
    for language in LANGUAGES:
        warned += [
            f"{language}: {line}" for line in _warned(language, DOCUMENT, into / language) if line not in own
        ]
        print(f"{language}: openapi-generator")
    return warned


def _warned(language: str, document: Path, target: Path) -> list[str]:
    said = _tool(GENERATOR, "generate", "-i", document, "-g", language, "-o", target)
    return [line for line in said.splitlines() if "WARN" in line or "ERROR" in line]


def _ask_daemon(into: Path, temporary: Path) -> None:
    home = Home(temporary / "home")
    token = Authority(home).create("generated client")
    client = DaemonClient(home, token=token)
    client.ensure_running(60.0)
    try:
        _, port = client.request("POST", "/listen", {"port": 0})
        program = into / "session.py"
        program.write_text(SESSION)
        package = PYTHON_CLIENT[0]
        address = f"http://127.0.0.1:{port['port']}"
        print(_run("uv", "tool", "run", "--from", package, "python", program, address, token), end="")
    finally:
        client.stop(30.0)


if __name__ == "__main__":
    raise SystemExit(main())
