"""One recorded day of a host: what the host sends, and the exact bytes that it gets back.

In: `days/shop.yaml` (the project and its memories), `days/<host>.yaml` (the payloads), a preset. Out: the text of
`days/<host>/<preset>.yaml`. Payloads and replies pass through the engine as those of a hook do.
Clock, ids and embedder are fakes, so that a day has the same bytes on every machine; the days of tests/live use the
shipped embedding model.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from presets.driving import Workplace, speaks
from samples import NOW_MS
from tacit.app.values import Caller
from tacit.daemon.spool import parse_payload
from tacit.mcp.arguments import ContextArguments
from tacit.mcp.tools import context
from tacit.model.kinds import BUILTIN_KINDS
from tacit.model.memory import TrustTier
from tacit.model.scope import Scope
from tacit.ports.models import Embedder
from tacit.reading.errors import error_signature
from tacit.reading.trigger import make_trigger
from tacit.reading.when import parse_when

DAYS = Path(__file__).parent / "days"
FOLDER = "/home/ada/shop"
"""What the files call the project's folder."""
STEP_MS = 60_000
DEADLINE_S = 60.0
FILES_WRITTEN_S = NOW_MS / 1000 - 200 * 86_400
"""Before every memory that speaks of the files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One event: what happens, the fields that only this payload has, and the bytes that the host gets for it."""

    title: str
    fields: Mapping[str, Any]
    reply: bytes


@cache
def read_yaml(path: Path) -> Any:
    """The values of a YAML file."""
    return YAML(typ="safe").load(path.read_text("utf-8"))


def hosts() -> tuple[str, ...]:
    """Hosts that have a recorded day."""
    return tuple(sorted(path.stem for path in DAYS.glob("*.yaml") if path.stem != "shop"))


def record_day(
    folder: Path,
    *,
    host: str,
    preset: str,
    project: Path = DAYS / "shop.yaml",
    day: Path | None = None,
    embedder: Embedder | None = None,
) -> tuple[Step, ...]:
    """Send a day, by default that of `host`, to an engine with `preset`, whose home and project lie in `folder`."""
    place = Workplace(folder, preset=preset, embedder=embedder)
    try:
        return tuple(_steps(place, host, read_yaml(project), read_yaml(day or DAYS / f"{host}.yaml")))
    finally:
        place.engine.close()


def _steps(place: Workplace, host: str, project: Mapping[str, Any], day: Mapping[str, Any]) -> Iterator[Step]:
    """Send one payload a minute, or call `memory_context` with what a step names as `tool`; what a signal starts in the background is done before the next one."""
    folder = str(place.place)
    _write_files(place.place, {**project["files"], **day.get("files", {})})
    speaks(place, *project["files"])
    _store(place, project["memories"])
    for number, step in enumerate(day["day"]):
        place.clock.advance(STEP_MS)
        if "tool" in step:
            reply = context(
                place.engine, Caller(cwd=folder), ContextArguments.model_validate(step["tool"])
            ).text
        else:
            body = json.dumps({**day["every"], **step["in"]}).replace(FOLDER, folder).encode()
            reply = place.engine.hook(host, parse_payload(body), deadline_ms=DEADLINE_S * 1000)
        place.engine.flush()
        fields = step.get("in") or {"memory_context": step["tool"]}
        yield Step(title=step["step"], fields=fields, reply=reply.replace(folder, FOLDER).encode())
        if number == 0:
            _store(place, project["learned_meanwhile"])


def _write_files(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        os.utime(path, (FILES_WRITTEN_S, FILES_WRITTEN_S))


def _store(place: Workplace, memories: Iterable[Mapping[str, Any]]) -> None:
    """Store memories as `shop.yaml` describes them."""
    for memory in memories:
        fields: dict[str, Any] = {"importance": BUILTIN_KINDS.of_stored(memory["kind"]).importance, **memory}
        kind, content, files = fields.pop("kind"), fields.pop("content"), tuple(fields.pop("files", ()))
        when, scope = fields.pop("when", ""), fields.pop("scope", "")
        command, error = fields.pop("command", ""), fields.pop("error", "")
        place.know(
            content,
            kind,
            scope=Scope.parse(scope) if scope else None,
            tier=TrustTier[fields.pop("tier", "user").upper()],
            said={"source": fields.pop("source", "session")},
            trigger=parse_when(when) if when else make_trigger(content, kind=kind, files=files),
            files=files,
            error_signature=error_signature(error, command=command) if error else "",
            **fields,
        )


def text_of(steps: Sequence[Step], *, host: str, preset: str, day: Path | None = None) -> str:
    """The day as YAML. A reply in JSON is written as its values, so that a block can be read line by line."""
    lines = [f"# {host} with the preset {preset}. `just golden` writes this file.", ""]
    lines += ["every:", *_lines(read_yaml(day or DAYS / f"{host}.yaml")["every"], "  "), "", "day:"]
    for step in steps:
        lines += [f"  - step: {step.title}", *_entry("in", step.fields, "    ")]
        lines += [*_entry("out", _shown(step.reply), "    "), ""]
    return "\n".join(lines)


def replies_in(text: str) -> tuple[bytes, ...]:
    """The exact replies that a golden text stands for."""
    return tuple(_bytes(step["out"]) for step in YAML(typ="safe").load(text)["day"])


def _shown(reply: bytes) -> object:
    """The values of `reply` where `_bytes` makes the same bytes of them; else the reply as a text."""
    try:
        values = json.loads(reply)
    except ValueError:
        return reply.decode()
    return values if isinstance(values, dict) and _bytes(values) == reply else reply.decode()


def _bytes(shown: object) -> bytes:
    return shown.encode() if isinstance(shown, str) else json.dumps(shown).encode()


def _lines(values: Mapping[str, Any], indent: str) -> Iterator[str]:
    for name, value in values.items():
        yield from _entry(name, value, indent)


def _entry(name: str, value: object, indent: str) -> Iterator[str]:
    """One entry of a YAML mapping; texts of several lines stand as such, other values in JSON, which is YAML as well."""
    if isinstance(value, Mapping) and value:
        yield f"{indent}{name}:"
        yield from _lines(value, indent + "  ")
    elif isinstance(value, str) and "\n" in value and _plain_lines(value):
        yield f"{indent}{name}: |-"
        yield from (f"{indent}  {line}" if line else "" for line in value.split("\n"))
    else:
        text = json.dumps(value, ensure_ascii=False)
        yield f"{indent}{name}: {text if text.isprintable() else json.dumps(value)}"


def _plain_lines(text: str) -> bool:
    """Whether a YAML literal keeps `text` as it is."""
    return (
        not text.startswith((" ", "\n")) and not text.endswith("\n") and text.replace("\n", "").isprintable()
    )
