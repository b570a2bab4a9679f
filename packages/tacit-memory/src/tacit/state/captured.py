"""State of the write path between its runs, per session and project. In: nothing. Out: frozen values. Pure.

`registry` says under which names they are stored. A field that is added needs a default: what an earlier version stored does not
have it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import field, replace
from typing import Literal

from tacit.frozen import frozen
from tacit.model.change_reason import ChangeReason
from tacit.model.memory import LearnedOn
from tacit.model.scope import Scope
from tacit.model.session import SessionKey

MOST_COMPARED = 50
"""Most new statements in one request of the statement comparer."""


@frozen
class Position:
    """How far a growing file was read.

    Attributes:
        offset: bytes read; 0 = nothing yet.
        head: hash of the first bytes, to notice that another file took its place; of all bytes where a file is read whole.
        prompts: user prompts counted so far.
        last: key of the last user prompt; prompts without a time are told apart by what came before them.
    """

    offset: int = 0
    head: str = ""
    prompts: int = 0
    last: str = ""


@frozen
class Failure:
    """Something that failed and has not succeeded since.

    Attributes:
        command: the command line.
        error, signature: what it said, shortened, and the stable form of that.
        turn, at_ms: when it failed first.
        edited, prepared: what was done since: files edited, commands run (or steps taken).
        cause: the agent's own words for the cause, where a sentence gave one.
        times: how often it failed so.
        elsewhere: whether it failed in an earlier session.
    """

    command: str
    error: str
    signature: str
    turn: int
    at_ms: int
    edited: tuple[str, ...] = ()
    prepared: tuple[str, ...] = ()
    cause: str = ""
    times: int = 1
    elsewhere: bool = False


@frozen
class UnfixedFailure:
    """A failure that waits for its fix. `session` = the session that it happened in last, as `host/id`."""

    session: str
    failure: Failure


Task = tuple[str, str, str]
"""An entry of the agent's task list: (number, text, status)."""


@frozen
class SessionWork:
    """The work of a session so far; carried from one reading of its transcript to the next.

    Attributes:
        files: files edited or written, first touched first.
        decided, left, fixed: lines in order.
        commits: short hash and subject of every commit, as git said it; "#1", "#2" ... where it said nothing.
        tasks: the agent's task list as it stands.
        passed: the checks that passed last.
        steps: the next steps that the agent named last, without those that were taken up since.
        blocked: what the agent named last as blocked.
        stuck: what the user named as blocked.
    """

    files: tuple[str, ...] = ()
    decided: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    fixed: tuple[str, ...] = ()
    commits: tuple[str, ...] = ()
    tasks: tuple[Task, ...] = ()
    passed: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()
    blocked: tuple[str, ...] = ()
    stuck: tuple[str, ...] = ()


@frozen
class Checkpoint:
    """The checkpoint of one session: how far it was captured, and state for the next reading.

    Attributes:
        path: the transcript that `position` belongs to.
        position: where reading stopped.
        root: key of the conversation's first utterance; forks and resumed copies share it.
        failures: commands that still fail.
        work: what the digest tells.
        digest_id, todo_id: the session's own notes, rewritten as it goes on; "" = none yet.
        title: the user's first prompt, shortened.
        folder: root of the session's project; "" = it belongs to none.
        began_ms, heard_ms: when the first and the last words that were read were said; 0 = unknown.
        version: of this format; a checkpoint of another version counts as missing.
    """

    path: str = ""
    position: Position = field(default_factory=Position)
    root: str = ""
    failures: tuple[Failure, ...] = ()
    work: SessionWork = field(default_factory=SessionWork)
    digest_id: str = ""
    todo_id: str = ""
    title: str = ""
    folder: str = ""
    began_ms: int = 0
    heard_ms: int = 0
    version: Literal[1] = 1


MessageRole = Literal["user", "assistant", "tool"]


@frozen
class Message:
    """A message for the writer: the words of the user or the agent, or the output of a failing command.

    Attributes:
        prompt: number of the user's prompt it belongs to.
        role: who spoke; `tool` = a command and the end of its error.
        text: redacted.
        at_ms: when, 0 = unknown.
    """

    prompt: int
    role: MessageRole
    text: str
    at_ms: int = 0


