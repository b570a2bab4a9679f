"""Splits a rule file into self-contained statements. In: Markdown. Out: statements with the line they came from.

Headings and introducing lines give context: "tabs, not spaces" under "## Go style" becomes "Go style: tabs, not spaces".
Commands in code blocks and tables become facts. Other code, quotations, tables of contents, badges, bare links and headings become nothing; a quotation that
says of itself that it is a note (`> [!IMPORTANT]`, `> **Note:**`) is read like any text.

Source: the CommonMark specification, by markdown-it; tables and strikethrough as on GitHub.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Literal, cast

from tacit.config.yaml_file import parse_settings
from tacit.errors import InvalidSetting
from tacit.frozen import frozen
from tacit.reading.marks import (
    has_leading_reference,
    is_imperative,
    length_in_words,
    read_marked,
    rule_like,
    word_count,
)
from tacit.reading.prose import COMMENT
from tacit.reading.sentences import split_sentences
from tacit.text.lazy_regex import lazy_regex, wording

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_core import StateCore
    from markdown_it.token import Token
    from markdown_it.tree import SyntaxTreeNode

_RULES = wording("rules")

MIN_WORDS, MAX_WORDS = 3, 60
_FRONT = lazy_regex(r"\A---[ \t]*\n(?P<body>.*?)\n---[ \t]*(?:\n|\Z)", re.DOTALL)
_TAG = lazy_regex(
    r"</?(?![\w.:-]{0,60}(?:pass(?:word|wd|phrase|code)?|pwd|secret|token|key|credential|pin)s?\s*/?>)[a-zA-Z][^>\n]{0,1000}>", re.IGNORECASE
)  # fmt: skip
"""HTML tags, except those that name a secret: redaction, which comes later, needs their names to find the secret."""
_IMPORT = lazy_regex(r"^\s*(?:[-*+]\s+)?@(?:~?[./])?[\w@./~ -]*[./][\w./-]*\s*$")
"""A line that names another file to insert. Hosts follow it; Tacit does not."""
_RAW = lazy_regex(r"\s*<(?:pre|script|style|textarea|[?!])", re.IGNORECASE)
"""The start of HTML whose content is not text."""
_PATTERNS = lazy_regex(r"^(?:globs|paths|applyTo|alwaysApply):.*(?:\n(?:[ \t]+|-).*)*", re.MULTILINE)
_UNQUOTED = lazy_regex(r"^(\w+:[ \t]+|[ \t]*-[ \t]+)(?=[\[{*!])(.*?)[ \t]*$", re.MULTILINE)
"""A glob pattern without quotation marks, which YAML would misread."""
_MORE_THAN = lazy_regex(r"(?<=\S\n)([ \t]*)>(?=[\d=])")
"""A `>` that begins a wrapped line and compares numbers; Markdown would take it for a quotation."""
_ALERT = lazy_regex(r"\[!\w+\]\s*$")
_COMMAND_COLUMN = lazy_regex(r"\b(?:commands?|scripts?|run)\b", re.IGNORECASE)
_MAX_HEADING_WORDS = 12
_MAX_CHARS, _MAX_BRACKETS = 10_000, 300
_REFERENCE = lazy_regex(r"\[([^\[\]]+)\]\[[^\[\]]*\]")
"""A link whose target is defined in another file; documentation generators resolve it."""
_SYMBOLS = lazy_regex(r"[\U0001F000-\U0001FAFF\u2600-\u27BF\u2B00-\u2BFF\uFE0F]+\s*")
_SHELL = frozenset({"bash", "sh", "shell", "console", "zsh", "terminal", "shell-session"})
_NAMED_PATH = lazy_regex(r"^`[\w.@*~/-]*[./][\w.@*~/-]*`\s*(?::|[\u2013\u2014-])\s")


@frozen
class RuleLine:
    """A self-contained statement from a rule file, and the line where it begins.

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


@frozen
class RuleText:
    """The result of `read_rules`: the statements in order, and the path patterns of the front matter."""

    lines: tuple[RuleLine, ...]
    paths: tuple[str, ...] = ()


Kind = Literal["heading", "text", "item", "code", "row"]


