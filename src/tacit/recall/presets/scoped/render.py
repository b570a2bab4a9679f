"""The block of the `scoped` seed: memories by scope under headings, then the codes of past sessions. Source: `_format_context`.

Inside the usual delimiters. Best first within each heading.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from tacit.model.evidence import Candidate
from tacit.model.kinds import KindRegistry
from tacit.model.pack import Pack, PackItem, Surface
from tacit.model.scope import Scope, ScopeKind
from tacit.recall.render import dated_source, frame_text, needed_source, side_by_side
from tacit.safety.escape import escape_text

Clean = Callable[[str], str]

TITLE = "## Developer Memory"
UNIVERSAL = "### Universal Rules"
CODES = "### Session Codes"
CODE_CATEGORIES = ("done", "decided", "open")
_ID_TAIL = re.compile(r"-[0-9a-f]{10}$")
_NEGATIVE = re.compile(
    r"(?<!\w)(?:avoid|never|no|don['’]?t|dont|not|without|stop|nie|niemals|nicht|kein\w*|jamais|pas|nunca|jamás|não|mai|non|nooit|niet|geen)(?!\w)",
    re.IGNORECASE,
)
"""Words with which a statement itself says what to avoid: "Avoid: never ..." would say the opposite."""


def heading_of(scope: Scope) -> str:
    """The heading that memories of `scope` stand under."""
    if scope.kind is ScopeKind.LANGUAGE:
        return f"### {escape_text(scope.key).title()} Preferences"
    project = scope.project_id
    if project is None:
        return UNIVERSAL
    return f"### {escape_text(_ID_TAIL.sub('', project)).title()} Decisions"


def scoped_line(
    candidate: Candidate, text: str, kinds: KindRegistry, clean: Clean = lambda text: text
) -> str:
    """One memory as one line; an anti-pattern that names only the thing is told to be avoided."""
    del kinds
    memory = candidate.memory
    avoid = "Avoid: " if memory.kind == "anti_pattern" and not _NEGATIVE.search(text) else ""
    source = needed_source(candidate)
    mark = f" ({escape_text(clean(source))})" if source else ""
    return f"- {avoid}{escape_text(clean(text))}{mark}"


def scoped_answer_line(
    candidate: Candidate, text: str, kinds: KindRegistry, clean: Clean = lambda text: text
) -> str:
    """The same in an answer, with its date."""
    line = scoped_line(candidate, text, kinds, clean)
    dated = f" ({escape_text(clean(dated_source(candidate, kinds)))})"
    return line if needed_source(candidate) else f"{line}{dated}"


def code_line(text: str, clean: Clean = lambda text: text) -> str:
    """One line of a digest, with its code."""
    return escape_text(clean(text))


def scoped_item_line(item: PackItem, kinds: KindRegistry, clean: Clean = lambda text: text) -> str:
    """An item of the pack as one line: a memory, or a line of a digest."""
    if item.category in CODE_CATEGORIES:
        return code_line(item.text, clean)
    return scoped_line(item.candidate, item.text, kinds, clean)


def scoped_answer_item_line(item: PackItem, kinds: KindRegistry, clean: Clean = lambda text: text) -> str:
    """An item of an answer as one line."""
    if item.category in CODE_CATEGORIES:
        return code_line(item.text, clean)
    return scoped_answer_line(item.candidate, item.text, kinds, clean)


def scoped_frame(surface: Surface) -> str:
    """Everything that can stand around the lines."""
    first, last = frame_text(surface)
    return f"{first}\n{TITLE}\n{UNIVERSAL}\n### Language Preferences\n### Project Name Decisions\n{CODES}\n{last}"


def scoped_block(pack: Pack, kinds: KindRegistry, clean: Clean = lambda text: text) -> str:
    """Universal rules, languages, projects, codes; the empty pack gives the empty text."""
    if not pack.items:
        return ""
    item_line = scoped_answer_item_line if pack.surface is Surface.ON_DEMAND else scoped_item_line
    memories = [item for item in pack.items if item.category not in CODE_CATEGORIES]
    lines: list[str] = []
    for heading, items in _by_heading(memories):
        lines.append(heading)
        lines += [item_line(item, kinds, clean) for item in items]
    codes = [item for item in pack.items if item.category in CODE_CATEGORIES]
    if codes:
        lines.append(CODES)
        lines += [code_line(item.text, clean) for item in codes]
    first, last = frame_text(pack.surface)
    return "\n".join((first, TITLE, *lines, last))


def _by_heading(items: Iterable[PackItem]) -> list[tuple[str, tuple[PackItem, ...]]]:
    ranks = {ScopeKind.UNIVERSAL: 0, ScopeKind.AGENT: 0, ScopeKind.SESSION: 0, ScopeKind.LANGUAGE: 1}
    by_heading: dict[tuple[int, str], list[PackItem]] = {}
    for item in items:
        scope = item.candidate.memory.scope
        by_heading.setdefault((ranks.get(scope.kind, 2), heading_of(scope)), []).append(item)
    return [
        (
            heading,
            side_by_side(sorted(group, key=lambda i: (-i.candidate.fused, i.candidate.memory.newest_first))),
        )
        for (_, heading), group in sorted(by_heading.items())
    ]
