"""Habits that a user lists in one message. In: a prompt, or one item of a list. Out: lists with what leads them in; statements.

An item says nothing of how long it holds; the sentence before the list does: "From now on:", "Some rules for this repo:", "Before
every commit:". Without such a sentence an item inherits from its neighbors where most of them are standing statements by
themselves. A lead-in consists of known words only, so that "Implement these validation rules:" is none. Who calls refuses
questions, suppositions, one-off orders and loose references. Never calls a model.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from tacit.capture.prose import hide_quotes, show_quotes
from tacit.capture.wording import IMPERATIVES, kind_of, opens_with_verb, word_count
from tacit.reading.prompts.voice import own_text
from tacit.reading.sentences import split_sentences
from tacit.text.lazy_regex import lazy_regex

Standing = Literal["always", "never", "unwanted", "remember", "decided", "rules", "occasion"]

_BULLET = lazy_regex(r"^\s*(?:[-*+\u2022]|\(?\d{1,2}[.):])\s+")
_CHECKBOX = lazy_regex(r"^\s*\[[ xX]?\]")
_INDENTED = lazy_regex(r"^\s{2,}\S")
_MARKUP = lazy_regex(r"\*\*|__")
_FILLER = (
    "a about add adhere all and any apply as at by code codebase codebases coding commit commits do each every everything"
    " few five follow following for four general generally good habits here hold i in is keep list little mind my of on or"
    " other our please project projects repo repos repositories repository respect seven short should simple six"
    " some standing stick style team test testing tests that the these thing things this those three to together two us want we"
    " when whenever work working would write writing you your like expect need have must mine few basic house ground own"
    " coding naming review commit git conventions convention rules rule guidelines guideline preferences preference"
    " habit standards principles policies policy agreements dos donts points point never always remember from now onwards"
    " going forward henceforth future decided agreed on it insist care do don't dont not avoid ever what how back memory"
    " note reference record next time are so ok okay also btw hey hi"
)
_LEAD_WORDS = frozenset(_FILLER.split())
"""A lead-in holds no other words."""
_TOKEN = lazy_regex(r"[a-z\u2019']+|\d+")
_NEVER = lazy_regex(r"\bnever\b|\bdo(?:n['\u2019]?t| not)\b|\bavoid\b", re.IGNORECASE)
_FROM_NOW = lazy_regex(
    r"\bfrom (?:now|here) on(?:wards)?\b|\bgoing forward\b|\bhenceforth\b|\bin (?:the )?future\b|\bas a (?:general )?rule\b|\balways\b",
    re.IGNORECASE,
)
_LATER = lazy_regex(r"\bin (?:the )?future\b", re.IGNORECASE)
_WISHED = lazy_regex(r"\b(?:we|i) (?:would |also )?(?:want|need|like|have)\b", re.IGNORECASE)
_WISHED_AWAY = lazy_regex(r"\b(?:want|like|expect|need)\b", re.IGNORECASE)
_REMEMBER = lazy_regex(
    r"\bremember\b|\bkeep in mind\b|\b(?:for|to) (?:future reference|the record|next time|memory)\b",
    re.IGNORECASE,
)
_DECIDED = lazy_regex(r"\bwe(?:['\u2019]ve| have)? (?:decided|agreed)\b", re.IGNORECASE)
_RULES = lazy_regex(
    r"\b(?:my|our|house|team|project|ground|standing|own|coding|naming|commit|general)(?: \w+){0,2} (?:rules|conventions|guidelines|preferences|standards|principles|policies|agreements)\b"
    r"|\bhabits\b"
    r"|\b(?:rules|conventions|guidelines|preferences|standards|principles|policies|agreements|things|points)\b.*(?:\b(?:this|our|the|my|all) (?:repo\w*|projects?|code ?bases?|team)\b"
    r"|\bof mine\b|\b(?:i|we) (?:follow|insist|care|keep|stick|adhere|respect|expect)\b|\bto (?:follow|remember|keep in mind|stick to|respect|adhere)\b)",
    re.IGNORECASE,
)
_OCCASION = lazy_regex(
    r"^(?:please,? )?(?P<occasion>(?:before|after|on|with|for) (?:every|each|any) (?:\w+ )?(?:commit|push|pull request|pr|merge|release|deploy(?:ment)?|bug ?fix|migration|session)"
    r"|(?:whenever|every time|each time|any ?time) (?:you|we) (?!(?:are )?(?:done|finished|ready)\b)[^.?!:,]{3,40})(?:,? (?:please|always|you (?:should|must)|do (?:this|the following)))*$",
    re.IGNORECASE,
)
_OPENING = lazy_regex(
    r"^(?:(?:ok(?:ay)?|so|and|also|but|hey|hi|btw|by the way|now|then|plus|thanks|great|cool|please note|important|one more thing)\b[\s,.:;!\u2013\u2014-]*)+",
    re.IGNORECASE,
)
_ROW_LEAD = lazy_regex(
    r"^(?P<lead>[^.?!:;]{3,90})(?::| [-\u2013\u2014])\s+(?P<rest>\S.*)$|^(?P<mark>from (?:now|here) on(?:wards)?|going forward|henceforth),?\s+(?P<behind>[^:]*;.*)$",
    re.IGNORECASE | re.DOTALL,
)
_SEMICOLON = lazy_regex(r";\s+(?:and\s+)?")
_HEDGED = lazy_regex(
    r"\b(?:maybe|perhaps|might|not sure|i (?:think|guess|wonder|assume|suppose|believe)|probably|what about|how about|should (?:i|we)\b|could (?:we|you|i))\b",
    re.IGNORECASE,
)
_MOMENT = lazy_regex(r"\b(?:now|right away|again|today|tomorrow|currently|asap|yet)\b", re.IGNORECASE)
_REPORTS = lazy_regex(
    r"^(?:fixed|added|removed|updated|changed|moved|renamed|implemented|created|refactored|deleted|done|finished|started|tried|merged|deployed|noticed|found)\b"
    r"|^(?:i|you|he|she|they|it)\b(?! (?:prefer|want|like|always|never|should|must|expect|hate)\b)|^(?:can|could|would|will|let'?s|lets)\b"
    r"|^we\b(?! (?:use|always|never|only|do|don'?t|prefer|want|keep|write|run|test|name|log|deploy|store|follow|avoid|stick)\b)",
    re.IGNORECASE,
)
_TASK_VERB = lazy_regex(
    r"^(?:please |then |and |also )*(?:fix|implement|build|create|refactor|investigate|look|check|continue|start|finish|rename|delete|remove|move|change|add|update|make|put|split|extract"
    r"|convert|migrate|replace|install|open|close|push|merge|deploy|release|tell|show|go|find|figure|debug|upgrade|bump|clean|set|send|call|read|explain|try|revert|see|click)\b",
    re.IGNORECASE,
)
_RECURS = lazy_regex(
    r"\b(?:always|never|every|each|any|all|whenever|only|without|before|after|when|unless|if|per|at most|by default|everywhere|anywhere)\b",
    re.IGNORECASE,
)
_LIMIT = lazy_regex(r"\b(?:under|below|at most|up to|no more than|within) \d", re.IGNORECASE)
_PLURAL_OBJECT = lazy_regex(
    r"^(?:please )?[a-z]+ (?:(?!(?:the|this|that|these|those|it|its|them|my|your|our|a|an|as|us)\b)[\w`-]+ ){0,3}?(?!(?:this|its|us|as|is|was|does|has)\b)[\w-]{2,}(?<![sui])s\b",
    re.IGNORECASE,
)
_NO_SUCH = lazy_regex(
    r"^no (?!need|problem|idea|worr|way|thanks?|longer|luck|rush|more|results?)\w+", re.IGNORECASE
)
_CONTRAST = lazy_regex(
    r"^(?!(?:no|never|do|don'?t|avoid|stop)\b)[^,]{5,}, (?:and )?(?:never|not)\b(?!.*[,;])", re.IGNORECASE
)
"""States what is, and what is not beside it: "money is stored in cents, never as a float"."""
_WORD = lazy_regex(r"[A-Za-z]{2,}")
_MOST_WORDS = 45
_LEAST_PEERS = 2
_LEAST_LIST = 3
_LEAST_SHARE = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Lead:
    """The words before a list, as its items inherit them; `occasion` = the words of the occasion that each item belongs to."""

    standing: Standing
    occasion: str = ""
    everywhere: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class HabitList:
    """Items in order, verbatim; `lead` None = nothing before them says that they stand; `marked` = by bullets or numbers."""

    items: tuple[str, ...]
    lead: Lead | None
    marked: bool


def read_lead(words: str) -> Lead | None:
    """Return the meaning of a lead-in for its list; None = it does not state standing rules."""
    body = _OPENING.sub("", words.strip().rstrip(":.\u2014 "), count=1).strip()
    occasion = _OCCASION.match(body)
    if occasion:
        return Lead(standing="occasion", occasion=occasion["occasion"])
    tokens = _TOKEN.findall(body.lower().replace("\u2019", "'"))
    if not tokens or any(token not in _LEAD_WORDS and not token.isdigit() for token in tokens):
        return None
    everywhere = re.search(
        r"\b(?:all|every|any)(?: of)?(?: my| our)? (?:project|repo|repositor|code ?base)", body, re.IGNORECASE
    )
    if _LATER.search(body) and _WISHED.search(body):
        return None  # a plan: "in the future we want"
    standing = _standing_of(body)
    return Lead(standing=standing, everywhere=bool(everywhere)) if standing else None


def _standing_of(body: str) -> Standing | None:
    if _NEVER.search(body) and not re.search(r"\balways\b", body, re.IGNORECASE):
        general = (
            re.search(r"\b(?:never|ever)\b", body, re.IGNORECASE)
            or _FROM_NOW.search(body)
            or _RULES.search(body)
        )
        if not general:
            return None
        return "unwanted" if _WISHED_AWAY.search(body) else "never"
    if _DECIDED.search(body):
        return "decided"
    if _FROM_NOW.search(body):
        return "always"
    if _REMEMBER.search(body):
        return "remember"
    return "rules" if _RULES.search(body) else None


def find_lists(text: str) -> tuple[HabitList, ...]:
    """Lists of a prompt that stand in the user's own voice: bullets, lines, sentences in a row, clauses between semicolons."""
    lists: list[HabitList] = []
    blocks = _blocks(own_text(text))
    for at, (lines, marked) in enumerate(blocks):
        before = blocks[at - 1][0][-1] if at and not blocks[at - 1][1] else ""
        if marked:
            lists.append(_marked_list(lines, before))
        else:
            lists += _rows(lines)
    return tuple(habits for habits in lists if habits.items)


