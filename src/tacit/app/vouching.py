"""Whether the user said what an agent states. In: a statement, the words quoted for it, recent prompts. Out: yes or no.

A quotation alone proves nothing: an agent led astray can quote any three words beside any rule. So the statement itself
must be what the quoted sentence says, with the same yes or no, and nothing technical (a command, a path, an address, a
number) may stand in it that the user did not write. On doubt the answer is no and the statement waits for the user.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from tacit.capture.reconcile.compare import take_apart
from tacit.capture.wording import negated
from tacit.model.ids import normalise_text
from tacit.model.session import SessionKey
from tacit.ports.store import ProjectRecord, Store
from tacit.reading.sentences import split_sentences

MIN_QUOTED_WORDS = 3
MIN_CONTENT_WORDS = 4
"""A statement of fewer content words is said by too many prompts to mean one of them."""
LEAST_SHARE = 0.7
"""Least share of the statement's content words that the quoted sentences must hold."""
MOST_NEW_WORDS = 2
"""Most content words of the statement that the user did not say, however long it is."""
_TECHNICAL = re.compile(r"\S*[^\w\s.,;:!?'\"()\u2019-]\S*|\S*\w[.:_-]\w\S*|\S*\d\S*|(?<!\w)--?\w\S*")
_EDGES = ".,;:!?'\"()\u2019`"


RECENT_SESSIONS = 10
QUOTED_WITHIN_MS = 6 * 3_600_000
"""How old the newest signal of a session may be for its prompts to vouch for what an agent states."""


def prompts_of(
    store: Store, project: ProjectRecord | None, session: SessionKey | None, *, now_ms: int
) -> tuple[str, ...]:
    """Recent prompts of `project`, of `session` alone where it is known; none without a project."""
    if project is None:
        return ()
    return tuple(
        prompt
        for state in store.list_sessions(limit=RECENT_SESSIONS)
        if state.project_id == project.id and state.last_signal_at_ms >= now_ms - QUOTED_WITHIN_MS
        if session is None or state.key == session
        for prompt in state.recent_prompts
    )


def said_by_user(statement: str, quoted: str, prompts: Iterable[str]) -> bool:
    """Whether one of `prompts` holds the words `quoted`, and the sentences around them say `statement`."""
    words = normalise_text(quoted)
    if len(words.split()) < MIN_QUOTED_WORDS:
        return False
    return any(_says(sentences, statement) for prompt in prompts if (sentences := _around(words, prompt)))


def _around(words: str, prompt: str) -> str:
    """The sentences of `prompt` in which `words` stand; "" where they do not stand in it as whole words."""
    place = re.search(rf"(?<!\w){re.escape(words)}(?!\w)", normalise_text(prompt))
    if place is None:
        return ""
    held: list[str] = []
    at = 0
    text = normalise_text(prompt)
    for sentence in split_sentences(prompt):
        folded = normalise_text(sentence)
        start = text.find(folded, at)
        if start < 0:
            continue
        at = start + len(folded)
        if start < place.end() and at > place.start():
            held.append(sentence)
    return " ".join(held) or (prompt if words == text else "")


def _says(sentences: str, statement: str) -> bool:
    wanted = set(take_apart(statement).order)
    given = set(take_apart(sentences).order)
    new = len(wanted - given)
    if len(wanted) < MIN_CONTENT_WORDS or new > MOST_NEW_WORDS or new > (1 - LEAST_SHARE) * len(wanted):
        return False
    if negated(statement) != negated(sentences):
        return False
    return _folded(match[0] for match in _TECHNICAL.finditer(statement)) <= _folded(sentences.split())


def _folded(words: Iterable[str]) -> set[str]:
    return {word.casefold().strip(_EDGES) for word in words} - {""}
