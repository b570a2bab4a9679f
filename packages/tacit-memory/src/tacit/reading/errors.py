"""A stable signature for an error, so that the same failure is recognized when it comes again.

In: error text (tool output, stack trace, message) and the command that failed. Out: one short lower-case line.
Never keeps a path, number, address, time or quoted value; never longer than `MAX_CHARS`.
"""

from __future__ import annotations

import re

from tacit.reading.commands import main_command
from tacit.text.lazy_regex import lazy_regex, wording
from tacit.text.stop_words import ERROR_STOP_WORDS
from tacit.text.terminal_codes import strip_terminal_codes
from tacit.text.tokens import ERROR_WORD

_ERRORS = wording("errors")

MAX_CHARS = 200
_HEAD = 6_000
_TAIL = 14_000

_CLASS = lazy_regex(
    r"(?<![\w.])(?:[a-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Warning|Failure|Interrupt|Timeout|Refused|NotFound|Panic|Exit)\b"
)
_CODE = lazy_regex(
    r"(?<![\w-])(?:TS\d{4}|E\d{4}|CS\d{4}|C\d{4}|[EFWBSDNRUPLTCI]{1,3}\d{3,4}|SC\d{4}|ERR_[A-Z_]+|E[A-Z]{4,14}|SQLITE_[A-Z]+|ORA-\d+|P\d{4}"
    r"|SIG[A-Z]{3,6}|[45]\d\d (?=[A-Z]))(?![\w-])"
)
_QUOTED = lazy_regex(
    r"\"[^\"\n]{1,200}\"|(?<!\w)'[^'\n]{1,200}'(?!\w)|`[^`\n]{1,200}`|“[^”\n]{1,200}”|‘[^’\n]{1,200}’"
)
_STAMP = lazy_regex(
    r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?|\b\d{1,2}:\d\d(?::\d\d(?:[.,]\d+)?)?\s?(?:am|pm)?\b",
    re.IGNORECASE,
)
_URL = lazy_regex(r"\b[a-z][a-z0-9+.-]{0,30}://\S+", re.IGNORECASE)
_PATH = lazy_regex(
    r"(?:(?:[A-Za-z]:)?[\\/]|\.{1,2}[\\/]|~[\\/])[^\s:;,\"'()<>\]]*|\b[\w@.-]{1,255}(?:[\\/][\w@.+-]+)+|\b[\w-]{1,255}\.[a-z][a-z0-9]{0,4}(?=[:,\s)]|$)(?::\d+)*"
)
_HEX = lazy_regex(
    r"\b0x[0-9a-f]+\b|\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{6,}\b|\b[0-9a-f]{8}-[0-9a-f-]{27}\b",
    re.IGNORECASE,
)
_NUMBER = lazy_regex(r"\b\d[\d.,_]*(?:ms|s|m|h|kb|mb|gb|b|%|px)?\b|(?<=[a-z_-])\d+\b", re.IGNORECASE)


_SIGNS = (
    "traceback (most recent call last)", "panic: ", "fatal: ", "error: ", "npm err!", "npm error!", "failed ", "assertionerror",
    "segmentation fault", "✗", "enoent", "econnrefused", "undefined is not", "cannot find module", "no such file or directory",
    "command not found", "permission denied",
)  # fmt: skip
"""Plain words that `_ERRORS.error_text` matches."""
_SHAPES = (
    ("at ", lazy_regex(r"^[^\S\n]+at .{1,400}\(.{1,400}:\d+(?::\d+)?\)", re.MULTILINE)),
    ('file "', lazy_regex(r"^[^\S\n]*file \".{1,400}\", line \d+", re.MULTILINE)),
    ("error", lazy_regex(r"error(?:\[e\d+\]|\s+ts\d+): |error(?:\s*\[\w+\])?:\s")),
    ("exception", lazy_regex(r"exception(?:\s*\[\w+\])?:\s")),
    ("exit", lazy_regex(r"exit(?:ed with)? (?:code|status) [1-9]")),
)
"""The other parts of that pattern, each with a word that any match contains."""
_OTHER_CASES = ("\u0130", "\u0131", "\u017f", "\u212a")
"""Letters that a case-insensitive pattern equates with i, s and k, but that `lower()` does not."""


def looks_like_error(text: str) -> bool:
    """Whether `text` holds output of a failing program: matches `_ERRORS.error_text`, but tests cheap signs first."""
    if not text.isascii() and any(map(text.__contains__, _OTHER_CASES)):
        return _ERRORS.error_text.search(text) is not None
    lower = text.lower()
    if any(map(lower.__contains__, _SIGNS)):
        return True
    if not any(word in lower and shape.search(lower) for word, shape in _SHAPES):
        return False
    return _ERRORS.error_text.search(text) is not None


def error_signature(error_text: str, *, command: str = "") -> str:
    """Return a failure as `tool | class or code | essential words`, the same when it happens again.

    Args:
        error_text: what the tool said; may be very long or empty.
        command: the command line that failed, where known.

    Returns:
        At most `MAX_CHARS` characters, the same for the same failure with other paths, numbers, times or quoted
        values; the empty string when there is neither text nor command.
    """
    text = strip_terminal_codes(error_text).replace("<tool_use_error>", "").replace("</tool_use_error>", "")
    if len(text) > _HEAD + _TAIL:
        text = f"{text[:_HEAD]}\n{text[-_TAIL:]}"
    tool = main_command(command)
    marks = _marks(text)
    words = _essential_words(text, skip={word for mark in marks for word in mark.split()})
    if not marks and not words and not tool:
        return ""
    fields = [field for field in (tool, " ".join(marks), " ".join(words)) if field]
    return _cut(" | ".join(fields))


def _marks(text: str) -> list[str]:
    marks: dict[str, None] = {}
    classes = _CLASS.findall(text)
    for name in classes[-1:] or []:
        marks.setdefault(name.rsplit(".", 1)[-1].lower())
    for code in _CODE.findall(text)[:2]:
        marks.setdefault(code.strip().lower())
    exits = _ERRORS.exit.findall(text)
    if exits and exits[-1] not in ("0", "1"):
        marks.setdefault(f"exit {exits[-1]}")
    return list(marks)


def _essential_words(text: str, *, skip: set[str]) -> list[str]:
    lines = [line for line in text.splitlines() if line.strip() and not _ERRORS.noise_line.match(line)]
    classed = [line for line in lines if _CLASS.search(line)]
    important = [line for line in lines if _ERRORS.important.search(line)]
    chosen = classed[-1:] or important[:2] or lines[-1:]
    words: dict[str, None] = {}
    for line in chosen:
        plain = line[:600]
        for pattern in (_URL, _QUOTED, _STAMP, _PATH, _CLASS, _CODE, _HEX, _ERRORS.exit, _NUMBER):
            plain = pattern.sub(" ", plain)
        for word in ERROR_WORD.findall(plain.lower()):
            if word not in ERROR_STOP_WORDS and word not in skip and len(word) > 1:
                words.setdefault(word)
        if len(words) >= 14:
            break
    return list(words)[:14]


def _cut(text: str) -> str:
    if len(text) <= MAX_CHARS:
        return text
    return text[: text.rfind(" ", 0, MAX_CHARS)].rstrip(" |")
