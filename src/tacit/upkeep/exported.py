"""Memories taken out of exports that were written before. In: an export's text, what is gone. Out: the text without it.

Other memories keep their words, also where they are the same: they are remembered. Notes that quote what is gone, and reasons, are
cleaned as in the store. The two forms are those of `app/transfer`. Pure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, cast

from tacit.model.changes import Gone

_HEADING = re.compile(r"(?m)^### +(.+?)[ \t]*$")


def without_records(text: str, clean: Callable[[str, str], str], gone: Gone) -> str:
    """`text` without the records of `gone`; the same text where it holds nothing of them."""
    if text.lstrip().startswith("{"):
        lines = (_line(line, clean, gone) for line in text.split("\n"))
        return "\n".join(line for line in lines if line is not None)
    return _markdown(text, clean, gone)


def _line(line: str, clean: Callable[[str, str], str], gone: Gone) -> str | None:
    """One line of a lossless export; None = it goes."""
    try:
        value: object = json.loads(line)
    except ValueError:
        return line
    fields = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    ids = set(gone.memories)
    edge: dict[str, Any] = fields.get("relation") or {}
    project: dict[str, Any] = fields.get("project") or {}
    ends = {edge.get("source_id"), edge.get("target_id"), fields.get("memory")}
    if ends & ids or project.get("id") in gone.projects:
        return None
    changed = False
    for version in cast("list[dict[str, Any]]", fields.get("versions") or []):
        reason = clean(str(version["reason"]), "")
        changed = changed or reason != version["reason"]
        version["reason"] = reason
        body = version["body"]
        if body["kind"] in gone.notes:
            words = clean(str(body["content"]), "")
            changed = changed or words != body["content"]
            body["content"] = words
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":")) if changed else line


def _markdown(text: str, clean: Callable[[str, str], str], gone: Gone) -> str:
    """Entries of an export that people edit, and their names in its last line."""
    if gone.memories:
        names = "|".join(map(re.escape, gone.memories))
        entry = rf"(?m)^[-*+] (?:(?!\n[-*+#] )[\s\S])*?<!-- (?:{names}) [0-9a-f]{{12}} -->[ \t]*\n?"
        text = re.sub(rf"(?<=[ :])(?:{names}) (?=[\w ]*-->)", "", re.sub(entry, "", text))
    parts = _HEADING.split(text)
    for at in range(1, len(parts), 2):
        if parts[at] in gone.notes:
            parts[at + 1] = clean(parts[at + 1], "")
    return "".join(part if at % 2 == 0 else f"### {part}" for at, part in enumerate(parts))
