"""After a failure: what speaks of exactly this error.

In: a query that speaks of a failure. Out: its pipeline. The kind of a memory decides nothing:
whoever types a statement names none, and a guess is often wrong.

Relevance (own formula; the weights were set by hand on failures of an invented project that nothing is reported on):

    exact  = EXACT_SIGNATURE_RELEVANCE for the same signature
    near   = STATED x overlap of the words of both signatures: of the same program, or of any where one says all that the other says and names a
             variable or the like
    quoted = STATED x UNVERIFIED where words that the memory quotes stand in the error
    shared = STATED x sum of the weights of what both name, PASSES of it reaching the threshold; at most SHARED_CEILING

Shared: a name (identifier, file, port, host, code of an error) 1; a well-known condition, as "no space left" and ENOSPC, 0.6; a plain word 0.5; a program,
a class of errors that any code raises, a folder 0.4; what any error or command line says, nothing. Each is weighed by its
rarity, 1 - log(holders) / log(memories): holders are counted among the candidates, which are nearest in words. A memory that tells of a failure
(fails, hangs, needs, otherwise) has 0.3 more. Of a memory that has a signature of its own only the signatures are compared.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from typing import NamedTuple

from tacit.model.evidence import Candidate
from tacit.model.kinds import DIGEST
from tacit.model.query import Query
from tacit.reading.commands import PROGRAMS, split_commands
from tacit.reading.terms import FILE_END
from tacit.recall.pipelines import search
from tacit.recall.score import judged, with_armed
from tacit.recall.stage import Judgment, Kit, Outcome, Pipeline, RecallState
from tacit.text.lazy_regex import lazy_regex, wording
from tacit.text.stemming import light_stem
from tacit.text.stop_words import ERROR_STOP_WORDS, FUNCTION_WORDS
from tacit.text.tokens import HUMP, NAMED_SPAN, SIGNATURE_WORD, WORD

_CAUSES = wording("causes")
EXACT_SIGNATURE_RELEVANCE = 0.95
STATED = 0.9
MIN_SIGNATURE_OVERLAP = 0.4
TELLING_WORDS = 3
UNVERIFIED = 0.8
"""Factor for a fix that was only told, not seen to work."""
MIN_QUOTE_CHARS = 12
"""Shorter quoted words are names of things, not what an error says."""
NAME, NUMBER, CONDITION, WORD_WEIGHT, BROAD = 1.0, 0.7, 0.6, 0.5, 0.4
TELLS_OF_FAILURE = 0.3
PASSES = 1.0
"""Evidence that gives the relevance `THRESHOLD`: a rare name, or two rare words of a statement that tells of a failure."""
THRESHOLD = 0.4
SHARED_CEILING = 0.85
LEAST_SHARE_OF_BEST = 0.6
"""A memory with less than this share of the best one's evidence gets none for what it shares."""
FEW_MEMORIES = 20
"""Rarity is measured as if there were at least so many memories."""

