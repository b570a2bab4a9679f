"""Whether a person means a sentence of a prompt, and means it to last. In: the sentences of prompts. Out: why not, or "".

One judgment for what a prompt teaches and for what an agent quotes of it: words that are pasted, asked, doubted, another person's, taken
back, for once, mocked or about another project are no rule of the user's. What a sentence marks as lasting is for `tacit.reading.marks`. Pure.

What the user marks as lasting in a prompt, found in real time. In: prompt text. Out: statements.

Reads the sentences that the user speaks in their own voice with `tacit.reading.marks`. Questions, one-off orders, quotations and pasted
matter stay out. Never reads files, never calls a model.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal

from tacit.frozen import frozen
from tacit.reading.marks import (
    INVISIBLE,
    bare_mark,
    goes_on,
    is_doubtful,
    is_one_off,
    is_question,
    is_reported,
    is_requirement,
    lead_free,
    read_marked,
    takes_back,
)
from tacit.reading.prose import (
    Sentence,
    hide_quotes,
    names_source,
    pasted_document,
    show_quotes,
    spoken_sentences,
)
from tacit.text.lazy_regex import lazy_regex, wording
from tacit.text.natural_language import natural_language_of
from tacit.text.stemming import stems

_INTENT = wording("intent")

NotMeant = Literal[
    "", "pasted", "asks", "doubts", "reports", "taken_back", "for_once", "mocked", "elsewhere", "points_back"
]

NEAR_SENTENCES = 4
"""First sentences of a later prompt that are searched for a retraction."""
_REMARK_WORDS = 4
"""Most words of a remark that mocks the sentence before it."""
_QUOTED = lazy_regex(
    r"^[\"\u201c\u201e\u00ab].*[\"\u201d\u201c\u00bb]\W*$|^\W*+(?:\w[\w-]*-bot|speaker \d+|notice(?: to [\w ]+)?):\s",
    re.DOTALL | re.IGNORECASE,
)
"""A sentence in quotation marks, or behind the name of its speaker."""


def why_not_meant(sentences: Sequence[Sentence], at: int, *, clause: str) -> NotMeant:
    """Return why a sentence of a prompt is not a lasting statement of the user's; "" = it is.

    Args:
        sentences: of the prompt.
        at: number of the sentence.
        clause: the words of the sentence that may be a statement; a sentence with "?" counts as a question only at its end or if these words ask.
    """
    sentence, text = sentences[at], sentences[at].text
    if not sentence.own:
        return "pasted"
    if is_question(text) and (text.rstrip().endswith("?") or is_question(clause)):
        return "asks"
    if sentence.doubted or is_doubtful(text):
        return "doubts"
    if is_reported(text) or names_source(text):
        return "reports"
    not_meant = why_not_earnest(sentences, at) or why_not_own(sentences, at)
    if not_meant:
        return not_meant
    return "for_once" if is_one_off(text) or _INTENT.for_once.search(text) else ""


def why_not_earnest(sentences: Sequence[Sentence], at: int) -> NotMeant:
    """Return why a sentence of a prompt does not count, whatever it says: it is quoted, mocked, or taken back at once; "" = it counts."""
    text, behind = sentences[at].text, sentences[at + 1 : at + 3]
    if _QUOTED.search(text) or _INTENT.handed.search(text):
        return "pasted"
    remark = behind[0].text if behind else ""
    if (
        any(_INTENT.mocking_start.search(near.text) for near in sentences[max(0, at - 1) : at + 1])
        or _INTENT.mocked.search(text)
        or (_INTENT.mocked.search(remark) and len(remark.split()) <= _REMARK_WORDS)
    ):
        return "mocked"
    return "taken_back" if _INTENT.corrects_itself.search(text) or any(map(_takes_back, behind)) else ""


def why_not_own(sentences: Sequence[Sentence], at: int) -> NotMeant:
    """Return why a sentence is not the user's own rule for this project; "" = it is.

    It reports somebody else's words, is about another project, or refers back to another sentence.
    """
    text = sentences[at].text
    if _INTENT.speaker.search(text):
        return "reports"
    if _INTENT.points_back.search(text):
        return "points_back"
    before = sentences[at - 1].text if at else ""
    return "elsewhere" if _INTENT.elsewhere.search(text) or _INTENT.elsewhere.search(before) else ""


def taken_back_later(statement: str, later: Sequence[str], *, alone: bool) -> bool:
    """Whether a later prompt seems to take a statement back, or to undo it.

    It names the statement, or it is the next prompt and there was nothing else to take back.

    Args:
        statement: as it was said.
        later: the prompts behind it, oldest first.
        alone: its prompt said nothing else.
    """
    about = stems(statement)
    return any(
        (_takes_back(sentence) and (named or (alone and number == at == 0))) or _puts_back(sentence, about)
        for number, prompt in enumerate(later)
        for named, near in [_near(about, prompt)]
        for at, sentence in enumerate(near)
    )


def is_taken_back_by(statement: str, prompt: str, *, said_in: str) -> bool:
    """Whether the prompt right after the one with a statement takes it back explicitly, so that it may end."""
    named, near = _near(stems(statement), prompt)
    alone = len(spoken_sentences(said_in)) == 1
    return any(
        (named or (alone and at == 0))
        and sentence.own
        and not _INTENT.asks_or_solved.search(sentence.text)
        and (takes_back(sentence.text) or _INTENT.back.search(sentence.text))
        for at, sentence in enumerate(near)
    )


def _near(about: frozenset[str], prompt: str) -> tuple[bool, Sequence[Sentence]]:
    """Return whether the first sentences of a prompt have a word stem of `about`, and these sentences."""
    near = spoken_sentences(prompt)[:NEAR_SENTENCES]
    return not about.isdisjoint(stems(" ".join(sentence.text for sentence in near))), near


def _puts_back(sentence: Sentence, about: frozenset[str]) -> bool:
    """Whether a sentence asks to undo something that `about` names."""
    back = _INTENT.puts_back.search(sentence.text)
    return (
        sentence.own
        and back is not None
        and not about.isdisjoint(stems(back["what"] or back["was"] or back["quoi"]))
    )


def _takes_back(sentence: Sentence) -> bool:
    text = sentence.text
    told = takes_back(text) or _INTENT.back.search(text) or _INTENT.opens_back.search(text)
    return sentence.own and not text.endswith("?") and bool(told)


_OUTRIGHT = frozenset({"remember", "remember_last", "label", "marked beside it"})
_CONFIDENCE = {True: 0.95, False: 0.85}


@frozen
class Statement:
    """A lasting statement of the user's, found in a prompt.

    Attributes:
        content: the sentence, beginning with a capital and without a final full stop.
        span: the verbatim sentence.
        kind: its kind.
        confidence: 0-1, how sure we are that it is meant to last.
        cue: which mark it has, for the trace.
        everywhere: whether the user said that it holds in all projects.
        doubtful: it may belong to a text that the user handed over, so that it waits for them.
    """

    content: str
    span: str
    kind: str
    confidence: float
    cue: str
    everywhere: bool = False
    doubtful: bool = False


@lru_cache(4)  # a prompt is read for what it states, and then for whether all that it asks to keep was kept
def find_explicit(text: str) -> tuple[Statement, ...]:
    """Return the standing statements that the user makes in a prompt, in order, without repeats."""
    text = INVISIBLE.sub("", text)
    sentences = [sentence for sentence in spoken_sentences(text) if not sentence.doubted]
    pasted = pasted_document(text)
    language = natural_language_of(text)
    found: dict[str, Statement] = {}
    heads = _heads(sentences)
    for at in range(len(sentences)):
        statement = None if why_not_earnest(sentences, at) else _statement(sentences, at, heads[at], language)
        if statement is None:
            continue
        if statement.cue not in _OUTRIGHT and (pasted or why_not_own(sentences, at)):
            continue
        if (
            statement.cue in ("always", "never", "dont")
            and is_requirement(statement.span)
            and any(_INTENT.builds.match(sentence.text) for sentence in sentences[:at])
        ):
            continue
        for other in [key for key, earlier in found.items() if earlier.span in statement.span]:
            del found[other]  # it goes on with that one
        found.setdefault(statement.content, statement)
    return tuple(found.values())


def asks_to_keep(text: str) -> bool:
    """Whether the user marks something in the prompt as lasting; a bare "remember this" counts, too."""
    language = natural_language_of(text)
    return bool(find_explicit(text)) or any(
        sentence.own and not sentence.doubted and bare_mark(sentence.text, language) is not None
        for sentence in spoken_sentences(INVISIBLE.sub("", text))
    )


def _heads(sentences: Sequence[Sentence]) -> list[str]:
    """Return for each sentence the line ending in a colon that introduces its list; "" = none."""
    heads: list[str] = []
    head = ""
    for sentence in sentences:
        ends = sentence.text.rstrip("* ").endswith((":", "\uff1a"))
        if not sentence.item or ends:
            heads.append("")
            head = sentence.text if ends else ""
        else:
            heads.append(head)
    return heads


def _statement(sentences: Sequence[Sentence], at: int, head: str, language: str) -> Statement | None:
    sentence = sentences[at]
    if bare_mark(sentence.text, language):
        return None
    words, quotes = hide_quotes(sentence.text)
    span = sentence.text
    before = sentences[at - 1] if at else None
    marked = _marked_beside(sentences, at, head, language)
    read = read_marked(words, language=language)
    if read is None and marked:
        read = read_marked(words, marked=True, language=language)
    if read is None and head:
        lead = head.rstrip(" *:\uff1a")
        read = read_marked(f"{lead} {lead_free(words, language)}", language=language)
    if (
        read is None
        and before is not None
        and not before.item
        and goes_on(words)
        and not is_one_off(before.text)
    ):
        hidden, more = hide_quotes(before.text)
        if not is_question(hidden):
            span, quotes = f"{before.text} {span}", (*more, *quotes)
            read = read_marked(f"{hidden} {words}", marked=True, language=language)
    if read is None:
        return None
    return Statement(
        content=show_quotes(read.text, quotes),
        span=span,
        kind=read.kind,
        confidence=_CONFIDENCE[read.mark in _OUTRIGHT],
        cue=read.mark,
        everywhere=read.everywhere,
        doubtful=not sentence.own,
    )


def _marked_beside(sentences: Sequence[Sentence], at: int, head: str, language: str) -> bool:
    """Whether a neighboring sentence ("Remember this:") says that this one is to be remembered."""
    if head and bare_mark(head, language):
        return True
    before = bare_mark(sentences[at - 1].text, language) if at else None
    after = bare_mark(sentences[at + 1].text, language) if at + 1 < len(sentences) else None
    last = at + 2 == len(sentences) and not sentences[-1].text.endswith((":", "\uff1a"))
    return (before is not None and (not before.before or at == 1)) or (
        after is not None and (after.before or last)
    )


def normalize_statement(content: str) -> str:
    """Return the text as one line, with a capital first letter and no final full stop.

    The letter stays if the text begins with code or a file name.
    """
    text = " ".join(content.split()).strip(" ,;:-\u2013\u2014")
    text = re.sub(r"(?<![.])[.!]+$", "", text).strip()
    first = text.split(" ", 1)[0]
    return text if not text[:1].isalpha() or re.search(r"[/_]|\.\w", first) else text[:1].upper() + text[1:]
