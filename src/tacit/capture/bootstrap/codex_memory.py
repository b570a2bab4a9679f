"""The notes of a project in Codex' own memory. In: `memories/MEMORY.md`, the project's root. Out: its notes.

The file consists of groups (`# Task Group: ...`). Each has the folder that it applies to (`applies_to: cwd=...`), a list of tasks with
sources and keywords, and sections of what Codex learned from them. Only these sections are kept; the lines keep their numbers. Never
writes anything.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import cast

from tacit.text.lazy_regex import lazy_regex

_LEARNED = lazy_regex(r"^##\s+(?:User preferences|Reusable knowledge|Failures and how to do differently)\s*$")
_FOLDER = lazy_regex(r"\bcwd=([^;]+)")
_TASKS = lazy_regex(r"(?:\s*\[Tasks? [\d, ]+\])+\s*$")


def memory_is_on(config: Path) -> bool:
    """Whether the memory of Codex is on. It is off unless its `config.toml` switches it on."""
    try:
        settings: dict[str, object] = tomllib.loads(config.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError):
        return False
    features, memories = settings.get("features"), settings.get("memories")
    used = cast("dict[str, object]", memories).get("use_memories") if isinstance(memories, dict) else True
    on = isinstance(features, dict) and cast("dict[str, object]", features).get("memories") is True
    return on and used is not False


def notes_of_project(text: str, root: str) -> str:
    """Return `text` with the notes on the folder `root` and the folders below it; all other lines become empty. Without a `root` there are none."""
    kept: list[str] = []
    ours = learned = False
    for line in text.splitlines():
        if line.startswith("# "):
            ours = learned = False
        elif line.startswith("applies_to:"):
            ours = any(_is_in(folder, root) for folder in _FOLDER.findall(line))
        elif line.startswith("## "):
            learned = _LEARNED.match(line) is not None
        keeps = ours and learned and not line.startswith("#")
        kept.append(_TASKS.sub("", line) if keeps else "")
    return "\n".join(kept)


def _is_in(folder: str, root: str) -> bool:
    folder = folder.strip().strip("`").rstrip("/")
    return bool(root) and (folder == root or folder.startswith(f"{root}/"))
