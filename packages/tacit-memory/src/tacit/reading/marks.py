"""What a person marks as lasting. In: one sentence of a prompt. Out: the statement to keep, with its kind; or None.

"remember that ...", "from now on ...", "always / never ...", "we decided ...", "I prefer ...", "X, not Y" and their like in every
language of `marks.toml`, the one table. The whole sentence is kept, with its reason, without the words that only lead in. What has no
mark is not kept, however lasting it is: no rule can tell. Pure.

For others that read a person's sentences: `is_question`, `is_one_off`, `is_doubtful`, `is_reported`, `is_requirement`, `takes_back` (takes
back what was said just before), `kind_of`.

The wording of statements: orders and references. In: one statement. Out: values. Pure, English only.

Shared by the extractors and the rule-file import. Never decides whether something is worth keeping.
"""

from __future__ import annotations

import re
import tomllib
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from tacit.frozen import frozen
from tacit.text.lazy_regex import bounded, filled, wording
from tacit.text.natural_language import ENGLISH, natural_language_of
from tacit.text.tokens import CODE_SPAN, LATIN_WORD, UNSPACED, count_words

_RULES = wording("rules")

LEAST_WORDS, MOST_WORDS = 2, 80
"""Least and most words of a statement."""
MOST_CHARS, MOST_STARTS, WINDOW = 4000, 12, 400
"""Limits that keep a prompt without punctuation cheap: characters of a sentence, its clauses, characters of each."""
_MORE = "more"
"""Key of the table for languages that are recognized only by their marks."""
INVISIBLE = re.compile("[\ufeff\u200b\u2060\u200e\u200f]")
_BOLD = re.compile(r"\*\*(?=\S)(.+?)(?<=\S)\*\*")
_BEFORE = re.compile(
    r"(?:\[(?:[A-Z][\w ]*#\d[^\]\n]*|[A-Z]\w*(?: \w+)? ?\d*)\]|@[\w.][\w./~-]*(?=\s)|(?:[-*+\u2022>]|\(?\d{1,2}[.)]|[a-z]\))(?=\s)|#{1,6}(?=\s)|[^\w\s`\"'\u201c\u201e\u00ab\u300c\u300e(\[<./~@$\u00bf-])\s*"
)
"""What may precede the words: a placeholder for an image or a paste, a mention, a bullet, a number, a symbol."""
_NAMED = re.compile(
    r"(?:[A-Z]\w+|@\w+|claude|codex|gemini|copilot|cursor|opencode)\s*[,:!\u2013\u2014-]\s*(?=\S)"
)
"""The name of the person or agent that is addressed."""
_BREAK = r"[\s,.:;!?\u2026\u3001\u3002\uff0c\uff1a\uff1b\uff01\u2013\u2014-]"
_MARK = r"\s*[,.:;!\u3001\u3002\uff0c\uff1a\uff01\u2013\u2014]+\s*|\s+-+\s*"
_MENTIONED = re.compile('(?<=["\u201c\u201e\u00ab])\\w+(?=["\u201d\u201c\u00bb])')
_END = re.compile(r"(?<![\s.!\u3002\uff01])[\s.!\u3002\uff01]+$")
_CLAUSE_END = re.compile(
    r"(?<!\s)\s*[;!?\u2014\u2013\u3002\uff0c\uff1b]|(?<!this)(?<!following)(?:(?<!\s)\s+)?:|,\s|\s-+\s|\.{2,}|\.\s|\s\(|\s(?:because|since|cause|otherwise|so that|weil|sonst|parce|car|porque|потому)(?!\w)",
    re.IGNORECASE,
)
_KINDS = (
    ("decided", "decision"), ("prefer", "preference"), ("never", "anti_pattern"), ("dont_instead", "anti_pattern"),
    ("dont", "anti_pattern"), ("always", "preference"), ("told", "correction"), ("use_not", "correction"),
)  # fmt: skip
"""Marks with the kind that each gives a statement; the first that matches counts."""
_OUTRIGHT = frozenset({"from_now", "everywhere"})
"""Marks that alone make a statement lasting."""
_REPORTABLE = frozenset({"from_now", "everywhere", "use_not", "denial", "label_last", "marked beside it"})
"""Marks that may follow a reporting clause ("he says"); the others open a clause of the speaker's own."""


