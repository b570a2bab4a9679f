"""The injected memories that were used. In: what was said and done, what was injected. Out: a verdict for each, and counts.

A memory counts as used when, after it was handed over, the agent says or does something of its own that stands in the memory: it
cites it, touches a file it names, uses an identifier or a command of it, or repeats five of its words in a row. What was in the
conversation before the injection, or what the user brought up, proves nothing: those cues are left out (the same session without the
memory). As a second measure the same question is asked of memories of the same place that were not handed over. Pure.

Whether a passage repeats what the session was given. In: texts that were put into context. Out: yes or no. Pure.

An agent that reads "always run the linter" from us and says it again has taught us nothing, whoever nods at it afterwards. A user
who pastes it back, or quotes it, has not said it anew either; but who changes a word of it corrects it, and is heard.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Literal

from tacit.frozen import frozen
from tacit.hosts.transcripts import Turn
from tacit.model.memory import Memory
from tacit.state.counted import SessionUsage, Totals
from tacit.statements.same import canonical_text
from tacit.text.lazy_regex import lazy_regex
from tacit.text.tokens import CODE_WORD, NAMED_SPAN, PATH_WORD

Cue = Literal["fetch", "citation", "file", "identifier", "phrase", ""]
"""How a use was told: the agent fetched the memory, named its id, touched its file, used its identifier or command, or repeated five of its words."""
PHRASE_WORDS = 5
MAX_SEEN = 4000
"""Most words of a session that are remembered, each as a hash of eight hexadecimal digits."""
_NAME = lazy_regex(r"[_./:@\d-]|[a-z][A-Z]")


@frozen
class GivenMemory:
    """A memory that was given to the session, with time, turn and surface; `control` = it was not, for comparison."""

    memory: Memory
    at_ms: int = 0
    turn: int = 0
    surface: str = ""
    tokens: int = 0
    control: bool = False


@frozen
class UsageVerdict:
    """Whether a memory was used after it was given, and by which cue ("" = not).

    `before` = its words stood in the conversation already before it was given, so that no use can be told.
    """

    memory_id: str
    cue: Cue = ""
    before: bool = False

    @property
    def used(self) -> bool:
        """Whether the memory was used."""
        return bool(self.cue)


def judge_usage(
    turns: Sequence[Turn], shown: Sequence[GivenMemory], before: SessionUsage
) -> tuple[UsageVerdict, ...]:
    """Return a verdict for each memory in `shown`: whether the agent used it in the new `turns`.

    `before` = what earlier turns held: a cue that was in the conversation before proves nothing.
    """
    return tuple(_judge(shown_memory, turns, frozenset(before.seen)) for shown_memory in shown)


def update_usage(
    turns: Sequence[Turn],
    shown: Sequence[GivenMemory],
    before: SessionUsage,
    totals: Totals,
    *,
    fetched: Collection[str] = (),
) -> tuple[tuple[UsageVerdict, ...], SessionUsage, Totals]:
    """Return the verdicts of used memories, and the session's state and the totals after these `turns`.

    What the agent `fetched` by its id counts as used; the same cues are not looked for in it.
    """
    unused = [memory for memory in shown if memory.memory.id not in before.used]
    verdicts = tuple(
        UsageVerdict(memory_id=memory.memory.id, cue="fetch")
        for memory in unused
        if memory.memory.id in fetched
    ) + judge_usage(turns, [memory for memory in unused if memory.memory.id not in fetched], before)
    by_id = {verdict.memory_id: verdict for verdict in verdicts}
    counted, used = set(before.counted), set(before.used)
    for memory in shown:
        verdict = by_id.get(memory.memory.id)
        if memory.memory.id not in counted:
            counted.add(memory.memory.id)
            totals = _count(totals, memory, verdict)
        if verdict is not None and verdict.used and memory.memory.id not in used:
            used.add(memory.memory.id)
            totals = _count_use(totals, memory, verdict)
    if not before.counted and any(not memory.control for memory in shown):
        totals = replace(totals, sessions=totals.sessions + 1)
    words = dict.fromkeys(
        (*before.seen, *(digest for turn in turns for digest in _digests(_everything(turn))))
    )
    after = SessionUsage(
        seen=tuple(words)[-MAX_SEEN:], used=tuple(sorted(used)), counted=tuple(sorted(counted))
    )
    return tuple(verdict for verdict in verdicts if verdict.used), after, totals


def _count(totals: Totals, shown: GivenMemory, verdict: UsageVerdict | None) -> Totals:
    if shown.control:
        return replace(totals, control_shown=totals.control_shown + 1)
    before = verdict is not None and verdict.before and not verdict.used
    return replace(
        totals,
        shown=totals.shown + 1,
        tokens=totals.tokens + shown.tokens,
        before=totals.before + int(before),
    )


def _count_use(totals: Totals, shown: GivenMemory, verdict: UsageVerdict) -> Totals:
    if shown.control:
        return replace(totals, control_used=totals.control_used + 1)
    cues, surfaces = dict(totals.by_cue), dict(totals.by_surface)
    cues[verdict.cue] = cues.get(verdict.cue, 0) + 1
    surfaces[shown.surface] = surfaces.get(shown.surface, 0) + 1
    return replace(
        totals,
        used=totals.used + 1,
        tokens_used=totals.tokens_used + shown.tokens,
        by_cue=cues,
        by_surface=surfaces,
    )


@frozen
class _Cues:
    """Signs of use of a memory: its identifiers and commands, its files, its runs of five words."""

    names: frozenset[str]
    paths: frozenset[str]
    phrases: frozenset[str]

    @classmethod
    def of(cls, memory: Memory) -> _Cues:
        names = {entity.key.lower() for entity in memory.entities if entity.kind != "file"}
        names.update(code.lower() for code in NAMED_SPAN.findall(memory.content))
        paths = {path.lower() for path in memory.files}
        paths.update(entity.key.lower() for entity in memory.entities if entity.kind == "file")
        words = _words(memory.content.lower())
        runs = (words[i : i + PHRASE_WORDS] for i in range(len(words) - PHRASE_WORDS + 1))
        # Words of up to four letters are mostly fillers; two longer ones make a run somebody's own.
        phrases = {" ".join(run) for run in runs if sum(len(word) > 4 for word in run) >= 2}
        telling = {name for name in names if _NAME.search(name) or " " in name or len(name) > 6}
        return cls(names=frozenset(telling - paths), paths=frozenset(paths), phrases=frozenset(phrases))

    def found_in(self, turn: Turn, seen_digests: set[str]) -> Cue:
        """Return the first cue in what the agent says and does that was not in the conversation before; "" = none."""
        touched = {f"/{path.lower()}".replace("\\", "/") for use in turn.tools for path in use.paths}
        for path in sorted(self.paths):
            if not _known(path, seen_digests) and any(
                path_touched.endswith(f"/{path}") for path_touched in touched
            ):
                return "file"
        words = f" {' '.join(_words(_own_words(turn)))} "
        for name in sorted(self.names):
            if f" {' '.join(_words(name))} " in words and not _known(name, seen_digests):
                return "identifier"
        for phrase in sorted(self.phrases):
            if f" {phrase} " in words and not _known(phrase, seen_digests):
                return "phrase"
        return ""


def _judge(shown: GivenMemory, turns: Sequence[Turn], earlier_digests: frozenset[str]) -> UsageVerdict:
    cues, seen_digests, before = _Cues.of(shown.memory), set(earlier_digests), False
    for turn in turns:
        if turn.role == "assistant" and _is_after(turn, shown):
            cue = "citation" if shown.memory.id in _own_words(turn) else cues.found_in(turn, seen_digests)
            if cue:
                return UsageVerdict(memory_id=shown.memory.id, cue=cue)
        seen_digests.update(_digests(_everything(turn)))
        before = before or any(_known(name, seen_digests) for name in (*cues.names, *cues.paths))
    return UsageVerdict(memory_id=shown.memory.id, before=before)


def _is_after(turn: Turn, shown: GivenMemory) -> bool:
    if turn.at_ms and shown.at_ms:
        return turn.at_ms >= shown.at_ms
    return turn.number >= shown.turn


def _own_words(turn: Turn) -> str:
    """Return the agent's own words and commands in lower case."""
    return "\n".join(
        (turn.text, *(use.command for use in turn.tools), *(use.said for use in turn.tools))
    ).lower()


