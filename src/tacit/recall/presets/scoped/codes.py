"""Lines of session digests by their code. In: digest memories. Out: what was done, decided and is open, newest first. Pure.

Source: the `scoped` seed's session codes. What a later line reports as done is open no more: a `next` or `block` line goes
when a later digest (or the `done` and `fix` lines of its own) holds at least 60 % of its words' stems. Reading never deletes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tacit.model.evidence import Candidate
from tacit.reading.digest_lines import finished, lines_of

OPEN_CODES = ("block", "next")
_OWN = ("done", "fix")
_LATER = ("done", "fix", "impl")


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeLine:
    """One line of a digest: `code` is impl, dec, block, next, done or fix."""

    code: str
    text: str
    digest: Candidate


def code_lines(digests: Sequence[Candidate]) -> tuple[CodeLine, ...]:
    """Lines that still say something, newest digest first, in the order of each digest; none twice."""
    newest = sorted(digests, key=lambda c: (-c.memory.updated_at_ms, c.memory.id))
    later: list[str] = []
    seen: set[tuple[str, str]] = set()
    found: list[CodeLine] = []
    for digest in newest:
        lines = lines_of(digest.memory.content)
        reports = [*later, *(text for code, text in lines if code in _OWN)]
        for code, text in lines:
            key = (code, text.casefold())
            if key in seen or (code in OPEN_CODES and finished(text, reports)):
                continue
            seen.add(key)
            found.append(CodeLine(code=code, text=text, digest=digest))
        later += [text for code, text in lines if code in _LATER]
    return tuple(found)