@frozen
class MarkdownBlock:
    """A block of a Markdown document, such as a paragraph, a list item or a code block.

    Attributes:
        kind: what it is. The first paragraph of a list item is an `item`, the others are `text`.
        text: its words without Markdown but for code spans; the code of a code block.
        line: number of its first line, from 1.
        span: that line as it stands in the file.
        level: the level of a heading, else how many lists it stands in.
        quote: it stands in a quotation.
        language: the first word behind the fence of a code block; "" = none, or it is indented.
        fields: the header and the text of each cell of a row.
    """

    kind: Kind
    text: str
    line: int
    span: str
    level: int = 0
    quote: bool = False
    language: str = ""
    fields: tuple[tuple[str, str], ...] = ()


@dataclass(slots=True, kw_only=True)
class _StatementReader:
    """The state of one pass over the blocks of a file: open headings and lead-ins, and the statements found so far."""

    rules_only: bool
    headings: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])
    found: list[RuleLine] = field(default_factory=list[RuleLine])
    leads: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])
    last_text: str = ""


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt  # noqa: PLC0415 - most programs that store a memory read no Markdown

    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    parser.core.ruler.at("inline", _parse_inline)
    return parser


def _parse_inline(state: StateCore) -> None:
    """Parse the inline Markdown of each block that is short enough: the time for brackets grows with their square."""
    for token in state.tokens:
        if (
            token.type == "inline"
            and len(token.content) <= _MAX_CHARS
            and token.content.count("[") <= _MAX_BRACKETS
        ):
            token.children = []
            state.md.inline.parse(token.content, state.md, state.env, token.children)


def blocks_of(text: str) -> tuple[MarkdownBlock, ...]:
    """Return the blocks of a Markdown document in order, without its front matter and comments."""
    body = text.replace("\r\n", "\n").replace("\r", "\n").lstrip("\ufeff")
    front = _FRONT.match(body)
    if front:
        body = "\n" * front[0].count("\n") + body[front.end() :]
    body = _MORE_THAN.sub(r"\1\\>", body)
    return tuple(_walk(_nodes(body), _Place(lines=tuple(body.split("\n")))))


@frozen
class _Place:
    """The position of a block in a document, and what encloses it; `above` = lines of the document above this part."""

    lines: tuple[str, ...]
    above: int = 0
    depth: int = 0
    quote: bool = False
    note: bool = False
    item: bool = False

    def block(
        self, node: SyntaxTreeNode, kind: Kind, text: str, *, offset: int = 0, level: int = -1
    ) -> MarkdownBlock:
        """Return the block for `node`; its line number is `offset` lines below the node's first line."""
        at = self.above + (node.map[0] if node.map else 0) + offset
        span = self.lines[at].strip() if at < len(self.lines) else ""
        return MarkdownBlock(
            kind=kind,
            text=text,
            line=at + 1,
            span=span,
            level=self.depth if level < 0 else level,
            quote=self.quote,
        )


def _nodes(body: str) -> Sequence[SyntaxTreeNode]:
    from markdown_it.tree import SyntaxTreeNode  # noqa: PLC0415 - see `_parser`

    return SyntaxTreeNode(_parser().parse(body)).children


def _walk(nodes: Sequence[SyntaxTreeNode], place: _Place) -> Iterator[MarkdownBlock]:
    for number, node in enumerate(nodes):
        match node.type:
            case "bullet_list" | "ordered_list":
                yield from _walk(node.children, replace(place, depth=place.depth + 1, item=True))
            case "list_item":
                yield from _walk(node.children, place)
            case "blockquote":
                note = not place.quote and (place.note or _is_note(node))
                yield from _walk(node.children, replace(place, quote=not note, note=note, item=False))
            case "fence" | "code_block":
                language = node.info.split()[0].lower() if node.info.strip() else ""
                yield replace(place.block(node, "code", node.content), language=language)
            case "html_block":
                yield from _html(node, place)
            case "table":
                yield from _rows(node, place)
            case "heading" | "paragraph":
                # The first paragraph of a list item is the item itself.
                first = place.item and number == 0
                yield from _text(node, replace(place, item=first))
            case _:
                pass


def _inline(node: SyntaxTreeNode) -> Sequence[Token]:
    """Return the inline tokens of a paragraph, a heading or a table cell."""
    token = node.children[0].token if node.children else None
    return token.children or [] if token is not None else []


