"""Whether two versions of Tacit hand over the same packs. In: a recording, or a commit. Out: per preset what differs; exit code 1 where anything does.

    python -m tacit_evals.same_packs record --out FILE [--data FOLDER]
    python -m tacit_evals.same_packs compare FILE
    python -m tacit_evals.same_packs compare --against COMMIT [--data FOLDER]

A recording is 500 recalls per preset on one store: at session starts, resumes and compactions, before prompts, before and after tool calls,
at subagents and on demand. It holds the plan it was made from, every answer as the host gets it, and what the traces say: silences, drops
with reasons, thresholds, what was injected. `compare FILE` carries out the same plan with the code of this checkout, `--against` with that
of a commit and of this checkout. A recording holds the statements of `--data`, so it is never written into the project.
"""

from __future__ import annotations

import argparse
import difflib
import gzip
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast

from tacit.config.preset_files import preset_names
from tacit_evals.plain_install import SOURCE
from tacit_evals.recall_plan import STATEMENTS, make_plan

FORMAT = 1
RECALLS = 500
SHOWN = 3
DIFF_LINES = 24
RECORDER = Path(__file__).with_name("recall_recorder.py")

Recording = dict[str, Any]


def record(plan: Mapping[str, Any], *, source: Path, commit: str) -> Recording:
    """Carry out `plan` with the code of the checkout `source`, in a process of its own.

    Raises:
        SystemExit: if that code cannot do it, with what it printed.
    """
    with tempfile.TemporaryDirectory(prefix="same-packs-") as name:
        work = Path(name).resolve()
        plan_file, out = work / "plan.json", work / "out.json"
        plan_file.write_text(json.dumps(plan), "utf-8")
        (work / "user").mkdir()
        folder = work / "work"
        folder.mkdir()
        command = [sys.executable, "-P", str(RECORDER), str(plan_file), str(folder), str(out), str(source)]
        done = subprocess.run(
            command,
            env=_environment(source, work / "user"),
            cwd=work,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise SystemExit(f"The recorder failed with the code of {commit}:\n{done.stderr[-4000:]}")
        made = json.loads(out.read_text("utf-8"))
    hashes = {preset: _hash(recalls) for preset, recalls in made["presets"].items()}
    return {"format": FORMAT, "commit": commit, "hashes": hashes, "plan": plan, **made}


def _environment(source: Path, user: Path) -> dict[str, str]:
    """The environment without the user's settings and home, with the code of `source` and one thread for arithmetic."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("TACIT_", "PYTHON"))}
    threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"), "1")
    return {**kept, **threads, "HOME": str(user), "PYTHONPATH": str(source / "src")}


def _hash(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


def write_recording(recording: Recording, file: Path) -> None:
    """Write a recording, compressed.

    Raises:
        SystemExit: if `file` is in the project.
    """
    if file.resolve().is_relative_to(SOURCE.resolve()):
        raise SystemExit(
            f"{file} is in the project; a recording may hold private statements. Name a file elsewhere."
        )
    with gzip.GzipFile(file, "wb", mtime=0) as target:
        target.write(json.dumps(recording).encode())


def read_recording(file: Path) -> Recording:
    """Read a recording.

    Raises:
        SystemExit: if `file` is none, or one of another format.
    """
    try:
        with gzip.open(file, "rb") as opened:
            found = json.loads(opened.read())
    except (OSError, ValueError, EOFError) as error:
        raise SystemExit(f"{file} is no recording: {error}") from None
    if found.get("format") != FORMAT:
        raise SystemExit(f"{file} has format {found.get('format')}; this program knows {FORMAT}.")
    return cast(Recording, found)


@contextmanager
def checkout(commit: str) -> Iterator[tuple[Path, str]]:
    """The files of `commit` in a folder of their own, and its short name.

    Raises:
        SystemExit: if there is no such commit.
    """
    git = ["git", "-C", str(SOURCE)]
    named = subprocess.run([*git, "rev-parse", "--short", f"{commit}^{{commit}}"], capture_output=True, text=True, check=False)  # fmt: skip
    if named.returncode:
        raise SystemExit(f"There is no commit {commit!r} here.")
    with tempfile.TemporaryDirectory(prefix="same-packs-") as name:
        archive = subprocess.run([*git, "archive", commit], capture_output=True, check=True)
        subprocess.run(["tar", "-x", "-C", name], input=archive.stdout, check=True)
        yield Path(name), named.stdout.strip()


def present_commit() -> str:
    """The commit of this checkout, with a plus sign where files differ from it."""
    git = ["git", "-C", str(SOURCE)]
    named = subprocess.run(
        [*git, "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False
    )
    changed = subprocess.run([*git, "status", "--porcelain"], capture_output=True, text=True, check=False)
    return f"{named.stdout.strip() or 'unknown'}{'+' if changed.stdout.strip() else ''}"


def compare(before: Recording, after: Recording, *, shown: int = SHOWN) -> list[str]:
    """The lines of the report; the first is empty where nothing differs."""
    lines: list[str] = []
    stored = [
        (statement["name"], old, new)
        for statement, old, new in zip(
            before["plan"]["statements"], before["stored"], after["stored"], strict=True
        )
        if old != new
    ]
    told = f"different: {len(stored)} of {len(before['stored'])} statements" if stored else "identical"
    lines.append(f"store: {told} ({len(before['stored'])} statements)" if not stored else f"store: {told}")
    lines += [f"  {name} made or changed {old} before, {new} now" for name, old, new in stored[:shown]]
    for preset in before["presets"]:
        lines += _compare_preset(preset, before["presets"][preset], after["presets"].get(preset), shown)
    return lines


def _compare_preset(
    preset: str, before: list[dict[str, Any]], after: list[dict[str, Any]] | None, shown: int
) -> list[str]:
    recalls = sum(one["asks"] for one in before)
    if after is None:
        return [f"{preset}: different: there is no such preset now"]
    pairs = [(old, new) for old, new in zip(before, after, strict=True) if old != new]
    if not pairs:
        given = sum(bool(_texts(one)) for one in before)
        return [f"{preset}: identical ({recalls} recalls, {given} of them with a block; {_hash(before)})"]
    counted = Counter(field for old, new in pairs for field in _fields(old, new))
    what = ", ".join(f"{field} {count}" for field, count in counted.most_common())
    lines = [f"{preset}: different: {len(pairs)} of {len(before)} signals ({what})"]
    for old, new in pairs[:shown]:
        lines.append(f"  {old['label']}: {' '.join(old['asked'].split())[:100]}")
        lines += [f"    {line}" for line in _differences(old, new)]
    if len(pairs) > shown:
        lines.append(f"  and {len(pairs) - shown} more")
    return lines


def _texts(one: Mapping[str, Any]) -> list[str]:
    return [trace["block"] for trace in one["traces"] if trace["block"]]


def _fields(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Which parts of a recall differ."""
    found = ["answer"] if old["answer"] != new["answer"] else []
    if len(old["traces"]) != len(new["traces"]):
        return [*found, "number of traces"]
    differing = {
        field: None
        for before, after in zip(old["traces"], new["traces"], strict=True)
        for field in before
        if before[field] != after[field]
    }
    return [*found, *differing]


def _differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """The first lines of what differs in one recall, as a diff: what was, then what is."""
    before, after = list(_written(old)), list(_written(new))
    diff = [
        line
        for line in difflib.unified_diff(before, after, lineterm="", n=0)
        if not line.startswith(("---", "+++", "@@"))
    ]
    cut = [f"and {len(diff) - DIFF_LINES} more lines"] if len(diff) > DIFF_LINES else []
    return [line[:240] for line in diff[:DIFF_LINES]] + cut


def _written(one: Mapping[str, Any]) -> Iterator[str]:
    yield from (f"answer: {line}" for line in one["answer"].splitlines())
    for trace in one["traces"]:
        for field, value in trace.items():
            values = value if isinstance(value, list) else str(value).splitlines()
            if field != "block":  # the answer shows it
                yield from (f"{field}: {line}" for line in values)


def differs(before: Recording, after: Recording) -> bool:
    """Whether anything differs."""
    return any(before[part] != after[part] for part in ("stored", "presets"))


def main(arguments: Sequence[str] | None = None) -> int:
    """Record or compare; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="tacit_evals.same_packs", description=(__doc__ or "").splitlines()[0]
    )
    commands = parser.add_subparsers(dest="command", required=True)
    recording = commands.add_parser("record", help="record what this checkout hands over")
    recording.add_argument("--out", type=Path, required=True, help="file to write, outside the project")
    comparing = commands.add_parser("compare", help="compare this checkout with a recording or a commit")
    comparing.add_argument("file", type=Path, nargs="?", help="a recording")
    comparing.add_argument("--against", metavar="COMMIT", help="record with the code of this commit first")
    comparing.add_argument("--shown", type=int, default=SHOWN, help="differences to print per preset")
    for one in (recording, comparing):
        one.add_argument("--data", type=Path, help="folder with <project>/memories.jsonl and prompts.jsonl")
        one.add_argument("--recalls", type=int, default=RECALLS, help="recalls per preset")
        one.add_argument("--statements", type=int, default=STATEMENTS, help="generated statements")
        one.add_argument(
            "--preset", action="append", choices=preset_names(), help="only this one; repeatable"
        )
    given = parser.parse_args(arguments)
    if given.command == "compare" and (given.file is None) == (given.against is None):
        parser.error("give a recording or --against COMMIT")
    if given.command == "compare" and given.file:
        before = read_recording(given.file)
        after = record(before["plan"], source=SOURCE, commit=present_commit())
    else:
        made = make_plan(recalls=given.recalls, statements=given.statements, data=given.data)
        plan = {**asdict(made), "presets": given.preset or list(preset_names())}
        plan = json.loads(json.dumps(plan))
        if given.command == "record":
            found = record(plan, source=SOURCE, commit=present_commit())
            write_recording(found, given.out)
            for preset, value in found["hashes"].items():
                print(f"{preset}: {made.recalls} recalls, {value}")
            return 0
        with checkout(given.against) as (folder, name):
            before = record(plan, source=folder, commit=name)
        after = record(plan, source=SOURCE, commit=present_commit())
    print(f"before: {before['commit']}, now: {after['commit']}")
    print("\n".join(compare(before, after, shown=given.shown)))
    return int(differs(before, after))


if __name__ == "__main__":
    raise SystemExit(main())
