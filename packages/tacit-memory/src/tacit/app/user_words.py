"""Whether the user's own words vouch for what an agent notes. In: a note, the words quoted for it, the prompts of its session. Out: what to store as whose.

Agents lead one another astray, so a quotation proves only itself. What the user typed and meant to last is stored as theirs: in the agent's
wording where that says no more and no less, else in the user's own sentence, whole. Words that were pasted, ask, doubt, report somebody else,
are taken back or are for once vouch for nothing. An end is guarded more strictly than an addition: the words must ask for it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from tacit.capture.prepare import MAX_CHARS
from tacit.frozen import frozen
from tacit.model.change_reason import ChangeCause, ChangeReason
from tacit.model.memory import Memory, TrustTier
from tacit.reading.explicit import NotMeant, taken_back_later, why_not_meant
from tacit.reading.marks import lead_free, points_back, read_marked
from tacit.reading.named import means_something, names_untyped, typed_words
from tacit.reading.prose import Sentence, hide_quotes, spoken_sentences
from tacit.safety.danger import danger_of
from tacit.statements.same import same_statement
from tacit.text.lazy_regex import wording
from tacit.text.stemming import statement_stem

_ENDINGS = wording("endings")
Failed = NotMeant | Literal["short", "not_typed", "wording"]

LEAST_WORDS = 3
"""Fewest words that a quotation must have."""
LEAST_FOR_SLIP = 5
"""A word of at least so many letters may differ in one edit."""
LEAST_SHARED = 2
"""Fewest words that a sentence must share with a memory to give it another value."""
MOST_OF_IT = 0.6
"""Least share of a memory's words that a sentence must hold to be a plain denial of it."""
_NEGATIONS = frozenset((
    "not", "no", "never", "none", "nobody", "nothing", "neither", "nor", "without", "dont", "doesnt", "didnt",
    "isnt", "arent", "wasnt", "cant", "cannot", "wont", "shouldnt", "mustnt", "couldnt", "wouldnt", "avoid",
    "stop", "nicht", "kein", "keine", "keinen", "keiner", "keinem", "nie", "niemals", "ohne", "nichts", "ne",
    "pas", "jamais", "sans", "aucun", "aucune", "rien", "plus", "nunca", "jamás", "sin", "não",
))  # fmt: skip
_IN_PLACE_OF = frozenset(("instead", "than", "statt", "anstatt", "lieu"))
_NUMBER = re.compile(r"\d+(?:\.\d+)*")
_CLAUSES = re.compile(r"[,;:\u2026]|\.{2,}")


@frozen
class Vouching:
    """The result of looking for the user's words: what of a note they vouch for.

    Attributes:
        statement: what is stored as the user's word; "" = nothing is.
        failed: the test that the note did not pass. `wording` = the user's own sentence is stored in the place of the agent's words.
        everywhere: the user said that it holds in all projects.
        sentences: the sentences of the user's that the quotation stands in, as typed.
    """

    statement: str = ""
    failed: Failed = ""
    everywhere: bool = False
    sentences: tuple[str, ...] = ()


def vouch(content: str, quoted: str, prompts: Sequence[str]) -> Vouching:
    """Find the quotation in what the user typed, and decide what of a note counts as the user's statement.

    Args:
        content: what the agent wants to store.
        quoted: the user's words for it.
        prompts: what the user typed in the session, whole, oldest first.
    """
    words = typed_words(quoted)
    if len(words) < LEAST_WORDS:
        return Vouching(failed="short")
    failed: Failed = "not_typed"
    for number in range(len(prompts) - 1, -1, -1):
        sentences = [_first_part(one, words) for one in spoken_sentences(prompts[number])]
        covered = _covered(words, [sentence.text for sentence in sentences])
        if not covered:
            if _covered(words, [prompts[number]]):
                failed = "pasted"
            continue
        failed = _first_failure(sentences, covered, quoted)
        at = covered[0]
        if at and points_back(sentences[at].text) and not _first_failure(sentences, (at - 1,), quoted):
            covered = (at - 1, *covered)
        # A single word is no statement: "thanks!" behind one is not stored with it.
        typed = tuple(
            sentences[at].text
            for at in covered
            if len(covered) == 1 or len(typed_words(sentences[at].text)) > 1
        )
        later, alone = prompts[number + 1 :], len(covered) == len(sentences)
        if not failed and any(
            taken_back_later(one, later, alone=alone) or asks_to_end(_own_sentences(later), one)
            for one in typed
        ):
            failed = "taken_back"
        if failed:
            continue
        return _stated(content, typed)
    return Vouching(failed=failed)


