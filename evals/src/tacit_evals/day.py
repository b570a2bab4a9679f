"""A developer's day through the real doors: prompts by the hook client's process, an agent's notes by the stdio MCP server, one daemon with the shipped model.

Run: `python -m tacit_evals.day --data DIR [--notes none|recorded] [--content tidy|rich|words] [--quote words|part|fixed|none]`. In: DIR/everyday with
`typed_day.jsonl` (57 prompts of 9 sessions in two projects), `typed_day_lasting.json` and `agent_notes.json` (the recorded notes of a strong agent). Out:
what became of every note, the active memories of each project, and the start blocks after the day, for people to read.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters, stdio_client

from tacit.config.home import Home
from tacit.daemon.launcher import write_launcher
from tacit_evals.attacks.product import Product

Row = Mapping[str, Any]


async def _add(launcher: Path, home: Path, cwd: Path, note: Row, *, content: str, quote: str) -> str:
    """Call the tools as the agent does: look for the memory that the note replaces, then store it. Return the answer."""
    import os

    environment = {**os.environ, "TACIT_HOME": str(home)}
    server = StdioServerParameters(command=str(launcher), args=["mcp"], env=environment, cwd=str(cwd))
    async with Client(stdio_client(server)) as client:
        replaces: list[str] = []
        for query in note["find"] or ():
            found = await client.call_tool("memory_search", {"query": query})
            rows = (found.structured_content or {}).get("memories", [])
            replaces = [row["id"] for row in rows[:1]]
            if replaces:
                break
        arguments: dict[str, Any] = {"content": content, "kind": note["kind"], "when": note["when"]}
        arguments |= {"user_words": quote} if quote else {}
        arguments |= {"replaces": replaces} if replaces else {}
        answer = await client.call_tool("memory_add", {k: v for k, v in arguments.items() if v})
        return " ".join(block.text for block in answer.content if hasattr(block, "text"))


def run_day(
    product: Product, data: Path, launcher: Path, *, notes: Sequence[Row], content: str, quote: str
) -> list[tuple[str, str]]:
    """Type the day; return (key of the note, answer) in the order in which the agent noted."""
    prompts = [json.loads(line) for line in (data / "typed_day.jsonl").read_text("utf-8").splitlines()]
    answers: list[tuple[str, str]] = []
    folders = {row["project"]: product.folder(row["project"]) for row in prompts}
    for session in dict.fromkeys(row["session"] for row in prompts):
        rows = [row for row in prompts if row["session"] == session]
        cwd = folders[rows[0]["project"]]
        lines: list[dict[str, Any]] = []
        transcript = product.root / f"{session}.jsonl"
        fields = {
            "session": f"day-{session}",
            "cwd": cwd,
            "by_process": True,
            "transcript_path": str(transcript),
        }
        product.hook("SessionStart", source="startup", **fields)
        for number, row in enumerate(rows):
            lines.append({"type": "user", "message": {"role": "user", "content": row["prompt"]}})
            if not row["prompt"].startswith("/"):
                product.hook(
                    "UserPromptSubmit", prompt=row["prompt"], prompt_id=f"{session}-{number}", **fields
                )
            for note in notes:
                if note["label"] == session and note["at"] in row["prompt"]:
                    words = note.get(quote, "") or "" if quote != "none" else ""
                    text = note[content] or note["tidy"]
                    answers.append(
                        (
                            note["key"],
                            asyncio.run(_add(launcher, product.home, cwd, note, content=text, quote=words)),
                        )
                    )
            said = "Done, have a look."
            lines.append(
                {
                    "type": "assistant",
                    "message": {"role": "assistant", "content": [{"type": "text", "text": said}]},
                }
            )
            product.hook("Stop", last_assistant_message=said, **fields)
        stamped = [
            {
                "sessionId": f"day-{session}",
                "cwd": str(cwd),
                "uuid": f"{session}-{n}",
                "timestamp": f"2026-11-27T10:{n:02}:00.000Z",
                **line,
            }
            for n, line in enumerate(lines)
        ]
        transcript.write_text("".join(json.dumps(line) + "\n" for line in stamped), "utf-8")
        product.hook("SessionEnd", reason="other", **fields)
    return answers


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the day and print what was learned of it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--notes", choices=("none", "recorded"), default="recorded")
    parser.add_argument("--content", choices=("tidy", "rich", "words"), default="tidy")
    parser.add_argument("--quote", choices=("words", "part", "fixed", "none"), default="words")
    asked = parser.parse_args(arguments)
    data = asked.data.resolve() / "everyday"
    notes: list[Row] = (
        json.loads((data / "agent_notes.json").read_text("utf-8")) if asked.notes == "recorded" else []
    )
    with tempfile.TemporaryDirectory(prefix="d") as folder:
        product = Product(Path(folder), Path(sys.executable))
        launcher = write_launcher(Home(product.home))
        with product.running():
            answers = run_day(product, data, launcher, notes=notes, content=asked.content, quote=asked.quote)
            product.settle()
            fates = Counter(_fate(answer) for _, answer in answers)
            for key, answer in answers:
                print(f"{_fate(answer):10} {key:11} {answer[:230]}")
            if answers:
                print(", ".join(f"{count} {fate}" for fate, count in fates.most_common()))
            for name in ("billing-api", "envsync"):
                cwd = product.folder(name)
                active = [row for row in product.memories(cwd=cwd) if row["status"] == "active"]
                print(f"\n== {name}: {len(active)} active")
                for row in active:
                    print(
                        f"  [{row['kind']}, {row['provenance']['tier']} via {row['provenance']['source']}] {row['content']}"
                    )
                print(f"-- start block of {name}\n{product.start_block(cwd, session=f'next-{name}')}")
    return 0


def _fate(answer: str) -> str:
    if "Not stored" in answer:
        return "refused"
    if "on demand only" in answer:
        return "waits"
    return "own note" if "own note" in answer else "user"


if __name__ == "__main__":
    sys.exit(main())
