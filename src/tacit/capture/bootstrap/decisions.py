"""A decision record (ADR). In: its Markdown. Out: the decision in one statement, or nothing while it does not hold.

Reads the forms of Nygard (`## Status`, `## Decision`) and MADR (`status:` in front matter, `## Decision Outcome`). What is
proposed, rejected, deprecated or superseded says nothing, so that a changed status retires the memory.
"""

from __future__ import annotations

import re

from tacit.capture.bootstrap.markdown import RuleLine
from tacit.reading.sentences import split_sentences
from tacit.text.lazy_regex import lazy_regex

MAX_WORDS = 50
_TITLE = lazy_regex(
    r"^#\s+(?:ADR[\s-]*)?(?:\d+\s*[.:\u2013\u2014-]\s*)?(?P<title>\S.*?)\s*$", re.IGNORECASE | re.MULTILINE
)
_HEADING = lazy_regex(r"^#{2,4}\s+(?P<name>.+?)\s*#*\s*$", re.MULTILINE)
_RUN_IN = lazy_regex(r"^\*\*(?P<name>[A-Z][\w ]{2,30})[.:]\*\*:?[ \t]*(?=\S)", re.MULTILINE)
"""A heading that opens its paragraph: "**Decision.** We use ..."."""
_STATUS = lazy_regex(r"^\W*status\W*[:|]\W*(?P<status>[a-z]+)", re.IGNORECASE | re.MULTILINE)
_OVER = lazy_regex(
    r"\b(?:superseded|supersedes? by|rejected|deprecated|proposed|draft|withdrawn|obsolete)\b", re.IGNORECASE
)
_CHOSEN = lazy_regex(r"^chosen option:\s*(?P<rest>.+)$", re.IGNORECASE | re.DOTALL)
_DECIDED = ("decision outcome", "decision", "choice", "what we decided", "resolution")
_MARKS = lazy_regex(r"\*\*|__|`{3,}.*?`{3,}|!\[[^\]]*\]\([^)]*\)", re.DOTALL)
_CODE = lazy_regex(r"^[ \t]*(`{3,}|~{3,}).*?(?:^[ \t]*\1[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)
_LINK = lazy_regex(r"\[([^\]]+)\]\([^)]*\)")


def read_decision(text: str) -> tuple[RuleLine, ...]:
    """The decision, as at most one statement."""
    body = text.replace("\r\n", "\n").lstrip("\ufeff")
    title = _TITLE.search(body)
    sections = _sections(body)
    if title is None or _OVER.search(_status(body, sections)):
        return ()
    decided = next((sections[name] for name in _DECIDED if sections.get(name)), "")
    if not decided:
        return ()
    sentences = _sentences(decided)
    if not sentences:
        return ()
    content = _clean(title["title"]).rstrip(".")
    words = len(content.split())
    texts: list[str] = []
    for sentence in sentences[:3]:
        words += len(sentence.split())
        if words > MAX_WORDS:
            break
        texts.append(sentence)
    if not texts:
        texts = [" ".join(sentences[0].split()[: MAX_WORDS - len(content.split())]) + "..."]
    span = decided.strip().split("\n")[0].strip()
    line = body[: body.find(span)].count("\n") + 1 if span in body else 1
    return (RuleLine(content=f"{content}: {' '.join(texts)}", line=line, span=span),)


def _sections(body: str) -> dict[str, str]:
    """Text by heading, in lower case; the first of a name counts."""
    sections: dict[str, str] = {}
    heads = sorted((*_HEADING.finditer(body), *_RUN_IN.finditer(body)), key=lambda head: head.start())
    for number, head in enumerate(heads):
        until = heads[number + 1].start() if number + 1 < len(heads) else len(body)
        sections.setdefault(_clean(head["name"]).lower().rstrip(":"), body[head.end() : until].strip())
    return sections


def _status(body: str, sections: dict[str, str]) -> str:
    section = sections.get("status", "")
    if section:
        return section.split("\n\n")[0]
    match = _STATUS.search(body[:2000])
    return match["status"] if match else ""


def _sentences(text: str) -> list[str]:
    """The sentences of the first paragraph that says something; of its list where it only introduces one."""
    prose = "\n".join(
        line for line in _CODE.sub("", text).split("\n") if not line.lstrip().startswith((">", "|", "#"))
    )
    paragraphs = [paragraph for paragraph in prose.split("\n\n") if paragraph.strip()]
    first = paragraphs[0] if paragraphs else ""
    if first.rstrip().endswith(":") or len(first.split()) < 4:
        first = "\n".join(paragraphs[:2])
    plain = _clean(first)
    chosen = _CHOSEN.match(plain.strip())
    lines = re.split(r"\n(?=\s*(?:[-*+]|\d+[.)])\s)", f"chosen is {chosen['rest']}" if chosen else plain)
    items = [re.sub(r"^\s*(?:[-*+]|\d+[.)])\s+", "", line) for line in lines]
    sentences = [
        " ".join(sentence.split()) for item in items for sentence in split_sentences(" ".join(item.split()))
    ]
    whole = [sentence for sentence in sentences if len(sentence.split()) >= 4]
    return [sentence for sentence in whole if not sentence.endswith(":")] or whole


def _clean(text: str) -> str:
    return _MARKS.sub("", _LINK.sub(r"\1", text)).strip()