def _stated(content: str, typed: tuple[str, ...]) -> Vouching:
    marked = [read_marked(sentence) for sentence in typed]
    parts = [
        mark.text if mark is not None else lead_free(sentence) or sentence
        for mark, sentence in zip(marked, typed, strict=True)
    ]
    # A mark's text has no final full stop: without one two sentences would read as one.
    closed = [part if part.endswith((".", "!", "?", ":", ";", ",")) else f"{part}." for part in parts[:-1]]
    own = " ".join((*closed, *parts[-1:])).strip()
    everywhere = any(mark is not None and mark.everywhere for mark in marked)
    # A marked sentence was learned from the prompt itself: the same words meet it there.
    if not any(marked) and _says_as_much(content, own):
        return Vouching(statement=content, everywhere=everywhere, sentences=typed)
    if not own or len(own) > MAX_CHARS:
        return Vouching(failed="wording", sentences=typed)
    statement = own[:1].upper() + own[1:] if own[:2].isalpha() else own
    return Vouching(statement=statement, failed="wording", everywhere=everywhere, sentences=typed)


def fair_headline(headline: str, content: str, prompts: Sequence[str]) -> str:
    """Return an agent's headline if it claims no more than the statement; "" = make one from the statement's own words.

    It must share a word with the statement, name nothing that stands neither there nor in what the user typed, hold no other values, and
    deny as often: a headline is read alone.
    """
    if same_statement(headline, content) or not headline.strip():
        return ""
    own = (content, *prompts)
    fair = (
        _content(headline) & _content(content)
        and _values(headline) <= frozenset(value for text in own for value in _values(text))
        and _denials(headline) == _denials(content)
        and not names_untyped(headline, own)
        and not danger_of(headline)
    )
    return headline if fair else ""


def speaks_of(sentences: Sequence[str], memory: str) -> bool:
    """Whether one of the user's sentences holds at least half of the meaningful words of a memory."""
    about = _content(memory)
    return any(2 * len(about & _content(sentence)) >= max(1, len(about)) for sentence in sentences)


def asks_to_end(sentences: Sequence[str], memory: str) -> bool:
    """Whether one of the user's sentences asks to end a memory: it names it, and ends or denies it. What affirms it ends nothing."""
    about = _content(memory)
    for sentence in sentences:
        if not about & _content(sentence) or same_statement(sentence, memory):
            continue
        if _ENDINGS.asked_end.search(sentence):
            return True
        denies = _denials(sentence) % 2 != _denials(memory) % 2
        if denies and len(about & _content(sentence)) >= MOST_OF_IT * len(about):
            return True
    return False


def gives_new_value(sentences: Sequence[str], memory: str) -> bool:
    """Whether one of the user's sentences says explicitly that what a memory says changed, or asks for its end."""
    if asks_to_end(sentences, memory):
        return True
    about, values = _content(memory), _values(memory)
    for sentence in sentences:
        shared = about & _content(sentence)
        if not shared or same_statement(sentence, memory):
            continue
        changes = _ENDINGS.changes.search(sentence) or _ENDINGS.ends.search(sentence)
        new = _values(sentence) - values
        if changes and (
            len(shared) >= LEAST_SHARED
            or new
            or _ENDINGS.ends.search(sentence)
            or "instead" in sentence.lower()
        ):
            return True
        if len(shared) >= LEAST_SHARED and new and values:
            return True
    return False


def says_which(prompts: Sequence[str], *, holds: str, ends: str, on_record: bool) -> str:
    """Return the sentence that the user typed which says that `holds` is true rather than `ends`; "" = there is none.

    They mean it, and it says what only that one says, or asks for the end of the other one, or gives it a new value in so many words. A single
    plain word that only one of the two has proves nothing without a word that both have. Where what holds is an agent's new wording, not `on_record`,
    the sentence must have a word that both have: the agent may have taken its own words from it.
    """
    kept, over = _content(holds), _content(ends)
    values = {statement_stem(word) for word in _values(holds)}
    for number, prompt in enumerate(prompts):
        sentences = spoken_sentences(prompt)
        for at, sentence in enumerate(sentences):
            text = _ENDINGS.opens_with_no.sub("", sentence.text)
            why = why_not_meant(sentences, at, clause=text)
            later = prompts[number + 1 :]
            if why not in ("", "for_once") or taken_back_later(text, later, alone=len(sentences) == 1):
                continue
            new, old = _affirmed(text, kept - over), _affirmed(text, over - kept)
            changes = bool(_ENDINGS.changes.search(text) or _ENDINGS.ends.search(text))
            shared = _content(text) & kept & over
            apart = on_record and kept & over and (new & values or len(new) >= LEAST_SHARED)
            states = not why and new and (shared or apart) and (changes or not old)
            if states or asks_to_end((text,), ends):
                return sentence.text
    return ""


