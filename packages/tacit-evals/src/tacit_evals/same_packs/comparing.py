"""What differs between two recordings of one plan. In: two recordings. Out: lines to read. Pure."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, cast

from tacit_evals.same_packs.recording import Recording, hash_of

SHOWN = 3
"""Differences to print per preset; those that a host would see come first."""
LINES = 4
LINE_CHARS = 240


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
    summary = f"different: {len(stored)} of {len(before['stored'])} statements" if stored else "identical"
    lines.append(
        f"store: {summary} ({len(before['stored'])} statements)" if not stored else f"store: {summary}"
    )
    lines += [f"  {name} made or changed {old} before, {new} now" for name, old, new in stored[:shown]]
    for preset in before["presets"]:
        lines += _compare_preset(preset, before["presets"][preset], after["presets"].get(preset), shown)
    return lines


def _compare_preset(
    preset: str, before: list[dict[str, Any]], after: list[dict[str, Any]] | None, shown: int
) -> list[str]:
    recalls = sum(signal["asks"] for signal in before)
    if after is None:
        return [f"{preset}: different: there is no such preset now"]
    pairs = [(old, new) for old, new in zip(before, after, strict=True) if old != new]
    if not pairs:
        with_block = sum(bool(_texts(signal)) for signal in before)
        return [
            f"{preset}: identical ({recalls} recalls, {with_block} of them with a block; {hash_of(before)})"
        ]
    counted = Counter(field for old, new in pairs for field in _fields(old, new))
    fields = ", ".join(f"{field} {count}" for field, count in counted.most_common())
    lines = [f"{preset}: different: {len(pairs)} of {len(before)} signals ({fields})"]
    pairs.sort(key=lambda pair: pair[0]["answer"] == pair[1]["answer"])
    for old, new in pairs[:shown]:
        lines.append(f"  {old['label']}: {' '.join(old['asked'].split())[:100]}")
        lines += [f"    {line}" for line in _differences(old, new)]
    if len(pairs) > shown:
        lines.append(f"  and {len(pairs) - shown} more")
    return lines


def _texts(signal: Mapping[str, Any]) -> list[str]:
    return [trace["block"] for trace in signal["traces"] if trace["block"]]


def _fields(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Which parts of a recall differ."""
    fields = ["answer"] if old["answer"] != new["answer"] else []
    if len(old["traces"]) != len(new["traces"]):
        return [*fields, "number of traces"]
    differing = {
        field: None
        for before, after in zip(old["traces"], new["traces"], strict=True)
        for field in before
        if before[field] != after[field]
    }
    return [*fields, *differing]


def _differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    """What differs in one recall, part by part: the first lines that were, then those that are."""
    before, after = _parts(old), _parts(new)
    for part in sorted({*before, *after}, key=lambda part: (part == "drops", part)):
        diff = difflib.unified_diff(before.get(part, []), after.get(part, []), lineterm="", n=0)
        lines = [line for line in diff if not line.startswith(("---", "+++", "@@"))]
        gone = [line for line in lines if line.startswith("-")]
        come = [line for line in lines if line.startswith("+")]
        for some in (gone, come):
            yield from (f"{line[0]} {part}: {line[1:]}"[:LINE_CHARS] for line in some[:LINES])
            if len(some) > LINES:
                yield f"{some[0][0]} {part}: and {len(some) - LINES} more lines"


def _parts(recall: Mapping[str, Any]) -> dict[str, list[str]]:
    """The lines of each part of a recall; the block is left out, the answer shows it."""
    by_part: dict[str, list[str]] = {"answer": recall["answer"].splitlines()}
    for trace in recall["traces"]:
        for field, value in trace.items():
            if field != "block":
                lines = cast(list[str], value) if isinstance(value, list) else str(value).splitlines()
                by_part.setdefault(field, []).extend(lines)
    return by_part


def differs(before: Recording, after: Recording) -> bool:
    """Whether anything differs."""
    return any(before[key] != after[key] for key in ("stored", "presets"))