@frozen
class PendingSession:
    """The messages of one session that wait for the writer.

    Attributes:
        key: the session.
        scope: where its statements belong.
        root: root of its project, or "".
        messages: oldest first.
        updated_ms: when the last ones came in.
        ended: whether the session is over.
        past: whether it was imported, so that it is written up only when the user says so.
        tries: requests for it that failed.
        taken: messages in front of these that were written up before; tells these messages apart from them.
        branch: the unmerged branch that the newest messages were said on, or None.
    """

    key: SessionKey
    scope: Scope
    root: str = ""
    messages: tuple[Message, ...] = ()
    updated_ms: int = 0
    ended: bool = False
    past: bool = False
    tries: int = 0
    taken: int = 0
    branch: LearnedOn | None = None

    @property
    def spoken(self) -> bool:
        """Whether any of the messages is the user's."""
        return any(message.role == "user" for message in self.messages)

    @property
    def prompts(self) -> int:
        """Number of the user's messages."""
        return sum(message.role == "user" for message in self.messages)

    @property
    def chars(self) -> int:
        """Characters of all messages."""
        return sum(len(message.text) for message in self.messages)


@frozen
class ComparisonQueue:
    """The statements that wait to be compared.

    Attributes:
        newest_ms: time of the newest statement that was looked at.
        seen: time and id up to which all were looked at.
        known: ids of later statements that were looked at, too.
        ids: statements that wait, oldest first.
        most: most statements in the next request; half as many after each failure.
        tries: how often the comparison of one statement alone failed, by its id.
    """

    newest_ms: int
    seen: tuple[int, str]
    known: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    most: int = MOST_COMPARED
    tries: Mapping[str, int] = field(default_factory=dict[str, int])

    def without(self, ids: Collection[str]) -> ComparisonQueue:
        """Return a copy without the statements `ids` and their failed tries."""
        return replace(
            self,
            ids=tuple(name for name in self.ids if name not in ids),
            tries={name: count for name, count in self.tries.items() if name not in ids},
        )


Fate = Literal["new", "merged", "replaced", "contradicts", "duplicate", "dropped"]


@frozen
class StatementOutcome:
    """What became of one captured statement.

    Attributes:
        fate: `duplicate` = a memory says it already, `dropped` = it was not stored.
        memory_id: the memory that holds it; "" = none.
        others: ids of the memories that it replaced.
        questions: ids of the memories that it may contradict, about which the user is asked.
        speaker: who said it, see `Provenance.speaker`.
        extractor: the language model that wrote it down, or "".
        turn: the user's prompt it belongs to; 0 = unknown.
        span: hash of the quoted words, or "".
        at_ms: when this was decided.
        why: why it was dropped; None = it was not.
    """

    fate: Fate
    memory_id: str = ""
    others: tuple[str, ...] = ()
    questions: tuple[str, ...] = ()
    speaker: str = ""
    extractor: str = ""
    turn: int = 0
    span: str = ""
    at_ms: int = 0
    why: ChangeReason | None = None


@frozen
class TeamFileState:
    """The state of a team file after its last import. `digest`: one hash over its bytes and its trust tier. `memory_id`: its memory; "" = it became none."""

    digest: str
    memory_id: str = ""


@frozen
class TeamState:
    """What this home stores about a team on a server.

    Attributes:
        cursor: the position up to which its changes were taken over.
        role: the user's role in the team.
        name: the user's name, as teammates see it.
        until_ms: when the membership ends unless the user logs in with the provider again; 0 = never.
        own: the user's own memories that say the same as a shared one: their ids by the id of the shared memory.
        unseen: used while the server sends everything again: ids of memories that no page has named so far: the team's, and the user's own of `own`.
        lost: ids of those that no page named. A server that was restored from a backup forgot them; they stay here until somebody shares them again.
    """

    cursor: str = ""
    role: str = ""
    name: str = ""
    until_ms: int = 0
    own: Mapping[str, str] = field(default_factory=dict[str, str])
    unseen: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()


@frozen
class BranchState:
    """What is known about an unmerged branch that memories are bound to.

    Attributes:
        folder: the git folder in which the branch was last seen; "" = it was never seen on this machine.
        tip: the commit at its tip at that time.
        ahead: whether it had commits of its own, which the default branch did not have.
        gone: whether it was deleted from that repository.
        replaced: ids of the memories that the memories of the branch replace on it.
        looked: the state of git that the branch was last judged by; the branch is judged again only when this changes.
    """

    folder: str = ""
    tip: str = ""
    ahead: bool = False
    gone: bool = False
    replaced: tuple[str, ...] = ()
    looked: str = ""


@frozen
class RuleFileState:
    """The state of a rule file after its last import.

    Attributes:
        digest: hash of its bytes.
        items: id of the memory of each statement, by the hash of its content; "" = it became none.
        lines: hashes of the lines that are the user's: confirmed, or written by them since.
        open: whether something in it waits for the user.
    """

    digest: str = ""
    items: Mapping[str, str] = field(default_factory=dict[str, str])
    lines: tuple[str, ...] = ()
    open: bool = False
