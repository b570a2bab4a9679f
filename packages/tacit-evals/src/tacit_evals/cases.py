"""Runs the small inputs of a folder of failing cases through the product's real doors, and says for each whether what came is what is wanted.

Run: `python -m tacit_evals.cases --cases DIR [--only WORD]`. In: a folder with `memory/` and `hosts/`, as its README.md describes it. Out: one row a
case; the exit code is 1 if a case fails. Each case gets a home of its own. It goes through the command line, the library, the hook client's
process with a real daemon, the proxy's SDK wrapper against the folder's own stub server, and the import of transcripts.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import tacit_hook

BIN = Path(sys.executable).parent
PLAIN = "/home/dev/plain"
"""The folder that the recorded payloads name; each case gets a folder of its own in its place."""
_SDK = """
import openai, sys
from tacit import Tacit
from tacit_integrations import with_memory
with Tacit.open(cwd="") as memory:
    memory.remember("Always answer in British English spelling.", when="always")
    client = with_memory(openai.OpenAI(api_key="k", base_url=sys.argv[1], max_retries=0), memory)
    for role in ("system", "developer", ""):
        own = [{"role": role, "content": "You are terse."}] if role else []
        said = [*own, {"role": "user", "content": f"Hi {role}, commit please."}]
        print(client.chat.completions.create(model="m", messages=said).choices[0].message.content)
"""
_EXPORT = """
import sys, warnings
warnings.simplefilter("always")
from tacit import Tacit
with Tacit.open(cwd="") as memory:
    print("rows", sum(line.startswith('{"memory"') for line in memory.export().splitlines()))
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What a case gave: whether it is what is wanted, and the words that show it."""

    right: bool
    got: str


class CaseMachine:
    """A person's machine for one case: a home, a store, a project folder `plain` with a subfolder, and a token that speaks for the user."""

    def __init__(self, root: Path, cases: Path) -> None:
        self.root, self.cases = root, cases
        self.plain = root / "plain"
        (self.plain / "sub").mkdir(parents=True)
        self.environment = {
            **os.environ,
            "HOME": str(root),
            "TACIT_HOME": str(root / "tacit"),
            "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
            "TZ": "UTC",
            "TMPDIR": str(root),
            "TACIT_RECALL__DEADLINE_MS": "20000",
            "TACIT_HOOK_DEADLINE_MS": "20000",
        }
        shown = self.run("python", str(cases / "memory" / "_pty.py"), "tacit", "token", "create", "cases")
        self.environment["TACIT_TOKEN"] = shown.stdout.split()[0]

    def run(self, *command: str, cwd: Path | None = None, text: str = "") -> subprocess.CompletedProcess[str]:
        """Run a program as this person does."""
        return subprocess.run(
            [shutil.which(command[0], path=self.environment["PATH"]) or command[0], *command[1:]],
            cwd=cwd or self.plain,
            env=self.environment,
            input=text,
            capture_output=True,
            text=True,
            check=False,
            timeout=180,
        )

    def tacit(self, *words: str, cwd: Path | None = None) -> str:
        """Run a command of Tacit and return all that it prints."""
        done = self.run("tacit", *words, cwd=cwd)
        return done.stdout + done.stderr

    def hook(self, payload: str) -> str:
        """Send one event of Claude Code through the hook client's process."""
        text = payload.replace(PLAIN, str(self.plain)).replace("/home/dev", str(self.root))
        done = self.run("python", "-I", "-S", "-E", tacit_hook.__file__, "claude-code", text=text)
        return done.stdout

    def memories(self, cwd: Path | None = None) -> list[dict[str, object]]:
        """The active memories that may be seen from a folder, digests aside."""
        folder = str(cwd or self.plain)
        rows = json.loads(self.run("tacit", "list", "--cwd", folder, "--json").stdout)["memories"]
        return [row for row in rows if row["kind"] != "digest" and row["status"] == "active"]

    def contents(self, cwd: Path | None = None) -> list[str]:
        """Their words."""
        return [str(row["content"]) for row in self.memories(cwd)]

    def imported(self, name: str) -> list[str]:
        """What the import of a transcript of the cases leaves active."""
        source = self.cases / "hosts" / name
        target = self.root / source.name
        if source.is_dir():
            shutil.copytree(source, target)
        else:
            data = source.read_bytes().replace(PLAIN.encode(), str(self.plain).encode())
            target.write_bytes(data)
        self.tacit("import", "transcripts", str(target), "--cwd", str(self.plain), "--yes")
        return self.contents()

    def script(self, name: str, *words: str) -> str:
        """Run a script of the memory cases, with the names that commands have today, and return what it prints."""
        folder = self.root / "scripts"
        shutil.copytree(self.cases / "memory", folder, dirs_exist_ok=True)
        text = (folder / name).read_text("utf-8")
        (folder / name).write_text(
            text.replace('"tacit", "context"', '"tacit", "recall"').replace("tacit context", "tacit recall"),
            "utf-8",
        )
        done = self.run("python" if name.endswith(".py") else "bash", name, *words, cwd=folder)
        return done.stdout + done.stderr