_QUOTED = lazy_regex(r"['\"`\u201c]([^'\"`\u201d\n]{8,120})['\"`\u201d]")
_PLACE = lazy_regex(
    r"\bline \d+|:\d+(?::\d+)?(?=[:,\s)]|$)(?<!\d\.\d:\d{4})|\b\d{4}-\d\d-\d\d\S*|\b\d+(?:\.\d+)?(?:ms|s|m|h|kb|mb|gb|%)\b|\x1b\[[\d;]*m",
    re.IGNORECASE,
)
_PORT = lazy_regex(r"\b(?:localhost|[\w-]{1,63}(?:\.[\w-]{1,63}){1,20}|\d{1,3}(?:\.\d{1,3}){3}):(\d{2,5})\b")
_TOKEN = lazy_regex(r"(?<![\w@./~-])[\w@./~-]*\w")
_PART = lazy_regex(r"[^\W\d_]+|\d+")
_NAMED = lazy_regex(r"\A(?=.*[A-Za-z]).*\d|\w_\w|[a-z0-9][A-Z]", re.DOTALL)
_VERSION = lazy_regex(r"v?\d+\w?(?:[.-]\d+)*\w?|utf-?\d+")
_CLASS = lazy_regex(r"[A-Z]\w{0,255}(?:Error|Exception|Warning)$")
_BROAD_CLASSES = frozenset({
    "typeerror", "valueerror", "keyerror", "attributeerror", "indexerror", "nameerror", "importerror", "modulenotfounderror", "runtimeerror",
    "assertionerror", "syntaxerror", "referenceerror", "rangeerror", "oserror", "ioerror", "filenotfounderror", "nullpointerexception",
    "illegalargumentexception", "illegalstateexception", "calledprocesserror", "indentationerror", "unboundlocalerror",
})  # fmt: skip
_CONDITIONS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (name, lazy_regex(pattern, re.IGNORECASE))
    for name, pattern in (
        ("connection refused", r"econnrefused|connection ?refused"),
        ("connection reset", r"econnreset|connection ?reset"),
        ("address in use", r"eaddrinuse|address already in use|port is (?:already )?(?:taken|in use|allocated)"),
        ("no space", r"enospc|no space left|(?:out of|runs? out of|ran out of) disk|disk (?:is )?full"),
        ("out of memory", r"enomem|oom[- ]?kill\w*|\boom\b|out of memory|heap limit|exit(?:ed)?(?: with)? (?:code |status )?137"),
        ("timed out", r"etimedout|time[sd]? ?out|timeout\w*"),
        ("permission denied", r"eacces|eperm|permission ?denied|operation not permitted"),
        ("unauthorized", r"\b401\b|unauthori[sz]ed"),
        ("too many requests", r"\b429\b|too many requests|rate limit"),
        ("forbidden", r"\b403\b|forbidden"),
        ("deadlock", r"deadlock"),
        ("too many files", r"emfile|too many open files"),
    )
)  # fmt: skip
_GENERIC_TEXT = """
abort aborted access action actual address all already argument arguments array assert assertion at attempt bad branch build built cache call called cannot cat
check class client close closed code command commit compile compiled complete config connect connection could create data debug default denied dependency
directory does dir done enter error exception exist existing exit exited expected expect fail failed failure fatal fetch file files find first folder force found
function git got handle hint home host id if import in index info input install int internal invalid is item key kill last left length line list load local
localhost log main make many map match message method missing mode module name names need new no node none not note null number object of ok on open operation option
options or out output package packages page parse parser pass passed path permission please point port print problem process program project property push
python query raise raised range read ready reason received ref reference remote remove repository request require required resolve response result return right rule run running
script search second see server service set show signal skip some source space src start started state status step stop str string success such support supported syntax sys system
target task temp test tests text thread time to token tool traceback try two type undefined unexpected unknown unsupported update usage use used user using usr value values var
variable version wait warn
allocated api cc change changes checkout clone commit completed delete dev docs example examples hash head install json lint merge method net org origin overwritten prod pull push
rebase stash staging stream svc sh sudo upgrade utf https http url www yes ascii com warning with work write wrong zero app apps lib bin tmp dist index init setup self true false object promise instance rust file's one than
"""
_GENERIC = (
    frozenset(light_stem(word) for word in _GENERIC_TEXT.split())
    | frozenset(_GENERIC_TEXT.split())
    | ERROR_STOP_WORDS
)
"""Words and stems that occur in any error or command line, and so tell nothing."""

_TASK_RUNNERS = frozenset(
    {"make", "just", "npm", "pnpm", "yarn", "bun", "task", "rake", "tox", "nox", "poe", "hatch", "invoke"}
)
"""Programs whose subcommand is a name that the project gave."""
_LOOKS = frozenset({
    "grep", "rg", "ag", "ls", "cat", "head", "tail", "sed", "awk", "find", "fd", "wc", "tree", "stat", "file", "jq", "which", "diff", "rm", "mv", "cp", "mkdir", "touch",
})  # fmt: skip
"""Programs that look at files or move them: neither what they are given nor what they print tells why something failed."""
_BROAD_WORDS = PROGRAMS | frozenset({
    "python", "typescript", "javascript", "go", "rust", "java", "kotlin", "ruby", "php", "swift", "bash", "node", "sql", "html", "css", "yaml", "gcc", "linux", "gradlew",
    "windows", "macos", "ubuntu", "docker", "server", "client",
})  # fmt: skip


class NameWeight(NamedTuple):
    """The weight of a name, and its `group`: the word, path or command it is part of. Only the best name of a group counts."""

    weight: float
    group: str


Names = Mapping[str, NameWeight]


def failure(kit: Kit, state: RecallState) -> Pipeline:
    """Return the pipeline after a failure: embed, search, judge whether each memory speaks of this very error, guard, drop what is known, pack, render."""
    return search(kit, state, judge=partial(_judge_failure_of, kit), armed_too=True)


def _judge_failure_of(kit: Kit, state: RecallState) -> Outcome[RecallState]:
    """Set the state's `scored`: each candidate with its relevance to the failure, combined with what a model named in the pause."""
    judgments = judge_failure(state.query, state.found or (), among=state.memories_asked)
    return judged(state, with_armed(state, judgments, kit.armed))