def repeats(note: str, *, holds: str, ends: Sequence[str]) -> bool:
    """Whether a note repeats something that the statement `holds` says and none of `ends` says.

    One such word in the note is enough. But if `holds` has numbers that none of `ends` has, the note must have all of these numbers.
    """
    others = frozenset(stem for text in ends for stem in _content(text))
    against = frozenset(number for text in ends for number in _NUMBER.findall(text))
    numbers = frozenset(_NUMBER.findall(holds)) - against
    if not numbers <= frozenset(_NUMBER.findall(note)):
        return False
    return bool(numbers or _affirmed(note, _content(holds) - others))


def _affirmed(text: str, stems: frozenset[str]) -> frozenset[str]:
    """Return those of the stems that stand in `text` without a denial right before them."""
    tokens = typed_words(text)
    return frozenset(
        stem
        for at, token in enumerate(tokens)
        if (stem := statement_stem(token)) in stems
        and not any(word in _NEGATIONS or word in _IN_PLACE_OF for word in tokens[max(0, at - 3) : at])
    )


def _first_failure(sentences: Sequence[Sentence], covered: Sequence[int], quoted: str) -> Failed:
    """Return the first test that one of the covered sentences fails, "pasted" or a reason of `why_not_meant`; "" = none does."""
    words = typed_words(quoted)
    stretches = [stretch for at in covered for stretch in hide_quotes(sentences[at].text)[1]]
    if any(_covered(words, [stretch]) for stretch in stretches):
        return "pasted"
    for at in covered:
        why = why_not_meant(sentences, at, clause=_clause_of(quoted, sentences[at].text))
        if why:
            return why
    return ""


def _own_sentences(prompts: Sequence[str]) -> list[str]:
    return [sentence.text for prompt in prompts for sentence in spoken_sentences(prompt) if sentence.own]


def _first_part(sentence: Sentence, words: Sequence[str]) -> Sentence:
    """Return a sentence without the order for now that follows the quoted words: "we deploy with x, and now fix the page"."""
    head = _ENDINGS.and_now.split(sentence.text, maxsplit=1)[0]
    return replace(sentence, text=head) if head != sentence.text and _covered(words, [head]) else sentence


def _clause_of(quoted: str, text: str) -> str:
    """Return the clause of a sentence in which the quotation begins: "can you bump it, and we pin versions" asks in the first one only."""
    first = typed_words(quoted)[:LEAST_WORDS]
    return next((clause for clause in _CLAUSES.split(text) if _covered(first, [clause])), text)


def _says_as_much(content: str, own: str) -> bool:
    """Whether the agent's wording has the same meaningful words, in the same order, and as many denials as the user's."""
    if _denials(content) != _denials(own):
        return False
    mine, theirs = (
        [w for w in typed_words(content) if means_something(w)],
        [w for w in typed_words(own) if means_something(w)],
    )
    return len(mine) >= LEAST_SHARED and len(mine) == len(theirs) and all(map(_alike, mine, theirs))


def _covered(words: Sequence[str], sentences: Sequence[str]) -> tuple[int, ...]:
    """Return the indexes of the sentences in which the words stand one after another; () = they do not stand there."""
    spoken = [(token, number) for number, sentence in enumerate(sentences) for token in typed_words(sentence)]
    for first in range(len(spoken) - len(words) + 1):
        if all(_alike(spoken[first + at][0], word) for at, word in enumerate(words)):
            numbers = (spoken[first + at][1] for at in range(len(words)))
            return tuple(dict.fromkeys(numbers))
    return ()


def _alike(left: str, right: str) -> bool:
    """Whether two words are the same, or long ones that differ by one slip; denials must be the same."""
    if left == right:
        return True
    if max(len(left), len(right)) < LEAST_FOR_SLIP or not (left.isalpha() and right.isalpha()):
        return False
    return not ({left, right} & _NEGATIONS) and _one_edit(left, right)