def _lost(machine: CaseMachine, name: str) -> Result:
    out = machine.script(name).strip()
    last = out.splitlines()[-1] if out else "nothing"
    return Result(right=last.startswith("0 of "), got=last)


def _no_longer(machine: CaseMachine, name: str) -> Result:
    rows = [line for line in machine.script(name).splitlines() if line.startswith(("ended", "BOTH ACTIVE"))]
    ended = sum(row.startswith("ended") for row in rows)
    return Result(right=len(rows) == 10 and ended == 10, got=f"{ended} of {len(rows)} ended")


def _strict_template(machine: CaseMachine, name: str) -> Result:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    stub = machine.cases / "memory" / name.replace(".py", "_stub.py")
    log = machine.root / "requests.log"
    server = subprocess.Popen([sys.executable, str(stub), str(port), str(log), "strict"])
    try:
        for _ in range(100):
            with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
                break
            time.sleep(0.05)
        done = machine.run("python", "-c", _SDK, f"http://127.0.0.1:{port}/v1")
    finally:
        server.kill()
        server.wait()
    bodies = [json.loads(json.loads(line)["body"]) for line in log.read_text("utf-8").splitlines()]
    roles = [[message["role"] for message in body["messages"]] for body in bodies]
    given = sum("British" in json.dumps(body) for body in bodies)
    wanted = [["system", "user"], ["developer", "user"], ["system", "user"]]
    return Result(
        right=done.returncode == 0 and roles == wanted and given == 3,
        got=f"{roles}, memory in {given}; {done.stderr.strip()[-120:]}",
    )


def _relative_words(machine: CaseMachine, name: str) -> Result:
    lines = [line for line in machine.script(name).splitlines() if line.startswith("- [")]
    dated = [line for line in lines if re.search(r"\(\d{4}-\d\d-\d\d\)$", line)]
    return Result(right=len(lines) == len(dated) == 3, got=f"{len(dated)} of {len(lines)} lines have a day")


def _too_long(machine: CaseMachine, name: str) -> Result:
    out = machine.script(name)
    refusals = out.count("at most 2,000")
    right = "rc=0" not in out and refusals >= 2 and "change='skip'" not in out
    return Result(right=right, got=f"{refusals} refusals: {out.strip()[-160:]}")


def _partial_export(machine: CaseMachine, _name: str) -> Result:
    machine.tacit("remember", "Restricted fact about moles.", "--sensitivity", "restricted")
    machine.tacit("remember", "Plain fact about lemurs.")
    whole = machine.run("python", "-c", _EXPORT)
    del machine.environment["TACIT_TOKEN"]
    part = machine.run("python", "-c", _EXPORT)
    right = "rows 2" in whole.stdout and "rows 1" in part.stdout and "left out" in part.stderr
    return Result(
        right=right, got=f"{whole.stdout.strip()}; {part.stdout.strip()}; {part.stderr.strip()[:120]}"
    )