@frozen
class Marked:
    """A statement that a person marked as lasting.

    Attributes:
        text: the whole sentence without what leads in, beginning with a capital and without a final full stop.
        kind: by what was said in so many words; else `fact`.
        mark: name of the mark, for the trace.
        everywhere: whether the user said that it holds in all projects.
    """

    text: str
    kind: str
    mark: str
    everywhere: bool = False


@cache
def _read_tables() -> dict[str, dict[str, Any]]:
    return tomllib.loads(Path(__file__).with_name("marks.toml").read_text("utf-8"))


class _LanguagePatterns:
    """The patterns of one language. A key that its table lacks has a pattern that matches no text."""

    def __init__(self, code: str) -> None:
        raw = _read_tables()[code]
        self._texts = {
            key: bounded(value.replace("\n", "")) for key, value in raw.items() if isinstance(value, str)
        }
        joined = self._texts.get("and", "(?!)")
        self._texts["start"] = bounded(
            rf"(?:^|[,;:.!?\u2026]\s+|[,;:]?\s[\u2013\u2014-]+\s*|[\u3002\uff0c\uff1b]|\s(?:{joined}\s+){{1,4}}|^(?:{joined}\s+){{1,4}})"
        )
        self._needs = {key: tuple(words.split("|")) for key, words in raw.get("needs", {}).items()}
        self._patterns: dict[str, re.Pattern[str]] = {}
        self.code = code
        self.whole_clause = bool(raw.get("whole_clause", False))
        self.verb_final = bool(raw.get("verb_final", False))

    @cached_property
    def remember(self) -> re.Pattern[str]:
        """The pattern of what asks to remember, with what is to be remembered as `rest`."""
        remember, clause = self.source("remember"), self.source("clause")
        return re.compile(
            rf"(?:{remember})(?:(?P<clause>{clause})\s*|(?P<mark>{_MARK})|(?P<bare>\s*)(?!{self.source('not_clause')}))(?P<rest>\S.*)$",
            re.IGNORECASE | re.DOTALL,
        )

    @cached_property
    def label(self) -> re.Pattern[str]:
        """The pattern of what names a rule in front of a colon, with the rule as `rest`."""
        return re.compile(
            rf"(?:{self.source('label')})(?:\s*[:\uff1a\u2013\u2014-]+|(?<=correction),|(?<=from me),)\s*(?P<rest>\S.*)$",
            re.IGNORECASE | re.DOTALL,
        )

    @cached_property
    def only_mark(self) -> re.Pattern[str]:
        """The pattern of a sentence that marks another one and says nothing itself."""
        return re.compile(
            rf"(?:(?:{self.source('lead')}){_BREAK}*)*(?:(?:{self.source('remember')})|(?:{self.source('label')})|(?:{self.source('remember_last')})|(?:{self.source('label_last')})|{self.source('from_now')}){_BREAK}*$",
            re.IGNORECASE,
        )

    @cached_property
    def denial(self) -> re.Pattern[str]:
        """The pattern of what says that something was wrong, with what holds instead as `rest`."""
        return re.compile(
            rf"(?:{self.source('denial')})(?:\s*[,.:;!\u2026\u3001\u3002\uff0c\uff01\u2013\u2014-]+\s*|\s+(?=(?:we|our|the|wir|on|nous|usamos)\b))(?P<rest>\S.*)$",
            re.IGNORECASE | re.DOTALL,
        )

    @cached_property
    def lead(self) -> re.Pattern[str]:
        """The pattern of the words at the beginning that have no meaning of their own."""
        return re.compile(
            rf"(?:{self.source('lead')})(?:[\s,.:;!?\u2026\u3001\u3002\uff0c\uff1a\uff1b\uff01]|[\u2013\u2014-]+(?=\s))+",
            re.IGNORECASE,
        )

    def source(self, key: str) -> str:
        """Return the regular expression for a key, with the keys that it names filled in."""
        return filled(self._texts.get(key, "(?!)"), self._texts.get)

    def of(self, key: str) -> re.Pattern[str]:
        """Return the compiled pattern for a key."""
        if key not in self._patterns:
            self._patterns[key] = re.compile(self.source(key), re.IGNORECASE | re.DOTALL)
        return self._patterns[key]

    def has(self, key: str) -> bool:
        """Whether the language has a pattern for the key."""
        return key in self._texts

    def find(self, key: str, text: str) -> re.Match[str] | None:
        """Return the first match of a key's pattern in `text`; None = none."""
        return self.of(key).search(text) if self._may_hold(key, text) else None

    def find_starts(self, text: str) -> list[int]:
        """Return the positions where main clauses begin, without the first one."""
        return [start.end() for start in self.of("start").finditer(text) if start.start()]

    def opens(self, key: str, text: str) -> bool:
        """Whether `text` begins with a match of the key's pattern."""
        return self._may_hold(key, text) and self.of(key).match(text) is not None

    def _may_hold(self, key: str, text: str) -> bool:
        """Whether `text` has one of the words without which the key's pattern matches nothing: the longest patterns take a program's first tenths of a second to compile."""
        needs = self._needs.get(key)
        if needs is None or key in self._patterns:
            return True
        folded = text.casefold()
        return any(word in folded for word in needs)


