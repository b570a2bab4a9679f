"""Decoding of text files from any system. In: bytes. Out: text without a byte order mark (BOM). Never raises an error.

Reads UTF-8 with or without a BOM, and UTF-16 with one, which Windows PowerShell writes with `>` and Notepad can write. Line ends
are not changed.
"""

from __future__ import annotations

import codecs

_UTF_16 = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}


def utf_16_of(head: bytes) -> str:
    """Return `utf-16-le` or `utf-16-be` if a text begins with that byte order mark, else ""."""
    return _UTF_16.get(head[:2], "")


def decode_text(data: bytes) -> str:
    """Return the decoded text: UTF-16 if it begins with that byte order mark, else UTF-8. Invalid bytes become U+FFFD; never raises."""
    wide = utf_16_of(data)
    return data[2:].decode(wide, "replace") if wide else data.decode("utf-8-sig", "replace")