def _local_day(machine: CaseMachine, _name: str) -> Result:
    machine.environment["TZ"] = "Pacific/Midway"
    machine.tacit("stop")
    machine.tacit("remember", "The release is tomorrow.", "--when", "always")
    out = machine.tacit("recall") + machine.tacit("list")
    today = datetime.now(ZoneInfo("Pacific/Midway")).strftime("%Y-%m-%d")
    days = set(re.findall(r"\d{4}-\d\d-\d\d", out))
    return Result(right=days == {today}, got=f"{sorted(days)}, local day {today}")


def _drift(machine: CaseMachine, name: str) -> Result:
    for line in (machine.cases / "hosts" / name).read_text("utf-8").splitlines():
        machine.hook(line)
    transcript = name.replace("-hooks", "-transcript")
    machine.tacit("stop")
    here = machine.contents()
    own = machine.run("tacit", "list", "--cwd", str(machine.plain / "sub"), "--json").stdout
    with _machine(machine.cases) as other:
        imported = other.imported(transcript)
    right = any("plaincd-x" in text for text in here) and any("plaincd-x" in text for text in imported)
    below = "plaincd-x" in own
    return Result(right=right and not below, got=f"live {here}, in the subfolder {below}, import {imported}")


def _one_memory(machine: CaseMachine, name: str) -> Result:
    words = re.findall(r"make (?:h\d+|bom)\b|edit h17\b", (machine.cases / "hosts" / name).read_text("utf-8"))
    found = machine.imported(name)
    return Result(right=len(found) == 1 and words[0] in found[0], got=f"{found}")


def _three_memories(machine: CaseMachine, name: str) -> Result:
    found = machine.imported(name)
    wanted = ["nul0-x", "nul2-x"] if "before-row" in name else ["nul0-x", "nul1-x", "nul2-x"]
    return Result(right=all(any(word in text for text in found) for word in wanted), got=f"{found}")


def _terminal_codes(machine: CaseMachine, name: str) -> Result:
    found = machine.imported(name)
    right = sorted(text.rstrip(".") for text in found) == [
        "We deploy with make ansi2-x in staging",
        "We lint with make ansi1-x",
    ]
    return Result(right=right, got=f"{found}")


def _nothing(machine: CaseMachine, name: str) -> Result:
    found = machine.imported(name)
    return Result(right=not found, got=f"{found}")


def _rules_hold_everywhere(machine: CaseMachine, name: str) -> Result:
    for words in ("init -q -b main", "commit -q --allow-empty -m root", "switch -q -c feat"):
        machine.run("git", "-c", "user.name=a", "-c", "user.email=a@b.c", *words.split())
    for line in (machine.cases / "hosts" / name).read_text("utf-8").splitlines():
        machine.tacit("remember", line, "--cwd", str(machine.plain))
    rows = machine.memories()
    bound = [row["content"] for row in rows if row["branch"]]
    machine.run("git", "switch", "-q", "main")
    block = machine.tacit("recall", "--cwd", str(machine.plain))
    given = sum(word in block for word in ("make k2", "make k4", "k6pm", "k11"))
    return Result(
        right=len(rows) == 4 and not bound and given == 4, got=f"bound {bound}, given on main {given}"
    )


def _switched_off(machine: CaseMachine, name: str) -> Result:
    settings = machine.root / ".claude" / "settings.json"
    settings.parent.mkdir()
    shutil.copy(machine.cases / "hosts" / name, settings)
    said = {
        "install": machine.tacit("install", "claude-code", "--yes"),
        "doctor": machine.tacit("doctor", "claude-code", "--no-hosts"),
        "status": machine.tacit("status"),
    }
    silent = [command for command, text in said.items() if "disableAllHooks" not in text]
    return Result(
        right=not silent, got=f"does not say so: {silent}" if silent else "all three name the setting"
    )


