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

from tacit.reading.moment import Moment, Target
from tacit.reading.moment_phrases import Phrases
from tacit.text.lazy_regex import lazy_regex

_CUT = 600
_MOST = 4
_CLAUSE = lazy_regex(r"(?<=[.!?])\s+|\n+|;\s*|\s+[-\u2013\u2014]+\s+")
_LEAVE_GIVEN = r"(?:ok|okay|approval|permission|consent|sign-?off|go-?ahead|blessing|confirmation|authori[sz]ation|say-so|agreement|green light)"
_PERSON = r"(?:me|us|my|the (?:user|team|owner|maintainers?|author)|a human|[A-Z]\w+)"
_ASK = lazy_regex(
    rf"\b(?:(?i:ask|tell|warn|consult|inform|notify|check with|talk to|confirm with|wait for|check in with|clear it with)\s+(?:first\s+)?{_PERSON}(?i:\b[^,;]*?\b(?:before|prior to)\s+)"
    rf"|(?i:(?:ask|get (?:my |an? )?{_LEAVE_GIVEN}|confirm)\b[^,;]{{0,20}}?\b(?:before|prior to)\s+))"
)
_EXAMPLE = lazy_regex(r"\b(?:for (?:instance|example)|such as|e\.g\.|like|including)\s+", re.IGNORECASE)
_ONLY_AFTER = lazy_regex(r"\bonly\s+(?:after|when|once|if|with)\b", re.IGNORECASE)
_NEGATION = lazy_regex(
    r"\b(?:under no circumstances(?:,? (?:should|may|must) (?:you|agents?))?|(?:I|we)\s+(?:do not|don't|never)\s+want(?:\s+(?:you|agents?|anyone|anybody))?(?:\s+to)?|I'd rather you (?:did not|didn't)"
    r"|(?:you |we |agents? )?(?:must|may|should|shall|can|do|does|will|would|is|are|need)(?:\s+not|n't)(?:\s+(?:ever|allowed to|supposed to|permitted to|meant to|to))?"
    r"|cannot|can't|mustn't|shouldn't|don't|doesn't|never|avoid|refrain from|(?:(?:it is|it's|you are|you're) )?(?:forbidden|prohibited|not allowed|not permitted) to"
    r"|(?:nobody|no one|no agent)(?: (?:may|should|must|can|is (?:allowed )?to|ever))?|stop|quit)\b(?!\s+(?:forget|hesitate|worry|skip|only|just)\b)|(?:^|[,:]\s*)no\b(?!\s+(?:one|matter|longer|need|problem))",
    re.IGNORECASE,
)
_KEPT_OFF = lazy_regex(
    r"\b(?:(?:stay|keep) (?:out of|away from|clear of|off)|(?:keep (?:your )?)?(?:hands|fingers|paws) (?:off|out of|away from)|steer clear of|leave)\s+(.+)",
    re.IGNORECASE,
)
_ALONE = lazy_regex(
    r"\s(?:alone|untouched|as (?:it|they) (?:is|are)|unchanged|be|to (?:me|us|CI|the \w+))\b", re.IGNORECASE
)
_ADVERBS = r"(?:(?:strictly|absolutely|completely|always|currently|also|all|to be|explicitly)\s+)*"
_REFUSED = lazy_regex(
    rf"\b(?:is|are|be|stays?|remains?)\s+{_ADVERBS}(?:off[ -]limits|out of bounds|forbidden|prohibited|banned|disallowed|not (?:allowed|permitted|acceptable|ok(?:ay)?|an option|for you|yours)|read[ -]only|immutable|frozen|taboo"
    r"|a no-?go|no-?go|verboten|blocked|reserved for|never (?:ok(?:ay)?|allowed|acceptable|an option)|(?:not|never) to be|mine|my (?:job|call|business)|up to me|left to (?:me|us|the|CI)|the (?:job|task|business) of|for\s+(?:\S+\s+){1,4}only|only for)\b"
    rf"|\b(?:isn't|aren't|(?:is|are) (?:not|never))\s+(?:\w+ ){{0,2}}?(?:to be|meant to be|supposed to be|allowed|permitted|acceptable|ok(?:ay)?|an option|for you|yours)\b"
    rf"|\b(?:needs?|requires?|takes?|wants?)\s+(?:[\w']+\s+){{0,3}}?{_LEAVE_GIVEN}\b|\b(?:belongs?|is left|are left) to (?:the )?(?:CI|pipeline|me\b|us\b)"
    rf"|\b(?:may|must|can|should)\s+only\s+be\s+\w+\s+(?:by|from|in|on)\b|\b(?:happens?|runs?|is done|are done|is run|are run|is executed|is started)\s+(?:only|exclusively)\s+(?:in|by|from|on)\b"
    rf"|\bonly\s+(?:happens?|runs?)\s+(?:in|by|from|on)\b|\b(?:is|are)\s+(?:done|run|handled|triggered)\s+by\s+(?:me|the (?:pipeline|CI|release|ops)\b)|\b(?:never|not)\s+without\s+(?:[\w']+\s+){{0,3}}?{_LEAVE_GIVEN}\b",
    re.IGNORECASE,
)
_INSTEAD = lazy_regex(
    r"(?:,|\()\s*(?:and\s+)?(?:not|never)\s+|\b(?:instead of|rather than|in place of|in preference to|as opposed to)\s+|\bprefer\w*\b[^.;]*?\b(?:over|to)\s+(?=\ue000|the \ue000|plain )|\breplaces\s+|\bnot\s+(?=\ue000)",
    re.IGNORECASE,
)
_UNIT = r"(?:each|every|any|all)"
_EVERY = rf"(?:on|for|with|at|in|into|per|upon|during|to|from|by|of)\s+{_UNIT}"
_CONDITION = lazy_regex(
    rf"\b(?:before|prior to|ahead of|after(?!wards?)|following|once|when(?:ever)?|while|if|upon|as soon as|(?:each|every|any) time|the moment|in case|anyone (?:who|that)|anybody (?:who|that)|whoever|those who|{_EVERY})\b"
    r"|^(?:and |then |also )?(?:on|for|having|anyone|anybody|per)\b|^(?:(?:\w+ly|then|and) )?(?=\w+ing\b[^,?]*[,?])",
    re.IGNORECASE,
)
_PASSIVE = lazy_regex(r"\b(?:it|they|them|being|are|is)\b", re.IGNORECASE)
_WHO = lazy_regex(r"(?:anyone|anybody|whoever|those)", re.IGNORECASE)
_VERBS_TEXT = """
add apply ask assign avoid back build bump bundle call check choose clean clear close comment commit compile confirm copy create cut delete describe
disable document drop enable ensure enter export fetch fill fix follow format generate get give go have import include increment inform
install keep label leave let link lint list load log look make mark mention merge mock move name notify open pass pick pin place prefer
prepare print publish pull push put read rebase rebuild record refresh regenerate reload remove rename replace request reset restart
restore review revert rerun roll run save scan see send set ship show sign skip sort split squash start stage stash state stop store
submit sync tag take tell test touch trigger try turn type update upgrade upload use validate verify wait warn wrap write
"""
_ORDER = rf"(?:please |always |first )*(?:{'|'.join(_VERBS_TEXT.split())})"
_BREAK = lazy_regex(
    rf"[,:;()?]|(?<=\w)\syou run\b|\s(?:then|so that|because|since|as it|or else|otherwise|you (?:must|should|have to|need to|always|never|also)|and (?:then )?(?={_ORDER}\s))\b",
    re.IGNORECASE,
)
_LIMITED = lazy_regex(
    r"[,:;()]|\s(?:unless|without|until|before|after|when|whenever|if|that|which|because|since|by hand|except|instead|so that|go through|go via|to (?:make|get|fix|save|silence|work)|from (?:a|your|the|my) (?:dev|local|own|laptop)\b)\b",
    re.IGNORECASE,
)
_NEXT_ORDER = lazy_regex(rf"\s{_ORDER}\s", re.IGNORECASE)
_FUNCTION_WORDS = "the|a|an|this|that|these|those|it|they|we|i|he|she|there|our|its|their|his|my|all|some|most|both|no|in|on|at|of|by|for|from|with|as|and|or|but|because|since|which|who|what|how|is|are|was|were"
_OBLIGES = lazy_regex(
    rf"^\ue000|(?:^\W*|:\s+)(?:(?:please|always|first|then|also|just|you|make sure (?:to|you)|remember to|don't forget to)\s+)*(?!(?:{_FUNCTION_WORDS})\b)(?-i:[a-z]|[A-Z](?=[a-z]+ ))(?!\w*(?:[^su]s|ing|ed)\b)[\w-]+\b(?! (?:is|are|was|were|has|had|happens|takes|runs)\b)(?! \w+ (?:is|are|happens|runs|takes|was)\b)"
    r"|\b(?:must|should|shall|has to|have to|need(?:s|ed)?|gets?|always|never|requires?|required|don't|do not|means?|make sure|be sure|no|you|I want|please|comes? (?:first|before))\b"
    r"|\b(?:is|are|was|were) (?:to be |always |never |first )?\w+(?:ed|en|un|ten)\b|\bcomes? with\b",
    re.IGNORECASE,
)
"""What a clause says besides its condition must be an order; else it tells what happens (`the build runs when ...`).

The order may follow the heading that an imported rule stood under (`Work on this project: Lint with flake8 ...`)."""
_MODAL = lazy_regex(
    r"\s(?:must|should|shall|has to|have to|needs?|gets?|requires?|follows?|goes|go (?:through|via|against|to|out|in)|starts? with|begins? with|ends? with|looks? like|means?|takes?|carr(?:y|ies)|comes? with|stays?|waits?|contains?|includes?|mentions?|targets?|ha(?:s|ve) (?:a|an|the|at)"
    r"|only (?:with|via|through|from|in|after|by)|always|(?:is|are) (?:first|always|only)"
    r"|(runs?) (?:\w+ )?(?:with|in|under|through|via|headless|against|only|sequentially|serially)|(?:are|is) (?:run|started) (?:with|in|under|through|via)"
    r"|(?:is|are) (?:\w+ ){0,2}?(?:opened|signed|tagged|named|called|built|run|sent|put|made|written|done|started|created|kept|squashed|merged|labell?ed|prefixed|preceded|followed|accompanied|wrapped|invoked|executed|added|pinned|installed|routed|proxied|based|formatted|linted|published|uploaded|given|drafted|assigned|limited|capped|passed|set))\b",
    re.IGNORECASE,
)
_KEPT_SO = lazy_regex(
    r"\s(?:is|are) (?:\w+ ){0,2}?(?:written|kept|named|sorted|formatted|documented|indented|prefixed|numbered|ordered|translated|spelled|phrased|structured|signed|typed|called|versioned|quoted|lower-?case\w*|capped|limited)\b|\s(?:must|should|shall|has to|have to|needs?|gets?|carr(?:y|ies)|starts? with|begins? with|ends? with|follows?|may only|comes? with)\b",
    re.IGNORECASE,
)
"""How a file is kept; said of a file, other verbs mostly tell what it does."""
_MOST_HEAD_WORDS = 9
_ANY = lazy_regex(
    r"(?:any\w*|every\w*|each|all|an?|new|changing|editing|adding|touching|changes to|edits to|updates to)\b",
    re.IGNORECASE,
)
_MUST = lazy_regex(r"\s(?:must|should|shall|has to|have to|needs?|gets?|requires?|means?)", re.IGNORECASE)
"""`Every change there needs ...`: an order, of whatever kind the statement is."""
_TESTS = lazy_regex(r"\b(?:tests?|specs?)\s*$", re.IGNORECASE)
_IMPERATIVE = lazy_regex(
    r"^(?:please\s+|always\s+|only\s+)*((?:run|open|create|submit|file|start|make|write|name|sign|tag|squash|execute|publish|upload|send|build|push|commit|deploy|install|format|release|call|query|fetch|route)\s+.+?)\s+(?:with|using|via|through|against|under|from|as|in|by|to|only)\s",
    re.IGNORECASE,
)
_TITLE = lazy_regex(r"^((?:\w+ ){1,3}\w+)$")
_SUBJECT = lazy_regex(
    r"^\W*(?:please|always|and|but|also|you|we|i|agents?|claude|so|then|do|\W)*$", re.IGNORECASE
)
_PLACED = lazy_regex(
    rf"^(?!{_ORDER}\b)(?:(?!(?:is|are|was|were|lives?|lies?|stands?|sits?|belongs?|goes|go)\b)[\w'-]+\s+){{0,3}}(?:in|under|inside|within|below)\s+(\S+?)(?::\s*|,\s*|\s+)\S",
    re.IGNORECASE,
)
"""What a clause is about lies in a place: `amounts in src/ledger/ are integers`, `in src/api/, use ...`."""
_WRITES = lazy_regex(r"^(?:write|name)\b", re.IGNORECASE)
_SENTENCE = lazy_regex(r"(?<=[.!?])(?<!e\.g\.)(?<!i\.e\.)\s+|\n+")
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
    """A rule that tells how a command is called is kept by a call with the options that it names."""
    if moment.forbids or not (moment.way and (moment.target.commands or moment.target.acts)):
        return moment
    return replace(moment, target=phrases.satisfied_by(moment.target, sentence))