def judge_failure(query: Query, candidates: Sequence[Candidate], *, among: int) -> list[Judgment]:
    """Return for each candidate, in the order given, its relevance (0-1) to the failure that `query` describes, and the reasons.

    `query.text` is the command line, then the error. `among` = number of memories in scope, for the rarity of names.
    """
    failed, phrases = _names_of_failure(query.text), _phrases(query.text.partition("\n")[2])
    shared = [_shared(failed, phrases, candidate) for candidate in candidates]
    holders = Counter(name for names in shared for name in names)
    memories = max(among, len(candidates), FEW_MEMORIES)
    rarity = {name: 1.0 - math.log(count) / math.log(memories) for name, count in holders.items()}
    evidence = [
        _evidence(names, rarity, candidate) for names, candidate in zip(shared, candidates, strict=True)
    ]
    best = max(evidence, default=0.0)
    judgments: list[Judgment] = []
    for candidate, names, value in zip(candidates, shared, evidence, strict=True):
        relevance, reasons = by_signature(query, candidate)
        common = (
            min(SHARED_CEILING, THRESHOLD * value / PASSES) if value >= LEAST_SHARE_OF_BEST * best else 0.0
        )
        if common > relevance:
            # How many, not which: a piece of a secret is not known by its look.
            relevance, reasons = common, (f"shares {len(names)} names with the failure",)
        judgments.append((relevance, reasons))
    return judgments


def by_signature(query: Query, candidate: Candidate) -> Judgment:
    """Return relevance by the error signature or, for a memory without one, by error text that it quotes; 0 = no match.

    Exact: the same signature. Near: of the same program; the share of the shorter signature's words
    that both hold (overlap coefficient, Szymkiewicz 1934; Simpson 1943), at least two words and MIN_SIGNATURE_OVERLAP of them.
    Of another program: one that says it all, with a name in it, as where `sh x.sh` and `bash x.sh` miss the same variable.
    Of another subcommand: the very same words, as where `docker compose ps` and `docker compose up` miss the same file.
    """
    memory = candidate.memory
    signature = query.error_signature
    if signature and memory.error_signature == signature:
        return EXACT_SIGNATURE_RELEVANCE, ("same error signature",)
    if not memory.error_signature:
        return _quoted_error(query, candidate)
    ours, theirs = _parts(signature), _parts(memory.error_signature)
    common = ours[1] & theirs[1]
    least = min(len(ours[1]), len(theirs[1]))
    names = len(common) == least >= TELLING_WORDS and any("_" in word for word in common)
    same_words = ours[1] == theirs[1] and least >= TELLING_WORDS
    if (
        ours[0] != theirs[0]
        and not names
        and not (same_words and ours[0].split(" ", 1)[0] == theirs[0].split(" ", 1)[0])
    ):
        return 0.0, ()
    if len(common) < 2 or not least:
        return 0.0, ()
    share = len(common) / least
    if share < MIN_SIGNATURE_OVERLAP:
        return 0.0, ()
    return STATED * share, (f"near error signature: {', '.join(sorted(common)[:4])}",)


def _quoted_error(query: Query, candidate: Candidate) -> Judgment:
    shown = query.text.lower().partition("\n")[2]
    for phrase in _QUOTED.findall(candidate.memory.content.lower()):
        if len(phrase) >= MIN_QUOTE_CHARS and " " in phrase.strip() and phrase in shown:
            return STATED * UNVERIFIED, (f"says {phrase[:40]!r}",)
    return 0.0, ()


def _shared(failed: Names, phrases: frozenset[str], candidate: Candidate) -> dict[str, NameWeight]:
    """Return what the failure and a memory both name; nothing for digests, session notes, and memories with a signature."""
    memory = candidate.memory
    if memory.error_signature or memory.is_session_note or memory.kind == DIGEST:
        return {}
    named = _names_of_memory(memory.content)
    shared = {
        name: NameWeight(min(found.weight, named[name].weight), found.group)
        for name, found in failed.items()
        if name in named
    }
    if phrase := min(phrases & _phrases(memory.content), default=""):
        shared[f'"{phrase}"'] = NameWeight(NAME, phrase)
    return shared


def _evidence(names: Names, rarity: Mapping[str, float], candidate: Candidate) -> float:
    best: dict[str, float] = {}
    for name, (weight, group) in names.items():
        best[group] = max(best.get(group, 0.0), weight * rarity[name])
    told = sum(best.values())
    if told >= BROAD and _CAUSES.tells_of_failure.search(candidate.memory.content):
        told += TELLS_OF_FAILURE
    return told


