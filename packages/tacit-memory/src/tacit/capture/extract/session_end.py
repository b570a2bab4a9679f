"""The user's statements in a session, and open tasks. In: the turns of a session. Out: statements with their turn.

The assistant's words become nothing. Never reads files, never calls a model.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from tacit.capture.extract.explicit import Statement, find_explicit, normalize_statement
from tacit.capture.meant import is_taken_back_by
from tacit.capture.prose import pasted_document, spoken_sentences
from tacit.capture.wording import word_count
from tacit.hosts.transcripts import Turn
from tacit.text.lazy_regex import lazy_regex

_LEAD = lazy_regex(
    r"^(?:(?:ok(?:ay)?|so|and|also|but|well|please|yes|yeah|yep|no|then|actually|alright|great|thanks|now)\b[\s,.:;!-]*)+",
    re.IGNORECASE,
)
_OPEN = lazy_regex(
    r"^(?:todo\s*:?\s+|next(?: steps?)?\s*:\s*|(?:the )?next step is (?:to )?|still open\s*:\s*|remaining\s*:\s*|(?:the )?next (?:time|session)[,:]?\s+|(?:next,?\s+)?we still (?:need|have) to\s+"
    r"|later,? we(?:'ll| will| should| need to| have to)\s+|remind me (?:later )?to\s+"
    r"|later,? (?:let'?s)\s+|next,? we(?:'ll| will| do| should| need to| have to| must| go on with)?\s+)(?P<rest>(?!that\b).+)$",
    re.IGNORECASE | re.DOTALL,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnStatement:
    """A statement and the turn it was said in."""

    statement: Statement
    turn: Turn


def find_statements(turns: Iterable[Turn]) -> tuple[TurnStatement, ...]:
    """Everything that the user stated as a standing matter, in order; a repeated content counts once."""
    statements: dict[str, TurnStatement] = {}
    before = ""
    for turn in turns:
        if turn.role != "user":
            continue
        for content, said in tuple(statements.items()):
            if said.turn.text == before and is_taken_back_by(said.statement.span, turn.text, said_in=before):
                del statements[content]
        for statement in find_explicit(turn.text):
            statements.setdefault(statement.content.lower(), TurnStatement(statement=statement, turn=turn))
        before = turn.text
    return tuple(statements.values())


def open_loops(turns: Iterable[Turn]) -> tuple[str, ...]:
    """Return the open tasks that the user named, in order, without repeats."""
    tasks: dict[str, None] = {}
    for turn in turns:
        if turn.role == "user" and not pasted_document(turn.text):
            for sentence in spoken_sentences(turn.text):
                match = _OPEN.match(_LEAD.sub("", sentence.text, count=1))
                if (
                    match
                    and sentence.own
                    and not sentence.text.rstrip().endswith("?")
                    and word_count(match["rest"]) >= 2
                ):
                    tasks.setdefault(normalize_statement(match["rest"]))
    return tuple(tasks)