@cache
def _table(code: str) -> _LanguagePatterns:
    return _LanguagePatterns(code)


def _tables(sentence: str, language: str = "") -> tuple[_LanguagePatterns, ...]:
    """Return the tables to read a sentence with: its language's, else its prompt's; in doubt English."""
    own = natural_language_of(sentence)
    codes = (own,) if own != ENGLISH else (ENGLISH, language or ENGLISH)
    if speaks_marked_language(sentence):
        codes = (_MORE, *codes)
    return tuple(_table(code) for code in dict.fromkeys(codes))


def is_question(sentence: str) -> bool:
    """Whether a sentence asks something. An order in the form of a question does not ("can you always ...?")."""
    return any(_asks(table, _bare(sentence, table)) for table in _tables(sentence))


def is_one_off(sentence: str) -> bool:
    """Whether a sentence holds only for the current change: "for now", "in this PR", "line 40"."""
    return any(table.find("one_off", sentence) for table in _tables(sentence))


def points_back(sentence: str) -> bool:
    """Whether a sentence begins with a pronoun for something named before: "They must be square"."""
    return any(table.opens("reference", _bare(sentence, table)) for table in _tables(sentence))


def is_doubtful(sentence: str) -> bool:
    """Whether a sentence only supposes or doubts what it says."""
    return any(table.find("doubt", sentence) for table in _tables(sentence))


def is_reported(sentence: str) -> bool:
    """Whether a sentence reports what somebody else says."""
    return any(table.find("reported", _bare(sentence, table)) for table in _tables(sentence))


def is_requirement(sentence: str) -> bool:
    """Whether a sentence says what a thing must be ("it must be blue"), and not what you or we must do."""
    return any(table.find("requirement", _bare(sentence, table)) for table in _tables(sentence))


def speaks_marked_language(text: str) -> bool:
    """Whether a text is in a language that is recognized only by its marks (table `more` of `marks.toml`), not by its function words."""
    return _table(_MORE).find("telling", text) is not None


def takes_back(sentence: str) -> bool:
    """Whether a sentence takes back what was said just before it."""
    return any(table.opens("retract", _bare(sentence, table)) for table in _tables(sentence))


def goes_on(sentence: str) -> bool:
    """Whether a sentence has no verb and continues the one before it: "never from a dirty tree"."""
    return any(table.opens("continues", _strip(sentence)) for table in _tables(sentence))


def bare_mark(sentence: str, language: str = "") -> BareMark | None:
    """Return which neighbor a sentence without content of its own tells to remember ("Remember this:" = the next); None = it says more, or tells no such thing."""
    for table in _tables(sentence, language):
        body = _strip(sentence)
        if table.only_mark.match(body):
            return BareMark(
                before=bool(table.find("remember_last", body) or table.find("label_last", body))
                and not body.endswith((":", "\uff1a"))
            )
    return None


@frozen
class BareMark:
    """A mark without a statement of its own: its statement is the previous sentence (`before`), else the next."""

    before: bool


