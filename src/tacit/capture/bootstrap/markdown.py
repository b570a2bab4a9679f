"""Splits a rule file into self-contained statements. In: Markdown. Out: statements with the line they came from.

Headings and introducing lines give context: "tabs, not spaces" under "## Go style" becomes "Go style: tabs, not spaces".
Commands in code blocks become facts; other code, tables of contents, badges, bare links and headings become nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from tacit.capture.wording import has_leading_reference, imperative, rule_like, word_count
from tacit.reading.marks import read_marked
from tacit.reading.sentences import split_sentences
from tacit.text.lazy_regex import lazy_regex

MIN_WORDS, MAX_WORDS = 3, 60
_FRONT = lazy_regex(r"\A---[ \t]*\n(?P<body>.*?)\n---[ \t]*(?:\n|\Z)", re.DOTALL)
_COMMENT = lazy_regex(r"<!--.*?-->", re.DOTALL)
_HEADING = lazy_regex(r"^(?P<marks>#{1,6})\s+(?P<text>.+?)\s*#*\s*$")
_FENCE = lazy_regex(r"^(?P<indent>\s*)(?P<marks>```+|~~~+)\s*(?P<language>[\w+-]*)")
_ITEM = lazy_regex(r"^(?P<indent>\s*)(?:[-*+\u2022]|\d{1,2}[.)])\s+(?P<text>.*)$")
_RULER = lazy_regex(r"^\s*(?:[-*_=]\s*){3,}$")
_TABLE = lazy_regex(r"^\s*\|")
_IMAGE = lazy_regex(r"!\[[^\]]*\]\([^)]*\)")
_BADGE = lazy_regex(r"\[\s*\]\([^)]*\)")
_LINK = lazy_regex(r"\[([^\]]+)\]\([^)]*\)|\[([^\]]+)\]\[[^\]]*\]")
_EMPHASIS = lazy_regex(r"(?<![\w*`])(\*\*\*|\*\*|__|\*|_)(?=\S)(.+?)(?<=\S)\1(?![\w*`])")
_TAG = lazy_regex(
    r"</?(?![\w.:-]{0,60}(?:pass(?:word|wd|phrase|code)?|pwd|secret|token|key|credential|pin)s?\s*/?>)[a-zA-Z][^>\n]*>", re.IGNORECASE
)  # fmt: skip
"""Elements, but not those that name a secret: by their names redaction, which comes later, knows what stands in them."""
_IMPORT = lazy_regex(r"^\s*(?:[-*+]\s+)?@(?:~?[./])?[\w@./~ -]*[./][\w./-]*\s*$")
"""A line that has another file read in its place; a host does that, we do not."""
_SYMBOLS = lazy_regex(r"[\U0001F000-\U0001FAFF\u2190-\u21FF\u2600-\u27BF\u2B00-\u2BFF\uFE0F]+\s*")
_SHELL = frozenset({"bash", "sh", "shell", "console", "zsh", "terminal", "shell-session"})
_DULL = lazy_regex(
    r"^(?:\W*)(?:overview|introduction|general|guidelines?|rules?|notes?|important(?: notes?)?|conventions?|best practices"
    r"|development|miscellaneous|misc|other|principles|core principles|key principles|instructions?|requirements|details"
    r"|description|context|purpose|summary|background|about|usage|quick (?:start|reference)|claude(?:\.md| code)?"
    r"|agents?(?:\.md)?|gemini(?:\.md)?|copilot instructions|contributing(?: guidelines| guide| to .*)?|repository guidelines"
    r"|project (?:guidelines|instructions|overview)|tips|do'?s and don'?ts|do|don'?t|examples?|table of contents|contents"
    r"|critical|key (?:points|rules)|common (?:commands|tasks)|commands|[\w .-]+ guidelines for .*)(?:\W*)$",
    re.IGNORECASE,
)
_LISTING = lazy_regex(
    r"^(?:\W*)(?:table of contents|contents|toc|license|acknowledge?ments?|credits|changelog|links)\W*$",
    re.IGNORECASE,
)
_EXAMPLES = lazy_regex(r"\b(?:examples?|sample|bad|wrong|incorrect|output|template)\b", re.IGNORECASE)
_SEE_ONLY = lazy_regex(
    r"^(?:for (?:more|full|further|details?|additional)\b.*|see (?:also )?(?:the )?[`\w./ @-]+?(?: for .*)?|read more.*|more (?:info|details).*"
    r"|refer to .*|check out .*|this (?:file|document|guide|page|section) (?:provides|contains|describes|explains|covers|is|defines|outlines)\b.*"
    r"|welcome .*|thank(?:s| you).*|we(?:'re| are) (?:glad|happy|excited).*|licensed under.*|last updated.*|version:.*|status:.*|date:.*)$",
    re.IGNORECASE | re.DOTALL,
)
_FACT = lazy_regex(
    r"`[^`]+`|\b(?:is|are|uses?|lives?|contains?|holds?|handles?|runs?|requires?|supports?|defaults?|provides?|stores?|built"
    r"|written|based|means|returns?|located|follows?|depends?)\b",
    re.IGNORECASE,
)
_NAMED_PATH = lazy_regex(r"^`[\w.@*~/-]*[./][\w.@*~/-]*`\s*(?::|[\u2013\u2014-])\s")
_VERB = lazy_regex(
    r"\b(?:is|are|be|uses?|has|have|must|should|can|will|do|does|lives?|contains?|runs?|needs?)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleLine:
    """A statement of a rule file.

    Attributes:
        content: self-contained, without Markdown but for code spans.
        line: number of its first line, from 1.
        span: that line as it stands in the file.
        command: it tells what a command does.
    """

    content: str
    line: int
    span: str
    command: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleText:
    """A rule file taken apart: statements in order, and the patterns its front matter limits it to."""

    lines: tuple[RuleLine, ...]
    paths: tuple[str, ...] = ()


@dataclass(slots=True, kw_only=True)
class _Block:
    """A run of lines that belong together; `lead` introduces it; `depth` is the nesting of a list item."""

    text: str
    line: int
    span: str
    item: bool = False
    indent: int = 0
    lead: str = ""


@dataclass(slots=True, kw_only=True)
class _Reader:
    """Walks through the lines; mutable, lives for one file."""

    rules_only: bool
    headings: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])
    found: list[RuleLine] = field(default_factory=list[RuleLine])
    block: _Block | None = None
    leads: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])
    last_text: str = ""


def without_comments(text: str) -> str:
    """Return `text` without its comments; the lines keep their numbers. A comment that is not closed stays."""
    # Behind the last end of a comment, a search for one would read the rest of the text for each beginning.
    closed, end, rest = text.rpartition("-->")
    return _COMMENT.sub(lambda match: "\n" * match[0].count("\n"), closed + end) + rest


def read_rules(text: str, *, rules_only: bool = False) -> RuleText:
    """Take a rule file apart.

    Args:
        text: the file.
        rules_only: keep only what asks for or forbids something (for files that are mostly prose).
    """
    body = text.replace("\r\n", "\n").lstrip("\ufeff")
    front = _FRONT.match(body)
    paths: tuple[str, ...] = ()
    if front:
        paths = _patterns(front["body"])
        body = "\n" * front[0].count("\n") + body[front.end() :]
    body = without_comments(body)
    reader = _Reader(rules_only=rules_only)
    lines = body.split("\n")
    number = 0
    while number < len(lines):
        fence = _FENCE.match(lines[number])
        if fence:
            end = _fence_end(lines, number, fence["marks"])
            _flush(reader)
            _take_code(reader, lines[number + 1 : end], number + 2, fence["language"].lower())
            reader.leads = [entry for entry in reader.leads if entry[0] >= 0]
            number = end + 1
            continue
        _take_line(reader, lines[number], number + 1)
        number += 1
    _flush(reader)
    unique = {line.content.casefold(): line for line in reversed(reader.found)}
    return RuleText(lines=tuple(sorted(unique.values(), key=lambda line: line.line)), paths=paths)


def _patterns(front: str) -> tuple[str, ...]:
    """Glob patterns under `globs:` or `paths:`; a file that always applies has none."""
    if re.search(r"^alwaysApply:\s*true", front, re.MULTILINE):
        return ()
    match = re.search(
        r"^(?:globs|paths|applyTo):[ \t]*(?P<line>.*)(?P<list>(?:\n[ \t]*-[ \t]+.+)*)", front, re.MULTILINE
    )
    if not match:
        return ()
    raw = re.split(r",(?![^{]*\})", match["line"].strip().strip("[]")) + re.findall(
        r"-[ \t]+(.+)", match["list"]
    )
    patterns = (entry.strip().strip("\"'") for entry in raw)
    return tuple(pattern for pattern in patterns if pattern and pattern not in ("*", "**", "**/*"))


def _fence_end(lines: list[str], start: int, marks: str) -> int:
    for number in range(start + 1, len(lines)):
        if lines[number].strip().startswith(marks) and not lines[number].strip().strip(marks[0]):
            return number
    return len(lines)


def _take_line(reader: _Reader, line: str, number: int) -> None:
    heading = _HEADING.match(line)
    if heading:
        _flush(reader)
        level = len(heading["marks"])
        reader.headings = [entry for entry in reader.headings if entry[0] < level]
        reader.headings.append((level, plain_text(heading["text"])))
        reader.leads.clear()
        reader.last_text = ""
        return
    if not line.strip():
        _flush(reader)
        return
    if (
        _IMPORT.match(line)
        or _RULER.match(line)
        or _TABLE.match(line)
        or line.lstrip().startswith(">")
        or _hidden(reader)
    ):
        _flush(reader)
        return
    item = _ITEM.match(line)
    if item:
        _flush(reader)
        indent = len(item["indent"].expandtabs(4))
        reader.leads = [entry for entry in reader.leads if entry[0] < indent]
        lead = reader.leads[-1][1] if reader.leads else ""
        reader.block = _Block(
            text=item["text"],
            line=number,
            span=line.strip(),
            item=True,
            indent=indent,
            lead=lead,
        )
        return
    if reader.block and not reader.block.item and line.startswith(("**", "__")):
        _flush(reader)  # a run of bold labels, one per line
    if reader.block is None:
        indent = len(line) - len(line.lstrip())
        if not indent:
            reader.leads.clear()
        lead = reader.leads[-1][1] if reader.leads else ""
        reader.block = _Block(text=line.strip(), line=number, span=line.strip(), indent=indent, lead=lead)
    else:
        reader.block.text += " " + line.strip()


def _hidden(reader: _Reader) -> bool:
    return any(_LISTING.match(text) for _, text in reader.headings)


def _flush(reader: _Reader) -> None:
    block, reader.block = reader.block, None
    if block is None:
        return
    text = plain_text(block.text)
    reader.last_text = text
    if text.endswith(":") and word_count(text) <= 16:
        lead = _joined(block.lead, text.rstrip(": "))
        reader.leads = [entry for entry in reader.leads if entry[0] < block.indent] if block.item else []
        reader.leads.append((block.indent if block.item else -1, lead))
        return
    if block.item:
        reader.leads.append((block.indent, _label(text)))
    _keep_text(reader, block, text)


def _keep_text(reader: _Reader, block: _Block, text: str) -> None:
    if block.item and word_count(text) <= MAX_WORDS:
        passages: tuple[str, ...] = (text,)
    else:
        passages = _grouped(split_sentences(text)) if block.item else split_sentences(text)
    for passage in passages:
        content = _self_contained(reader, block, passage.strip())
        if content and _worth(content, passage, rules_only=reader.rules_only, item=block.item):
            reader.found.append(RuleLine(content=content, line=block.line, span=block.span))


def _grouped(sentences: tuple[str, ...]) -> tuple[str, ...]:
    """Sentences of a long list item, joined as far as they fit."""
    groups: list[str] = []
    for sentence in sentences:
        if groups and word_count(groups[-1]) + word_count(sentence) <= MAX_WORDS:
            groups[-1] += " " + sentence
        else:
            groups.append(sentence)
    return tuple(groups)


def _self_contained(reader: _Reader, block: _Block, text: str) -> str:
    content = text.strip(" -\u2013\u2014")
    content = re.sub(r"(?<![.])[.;]+$", "", content).strip()
    if not content:
        return ""
    context = block.lead
    needs = (
        word_count(content) < 6
        or has_leading_reference(content)
        or not (_VERB.search(content) or imperative(content))
    )
    if _NAMED_PATH.match(content):
        context = ""  # a path names its own subject
    elif not context and needs:
        context = _heading(reader)
    if context and context.casefold() not in content.casefold():
        content = f"{context}: {content}"
    elif has_leading_reference(content):
        return ""
    return content


def _heading(reader: _Reader) -> str:
    for _, text in reversed(reader.headings):
        bare = re.sub(r"^(?:\d+(?:\.\d+)*[.)]?\s+|step \d+:?\s*)", "", text, flags=re.IGNORECASE)
        if not _DULL.match(bare) and word_count(bare) <= 8:
            return bare.rstrip(":")
    return ""


def _worth(content: str, passage: str, *, rules_only: bool, item: bool) -> bool:
    bare = passage.strip(" .`*_")
    if passage.startswith("(") or re.fullmatch(r"`[^`]+`\W*", passage.strip()):
        return False
    if not MIN_WORDS <= word_count(content) <= MAX_WORDS or passage.rstrip().endswith(("?", ":")):
        return False
    if _SEE_ONLY.match(bare) or re.fullmatch(r"\S*https?://\S+", bare) or not re.search(r"[A-Za-z]{3}", bare):
        return False
    if word_count(bare) < 2 and "`" in passage:
        return False
    if rule_like(passage) or rule_like(content) or read_marked(passage):
        return True
    if rules_only:
        return False
    return (
        bool(_FACT.search(passage))
        if item
        else bool(_FACT.search(passage)) and not has_leading_reference(passage)
    )


def _take_code(reader: _Reader, lines: list[str], first: int, language: str) -> None:
    """Commands with a comment beside or above them, and a single command that the text before introduces."""
    if language not in _SHELL or _hidden(reader) or _EXAMPLES.search(_nearest(reader)):
        return
    comment = ""
    plain: list[tuple[int, str]] = []
    continued = False
    for offset, raw in enumerate(lines):
        line = raw.strip()
        if continued:
            continued = line.endswith("\\")
            continue
        if not line:
            comment = ""
        elif line.startswith("#"):
            comment = line.lstrip("# ").strip()
        else:
            continued = line.endswith(("\\", "<<EOF", "<<'EOF'"))
            command, _, note = line.removeprefix("$ ").partition("  #")
            note = note.strip() or comment
            if continued or len(command) > 160:
                comment = ""
                continue
            if note and MIN_WORDS <= word_count(note) + 1 <= 20:
                _keep_command(reader, note, command.strip(), first + offset, raw)
                comment = ""
            else:
                plain.append((offset, command.strip()))
    if len(plain) == 1 and len([line for line in lines if line.strip()]) == 1 and reader.leads:
        offset, command = plain[0]
        _keep_command(reader, reader.leads[-1][1], command, first + offset, lines[offset])


def _keep_command(reader: _Reader, description: str, command: str, line: int, span: str) -> None:
    text = plain_text(description).rstrip(".: ")
    if text and command and "`" not in command:
        content = f"{text}: `{command}`"
        if word_count(content) <= MAX_WORDS and len(text.split()) >= 2:
            reader.found.append(RuleLine(content=content, line=line, span=span.strip(), command=True))


def _nearest(reader: _Reader) -> str:
    lead = reader.leads[-1][1] if reader.leads else reader.last_text[-60:]
    return f"{lead} {reader.headings[-1][1] if reader.headings else ''}"


def _label(text: str) -> str:
    """Return the subject of a list item, for the items below it: the part before its colon or dash, else its first words."""
    head = re.split(r":\s|\s[\u2013\u2014-]\s", text, maxsplit=1)[0]
    return head.rstrip(".:") if word_count(head) <= 8 else ""


def _joined(outer: str, inner: str) -> str:
    return f"{outer}, {inner}" if outer and inner else outer or inner


def plain_text(text: str) -> str:
    """Return `text` without Markdown, HTML, images and pictograms; code spans stay."""
    codes: list[str] = []

    def hide(match: re.Match[str]) -> str:
        codes.append(match[0])
        return f"\x00{len(codes) - 1}\x00"

    bare = re.sub(r"``[^`]+``|`[^`]+`", hide, text)
    bare = _BADGE.sub("", _IMAGE.sub("", bare))
    bare = _LINK.sub(lambda match: match[1] or match[2] or "", bare)
    for _ in range(2):
        bare = _EMPHASIS.sub(r"\2", bare)
    bare = re.sub(r"^\[[ xX]\]\s+", "", _SYMBOLS.sub("", _TAG.sub("", bare)))
    bare = re.sub(r"\x00(\d+)\x00", lambda match: codes[int(match[1])], bare)
    return " ".join(bare.split())
