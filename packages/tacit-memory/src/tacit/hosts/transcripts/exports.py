"""Files of other tools, and exports of hosts. In: a file. Out: one `Transcript` for each conversation in it.

- Files of conversations: `turns` or `messages` with roles (one JSON object, a list of them, or one a line), `chat_messages` (Claude.ai's export),
  `mapping` (ChatGPT's export, of which the branch shown last is read), `info` and `messages` (`opencode export`). A list of messages is one conversation.
- aider's `.aider.chat.history.md`: `# aider chat started at ...` between empty lines begins a chat. The user's lines begin with `#### ` and end with
  two blanks, and an empty line stands in front of the first. Lines after `> ` are what aider itself said (tools, commits, questions), the rest is the
  model's; so is all that stands in a fence, whatever it looks like. Slash commands are left out.
- Markdown of SpecStory: `_**User (time)**_` and `_**Agent (model time)**_` (older versions: `_**Assistant**_`) above what was said, and tools between
  `<tool-use ...>` and `</tool-use>`; or a text with a heading per speaker. What stands in a tool's output or the agent's thoughts begins no turn,
  whatever it looks like. Sidechains are left out unless asked for, and so is the text of slash commands, which the host wrote.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from tacit.hosts.opencode.transcript import take_opencode
from tacit.hosts.transcripts import Transcript, TurnBuilder, text_of, time_of
from tacit.hosts.transcripts.rows import (
    Fields,
    fields_of,
    is_list,
    is_object,
    list_of,
    parse_json,
    read_whole,
    take_message,
    text_in,
    unchanged,
    whole,
)
from tacit.state.captured import Position
from tacit.text.lazy_regex import lazy_regex

_IDS = ("session_id", "sessionId", "conversation_id", "uuid", "id")
_ROLES = {"human": "user"}


def is_conversation(value: object) -> bool:
    """Whether `value` is a JSON object that holds a whole conversation."""
    fields = fields_of(value)
    if is_object(fields.get("mapping")):
        return True
    lists = (list_of(fields.get(name)) for name in ("turns", "messages", "chat_messages"))
    return any(entries and _is_message(entries[0]) for entries in lists)


def is_message(value: object) -> bool:
    """Whether `value` is a JSON object that is one message with a role."""
    return _is_message(value)


def _is_message(value: object) -> bool:
    fields = fields_of(value)
    if is_object(fields.get("info")) and is_list(fields.get("parts")):
        return True
    speaker = fields.get("role", fields.get("sender"))
    return isinstance(speaker, str) and any(
        name in fields for name in ("content", "text", "message", "parts")
    )


def read_conversations(path: Path) -> Iterator[Transcript]:
    """Yield every conversation in the JSON or JSON lines file, in order. A list of messages is one conversation.

    Raises:
        OSError: if the file cannot be read.
    """
    text, end = read_whole(path)
    document = parse_json(text)
    if document is None:
        yield from _by_line(text)
        return
    conversations = list_of(document) if is_list(document) else [document]
    if conversations and _is_message(conversations[0]):
        yield _conversation({"messages": conversations}, end)
        return
    for conversation in conversations:
        if is_conversation(conversation):
            yield _conversation(fields_of(conversation), _position(json.dumps(conversation, sort_keys=True)))


def _by_line(text: str) -> Iterator[Transcript]:
    """Yield the conversations of JSON lines: each line is one, or the lines are the messages of one. Lines that are not JSON count as bad."""
    messages: list[object] = []
    bad = 0
    for line in text.splitlines():
        if not line.strip():
            continue
        row = parse_json(line)
        if is_conversation(row):
            yield _conversation(fields_of(row), _position(line))
        elif _is_message(row):
            messages.append(row)
        else:
            bad += row is None
    if messages:
        yield _conversation({"messages": messages}, _position(text), bad=bad)


def _position(text: str) -> Position:
    """Return the position that stands for this exact text of a conversation: its length and a hash."""
    raw = text.encode("utf-8", "surrogatepass")
    return Position(offset=len(raw), head=hashlib.sha256(raw).hexdigest()[:16])


def _conversation(fields: Fields, end: Position, *, bad: int = 0) -> Transcript:
    builder = TurnBuilder()
    info = fields_of(fields.get("info"))
    session_id = next((name for key in _IDS if (name := text_in(fields, key) or text_in(info, key))), "")
    cwd = text_in(fields, "cwd") or text_in(info, "directory")
    for message in _messages(fields):
        parts = message.get("parts")
        if is_object(message.get("info")) and is_list(parts):
            take_opencode(builder, fields_of(message["info"]), list_of(parts))
        elif "chat_messages" in fields:
            _take_exported(builder, message)
        else:
            take_message(builder, message)
    return whole(builder, end, session_id=session_id, cwd=cwd, bad=bad)


def _messages(fields: Fields) -> list[Fields]:
    for name in ("turns", "messages", "chat_messages"):
        if rows := list_of(fields.get(name)):
            return [fields_of(message) for message in rows]
    return _branch(fields_of(fields.get("mapping")), text_in(fields, "current_node"))


def _branch(mapping: Fields, current: str) -> list[Fields]:
    """Return the messages of a ChatGPT conversation from its root to `current`, oldest first; "" = to the first leaf."""
    chain: list[Fields] = []
    visited: set[str] = set()
    at = current or _leaf(mapping)
    while at in mapping and at not in visited:
        visited.add(at)
        node = fields_of(mapping[at])
        message = fields_of(node.get("message"))
        role = text_in(fields_of(message.get("author")), "role")
        parts = [
            part for part in list_of(fields_of(message.get("content")).get("parts")) if isinstance(part, str)
        ]
        if role in ("user", "assistant") and parts:
            chain.append({"role": role, "content": "\n".join(parts), "timestamp": message.get("create_time")})
        at = text_in(node, "parent")
    return chain[::-1]


def _leaf(mapping: Fields) -> str:
    at = next((name for name, node in mapping.items() if not fields_of(node).get("parent")), "")
    visited: set[str] = set()
    while at and at not in visited:
        visited.add(at)
        children = list_of(fields_of(mapping.get(at)).get("children"))
        if not children:
            break
        at = str(children[0])
    return at


def _take_exported(builder: TurnBuilder, message: Fields) -> None:
    words = text_in(message, "text") or text_of(message.get("content"))
    at_ms = time_of(message.get("created_at"))
    speaker = text_in(message, "sender") or text_in(message, "role")
    if _ROLES.get(speaker, speaker) == "user":
        builder.user(words, at_ms)
    elif speaker == "assistant":
        builder.reply(words, at_ms)


STARTED = lazy_regex(r"^# aider chat started at (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\s*$", re.MULTILINE)
_FENCE = lazy_regex(r" {0,3}(?P<mark>`{3,}|~{3,})(?P<info>[^`]*)$")
_PROMPT_LINE = lazy_regex(r"#### (.*)  \r?")
_COMMIT = lazy_regex(r"^Commit ([0-9a-f]{7,12}) (\S.*?)\s*$")
_APPLIED = lazy_regex(r"^Applied edit to (.+?)\s*$")
_RAN = lazy_regex(r"^Running (.+?)\s*$")


def read_aider(path: Path) -> Iterator[Transcript]:
    """Yield the chats of an aider history, oldest first. The id of a chat is the time at which it began.

    Raises:
        OSError: if the file cannot be read.
    """
    text, _ = read_whole(path)
    lines = [_Line(text=line) for line in text.split("\n")]
    _mark_fences(lines)
    starts = [
        (number, match)
        for number, line in enumerate(lines)
        if not line.fenced and (match := _started(lines, number))
    ]
    ends = [number for number, _ in starts[1:]] + [len(lines)]
    for (number, start), until in zip(starts, ends, strict=False):
        at_ms = int(datetime.fromisoformat(start[1]).replace(tzinfo=UTC).timestamp() * 1000)
        builder = TurnBuilder()
        _take(builder, lines[number + 1 : until], at_ms)
        cwd = str(path.parent) if path.name == ".aider.chat.history.md" else ""
        offset = sum(len(line.text) + 1 for line in lines[:until])
        yield whole(
            builder,
            Position(offset=min(offset, len(text))),
            session_id=re.sub(r"\D+", "-", start[1]),
            cwd=cwd,
        )


@dataclass(slots=True, kw_only=True)
class _Line:
    """A line of an aider history. `fenced` = it belongs to a fenced code block."""

    text: str
    fenced: bool = False


def _started(lines: Sequence[_Line], number: int) -> re.Match[str] | None:
    """Return the match if line `number` begins a new chat, which needs an empty line on both sides; else None."""
    near = (lines[at].text.strip() for at in (number - 1, number + 1) if 0 <= at < len(lines))
    return None if any(near) else STARTED.fullmatch(lines[number].text)


def _mark_fences(lines: Sequence[_Line]) -> None:
    """Set `fenced` of all lines in fenced code blocks. A block that a reply left open ends at the next chat.

    The mark of a chat inside of a fence is part of the reply: the number of fence lines behind it, up to the next such mark, is odd then.
    """
    fences = {number: fence for number, line in enumerate(lines) if (fence := _FENCE.match(line.text))}
    chats = [number for number in range(len(lines)) if _started(lines, number)]
    real = {
        chat
        for chat, until in zip(chats, [*chats[1:], len(lines)], strict=False)
        if sum(chat < number < until for number in fences) % 2 == 0
    }
    opened = ""
    for number, line in enumerate(lines):
        if number in real:
            opened = ""
        line.fenced = bool(opened) or number in fences
        if (fence := fences.get(number)) is not None:
            if not opened:
                opened = fence["mark"]
            elif fence["mark"].startswith(opened) and not fence["info"].strip():
                opened = ""


def _take(builder: TurnBuilder, lines: Sequence[_Line], at_ms: int) -> None:
    """Add the lines of one chat to `builder`. Aider gives only the chat a time, so prompt n gets that time plus n milliseconds and the order is kept."""
    prompt_lines: list[str] = []
    reply_lines: list[str] = []
    calls = 0

    def flush() -> None:
        if reply_lines:
            builder.reply("\n".join(reply_lines), at_ms)
            reply_lines.clear()
        words = "\n".join(prompt_lines).strip()
        if prompt_lines and not words.startswith("/"):
            builder.user(words, at_ms + builder.prompts)
        prompt_lines.clear()

    before = ""
    for row in lines:
        line, previous = row.text, before
        before = line
        if row.fenced:
            if prompt_lines:
                flush()
            reply_lines.append(line)
            continue
        # A prompt of several lines is one block: only its first line has an empty one in front of it.
        users = _PROMPT_LINE.fullmatch(line)
        if users and (prompt_lines or not previous.strip()):
            if reply_lines:
                flush()
            prompt_lines.append(users[1].rstrip())
            continue
        if prompt_lines:
            if not line.strip():
                continue
            flush()
        if line.startswith("> "):
            flush()
            calls += _did(builder, line[2:].strip(), f"call-{calls}", at_ms)
        elif not line.startswith(">"):
            reply_lines.append(line)
    flush()


def _did(builder: TurnBuilder, line: str, call_id: str, at_ms: int) -> bool:
    """Add what a line reports of aider's own work (a commit, an edit, a command) as a tool call; return whether it was such a line."""
    if commit := _COMMIT.match(line):
        builder.call("bash", call_id, {"command": "git commit"}, at_ms)
        builder.result(call_id, failed=False, text=f"[{commit[1]}] {commit[2]}", at_ms=at_ms)
    elif applied := _APPLIED.match(line):
        builder.call("edit", call_id, {"path": applied[1]}, at_ms)
        builder.result(call_id, failed=False, text="", at_ms=at_ms)
    elif ran := _RAN.match(line):
        builder.call("bash", call_id, {"command": ran[1]}, at_ms)
    else:
        return False
    return True


