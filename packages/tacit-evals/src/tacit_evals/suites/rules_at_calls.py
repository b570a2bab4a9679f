"""Whether a rule that names its moment arrives at the call it governs, and nowhere else.

In: `data/rules_at_calls.yaml`. Out: counts, printed. Goes the way of a host: the hook client, a daemon with the shipped model, a
store that holds every rule of the set. Each pair has a session of its own: the prompt, the calls before, the governed call.

    before    the text reached the model before the call: with the prompt, or with the result of a call before
    blocked   the call was refused, with the rule as the reason (only with `--blocking`)
    with      the text came with the call itself, which the host shows beside its result
    after     only when the call was done
    missed    not at all

A prohibition counts as delivered only before the call or by blocking it.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ruamel.yaml import YAML

from tacit.client.daemon_client import DaemonClient
from tacit.config.home import Home
from tacit.daemon.launcher import write_launcher
from tacit.safety.authority import Authority
from tacit_evals.daemon_under_test import DaemonUnderTest

DATA = Path(__file__).parent.parent / "data" / "rules_at_calls.yaml"
PATIENT_MS = "20000"
Arrival = Literal["before", "blocked", "with", "after", "missed"]
ARRIVALS: tuple[Arrival, ...] = ("before", "blocked", "with", "after", "missed")
_INPUTS = {
    "Bash": "command", "Edit": "file_path", "Write": "file_path", "Read": "file_path", "Grep": "pattern", "Glob": "pattern",
    "WebFetch": "url", "WebSearch": "query", "Task": "description",
}  # fmt: skip
_FIELDS = {"old": "old_string", "new": "new_string", "ask": "prompt", "kind": "subagent_type", "path": "path"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A project with a home, and the daemon that serves it."""

    home: Home
    project: Path

    def hook(self, event: str, session: str, **fields: object) -> tuple[str, bool]:
        """Send one event through the hook client; what the model is given, and whether the call is refused."""
        payload = {"hook_event_name": event, "session_id": session, "cwd": str(self.project), **fields}
        done = subprocess.run(
            [self.home.launcher, "claude-code"],
            input=json.dumps(payload).encode(),
            capture_output=True,
            env={**os.environ, "TACIT_HOME": str(self.home.root), "TACIT_HOOK_DEADLINE_MS": PATIENT_MS},
            check=True,
        )
        output = json.loads(done.stdout).get("hookSpecificOutput", {}) if done.stdout else {}
        refused = str(output.get("permissionDecisionReason", ""))
        return refused or str(output.get("additionalContext", "")), bool(refused)

    def call(self, call: Mapping[str, str], session: str, number: int) -> tuple[tuple[str, bool], str]:
        """A tool call that succeeds; what the model is given when it starts, and when it is done."""
        tool = next(iter(call))
        inputs = {_INPUTS[tool]: self._path(tool, call[tool])}
        for name, text in call.items():
            if name == "text":
                inputs["content" if tool == "Write" else "prompt"] = text
            elif name != tool:
                inputs[_FIELDS[name]] = text
        fields = {"tool_name": tool, "tool_input": inputs, "tool_use_id": f"call-{number}"}
        starts = self.hook("PreToolUse", session, **fields)
        done = "" if starts[1] else self.hook("PostToolUse", session, tool_response={"ok": True}, **fields)[0]
        return starts, done

    def _path(self, tool: str, text: str) -> str:
        inside = tool in ("Edit", "Write", "Read") and not text.startswith("/")
        return str(self.project / text) if inside else text


def arrival_of(place: Place, pair: Mapping[str, Any], session: str) -> Arrival:
    """When the rule of `pair` reaches the model."""
    rule = pair["rule"]
    if rule in place.hook("UserPromptSubmit", session, prompt=pair["prompt"])[0]:
        return "before"
    for number, call in enumerate(pair.get("before", ())):
        (text, _), done = place.call(call, session, number)
        if rule in text or rule in done:
            return "before"
    (text, refused), done = place.call(pair["call"], session, 99)
    if rule in text:
        return "blocked" if refused else "with"
    return "after" if rule in done else "missed"


def is_delivered(pair: Mapping[str, Any], arrival: Arrival) -> bool:
    """Whether the rule came in time: a prohibition must come before the call or stop it."""
    return arrival in ("before", "blocked") if pair.get("forbids") else arrival != "missed"


def run(place: Place, rows: Mapping[str, Any], *, name: str) -> Iterator[str]:
    """The lines of the report on one set."""
    counts: Counter[Arrival] = Counter()
    delivered = 0
    for number, pair in enumerate(rows["pairs"]):
        arrival = arrival_of(place, pair, f"{name}-{number}")
        counts[arrival] += 1
        delivered += is_delivered(pair, arrival)
        if not is_delivered(pair, arrival):
            yield f"  {arrival}: {pair['rule']}"
    wrong = 0
    for number, call in enumerate(rows["unrelated"]):
        (text, _), done = place.call(call, f"{name}-unrelated-{number}", 0)
        if text or done:
            wrong += 1
            rules = [line[2:] for line in f"{text}\n{done}".splitlines() if line.startswith("- ")]
            yield f"  unrelated: {' '.join(map(str, call.values()))} <- {' | '.join(rules)}"
    summary = ", ".join(f"{arrival} {counts[arrival]}" for arrival in ARRIVALS)
    yield f"{name}: {delivered} of {len(rows['pairs'])} delivered ({summary}); blocks on {wrong} of {len(rows['unrelated'])} unrelated calls"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one set."""
    parser = argparse.ArgumentParser(prog="tacit_evals.suites.rules_at_calls", description=__doc__)
    parser.add_argument("set", choices=("develop", "final", "unseen", "unseen_2"))
    parser.add_argument("--blocking", action="store_true", help="let rules refuse calls (recall.blocking)")
    options = parser.parse_args(arguments)
    rows = YAML(typ="safe").load(DATA)[options.set]
    with tempfile.TemporaryDirectory(prefix="tr-", dir="/tmp") as folder:
        root = Path(folder).resolve()
        project = root / "shop"
        (project / ".git" / "objects").mkdir(parents=True)
        home = Home(root / "t")
        home.root.mkdir(mode=0o700)
        blocking = str(options.blocking).lower()
        (home.root / "config.yaml").write_text(
            f"recall:\n  blocking: {blocking}\n  deadline_ms: {PATIENT_MS}\n"
        )
        write_launcher(home)
        with DaemonUnderTest(Path(sys.executable), home.root) as daemon:
            daemon.wait_warm()
            client = DaemonClient(home, token=Authority(home).create("measurement"))
            for pair in rows["pairs"]:
                client.request("POST", "/v1/remember", {"content": pair["rule"], "cwd": str(project)})
            for line in run(Place(home=home, project=project), rows, name=options.set):
                print(line)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
