"""A conversation as values: turns, tool uses, and the point up to which it was read. No I/O.

In: nothing. Out: frozen values that every transcript reader makes and every extractor reads.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Literal

from tacit.state.captured import Position

Role = Literal["user", "assistant"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolUse:
    """A tool call with its result.

    Attributes:
        tool: host-neutral name (`bash`, `read`, `edit`, `write`, `todo`, else the host's own in lower case).
        command: for `bash`, the command as run.
        paths: files it names, as the host wrote them.
        failed: whether it ran and failed; a call that the user refused did not run.
        finished: whether a result was seen.
        error: what the model saw of the failure, shortened.
        said: the assistant's words just before it.
        todos: for `todo`, (text, status) of every entry.
        tasks: for tools that keep a list one entry at a time, (number, text, status) of what this call changed; "" = unchanged.
        commit: for a `git commit` that succeeded, what git said of it: short hash and subject.
    """

    tool: str
    call_id: str = ""
    command: str = ""
    paths: tuple[str, ...] = ()
    failed: bool = False
    finished: bool = False
    error: str = ""
    said: str = ""
    todos: tuple[tuple[str, str], ...] = ()
    tasks: tuple[tuple[str, str, str], ...] = ()
    commit: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """The token counts of one request to the model, from the API.

    Attributes:
        at_ms: when it was answered, milliseconds since the Unix epoch; 0 = unknown.
        input_tokens: all that was read, whether or not a cache had it.
        cached_tokens: what of it came from the provider's cache.
        mark: tells it from others, also in another reading: a digest of the id that the provider or the host gave it.
    """

    at_ms: int
    input_tokens: int
    cached_tokens: int
    mark: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """The words of one side, with the tools it used.

    Attributes:
        index: position among the turns of this reading, from 0.
        number: number of the user prompt it belongs to, from 1, counted over the whole session.
        role: who spoke. Machine-made prompts are no turns at all.
        text: the words, without injected blocks, wrappers and reminders.
        tools: tools used, in order; empty for the user.
        at_ms: when, milliseconds since the Unix epoch; 0 = unknown.
        key: tells the same utterance apart from any other, also in a resumed or forked copy of the session.
        requests: what the agent's turn asked of the model, as far as the host tells.
    """

    index: int
    number: int
    role: Role
    text: str
    tools: tuple[ToolUse, ...] = ()
    at_ms: int = 0
    key: str = ""
    requests: tuple[ModelRequest, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """A reading of one session from a position on.

    Attributes:
        turns: what was said since the position it was read from.
        end: where to go on.
        session_id, cwd: as the transcript itself says, or empty.
        bad_lines: lines that could not be read; they are skipped, never fatal.
        unfinished: where the last turn begins, if a call in it has no result yet; None = every call has one.
    """

    turns: tuple[Turn, ...] = ()
    end: Position = field(default_factory=Position)
    session_id: str = ""
    cwd: str = ""
    bad_lines: int = 0
    unfinished: Position | None = None

    def finished(self) -> Transcript:
        """Return the transcript without a last turn that still waits for the result of a call: the next reading has it whole."""
        if self.unfinished is None:
            return self
        return replace(self, turns=self.turns[:-1], end=self.unfinished, unfinished=None)


def turn_key(role: Role, text: str, at_ms: int, number: int, before: str = "") -> str:
    """Key of an utterance: 12 hexadecimal digits over speaker, time and words.

    Copies of a session keep the time of what was said before the fork, so the copy has the same key. Without a time its
    number and `before`, the key of the prompt before it, stand in: two sessions that begin alike stay apart where they part.
    """
    when = str(at_ms) if at_ms else f"#{number}{before}"
    return hashlib.sha256(f"{role}|{when}|{text}".encode("utf-8", "surrogatepass")).hexdigest()[:12]


def first_key(turns: Iterable[Turn]) -> str:
    """Key of the first thing the user said, or "" when nothing was said."""
    return next((turn.key for turn in turns if turn.role == "user"), "")