def kind_of(text: str) -> str:
    """Return the kind of a statement by its own words ("we decided ..." = `decision`); `fact` if they do not tell."""
    for table in _tables(text):
        body = _bare(text, table)
        if table.opens("todo", body):
            return "todo"
        if table.opens("anti", body):
            return "anti_pattern"
        if table.denial.match(body):
            return "correction"
        name = next((name for name, _ in _KINDS if _holds(name, body, table)), "")
        if name:
            return dict(_KINDS)[name]
        if table.find("from_now", body) or table.find("everywhere", body):
            return "preference"
    return "fact"


def read_marked(sentence: str, *, marked: bool = False, language: str = "") -> Marked | None:
    """Return the lasting statement in a sentence, with its kind; None = nothing is marked as lasting.

    Args:
        sentence: as it was typed, with stretches in quotation marks hidden.
        marked: a mark for it stands in a sentence beside it.
        language: of the prompt that it stands in.
    """
    if len(sentence) > MOST_CHARS:
        return None
    # "The word 'always'" only mentions a mark.
    masked = _MENTIONED.sub(lambda word: "x" * len(word[0]), sentence)
    for table in _tables(sentence, language):
        read = _read(sentence, table, marked=marked)
        if read is not None and (masked == sentence or _read(masked, table, marked=marked) is not None):
            return read
    return None


def lead_free(text: str, language: str = "") -> str:
    """Return `text` without its lead-in: placeholders, mentions, symbols, forms of address, filler words."""
    return _bare(text, _tables(text, language)[0])


def _strip(sentence: str) -> str:
    body = _BOLD.sub(r"\1", INVISIBLE.sub("", sentence)).strip()
    while True:
        match = _BEFORE.match(body)
        if match is None or match.end() == 0 or match.end() == len(body):
            return body
        body = body[match.end() :].lstrip()


def _bare(sentence: str, table: _LanguagePatterns) -> str:
    """Return a sentence without its lead-in and marks of bold type."""
    body = _strip(sentence)
    while True:
        match = table.lead.match(body)
        if match and table.opens("corrects", body[match.end() :]) and table.denial.match(body):
            break
        if match is None and not table.denial.match(body):
            name = _NAMED.match(body)
            match = (
                name
                if name and not table.opens("use_not", body) and _opens_mark(body[name.end() :], table)
                else None
            )
        if match is None or match.end() == len(body):
            break
        body = _strip(body[match.end() :])
    if table.opens("polite", body):
        body = table.of("polite").sub("", body, count=1).rstrip(" ?")
    return table.of("tag").sub("", body)


def _opens_mark(body: str, table: _LanguagePatterns) -> bool:
    found = _mark_in(body, table)
    return (
        table.remember.match(body) is not None
        or table.label.match(body) is not None
        or (found is not None and found[1] == 0)
        or bool(table.lead.match(body))
    )


def _asks(table: _LanguagePatterns, body: str) -> bool:
    return body.rstrip(" )\"'\u300d").endswith(("?", "\uff1f")) or table.opens("question", body)


def _read(sentence: str, table: _LanguagePatterns, *, marked: bool) -> Marked | None:
    body = _behind_order(_bare(sentence, table), table)
    if table.opens("to_forget", body):
        return None
    # "Forget that, never use X": what takes the sentence before it back says something else behind it, or nothing.
    body = (
        table.of("retract").sub("", body, count=1).lstrip(" ,;:.!-") if table.opens("retract", body) else body
    )
    if not body or _asks(table, body) or table.find("hands_over", body):
        return None
    told = table.remember.match(body)
    if told is not None and _remembers(told, table):
        whole = (told["clause"] and table.whole_clause) or re.match(
            r"(?:not )?to\b", told["rest"], re.IGNORECASE
        )
        text = body if whole else told["rest"]
        return _kept(text, told["rest"], "remember", table, strong=True)
    for key in ("remember_last", "label_last"):
        last = table.find(key, body)
        rest = body[: last.start()].rstrip(" ,;:-\u2013\u2014(") if last else ""
        if (
            last is not None
            and _content_words(rest, table)
            and re.match(
                r"\W*(?:$|[,.;:(\u3002\uff0c\u2014\u2013-]|(?:because|since|please|pls)\b)",
                body[last.end() :],
            )
        ):
            ends = not body[last.end() :].strip(" .!)\u3002\uff01,")
            return _kept(rest if ends and key == "remember_last" else body, rest, key, table, strong=True)
    for at in (0, *table.find_starts(body)):
        told, label = table.remember.match(body, at), table.label.match(body, at)
        said = (told["rest"] if _remembers(told, table) else "") if told else (label["rest"] if label else "")
        if said:
            return _kept(body if at else said, said, "remember" if told else "label", table, strong=True)
    if table.find("rule_is", body) or table.opens("rule_order", body):
        return _kept(body, body, "label", table, strong=True)
    if marked:
        return _kept(body, body, "marked beside it", table, strong=True)
    found = _mark_in(body, table)
    if found is None:
        return None
    name, start = found
    wrong = table.denial.match(body) if name == "denial" else None
    body = _bare(wrong["rest"], table) if wrong is not None else body
    return _kept(body, body, name, table, strong=name in _OUTRIGHT, at=start)


