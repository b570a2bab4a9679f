"""Sessions of hosts and other tools, read into turns.

This module holds the turns and how they are built; `rows` reads files, `exports` lists of messages, `sessions` finds and reads
sessions. A host's own formats are in `hosts/<name>/transcript.py`.

In: texts, tool calls and results in order. Out: frozen `Turn`s that every extractor reads. Consecutive assistant messages become one turn; tool
results find their call by id. Of a message, only the words that a person wrote stay: injected blocks, reminders of the host, wrappers of slash
commands, task notifications and private spans go. No I/O.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Literal, cast

from tacit.frozen import frozen
from tacit.reading.commands import refused_by_shell
from tacit.reading.prompts import machine_made
from tacit.safety.escape import strip_blocks
from tacit.state.captured import Position
from tacit.text.lazy_regex import lazy_regex
from tacit.text.terminal_codes import strip_terminal_codes

Role = Literal["user", "assistant"]


@frozen
class ToolUse:
    """One tool call of the agent: the tool, its command or files, and whether it finished or failed. Of its output only errors, tasks and commits are kept.

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


@frozen
class ModelRequest:
    """The token counts of one request to the model, as the API reported them.

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


@frozen
class Turn:
    """What one side said in one go, with the tools that it used.

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


@frozen
class Transcript:
    """What was read of one session, from a position on.

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
        """Return the transcript without its last turn if a call in it has no result yet, so that the next reading gets that turn complete."""
        if self.unfinished is None:
            return self
        return replace(self, turns=self.turns[:-1], end=self.unfinished, unfinished=None)


def turn_key(role: Role, text: str, at_ms: int, number: int, before: str = "") -> str:
    """Return the key of an utterance: 12 hexadecimal digits of a hash over speaker, time and words.

    Copies of a session keep the time of what was said before the fork, so the copy has the same key. Without a time its
    number and `before`, the key of the prompt before it, stand in: two sessions that begin alike stay apart where they part.
    """
    when = str(at_ms) if at_ms else f"#{number}{before}"
    return hashlib.sha256(f"{role}|{when}|{text}".encode("utf-8", "surrogatepass")).hexdigest()[:12]


def first_key(turns: Iterable[Turn]) -> str:
    """Return the key (see `Turn.key`) of the user's first turn; "" = the user said nothing."""
    return next((turn.key for turn in turns if turn.role == "user"), "")


_WRAPPED = (
    "system-reminder", "system_reminder", "local-command-stdout", "local-command-stderr", "local-command-caveat",
    "command-name", "command-message", "command-args", "command-contents", "bash-input", "bash-stdout",
    "bash-stderr", "task-notification", "task_notification", "user-prompt-submit-hook", "hook_context",
    "ide_opened_file", "ide_selection", "ide_diagnostics", "new-diagnostics", "private", "environment_context",
    "user_instructions", "environment_details", "attached_files", "additional_data",
)  # fmt: skip
_WRAPPER = lazy_regex(rf"<({'|'.join(_WRAPPED)})\b[^>]*>.*?(?:</\1\s*>|\Z)", re.DOTALL | re.IGNORECASE)
_REMINDER = lazy_regex(
    r"<(system[-_]reminder|hook_context)\b[^>]*>.*?(?:</\1\s*>|\Z)", re.DOTALL | re.IGNORECASE
)
_IN_TRANSCRIPTS = lazy_regex(
    r"\s*(?:API Error:|No response requested\.|Continue from where you left off\.$)", re.IGNORECASE
)
"""Matches what hosts write into transcripts in the place of a user message. At a prompt, a person may type the same words."""
_REFUSED_SAID = lazy_regex(
    r"the user (?:said|provided the following reason)[^:]*:\s*(.+)", re.DOTALL | re.IGNORECASE
)
_REFUSED = (
    "doesn't want to proceed with this tool use",
    "tool use was rejected",
    "doesn't want to take this action",
)
_ASKS_BACK = "The user wants to clarify these questions"
_OWN_BLOCK = lazy_regex(
    r"^[^\n]*\bnotes(?: on record)?, not a message from the user\.[^\n]*(?:\n[^\S\n]*\S[^\n]*)*", re.MULTILINE
)
"""Matches one of our blocks pasted without its tags, from its first line, which says what it is, to the next empty line."""
_PLAN = lazy_regex(r"\s*Implement the following plan:\s*(?:#+\s*(?P<title>[^\n]+))?", re.IGNORECASE)
"""Matches the message with which a host hands the agent its own plan back. Only the order to implement it is the user's."""
MAX_TEXT = 100_000
"""The most characters kept of one message; a longer one is cut there, because the rest is pasted text."""