def _everything(turn: Turn) -> str:
    paths = (path for use in turn.tools for path in use.paths)
    return "\n".join(
        (_own_words(turn), *(path.lower() for path in paths), *(use.error.lower() for use in turn.tools))
    )


def _words(text: str) -> list[str]:
    return PATH_WORD.findall(text.lower())


def _digest(word: str) -> str:
    return hashlib.sha256(word.encode("utf-8", "surrogatepass")).hexdigest()[:8]


def _digests(text: str) -> tuple[str, ...]:
    """Return hashes of the words of a text and of its file names; hashes, because a word may be a secret."""
    words = dict.fromkeys(word for word in _words(text) if len(word) > 2)
    file_names = dict.fromkeys(word.rsplit("/", 1)[-1] for word in words if "/" in word)
    return tuple(_digest(word) for word in (*words, *file_names))


def _known(cue: str, seen_digests: set[str]) -> bool:
    """Whether every word of a cue was in the conversation before."""
    words = [word for word in _words(cue) if len(word) > 2]
    return bool(words) and all(
        _digest(word) in seen_digests or _digest(word.rsplit("/", 1)[-1]) in seen_digests for word in words
    )


SHINGLE = 3
MAX_ECHO_SHARE = 0.5
"""Share of an agent passage's three-word runs that were given, from which it is an echo."""
MAX_QUOTE_ECHO_SHARE = 0.6
"""The same for a passage in which the user quotes; without a quote, only the identical statement is an echo."""
_QUOTE = lazy_regex(r"[\"“”«»]|^[^\S\n]*>|\byou (?:wrote|said|told)\b", re.IGNORECASE | re.MULTILINE)