def _is_note(quotation: SyntaxTreeNode) -> bool:
    """Whether a quotation begins like a note to the reader (`**Note:**`); such a quotation is read as text."""
    first = quotation.children[0] if quotation.children else None
    return (
        first is not None
        and first.type == "paragraph"
        and _RULES.quoted_note.match(first.children[0].content.split("\n")[0]) is not None
    )


def _html(node: SyntaxTreeNode, place: _Place) -> Iterator[MarkdownBlock]:
    """Yield the blocks of the Markdown between HTML tags; raw HTML (`<script>`, `<pre>`) yields none."""
    inside = COMMENT.sub(lambda match: "\n" * match[0].count("\n"), node.content)
    bare = "\n".join(_TAG.sub("", line) for line in inside.split("\n"))
    if bare != node.content and bare.strip() and not _RAW.match(inside):
        above = place.above + (node.map[0] if node.map else 0)
        yield from _walk(_nodes(bare), replace(place, above=above))


def _rows(table: SyntaxTreeNode, place: _Place) -> Iterator[MarkdownBlock]:
    rows = [row for part in table.children for row in part.children]
    cells = [[_plain(_inline(cell)) for cell in row.children] for row in rows]
    for row, texts in zip(rows[1:], cells[1:], strict=False):
        yield replace(place.block(row, "row", ""), fields=tuple(zip(cells[0], texts, strict=False)))


def _text(node: SyntaxTreeNode, place: _Place) -> Iterator[MarkdownBlock]:
    inline = node.children[0]
    children = _inline(node)
    if node.type == "heading" and not _is_paragraph(node, inline.content):
        yield place.block(node, "heading", _plain(children), level=int(node.tag[1]))
        return
    for offset, part in _parts(children, item=place.depth > 0):
        if place.note and _ALERT.match("".join(token.content for token in part)):
            continue
        text = _plain(part)
        item = place.item or text.startswith("\u2022 ")
        text = text.removeprefix("\u2022 ")
        block = place.block(
            node,
            "item" if item else "text",
            _RULES.quoted_note.sub("", text) if place.note else text,
            offset=offset,
        )
        if block.text and not _IMPORT.match(block.span):
            yield block


def _is_paragraph(heading: SyntaxTreeNode, text: str) -> bool:
    """Whether a "heading" is really a paragraph with a ruler below it, which Markdown takes for an underline."""
    long = "\n" in text or text.rstrip().endswith((".", ":")) or length_in_words(text) > _MAX_HEADING_WORDS
    return heading.markup in ("-", "=") and long


def _parts(children: Sequence[Token], *, item: bool) -> Iterator[tuple[int, list[Token]]]:
    """Yield (line offset, tokens) of each part of a paragraph that is a statement of its own.

    A part begins at a line with a bold label, a bullet or the mark of an alert, and around an import.
    """
    part: list[Token] = []
    first = line = 0
    for number, token in enumerate(children):
        if token.type in ("softbreak", "hardbreak"):
            line += 1
            following = next(
                (after for after in children[number + 1 :] if after.content or after.nesting), token
            )
            begins = following.type == "strong_open" and not item
            if begins or any(_stands_alone(other) for other in (following, *part[:1])):
                yield first, part
                part, first = [], line
                continue
        part.append(token)
    yield first, part


def _stands_alone(token: Token) -> bool:
    """Whether `token` begins a line that does not continue the one above: a bullet, an alert's mark, or an import."""
    marks = (_ALERT.match(token.content), _IMPORT.match(token.content), token.content.startswith("\u2022 "))
    return token.type == "text" and any(marks)