def clean_prompt(text: str) -> str:
    """Return the user's own words of a message, without blocks, reminders and wrappers; "" = a program wrote it."""
    text = strip_terminal_codes(text[:MAX_TEXT])
    # A reminder may stand before a person's words; whatever else opens like a program's text is one throughout.
    bare = _REMINDER.sub("", text) if "<" in text else text
    if machine_made(bare) or _IN_TRANSCRIPTS.match(text):
        return ""
    words = _OWN_BLOCK.sub("", _clean(text)).strip()
    if plan := _PLAN.match(words):
        return f"Implement the following plan: {plan['title'].strip()}" if plan["title"] else words
    return words


def clean_reply(text: str) -> str:
    """Return the words of an assistant message, without terminal codes, blocks and wrappers."""
    return _clean(strip_terminal_codes(text[:MAX_TEXT]))


def _clean(text: str) -> str:
    words = strip_blocks(text.replace("\r\n", "\n"))
    return (_WRAPPER.sub("", words) if "<" in words else words).strip()


def refusal(error: str) -> tuple[bool, str]:
    """Return (True if a tool result says that the user refused the call, what the user said to that or "")."""
    if not any(mark in error for mark in _REFUSED):
        return False, ""
    match = _REFUSED_SAID.search(error)
    words = clean_prompt(match.group(1)) if match else ""
    return True, "" if words.startswith(_ASKS_BACK) else words


_HIDES_EXIT = lazy_regex(r"\||;")
"""Matches characters after which another command decides the exit code of a command line."""
MAX_ERROR = 4000
MAX_COMMAND = 20_000
_LATEST_MS = 4_102_444_800_000
"""The year 2100; a number beyond it is not taken for a time."""
_TOOLS = {
    "bash": "bash", "shell": "bash", "exec_command": "bash", "run_shell_command": "bash", "execute": "bash",
    "shell_command": "bash", "local_shell": "bash", "run_terminal_cmd": "bash", "run_in_terminal": "bash",
    "run_command": "bash", "execute_command": "bash", "powershell": "bash",
    "read": "read", "view": "read", "read_file": "read",
    "edit": "edit", "multiedit": "edit", "notebookedit": "edit", "str_replace": "edit", "patch": "edit",
    "apply_patch": "edit", "replace": "edit", "search_replace": "edit", "edit_file": "edit",
    "str_replace_editor": "edit", "replace_string_in_file": "edit",
    "write": "write", "create": "write", "write_file": "write", "create_file": "write",
    "todowrite": "todo", "todo_write": "todo", "update_plan": "todo", "checklist_write": "todo", "write_todos": "todo",
    "manage_todo_list": "todo", "taskcreate": "todo", "taskupdate": "todo",
    "askuserquestion": "question", "ask_user": "question", "question": "question",
}  # fmt: skip
_PATH_FIELDS = ("file_path", "filePath", "path", "notebook_path", "absolute_path", "target_file")
SAME_MOMENT_MS = 1500
_MAX_TOKENS = 100_000_000
"""The most tokens of one request; a larger count is taken for an error and dropped."""
_SLASH_COMMAND = lazy_regex(r"\s*<command-(?:name|message)>")
_PATCHED = lazy_regex(r"^\*\*\* (?:Update|Add|Delete) File: (\S(?:.*\S)?)\s*$", re.MULTILINE)
_COMMITTED = lazy_regex(r"^\[(?:[^\]\n]* )?(?P<hash>[0-9a-f]{7,12})\] (?P<subject>\S.*)$", re.MULTILINE)
_COMMIT = lazy_regex(r"\bgit\b[^\n|;&]*\bcommit\b")
_CREATED = lazy_regex(r"\b[Tt]ask #(\w+) created")
_ANSWERED = lazy_regex(r'"(?:[^"\\]|\\.)*"="((?:[^"\\]|\\.)*)"')