def _behind_order(body: str, table: _LanguagePatterns) -> str:
    """Return the marked part behind an order or question joined by a conjunction, else the whole sentence.

    What it asks for at once is removed.
    """
    for at in table.find_starts(body)[:MOST_STARTS]:
        head, said = body[:at], _bare(body[at : at + WINDOW], table)
        joined = head.rstrip()[-1:].isalpha()
        if joined and (table.opens("question", head) or table.opens("order", head)) and (
            table.find("from_now", said) or table.remember.match(said) or table.opens("dont", said)
            or table.opens("by_the_way", body[at : at + WINDOW])
        ):  # fmt: skip
            return _behind_order(_bare(body[at:], table), table)
    return table.of("at_once").sub("", body)


def _remembers(told: re.Match[str], table: _LanguagePatterns) -> bool:
    """Whether what follows "remember" is a statement, and not data that a program is to keep."""
    rest = told["rest"]
    if told["clause"] or told["mark"] or UNSPACED.search(rest):
        return True
    return table.find("states", rest) is not None or _mark_in(rest, table) is not None


def _mark_in(body: str, table: _LanguagePatterns) -> tuple[str, int] | None:
    """Return the name of the mark in a statement, and where its clause begins; None = no mark."""
    if table.find("from_now", body):
        return "from_now", 0
    wrong = table.denial.match(body)
    if wrong is not None:
        rest = wrong["rest"]
        inner = _mark_in(_bare(rest, table), table)
        if (
            inner is not None
            or table.opens("our_way", body)
            or table.opens("value", rest)
            or (not table.has("value") and table.find("contrast", rest))
        ):
            return "denial", 0
        return None
    for name, _ in _KINDS:
        match = _holds(name, body, table)
        if match and not (name == "dont" and match.start() and table.opens("order", body[: match.end()])):
            return name, match.start()
    return ("everywhere", 0) if table.find("in_all", body) else None


def _holds(name: str, body: str, table: _LanguagePatterns) -> re.Match[str] | None:
    """Return the match of a mark in the main clause; None = it has none."""
    if name in ("always", "never") and table.has("norm"):
        main = _main(body, table)
        match = table.find(name, main)
        if match is None or table.find("norm", main) is None:
            return None
        end = _CLAUSE_END.search(main, match.end())
        clause = main[: end.start() if end else len(main)]
        return None if table.find("past", clause) or table.find("requirement", clause) else match
    return table.find(name, body)


def _main(body: str, table: _LanguagePatterns) -> str:
    """Return the main clause of a sentence, so that "write a test that never fails" gives no rule."""
    subordinate = table.find("subordinate", body)
    if subordinate is None:
        return body
    return body[subordinate.end() :] if table.verb_final else body[: subordinate.start()]