def _plain(children: Sequence[Token]) -> str:
    """Return the words of inline tokens without Markdown, HTML, images, pictograms and struck-out text.

    Code spans stay.
    """
    pieces: list[str] = []
    codes: list[str] = []
    struck = 0
    for number, token in enumerate(children):
        struck += (token.type == "s_open") - (token.type == "s_close")
        if struck:
            continue
        match token.type:
            case "text" | "text_special":
                pieces.append(token.content.replace("\0", ""))
            case "code_inline":
                marks = "``" if "`" in token.content else "`"
                pieces.append(f"\0{len(codes)}\0")
                codes.append(f"{marks}{token.content}{marks}")
            case "softbreak" | "hardbreak":
                pieces.append(" ")
            case "strong_open" | "strong_close" if token.markup == "__":
                named = children[number + token.nesting].content
                # Python's `__init__` is a name, whatever Markdown makes of it.
                pieces.append("__" if named.isidentifier() and named.islower() else "")
            case "html_inline":
                pieces.append(_TAG.sub("", COMMENT.sub("", token.content)))
            case _:
                pass
    text = _REFERENCE.sub(r"\1", _SYMBOLS.sub("", "".join(pieces)))
    text = re.sub(r"^\[[ xX]\]\s+", "", text.strip())
    return " ".join(re.sub(r"\0(\d+)\0", lambda match: codes[int(match[1])], text).split())


def plain_text(text: str) -> str:
    """Return the paragraph `text` without Markdown, HTML, images and pictograms; code spans stay."""
    (inline,) = _parser().parseInline(text)
    return _plain(inline.children or [])


def read_rules(text: str, *, rules_only: bool = False) -> RuleText:
    """Return the self-contained statements of a rule file and its path patterns; quotations are skipped.

    Args:
        text: the file.
        rules_only: keep only what asks for or forbids something (for files that are mostly prose).
    """
    front = _FRONT.match(text.replace("\r\n", "\n").lstrip("\ufeff"))
    reader = _StatementReader(rules_only=rules_only)
    for block in blocks_of(text):
        if not block.quote:
            _take(reader, block)
    unique = {line.content.casefold(): line for line in reversed(reader.found)}
    lines = tuple(sorted(unique.values(), key=lambda line: line.line))
    return RuleText(lines=lines, paths=_patterns(front["body"]) if front else ())


def _patterns(front: str) -> tuple[str, ...]:
    """Return the glob patterns under `globs:`, `paths:` or `applyTo:`; empty = the file always applies."""
    values: dict[str, object] = {}
    for found in _PATTERNS.finditer(front):
        quoted = _UNQUOTED.sub(lambda match: match[1] + "'" + match[2].replace("'", "''") + "'", found[0])
        try:
            values |= parse_settings(quoted, place="front matter").values
        except InvalidSetting:
            continue
    if values.get("alwaysApply") is True:
        return ()
    raw = next((value for name in ("globs", "paths", "applyTo") if (value := values.get(name))), "")
    listed = (
        cast("list[object]", raw)
        if isinstance(raw, list)
        else re.split(r",(?![^{]*\})", str(raw).strip("[]"))
    )
    patterns = (str(entry).strip().strip("\"'") for entry in listed)
    return tuple(pattern for pattern in patterns if pattern and pattern not in ("*", "**", "**/*"))


def _take(reader: _StatementReader, block: MarkdownBlock) -> None:
    if block.kind == "heading":
        reader.headings = [entry for entry in reader.headings if entry[0] < block.level]
        reader.headings.append((block.level, block.text))
        reader.leads.clear()
        reader.last_text = ""
        return
    if _hidden(reader):
        return
    if block.kind == "code":
        _take_code(reader, block)
        reader.leads = [entry for entry in reader.leads if entry[0] >= 0]
    elif block.kind == "row":
        _take_row(reader, block)
    else:
        _take_text(reader, block)


def _take_row(reader: _StatementReader, block: MarkdownBlock) -> None:
    """Add the command of a table row, described by another cell of the row, to the statements found."""
    for name, cell in block.fields:
        command = re.fullmatch(r"`([^`]+)`", cell)
        if command and _COMMAND_COLUMN.search(name):
            told = next((text for _, text in block.fields if text != cell and word_count(text) > 1), "")
            _keep_command(reader, told, command[1], block.line, block.span)
            return


def _hidden(reader: _StatementReader) -> bool:
    return any(_RULES.listing.match(text) for _, text in reader.headings)