def _renamed_folder(machine: CaseMachine, _name: str) -> Result:
    old, new = machine.root / "a", machine.root / "b"
    old.mkdir()
    machine.run("git", "init", "-q", cwd=old)
    machine.run(
        "git",
        "-c",
        "user.name=a",
        "-c",
        "user.email=a@b.c",
        "commit",
        "-q",
        "--allow-empty",
        "-m",
        "root",
        cwd=old,
    )
    machine.tacit("remember", "In this repo, run make ren-x before each commit.", "--cwd", str(old), cwd=old)
    old.rename(new)
    offered = machine.tacit("init", "--join", "--cwd", str(new), "--yes", cwd=new)
    block = machine.tacit("recall", "--cwd", str(new), cwd=new)
    return Result(
        right="ren-x" in block, got=f"join: {offered.strip()[:120]}; in the block: {'ren-x' in block}"
    )


def _unknown_source(machine: CaseMachine, name: str) -> Result:
    machine.tacit("remember", "Always answer in British English spelling.", "--when", "always")
    payload = (machine.cases / "hosts" / name).read_text("utf-8")
    without = json.dumps({key: value for key, value in json.loads(payload).items() if key != "source"})
    blocks = [machine.hook(payload), machine.hook(without.replace('"x1"', '"x2"'))]
    return Result(
        right=all("British" in block for block in blocks),
        got=f"blocks of {list(map(len, blocks))} characters",
    )


CASES: Sequence[tuple[str, Callable[[CaseMachine, str], Result]]] = (
    ("memory/01_signs_and_operators.py", _lost),
    ("memory/03_other_languages_opposite.py", _lost),
    ("memory/04_one_word_more.py", _lost),
    ("memory/05_no_longer.py", _no_longer),
    ("memory/06_strict_template.py", _strict_template),
    ("memory/07_relative_words.py", _relative_words),
    ("memory/08_too_long.sh", _too_long),
    ("memory/09_export_after_token.py", _partial_export),
    ("memory/12_local_day.sh", _local_day),
    ("hosts/01-cwd-drift-hooks.jsonl", _drift),
    *((f"hosts/02-lead-in-{number:02}.jsonl", _one_memory) for number in (0, 1, 2, 4, 5, 7, 8, 10)),
    ("hosts/03-rules-become-branch-facts.txt", _rules_hold_everywhere),
    ("hosts/04-nul-before-row.jsonl", _three_memories),
    ("hosts/04-nul-line.jsonl", _three_memories),
    ("hosts/04-nul-padding-after-row.jsonl", _three_memories),
    ("hosts/05-two-rows-on-one-line.jsonl", _three_memories),
    ("hosts/06-ansi.jsonl", _terminal_codes),
    ("hosts/07-aider", _nothing),
    ("hosts/08-hooks-switched-off-settings.json", _switched_off),
    ("hosts/10-renamed-folder.sh", _renamed_folder),
    ("hosts/11-unknown-start-source.json", _unknown_source),
)


@contextmanager
def _machine(cases: Path) -> Iterator[CaseMachine]:
    """A machine of its own, whose daemons end with it."""
    with tempfile.TemporaryDirectory(prefix="c") as root:
        machine = CaseMachine(Path(root), cases)
        try:
            yield machine
        finally:
            for running in Path(root).glob("*/run/daemon.json"):  # scripts make homes of their own
                machine.environment["TACIT_HOME"] = str(running.parents[1])
                machine.tacit("stop")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the cases and print one row each; 0 = all are right."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", type=Path, required=True, help="the folder of the cases")
    parser.add_argument("--only", default="", help="only the cases whose name holds this word")
    asked = parser.parse_args(arguments)
    cases = asked.cases.resolve()
    wrong = 0
    chosen = [(name, check) for name, check in CASES if asked.only in name]
    for name, check in chosen:
        with _machine(cases) as machine:
            result = check(machine, Path(name).name)
        wrong += not result.right
        print(f"{'right' if result.right else 'WRONG':6} {name:44} {result.got}", flush=True)
    print(f"{len(chosen) - wrong} of {len(chosen)} right")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