def text_of(content: object) -> str:
    """Return the text of a message's content: the string itself, or the text blocks of a list joined by line ends; "" = there is none."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    texts: list[str] = []
    for block in cast("list[object]", content):
        if isinstance(block, str):
            texts.append(block)
        elif isinstance(block, Mapping):
            fields = cast("Mapping[str, object]", block)
            text = fields.get("text")
            if fields.get("type") in (None, "text", "input_text", "output_text") and isinstance(text, str):
                texts.append(text)
    return "\n".join(block_text for block_text in texts if block_text)


def time_of(value: object) -> int:
    """Convert an ISO 8601 text, or a number of seconds or milliseconds, to milliseconds since the epoch; 0 = it is no time."""
    if isinstance(value, bool):
        return 0
    if isinstance(value, int | float):
        whole = value if value > 100_000_000_000 else value * 1000
        return int(whole) if 0 < whole < _LATEST_MS else 0
    if isinstance(value, str) and value:
        try:
            moment = datetime.fromisoformat(value)
            return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)
        except (ValueError, OverflowError):
            return 0
    return 0


def tool_use(name: str, call_id: str, raw: object, *, words: str = "") -> ToolUse:
    """Make the `ToolUse` of a call, without a result, from the host's tool name and input.

    `raw` is the input: a mapping, or the text of a patch; `words` = what the assistant said just before the
    call.
    """
    arguments: Mapping[str, object] = cast("Mapping[str, object]", raw) if isinstance(raw, Mapping) else {}
    tool = _TOOLS.get(name.lower(), name.lower())
    command = arguments.get("command", arguments.get("cmd", ""))
    if isinstance(command, list):
        argv = [str(item) for item in cast("list[object]", command)]
        wrapped = len(argv) > 2 and argv[-2].lower() in ("-lc", "-c", "-command", "/c")
        command = argv[-1] if wrapped else " ".join(argv)
    paths = tuple(value for name in _PATH_FIELDS if isinstance(value := arguments.get(name), str) and value)
    patch = raw if isinstance(raw, str) else arguments.get("input", arguments.get("patch", ""))
    if tool == "edit" and isinstance(patch, str):
        paths = tuple(dict.fromkeys((*paths, *_PATCHED.findall(patch[: MAX_ERROR * 25]))))
    return ToolUse(
        tool=tool,
        call_id=call_id,
        command=command[:MAX_COMMAND] if tool == "bash" and isinstance(command, str) else "",
        paths=paths,
        said=words,
        todos=_todos(arguments.get("todos", arguments.get("plan", arguments.get("todoList")))),
        tasks=_task_changes(name.lower(), arguments),
    )


def _todos(raw: object) -> tuple[tuple[str, str], ...]:
    if not isinstance(raw, list):
        return ()
    todos: list[tuple[str, str]] = []
    for entry in cast("list[object]", raw):
        if isinstance(entry, Mapping):
            fields = cast("Mapping[str, object]", entry)
            text = next(
                (v for n in ("content", "text", "step", "title", "description") if (v := fields.get(n))), ""
            )
            if isinstance(text, str) and text.strip():
                todos.append((text.strip(), str(fields.get("status", "pending"))))
    return tuple(todos)


def _task_changes(name: str, arguments: Mapping[str, object]) -> tuple[tuple[str, str, str], ...]:
    """Return the changes of a Claude Code task call, which keeps its list one task at a time; the number of a new task is only in its result."""
    subject = str(arguments.get("subject") or "").strip()
    if name == "taskcreate" and subject:
        return (("", subject, "pending"),)
    if name == "taskupdate" and arguments.get("taskId") is not None:
        return ((str(arguments["taskId"]), subject, str(arguments.get("status") or "")),)
    return ()


@dataclass(slots=True, kw_only=True)
class TurnBuilder:
    """A builder of turns from messages, tool calls and results that are added in order. Mutable, for one reading.

    `prompts` = user prompts counted before, `last` = key of the last one of them.
    """

    prompts: int = 0
    last: str = ""
    turns: list[Turn] = field(default_factory=list[Turn])
    _texts: list[str] = field(default_factory=list[str])
    _tools: list[ToolUse] = field(default_factory=list[ToolUse])
    _by_id: dict[str, int] = field(default_factory=dict[str, int])
    _waiting: set[str] = field(default_factory=set[str])
    _requests: list[ModelRequest] = field(default_factory=list[ModelRequest])
    _asked: set[str] = field(default_factory=set[str])
    _at_ms: int = 0
    _said: str = ""
    _command_ms: int = -1

    def user(self, text: str, at_ms: int) -> None:
        """Add a user prompt and end the agent's turn. Nothing is added for machine-made prompts and for the text that a slash command expands to.

        Hosts write that text as a second prompt of the same moment, right behind the command's own.
        """
        words = clean_prompt(text)
        if not words:
            if text:
                self._command_ms = at_ms if _SLASH_COMMAND.match(text) else -1
            return
        expanded = self._command_ms >= 0 and abs(at_ms - self._command_ms) <= SAME_MOMENT_MS
        self._command_ms = -1
        if expanded:
            return
        self._close()
        self.prompts += 1
        self._append("user", words, (), at_ms)

    def reply(self, text: str, at_ms: int) -> None:
        """Add a piece of the assistant's message to the open turn."""
        words = clean_reply(text)
        self._command_ms = -1
        if words:
            self._waiting.clear()  # an agent speaks again when it has the results of its calls
            self._at_ms = self._at_ms or at_ms
            self._texts.append(words)
            self._said = words

    def call(self, name: str, call_id: str, raw: object, at_ms: int) -> None:
        """Add a tool call to the open turn; its result is added later with `result`."""
        self._at_ms = self._at_ms or at_ms
        use = tool_use(name, call_id, raw, words=self._said)
        self._said = ""
        if call_id:
            self._by_id[call_id] = len(self._tools)
            self._waiting.add(call_id)
        self._tools.append(use)

    def result(self, call_id: str, *, failed: bool, text: str, at_ms: int) -> None:
        """Put the result into its call, found by `call_id`; an unknown id is ignored. The user's words in a refusal or an answer become a prompt."""
        text = strip_terminal_codes(text)
        self._waiting.discard(call_id)
        position = self._by_id.get(call_id)
        if position is None:
            return
        use = self._tools[position]
        failed = failed or (
            _HIDES_EXIT.search(use.command) is not None and refused_by_shell(use.command, text)
        )
        refused, words = refusal(text) if failed else (False, "")
        self._tools[position] = replace(
            use,
            finished=not refused,
            failed=failed and not refused,
            error=text[:MAX_ERROR] if failed and not refused else "",
            commit="" if failed else _commit_of(use.command, text),
            tasks=_numbered(use.tasks, text),
        )
        if use.tool == "question" and not failed:
            words = "\n".join(answer for answer in _ANSWERED.findall(text[:MAX_ERROR]) if answer.strip())
        if words:
            self.user(words, at_ms)

    def request(self, request_id: str, *, read: object, cached: object, at_ms: int) -> None:
        """Add the token counts of a model request. Hosts repeat them with every piece of an answer, so each `request_id` counts once; implausible counts are dropped."""
        if not isinstance(read, int) or not isinstance(cached, int) or request_id in self._asked:
            return
        if request_id and 0 <= cached <= read and 0 < read <= _MAX_TOKENS:
            self._asked.add(request_id)
            mark = hashlib.sha256(request_id.encode("utf-8", "surrogatepass")).hexdigest()[:12]
            request = ModelRequest(at_ms=at_ms, input_tokens=read, cached_tokens=cached, mark=mark)
            self._requests.append(request)

    @property
    def is_open(self) -> bool:
        """Whether the agent's current turn has any text or call."""
        return bool(self._texts or self._tools)

    @property
    def waits(self) -> bool:
        """Whether a call has no result yet, and the agent has said nothing since."""
        return bool(self._waiting)

    def done(self) -> tuple[Turn, ...]:
        """End the open turn and return all turns."""
        self._close()
        return tuple(self.turns)

    def _close(self) -> None:
        if self._texts or self._tools:
            self._append("assistant", "\n\n".join(self._texts), tuple(self._tools), self._at_ms)
            self._requests = []
        self._texts, self._tools, self._by_id, self._at_ms, self._said = [], [], {}, 0, ""
        self._waiting.clear()

    def _append(self, role: str, text: str, tools: Sequence[ToolUse], at_ms: int) -> None:
        speaker = "user" if role == "user" else "assistant"
        key = turn_key(speaker, text, at_ms, self.prompts, self.last)
        self.last = key if speaker == "user" else self.last
        self.turns.append(
            Turn(
                index=len(self.turns),
                number=self.prompts,
                role=speaker,
                text=text,
                tools=tuple(tools),
                at_ms=at_ms,
                key=key,
                requests=() if speaker == "user" else tuple(self._requests),
            )
        )


def _commit_of(command: str, output: str) -> str:
    """Return short hash and subject of the commit that `command` made, from git's output; "" = it made none."""
    match = _COMMITTED.search(output[:MAX_ERROR]) if command and _COMMIT.search(command) else None
    return f"{match['hash']} {match['subject'].strip()}" if match else ""


def _numbered(tasks: tuple[tuple[str, str, str], ...], output: str) -> tuple[tuple[str, str, str], ...]:
    number = _CREATED.search(output[:MAX_ERROR]) if tasks and not tasks[0][0] else None
    return ((number[1], *tasks[0][1:]),) if number else tasks
