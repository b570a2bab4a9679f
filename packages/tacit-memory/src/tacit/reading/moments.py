"""The moments that a statement names: `before every commit`, `never push to main`, `after changing proto/`.

In: a statement. Out: moments, none where its words do not name one for certain. Pure; reads English clauses by their connectives,
so that what a rule prescribes (`run make lint`) is never taken for when it applies.

`moment` holds the values and the acts, `moment_phrases` reads what a phrase names, `moment_places` knows files and folders, and
`moment_calls` compares a tool call or a prompt with a moment.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache

from tacit.reading.moment import CallConditions, Moment
from tacit.reading.moment_phrases import Phrases
from tacit.text.lazy_regex import lazy_regex, wording

_PHRASES = wording("moments")

_CUT = 600
_MOST = 4
_CLAUSE = lazy_regex(r"(?<=[.!?])\s+|\n+|;\s*|(?<![^\S\n])\s+[-\u2013\u2014]+\s+")
_MOST_HEAD_WORDS = 9
_TITLE = lazy_regex(r"^((?:\w+ ){1,3}\w+)$")
_SENTENCE = lazy_regex(r"(?<=[.!?])(?<!e\.g\.)(?<!i\.e\.)\s+|\n+")


@lru_cache(maxsize=8192)
def read_moments(statement: str) -> tuple[Moment, ...]:
    """Return the moments that the words of `statement` name, in order, at most four.

    They are the calls before or at which a rule applies, such as `before every commit`. Empty = no moment is
    named clearly.
    """
    text = statement[:_CUT].replace("\u2019", "'")
    phrases = Phrases(text)
    moments: dict[Moment, None] = {}
    for sentence in _SENTENCE.split(phrases.masked):
        for clause in _CLAUSE.split(sentence):
            moment = _of_clause(clause.strip(" .!?"), phrases) if clause.strip() else None
            if moment is None or moment.target.empty:
                moment = _asked_about(clause.strip(), sentence, phrases)
            if moment is not None and not moment.target.empty:
                moments.setdefault(_with_options(moment, sentence, phrases))
        if (about := _about_file(sentence, phrases)) is not None:
            moments.setdefault(about)
    return tuple(moments)[:_MOST]


def _with_options(moment: Moment, sentence: str, phrases: Phrases) -> Moment:
    """Return the moment; for a rule on how a command is called, a call with the prescribed options fulfills it."""
    if moment.forbids or not (moment.way and (moment.target.commands or moment.target.acts)):
        return moment
    return replace(moment, target=phrases.satisfied_by(moment.target, sentence))


def _of_clause(clause: str, phrases: Phrases) -> Moment | None:
    """Return the moment of a clause, by the first reading that names a call; None = none."""
    for read in (
        _asked,
        _only_after,
        _forbidden,
        _kept_off,
        _refused,
        _conditional,
        _replaced,
        _prescribed,
        _placed,
    ):
        moment = read(clause, phrases)
        if moment is not None and not moment.target.empty:
            return moment
    return None


def _asked(clause: str, phrases: Phrases) -> Moment | None:
    match = _PHRASES.ask.search(clause)
    if match is None:
        return None
    asked_for = clause[match.end() :]
    target = phrases.target(_until(asked_for))
    if target.empty and (example := _PHRASES.example.search(asked_for)) is not None:
        target = phrases.target(asked_for[example.end() :])
    return Moment(target=target, forbids=True)


def _asked_about(clause: str, sentence: str, phrases: Phrases) -> Moment | None:
    """Return the moment of a short question that opens a rule: `Pushing? Then rebase first`; else None."""
    if not sentence.rstrip().endswith("?") or len(clause.split()) > 5:
        return None
    return Moment(target=phrases.target(clause.strip(" ?")))


def _only_after(clause: str, phrases: Phrases) -> Moment | None:
    match = _PHRASES.only_after.search(clause)
    head = clause[: match.start()] if match else ""
    return Moment(target=phrases.target(head)) if head and _is_short(head) else None


def _forbidden(clause: str, phrases: Phrases) -> Moment | None:
    condition = _PHRASES.condition.search(clause)
    for match in _PHRASES.negation.finditer(clause):
        if condition is not None and condition.start() < match.start() and _names(clause, phrases):
            return None
        forbidden = clause[match.end() :]
        if (end := _PHRASES.limited.search(forbidden)) is not None and (
            end.start() > 0 or end[0] not in ",:"
        ):
            forbidden = forbidden[: end.start()]
        before = clause[: match.start()]
        passive = not _PHRASES.subject.match(before) and re.match(
            r"\s*(?:ever\s+)?be\b|\s+\w+(?:ed|en)\b", forbidden
        )
        if (
            not _PHRASES.subject.match(before)
            and not passive
            and not before.rstrip().endswith((",", ":", "and", "but", "or"))
            and not re.search(
                r"(?:^|\b(?:so|that|and|then|because)\s+|[,(:]\s*)(?:you|we|agents?)\s*$", before
            )
            and match[0].lower().split()[0] not in ("nobody", "no", "under")
            and not re.match(r"(?:so |and |but )?(?:you|we|agents?) ", match[0], re.IGNORECASE)
        ):
            continue  # `tests must not touch the network` says what tests are like
        changes = match[0].lower().strip(" ,:") == "no" or bool(passive)
        whole = f"{_last_part(before)} {forbidden}" if passive else forbidden
        if not (target := phrases.target(whole, changes=changes)).empty:
            return Moment(target=target, forbids=True)
    return None


def _last_part(before: str) -> str:
    """Return the last part of `before`, the words before a verb: its subject."""
    last = re.split(r"[,:;]\s+|\b(?:so|and|but)\s+", before)[-1]
    return last if "\ue000" in last else before


def _names(clause: str, phrases: Phrases) -> bool:
    moment = _conditional(clause, phrases)
    return moment is not None and not moment.target.empty


def _kept_off(clause: str, phrases: Phrases) -> Moment | None:
    """Return the moment of `Stay out of vendor/`, `leave vendor/ alone`; else None."""
    match = _PHRASES.kept_off.search(clause)
    if match is None or not _PHRASES.subject.match(clause[: match.start()]):
        return None
    place = match[1]
    if match[0].lower().startswith("leave"):
        alone = _PHRASES.alone.search(place)
        if alone is None:
            return None
        place = place[: alone.start()]
    return Moment(target=phrases.target(_until(place), changes=True), forbids=True)


def _refused(clause: str, phrases: Phrases) -> Moment | None:
    match = _PHRASES.refused.search(clause)
    if match is None:
        return None
    before, after = clause[: match.start()], clause[match.end() :]
    target = phrases.target(before, changes=True)
    if target.commands and (scope := _until(after)) and not target.words:
        target = replace(target, words=phrases.target(f"{before} {scope}", changes=True).words)
    return Moment(target=target, forbids=True)


def _conditional(clause: str, phrases: Phrases) -> Moment | None:
    for match in _PHRASES.condition.finditer(clause):
        before, condition = clause[: match.start()], _until(clause[match.end() :])
        leads = bool(_PHRASES.subject.match(before))
        main_clause = clause[match.end() + len(condition) :] if leads else before
        if leads and (order := _PHRASES.next_order.search(condition)) is not None:
            # Without a comma the order follows the condition: `for every CSS change take a screenshot`.
            shortened = phrases.target(condition[: order.start()])
            if not shortened.empty:
                return Moment(target=shortened)
        target = phrases.target(condition)
        if (
            target.acts == ("commit",)
            and not target.paths
            and not leads
            and _PHRASES.passive.search(condition)
        ):
            target = replace(target, paths=phrases.file_patterns_named(before))
        if target.empty:
            continue
        if _PHRASES.who.match(match[0]) or _PHRASES.obliges.search(
            main_clause.lstrip(" ,:;?").rsplit(": ", 1)[-1]
        ):
            return Moment(
                target=replace(target, paths=target.paths[:1]) if _PHRASES.who.match(match[0]) else target
            )
    return None


def _until(phrase: str) -> str:
    end = _PHRASES.breaks.search(phrase)
    return phrase[: end.start()] if end else phrase


def _replaced(clause: str, phrases: Phrases) -> Moment | None:
    """Return the call that is not to be used: `npm` in `Use pnpm, not npm, to install packages`; else None."""
    for match in _PHRASES.instead.finditer(clause):
        target = phrases.command_at(clause[match.end() :])
        if target.empty:
            continue
        if len(target.commands) == 1 and len(target.commands[0]) == 1:
            acts = phrases.target(clause.replace(match[0], " ")).acts
            target = replace(target, acts=acts if acts in (("install",), ("update_dependency",)) else ())
        return Moment(target=target, forbids=True, instead=True)
    return None


def _prescribed(clause: str, phrases: Phrases) -> Moment | None:
    """Return the call that the clause prescribes a way for: `run the Go tests with -race`; else None."""
    condition = _PHRASES.condition.search(clause)
    if condition is not None and not phrases.target(_until(clause[condition.end() :])).empty:
        return None  # when it applies is said, but names no call
    order = _PHRASES.imperative.match(clause)
    if order is not None and condition is not None:
        return None  # `run the linter after every change`: what is ordered is no moment where another one is said
    if order is not None:
        target = phrases.target(order[1])
        if not target.empty:
            return Moment(
                target=replace(target, acts=())
                if _PHRASES.writes.match(order[1]) and "branch" not in target.acts
                else target,
                way=True,
            )
    title, colon, _ = clause.partition(": ")
    if colon and _TITLE.match(title) and (acts := phrases.target(title)).acts:
        return Moment(target=acts, way=True)
    for modal in _PHRASES.modal.finditer(clause):
        head = clause[: modal.start()]
        if not _is_short(head) or (len(head.split()) > 3 and _PHRASES.next_order.match(f" {clause}")):
            return None
        if _PHRASES.tests.search(head) and (modal[1] or "run" in modal[0] or "must be" in modal[0]):
            head = f"run {head}"
        target = phrases.target(head)
        if (
            target.empty
            and (kept_so := _PHRASES.kept_so.search(clause)) is not None
            and kept_so.start() <= modal.start()
        ):
            target = replace(phrases.target(head, changes=True), commands=(), acts=())
        if target.empty:
            continue
        must = _PHRASES.any.match(head) and _PHRASES.must.match(modal[0])
        return Moment(target=target, way=not must)
    return None


def _is_short(head: str) -> bool:
    """Whether the words before a verb are its subject or an order, and not a clause."""
    return "," not in head and ":" not in head and len(head.split()) <= _MOST_HEAD_WORDS


def _placed(clause: str, phrases: Phrases) -> Moment | None:
    match = _PHRASES.placed.match(clause)
    target = phrases.target(match[1], changes=True) if match else CallConditions()
    return Moment(target=CallConditions(paths=target.paths), way=True)


def _about_file(sentence: str, phrases: Phrases) -> Moment | None:
    """Return the moment of working on the file that is the subject of an obliging sentence; else None."""
    match = _PHRASES.subject_file.match(sentence)
    if match is None:
        return None
    clauses = (piece.strip() for piece in _CLAUSE.split(f"\ue000{sentence[match.end(1) :]}"))
    if not any(_PHRASES.orders_at_file.search(clause) for clause in clauses):
        return None
    target = phrases.files(match[1])
    return Moment(target=target, subject=True) if not target.empty else None
