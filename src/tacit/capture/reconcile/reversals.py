"""Whether a statement ends an order to use something: "stop using npm", "we don't run gulp any more", "no longer use tabs".

In: two texts. Out: yes or no. Firm and narrow: the same verb and the same object in one plain order, and every further word of the later
statement ("for the docs") said by the earlier one, too. English only. Pure; on doubt it is no.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from tacit.text.lazy_regex import lazy_regex

_SUBJECT = r"(?:(?:please|ok(?:ay)?|so|and|now|from now on|we|i|let's|lets)[, ]+)*"
_STOPPED = lazy_regex(
    rf"^{_SUBJECT}(?:(?:should|must|have to|need to|will|can)\s+)?(?:have\s+)?(?:stop(?:ped)?|quit|cease)\s+(?P<verb>[a-z]+ing)\s+(?P<what>.+)$",
    re.IGNORECASE,
)
_NO_LONGER = lazy_regex(
    rf"^{_SUBJECT}(?:(?:should|must|will|can|do|are)\s+)?no longer\s+(?P<verb>[a-z]+)\s+(?P<what>.+)$",
    re.IGNORECASE,
)
_ANY_MORE = lazy_regex(
    rf"^{_SUBJECT}(?:do not|don'?t|do n[o']t|never|should not|shouldn'?t|must not|mustn'?t|won'?t|will not)\s+(?P<verb>[a-z]+)\s+"
    r"(?P<what>.+?)\s+(?:any ?more|any longer)\b(?P<rest>.*)$",
    re.IGNORECASE,
)
_CLAUSE_END = lazy_regex(
    r"(?P<mark>[.,;:!?()])(?=\s|$)|\s(?:because|since|instead|-|--|–|—)(?=\s|$)"
    r"|\sand(?=\s(?:please\s)?(?:use|switch to|move to|go with|start using|try|adopt)\s[^\s,;]+(?:\s(?:instead|from now on|now))?[.!]*$)",
    re.IGNORECASE,
)
_LIMITED = lazy_regex(
    r"^[\s.,;:!?()–—-]*(?:only|just|mostly|especially|particularly|when|whenever|while|where|wherever|in|on|at|inside|outside|within|for|during"
    r"|from|if|as|so|by|with|without|before|after|till|to|or|and(?! (?:please )?(?:use|switch|move|go|start|try|adopt)\b)|not|e\.?g|i\.?e|namely)\b"
    r"|\b(?:except\w*|unless|until|at least|at most|other than|apart from|but|however|though|although|save for"
    r"|only (?:in|on|at|for|when|where|if|during|with|by)|(?:use|keep|leave|run|allow) (?:it|them|this|that|these|those))\b",
    re.IGNORECASE,
)
"""What follows says where, when or how far: begins with such a word, or names an exception anywhere."""
_NEW_CLAUSE = lazy_regex(
    r"^,(?:\s*$|\s+(?:please|use|switch|move|go|start|try|adopt|prefer|run|write|always|never|instead|because|since|now|from now on|thanks?|it|it's|they"
    r"|they're|we|we're|we've|i|i'm|that|that's|this|which|there|let's|and)\b)",
    re.IGNORECASE,
)
"""A comma may part the members of a list, which what stands behind them limits together."""
_EVER = lazy_regex(
    r"\s+(?:any ?more|any longer|from now on|now|please|entirely|completely|altogether|at all|everywhere)$",
    re.IGNORECASE,
)
_ORDER = lazy_regex(
    r"^(?:(?:please|always|we|you|i|must|should|shall|have to|need to|to|only|the team|everyone|everybody)[, ]+)*(?P<verb>[a-z]+)\s+(?P<what>.+)$",
    re.IGNORECASE,
)
_MANY = lazy_regex(
    r"[;:?]|[.!](?=\s+\S)|\b(?:and|or|but|unless|except|until|not|never|no|nor|don'?t|without|instead|rather|stop|avoid|either|both)\b|n't\b",
    re.IGNORECASE,
)
_PLACE = lazy_regex(
    r"^(?:to|for|in|on|at|when|whenever|while|with|by|before|after|during|inside|within|from|if|as|everywhere|always|here)$",
    re.IGNORECASE,
)
_TOKEN = lazy_regex(r"[^\s,;()\"“”]+")
_ARTICLES = frozenset(
    {"the", "a", "an", "our", "your", "any", "this", "that", "these", "those", "all", "every"}
)
_PRONOUNS = frozenset({"it", "them", "me", "us", "him", "her", "one", "that", "this", "those", "these", "so"})
_BOUNDS = frozenset(
    {"in", "on", "at", "when", "whenever", "while", "inside", "within", "during", "from", "if"}
)
_WHOLE = frozenset({"use", "run"})
"""What is used no more is used no more for anything; "stop adding comments" says less of "add comments to public functions"."""
_COMMAND = lazy_regex(r"`([^`\n]+)`")
_LEAST_CALL = 2
"""A program alone may be named for what it is; with an argument it is called."""
_CALLS = lazy_regex(
    r"^(?:(?:please|always|we|you|must|should|shall|have to|need to|to)[, ]+)*[a-z-]+(?: [a-z-]+){0,3}? (?:with|using|by running|via|through|it)\b",
    re.IGNORECASE,
)
_PURPOSE = lazy_regex(r"\b(?:in|on|at|inside|within|when|whenever|while|if|for|from|where)\b", re.IGNORECASE)
_LONGEST = 4
"""Words of an object; a longer one is no name of a thing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Use:
    """A verb, its object, and the words behind that. `bounded` = they name a place or a condition, not a purpose."""

    verb: str
    thing: tuple[str, ...]
    where: frozenset[str]
    bounded: bool


