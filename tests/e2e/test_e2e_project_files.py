"""What a project says of itself: there when it is asked for, with its source; no question, and silent until it is accepted.

The command line, hook processes, the daemon, its MCP server and the shipped model.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from e2e.drivers.machine import Machine
from e2e.drivers.tools import call_tool

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

FILES = {
    "README.md": "# courier\n\nThe dispatch service that assigns parcels to drivers.\n\n## Install\n\n```bash\n# start everything\nmake up\n```\n",
    "Makefile": ".PHONY: check\n\nproto:\n\tbuf generate\n\ncheck: proto\n\tgo vet ./...\n\tgo test -race \\\n\t  ./...\n\tgolangci-lint run\n",
    "package.json": '{"scripts": {"prebuild": "rm -rf dist", "build": "vite build"}}',
}  # fmt: skip
CHECK = "`make check` runs `go vet ./...`, then `go test -race ./...`, then `golangci-lint run` (after the target `proto`)"
BUILD = "`npm run build` runs `rm -rf dist`, then `vite build`"
ABOUT = "courier: The dispatch service that assigns parcels to drivers"


@pytest.fixture
def machine() -> Iterator[Machine]:
    with Machine(TACIT_EMBEDDER__PROVIDER="minilm") as made:
        for name, text in FILES.items():
            (made.project / name).write_text(text)
        yield made


def test_it_is_found_with_its_source_asks_nothing_and_begins_no_session(machine: Machine) -> None:
    said = machine.tacit("init", "--yes").stdout
    assert "Facts from README, manifests and commits are found on demand" in said
    assert "tacit review" not in said
    assert machine.ask("review", "list")["review"] == []

    listed = {one["content"]: one for one in machine.ask("list")["memories"]}
    assert {CHECK, BUILD, ABOUT} <= listed.keys()
    assert listed[CHECK]["provenance"]["source"] == "Makefile"
    table = machine.tacit("list", COLUMNS="200").stdout
    assert "Makefile" in table
    assert "README.md" in table
    assert CHECK[:60] in machine.tacit("recall", "what does make check run", COLUMNS="200").stdout

    machine.remember("Always run ruff before every commit")
    start = machine.start()
    prompts = [
        machine.prompt("run make check and fix what it finds"),
        machine.prompt("build the page with npm run build"),
    ]
    assert "Always run ruff before every commit" in start
    for text in (start, *prompts):
        for content in (CHECK, BUILD, ABOUT, "start everything"):
            assert content not in text

    for tool, given in (
        ("memory_search", {"query": "what does make check run"}),
        ("memory_list", {}),
        ("memory_context", {"query": "make check"}),
    ):
        answer = call_tool(machine, tool, **given)
        assert CHECK in answer, (tool, answer)
        assert "Makefile" in answer, (tool, answer)
        assert "unconfirmed" in answer, (tool, answer)
