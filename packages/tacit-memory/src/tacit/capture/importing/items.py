"""Entries of another tool's store, and the drafts that are made of them.

A draft's provenance holds the tool and the original id as host and session. The time begins its validity, and the tags are among the
trigger's topics.

Fields of foreign rows as ours. In: whatever stands there. Out: texts, times, lists, kinds; never an error.

Rows of other tools as statements, whichever file they stand in. In: one row. Out: a `ForeignStatement`, or why not.

One function a tool: its database and its export hold the same fields.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from tacit.capture.bootstrap.sources import kind_of_rule
from tacit.frozen import frozen
from tacit.model.changes import Draft
from tacit.model.memory import Memory, Provenance, Sensitivity, TrustTier
from tacit.model.scope import Scope
from tacit.reading.marks import kind_of
from tacit.reading.trigger import make_trigger


@frozen
class ForeignStatement:
    """A statement read from another tool's store or export.

    Attributes:
        tool: name of the tool, such as `sugar`.
        original_id: its id there; "" = the tool has none, then its words are its id.
        content: the words.
        kind: name of one of our kinds; "" = read from the words.
        at_ms: when it was said; 0 = unknown.
        tags: its tags there.
        files: paths it speaks of.
        importance: 0-1; None = the kind's own.
        project: name of the project it belongs to there; "" = unknown.
        where: file and place that it was read from, for messages.
        scope: where it holds; None = the scope that the import is for.
        sensitivity: where it may appear.
        original: the memory that an export of Tacit holds; None = it is another tool's.
    """

    tool: str
    original_id: str
    content: str
    kind: str = ""
    at_ms: int = 0
    tags: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    importance: float | None = None
    project: str = ""
    where: str = ""
    scope: Scope | None = None
    sensitivity: Sensitivity = Sensitivity.PROJECT
    original: Memory | None = None


@frozen
class RefusedEntry:
    """An entry that was not imported, and why; `meant` = the other tool itself had deleted it."""

    where: str
    reason: str
    meant: bool = False


@frozen
class FormatReader:
    """A format that can be imported: how it is recognized and read.

    Attributes:
        tool: its name, for `--from`.
        about: what it reads, in a few words.
        knows: whether a file or folder is of this format, by its content.
        read: yields its statements; a refusal for each entry that cannot be read.
    """

    tool: str
    about: str
    knows: Callable[[Path], bool]
    read: Callable[[Path], Iterator[ForeignStatement | RefusedEntry]]


SOURCE = "import"
MAX_SPAN = 500


def draft_of(item: ForeignStatement, *, scope: Scope, vouched: bool, now_ms: int) -> Draft:
    """Return a draft of `item` in `scope`.

    `vouched` = the user vouches for it: its tier is `user`, else `import`.
    """
    kind = item.kind or (kind_of_rule if item.tool == "rules" else kind_of)(item.content)
    original = item.original
    trigger = original.trigger if original else make_trigger(item.content, kind=kind, files=item.files)
    if item.tags:
        trigger = replace(trigger, topics=tuple(dict.fromkeys((*trigger.topics, *item.tags))))
    return Draft(
        content=item.content,
        kind=kind,
        scope=scope,
        provenance=Provenance(
            tier=TrustTier.USER if vouched else TrustTier.IMPORT,
            source=SOURCE,
            host=item.tool,
            session_id=item.original_id,
            span=item.content[:MAX_SPAN],
            original_tier=original.provenance.tier if original else None,
        ),
        at_ms=min(item.at_ms, now_ms) or now_ms,
        dated=bool(item.at_ms),
        importance=item.importance,
        explicit=vouched,
        confirmed=vouched,
        trigger=trigger,
        files=item.files,
        sensitivity=item.sensitivity,
        confidence=original.confidence if original else 1.0,
        error_signature=original.error_signature if original else "",
    )


MAX_TAGS = 12
MAX_TAG_CHARS = 60
MAX_PATHS = 20
_LATEST_S = 4_102_444_800
KINDS = {
    "decision": "decision", "architecture": "decision", "design": "decision", "pattern": "guideline",
    "preference": "preference", "user_preference": "preference", "file_context": "file_context", "file": "file_context",
    "error_pattern": "error_pattern", "error": "error_pattern", "bug": "error_pattern", "bugfix": "outcome",
    "gotcha": "error_pattern", "problem": "error_pattern", "issue": "error_pattern", "anti_pattern": "anti_pattern",
    "research": "research", "discovery": "research", "reference": "research", "learning": "fact", "insight": "fact",
    "outcome": "outcome", "feature": "outcome", "refactor": "outcome", "change": "outcome", "solution": "outcome",
    "guideline": "guideline", "standard": "guideline", "convention": "guideline", "rule": "guideline",
    "instruction": "guideline", "requirement": "guideline", "technique": "guideline", "method": "guideline",
    "fact": "fact", "note": "fact", "info": "fact", "tech": "fact", "technical": "fact", "config": "fact",
    "configuration": "fact", "goal": "goal", "todo": "todo", "task": "todo", "next": "todo", "plan": "todo",
    "event": "event", "identity": "identity", "correction": "correction", "observation": "observation",
}  # fmt: skip
"""Kinds of other tools, with the kind that each becomes here; for others the kind is read from the words."""


def kind_named(name: object) -> str:
    """Return our kind for another tool's kind; "" = unknown, so it is read from the words."""
    key = str(name or "").strip().lower().replace("-", "_").replace(" ", "_")
    return KINDS.get(key, "")


