"""Rows of other tools as statements, whichever file they stand in. In: one row. Out: a `ForeignStatement`, or why not.

One function a tool: its database and its export hold the same fields.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tacit.capture.importing.fields import (
    fields_of,
    kind_named,
    moment_ms,
    paths_of,
    sensitivity_named,
    share_of,
    text_of,
    words_of,
)
from tacit.capture.importing.items import ForeignStatement, RefusedHook

Row = Mapping[str, Any]
MAX_CONTENT_CHARS = 20_000
MAX_SAID_CHARS = 600
"""Of a story only so much is a statement."""


def read_sugar(row: Row, where: str) -> ForeignStatement | RefusedHook:
    """Sugar (sugarai 3): importance is 0 to 2 there."""
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


def read_memory_service(row: Row, where: str) -> ForeignStatement | RefusedHook:
    """mcp-memory-service 12."""
    if row.get("deleted_at") is not None:
        return RefusedHook(where=where, reason="deleted there", meant=True)
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


def read_claude_mem(row: Row, where: str) -> ForeignStatement | RefusedHook:
    """claude-mem 13, an observation: its title says what, the narrative or the first facts say it."""
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


def read_claude_mem_summary(row: Row, where: str) -> list[ForeignStatement | RefusedHook]:
    """claude-mem 13, the summary of a session: what was learned, and what comes next."""
    statements: list[ForeignStatement | RefusedHook] = []
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


def read_mem0(row: Row, where: str) -> ForeignStatement | RefusedHook:
    """mem0, one entry of `get_all()` or of the platform's export."""
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


def _made(statement: ForeignStatement) -> ForeignStatement | RefusedHook:
    if not statement.content:
        return RefusedHook(where=statement.where, reason="no words in it")
    if len(statement.content) > MAX_CONTENT_CHARS:
        return RefusedHook(
            where=statement.where, reason=f"{len(statement.content)} characters; at most {MAX_CONTENT_CHARS}"
        )
    if len(statement.original_id) > 200:
        return RefusedHook(where=statement.where, reason="an id of more than 200 characters")
    return statement


def _first_sentences(text: str) -> str:
    """As many whole sentences from the front as a statement may have."""
    if len(text) <= MAX_SAID_CHARS:
        return text
    cut = text[:MAX_SAID_CHARS]
    end = max(cut.rfind(". "), cut.rfind(".\n"), cut.rfind("! "), cut.rfind("? "))
    return cut[: end + 1] if end > MAX_SAID_CHARS // 3 else cut.rsplit(" ", 1)[0] + "..."
