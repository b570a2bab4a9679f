"""Explicit statements in languages other than English. In: sentences. Out: the statements, with their kinds.

Each language has a table of regular expressions (`phrases/de.toml`), which ignore case:

    lead            words at the beginning of a sentence that have no meaning of their own ("ok", "please")
    remember        begins a request to remember something; `clause` is the conjunction after it ("that"). If `whole_clause` is set,
                    the sentence is then kept whole, because the clause alone has not the word order of a sentence
    remember_last   such a request at the end of a sentence
    from_now        "from now on"
    denial          begins a correction; `contrast` separates wrong from right in it ("not", "instead")
    decided         "we decided ..."
    prefer          "I prefer ...", "I do not like ..."
    never, always   make a rule if the main clause also contains `norm` and does not contain `past`. The main clause is the part before
                    `subordinate`; if `verb_final` is set, the part after it
    ours            what we use or do here
    instead         an order to use one thing and not another
    duty            what all things of a kind must do or must not do
    important       begins an important fact
    supposed, once, reported    suppositions, orders for one time, words of others: none of them is a statement
    reference       begins a sentence that refers to something outside of it
    hands_over      asks to do something with a text, such as to translate it

As for English, precision is more important than recall. Never reads other files, never calls a model.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

from tacit.text.natural_language import ENGLISH, NAMES, natural_language_of
from tacit.text.tokens import count_words

Found = tuple[str, str, float, str]
"""Content, kind, confidence (0-1), cue."""

LANGUAGES = tuple(sorted(NAMES.keys() - {ENGLISH}))
"""The languages that have a table: all that are recognized, except English."""
LEAST_WORDS, MOST_WORDS = 3, 60
"""Words of a statement."""
_ASIAN = re.compile("[\u1100-\u11ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_BREAK = r"[\s,.:;!\u2026\u3001\u3002\uff0c\uff1a\uff1b\uff01\u2013\u2014-]"
_MARK = r"\s*[,.:;!\u3001\u3002\uff0c\uff1a\uff01\u2013\u2014]\s*|\s+[-\u2013\u2014]\s*"
_QUOTED = re.compile(
    '"[^"\n]{5,}"|\u201c[^\u201c\u201d\n]{3,}\u201d|\u201e[^\u201e\u201c\u201d\n]{5,}[\u201c\u201d]|\u00ab[^\u00ab\u00bb\n]{5,}\u00bb'
    "|\u300c[^\u300c\u300d\n]{4,}\u300d|\u300e[^\u300e\u300f\n]{4,}\u300f"
)
_HIDDEN = "\u201c\u201d"
_ENDS = re.compile(r"[\s.!\u3002\uff01]+$")
_TABLE_KEYS = (
    "remember_last", "from_now", "contrast", "decided", "prefer", "never", "always", "norm", "past", "subordinate", "ours", "instead",
    "duty", "supposed", "once", "reported", "reference", "hands_over",
)  # fmt: skip
_NOTHING = "(?!)"
_RULES = (
    ("ours", "decision", "we use X, not Y"),
    ("instead", "preference", "use X instead of Y"),
    ("duty", "preference", "must"),
)
"""Key, kind and cue of the forms of a rule without "always" or "never"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Phrases:
    """The compiled table of one language. The fields are its keys; `one` holds those that need no other pattern around them."""

    lead: re.Pattern[str]
    remember: re.Pattern[str]
    remember_alone: re.Pattern[str]
    denial: re.Pattern[str]
    denial_alone: re.Pattern[str]
    important: re.Pattern[str]
    whole_clause: bool
    verb_final: bool
    one: dict[str, re.Pattern[str]]

    def holds(self, name: str, text: str) -> bool:
        """Whether the pattern of the key `name` matches somewhere in `text`."""
        return self.one[name].search(text) is not None


@lru_cache(maxsize=len(LANGUAGES))
def phrases_of(code: str) -> Phrases:
    """Return the table of a language of `LANGUAGES`. It is read from the package once."""
    table = tomllib.loads((files("tacit.capture.extract") / "phrases" / f"{code}.toml").read_text("utf-8"))

    def regex(pattern: str) -> re.Pattern[str]:
        return re.compile(pattern, re.IGNORECASE | re.DOTALL)

    def text(key: str) -> str:
        return str(table.get(key, _NOTHING)).replace("\n", "")

    remember, denial = text("remember"), text("denial")
    return Phrases(
        lead=regex(f"^(?:{text('lead')}{_BREAK}+)+"),
        remember=regex(rf"^{remember}(?:(?P<clause>{text('clause')})\s*|(?P<mark>{_MARK})|(?P<bare>\s*))(?P<rest>.+)$"),
        remember_alone=regex(rf"^{remember}{_BREAK}*$"),
        denial=regex(rf"^{denial}(?:{_MARK})(?P<rest>.+)$"),
        denial_alone=regex(rf"^{denial}{_BREAK}*$"),
        important=regex(rf"^{text('important')}\s*[:\uff1a\u2013\u2014-]\s*(?P<rest>.+)$"),
        whole_clause=bool(table.get("whole_clause", False)),
        verb_final=bool(table.get("verb_final", False)),
        one={key: regex(text(key)) for key in _TABLE_KEYS},
    )  # fmt: skip


def language_for(text: str) -> str:
    """Return the language whose table is used for a prompt; "" = English, which has its own patterns."""
    code = natural_language_of(text)
    return "" if code == ENGLISH else code