def _blocks(text: str) -> list[tuple[list[str], bool]]:
    """Runs of list items and runs of other lines, in order; blank lines part runs of lines, not the items of a list."""
    blocks: list[tuple[list[str], bool]] = []
    blank = True
    for line in text.split("\n"):
        if not line.strip():
            blank = True
            continue
        bullet = _BULLET.match(line)
        if bullet:
            if not (blocks and blocks[-1][1]):
                blocks.append(([], True))
            blocks[-1][0].append(line[bullet.end() :].strip())
        elif blocks and blocks[-1][1] and _INDENTED.match(line) and not blank:
            blocks[-1][0][-1] += " " + line.strip()  # goes on with the item
        elif blocks and not blocks[-1][1] and not blank:
            blocks[-1][0].append(line.strip())
        else:
            blocks.append(([line.strip()], False))
        blank = False
    return blocks


def _marked_list(items: list[str], before: str) -> HabitList:
    if any(_CHECKBOX.match(item) for item in items):
        return HabitList(items=(), lead=None, marked=True)
    last = (split_sentences(before) or [""])[-1]
    lead = read_lead(last) if last.rstrip().endswith(":") or last == before else None
    if lead is None and before and before.rstrip()[-1] not in ".!":
        return HabitList(items=(), lead=None, marked=True)
    return HabitList(items=tuple(_first_sentence(item) for item in items), lead=lead, marked=True)