def sensitivity_named(value: object) -> Sensitivity:
    """Return our sensitivity for another tool's level. An unknown name becomes `restricted`; empty is `project`."""
    key = str(value or "project").strip().upper()
    return Sensitivity[key] if key in Sensitivity.__members__ else Sensitivity.RESTRICTED


def text_of(value: object) -> str:
    """Return a string without NUL characters and outer white space; "" for anything else."""
    return value.replace("\0", "").strip() if isinstance(value, str) else ""


def moment_ms(value: object) -> int:
    """Return the time in milliseconds since the epoch, from seconds, milliseconds or an ISO date; 0 = unknown."""
    if isinstance(value, bool) or value is None:
        return 0
    if isinstance(value, int | float):
        seconds = float(value)
        if not math.isfinite(seconds) or seconds <= 0:
            return 0
        seconds = seconds / 1000 if seconds > _LATEST_S else seconds
        return int(seconds * 1000) if seconds <= _LATEST_S else 0
    try:
        moment = datetime.fromisoformat(str(value).strip()[:40])
        at_s = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError, OSError):
        return 0
    return int(at_s * 1000) if 0 < at_s <= _LATEST_S else 0


def words_of(value: object, *, most: int = MAX_TAGS, longest: int = MAX_TAG_CHARS) -> tuple[str, ...]:
    """Return short texts from a list, its JSON, or words between commas; overlong and further ones are dropped."""
    if isinstance(value, str):
        text = value.strip()
        listed_values = parsed(text) if text.startswith("[") else None
        listed = cast(object, listed_values) if isinstance(listed_values, list) else text.split(",")
    else:
        listed = value
    if not isinstance(listed, list | tuple):
        return ()
    texts = [text_of(item) for item in cast(list[object], listed)[: 4 * most]]
    return tuple(dict.fromkeys(text for text in texts if text and len(text) <= longest))[:most]


def paths_of(value: object) -> tuple[str, ...]:
    """Return the relative paths in a value; absolute ones and those that lead out of the project are dropped."""
    paths = words_of(value, most=MAX_PATHS, longest=300)
    return tuple(path for path in paths if is_inner_path(path))


def is_inner_path(path: str) -> bool:
    """Whether a path is relative and stays below the folder where it begins."""
    segments = path.replace("\\", "/").split("/")
    return (
        not path.startswith(("/", "~", "\\"))
        and ".." not in segments
        and ":" not in segments[0]
        and "\n" not in path
    )


def parsed(text: object) -> object:
    """Return the JSON value of a string; None = it is not JSON. Other values are returned as they are."""
    if not isinstance(text, str):
        return text
    try:
        return cast(object, json.loads(text))
    except (ValueError, RecursionError):
        return None


def fields_of(value: object) -> Mapping[str, Any]:
    """Return a JSON object (or its text) as a mapping; empty for anything else."""
    decoded = parsed(value) if isinstance(value, str) else value
    return cast(Mapping[str, Any], decoded) if isinstance(decoded, dict) else {}