GENERATED = "<!-- Generated by SpecStory"
_SESSION = lazy_regex(r"^<!-- (?P<agent>[A-Z][\w ]+?) Session (?P<id>[\w.-]{6,80})\b", re.MULTILINE)
_SPOKE = lazy_regex(
    r"^_\*\*(?P<who>User|Agent|Assistant)(?P<side> - sidechain)?(?: \((?P<told>[^)\n]*)\))?\*\*_[ \t]*$"
)
HEADED = lazy_regex(
    r"^(?:#{1,4}[ \t]+|\*\*)(?P<who>USER|User|Human|ASSISTANT|Assistant|AI|Agent)\b(?=[ \t]*(?:\*\*|:|\(|\u2014|-|$))[^\n]*$"
)
_WHEN = lazy_regex(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?Z?")
_TOOL = lazy_regex(
    r'<tool-use data-tool-type="(?P<type>\w*)" data-tool-name="(?P<name>[^"]*)">(?P<body>.*?)</tool-use>',
    re.DOTALL,
)
_SUMMARY = lazy_regex(r"<summary>(?P<text>.*?)</summary>", re.DOTALL)
_THOUGHT = lazy_regex(r"<think>.*?(?:</think>|\Z)|<details>\s*<summary>.*?(?:</details>|\Z)", re.DOTALL)
_COMMAND = lazy_regex(
    r"^`(?P<one>[^`\n]+)`[ \t]*$|^```(?:bash|sh|shell|zsh)\n(?P<many>.*?)\n```", re.DOTALL | re.MULTILINE
)
_OUTPUT = lazy_regex(
    r"^(?P<fence>`{3,})[\w.+-]*\n(?P<text>.*?)\n?(?P=fence)[ \t]*$", re.DOTALL | re.MULTILINE
)
_EXIT = lazy_regex(r"\A\s*(?:Exit code|Error: Exit code) (\d+)|^Process exited with code (\d+)", re.MULTILINE)
_PATH = lazy_regex(
    r"The file (?P<edited>/\S+) has been updated|File created successfully at: (?P<made>/\S+)"
    r"|(?:Edit|Read|Write) file: (?P<named>\S+)|^\*\*(?:Update|Add|Delete): `(?P<patched>[^`]+)`\*\*",
    re.MULTILINE,
)
_TODO = lazy_regex(r"^- \[(?P<mark>[ xX\u26a1~-])\] (?:\S*[^\w\s`'\"(]\S* )?(?P<text>\S.*)$", re.MULTILINE)
_STATUS = {" ": "pending", "x": "completed", "X": "completed"}
_ANSWER = lazy_regex(r"^\*\*Answer:\*\* (?P<text>.+)$", re.MULTILINE)
_ENTITIES = (("&#96;", "`"), ("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&"))
_HOSTS = {
    "claude code": "claude-code",
    "codex": "codex",
    "gemini": "gemini",
    "copilot": "copilot",
    "cursor": "cursor",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """The origin that a SpecStory file names: host and session id, each "" if it does not say."""

    host: str = ""
    session_id: str = ""


def heading_of(text: str) -> Heading:
    """Return the host and session id that the beginning of a SpecStory file names."""
    match = _SESSION.search(text[:4000])
    if not match:
        return Heading()
    agent = match["agent"].lower()
    host = next((name for words, name in _HOSTS.items() if agent.startswith(words)), "")
    return Heading(host=host, session_id=match["id"] if host else "")


def read_specstory(path: Path, since: Position | None = None, *, subagents: bool = False) -> Transcript:
    """Read the conversation of a SpecStory file; no turns if the file has not changed since `since`. Sidechains are left out unless `subagents`.

    Raises:
        OSError: if the file cannot be read.
    """
    text, end = read_whole(path)
    if (as_it_was := unchanged(since, end)) is not None:
        return as_it_was
    builder = TurnBuilder()
    for speaker, sidechain, at_ms, body in _spoken(text):
        if sidechain and not subagents:
            continue
        if speaker != "User":
            _take_reply(builder, body, at_ms)
        else:
            builder.user(body, at_ms)
    cwd = str(path.parent.parent.parent) if path.parent.parts[-2:] == (".specstory", "history") else ""
    return whole(builder, end, session_id=heading_of(text).session_id, cwd=cwd)


def _spoken(text: str) -> Iterator[tuple[str, bool, int, str]]:
    """Yield (speaker, whether it is a sidechain, time in milliseconds, words) in order; speaker is `User` or `Agent`."""
    pattern = _SPOKE if GENERATED in text[:200] or "\n_**User" in text else HEADED
    open_tools = False
    speaker, side, at_ms = "", False, 0
    lines: list[str] = []
    for line in text.replace("\r\n", "\n").split("\n"):
        match = pattern.match(line) if line[:1] in "_#*" else None
        if match and (not open_tools or pattern is HEADED):
            if speaker:
                yield speaker, side, at_ms, _words(lines)
            time_text = match.groupdict().get("told") or ""
            when = _WHEN.search(time_text)
            speaker = "User" if match["who"].lower() in ("user", "human") else "Agent"
            side, at_ms = bool(match.groupdict().get("side")), time_of(when[0]) if when else 0
            lines = []
            continue
        if line.startswith("<tool-use"):
            open_tools = True
        if open_tools and line.rstrip().endswith("</tool-use>"):
            open_tools = False
        lines.append(line)
    if speaker:
        yield speaker, side, at_ms, _words(lines)


def _words(lines: list[str]) -> str:
    while lines and lines[-1].strip() in ("", "---"):
        lines.pop()
    return "\n".join(line for line in lines if not line.startswith("#" * 20)).strip()


def _take_reply(builder: TurnBuilder, body: str, at_ms: int) -> None:
    at = 0
    for number, tool in enumerate(_TOOL.finditer(body)):
        _reply(builder, body[at : tool.start()], at_ms)
        _take_tool(builder, tool, f"{builder.prompts}-{at_ms}-{number}", at_ms)
        at = tool.end()
    _reply(builder, body[at:], at_ms)


def _reply(builder: TurnBuilder, text: str, at_ms: int) -> None:
    reply = re.sub(r"^---\s*$", "", _THOUGHT.sub("", text), flags=re.MULTILINE).strip()
    if reply:
        builder.reply(reply, at_ms)


def _take_tool(builder: TurnBuilder, tool: re.Match[str], call_id: str, at_ms: int) -> None:
    name, kind, inside = tool["name"], tool["type"], tool["body"]
    for written, meant in _ENTITIES:
        inside = inside.replace(written, meant)
    match = _SUMMARY.search(inside)
    summary, remainder = (match["text"], inside[match.end() :]) if match else ("", inside)
    shown = re.search(r"\*\*[^*]*\*\*\s*`(.+)`\s*\Z", summary, re.DOTALL)
    command = _COMMAND.search(remainder) if kind == "shell" and not shown else None
    outputs = list(_OUTPUT.finditer(remainder, command.end() if command else 0))
    output = outputs[-1]["text"] if outputs else ""
    paths = [
        next(filter(None, path_match.groups()))
        for path_match in _PATH.finditer(f"{summary}\n{remainder[:20_000]}")
    ]
    typed = shown[1] if shown else (command["one"] or command["many"]) if command else ""
    arguments: dict[str, object] = {
        "command": typed,
        "path": paths[0] if kind == "write" and paths else "",
        "todos": [
            {"text": t["text"], "status": _STATUS.get(t["mark"], "in_progress")}
            for t in _TODO.finditer(remainder)
        ]
        if kind == "task"
        else None,
    }
    # A task created one by one is not followed: these files do not say when it was done.
    builder.call(name if kind != "shell" else "bash", call_id, arguments, at_ms)
    code = _EXIT.search(output[:2000])
    wrong = bool(code) and next(filter(None, code.groups()), "0") != "0" if code else False
    failed = (
        wrong
        or "<tool_use_error>" in output[:200]
        or "doesn't want to proceed with this tool use" in output[:300]
    )
    if answer := _ANSWER.search(remainder):
        output = f'"?"="{answer["text"]}"'
    builder.result(call_id, failed=failed, text=output, at_ms=at_ms)