def _one_edit(left: str, right: str) -> bool:
    """Whether one letter more, less, or other, or two letters exchanged, turn one word into the other."""
    if abs(len(left) - len(right)) > 1:
        return False
    at = next(
        (at for at, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), min(len(left), len(right))
    )
    if len(left) == len(right):
        swapped = left[at : at + 2] == right[at : at + 2][::-1] and left[at + 2 :] == right[at + 2 :]
        return swapped or left[at + 1 :] == right[at + 1 :]
    longer, shorter = (left, right) if len(left) > len(right) else (right, left)
    return longer[at + 1 :] == shorter[at:]


def _content(text: str) -> frozenset[str]:
    """Return the stems of the meaningful words of `text`, without denials."""
    return frozenset(
        statement_stem(word)
        for word in typed_words(text)
        if means_something(word) and word not in _NEGATIONS and len(word) > 1
    )


def _values(text: str) -> frozenset[str]:
    """Return the words of `text` that hold a number or look like code."""
    return frozenset(word for word in typed_words(text) if not word.isalpha() and any(map(str.isalnum, word)))


def _denials(text: str) -> int:
    return sum(word in _NEGATIONS for word in typed_words(_ENDINGS.do_not_forget.sub(" ", text)))


@frozen
class Noted:
    """The decision on an agent's note: what is stored, with which tier.

    Attributes:
        content: what is stored: the agent's wording, or the user's own sentence.
        tier: `USER` = the user's word through the agent; `ASSISTANT` = the agent's own note, which is marked; `IMPORT` = it waits, and is found on demand only.
        reason: which test decided, for the answer.
        everywhere: the user said that it holds in all projects.
        ends: ids of the memories that the user's words end.
    """

    content: str
    tier: TrustTier
    reason: ChangeReason
    everywhere: bool = False
    ends: tuple[str, ...] = ()

    @property
    def waits_for_names(self) -> bool:
        """Whether the only reason to wait is a name, path or command that the user did not type."""
        own = self.reason.cause is ChangeCause.OWN_NOTE
        return own and self.tier is TrustTier.IMPORT and not danger_of(self.content)


def note_of(
    content: str,
    quoted: str,
    prompts: Sequence[str],
    *,
    replaced: Sequence[Memory] = (),
    known: Sequence[str] = (),
    own_notes: bool = True,
) -> Noted:
    """Decide what an agent's note is stored as, and with which tier: see the table of trust in `safety.trust`.

    Args:
        content: what the agent wants to store.
        quoted: the user's words for it; "" = none.
        prompts: what the user typed in the agent's session, oldest first; () = nobody knows the session.
        replaced: memories that the note is said to replace. Where the user typed which holds, and the agent quotes nothing, their sentence counts as quoted.
        known: statements on record that the note is about: it may name what they name.
        own_notes: whether a note without the user's words may be active, as the agent's own.
    """
    said = {
        old.id: says_which(prompts, holds=content, ends=old.content, on_record=content in known)
        for old in replaced
    }
    typed = quoted if quoted.strip() else next((sentence for sentence in said.values() if sentence), "")
    found = vouch(content, typed, prompts) if typed.strip() else Vouching()
    reason = ChangeReason(cause=ChangeCause.QUOTED, terms=(found.failed,) if found.failed else ())
    # The quotation does not support the note, so the agent misread the user: the note waits and ranks before nothing.
    if quoted.strip() and not found.statement and content not in known:
        return Noted(content=content, tier=TrustTier.IMPORT, reason=reason)
    ends = tuple(old.id for old in replaced if said[old.id] or gives_new_value(found.sentences, old.content))
    # What is on record already keeps its words: the user's sentence ends what does not hold.
    if found.statement and (content not in known or found.statement == content):
        return Noted(
            content=found.statement,
            tier=TrustTier.USER,
            reason=reason,
            everywhere=found.everywhere,
            ends=ends,
        )
    named = names_untyped(content, (*prompts, *known))
    if named or danger_of(content) or not own_notes:
        why = ChangeReason(cause=ChangeCause.OWN_NOTE, terms=named)
        return Noted(content=content, tier=TrustTier.IMPORT, reason=why)
    own = ChangeReason(cause=ChangeCause.OWN_NOTE)
    return Noted(content=content, tier=TrustTier.ASSISTANT, reason=own, ends=ends)
