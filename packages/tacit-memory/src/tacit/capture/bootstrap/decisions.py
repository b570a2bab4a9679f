"""A decision record (ADR). In: its Markdown. Out: the decision in one statement, or nothing while it does not hold.

Reads the forms of Nygard (`## Status`, `## Decision`) and MADR (`status:` in front matter, `## Decision Outcome`). What is
proposed, rejected, deprecated or superseded says nothing, so that a changed status retires the memory.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from tacit.capture.bootstrap.markdown import Block, RuleLine, blocks_of
from tacit.reading.sentences import split_sentences
from tacit.text.lazy_regex import lazy_regex

MAX_WORDS = 50
_NUMBER = lazy_regex(r"^(?:ADR[\s-]*)?(?:\d+\s*[.:\u2013\u2014-]\s*)?", re.IGNORECASE)
_RUN_IN = lazy_regex(r"^\*\*(?P<name>[A-Z][\w ]{2,30})[.:]\*\*:?[ \t]*(?=\S)")
"""A heading that opens its paragraph: "**Decision.** We use ..."."""
_STATUS = lazy_regex(r"^\W*status\W*[:|]\W*(?P<status>[a-z]+)", re.IGNORECASE | re.MULTILINE)
_OVER = lazy_regex(
    r"\b(?:superseded|supersedes? by|rejected|deprecated|proposed|draft|withdrawn|obsolete)\b", re.IGNORECASE
)
_CHOSEN = lazy_regex(r"^chosen option:\s*(?P<rest>.+)$", re.IGNORECASE | re.DOTALL)
_DECIDED = ("decision outcome", "decision", "choice", "what we decided", "resolution")


def read_decision(text: str) -> tuple[RuleLine, ...]:
    """The decision, as at most one statement."""
    blocks = blocks_of(text)
    title = next((block for block in blocks if block.kind == "heading" and block.level == 1), None)
    sections = _sections(blocks)
    if title is None or _OVER.search(_status(text, sections)):
        return ()
    decided = next((sections[name] for name in _DECIDED if sections.get(name)), None)
    sentences = _sentences(decided) if decided else []
    if not decided or not sentences:
        return ()
    content = _NUMBER.sub("", title.text).rstrip(".")
    words = len(content.split())
    texts: list[str] = []
    for sentence in sentences[:3]:
        words += len(sentence.split())
        if words > MAX_WORDS:
            break
        texts.append(sentence)
    if not texts:
        texts = [" ".join(sentences[0].split()[: MAX_WORDS - len(content.split())]) + "..."]
    return (RuleLine(content=f"{content}: {' '.join(texts)}", line=decided[0].line, span=decided[0].span),)


def _sections(blocks: Sequence[Block]) -> dict[str, tuple[Block, ...]]:
    """What is said in paragraphs and lists, by heading in lower case; the first of a name counts."""
    sections: dict[str, list[Block]] = {}
    here: list[Block] = []
    for block in blocks:
        if block.kind == "heading" and block.level > 1:
            here = []
            sections.setdefault(block.text.lower().rstrip(":"), here)
        elif block.kind in ("text", "item") and not block.quote:
            if run_in := _RUN_IN.match(block.span):
                here = []
                sections.setdefault(run_in["name"].lower(), here)
                here.append(replace(block, text=block.text[len(run_in["name"]) + 1 :].lstrip(": ")))
            else:
                here.append(block)
    return {name: tuple(found) for name, found in sections.items()}


def _status(text: str, sections: Mapping[str, Sequence[Block]]) -> str:
    if section := sections.get("status"):
        return section[0].text
    match = _STATUS.search(text[:2000])
    return match["status"] if match else ""


def _sentences(blocks: Sequence[Block]) -> list[str]:
    """The sentences of the first paragraph that says something; of its list where it only introduces one."""
    first = blocks[0].text if blocks else ""
    told = list(blocks[:1])
    if not blocks or blocks[0].kind == "item" or first.endswith(":") or len(first.split()) < 4:
        for block in blocks[1:]:
            if block.kind == "text" and len(told) > 1:
                break
            told.append(block)
            if block.kind == "text":
                break
    chosen = _CHOSEN.match(first)
    texts = [f"chosen is {chosen['rest']}" if chosen else first, *(block.text for block in told[1:])]
    sentences = [sentence for text in texts for sentence in split_sentences(text)]
    whole = [sentence for sentence in sentences if len(sentence.split()) >= 4]
    return [sentence for sentence in whole if not sentence.endswith(":")] or whole
