"""Whether a statement says in so many words that it ends or replaces another one. In: a later and an earlier statement. Out: how, or None.

Certain or nothing: subject and relation are word for word those of the earlier statement, articles and links aside. What is only like it,
what is asked, proposed, limited or reported, and what tells of the past ends nothing. The forms of each language are data (`forms.toml`).
A language without forms has no replacements. Pure.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any, Literal

from tacit.frozen import frozen
from tacit.text.natural_language import natural_language_of
from tacit.text.stemming import wording_stem

Replacement = Literal["denies", "replaces", "gives_other_value"]

MOST_VALUE_WORDS = 4
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=\S)")
_PARENTHESIS = re.compile(r"\s\([^()]*\)")
_CLAUSE = re.compile(r"[,;:]\s+|(?<!\s)\s+[-\u2013\u2014]{1,2}\s+")
_CONTRACTIONS = tuple((re.compile(written, re.IGNORECASE), meant) for written, meant in (
    (r"\b(do|does|did|is|are|was|were|has|have|had|ca|wo|should|would|could)nt\b", r"\1n't"),
    (r"\bits (?=(?:not?|now|on|in|at|all|just|been|gone|fine|ok|okay|allowed|back|called)\b)", "it's "),
    (r"\bnow (?=not\b(?! only))", "now, "), (r" (?=(?:and not|und nicht|et non|y no|e non|en niet|e não)\b(?! only| nur))", ", "),
    (r"(?<=\d)\s*\b([ap])\.?m\b\.?", r" \1.m"), ("can't|cannot", "can not"), ("won't", "will not"), ("n't", " not"), ("'re ", " be "), ("'ve ", " have "), ("let's", "lets"), (r"\b([cdjlmnst])'", r"\1e ")))  # fmt: skip
_NUMBER = re.compile(
    r"^[~<>=\u2264\u2265v#:]*[-+\u2212\u2013]?[$\u20ac\u00a3\u00a5]?[-+\u2212]?\d[\d.,:_/]*(?:%|[^\W\d_]{1,4})?[$\u20ac\u00a3\u00a5]?$"
)
_CODE = re.compile(r"[/_@`:=\\.*#+-]|\d|[a-z][A-Z]|[A-Z]{2}")
_PASSIVE = frozenset({"was", "were", "been", "got", "get"})
_COMMA = ","
_LOOSE = re.compile(r"[^\W\d_][^\W_]*(?:-[^\W_]+)*")
"""A word or name; in a statement typed without capitals even names are compared without case."""
_FACES = re.compile(
    r"(?<!\s)(?:\s*(?:[\u2600-\u27bf\ufe0f\u200d\U0001f000-\U0001faff]|[:;]-?[)(DP]|\bxd\b|\blol\b)){1,20}(?=$|,)",
    re.IGNORECASE,
)
_ADJECTIVES = ("ed", "ing", "able", "ible", "ful", "less", "ous", "ive")
_COLOR = re.compile(r"#[\da-fA-F]{3,8}$")
_KEBAB = re.compile(r"[a-z]+(?:-[a-z]+)+")
_FILE = re.compile(r"[/.#:_ ]|-\w*\d|^-")
_TRIMMED = "\"'`“”„«»‘’*()[]"


_Stems = frozenset[str]
_Phrases = tuple[tuple[str, ...], ...]
_Groups = tuple[frozenset[str], ...]
_Pattern = re.Pattern[str]


@frozen
class _Forms:
    """The forms of one language, from `forms.toml`; the type of a field says how its text is parsed (`_READ`)."""

    articles: _Stems
    leads: _Stems
    links: _Stems
    neutral: _Stems
    negations: _Stems
    ends: _Phrases
    rest: _Phrases
    stops: _Stems
    now: _Phrases
    copulas: _Stems
    instead: _Phrases
    but_not: _Phrases
    moves: _Stems
    back: _Phrases
    origin: _Stems
    to: _Phrases
    replaces: _Stems
    by: _Stems
    drops: _Phrases
    gone: _Phrases
    forget: _Phrases
    about: _Stems
    things: _Stems
    limits: _Stems
    reasons: _Pattern
    hedges: _Pattern
    asides: _Pattern
    past: _Pattern
    adds: _Stems
    questions: _Stems
    some: _Stems
    sole: _Stems
    hails: _Pattern
    openings: _Pattern
    units: _Groups
    exclusive: _Stems
    worded: _Stems
    wanted: _Stems
    opposites: _Groups
    renames: _Stems
    called: _Stems
    kinds: _Groups
    permits: _Phrases
    states: _Stems
    names: _Stems
    counted: _Stems
    numbers: _Stems


def _stems(text: str) -> tuple[str, ...]:
    return tuple(map(wording_stem, text.split()))


_READ: dict[str, Callable[[Any], Any]] = {
    "_Stems": lambda text: frozenset(_stems(text or "")),
    "_Phrases": lambda entries: tuple(sorted(map(_stems, entries or ()), key=len, reverse=True)),
    "_Groups": lambda entries: tuple(map(frozenset, map(_stems, entries or ()))),
    "_Pattern": lambda text: re.compile((text or "(?!)").replace("\n", ""), re.IGNORECASE),
}


@cache
def _forms(language: str) -> _Forms | None:
    table = _tables().get(language)
    if table is None:
        return None
    return _Forms(**{field.name: _READ[str(field.type)](table.get(field.name)) for field in fields(_Forms)})


@cache
def _tables() -> dict[str, dict[str, Any]]:
    tables = tomllib.loads(files("tacit.statements").joinpath("forms.toml").read_text("utf-8"))
    common = tables.pop("all")
    return {language: {**table, **common} for language, table in tables.items()}


@frozen
class _Word:
    """A word as it is compared (`key`: its stem, or the word itself for code and names) and as it is written (`raw`)."""

    key: str
    raw: str


_Words = tuple[_Word, ...]


@frozen
class _Parsed:
    """The clauses of one statement as words, and what limits its claim: whether it asks, hedges, tells of the past or of some of many.

    Attributes:
        clauses: the words of each clause, without articles and without reasons.
        asks: whether it is a question.
        hedges: words in it that limit it, propose, report or foresee.
        past: whether it tells of the past.
        some: whether it speaks of some of many.
        definite: whether it is about the one thing that its first words name: "the gateway ...".
        keys: all words.
        ends: whether it has a form that may end or change something.
    """

    clauses: tuple[_Words, ...]
    asks: bool
    hedges: frozenset[str]
    past: bool
    some: bool
    definite: bool
    keys: frozenset[str]
    ends: bool


def replaces(new: str, old: str, *, correction: bool = False) -> Replacement | None:
    """Return how the statement `new` ends the statement `old`; None = it does not, or that is not certain.

    Args:
        new: the later statement.
        old: the earlier one.
        correction: whether `new` was said to correct something: another value is a change then, also without a word for it.
    """
    language = _language_of(f"{old} {new}")
    forms = _forms(language)
    if forms is None:
        return None
    new = new if _FACES.search(old) else _FACES.sub("", new)
    loose = "`" not in new and not any(
        word.isalpha() and not word.islower() and not word.isupper() for word in new.split()
    )
    mine, theirs = _read(new, language, loose=loose), _read(old, language, loose=loose)
    correction = correction or _opens_as_correction(new)
    if mine.keys.isdisjoint(theirs.keys):
        return None
    if not (mine.ends or correction or theirs.ends or any(mine.keys & pair for pair in forms.opposites)):
        return None
    if mine.asks or theirs.asks or mine.past or theirs.past or mine.some or theirs.some:
        return None
    if mine.hedges - theirs.hedges or not theirs.clauses:
        return None
    return _Comparison(forms, mine, theirs, correction=correction).outcome()


def search_words_for_ended(text: str) -> str:
    """Return the words to search for statements that `text` may end: the name of what it tells to forget, else all of `text`; "" = it ends none."""
    language = _language_of(text)
    forms = _forms(language)
    if forms is None:
        return ""
    reading = _read(text, language)
    topics = (_forgotten(forms, clause) for clause in reading.clauses)
    topic = next(filter(None, topics), ())
    return " ".join(word.raw for word in topic) or (text if reading.ends else "")


# --- reading


@lru_cache(maxsize=4096)
def _language_of(text: str) -> str:
    """Return the language of `text`, corrected by the function words of the languages that have forms."""
    guess = natural_language_of(text)
    if guess not in _tables():
        return guess
    words = set(re.findall(r"[^\W\d_]+", text.lower()))
    shares = {code: len(words & own) for code, own in _own_words().items()}
    best = max(shares, key=lambda code: shares[code])
    return best if shares[best] > shares[guess] + 1 else guess


@cache
def _own_words() -> dict[str, frozenset[str]]:
    """Return by language the words that distinguish it from the others."""
    plain = ("articles", "leads", "links", "copulas", "called", "own")
    listed = ("negations", "now", "ends", "rest")
    return {
        code: frozenset(
            word
            for entry in (
                *(table.get(name, "") for name in plain),
                *(e for name in listed for e in table.get(name, ())),
            )
            for word in entry.split()
        )
        for code, table in _tables().items()
    }


@lru_cache(maxsize=4096)
def _read(text: str, language: str, *, loose: bool = False) -> _Parsed:
    forms = _forms(language)
    assert forms is not None
    flat = " ".join(unicodedata.normalize("NFC", text).replace("’", "'").split())
    for opening in (forms.hails, forms.openings):
        flat = opening.sub("", flat) or flat
    for written, meant in _CONTRACTIONS:
        flat = written.sub(meant, flat)
    sentences = [forms.reasons.sub("", _PARENTHESIS.sub("", sentence)) for sentence in _SENTENCE.split(flat)]
    clauses: list[_Words] = []
    told = ""
    for sentence in sentences:
        joined, fronted = False, ()
        for number, written in enumerate(_CLAUSE.split(sentence)):
            text_part = written
            denied = next(
                (form for form in forms.but_not if clauses and number and _starts(text_part, form)), None
            )
            if denied is not None:  # "X, not Y" is "X instead of Y"
                text_part = " ".join((*forms.instead[0], *text_part.split()[len(denied) :]))
            part = _words(text_part, forms, loose=loose)
            in_place = any(_starts(text_part, form) for form in forms.instead)
            # "X, not Y, in Z" is one clause.
            joined = bool(number and clauses and part) and (
                in_place or (joined and part[0].key in forms.limits)
            )
            aside = clauses and not joined and not _may_end(part, forms)
            told += f" {forms.asides.sub('', text_part) if aside else text_part},"
            if joined:
                clauses[-1] = (*clauses[-1], _Word(key=_COMMA, raw=","), *part)
            elif part:
                clauses.append((*part, *fronted))
            # "Instead of X, use Y"
            fronted = (_Word(key=_COMMA, raw=","), *part) if in_place and not joined else ()
            if fronted and clauses:
                clauses.pop()
    asked = "?" in flat or (
        _first_word(flat) in forms.questions and not (clauses and _is_denied(clauses[0], forms))
    )
    limited = [
        part[0].key
        for number, part in enumerate(clauses)
        if len(clauses) > 1
        and part[0].key in forms.limits
        and not _is_time(part, forms)
        and (number or not _may_end(part, forms))
    ]
    return _Parsed(
        clauses=tuple(part for part in clauses if part),
        asks=asked,
        hedges=frozenset((*(match[0].lower() for match in forms.hedges.finditer(told)), *limited)),
        past=forms.past.search(told) is not None,
        some=_first_word(told) in forms.some,
        definite=_first_word(flat) in forms.articles - forms.some,
        keys=frozenset(word.key for part in clauses for word in part),
        ends=any(_may_end(part, forms) for part in clauses),
    )


def _may_end(clause: _Words, forms: _Forms) -> bool:
    keys = _keys(clause)
    if not (forms.moves | forms.replaces | forms.stops | forms.negations).isdisjoint(keys):
        return True
    phrases = (
        *forms.ends,
        *forms.rest,
        *forms.instead,
        *forms.drops,
        *forms.gone,
        *forms.now,
        *forms.back,
        *forms.forget,
    )
    return any(_find(keys, form) is not None for form in phrases)


def _starts(text: str, form: tuple[str, ...]) -> bool:
    return tuple(wording_stem(word.lower()) for word in text.split()[: len(form)]) == form


def _first_word(text: str) -> str:
    return wording_stem(text.split(maxsplit=1)[0].lower()) if text.split() else ""


def _is_denied(clause: _Words, forms: _Forms) -> bool:
    return len(clause) > 1 and clause[1].key in forms.negations


def _is_time(clause: _Words, forms: _Forms) -> bool:
    return any(_begins(clause, form) and len(form) == len(clause) for form in forms.now)


def _words(text: str, forms: _Forms, *, loose: bool) -> _Words:
    words: list[_Word] = []
    for token in re.findall(r"`[^`]+`\S*|\S+", text):
        raw = token.strip(_TRIMMED).rstrip(".,;:!?").strip(_TRIMMED)
        raw = raw.removesuffix("'s") if raw.lower() not in _BE_CONTRACTED else raw
        if not any(letter.isalnum() for letter in raw):
            raw = token.rstrip(".,;:!?") or token
        if raw.lower() not in forms.articles or (words and raw.isupper()):
            acronym = raw.isalpha() and raw.isupper() and len(raw) > 2
            plain = "`" not in token and (
                acronym or not _is_code(raw) or (loose and bool(_LOOSE.fullmatch(raw)))
            )
            words.append(_Word(key=wording_stem(raw.lower()) if plain else raw, raw=raw))
    while words and words[0].key in forms.leads and len(words) > 1:
        words = words[1:]
    while len(words) > 1 and words[-1].raw.lower() in ("please", "pls", "thanks"):
        words = words[:-1]
    return tuple(words)


def _is_code(word: str) -> bool:
    return _CODE.search(word) is not None


_BE_CONTRACTED = frozenset({"it's", "that's", "he's", "she's", "there's", "here's", "what's", "who's"})


def _keys(words: Sequence[_Word]) -> tuple[str, ...]:
    return tuple(word.key for word in words)


def _begins(words: _Words, form: tuple[str, ...]) -> bool:
    return _keys(words[: len(form)]) == form


def _find(keys: Sequence[str], form: tuple[str, ...]) -> int | None:
    """Return the index at which the run `form` begins in `keys`, or None."""
    size = len(form)
    if form and form[0] not in keys:
        return None  # most of the time
    return next((at for at in range(len(keys) - size + 1) if tuple(keys[at : at + size]) == form), None)


def _opens_as_correction(text: str) -> bool:
    return (
        re.match(r"\W*(?:no\b[,:.!-]|(?:nope|wrong|correction|actually)\b[ ,:.!-])", text, re.IGNORECASE)
        is not None
    )


def _forgotten(forms: _Forms, clause: _Words) -> _Words:
    """Return the words for what a clause ("forget about X") tells to forget; () = nothing."""
    for form in forms.forget:
        if _begins(clause, form):
            topic = clause[len(form) :]
            named = topic[:-1] if topic and topic[-1].key in forms.things else ()
            return named or (topic if form[-1] in forms.about else ())
    return ()


# --- comparing


@dataclass(frozen=True, slots=True)
class _Comparison:
    """A comparison of a new statement with an earlier one; `correction` = the new one was said to correct something."""

    forms: _Forms
    new: _Parsed
    earlier: _Parsed
    correction: bool

    @property
    def old_clause(self) -> _Words:
        """Return the words of the earlier statement as it stands, without the value that it replaced itself ("instead of X", "moved from X"). It must have exactly one clause."""
        (words,) = self.earlier.clauses
        words = self._without_now(words)
        for form in self.forms.instead:
            if at := _find(_keys(words), form):
                before = words[: at - 1] if words[at - 1].key == _COMMA else words[:at]
                words = (*before, *self._thing(words[at + len(form) :])[1])
        verb = next((at for at, word in enumerate(words) if word.key in self.forms.moves), None)
        for gone, rest, come in self._moved_from(words, verb) if verb is not None else ():
            words = (*rest, *come) if gone else words
        return words

    def outcome(self) -> Replacement | None:
        """Return how the new statement ends the earlier one; None = it does not."""
        if any(self._is_forgotten(clause) for clause in self.new.clauses):
            return "denies"
        if len(self.earlier.clauses) != 1:
            return None  # it says more than one thing
        return next((found for clause in self.new.clauses if (found := self._of_clause(clause))), None)

    def _of_clause(self, clause: _Words) -> Replacement | None:
        if self._denies(clause):
            return "denies"
        for gone, rest, come in self._swaps(self._without_now(clause)):
            if self._names(gone, rest, come):
                return "replaces"
        for subject, value, moved in self._moved(clause):
            renamed = not self.forms.renames.isdisjoint(_keys(clause))
            if self._had_other_value(subject, value, moved=moved, renamed=renamed):
                return "gives_other_value"
        plain = self._without_now(clause)
        if len(plain) == len(self.old_clause) > 2 and self._opposite(plain):
            return "denies"
        return "gives_other_value" if self._aligned(clause) else None

    def _opposite(self, clause: _Words) -> bool:
        """Whether both clauses are the same but for a last word and its opposite ("is on", "is off")."""
        mine, theirs = _keys(clause), _keys(self.old_clause)
        last = {mine[-1], theirs[-1]}
        return (
            mine[:-1] == theirs[:-1]
            and mine[-2] in self.forms.copulas
            and len(last) == 2
            and any(last <= pair for pair in self.forms.opposites)
        )

    # --- it is so no more

    def _denies(self, clause: _Words) -> bool:
        """Whether the clause and the old statement have the same words, and exactly one of them is denied."""
        mine, denied = self._core_and_denials(clause)
        theirs, denied_before = self._core_and_denials(self.old_clause)
        if denied == denied_before or denied + denied_before > 1:
            return False
        return len(mine) > 1 and not set(self._same_in_other_order(mine)).isdisjoint(
            self._same_in_other_order(theirs)
        )

    def _same_in_other_order(self, words: _Words) -> Iterator[tuple[str, ...]]:
        """Yield the keys of the words as they stand, with a fronted part put back, and in the active voice.

        Each is without a leading "use".
        """
        for turned in (words, *self._fronted(words), *self._active(words)):
            yield _keys(turned[bool(turned) and turned[0].key == "use" :])

    def _fronted(self, words: _Words) -> Iterator[_Words]:
        """Yield the orders that the words may have had before a part was moved to the front, one for each possible end of that part; at most one is right.

        "for tests we use X" gives "use X for tests" among others.
        """
        forms = self.forms
        if words and words[0].key in forms.limits | forms.links:
            for at in range(2, min(len(words) - 1, MOST_VALUE_WORDS + 2)):
                yield (
                    *(
                        word
                        for place, word in enumerate(words[at:])
                        if place > 1 or word.key not in forms.leads
                    ),
                    *words[:at],
                )
        for at in range(2, len(words)):
            if words[at].key in forms.leads:
                yield (words[at - 1], *words[: at - 1], *words[at + 1 :])

    def _active(self, words: _Words) -> Iterator[_Words]:
        """Yield a passive clause in the active voice; nothing if it is not passive.

        "tickets are tracked" gives "track tickets", and "Docker is needed for tests" also "tests need Docker".
        """
        at = next((at for at, word in enumerate(words) if at and word.key in self.forms.copulas), None)
        if at is None or not words[at + 1 :] or not words[at + 1].raw.endswith("ed"):
            return
        subject, verb, rest = words[:at], words[at + 1].raw.lower(), words[at + 2 :]
        active = _Word(key=wording_stem(verb.removesuffix("d")), raw=verb)
        yield (active, *subject, *rest)
        if rest and rest[0].key in (*self.forms.by, "for"):
            yield (*rest[1:], active, *subject)

    def _core_and_denials(self, words: _Words) -> tuple[_Words, int]:
        """Return the words that count when two statements are compared, and how often they are denied; 0 = they are not.

        Left out are negations, words of ending and of now, of permission and duty (`can`, `must`), and leading words.
        """
        forms, count = self.forms, 0
        keys = list(_keys(words))
        kept = list(words)

        def cut(form: tuple[str, ...]) -> bool:
            at = _find(keys, form)
            if at is None:
                return False
            del keys[at : at + len(form)], kept[at : at + len(form)]
            return True

        at_once = sum(cut(form) and len(form) == 1 for form in forms.now) > 0
        ended = sum(cut(form) for form in forms.ends) > 0
        for word in forms.negations:
            while cut((word,)):
                count += 1
        count = max(count, int(ended))
        if count:
            ended |= sum(cut(form) for form in forms.rest) > 0
        if at_once and count and not ended and words[0].key in ("do", *forms.negations):
            count += 1  # "don't run it now" is said of now
        for form in forms.permits:
            cut(form)
        if kept and kept[0].key in forms.stops and len(kept) > 1 and words[-1].key not in forms.stops:
            kept, count = kept[1:], count + 1
        kept = [word for word in kept if word.key not in ("do", "ever", "alway")]
        while len(kept) > 1 and kept[0].key in forms.leads:
            kept = kept[1:]
        return tuple(kept), count

    def _is_forgotten(self, clause: _Words) -> bool:
        """Whether the clause ends the old statement, because it tells to forget what that is about.

        If what the clause names is denied there, the old statement must deny it, too.

        If the new statement also goes back to a value, an old one with that value, or with a value of another sort, stays.
        """
        named, denied = self._core_and_denials(_forgotten(self.forms, clause))
        topic = set(_keys(self._content(named)))
        about = next((part for part in self.earlier.clauses if topic and topic <= set(_keys(part))), None)
        if about is None or (denied and not self._core_and_denials(about)[1]):
            return False
        kept = next((value for other in self.new.clauses for value in self._returned(other)), None)
        if kept is None:
            return True
        had_number = any(self._is_number((word,)) for word in about)
        return had_number == self._is_number(kept) and _find(_keys(about), _keys(kept)) is None

    def _returned(self, clause: _Words) -> Iterator[_Words]:
        for form in self.forms.back:
            at = _find(_keys(clause), form)
            if at is not None and (value := self._thing(clause[at + len(form) :])[0]):
                yield value

    # --- one thing in place of another

    def _swaps(self, clause: _Words) -> Iterator[tuple[_Words, _Words, _Words | None]]:
        """Yield (what goes, the rest of the clause, what comes): () = nothing comes, None = it is in the rest."""
        forms, keys = self.forms, _keys(clause)
        for form in forms.instead:
            if at := _find(keys, form):
                gone, behind = self._thing(self._without_rest(clause[at + len(form) :]))
                yield gone, tuple(word for word in (*clause[:at], *behind) if word.key != _COMMA), None
        for at, word in enumerate(clause):
            if word.key in forms.replaces:
                yield self._replaced(clause[:at], clause[at + 1 :])
            elif word.key in forms.moves:
                yield from self._moved_from(clause, at)
        for form in forms.drops:
            if _find(keys, form) == 0:
                gone, rest = self._thing(clause[len(form) :])
                yield gone, rest, ()
        for form in forms.gone:
            if at := _find(keys, form):
                yield clause[:at], clause[at + len(form) :], ()

    def _replaced(self, before: _Words, behind: _Words) -> tuple[_Words, _Words, _Words | None]:
        """Return (what goes, the rest, what comes; None = it is in the rest) for "X was replaced by Y", "we replaced X with Y" and "Y replaces X".

        `before`, `behind`: the words before and behind the verb.
        """
        by = next((place for place, word in enumerate(behind) if word.key in self.forms.by), None)
        if before and before[-1].key in self.forms.copulas | _PASSIVE:
            return self._content(before), behind[1:] if by == 0 else behind, None
        if by:
            come, rest = self._thing(behind[by + 1 :])
            return behind[:by], (*before, *rest), come
        gone, rest = self._thing(behind)
        return gone, rest, before

    def _moved_from(self, clause: _Words, verb: int) -> Iterator[tuple[_Words, _Words, _Words]]:
        """Yield (X, the rest of the clause, Y) for "we moved the app from X to Y"; nothing if no "from" with a "to" follows the verb. `verb` = its index."""
        origin = next(
            (at for at in range(verb + 1, len(clause)) if clause[at].key in self.forms.origin), None
        )
        target = self._target(clause, origin + 1) if origin is not None else None
        if origin is not None and target is not None:
            come, rest = self._thing(clause[target[1] :])
            gone = clause[origin + 1 : target[0]]
            if len(gone) == 1 < len(come) and self._is_number(gone) and not _unit(gone):
                gone = (*gone, *come[1:])  # "from 30 to 45 minutes"
            yield gone, (*clause[:verb], *clause[verb + 1 : origin], *rest), come

    def _without_now(self, words: _Words) -> _Words:
        return self._without(words, self.forms.now)

    def _without_rest(self, words: _Words) -> _Words:
        return self._without(words, self.forms.rest)

    @staticmethod
    def _without(words: _Words, phrases: Iterable[tuple[str, ...]]) -> _Words:
        for form in phrases:
            at = _find(_keys(words), form)
            if at is not None:
                words = (*words[:at], *words[at + len(form) :])
        return words

    def _target(self, clause: _Words, start: int) -> tuple[int, int] | None:
        """Return the index of the first "to" from `start` on, and of what follows it; None = there is none."""
        keys = _keys(clause)
        for at in range(start, len(keys)):
            for form in self.forms.to:
                if keys[at : at + len(form)] == form and at + len(form) < len(keys):
                    return at, at + len(form)
        return None

    def _thing(self, words: _Words) -> tuple[_Words, _Words]:
        """Split `words` into the thing that they begin with, up to the next link word, and the rest."""
        stops = (self.forms.links | self.forms.limits | self.forms.origin | {_COMMA}) - {"a", "an"}
        end = next((at for at, word in enumerate(words) if at and word.key in stops), len(words))
        thing, rest = words[:end], words[end:]
        for form in self.forms.now:
            at = _find(_keys(thing), form)
            if at is not None:
                thing, rest = thing[:at], (*thing[at + len(form) :], *rest)
        return thing, rest

    def _content(self, words: Sequence[_Word]) -> _Words:
        """Return the words that carry content: without links, copulas and other general verbs."""
        forms = self.forms
        left_out = forms.links | forms.neutral | forms.leads | forms.copulas | forms.moves | _PASSIVE | {"to"}
        return tuple(word for word in words if word.key not in left_out)

    def _names(self, gone: _Words, rest: _Words, come: _Words | None) -> bool:
        """Whether the old statement names what goes, and says nothing else that the rest of the new one does not say.

        `come` None: the rest must hold what comes, as one run of new words. Else the rest may hold nothing new.
        """
        forms = self.forms
        gone = tuple(word for word in gone if word.key not in forms.links)
        theirs = tuple(word for word in self.old_clause if word.key not in forms.links)
        at = _find(_keys(theirs), _keys(gone)) if gone else None
        if (
            at is None
            or forms.copulas.issuperset(_keys(gone))
            or not forms.negations.isdisjoint(_keys(self.old_clause))
        ):
            return False
        label = at - 1 if at > 1 and self._is_number(gone) and theirs[at - 1].key not in _keys(rest) else at
        remainder = list(_keys(self._content((*theirs[:label], *theirs[at + len(gone) :]))))
        if come == ():  # it is dropped: what else the old one names may stand anywhere in the new one
            remainder = [
                key
                for key in remainder
                if (key not in forms.wanted and key not in self.new.keys) or key in _keys(rest)
            ]
        new_places: list[int] = []
        for place, word in enumerate(rest):
            if word.key in remainder:
                remainder.remove(word.key)
            elif self._content((word,)):
                new_places.append(place)
        if remainder:
            return False
        if come is not None:
            return not new_places
        in_one_run = not new_places or new_places[-1] - new_places[0] == len(new_places) - 1
        return 0 < len(new_places) <= MOST_VALUE_WORDS and in_one_run

    # --- another value

    def _moved(self, clause: _Words) -> Iterator[tuple[_Words, _Words, bool]]:
        """Yield (subject, new value, whether a verb says that it changed) for each reading of "X is now Y" or "X moved to Y"."""
        forms, keys = self.forms, _keys(clause)
        for at, word in enumerate(clause):
            if word.key in forms.moves:
                target = self._target(clause, at + 1)
                if target is not None and not forms.origin.intersection(keys[at : target[0]]):
                    value, rest = self._thing(clause[target[1] :])
                    yield (*clause[:at], *clause[at + 1 : target[0]], *rest), value, True
                target = self._target(clause[:at], 1) if at == len(clause) - 1 else None
                if target is not None:  # "wurde auf 50 erhöht"
                    yield clause[: target[0]], clause[target[1] : at], True
        for form in forms.back:
            place = _find(keys, form)
            if place is not None:
                value, rest = self._thing(clause[place + len(form) :])
                yield (*clause[:place], *rest), value, True
        plain = self._without_now(clause)
        verb = next((at for at, word in enumerate(plain) if at and word.key in forms.copulas), None)
        if verb is not None and len(plain) < len(clause):
            behind = plain[verb + 1 :]
            links = ()
            while behind and behind[0].key in forms.links:
                links, behind = (*links, behind[0].key), behind[1:]
            value, rest = self._thing(behind)
            number = any(self._is_number((word,)) for word in value)
            if (
                not links or number or _find(_keys(self.old_clause), links) is not None
            ):  # not "is now on vacation"
                yield (*plain[:verb], *rest), value, False

    def _had_other_value(self, subject: _Words, value: _Words, *, moved: bool, renamed: bool = False) -> bool:
        """Whether the old statement gives the same subject a value that `value` can only replace.

        Less evidence is needed if a verb says that the value changed (`moved`). If the verb is one of
        renaming (`renamed`), the old statement may say nothing but what the subject is called.
        """
        forms = self.forms
        subject = self._content(subject)
        if (
            not value
            or not subject
            or not forms.negations.isdisjoint((*_keys(self.old_clause), *_keys(subject)))
        ):
            return False
        remaining = list(_keys(subject))
        places: list[int] = []
        for place, word in enumerate(self.old_clause):
            if word.key in remaining:
                remaining.remove(word.key)
            elif self._content((word,)):
                places.append(place)
        if not remaining and not places and renamed:
            return not forms.called.isdisjoint(_keys(self.old_clause))
        if remaining or not places or places[-1] - places[0] != len(places) - 1:
            return False
        before = self.old_clause[places[0] : places[-1] + 1]
        relation = forms.links | forms.neutral | forms.copulas | forms.exclusive | forms.moves | {"to"}
        if not places[0] or self.old_clause[places[0] - 1].key not in relation:
            return False
        return self._fits(
            value, before, self.old_clause[: places[0]], self.old_clause[places[-1] + 1 :], moved=moved
        )

    def _aligned(self, clause: _Words) -> bool:
        """Whether both clauses are the same but for one value, and the new one marks its value as new ("now", or a correction)."""
        forms = self.forms
        mine, marked = list(clause), -1
        for form in forms.now:
            at = _find(_keys(mine), form)
            if at is not None:
                del mine[at : at + len(form)]
                marked = at
                break
        if marked < 0 and not self.correction:
            return False
        while len(mine) > 1 and mine[0].key in forms.leads:
            mine, marked = mine[1:], marked - 1
        theirs = self.old_clause
        keys, others = _keys(mine), _keys(theirs)
        if forms.negations.intersection((*keys, *others)):
            return False
        start = 0
        while start < min(len(keys), len(others)) and keys[start] == others[start]:
            start += 1
        end = 0
        while end < min(len(keys), len(others)) - start and keys[-1 - end] == others[-1 - end]:
            end += 1
        while start and _NUMBER.match(mine[start - 1].raw):
            start -= 1  # the unit alone differs: "10 MB", "10 GB"
        value, before = tuple(mine[start : len(mine) - end]), tuple(theirs[start : len(theirs) - end])
        behind = tuple(mine[len(mine) - end :])
        if not value or not before or forms.adds.intersection((*keys, *others)):
            return False
        if start == 0:
            # "Bob is now the maintainer": of these there is one.
            sole = (
                any(word.key.lower() in forms.sole for word in behind[1:]) and behind[0].key in forms.copulas
            )
            words = [word for word in (*value, *before) if _is_word(word)]
            one = not words or (len(value) == len(before) == 1 and all(map(self._may_name, words)))
            return sole and marked >= len(value) and one
        if forms.copulas.intersection(_keys(behind)) or (marked > start and behind and marked < len(mine)):
            return False
        ahead = tuple(mine[:start])
        verbs = forms.copulas | forms.neutral | forms.exclusive
        if self._is_number(value):
            verbs |= forms.counted
        return (0 < marked <= start or not verbs.isdisjoint(_keys(ahead))) and self._fits(
            value, before, ahead, behind
        )

    def _fits(
        self, value: _Words, before: _Words, ahead: _Words, behind: _Words, *, moved: bool = False
    ) -> bool:
        """Whether the new `value` can only replace the value `before`: numbers of one unit, or one name for another.

        `ahead`, `behind`: the words around the value, the same in both statements. `moved` = a verb says that the value changed.
        """
        forms = self.forms
        label = 0
        while (
            label < min(len(value), len(before)) - 1
            and value[label].key == before[label].key
            and not self._is_number(value[label:])
        ):
            label += 1
        value, before = value[label:], before[label:]
        if _keys(value) == _keys(before) or max(len(value), len(before)) > MOST_VALUE_WORDS:
            return False
        if not moved and forms.adds.intersection(_keys((*ahead, *behind))):
            return False
        numbers = self._is_number(value), self._is_number(before)
        if all(numbers):
            return self._one_unit(value, before) and bool(self._content((*ahead, *behind)))
        if any(numbers) or any(word.key in ("and", "or") for word in (*value, *before)):
            return False
        return self._one_name(value, before, ahead, behind, moved=moved)

    def _one_name(self, value: _Words, before: _Words, ahead: _Words, behind: _Words, *, moved: bool) -> bool:
        """Whether a thing has only one such name or word at a time: a place, a day, a program, what it is called."""
        forms = self.forms
        links = [[key for key in _keys(words) if key in forms.links] for words in (value, before)]
        value, before = (
            tuple(word for word in words if word.key not in forms.links) for words in (value, before)
        )
        things, one = (*value, *before), len(value) == len(before) == 1
        if not forms.called.isdisjoint(_keys(ahead if moved else ahead[-1:])):
            return one and value[0].key not in forms.states and not value[0].raw.endswith("ly")
        is_so = moved or not forms.copulas.isdisjoint(_keys(ahead[-2:]))
        keys = {word.key for word in things}
        for kind in forms.kinds:
            if keys & kind:
                return keys <= kind and is_so
        if (
            len(
                {_KEBAB.fullmatch(word.raw) is None for word in things if word.raw.replace("-", "").isalpha()}
            )
            > 1
        ):
            return False  # "Django", "multi-tenant"
        words = [word for word in things if _is_word(word)]
        beside = {word.key.lower().rpartition("-")[2] for word in (*ahead, *behind)}
        if len(words) == 2 and one and not beside.isdisjoint(forms.worded):
            return not value[0].raw.endswith(("er", *_ADJECTIVES)) and value[0].key not in forms.states
        if links[0] != links[1] or (words and not (one and all(map(self._may_name, words)))):
            return False
        last = ahead[-1].key if ahead else ""
        alike = all(word.raw.isalpha() and not word.raw.isupper() for word in things) or all(
            _FILE.search(word.raw) for word in things
        )
        if one and alike and not behind and last in forms.copulas and self.earlier.definite:
            return True  # "the X is Y"
        if is_so and not beside.isdisjoint(forms.sole):
            return True
        relation = (forms.links | forms.neutral | forms.exclusive) - forms.copulas
        return last in relation and (
            moved or (len(words) < 2 and not forms.exclusive.isdisjoint(_keys(ahead)))
        )

    def _may_name(self, word: _Word) -> bool:
        """Whether a lower-case word is a known name of a program, a service or a format."""
        return word.key.lower() in self.forms.names

    def _is_number(self, words: _Words) -> bool:
        if not words or _COLOR.match(words[0].raw):
            return False
        return _NUMBER.match(words[0].raw) is not None or words[0].key in self.forms.numbers

    def _one_unit(self, value: _Words, before: _Words) -> bool:
        """Whether both numbers count the same: one unit, units of one dimension, or one of them has none."""
        if max(len(value), len(before)) > 2:
            return False
        mine, theirs = _unit(value), _unit(before)
        return (
            not mine
            or not theirs
            or mine == theirs
            or any({mine, theirs} <= units for units in self.forms.units)
        )


def _unit(number: _Words) -> str:
    """Return the unit of a number: the word behind it, or a suffix or currency sign on it; "" = none."""
    count, *behind = number
    if behind:
        return behind[0].key.lower()
    sign = re.search(r"[$\u20ac\u00a3\u00a5%]|(?<=\d)[^\W\d_]+$", count.raw)
    return wording_stem(sign[0].lower()) if sign else ""


def _is_word(word: _Word) -> bool:
    return word.raw.islower() and not _is_code(word.raw) and " " not in word.raw