def _take_text(reader: _StatementReader, block: MarkdownBlock) -> None:
    item, text = block.kind == "item", block.text
    if item:
        reader.leads = [entry for entry in reader.leads if entry[0] < block.level]
    elif not block.level:
        reader.leads.clear()
    lead = reader.leads[-1][1] if reader.leads else ""
    reader.last_text = text
    if text.endswith(":") and length_in_words(text) <= 16:
        reader.leads = [entry for entry in reader.leads if entry[0] < block.level] if item else []
        reader.leads.append((block.level if item else -1, _joined(lead, text.rstrip(": "))))
        return
    if item:
        reader.leads.append((block.level, _label(text)))
    if item and length_in_words(text) <= MAX_WORDS:
        passages: tuple[str, ...] = (text,)
    else:
        passages = _grouped(split_sentences(text)) if item else split_sentences(text)
    for passage in passages:
        content = _self_contained(reader, lead, passage.strip())
        if content and _worth(content, passage, rules_only=reader.rules_only, item=item):
            reader.found.append(RuleLine(content=content, line=block.line, span=block.span))


def _grouped(sentences: tuple[str, ...]) -> tuple[str, ...]:
    """Join neighboring sentences of a long list item into groups of at most `MAX_WORDS` words."""
    groups: list[str] = []
    for sentence in sentences:
        if groups and length_in_words(groups[-1]) + length_in_words(sentence) <= MAX_WORDS:
            groups[-1] += " " + sentence
        else:
            groups.append(sentence)
    return tuple(groups)


def _self_contained(reader: _StatementReader, lead: str, text: str) -> str:
    content = text.strip(" -\u2013\u2014")
    content = re.sub(r"(?<![.])[.;]+$", "", content).strip()
    if not content:
        return ""
    context = lead
    needs = (
        word_count(content) < 6
        or has_leading_reference(content)
        or not (_RULES.verb.search(content) or is_imperative(content))
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


def _heading(reader: _StatementReader) -> str:
    for _, text in reversed(reader.headings):
        bare = re.sub(r"^(?:\d+(?:\.\d+)*[.)]?\s+|step \d+:?\s*)", "", text, flags=re.IGNORECASE)
        if not _RULES.dull.match(bare) and length_in_words(bare) <= 8:
            return bare.rstrip(":")
    return ""


def _worth(content: str, passage: str, *, rules_only: bool, item: bool) -> bool:
    bare = passage.strip(" .`*_")
    if passage.startswith("(") or re.fullmatch(r"`[^`]+`\W*", passage.strip()):
        return False
    too_long = length_in_words(content) > MAX_WORDS
    if word_count(content) < MIN_WORDS or too_long or passage.rstrip().endswith(("?", ":")):
        return False
    if (
        _RULES.see_only.match(bare)
        or re.fullmatch(r"\S*https?://\S+", bare)
        or not re.search(r"[A-Za-z]{3}", bare)
    ):
        return False
    if word_count(bare) < 2 and "`" in passage:
        return False
    if rule_like(passage) or rule_like(content) or read_marked(passage):
        return True
    if rules_only:
        return False
    return (
        bool(_RULES.fact.search(passage))
        if item
        else bool(_RULES.fact.search(passage)) and not has_leading_reference(passage)
    )


def _take_code(reader: _StatementReader, block: MarkdownBlock) -> None:
    """Add the commands of a shell block that a comment explains, or the single one that the text before introduces."""
    if block.language not in _SHELL or _RULES.examples.search(_nearest(reader)):
        return
    lines, first = block.text.rstrip("\n").split("\n"), block.line + 1
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


def _keep_command(reader: _StatementReader, description: str, command: str, line: int, span: str) -> None:
    text = plain_text(description).rstrip(".: ")
    if text and command and "`" not in command:
        content = f"{text}: `{command}`"
        if length_in_words(content) <= MAX_WORDS and len(text.split()) >= 2:
            reader.found.append(RuleLine(content=content, line=line, span=span.strip(), command=True))


def _nearest(reader: _StatementReader) -> str:
    lead = reader.leads[-1][1] if reader.leads else reader.last_text[-60:]
    return f"{lead} {reader.headings[-1][1] if reader.headings else ''}"


def _label(text: str) -> str:
    """Return the subject of a list item as context for the items below it; "" = it is longer than eight words.

    The subject is the part before its colon or dash, else the whole text.
    """
    head = re.split(r":\s|\s[\u2013\u2014-]\s", text, maxsplit=1)[0]
    return head.rstrip(".:") if length_in_words(head) <= 8 else ""


def _joined(outer: str, inner: str) -> str:
    return f"{outer}, {inner}" if outer and inner else outer or inner
