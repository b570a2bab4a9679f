"""The moments that a statement names: `before every commit`, `never push to main`, `after changing proto/`.

In: a statement. Out: moments, none where its words do not name one for certain. Pure; reads English clauses by their connectives,
so that what a rule prescribes (`run make lint`) is never taken for when it applies.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache

from tacit.reading.moments.moment import Moment, Target
from tacit.reading.moments.phrases import Phrases
from tacit.text.lazy_regex import lazy_regex

_CUT = 600
_MOST = 4
_CLAUSE = lazy_regex(r"(?<=[.!?])\s+|\n+|;\s*|\s+[-\u2013\u2014]\s+")
_MAY_NAME = lazy_regex(
    r"\b(?:before|prior|ahead|after|once|when|whenever|while|if|upon|on|each|every|any|never|not|no|avoid|only|must|should|shall|has|have|needs?|gets?"
    r"|requires?|follow|follows|in|under|inside|within|below|go|start|starts?|begin|ask|tell|instead|rather|forbidden|limits|means?|run|open|with|against)\b|n't\b",
    re.IGNORECASE,
)
_ASK = lazy_regex(
    r"\b(?:ask|tell|warn|consult|inform|notify|check with|talk to|confirm with|wait for)\s+(?:me|us|my|the (?:user|team|owner|maintainers?)|a human)\b[^,;]*?\b(?:before|prior to)\s+"
    r"|\b(?:ask|get (?:my |an? )?(?:ok|okay|approval|confirmation|permission)|confirm)\b[^,;]{0,20}?\b(?:before|prior to)\s+",
    re.IGNORECASE,
)
_ONLY_AFTER = lazy_regex(r"\bonly\s+(?:after|when|once|if|with)\b", re.IGNORECASE)
_NEGATION = lazy_regex(
    r"\b(?:under no circumstances(?: should you)?|(?:I|we)\s+(?:do not|don't|never)\s+want(?:\s+(?:you|agents?)\s+to)?|(?:you |we |agents? )?(?:must|may|should|shall|can|do|does|will)(?:\s+not|n't)(?:\s+ever)?"
    r"|cannot|can't|mustn't|shouldn't|don't|doesn't|never|avoid|refrain from|(?:it is |you are )?(?:forbidden|not allowed) to)\b|^no\b(?!\s+(?:one|matter|longer))",
    re.IGNORECASE,
)
_REFUSED = lazy_regex(
    r"\b(?:is|are)\s+(?:strictly\s+)?(?:off[ -]limits|forbidden|prohibited|not allowed|read[ -]only|taboo|for\s+(?:\S+\s+){1,4}only)\b"
    r"|\b(?:needs?|requires?)\s+(?:my|our|an?|explicit)\s+(?:explicit\s+)?(?:ok|okay|approval|permission|consent|confirmation|go-ahead)\b|\b(?:needs?|requires?)\s+(?:approval|permission|confirmation)\b",
    re.IGNORECASE,
)
_INSTEAD = lazy_regex(
    r"(?:,|\()\s*(?:and\s+)?(?:not|never)\s+|\b(?:instead of|rather than)\s+", re.IGNORECASE
)
_EVERY = r"(?:on|for|with|at|in|per|upon|during)\s+(?:every|each|any|all)"
_CONDITION = lazy_regex(
    rf"\b(?:before|prior to|ahead of|after|once|when(?:ever)?|while|if|upon|as soon as|(?:each|every|any) time|in case|{_EVERY})\b|^on\b",
    re.IGNORECASE,
)
_VERBS_TEXT = """
add apply ask avoid backup back bump bundle call check choose clean close comment commit compile confirm copy create cut delete describe
disable document drop enable ensure enter export fetch fill fix follow format generate get give go have import include increment inform
install keep label leave let link lint list load log look make mark mention merge mock move name notify open pass pick pin place prefer
prepare print publish pull push put read rebase rebuild record refresh regenerate reload remove rename replace request reset restart
restore review revert rerun roll run save scan see send set ship show sign skip sort split squash start stage stash state stop store
submit sync tag take tell test touch trigger try turn type update upgrade upload use validate verify wait warn wrap write
"""
_ORDER = rf"(?:please |always |first )*(?:{'|'.join(_VERBS_TEXT.split())})"
_BREAK = lazy_regex(
    rf"[,:;()]|\s(?:then|so that|because|since|as it|or else|otherwise|and (?:then )?(?={_ORDER}\s))\b",
    re.IGNORECASE,
)
_LIMITED = lazy_regex(
    r"[,:;()]|\s(?:unless|without|until|before|after|when|whenever|if|that|which|because|since|by hand|except|instead|so that|go through)\b",
    re.IGNORECASE,
)
_NEXT_ORDER = lazy_regex(rf"\s{_ORDER}\s", re.IGNORECASE)
_OBLIGES = lazy_regex(
    rf"^\ue000|(?:^\W*|:\s+){_ORDER}\b|\b(?:must|should|shall|has to|have to|need(?:s|ed)?|gets?|always|never|requires?|required|don't|do not|means?|make sure|be sure)\b"
    r"|\b(?:is|are) (?:to be |always |never )?\w+ed\b|\bcomes? with\b",
    re.IGNORECASE,
)
"""What a clause says besides its condition must be an order; else it tells what happens (`the build runs when ...`).

