"""How often the detection of uses is wrong: `python -m tacit_evals.suites.use_errors --data DIR [--json FILE]`.

In: judged projects below DIR (the `inject` format), and a folder `transcripts/PROJECT` of their raw sessions. Every memory of a pool is
looked for in every session with judged prompts, but not in the session that it was learned from. Its cues count from the first turn on, as
those of a memory of the start pack. Out: the share of the memories that a judged prompt of the session needed and that look used, and the
same share of all others.

In these sessions nobody was given a memory. So the first share is a lower bound: an agent that was given a memory says more of its words. The
second share is chance, and an upper bound: only some prompts of a session are judged, and another one may have needed the memory.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tacit.capture.usage import ShownMemory, judge_usage
from tacit.hosts.transcripts import Turn
from tacit.hosts.transcripts.sessions import read_sessions
from tacit.state.captured import Position
from tacit.state.counted import SessionUsage
from tacit_evals.data.judged import Project, load_inject
from tacit_evals.data.recognise import folders_of
from tacit_evals.suites.pool import stored_memory
from tacit_evals.timing import write_json

TRANSCRIPTS = "transcripts"


@dataclass(frozen=True, slots=True, kw_only=True)
class UseErrors:
    """Pairs of a session and a memory: needed and others, and how many of each look used."""

    project: str
    sessions: int
    needed: int
    needed_used: int
    others: int
    others_used: int

    @property
    def seen(self) -> float:
        """Share of the needed memories that look used."""
        return self.needed_used / self.needed if self.needed else 0.0

    @property
    def false(self) -> float:
        """Share of the other memories that look used."""
        return self.others_used / self.others if self.others else 0.0


def measure_errors(project: Project, turns_by_session: dict[str, tuple[Turn, ...]]) -> UseErrors:
    """The errors over the sessions of `project` that there are turns of."""
    memories = {row.id: stored_memory(row, project=project.name, given=False) for row in project.memories}
    learned_in = {row.id: row.session for row in project.memories}
    needed: dict[str, set[str]] = {}
    marginal: dict[str, set[str]] = {}
    for prompt in project.prompts:
        needed.setdefault(prompt.session, set()).update(prompt.judgment.needed)
        marginal.setdefault(prompt.session, set()).update(prompt.judgment.marginal)
    counts = {True: [0, 0], False: [0, 0]}
    sessions = [session for session in needed if session in turns_by_session]
    for session in sessions:
        shown = [
            ShownMemory(memory=memory)
            for memory in memories.values()
            if learned_in[memory.id] != session and memory.id not in marginal[session] - needed[session]
        ]
        for verdict in judge_usage(turns_by_session[session], shown, SessionUsage()):
            count = counts[verdict.memory_id in needed[session]]
            count[0] += 1
            count[1] += verdict.used
    return UseErrors(
        project=project.name,
        sessions=len(sessions),
        needed=counts[True][0],
        needed_used=counts[True][1],
        others=counts[False][0],
        others_used=counts[False][1],
    )


def read_folder(folder: Path) -> dict[str, tuple[Turn, ...]]:
    """The turns of every session in `folder`, by its id and by the name of its file."""
    turns: dict[str, tuple[Turn, ...]] = {}
    for path in sorted(folder.glob("*.md")):
        for session in read_sessions(path, since=lambda _host, _session: Position()):
            turns[path.stem] = turns[session.session_id] = session.transcript.turns
    return turns


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m tacit_evals.suites.use_errors", description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    measured = [
        measure_errors(load_inject(folder), read_folder(raw))
        for folder in folders_of("inject", options.data)
        if (raw := options.data / TRANSCRIPTS / folder.name).is_dir()
    ]
    table = Table(
        "project", "sessions", "needed", "of them used", "others", "of them used", title="Use detection"
    )
    for errors in measured:
        table.add_row(
            errors.project,
            str(errors.sessions),
            str(errors.needed),
            f"{errors.seen:.3f}",
            str(errors.others),
            f"{errors.false:.3f}",
        )
    if measured:
        means = [
            sum(getattr(errors, share) for errors in measured) / len(measured) for share in ("seen", "false")
        ]
        table.add_row("macro", "", "", f"{means[0]:.3f}", "", f"{means[1]:.3f}")
    Console().print(table)
    if options.json:
        rows = [
            {"project": errors.project, "seen": errors.seen, "false": errors.false, "needed": errors.needed}
            for errors in measured
        ]
        write_json(options.json, (), suite="use_errors", projects=rows)


if __name__ == "__main__":
    main()
