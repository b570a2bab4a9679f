"""Commands to Tacit that the user types as a prompt. In: the text of a prompt. Out: `remember TEXT`, `forget ID`, or "".

Only a prompt that is the command counts, on one line: a text that was pasted may hold such a line. Commands that need no
authority of the user (`wrong`, `why`, `off`) are left to the agent that the host asks to run them.
"""

from __future__ import annotations

import re

_COMMAND = re.compile(r"/tacit(?::|[ \t]+)(?:(?P<verb>remember)[ \t]+(?P<text>\S.*)|forget[ \t]+(?P<id>\S+))")
_QUOTES = ('""', "''", "\u201c\u201d", "\u2018\u2019")


def typed_command(prompt: str) -> str:
    """The command that `prompt` is: `remember TEXT` or `forget ID`; "" when it is none of them."""
    line = prompt.strip()
    found = _COMMAND.fullmatch(line)
    if found is None or len(line.splitlines()) != 1:
        return ""
    if found["verb"] is None:
        return f"forget {found['id']}"
    return f"remember {_unquoted(found['text'])}"


def _unquoted(text: str) -> str:
    """`text` without the pair of quotation marks around the whole of it."""
    for opening, closing in _QUOTES:
        inner = text[1:-1]
        if (
            text[0] == opening
            and text[-1] == closing
            and inner.strip()
            and not {opening, closing} & set(inner)
        ):
            return inner.strip()
    return text