def _first_sentence(item: str) -> str:
    hidden, quotes = hide_quotes(item)
    return show_quotes((split_sentences(hidden) or [hidden])[0], quotes)


def _rows(lines: list[str]) -> list[HabitList]:
    """Lists without marks in one paragraph."""
    lead = read_lead(lines[0]) if lines[0].rstrip().endswith(":") else None
    if lead and len(lines) > _LEAST_PEERS:
        return [HabitList(items=tuple(lines[1:]), lead=lead, marked=False)]
    hidden, quotes = hide_quotes(" ".join(lines))
    if quotes:
        return []
    sentences = split_sentences(hidden)
    for at, sentence in enumerate(sentences):
        pure = read_lead(sentence) if at + 1 < len(sentences) and sentence.endswith((".", ":")) else None
        if pure and pure.standing != "occasion":
            return [HabitList(items=_clauses(sentences[at + 1 :]), lead=pure, marked=False)]
        row = _ROW_LEAD.match(sentence)
        lead = read_lead(row["lead"] or row["mark"]) if row else None
        if row and lead:
            remainder = [row["rest"] or row["behind"], *sentences[at + 1 :]]
            items = _clauses(remainder)
            return [HabitList(items=items, lead=lead, marked=False)] if len(items) >= _LEAST_PEERS else []
    return [HabitList(items=_clauses(sentences), lead=None, marked=False)]


