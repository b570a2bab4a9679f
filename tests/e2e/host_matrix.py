"""Which surface each host delivers, and which test with the real client shows it. `python tests/e2e/host_matrix.py` writes the page.

In: the capabilities of the built-in hosts, and the marks `@proves("codex", "start")` above tests here. Out: docs/reference/hosts.md.
A mark says that the test finds a block of that surface in what the real client sends to the model.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tacit.app.wiring import Hosts
from tacit.model.pack import Surface
from tacit.ports.host import Host, HostCapabilities

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "reference" / "hosts.md"
SURFACES = tuple(surface for surface in Surface if surface is not Surface.HOST)
HEAD = """# Hosts: what reaches the model, and where

<!-- Made by `python tests/e2e/host_matrix.py`; do not edit. -->

A surface is the moment at which Tacit injects ([glossary](../glossary.md#surfaces)). **Delivered** means that the block reaches the
model whole and in time. **Degraded** means that it reaches the model, with a limit that the host sets. **Impossible** means that the
host has no place for it. A test that is named ran the real client and found the block in the request that the client sent.
"""


def proves(host: str, *surfaces: str) -> pytest.MarkDecorator:
    """Mark a test as showing these surfaces of `host`; write them as literals, they are read from the source."""
    return pytest.mark.proves(host, *surfaces)


def hosts() -> tuple[Host, ...]:
    """The built-in hosts, in the order of registration; those of other installed packages are not documented here."""
    known = Hosts()
    return tuple(
        host for host in map(known.get, known) if host and type(host).__module__.startswith("tacit.")
    )


@cache
def proofs() -> tuple[tuple[str, str, str], ...]:
    """(host, surface, `file::test`) of every mark."""
    return tuple(_read_proofs())


def _read_proofs() -> Iterator[tuple[str, str, str]]:
    for path in sorted(HERE.glob("test_*.py")):
        source = path.read_text("utf-8")
        for node in ast.walk(ast.parse(source)) if "@proves(" in source else ():
            for decorator in node.decorator_list if isinstance(node, ast.FunctionDef) else ():
                if isinstance(decorator, ast.Call) and getattr(decorator.func, "id", "") == "proves":
                    host, *surfaces = (ast.literal_eval(argument) for argument in decorator.args)
                    yield from ((host, surface, f"{path.name}::{node.name}") for surface in surfaces)


def state(can: HostCapabilities, surface: Surface) -> str:
    """`delivered`, `degraded` or `impossible`."""
    if can.arrives(surface) == "never":
        return "impossible"
    return "degraded" if can.delivery(surface).limit else "delivered"


def page() -> str:
    """Text of docs/reference/hosts.md."""
    columns = [(host, host.capabilities) for host in hosts()]
    titles = [f"[{can.title}](#{host.name})" for host, can in columns]
    head = f"\n| surface | {' | '.join(titles)} |\n|---|{'---|' * len(titles)}\n"
    rows = [
        f"| `{surface}` | {' | '.join(state(can, surface) for _, can in columns)} |\n" for surface in SURFACES
    ]
    return HEAD + head + "".join(rows) + "".join(_section(host.name, can) for host, can in columns)


def _section(name: str, can: HostCapabilities) -> str:
    shown: dict[str, list[str]] = {}
    for host, surface, test in proofs():
        if host == name:
            shown.setdefault(surface, []).append(f"`{test}`")
    rows = []
    for surface in SURFACES:
        said = can.delivery(surface)
        tests = "; ".join(shown.get(surface, ())) or "-"
        rows.append(
            f"| `{surface}` | {state(can, surface)} | {said.where or '-'} | {said.limit or '-'} | {tests} |\n"
        )
    head = f'\n<a id="{name}"></a>\n\n## {can.title}\n\n{_facts(name, can)}\n\n'
    return (
        head
        + "| surface | state | where in the request | limit | shown by |\n|---|---|---|---|---|\n"
        + "".join(rows)
    )


def _facts(name: str, can: HostCapabilities) -> str:
    basis = f"{can.basis[:1].upper()}{can.basis[1:]}."
    files = ", ".join(f"`{file}`" for file in (*can.loads_rule_files, *can.rule_file_fallbacks))
    return "\n".join(
        f"- {line}"
        for line in (
            f"{basis} Name for commands and settings: `{name}`.",
            f"A block has at most {can.cap_chars:,} characters{f' and {can.cap_bytes:,} bytes' if can.cap_bytes else ''}.",
            "The host keeps what it was given and sends it again with every request."
            if can.stored
            else "The host keeps nothing of what it was given: Tacit adds the same bytes to every request.",
            "A signal comes after a compaction."
            if can.post_compaction
            else "No signal comes after a compaction.",
            "A rule can refuse a call before it runs." if can.refuses else "A rule cannot refuse a call.",
            f"The host loads these rule files itself: {files}."
            if files
            else "The host loads no rule files itself.",
            can.tool_calls,
            "The host has a memory of its own, which Tacit reads and follows and never writes."
            if can.memory_files
            else "",
            f"Subagents of the type {', '.join(f'`{kind}`' for kind in can.agents_without_tools)} cannot call MCP tools: they get no index."
            if can.agents_without_tools
            else "",
        )
        if line
    )


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
