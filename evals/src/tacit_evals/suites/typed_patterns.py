"""The pattern-only way to capture that the typed seed (section 4.2) gives. In: messages. Out: what it would keep. A baseline.

Its patterns as they stand there: decisions and error patterns from the assistant's words, preferences from the user's. A
match is kept whole, with the line it ends on; the same words are kept once. Every message counts, code and quotes included.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from tacit_evals.data.learnings import Said
from tacit_evals.suites.capturing import Captured

_DECISION = (
    r"(?:decided|choosing|going with|we'll use|opting for)\s+(.+?)(?:\.|$)",
    r"(?:because|reason being)\s+(.+?)(?:\.|$)",
    r"(?:the approach is|strategy is)\s+(.+?)(?:\.|$)",
)
_PREFERENCE = (
    r"(?:always|prefer|should always|never)\s+(.+?)(?:\.|$)",
    r"(?:convention is|style is|standard is)\s+(.+?)(?:\.|$)",
    r"(?:make sure to|remember to always)\s+(.+?)(?:\.|$)",
)
_ERROR = (
    r"(?:the issue was|bug was|problem was|caused by)\s+(.+?)(?:\.|$)",
    r"(?:fixed by|solved by|resolved by)\s+(.+?)(?:\.|$)",
    r"(?:root cause|the reason)\s+(.+?)(?:\.|$)",
)
_FLAGS = re.IGNORECASE | re.MULTILINE
PATTERNS: dict[str, tuple[tuple[str, re.Pattern[str]], ...]] = {
    "assistant": tuple(
        (kind, re.compile(pattern, _FLAGS))
        for kind, patterns in (("decision", _DECISION), ("error_pattern", _ERROR))
        for pattern in patterns
    ),
    "user": tuple(("preference", re.compile(pattern, _FLAGS)) for pattern in _PREFERENCE),
}


def by_typed_patterns(turns: Sequence[Said]) -> tuple[Captured, ...]:
    """What the typed seed's patterns keep of a session, in order."""
    found: dict[tuple[str, str], Captured] = {}
    for turn in turns:
        for kind, pattern in PATTERNS.get(turn.role, ()):
            for match in pattern.finditer(turn.text):
                content = match[0].strip()
                one = Captured(content=content, kind=kind, turns=frozenset({turn.i}), by=turn.role)
                found.setdefault((kind, content.lower()), one)
    return tuple(found.values())