def asks_about_text(text: str, code: str) -> bool:
    """Whether a prompt in the language `code` asks to do something with a text, such as to translate it."""
    return phrases_of(code).holds("hands_over", text)


def statements_in(sentences: Sequence[str], code: str) -> tuple[tuple[int, Found], ...]:
    """Return the statements in sentences of the language `code`, each with the index of its sentence.

    A sentence that only says "remember" or "wrong" belongs to the next one.
    """
    phrases = phrases_of(code)
    found: list[tuple[int, Found]] = []
    opening = ""
    for place, sentence in enumerate(sentences):
        hidden, quotes = _hide(sentence)
        body = phrases.lead.sub("", hidden.strip(), count=1)
        if phrases.remember_alone.match(body):
            opening = "remember"
            continue
        if phrases.denial_alone.match(body):
            opening = "denial"
            continue
        stated = _after(body, opening, phrases)
        opening = ""
        if stated is None:
            continue
        content = _ENDS.sub("", _show(stated[0].strip(), quotes))
        if LEAST_WORDS <= count_words(content) <= MOST_WORDS:
            found.append((place, (content[:1].upper() + content[1:], *stated[1:])))
    return tuple(found)


def _after(body: str, opening: str, phrases: Phrases) -> Found | None:
    if _is_question(body) or phrases.holds("hands_over", body):
        return None
    if opening == "remember" and not phrases.holds("reference", body):
        return body, _kind(body, phrases), 0.95, "remember"
    if opening == "denial":
        return _corrected(body, phrases)
    return _remembered(body, phrases) or _stated(body, phrases)


def _remembered(body: str, phrases: Phrases) -> Found | None:
    match = phrases.remember.match(body)
    if match is not None:
        rest = match["rest"]
        # Without a conjunction or a mark it may be an order for one time ("do not forget to pay"), unless it contains a rule.
        marked = match["clause"] or match["mark"] or _ASIAN.search(rest) or _rules(rest, phrases)
        if marked and not phrases.holds("reference", rest):
            content = body if match["clause"] and phrases.whole_clause else rest
            return content, _kind(rest, phrases), 0.95, "remember"
    if phrases.holds("remember_last", body) and not _blocked(body, phrases):
        return body, _kind(body, phrases), 0.9, "remember"
    return None


def _stated(body: str, phrases: Phrases) -> Found | None:
    if phrases.holds("supposed", body) or phrases.holds("reported", body):
        return None
    if phrases.holds("from_now", body) and not phrases.holds("reference", body):
        return body, _kind(body, phrases, otherwise="preference"), 0.9, "from now on"
    if phrases.holds("once", body):
        return None
    denial = phrases.denial.match(body)
    if denial is not None:
        return _corrected(denial["rest"], phrases)
    if phrases.holds("reference", body):
        return None
    important = phrases.important.match(body)
    if important is not None:
        return important["rest"], _kind(important["rest"], phrases), 0.85, "important"
    return _rule(body, phrases)


def _rule(body: str, phrases: Phrases) -> Found | None:
    """Return a decision, a preference or a rule; None = the sentence is none of them."""
    if phrases.holds("decided", body):
        return body, "decision", 0.85, "we decided"
    if phrases.holds("prefer", body):
        return body, "preference", 0.85, "prefer"
    if _rules(body, phrases):
        never = phrases.holds("never", _main(body, phrases))
        return body, "anti_pattern" if never else "preference", 0.9, "always or never"
    for key, kind, cue in _RULES:
        if phrases.holds(key, _main(body, phrases)):
            return body, kind, 0.8, cue
    return None


def _corrected(rest: str, phrases: Phrases) -> Found | None:
    if _blocked(rest, phrases) or phrases.holds("reference", rest):
        return None
    if phrases.holds("contrast", rest) or _rule(rest, phrases):
        return rest, "correction", 0.85, "correction"
    return None


def _blocked(text: str, phrases: Phrases) -> bool:
    return any(phrases.holds(key, text) for key in ("supposed", "once", "reported"))


def _main(body: str, phrases: Phrases) -> str:
    """Return the main clause, so that "write a test that never fails" is no rule."""
    subordinate = phrases.one["subordinate"].search(body)
    if subordinate is None:
        return body
    return body[subordinate.end() :] if phrases.verb_final else body[: subordinate.start()]


def _rules(body: str, phrases: Phrases) -> bool:
    main = _main(body, phrases)
    lasting = phrases.holds("never", main) or phrases.holds("always", main)
    return lasting and phrases.holds("norm", main) and not phrases.holds("past", main)


def _kind(text: str, phrases: Phrases, *, otherwise: str = "fact") -> str:
    if phrases.holds("decided", text):
        return "decision"
    if phrases.holds("prefer", text):
        return "preference"
    if phrases.holds("never", text):
        return "anti_pattern"
    return "preference" if phrases.holds("always", text) or phrases.holds("duty", text) else otherwise


def _is_question(body: str) -> bool:
    return body.rstrip(" )\u300d").endswith(("?", "\uff1f"))


def _hide(sentence: str) -> tuple[str, tuple[str, ...]]:
    """Replace longer quotations, which are not the speaker's words, by `_HIDDEN`. Return the sentence and the quotations."""
    return _QUOTED.sub(_HIDDEN, sentence), tuple(_QUOTED.findall(sentence))


def _show(text: str, quotes: tuple[str, ...]) -> str:
    for quote in quotes:
        text = text.replace(_HIDDEN, quote, 1)
    return text