def _clauses(sentences: Sequence[str]) -> tuple[str, ...]:
    return tuple(
        clause.strip() for sentence in sentences for clause in _SEMICOLON.split(sentence) if clause.strip()
    )


def stands_alone(item: str) -> bool:
    """Whether an item is a sentence or phrase of its own: neither a question, a report nor a scrap."""
    body = _MARKUP.sub("", item).strip()
    return (
        _LEAST_PEERS <= word_count(body) <= _MOST_WORDS
        and len(_WORD.findall(body)) >= _LEAST_PEERS
        and not body.endswith((":", "?", "...", "\u2026"))
        and not _HEDGED.search(body)
        and not _REPORTS.match(body)
    )


def ends_row(item: str) -> bool:
    """Whether a sentence in a row of habits speaks of something else: a question, a report, an order for the moment."""
    return item.endswith("?") or bool(_REPORTS.match(item) or _MOMENT.search(item)) or is_task(item)


def is_task(item: str) -> bool:
    """Whether an item orders one piece of work: "fix the login page"; "add a test for every fix" is none."""
    return bool(_TASK_VERB.match(item)) and not _is_general(item)


def _is_general(item: str) -> bool:
    """Whether an item speaks of all cases by its own words."""
    if _MOMENT.search(item):
        return False
    return bool(
        _RECURS.search(item)
        or _LIMIT.search(item)
        or _NO_SUCH.match(item)
        or (opens_with_verb(item) and _PLURAL_OBJECT.match(item))
    )


def inherit(item: str, habits: HabitList) -> tuple[str, str] | None:
    """Content and kind of an item that inherits the standing of its list, None = it inherits nothing."""
    body = re.sub(r"^(?:please|also|and)[\s,]+", "", _MARKUP.sub("", item).strip(), flags=re.IGNORECASE)
    if not stands_alone(body) or _MOMENT.search(body):
        return None
    lead = habits.lead
    if lead is None:
        general = _is_general(body) and not (_TASK_VERB.match(body) and not _RECURS.search(body))
        return (body, _kind(body)) if general else None
    if (not habits.marked or lead.standing in ("remember", "rules")) and is_task(body):
        return None
    if lead.standing == "never":
        return _forbid(body)
    if lead.standing == "unwanted":
        return (body if kind_of(body) == "anti_pattern" else f"No {_lower_first(body)}"), "anti_pattern"
    if lead.standing == "occasion":
        if not (opens_with_verb(body) or re.match(r"(?:never|do not|don'?t|no)\b", body, re.IGNORECASE)):
            return None
        return f"{lead.occasion}, {_lower_first(body)}", "preference"
    if lead.standing == "remember":
        return body, kind_of(body)
    if lead.standing == "decided":
        kind = kind_of(body)
        return body, kind if kind in ("anti_pattern", "file_context") else "decision"
    return body, _kind(body)


def _kind(body: str) -> str:
    kind = kind_of(body)
    if kind == "anti_pattern" and _CONTRAST.search(body):
        return "preference"
    return "preference" if kind == "fact" else kind


def _forbid(body: str) -> tuple[str, str] | None:
    if kind_of(body) == "anti_pattern":
        return body, "anti_pattern"
    first = body.split(" ", 1)[0].lower()
    if first in IMPERATIVES or first in (
        "touch",
        "break",
        "introduce",
        "hardcode",
        "swallow",
        "guess",
        "mock",
    ):
        return f"Never {_lower_first(body)}", "anti_pattern"
    if first.endswith("ing"):
        return f"Avoid {_lower_first(body)}", "anti_pattern"
    return f"No {_lower_first(body)}", "anti_pattern"


def _lower_first(body: str) -> str:
    word = body.split(" ", 1)[0]
    return body if word[1:] != word[1:].lower() or word == "I" else body[:1].lower() + body[1:]


def has_enough_peers(own: int, items: int) -> bool:
    """Whether enough of a list without a lead-in are standing statements by themselves."""
    return items >= _LEAST_LIST and own >= _LEAST_PEERS and own / items >= _LEAST_SHARE
