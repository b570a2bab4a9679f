"""Codex' own memory, the part of it that holds for a project. In: `memories/MEMORY.md`, the project's root. Out: its notes.

Codex writes groups (`# Task Group: ...`), each with the folder that it is for (`applies_to: cwd=...`), a list of tasks with their
sources and keywords, and what it learned from them. Only what it learned is kept; every line stays in its place. Never writes
anything.
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
    """Whether Codex uses its memory: it does only where its `config.toml` says so."""
    try:
        settings: dict[str, object] = tomllib.loads(config.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError):
        return False
    features, memories = settings.get("features"), settings.get("memories")
    used = cast("dict[str, object]", memories).get("use_memories") if isinstance(memories, dict) else True
    on = isinstance(features, dict) and cast("dict[str, object]", features).get("memories") is True
    return on and used is not False


def notes_of_project(text: str, root: str) -> str:
    """What `text` tells of the folder `root` and those below it; all other lines are empty."""
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
    return folder == root or folder.startswith(f"{root}/")