_LINE = lazy_regex(r"^[\s>*-]*(?:\[[^\]\n]*\]\s*)?(?P<said>.*?)(?:(?<!\s)\s+\([^()\n]*\))?(?<!\s)\s*$")
"""A line of a block; `said` = the statement, without bullet, kind and origin."""


class EchoDetector:
    """Recognizes repetitions of the texts that were injected into a session. Falsy if there are none."""

    __slots__ = ("_runs", "_statements", "_texts")

    def __init__(self, texts: Iterable[str] = ()) -> None:
        texts = tuple(texts)
        lines = (line for text in texts for line in (text, *text.splitlines()))
        self._statements = frozenset(_without_marks(_LINE.sub(r"\g<said>", line)) for line in lines)
        words = [_plain_words(text) for text in texts]
        self._texts = tuple(f" {' '.join(text_words)} " for text_words in words if text_words)
        self._runs = frozenset(run for text_words in words for run in _runs_of(text_words))

    def __bool__(self) -> bool:
        return bool(self._texts)

    def repeated_by_agent(self, *passages: str) -> bool:
        """Whether at least one of the agent's `passages` mostly repeats what was injected."""
        return bool(self) and any(
            self._share(_plain_words(passage)) >= MAX_ECHO_SHARE for passage in passages
        )

    def repeated_by_user(self, passage: str) -> bool:
        """Whether the user's `passage` is an injected statement, or mostly quotes one."""
        if not self:
            return False
        if _without_marks(passage) in self._statements:
            return True
        return bool(_QUOTE.search(passage)) and self._share(_plain_words(passage)) >= MAX_QUOTE_ECHO_SHARE

    def _share(self, words: list[str]) -> float:
        """Return the share of three-word runs that were injected; for a shorter passage 1 or 0."""
        if not words:
            return 0.0
        runs = _runs_of(words)
        if not runs:
            return float(any(f" {' '.join(words)} " in text for text in self._texts))
        return sum(run in self._runs for run in runs) / len(runs)


def _without_marks(text: str) -> str:
    """Return the canonical text for comparison, without backticks and quotation marks."""
    return canonical_text(re.sub(r"[`\"“”«»]", "", text))


def _plain_words(text: str) -> list[str]:
    return CODE_WORD.findall(text.casefold())


def _runs_of(words: list[str]) -> list[tuple[str, ...]]:
    return [tuple(words[i : i + SHINGLE]) for i in range(len(words) - SHINGLE + 1)]
