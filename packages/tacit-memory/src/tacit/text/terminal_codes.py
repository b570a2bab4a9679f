"""Removal of terminal codes and of characters that hide text. In: text as a program or a person wrote it. Out: what a reader sees.

Removes whole sequences: colors and cursor moves, window titles, the addresses of hyperlinks, and what a backspace struck out. Removes the other control
characters, the marks that change the direction of text, and tag characters. Keeps white space, emoji of several characters (flags of regions are made
of tag characters) and text that is written from right to left.

Source: ECMA-48; Unicode Technical Standard 51, "Emoji Tag Sequence".
"""

from __future__ import annotations

from tacit.text.lazy_regex import lazy_regex

_END = r"(?:\x07|\x1b\\|\x9c)"
_SEQUENCE = lazy_regex(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"
    rf"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c\r\n]{{0,4096}}{_END}"
    r"|(?:\x1b\]|\x9d)(?:\d{1,4};)?"  # a string that does not end: what follows stays
    r"|\x1b[ -/]*[0-~]?"
)
_STRUCK = lazy_regex(r"[^\n\x08]\x08")
_UNSEEN = lazy_regex(
    r"[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\u202a-\u202e\u2066-\u2069]"
    r"|(\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{3,6}\U000e007f)|[\U000e0000-\U000e007f]"
    r"|(?<=[\ufe00-\ufe0f\U000e0100-\U000e01ef])[\ufe00-\ufe0f\U000e0100-\U000e01ef]+"
)


def strip_terminal_codes(text: str) -> str:
    """Return `text` without terminal codes and characters that hide text, as listed at the top of this module."""
    if text.isprintable() and text.isascii():
        return text
    if "\x1b" in text or not text.isascii():
        text = _SEQUENCE.sub("", text)
    if "\x08" in text:
        before = ""
        while text != before:
            before, text = text, _STRUCK.sub("", text)
    return _UNSEEN.sub(r"\1", text)
