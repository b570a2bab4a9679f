"""Text from bytes as programs of every system write it. In: bytes. Out: text, without a mark of byte order; never an error.

UTF-8, with or without a mark, and UTF-16 with one, which Windows PowerShell writes with `>` and Notepad by choice. Line ends
stay as they are.
"""

from __future__ import annotations

import codecs

_UTF_16 = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}


def utf_16_of(head: bytes) -> str:
    """`utf-16-le` or `utf-16-be` by the first bytes of a text; "" = neither."""
    return _UTF_16.get(head[:2], "")


def decode_text(data: bytes) -> str:
    """The text; bytes that cannot be read are replaced."""
    wide = utf_16_of(data)
    return data[2:].decode(wide, "replace") if wide else data.decode("utf-8-sig", "replace")