def _kept(
    text: str, said: str, name: str, table: _LanguagePatterns, *, strong: bool, at: int = 0
) -> Marked | None:
    """Return the statement `text`; None if its words `said` are for once, doubted, reported, or unclear alone."""
    before, clause = _split_clause(said, at)
    head = before + clause
    # An outright mark counts in spite of doubt: "remember that it might fail now".
    weak = name not in ("remember", "remember_last", "label")
    today = table.of("today").search(said, len(before)) if weak and name != "from_now" else None
    if table.find("one_off", said) or (today and today.start() < len(head)):
        return None
    # "We agreed that each claim has a source" reports nothing.
    if weak and (table.find("doubt", head) or ((at or name in _REPORTABLE) and table.find("reported", head))):
        return None
    # "No, it's A, not B": the pronoun stands for nothing.
    expletive = name == "denial" and table.opens("corrects", said)
    if (
        not expletive
        and table.opens("reference", said if strong else clause.lstrip(" ,;:-\u2013\u2014"))
        and _content_words(before, table) < 2
    ):
        return None
    # What a ban points at may be the thing at hand, even where it was named before: "the test fails, stop working on it".
    resolved = expletive or (
        name != "dont" and (_content_words(before, table) >= 2 or _antecedent(clause, table))
    )
    # "we agreed with them that users ...": a conjunction.
    pointing = re.sub(r"\bthat\b", " ", clause, count=1) if name == "decided" else clause
    if not strong and table.find("loose", pointing) and not resolved:
        return None
    if table.find("unfinished", text):
        return None
    content = _one_line(text)
    words = count_words(content)
    if not LEAST_WORDS <= words <= MOST_WORDS or not _content_words(said, table):
        return None
    kind = "correction" if name == "denial" else kind_of(text if name == "remember" else said)
    return Marked(text=content, kind=kind, mark=name, everywhere=table.find("everywhere", text) is not None)


def _split_clause(body: str, at: int) -> tuple[str, str]:
    """Split `body` into what stands before the first word from `at` on, and the clause that begins there.

    Text behind the clause is left out.
    """
    start = at
    while start < len(body) and not body[start].isalnum() and body[start] != "`":
        start += 1
    end = _CLAUSE_END.search(body, start + 12)
    return body[:start], body[start : end.start() if end else len(body)]


def _antecedent(clause: str, table: _LanguagePatterns) -> bool:
    """Whether the noun that a clause's pronoun refers to may stand before it in the clause."""
    match = table.find("loose", clause)
    return (
        match is not None
        and match[0].lower().strip() in ("it", "them", "these", "those")
        and _content_words(clause[: match.start()], table) >= 2
    )


def _content_words(text: str, table: _LanguagePatterns) -> int:
    """Return the number of words that are not mere function words."""
    if not table.has("nothing"):
        return round(count_words(text))
    return sum(not table.of("nothing").fullmatch(word) for word in re.findall(r"[^\W_]+|`[^`]+`", text))


def _one_line(text: str) -> str:
    """Return the text as one line, with a capital first letter and no final full stop.

    The letter stays if the text begins with code or a file name.
    """
    line = _END.sub("", " ".join(text.split()).strip(" ,;:\u2013\u2014"))
    first = line.split(" ", 1)[0]
    return line if not line[:1].isalpha() or re.search(r"[/_]|\.\w", first) else line[:1].upper() + line[1:]


def is_imperative(content: str) -> bool:
    """Whether the statement opens with an instruction, possibly after a label or a condition."""
    if opens_with_verb(content):
        return True
    return any(mark in content and opens_with_verb(content.split(mark, 1)[1]) for mark in (": ", ", "))


def opens_with_verb(content: str) -> bool:
    """Whether the first word is the base form of a verb that opens instructions."""
    first = LATIN_WORD.search(content.lower())
    return first is not None and first[0] in _RULES.words("imperatives")


def rule_like(content: str) -> bool:
    """Whether the statement asks for or forbids something."""
    return bool(
        _RULES.rule.search(content) or _RULES.anti.match(content) or _RULES.inner_anti.search(content)
    ) or is_imperative(content)


def has_leading_reference(content: str) -> bool:
    """Whether the statement opens with a pronoun whose meaning lies outside it."""
    return bool(_RULES.leading_loose.match(content))


def word_count(text: str) -> int:
    """Return the number of words separated by white space; a path counts as one."""
    return len(text.split())


def length_in_words(text: str) -> int:
    """Return how long a statement is to read: its number of words, a code span counted as one. For upper bounds."""
    return word_count(CODE_SPAN.sub("`", text))