def ends_order(new: str, old: str) -> bool:
    """Whether `new` says that what `old` orders is done no more.

    "Stop using npm" ends "use npm to install packages", not "use npm in CI" nor "use npm for the docs": these may be exceptions.
    """
    ended = _ended(new)
    if ended is None or _MANY.search(old.strip()):
        return False
    match = _ORDER.match(" ".join(old.split()).rstrip(".!"))
    if match is None or _base(match["verb"]) not in _bases(ended.verb):
        return False
    order = _use(match["verb"], match["what"])
    if order.thing != ended.thing or not ended.where <= order.where:
        return False
    return ended.where == order.where or (_base(match["verb"]) in _WHOLE and not order.bounded)


def orders_for_a_purpose(verb: str, thing: str, old: str) -> bool:
    """Whether `old` is a plain order to `verb` the `thing`, at most for some purpose: not in some place only."""
    if _MANY.search(old.strip()):
        return False
    match = _ORDER.match(" ".join(old.split()).rstrip(".!"))
    if match is None or _base(match["verb"]) != _base(verb):
        return False
    order = _use(match["verb"], match["what"])
    return order.thing == _use(verb, thing).thing and not order.bounded


def runs_command(program: str, old: str) -> bool:
    """Whether `old` is a plain order that has one command in it, a call of `program`: "lint with `flake8 src` before every commit"."""
    commands: list[str] = _COMMAND.findall(old)
    words = commands[0].split() if len(commands) == 1 else []
    if len(words) < _LEAST_CALL or words[0].lower() != program.strip("`'").lower():
        return False
    order = " ".join(_COMMAND.sub("it", old).split()).rstrip(".!")
    if _MANY.search(order) or _PURPOSE.search(order):
        return False
    return _CALLS.match(order) is not None


def is_limited(behind: str) -> bool:
    """Whether what stands behind a clause says where, when or how far it holds."""
    return _LIMITED.search(behind) is not None


def ended_thing(text: str) -> tuple[frozenset[str], ...]:
    """The words of what `text` says is done no more: only statements with these words can be ended by it; () = it ends nothing."""
    ended = _ended(text)
    return (frozenset(ended.thing),) if ended else ()


@lru_cache(maxsize=256)
def _ended(text: str) -> _Use | None:
    """Return what `text` explicitly ends; None = nothing."""
    flat = " ".join(text.split())
    match = _STOPPED.match(flat) or _NO_LONGER.match(flat) or _ANY_MORE.match(flat)
    if match is None or flat.endswith("?"):
        return None
    phrase = match["what"] + (match.groupdict().get("rest") or "")  # "any more for the docs": not everywhere
    if cut := _CLAUSE_END.search(phrase):
        behind = phrase[cut.start() :]
        if _LIMITED.search(behind) or (cut["mark"] == "," and not _NEW_CLAUSE.match(behind)):
            return None
        phrase = phrase[: cut.start()]
    while (shorter := _EVER.sub("", phrase)) != phrase:
        phrase = shorter
    use = _use(match["verb"], phrase)
    is_named = 0 < len(use.thing) <= _LONGEST and not (len(use.thing) == 1 and use.thing[0] in _PRONOUNS)
    return use if is_named else None


def _use(verb: str, phrase: str) -> _Use:
    """`phrase` taken apart: the object, and the words from the first one on that says where, when or what for."""
    words = [token.strip("`'.!*").lower() for token in _TOKEN.findall(phrase)]
    words = [word for word in words if word]
    at = next((place for place, word in enumerate(words) if _PLACE.match(word)), len(words))
    behind = words[at:]
    bounded = any(
        word in _BOUNDS or (word == "for" and following in _ARTICLES)
        for word, following in pairwise((*behind, ""))
    )
    return _Use(
        verb=verb.lower(),
        thing=tuple(word for word in words[:at] if word not in _ARTICLES),
        where=frozenset(word for word in behind if not _PLACE.match(word) and word not in _ARTICLES),
        bounded=bounded,
    )


def _base(verb: str) -> str:
    verb = verb.lower()
    return verb.removesuffix("s") if len(verb) > 3 and not verb.endswith("ss") else verb


def _bases(verb: str) -> frozenset[str]:
    """Return what a verb may be without its ending: using -> us, use; running -> runn, run."""
    if not verb.endswith("ing") or len(verb) < 5:
        return frozenset({_base(verb)})
    stem = verb[:-3]
    doubled = stem[:-1] if len(stem) > 2 and stem[-1] == stem[-2] else stem
    return frozenset({stem, f"{stem}e", doubled})
