"""Who speaks in a prompt, and what a short reply accepts. In: the text of a prompt, the end of the agent's last message.

Out: whether a person wrote the prompt; a command to Tacit; whether a reply accepts, refuses, or is small talk, and the words of the
proposal that it accepts. Knows English well and the plain yes and no of some other languages.

Hosts, recall, the situation's reader and capture share the one list of what no person wrote. Hosts put notices, command wrappers and
summaries where a person's words stand; each has a fixed opening (seen in Claude Code, OpenCode and Gemini CLI). Only the opening is
looked at: what a person pastes further down is theirs.

`typed_command` reads the commands to Tacit that the user types as a prompt. Only a prompt that is the command counts, on one line: a
text that was pasted may hold such a line. Commands that need no authority of the user (`wrong`, `why`, `off`) are left to the agent
that the host asks to run them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import cast

from tacit.frozen import frozen
from tacit.text.lazy_regex import lazy_regex, wording

_REPLIES = wording("replies")

# --- machine-made prompts

_PROGRAM_SOURCES = frozenset({"system", "loop_wakeup", "schedule_wakeup", "poll_event"})
_SCRIPTED = ("sdk", "mcp", "claude-code-github-action")
"""Beginnings of entrypoints that no person types into."""
LOOKED_AT_CHARS = 400
_OPENING = re.compile(
    r"\s*(?:"
    r"<(?:task[-_]notification|system[-_]reminder|hook_context|command-(?:name|message|args|contents)|local-command"
    r"|bash-(?:input|stdout|stderr)|user-memory-input|teammate-message)\b"
    r"|\[(?:Request interrupted|SYSTEM NOTIFICATION|SUGGESTION MODE)"
    r"|Caveat: The messages below were generated"
    r"|This session is being continued from a previous conversation"
    r"|Stop hook feedback"
    r"|Base directory for this skill:"
    r"|/tacit\b"  # our own commands are for Tacit, not for the agent
    r")",
    re.IGNORECASE,
)


def by_program(origin: object, *sources: object, entrypoint: str | None = None) -> bool:
    """Whether Claude Code's fields say that no person typed a prompt.

    Args:
        origin: the field `origin` of the prompt; its `kind` is `human` where a person typed it.
        sources: the fields `source`, `promptSource` and `turnOrigin`.
        entrypoint: the field `entrypoint` of a line of the transcript; "" = it has none. None = a hook, which is not told it.
            Editors and the desktop app send what a person types as `sdk`, too: there the entrypoint tells.
    """
    kind = cast("Mapping[str, object]", origin).get("kind") if isinstance(origin, Mapping) else origin
    if kind not in (None, ""):
        return kind != "human"
    scripted = entrypoint is not None and (not entrypoint or entrypoint.startswith(_SCRIPTED))
    return any(
        isinstance(source, str) and (source in _PROGRAM_SOURCES or (source == "sdk" and scripted))
        for source in sources
    )


def names_a_session(text: str) -> bool:
    """Whether a prompt says what a session is about: a person wrote it, and it is more than a bare slash command."""
    return bool(text.strip()) and not machine_made(text) and (not text.startswith("/") or " " in text)


def machine_made(text: str) -> bool:
    """Whether a program, not a person, wrote the prompt `text`, by its first `LOOKED_AT_CHARS` characters."""
    return _OPENING.match(text[:LOOKED_AT_CHARS]) is not None


_COMMAND = re.compile(r"/tacit(?::|[ \t]+)(?:(?P<verb>remember)[ \t]+(?P<text>\S.*)|forget[ \t]+(?P<id>\S+))")
_QUOTES = ('""', "''", "\u201c\u201d", "\u2018\u2019")


def typed_command(prompt: str) -> str:
    """Return the Tacit command that `prompt` consists of, `remember TEXT` or `forget ID`; "" = none."""
    line = prompt.strip()
    command = _COMMAND.fullmatch(line)
    if command is None or len(line.splitlines()) != 1:
        return ""
    if command["verb"] is None:
        return f"forget {command['id']}"
    return f"remember {_unquoted(command['text'])}"


def _unquoted(text: str) -> str:
    """Return `text` without quotation marks around the whole of it."""
    for opening, closing in _QUOTES:
        inner = text[1:-1]
        if (
            text[0] == opening
            and text[-1] == closing
            and inner.strip()
            and not {opening, closing} & set(inner)
        ):
            return inner.strip()
    return text


SUMMARY_TAKEN = "Got it. Thanks for the additional context!"
"""The model answer that Gemini CLI (0.61.0) inserts after the summary of a compressed conversation."""
_ADDED_FILES = re.compile(r"--- Content from referenced files ---.*?(?:--- End of content ---|\Z)", re.DOTALL)


def without_added_files(text: str) -> str:
    """Return a prompt to Gemini CLI without the contents of the files that it includes with `@path`."""
    return _ADDED_FILES.sub("", text).rstrip() if "--- Content" in text else text


# --- short replies

_ORDINALS = {"first": 1, "former": 1, "second": 2, "latter": 2, "third": 3, "fourth": 4, "last": -1}
_BULLET = lazy_regex(r"^[ \t]*[-*•][ \t]+\S.*$", re.MULTILINE)
_SENTENCE = lazy_regex(r"[^.!?\n]+(?:\.(?=\w)[^.!?\n]*)*[.!?]*|\n+")
_SHORT_WORDS = 12
_LONG_END = 2_000


@frozen
class ShortReply:
    """What a short reply of the user says, as flags of which several can be true: yes, no, small talk, go on.

    Attributes:
        accepts: it says yes, go on, or picks something.
        refuses: it says no.
        small_talk: it is only a greeting, thanks or praise.
        goes_on: it says to go on, not only yes; that needs no question before it.
        picks: the numbers or lower-case letters it picks; `-1` is the last item.
        rest: what it says besides, without the yes or no.
    """

    accepts: bool = False
    refuses: bool = False
    small_talk: bool = False
    goes_on: bool = False
    picks: tuple[str, ...] = ()
    rest: str = ""


def read_reply(text: str) -> ShortReply:
    """Return what `text` says as a reply to the agent; all flags are False for a long text without a clear yes or no at its beginning."""
    return _read_reply(text.strip())


@lru_cache(maxsize=16)
def _read_reply(text: str) -> ShortReply:
    if not text:
        return ShortReply()
    words = text.split()
    pick = _REPLIES.pick.match(text)
    if pick and (len(words) <= _SHORT_WORDS or pick[0].endswith((".", ",", ";", ":", ")", "\n", "!"))):
        picks = _picks(pick)
        if picks:
            return ShortReply(accepts=True, picks=picks, rest=text[pick.end() :].strip())
    if len(words) <= _SHORT_WORDS and _REPLIES.thanks.match(text):
        return ShortReply(small_talk=True)
    if len(words) <= _SHORT_WORDS and _REPLIES.accept.match(text):
        return ShortReply(
            accepts=True,
            small_talk=bool(_REPLIES.small_talk.match(text)),
            goes_on=bool(_REPLIES.goes_on.search(text)),
            picks=_ordinals(text),
        )
    if len(words) <= _SHORT_WORDS and _REPLIES.small_talk.match(text):
        return ShortReply(small_talk=True)
    refusal = _REPLIES.refuse.match(text)
    if refusal and (refusal.end() == len(text) or text[refusal.end() - 1] in " .,!;:\n" or not refusal.end()):
        return ShortReply(refuses=True, rest=text[refusal.end() :].strip())
    lead = _leading_yes(text)
    if lead:
        return ShortReply(
            accepts=True,
            picks=_ordinals(text) if len(words) <= _SHORT_WORDS else (),
            rest=text[lead:].strip(),
        )
    if len(words) <= 6:
        ordinals = _ordinals(text)
        if ordinals:
            return ShortReply(accepts=True, picks=ordinals)
    return ShortReply()


@lru_cache(maxsize=64)
def proposal_in(previous_end: str, picks: tuple[str, ...] = ()) -> str:
    """Return what the agent proposes at the end of its message: the asking sentences, with the list items or text around them; "" = nothing.

    Args:
        previous_end: the end of the agent's last message, 300 to 2,000 characters.
        picks: item numbers or letters the user picked; only those items are then returned, where they are found.
    """
    end = previous_end[-_LONG_END:].strip()
    if not end:
        return ""
    items = [(match[1].lower(), match[2]) for match in _REPLIES.item.finditer(end)]
    if picks and items:
        chosen = [items[-1][1]] if "-1" in picks else [body for label, body in items if label in picks]
        if chosen:
            return "\n".join(chosen)
    asks = _asking_part(end)
    if not asks and not picks:
        return "\n".join(body for _, body in items) if len(items) >= 2 else ""
    if len(asks.split()) >= 14 and not items:
        return asks
    around = "\n".join(body for _, body in items) or "\n".join(_BULLET.findall(end)) or end[-500:]
    return f"{asks}\n{around}".strip()


def _leading_yes(text: str) -> int:
    """Return the length of the yes that opens `text` before more words; 0 = none."""
    firm = _REPLIES.firm_yes.match(text)
    if firm:
        return firm.end()
    lead = _REPLIES.accept_lead.match(text)
    if lead and text[: lead.end()].rstrip(" ")[-1] in ".,!;:\n–—":
        return lead.end()
    return 0


def _asking_part(end: str) -> str:
    """Return the last sentences that ask for permission or announce a step."""
    tail = end[-700:]
    sentences = [sentence for sentence in _SENTENCE.findall(tail) if sentence.strip()]
    chosen = [s.strip() for s in sentences[-8:] if _REPLIES.asks.search(s.lower())]
    if not chosen and sentences and "?" in "".join(sentences[-2:]):
        chosen = [s.strip() for s in sentences[-2:]]
    return " ".join(chosen[-3:])


def asks_for_leave(previous_end: str) -> bool:
    """Whether the message ends by asking for permission (`Want me to ...?`), so that praise means yes."""
    return bool(_REPLIES.direct.search(previous_end[-300:])) and "?" in previous_end[-160:]


def _picks(match: re.Match[str]) -> tuple[str, ...]:
    letters = match["letters"]
    if letters:
        if (
            letters.lower() == "a"
            and match.end() < len(match.string)
            and match.string[match.end() - 1].isspace()
            and "\n" not in match[0]
        ):
            return ()  # the article, not an option
        return tuple(dict.fromkeys(re.findall(r"(?<![a-z])[a-h](?![a-z])", letters.lower())))
    numbers = match["picks"] or ""
    span = re.fullmatch(r"#?(\d{1,2})\s*(?:-|to)\s*#?(\d{1,2})", numbers)
    if span and int(span[1]) < int(span[2]) <= int(span[1]) + 20:
        return tuple(str(n) for n in range(int(span[1]), int(span[2]) + 1))
    return tuple(dict.fromkeys(re.findall(r"\d+", numbers)))


def _ordinals(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(str(_ORDINALS[word.lower()]) for word in _REPLIES.ordinal.findall(text)))


def is_objection(text: str) -> bool:
    """Whether a prompt objects to the agent's last message: it says no, or has words of objection in its first 300 characters."""
    return read_reply(text).refuses or bool(_REPLIES.objects.search(text[:300]))
