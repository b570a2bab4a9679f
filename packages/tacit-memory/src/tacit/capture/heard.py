"""What a table of patterns finds in a session: decisions, preferences, errors with their remedy, purposes of files, findings.

In: the turns of a session, a preset's table (`presets/<name>/patterns.toml`). Out: sentences with their kind. What is found is nobody's
word: it is stored as an agent's own note. Pasted, quoted, asked, doubted, reported or momentary sentences match nothing. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

from tacit.config.preset_files import patterns_file
from tacit.frozen import frozen
from tacit.hosts.transcripts import Turn
from tacit.reading.explicit import NotMeant, find_explicit, normalize_statement, why_not_meant
from tacit.reading.marks import points_back
from tacit.reading.named import names_untyped, packages_in
from tacit.reading.prose import Sentence, hide_quotes, pasted_document, spoken_sentences
from tacit.safety.danger import danger_from_others
from tacit.text.lazy_regex import Wording

OF_AGENT = ("decision", "error_pattern", "file_context", "research")
OF_USER = ("decision", "preference", "error_pattern", "file_context")
LEAST_WORDS, MOST_CHARS = 4, 400
"""Fewest words and most characters of a sentence that is kept."""
REMEDY_WITHIN = 2
"""How many sentences behind an error its remedy may stand."""
MOST_HEARD = 12
"""Most sentences that one reading of a session keeps: more are a report, not a few decisions."""
_ORDERS = frozenset({"decision", "preference"})
"""Kinds by which an agent acts; the others report."""
_OF_THINGS = frozenset({"file_context", "research"})
"""Kinds that say what a thing does, where "may" and "if" are no doubt."""
_OF_RESEARCH: frozenset[NotMeant] = frozenset({"reports"})
"""What does not speak against a finding: it names a source."""


@cache
def patterns_of(preset: str) -> Wording:
    """Return the table of patterns in the folder of `preset`; the file is read when one of them is first used."""
    return Wording(patterns_file(preset))


@frozen
class Heard:
    """A sentence that a pattern found, and the turn it was said in.

    `waits` = it names what the user never typed, or what could harm: it is not believed before the user has seen it.
    """

    content: str
    span: str
    kind: str
    turn: Turn
    waits: bool = False


def find_heard(turns: Sequence[Turn], table: Wording) -> tuple[Heard, ...]:
    """Return the sentences that the patterns of `table` find in `turns`, in order, without repeats, at most `MOST_HEARD`.

    Sentences of the user that were stored as a statement already are left out.
    """
    found: dict[str, Heard] = {}
    for turn in turns:
        if pasted_document(turn.text):
            continue
        by_user = turn.role == "user"
        marked = [statement.span for statement in find_explicit(turn.text)] if by_user else []
        sentences = spoken_sentences(turn.text)
        for at, sentence in enumerate(sentences):
            kind = _kind_of(sentences, at, table, OF_USER if by_user else OF_AGENT)
            if not kind or any(sentence.text in span for span in marked):
                continue
            span = _with_remedy(sentences, at, table) if kind == "error_pattern" else sentence.text
            content = normalize_statement(span)
            found.setdefault(content.lower(), Heard(content=content, span=span, kind=kind, turn=turn))
    known = [turn.text for turn in turns if turn.role == "user"]
    known += [path for turn in turns for use in turn.tools for path in use.paths]
    told = [replace(heard, waits=_must_wait(heard, known)) for heard in found.values()]
    return tuple(told[:MOST_HEARD])


def _must_wait(heard: Heard, known: Sequence[str]) -> bool:
    """Whether a sentence waits for the user: it could do harm, or it names something that the user never typed and no tool call touched.

    Only decisions and preferences are searched for all such names; other kinds only for packages.
    """
    if danger_from_others(heard.content):
        return True
    if heard.kind in _ORDERS:
        return bool(names_untyped(heard.content, known))
    spoken = " ".join(known).casefold()
    return any(name not in spoken for name in packages_in(heard.content))


def _kind_of(sentences: Sequence[Sentence], at: int, table: Wording, kinds: Sequence[str]) -> str:
    """Return the kind of what a sentence tells; "" = no pattern matches, or it is not meant to last."""
    text = sentences[at].text
    words, _ = hide_quotes(text.replace("**", ""))
    if len(words.split()) < LEAST_WORDS or len(text) > MOST_CHARS:
        return ""
    kind = next((kind for kind in kinds if getattr(table, kind).search(words)), "")
    if not kind and table.mended.search(words):
        kind = "error_pattern"
    if not kind or points_back(words):
        return ""
    if any(says.search(words) for says in (table.past, table.momentary, table.denied)):
        return ""
    if kind not in _OF_THINGS and table.supposed.search(words):
        return ""
    if kind == "decision" and table.looks_up.search(words):
        return ""
    why = why_not_meant(sentences, at, clause=words)
    return "" if why and not (kind == "research" and why in _OF_RESEARCH) else kind


def _with_remedy(sentences: Sequence[Sentence], at: int, table: Wording) -> str:
    """Return the sentence at `at` with the one close behind it that tells the remedy, if there is one."""
    text = sentences[at].text
    behind = sentences[at + 1 : at + 1 + REMEDY_WITHIN]
    remedy = next(
        (sentence.text for sentence in behind if sentence.own and table.remedy.search(sentence.text)), ""
    )
    return f"{text} {remedy}" if remedy and len(text) + len(remedy) < MOST_CHARS else text