def share_of(value: object, *, whole: float = 1.0) -> float | None:
    """Return a number from 0 to `whole` as a share of it, clamped to 0-1; None = it is not a number."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return min(1.0, max(0.0, float(value) / whole))


Row = Mapping[str, Any]
MAX_CONTENT_CHARS = 20_000
MAX_SAID_CHARS = 600
"""Most characters of a long text that become the statement."""


def read_sugar(row: Row, where: str) -> ForeignStatement | RefusedEntry:
    """Return the statement of one row of Sugar (sugarai 3), whose importance runs from 0 to 2; a refusal = no words, or too many."""
    meta = fields_of(row.get("metadata"))
    files = paths_of(meta.get("file_paths") or meta.get("files") or meta.get("file_path") or ())
    return _made(
        ForeignStatement(
            tool="sugar",
            original_id=text_of(row.get("id")),
            content=text_of(row.get("content")),
            kind=kind_named(row.get("memory_type") or row.get("type")),
            at_ms=moment_ms(row.get("created_at")),
            tags=words_of(meta.get("tags") or ()),
            files=files,
            importance=share_of(row.get("importance"), whole=2.0),
            sensitivity=sensitivity_named(meta.get("sensitivity")),
            where=where,
        )
    )


def read_memory_service(row: Row, where: str) -> ForeignStatement | RefusedEntry:
    """Return the statement of one row of mcp-memory-service 12; a refusal = it was deleted there, or has no words, or too many."""
    if row.get("deleted_at") is not None:
        return RefusedEntry(where=where, reason="deleted there", meant=True)
    tags = words_of(row.get("tags") or ())
    return _made(
        ForeignStatement(
            tool="mcp-memory-service",
            original_id=text_of(row.get("content_hash")),
            content=text_of(row.get("content")),
            kind=next((kind for name in (row.get("memory_type"), *tags) if (kind := kind_named(name))), ""),
            at_ms=moment_ms(row.get("created_at") or row.get("created_at_iso")),
            tags=tags,
            sensitivity=sensitivity_named(fields_of(row.get("metadata")).get("sensitivity")),
            where=where,
        )
    )


def read_claude_mem(row: Row, where: str) -> ForeignStatement | RefusedEntry:
    """Return the statement of an observation of claude-mem 13: its title with the narrative or the first facts; a refusal = no words."""
    title = text_of(row.get("title"))
    facts = words_of(row.get("facts"), most=20, longest=1000)
    story = text_of(row.get("narrative")) or " ".join(facts[:3]) or text_of(row.get("text"))
    content = f"{title.rstrip('.')}: {story}" if title and story else title or story
    files = paths_of(row.get("files_modified") or row.get("files_read") or ())
    return _made(
        ForeignStatement(
            tool="claude-mem",
            original_id=f"observation-{row.get('id', '')}",
            content=_first_sentences(content),
            kind=kind_named(row.get("type")),
            at_ms=moment_ms(row.get("created_at_epoch") or row.get("created_at")),
            tags=words_of(row.get("concepts") or ()),
            files=files,
            project=text_of(row.get("project")),
            where=where,
        )
    )


def read_claude_mem_summary(row: Row, where: str) -> list[ForeignStatement | RefusedEntry]:
    """Return the statements of a session summary of claude-mem 13: what was learned, and the next steps."""
    statements: list[ForeignStatement | RefusedEntry] = []
    for field, kind in (("learned", "fact"), ("next_steps", "todo")):
        text = text_of(row.get(field))
        if text and text.lower() not in ("none", "n/a", "null"):
            statements.append(
                _made(
                    ForeignStatement(
                        tool="claude-mem",
                        original_id=f"summary-{row.get('id', '')}-{field}",
                        content=_first_sentences(text),
                        kind=kind,
                        at_ms=moment_ms(row.get("created_at_epoch") or row.get("created_at")),
                        project=text_of(row.get("project")),
                        where=where,
                    )
                )
            )
    return statements


def read_mem0(row: Row, where: str) -> ForeignStatement | RefusedEntry:
    """Return the statement of one entry of mem0's `get_all()` or of the platform's export; a refusal = no words, or too many."""
    meta = fields_of(row.get("metadata"))
    tags = words_of(row.get("categories") or meta.get("categories") or meta.get("tags") or ())
    return _made(
        ForeignStatement(
            tool="mem0",
            original_id=text_of(row.get("id")) or text_of(row.get("hash")),
            content=text_of(row.get("memory")) or text_of(row.get("text")) or text_of(row.get("data")),
            kind=kind_named(meta.get("type") or meta.get("category")),
            at_ms=moment_ms(row.get("created_at")),
            tags=tags,
            sensitivity=sensitivity_named(meta.get("sensitivity")),
            where=where,
        )
    )


def _made(statement: ForeignStatement) -> ForeignStatement | RefusedEntry:
    """Return the statement, or a refusal if it has no words, too many, or an overlong id."""
    if not statement.content:
        return RefusedEntry(where=statement.where, reason="no words in it")
    if len(statement.content) > MAX_CONTENT_CHARS:
        return RefusedEntry(
            where=statement.where, reason=f"{len(statement.content)} characters; at most {MAX_CONTENT_CHARS}"
        )
    if len(statement.original_id) > 200:
        return RefusedEntry(where=statement.where, reason="an id of more than 200 characters")
    return statement


def _first_sentences(text: str) -> str:
    """Return as many whole sentences from the start of `text` as fit into `MAX_SAID_CHARS`."""
    if len(text) <= MAX_SAID_CHARS:
        return text
    cut = text[:MAX_SAID_CHARS]
    end = max(cut.rfind(". "), cut.rfind(".\n"), cut.rfind("! "), cut.rfind("? "))
    return cut[: end + 1] if end > MAX_SAID_CHARS // 3 else cut.rsplit(" ", 1)[0] + "..."