class _Names:
    """Collects what a text names, each name with its greatest weight."""

    def __init__(self) -> None:
        self.found: dict[str, NameWeight] = {}

    def add(self, name: str, weight: float, group: str = "") -> None:
        known = self.found.get(name)
        if known is None or weight > known.weight:
            self.found[name] = NameWeight(weight, group or name)

    def add_all_of(self, text: str, *, group: str = "") -> None:
        """Collect the conditions, names and words of `text`, each with its weight. With `group` all but the conditions are parts of one thing, of which only the best counts; without it each token is a thing."""
        for name, condition in _CONDITIONS:
            if condition.search(text):
                self.add(name, CONDITION)
                text = condition.sub(" ", text)
        for token in _TOKEN.findall(text):
            self._read_token(token.strip("./~-@"), group)

    def _read_token(self, token: str, group: str) -> None:
        lower = token.lower()
        group = group or lower
        if lower in FUNCTION_WORDS or lower in _GENERIC:
            return
        if lower.isdigit():
            if len(lower) >= 4:
                self.add(lower, NUMBER, group)
        elif lower in _BROAD_WORDS:
            self.add(lower, BROAD, group)
        elif _CLASS.search(token):
            simple = lower.rsplit(".", 1)[-1]
            self.add(simple, BROAD if simple in _BROAD_CLASSES else NAME, group)
        else:
            self._read_name(token, lower, group)

    def _read_name(self, token: str, lower: str, group: str) -> None:
        """Add a path or module by its last two parts, an identifier as a whole, and the words in it."""
        parts = [part for part in re.split(r"[/.]", FILE_END.sub("", lower)) if part]
        is_file = bool(FILE_END.search(lower))
        if len(parts) > 1 and (is_file or "/" not in lower) and parts[-1] not in _GENERIC:
            self.add("/".join(parts[-2:]), NAME, group)
        elif is_file and parts and parts[-1] not in _GENERIC:
            self.add(f"{parts[-1]}.", NAME, group)
        elif _NAMED.search(token) and len(lower) > 3 and "/" not in lower and not _VERSION.fullmatch(lower):
            self.add(lower, NAME, group)
        for word in _PART.findall(HUMP.sub(" ", token).lower()):
            if len(word) > 2 and not word.isdigit() and word not in FUNCTION_WORDS:
                stem = light_stem(word)
                if word not in _GENERIC and stem not in _GENERIC:
                    broad = word in _BROAD_WORDS
                    self.add(word if broad else stem, BROAD if broad else WORD_WEIGHT, group)


@lru_cache(maxsize=4096)
def _names_of_memory(content: str) -> Names:
    names = _Names()
    names.add_all_of(content)
    for span in NAMED_SPAN.findall(content):
        for command in split_commands(span):
            if " " in command:
                names.add(f"`{command}`", NAME)
    return names.found


@lru_cache(maxsize=64)
def _names_of_failure(text: str) -> Names:
    """Return what a failure names; `text` is the command line, then the error.

    Words of the command line alone count half. Commands that only look at files or move them name nothing.
    """
    command_line, _, error = text.partition("\n")
    names = _Names()
    commands = split_commands(command_line)
    if commands and all(command.split(" ", 1)[0] in _LOOKS for command in commands):
        return names.found
    for port in _PORT.findall(error):
        names.add(port, NUMBER)
    names.add_all_of(_PLACE.sub(" ", error))
    of_line = _Names()
    for command in commands:
        program, _, subcommand = command.partition(" ")
        if subcommand:
            of_line.add(f"`{command}`", NAME if program in _TASK_RUNNERS else BROAD, command)
        of_line.add_all_of(command, group=command)
    of_line.add_all_of(command_line)
    for name, (weight, group) in of_line.found.items():
        names.add(name, weight if weight >= NAME else weight / 2, group)
    return names.found


@lru_cache(maxsize=4096)
def _phrases(text: str) -> frozenset[str]:
    """Return all runs of four words with at least two that are not generic, lower case."""
    words = WORD.findall(text.lower())
    return frozenset(
        " ".join(four)
        for four in zip(words, words[1:], words[2:], words[3:], strict=False)
        if sum(word not in _GENERIC and word not in FUNCTION_WORDS for word in four) >= 2
    )


@lru_cache(maxsize=4096)
def _parts(signature: str) -> tuple[str, frozenset[str]]:
    """Split an error signature into its program ("" = none) and the words of its message."""
    program, bar, message = signature.partition(" | ")
    if not bar:
        program, message = "", signature
    return program, frozenset(SIGNATURE_WORD.findall(message))
