"""Keep memory text inside its block, and our own blocks out of what we read.

In: text of a memory, or a transcript, or a prompt. Out: text that cannot close a block, pose as system text or hide
characters; or the text without anything that Tacit once put there. Never changes what an ordinary sentence says.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from functools import lru_cache

from tacit.text.lazy_regex import lazy_regex

Clean = Callable[[str], str]
"""A function that returns its text without secrets."""
OPEN_TAG = "tacit-memory"
"""Name of the element that frames a block: `<tacit-memory ...>` to `</tacit-memory>`."""
OPEN_SECTION = "[MEMORY]"


def unchanged(text: str) -> str:
    """Return `text` as it is: the `Clean` of texts that hold no secrets."""
    return text


_SHORT = 1_000_000  # longer texts are never escaped whole: a memory is far below it

# A `<` that begins an element, a closing one, a comment, a declaration or a token of a chat template. Whatever its name is:
# hosts invent new elements, and a memory needs none. `a < b`, `<=`, `<-` and `<3` stay.
_ENCODED = r"&(?:amp;){0,3}(?:lt|#0{0,6}60|#x0{0,6}3c);?|\\u003c|\\x3c|%3c"
_TAG = lazy_regex(
    rf"(?:(?<!<)<++|{_ENCODED})(?=[^\W\d]|:|\s{{0,20}}[/\uff0f!?|\uff5c]|\Z"
    # A name after white space is an element only where it is closed as one.
    r"|\s{1,20}[^\W\d][\w:.-]{0,60}(?:\s{1,4}[\w:.-]{1,60})?(?:\s{1,4}[\w:.-]{1,60}\s?=\s?[^\s<>]{0,120}){0,6}\s{0,20}/?>)",
    re.IGNORECASE,
)
_TEMPLATE_END = lazy_regex(r"(?<=[|\uff5c])(\s*)>|(?<=SYS)>>", re.IGNORECASE)
_SECTION = lazy_regex(
    r"[\[\uff3b](?=\s{0,20}(?:[/\uff0f]\s{0,20}[^\W\d]"
    r"|(?:MEMORY|INST|SYS(?:TEM)?|CONTEXT|USER|HUMAN|ASSISTANT|DEVELOPER|(?:AVAILABLE_)?TOOLS?(?:_\w{1,20})?)\s{0,20}[\]\uff3d]))",
    re.IGNORECASE,
)
_FENCE = lazy_regex(r"`{3,}|~{3,}")
_HEADING = lazy_regex(
    r"(?<![^\s>*-])#{2,6}(?=\s{0,20}[^\W\d])|(?<![^\s>*-])#(?=\s{0,20}(?:system|human|user|assistant|developer|instructions?|memory)\b)",
    re.IGNORECASE,
)
# In lower case behind a line's start, a sentence's end, or the marks of a list, a quotation and bold or code text.
_ROLE = lazy_regex(
    r"(?i:(?:^[\W_]*+|(?:[.!?;|\u2029]\s{0,8}|\s{2})[\W_]{0,20}|[:)\]\"'*>_`#+-]\s{0,8})(?:human|assistant|system|user|developer|tool)[\W_]{0,20}):"
    r"|(?<![\w-])(?:Human|HUMAN|Assistant|ASSISTANT|System|SYSTEM|User|USER|Developer|DEVELOPER)[\s*_`]{0,8}:"
)
_MARKED = lazy_regex(
    r"(?<=[<\[/|])[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]+"
)
"""Combining marks after an opening character. They hide it from the rules below, but not from a reader."""
_BLANKS = lazy_regex(r"[^\S\r\n\v\f\x1c-\x1e\x85\u2028\u2029]{3,}")
_BREAKS = lazy_regex(r"(?<!\s)\s*[\r\n\v\f\x1c-\x1e\x85\u2028\u2029]+\s*")
_SURROGATE = lazy_regex(r"[\ud800-\udfff]")
_UNSEEN = lazy_regex(
    # control characters but white space; soft hyphen; bidi and zero-width marks; invisible operators; tag characters
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    "\U000e0000-\U000e0fff]"
)
_HIDDEN = frozenset({"Cc", "Cf", "Cs"})
_WIDE = {code: code - 0xFEE0 for code in (*range(0xFF21, 0xFF3B), *range(0xFF41, 0xFF5B))}
"""Full-width Latin letters, which read like plain ones."""
_PLAIN = str.maketrans(
    {"\uff1c": "<", "\uff1e": ">", "\ufe64": "<", "\ufe65": ">", "\u2329": "\u2039", **_WIDE}
)


def clean_characters(text: str) -> str:
    """Remove what a reader cannot see: NUL, control, bidi and zero-width characters; replace lone surrogates.

    White space is kept. The result can always be encoded as UTF-8.
    """
    text = _SURROGATE.sub("\ufffd", _UNSEEN.sub("", text))
    return text if text.isascii() or is_printable(text) else "".join(ch for ch in text if is_printable(ch))


def escape_text(text: str) -> str:
    """Return `text` as one line that cannot end or begin a block, or speak as somebody else, when it is put into a block.

    Line breaks become one space and unseen characters go. What could open or close an element, a block, a fence or a
    heading, or start another speaker's turn, is written with look-alike characters (`\u2039`, `\u27e6`, `\u2035`, `\uff03`, `\uff1a`), so
    that it still reads the same: `List<String>` becomes `List\u2039String>`. Escaping twice changes nothing.
    """
    if _ordinary(text):
        return text
    text = _MARKED.sub("", clean_characters(text[:_SHORT].translate(_PLAIN)))
    # Line breaks are remembered as line starts for the rule of roles; in the end they are spaces.
    text = _BREAKS.sub("\u2029", _BLANKS.sub("  ", text.strip()))
    text = _ROLE.sub(lambda m: m[0].replace(":", "\uff1a"), text)
    text = " ".join(text.split())
    text = _TAG.sub(lambda m: "\u2039" * (len(m[0]) if m[0][0] == "<" else 1), text)
    text = _TEMPLATE_END.sub(lambda m: m[0].replace(">", "\u203a"), text)
    text = _FENCE.sub(lambda m: ("\u2035" if m[0][0] == "`" else "\u223c") * len(m[0]), text)
    text = _HEADING.sub(lambda m: "\uff03" * len(m[0]), text)
    return _SECTION.sub("\u27e6", text)


_SPECIAL = ("<", "[", "|", ">>", "  ", "#", "&", "```", "~~~", "%3", "\\")


@lru_cache(maxsize=8192)
def _ordinary(text: str) -> bool:
    """Whether `text` is one line of plain ASCII without characters that `escape_text` changes."""
    return (
        text.isascii()
        and text.isprintable()
        and len(text) <= _SHORT
        and not any(mark in text for mark in _SPECIAL)
        and text == text.strip()
        and not (":" in text and _ROLE.search(text))
    )


_BEGIN = lazy_regex(r"(?P<tag><tacit-memory\b)|\[MEMORY\](?=\s)")
_TAG_END = lazy_regex(r">")
_BLOCK_END = lazy_regex(r"</tacit-memory\s*>")
_SECTION_END = lazy_regex(r"\[/MEMORY\]")
_SECTION_ALONE = lazy_regex(r"\s*\n")
_HOOK_REMINDER = (
    r"<system-reminder>\s*[A-Z]\w+(?::[^\s<]*)? hook additional context:(?:(?!</system-reminder>).)*"
    r"(?:</system-reminder>|\Z)"
)
_WRAPPED = lazy_regex(_HOOK_REMINDER, re.DOTALL)
_HOOK_CONTEXT = lazy_regex(r"<hook_context>(?:(?!</hook_context>).)*(?:</hook_context>|\Z)", re.DOTALL)
_EMPTY_WRAPPER = lazy_regex(r"<(system-reminder|hook_context)>\s*</\1>")
_GAPS = lazy_regex(r"\n{3,}")
_OPENED = ("<tacit-memory", OPEN_SECTION, "<system-reminder>", "<hook_context>")
"""A text without any of these holds no block to remove."""


def strip_blocks(text: str) -> str:
    """Remove blocks of Tacit, and those of other hooks, from a transcript or prompt. The rest stays unchanged.

    Goes: `<tacit-memory>` and `[MEMORY]` blocks, also cut-off ones up to the end; the wrappers in which Claude Code
    (`<system-reminder>... hook additional context: ...`) and Gemini CLI (`<hook_context>`) carry hook output.
    """
    if not any(mark in text for mark in _OPENED):
        return text
    stripped = _WRAPPED.sub("", _without_own(text))
    stripped = _HOOK_CONTEXT.sub("", stripped)
    stripped = _EMPTY_WRAPPER.sub("", stripped)
    return text if stripped == text else _GAPS.sub("\n\n", stripped).strip()


def _without_own(text: str) -> str:
    """Return `text` without `<tacit-memory>` and `[MEMORY]` blocks, in time that grows with its length alone.

    A block that was cut off runs to the end, but only where it begins a line: prose may name the delimiters.
    """
    tag_end, block_end, section_end = (_Next(end, text) for end in (_TAG_END, _BLOCK_END, _SECTION_END))
    kept: list[str] = []
    done = 0
    for begin in _BEGIN.finditer(text):
        if begin.start() < done:
            continue
        inside: re.Match[str] | None = begin
        if begin["tag"]:
            inside = tag_end.behind(begin.end())
        if inside is None:
            continue
        end = (block_end if begin["tag"] else section_end).behind(inside.end())
        first = begin.start() == 0 or text[begin.start() - 1] == "\n"
        if end is None and not (first and (begin["tag"] or _SECTION_ALONE.match(text, begin.end()))):
            continue
        kept.append(text[done : begin.start()])
        done = len(text) if end is None else end.end()
    return "".join((*kept, text[done:]))


class _Next:
    """Finds the next match of a pattern from positions that only increase, so that no part of the text is searched twice."""

    __slots__ = ("_found", "_pattern", "_text")

    def __init__(self, pattern: re.Pattern[str], text: str) -> None:
        self._pattern = pattern
        self._text = text
        self._found = pattern.search(text)

    def behind(self, start: int) -> re.Match[str] | None:
        """Return the first match that begins at `start` or later; None = there is none."""
        if self._found is not None and self._found.start() < start:
            self._found = self._pattern.search(self._text, start)
        return self._found


def is_printable(text: str) -> bool:
    """Whether `text` has no control, format or surrogate characters other than white space."""
    return all(ch.isspace() or unicodedata.category(ch) not in _HIDDEN for ch in text)