def _of_clause(clause: str, phrases: Phrases) -> Moment | None:
    """The first reading of a clause that names a call: a leave to be asked, a prohibition, a condition, an alternative, a way."""
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
    match = _ASK.search(clause)
    if match is None:
        return None
    asked_for = clause[match.end() :]
    target = phrases.target(_until(asked_for))
    if target.empty and (example := _EXAMPLE.search(asked_for)) is not None:
        target = phrases.target(asked_for[example.end() :])
    return Moment(target=target, forbids=True)


def _asked_about(clause: str, sentence: str, phrases: Phrases) -> Moment | None:
    """`Pushing? Then rebase first`: a question of one act opens the rule that the next sentence says."""
    if not sentence.rstrip().endswith("?") or len(clause.split()) > 5:
        return None
    return Moment(target=phrases.target(clause.strip(" ?")))


def _only_after(clause: str, phrases: Phrases) -> Moment | None:
    match = _ONLY_AFTER.search(clause)
    head = clause[: match.start()] if match else ""
    return Moment(target=phrases.target(head)) if head and _is_short(head) else None


def _forbidden(clause: str, phrases: Phrases) -> Moment | None:
    condition = _CONDITION.search(clause)
    for match in _NEGATION.finditer(clause):
        if condition is not None and condition.start() < match.start() and _names(clause, phrases):
            return None
        forbidden = clause[match.end() :]
        if (end := _LIMITED.search(forbidden)) is not None and (end.start() > 0 or end[0] not in ",:"):
            forbidden = forbidden[: end.start()]
        before = clause[: match.start()]
        passive = not _SUBJECT.match(before) and re.match(r"\s*(?:ever\s+)?be\b|\s+\w+(?:ed|en)\b", forbidden)
        if (
            not _SUBJECT.match(before)
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
    """The subject of a verb that stands after `before`."""
    last = re.split(r"[,:;]\s+|\b(?:so|and|but)\s+", before)[-1]
    return last if "\ue000" in last else before


def _names(clause: str, phrases: Phrases) -> bool:
    moment = _conditional(clause, phrases)
    return moment is not None and not moment.target.empty


def _kept_off(clause: str, phrases: Phrases) -> Moment | None:
    """`Stay out of vendor/`, `leave vendor/ alone`."""
    match = _KEPT_OFF.search(clause)
    if match is None or not _SUBJECT.match(clause[: match.start()]):
        return None
    place = match[1]
    if match[0].lower().startswith("leave"):
        alone = _ALONE.search(place)
        if alone is None:
            return None
        place = place[: alone.start()]
    return Moment(target=phrases.target(_until(place), changes=True), forbids=True)


def _refused(clause: str, phrases: Phrases) -> Moment | None:
    match = _REFUSED.search(clause)
    if match is None:
        return None
    before, after = clause[: match.start()], clause[match.end() :]
    target = phrases.target(before, changes=True)
    if target.commands and (scope := _until(after)) and not target.words:
        target = replace(target, words=phrases.target(f"{before} {scope}", changes=True).words)
    return Moment(target=target, forbids=True)


def _conditional(clause: str, phrases: Phrases) -> Moment | None:
    for match in _CONDITION.finditer(clause):
        before, condition = clause[: match.start()], _until(clause[match.end() :])
        leads = bool(_SUBJECT.match(before))
        main_clause = clause[match.end() + len(condition) :] if leads else before
        if leads and (order := _NEXT_ORDER.search(condition)) is not None:
            # Without a comma the order follows the condition: `for every CSS change take a screenshot`.
            shortened = phrases.target(condition[: order.start()])
            if not shortened.empty:
                return Moment(target=shortened)
        target = phrases.target(condition)
        if target.acts == ("commit",) and not target.paths and not leads and _PASSIVE.search(condition):
            target = replace(target, paths=phrases.file_patterns_named(before))
        if target.empty:
            continue
        if _WHO.match(match[0]) or _OBLIGES.search(main_clause.lstrip(" ,:;?").rsplit(": ", 1)[-1]):
            return Moment(target=replace(target, paths=target.paths[:1]) if _WHO.match(match[0]) else target)
    return None


def _until(phrase: str) -> str:
    end = _BREAK.search(phrase)
    return phrase[: end.start()] if end else phrase


def _replaced(clause: str, phrases: Phrases) -> Moment | None:
    """`Use pnpm, not npm, to install packages`: the call of what is not to be used."""
    for match in _INSTEAD.finditer(clause):
        target = phrases.command_at(clause[match.end() :])
        if target.empty:
            continue
        if len(target.commands) == 1 and len(target.commands[0]) == 1:
            acts = phrases.target(clause.replace(match[0], " ")).acts
            target = replace(target, acts=acts if acts in (("install",), ("update_dependency",)) else ())
        return Moment(target=target, forbids=True, instead=True)
    return None


def _prescribed(clause: str, phrases: Phrases) -> Moment | None:
    """How something is done: `pull requests go against develop`, `run the Go tests with -race`."""
    condition = _CONDITION.search(clause)
    if condition is not None and not phrases.target(_until(clause[condition.end() :])).empty:
        return None  # when it applies is said, but names no call
    order = _IMPERATIVE.match(clause)
    if order is not None and condition is not None:
        return None  # `run the linter after every change`: what is ordered is no moment where another one is said
    if order is not None:
        target = phrases.target(order[1])
        if not target.empty:
            return Moment(
                target=replace(target, acts=())
                if _WRITES.match(order[1]) and "branch" not in target.acts
                else target,
                way=True,
            )
    title, colon, _ = clause.partition(": ")
    if colon and _TITLE.match(title) and (acts := phrases.target(title)).acts:
        return Moment(target=acts, way=True)
    for modal in _MODAL.finditer(clause):
        head = clause[: modal.start()]
        if not _is_short(head) or (len(head.split()) > 3 and _NEXT_ORDER.match(f" {clause}")):
            return None
        if _TESTS.search(head) and (modal[1] or "run" in modal[0] or "must be" in modal[0]):
            head = f"run {head}"
        target = phrases.target(head)
        if (
            target.empty
            and (kept_so := _KEPT_SO.search(clause)) is not None
            and kept_so.start() <= modal.start()
        ):
            target = replace(phrases.target(head, changes=True), commands=(), acts=())
        if target.empty:
            continue
        must = _ANY.match(head) and _MUST.match(modal[0])
        return Moment(target=target, way=not must)
    return None


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
    clauses = (piece.strip() for piece in _CLAUSE.split(f"\ue000{sentence[match.end(1) :]}"))
    if not any(_ORDERS_AT_FILE.search(clause) for clause in clauses):
        return None
    target = phrases.files(match[1])
    return Moment(target=target, subject=True) if not target.empty else None