The order may follow the heading that an imported rule stood under (`Work on this project: Lint with flake8 ...`)."""
_MODAL = lazy_regex(
    r"\s(?:must|should|shall|has to|have to|needs?|gets?|requires?|follows?|goes|go against|starts? with|begins? with|means?|only (?:with|via|through|from|in|after|by)"
    r"|(runs?) (?:with|in|under|through|via)|(?:are|is) (?:run|started) (?:with|in|under|through|via))\b",
    re.IGNORECASE,
)
_MOST_HEAD_WORDS = 8
_ANY = lazy_regex(
    r"(?:any\w*|every\w*|each|all|new|changing|editing|adding|touching|changes to)\b", re.IGNORECASE
)
_MUST = lazy_regex(r"\s(?:must|should|shall|has to|have to|needs?|gets?|requires?|means?)", re.IGNORECASE)
"""`Every change there needs ...`: an order, of whatever kind the statement is."""
_TESTS = lazy_regex(r"\b(?:tests?|specs?)\s*$", re.IGNORECASE)
_IMPERATIVE = lazy_regex(
    r"^(?:please\s+|always\s+|only\s+)*((?:run|open|create|submit|file|start|make|write|name|sign|tag|squash|execute|publish|upload|send)\s+.+?)\s+(?:with|using|via|through|against|under|from|as|in|by)\s",
    re.IGNORECASE,
)
_SUBJECT = lazy_regex(r"^\W*(?:please|always|and|but|also|you|we|agents?|claude|so|then|\W)*$", re.IGNORECASE)
_PLACED = lazy_regex(
    rf"^(?!{_ORDER}\b)(?:(?!(?:is|are|was|were|lives?|lies?|stands?|sits?|belongs?|goes|go)\b)[\w'-]+\s+){{0,3}}(?:in|under|inside|within|below)\s+(\S+?)(?:,\s*|\s+)\S",
    re.IGNORECASE,
)
"""What a clause is about lies in a place: `amounts in src/ledger/ are integers`, `in src/api/, use ...`."""
_WRITES = lazy_regex(r"^(?:write|name)\b", re.IGNORECASE)
_SENTENCE = lazy_regex(r"(?<=[.!?])\s+|\n+")
_SUBJECT_FILE = lazy_regex(
    r"^\W*(?:(?:the|our|this)\s+)?(?:(?:file|module|script|folder|package)\s+)?(\ue000\d+\ue001(?:\s*(?:,|and|or)\s*\ue000\d+\ue001)*)\s*[:\w]",
    re.IGNORECASE,
)
"""What a sentence is about is a file: `parser.py holds the tokenizer; do not use regular expressions outside it`."""
_ORDERS_AT_FILE = lazy_regex(
    r"\s(?:must|should|shall|has to|have to|may only|may not)\b|(?:^|[:,]|\band)\s*(?:do not|don't|never|always)\b"
    rf"|(?:^|:)\s*(?:then\s+)?{_ORDER}\b",
    re.IGNORECASE,
)
"""More is asked of such a sentence than of one with a connective: most sentences about a file tell what it does."""


@lru_cache(maxsize=8192)
def read_moments(statement: str) -> tuple[Moment, ...]:
    """The moments that `statement` names, in its order, at most four."""
    text = statement[:_CUT].replace("\u2019", "'")
    if not _MAY_NAME.search(text):
        return ()
    phrases = Phrases(text)
    found: dict[Moment, None] = {}
    for sentence in _SENTENCE.split(phrases.masked):
        for clause in _CLAUSE.split(sentence):
            moment = _of_clause(clause.strip(" .!?"), phrases) if clause.strip() else None
            if moment is not None and not moment.target.empty:
                found.setdefault(moment)
        if (about := _about_file(sentence, phrases)) is not None:
            found.setdefault(about)
    return tuple(found)[:_MOST]


def _of_clause(clause: str, phrases: Phrases) -> Moment | None:
    """The first reading of a clause that names a call: a leave to be asked, a prohibition, a condition, an alternative, a way."""
    for read in (_asked, _only_after, _forbidden, _refused, _conditional, _replaced, _prescribed, _placed):
        moment = read(clause, phrases)
        if moment is not None and not moment.target.empty:
            return moment
    return None


def _asked(clause: str, phrases: Phrases) -> Moment | None:
    match = _ASK.search(clause)
    return Moment(target=phrases.target(_until(clause[match.end() :])), forbids=True) if match else None


def _only_after(clause: str, phrases: Phrases) -> Moment | None:
    match = _ONLY_AFTER.search(clause)
    head = clause[: match.start()] if match else ""
    return Moment(target=phrases.target(head)) if head and _is_short(head) else None


def _forbidden(clause: str, phrases: Phrases) -> Moment | None:
    match = _NEGATION.search(clause)
    condition = _CONDITION.search(clause)
    if match is None or (
        condition is not None and condition.start() < match.start() and _names(clause, phrases)
    ):
        return None
    said = clause[match.end() :]
    if (end := _LIMITED.search(said)) is not None:
        said = said[: end.start()]
    before = clause[: match.start()]
    passive = not _SUBJECT.match(before) and re.match(r"\s*be\b", said)
    if (
        not _SUBJECT.match(before)
        and not passive
        and not before.rstrip().endswith((",", ":", "and", "but", "or"))
    ):
        return None  # `tests must not touch the network` says what tests are like
    changes = match[0].lower() == "no"
    return Moment(
        target=phrases.target(f"{before} {said}" if passive else said, changes=changes), forbids=True
    )


def _names(clause: str, phrases: Phrases) -> bool:
    moment = _conditional(clause, phrases)
    return moment is not None and not moment.target.empty


def _refused(clause: str, phrases: Phrases) -> Moment | None:
    match = _REFUSED.search(clause)
    target = phrases.target(clause[: match.start()], changes=True) if match else Target()
    return Moment(target=target, forbids=True)


def _conditional(clause: str, phrases: Phrases) -> Moment | None:
    for match in _CONDITION.finditer(clause):
        before, said = clause[: match.start()], _until(clause[match.end() :])
        leads = bool(_SUBJECT.match(before))
        rest = clause[match.end() + len(said) :] if leads else before
        if leads and (order := _NEXT_ORDER.search(said)) is not None:
            # Without a comma the order follows the condition: `for every CSS change take a screenshot`.
            shortened = phrases.target(said[: order.start()])
            if not shortened.empty:
                return Moment(target=shortened)
        target = phrases.target(said)
        if not target.empty and _OBLIGES.search(rest.lstrip(" ,:;")):
            return Moment(target=target)
    return None


def _until(said: str) -> str:
    end = _BREAK.search(said)
    return said[: end.start()] if end else said


def _replaced(clause: str, phrases: Phrases) -> Moment | None:
    """`Use pnpm, not npm, to install packages`: the call of what is not to be used."""
    match = _INSTEAD.search(clause)
    if match is None:
        return None
    target = phrases.command_at(clause[match.end() :])
    if len(target.commands) == 1 and len(target.commands[0]) == 1:
        target = replace(target, acts=phrases.target(clause.replace(match[0], " ")).acts)
    return Moment(target=target, forbids=True)


def _prescribed(clause: str, phrases: Phrases) -> Moment | None:
    """How something is done: `pull requests go against develop`, `run the Go tests with -race`."""
    if _CONDITION.search(clause):
        return None  # when it applies is said, but names no call
    order = _IMPERATIVE.match(clause)
    if order is not None:
        target = phrases.target(order[1])
        return Moment(target=replace(target, acts=()) if _WRITES.match(order[1]) else target, way=True)
    modal = _MODAL.search(clause)
    head = clause[: modal.start()] if modal else ""
    if modal is None or not _is_short(head) or (len(head.split()) > 3 and _NEXT_ORDER.match(f" {clause}")):
        return None
    if modal[1] and _TESTS.search(head):
        head = f"run {head}"
    return Moment(target=phrases.target(head), way=not (_ANY.match(head) and _MUST.match(modal[0])))


def _is_short(head: str) -> bool:
    """Whether what stands before a verb is its subject, or an order, and no clause of its own."""
    return "," not in head and ":" not in head and len(head.split()) <= _MOST_HEAD_WORDS


def _placed(clause: str, phrases: Phrases) -> Moment | None:
    match = _PLACED.match(clause)
    target = phrases.target(match[1], changes=True) if match else Target()
    return Moment(target=Target(paths=target.paths), way=True)


def _about_file(sentence: str, phrases: Phrases) -> Moment | None:
    """A file is the subject of a sentence that obliges: whoever works on the file must know it, and so must who looks at it."""
    match = _SUBJECT_FILE.match(sentence)
    if match is None:
        return None
    clauses = (part.strip() for part in _CLAUSE.split(f"\ue000{sentence[match.end(1) :]}"))
    if not any(_ORDERS_AT_FILE.search(clause) for clause in clauses):
        return None
    target = phrases.files(match[1])
    return Moment(target=target, subject=True) if not target.empty else None
