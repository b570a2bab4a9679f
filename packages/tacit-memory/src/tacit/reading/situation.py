"""The one reading of a prompt, and the situation that a prompt or a tool call makes.

In: the prompt, the end of the agent's last message, recent tools and files; or one tool call. Out: an `Utterance`, a `Situation`.
Pure: no model, no file, no clock. Never slower than a few milliseconds, however long the prompt: head and tail are read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from tacit.frozen import frozen
from tacit.model.note import Note, NoteCause
from tacit.model.signal import ToolCall
from tacit.model.trigger import Situation
from tacit.reading.commands import Touch, command_actions, file_actions, split_commands
from tacit.reading.errors import looks_like_error
from tacit.reading.languages import languages_in, languages_of
from tacit.reading.prompts import ShortReply, asks_for_leave, machine_made, proposal_in, read_reply
from tacit.reading.terms import find_paths, objects_of, prose_of
from tacit.reading.words import QUESTION_OPENERS, REQUEST_OPENERS, ActionEvidence, Weights, read_words
from tacit.text.lazy_regex import wording
from tacit.text.tokens import ENGLISH_WORD, count_words

if TYPE_CHECKING:
    from tacit.reading.explicit import Statement

_QUESTIONS = wording("questions")

HEAD_CHARS = 3_000
TAIL_CHARS = 1_500
MOST_UTTERANCES = 64
"""Prompts whose readings are cached: each has many calls, and learning reads it again later."""
_SENTENCE = re.compile(r"[^.!?\n]+(?:[.](?=\S)[^.!?\n]*)*[.!?]*")
_PROGRAMS = (
    "git", "npm", "pnpm", "yarn", "bun", "npx", "uv", "pip", "cargo", "docker", "kubectl", "gh", "pytest", "dotnet", "terraform",
)  # fmt: skip
_NAMED_COMMAND = re.compile(rf"`([^`\n]{{2,100}})`|(?<![\w./-])((?:{'|'.join(_PROGRAMS)}) [a-z][\w:-]*)")
_NAMED_SIGNS = ("`", *(f"{program} " for program in _PROGRAMS))
_COMMAND_WORD = re.compile(r"[a-z][\w./-]*(?:\s|$)")
_IMPLIED: dict[str, tuple[tuple[str, float], ...]] = {
    "implement_feature": (("edit_code", 0.95), ("write_test", 0.35), ("run_tests", 0.35), ("run_lint_build", 0.25), ("new_file", 0.2)),
    "fix_bug": (("edit_code", 0.9), ("debug_investigate", 0.55), ("run_tests", 0.3)),
    "refactor": (("edit_code", 0.95), ("run_tests", 0.35), ("run_lint_build", 0.2)),
    "execute_plan": (("edit_code", 0.75), ("implement_feature", 0.55), ("write_test", 0.25), ("run_tests", 0.3)),
    "address_review": (("edit_code", 0.85),),
    "performance": (("edit_code", 0.5),),
    "ui_design": (("edit_code", 0.75),),
    "cli_output_ux": (("edit_code", 0.7),),
    "error_handling": (("edit_code", 0.75),),
    "parsing_formats": (("edit_code", 0.5),),
    "data_storage": (("edit_code", 0.4),),
    "code_comments": (("edit_code", 0.6),),
    "delete_code": (("edit_code", 0.7),),
    "write_test": (("run_tests", 0.6), ("edit_code", 0.45)),
    "change_test": (("run_tests", 0.65), ("edit_code", 0.5)),
    "reproduce_bug": (("debug_investigate", 0.7), ("run_command", 0.4)),
    "explain_code": (("answer_question", 0.6),),
    "offer_options": (("answer_question", 0.5),),
    "edit_code": (("run_lint_build", 0.15), ("run_tests", 0.18)),
}  # fmt: skip
_AFTER_EDIT = (("run_lint_build", 0.3), ("run_tests", 0.3), ("commit", 0.2), ("write_docs", 0.2))
_TOOL_PRIOR = {
    "edit": "edit_code",
    "write": "edit_code",
    "bash": "run_command",
    "read": "explain_code",
    "grep": "debug_investigate",
}


@frozen
class _WordsRead:
    """What the words of a prompt say, without regard to what happened before.

    Attributes:
        chances: (action class, chance), before recent tools are counted.
        notes: reasons for the chances, for the trace.
        paths, proposed_paths: paths in the prompt, and in the proposal that it accepts.
        languages, commands: those that the prompt names.
        objects: objects of the prompt and the proposal.
    """

    chances: Weights
    notes: tuple[Note, ...]
    paths: tuple[str, ...]
    proposed_paths: tuple[str, ...]
    languages: tuple[str, ...]
    commands: tuple[str, ...]
    objects: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Utterance:
    """A prompt and all that is read from it. Each reading is made once, when it is first asked for.

    Recall and capture ask for the same utterance (`utterance_of`), so that neither reads a prompt again.

    Attributes:
        text: the prompt.
        previous_end: the end of the agent's last message; a short yes is read from what it proposes.
    """

    text: str
    previous_end: str = ""

    @cached_property
    def reply(self) -> ShortReply:
        """Return how the prompt reads as a reply to the agent: a yes, a no, small talk, or more."""
        return read_reply(self.text_read)

    @cached_property
    def proposal(self) -> str:
        """Return the words of the agent's proposal that the prompt accepts; "" = none."""
        reply = self.reply
        if not reply.accepts or (reply.small_talk and not asks_for_leave(self.previous_end)):
            return ""
        proposal = proposal_in(self.previous_end, reply.picks)
        return proposal or (self.previous_end[-500:].strip() if reply.goes_on else "")

    @cached_property
    def is_whole_question(self) -> bool:
        """Whether the prompt is a short question that is clear without what was said before."""
        return is_whole_question(self.text)

    @cached_property
    def statements(self) -> tuple[Statement, ...]:
        """Return the statements that the prompt marks as lasting."""
        from tacit.reading.explicit import find_explicit  # noqa: PLC0415 - only what learns asks for it

        return find_explicit(self.text)

    @cached_property
    def asks_to_keep(self) -> bool:
        """Whether the user marks something as lasting; a bare "remember this" counts, too."""
        from tacit.reading.explicit import asks_to_keep  # noqa: PLC0415 - only what learns asks for it

        return asks_to_keep(self.text)

    def situation(self, *, recent_tools: Sequence[str] = (), recent_files: Sequence[str] = ()) -> Situation:
        """Return what the agent is about to do: chances of action classes, with the objects, files, languages and commands concerned.

        Args:
            recent_tools: host-neutral names of the last tools, newest last; a weak hint only.
            recent_files: paths touched lately, newest first or last; give languages and objects.

        Returns:
            A situation whose chances need not sum to one; `nothing_coming` where no action follows.
        """
        nothing = self._why_nothing
        if nothing is not None:
            return Situation(nothing_coming=True, notes=(Note(cause=nothing),))
        return _situation(self._words, self, recent_tools=recent_tools, recent_files=recent_files)

    @cached_property
    def text_read(self) -> str:
        """Return the part of the prompt that is read: all of it, or the head and the tail of a long one."""
        return _cut(self.text).strip()

    @cached_property
    def _why_nothing(self) -> NoteCause | None:
        """Return why no action follows from the prompt; None = one may."""
        if not self.text_read or machine_made(self.text_read):
            return NoteCause.NO_PERSON
        reply, proposal = self.reply, self.proposal
        if reply.refuses and not reply.rest:
            return NoteCause.REFUSED
        if reply.accepts and not reply.rest and not proposal:
            return NoteCause.NOTHING_PROPOSED
        return NoteCause.SMALL_TALK if reply.small_talk and not proposal else None

    @cached_property
    def _words(self) -> _WordsRead:
        own = self.reply.rest if self.reply.accepts or self.reply.refuses else self.text_read
        return _read_words(own, self.proposal)


@lru_cache(maxsize=MOST_UTTERANCES)
def utterance_of(text: str, previous_end: str = "") -> Utterance:
    """Return the utterance for a prompt and the end of the message before it; the last ones are cached and shared."""
    return Utterance(text=text, previous_end=previous_end)


def read_situation(text: str, *, previous_end: str = "", recent_files: Sequence[str] = ()) -> Situation:
    """Return what the agent is about to do after the prompt `text`; see `Utterance.situation`."""
    return utterance_of(text, previous_end).situation(recent_files=recent_files)


def read_call(call: ToolCall) -> Situation:
    """Return the situation of one tool call, whose action is certain.

    A command gives its own classes (`git commit`, `pytest`), an edit those of the kind of file it touches.
    """
    evidence = ActionEvidence()
    commands = split_commands(call.command) if call.command else ()
    for command in commands:
        for name, chance in command_actions(command):
            evidence.raise_to(name, chance)
    touch = _touch_of(call.tool)
    if touch is not None:
        for path in call.paths:
            for name, chance in file_actions(path, touch):
                evidence.raise_to(name, chance)
    paths = tuple(dict.fromkeys(path.replace("\\", "/") for path in call.paths))
    words = "\n".join(text for text in (call.command, call.text) if text)
    named_paths = find_paths(call.command[:HEAD_CHARS]) if call.command else ()
    actions = evidence.ranked(least=0.05)
    return Situation(
        actions=actions,
        objects=objects_of(words[:HEAD_CHARS], paths=paths, limit=48),
        paths=tuple(dict.fromkeys((*paths, *named_paths))),
        languages=languages_of((*paths, *named_paths)),
        commands=commands,
        nothing_coming=not actions and not paths,
        notes=(
            Note(cause=NoteCause.CALL, detail=call.tool),
            *(Note(cause=NoteCause.COMMAND, detail=name) for name in commands[:3]),
        ),
    )


def read_finished(call: ToolCall) -> Situation:
    """Return the situation of a finished call: its own, and weakly what usually follows an edit of code."""
    situation = read_call(call)
    if _touch_of(call.tool) not in ("edit", "write") or situation.probability("edit_code") < 0.5:
        return situation
    actions = dict(situation.actions)
    follows = tuple((name, chance) for name, chance in _AFTER_EDIT if name not in actions)
    return replace(situation, actions=(*situation.actions, *follows))


def _touch_of(tool: str) -> Touch | None:
    name = tool.lower()
    if name in ("edit", "multiedit", "patch", "apply_patch", "notebookedit", "str_replace", "replace"):
        return "edit"
    if name in ("write", "create", "write_file"):
        return "write"
    if name in ("read", "view", "grep", "glob", "list", "read_file"):
        return "read"
    return None


def _read_words(own: str, proposal: str) -> _WordsRead:
    """Read a prompt's words, without its yes or no, and the proposal that it accepts."""
    evidence = ActionEvidence()
    notes: list[Note] = []
    prose = prose_of(own)
    _read_sentences(prose, evidence)
    if proposal:
        share = 1.0 if len(own.split()) <= 3 else 0.6 if len(own.split()) <= 15 else 0.3
        read_words(prose_of(proposal), evidence, scale=share * 0.9)
        evidence.raise_to("edit_code", 0.45 * share)
        evidence.raise_to("execute_plan", 0.4 * share)
        notes.append(Note(cause=NoteCause.ACCEPTS_PROPOSAL))
    if looks_like_error(own):
        evidence.add((("fix_bug", 0.6), ("debug_investigate", 0.65), ("edit_code", 0.4)), 1.0)
        notes.append(Note(cause=NoteCause.ERROR_PASTED))
    named_paths = find_paths(own)
    touched: Touch = "edit" if evidence.chances.get("edit_code", 0.0) >= 0.5 else "named"
    for path in named_paths[:12]:
        for name, chance in file_actions(path, touched):
            evidence.add(((name, chance),), 0.8 if touched == "named" else 0.55)
    commands = _named_commands(own)
    for command in commands:
        for name, chance in command_actions(command):
            evidence.add(((name, chance),), 0.35)
    _imply(evidence)
    notes.extend(Note(cause=NoteCause.SAYS, detail=phrase) for phrase in evidence.phrases[:5])
    notes.extend(Note(cause=NoteCause.DENIES, detail=phrase) for phrase in evidence.denied[:2])
    return _WordsRead(
        chances=tuple(evidence.chances.items()),
        notes=tuple(notes),
        paths=named_paths,
        proposed_paths=find_paths(proposal) if proposal else (),
        languages=languages_in(own),
        commands=commands,
        objects=objects_of(f"{own}\n{proposal}" if proposal else own),
    )


def _situation(
    words: _WordsRead, said: Utterance, *, recent_tools: Sequence[str], recent_files: Sequence[str]
) -> Situation:
    """Return the situation from a prompt's words and what happened before it."""
    evidence = ActionEvidence(chances=dict(words.chances))
    _weigh_tools(evidence, recent_tools)
    actions = evidence.ranked()
    files = tuple(dict.fromkeys(path.replace("\\", "/") for path in recent_files))[:16]
    paths = tuple(dict.fromkeys((*words.paths, *words.proposed_paths, *files)))
    situation = Situation(
        actions=actions,
        objects=words.objects,
        paths=paths,
        languages=tuple(dict.fromkeys((*words.languages, *languages_of(paths)))),
        commands=words.commands,
        accepted=bool(said.proposal),
        notes=words.notes,
    )
    if actions:
        return situation
    text = said.text_read
    if _QUESTIONS.reports.search(text) or (
        count_words(text) <= 3 and not words.paths and not said.previous_end
    ):
        return replace(situation, nothing_coming=True, notes=(Note(cause=NoteCause.NO_ACTION),))
    return replace(
        situation,
        actions=(("edit_code", 0.4), ("answer_question", 0.25)),
        notes=(Note(cause=NoteCause.NO_CLEAR_WORDS),),
    )


MOST_QUESTION_WORDS = 30
"""A longer prompt counts as an order, even if it asks something."""
MOST_BARE_WORDS = 10
MIN_WHOLE_QUESTION_WORDS = 4
_BARE_OPENERS = ("where", "who", "which", "is", "does")


def asks_question(text: str) -> bool:
    """Whether a short prompt asks for information; "can you fix ..." is an order."""
    words = _words_of(text)
    if len(text.split()) > MOST_QUESTION_WORDS or not words:
        return False
    if words[0] in _BARE_OPENERS and len(words) <= MOST_BARE_WORDS:
        return True
    return any(
        _is_question(words, asks=_ends_as_question(match[0]))
        for match in _SENTENCE.finditer(text)
        if (words := _words_of(match[0]))
    )


def is_whole_question(text: str) -> bool:
    """Whether a short prompt is a question that is clear without what was said before."""
    words = _words_of(text)
    return (
        len(words) >= MIN_WHOLE_QUESTION_WORDS
        and asks_question(text)
        and _QUESTIONS.points_back.search(text) is None
    )


def asks_about_past(text: str) -> bool:
    """Whether `text` asks for what held before, since when something holds, or when it ended.

    "Before" is no sign by itself: "what do I run before a commit?" asks for a rule that holds. It counts after a verb of the past in
    the same sentence, where the sentence ends there, goes on with a word for now, or names a thing by its capital ("before Vonage").
    """
    return _QUESTIONS.past.search(text) is not None


def _read_sentences(prose: str, evidence: ActionEvidence) -> None:
    """Add each sentence's evidence: a question for an answer, a request or an order for the action."""
    for match in _SENTENCE.finditer(prose):
        sentence = match[0].strip()
        if not sentence:
            continue
        words = _words_of(sentence)
        if not words:
            continue
        asks = _ends_as_question(sentence)
        if not _is_question(words, asks=asks):
            read_words(sentence, evidence)
            continue
        evidence.add((("answer_question", 0.7 if asks else 0.5), ("explain_code", 0.3)), 1.0)
        if "why" in words[:3]:
            evidence.add((("debug_investigate", 0.45),), 1.0)
        read_words(sentence, evidence, scale=0.45)


def _words_of(sentence: str) -> list[str]:
    return ENGLISH_WORD.findall(sentence[:120].lower().replace("’", "'"))


def _ends_as_question(sentence: str) -> bool:
    return sentence.rstrip("\"')*_ \n").endswith("?")


def _is_question(words: list[str], *, asks: bool) -> bool:
    first = (
        words[0]
        if words[0] not in ("and", "but", "so", "ok", "okay", "also", "then", "hmm", "well", "wait")
        or len(words) == 1
        else words[1]
    )
    if first in REQUEST_OPENERS and "you" in words[1:3]:
        return False  # "can you fix ..." orders
    if first in ("let's", "lets", "please"):
        return False
    return asks or (
        first in QUESTION_OPENERS
        and first not in ("do", "don't", "have", "is", "will", "does", "which", "when", "where", "who")
    )


def _imply(evidence: ActionEvidence) -> None:
    for name, chance in sorted(evidence.chances.items()):
        for implied, share in _IMPLIED.get(name, ()):
            evidence.raise_to(implied, chance * share)


def _weigh_tools(evidence: ActionEvidence, recent_tools: Sequence[str]) -> None:
    for tool in dict.fromkeys(name.lower() for name in recent_tools[-5:]):
        name = _TOOL_PRIOR.get(tool)
        if name is not None and name in evidence.chances:
            evidence.add(((name, 0.12),), 1.0)


def _named_commands(text: str) -> tuple[str, ...]:
    commands: dict[str, None] = {}
    for match in _NAMED_COMMAND.finditer(text) if any(map(text.__contains__, _NAMED_SIGNS)) else ():
        snippet = match[1] or match[2]
        if not _COMMAND_WORD.match(snippet):
            continue
        for command in split_commands(snippet):
            if command_actions(command) != (("run_command", 0.7),):
                commands.setdefault(command)
        if len(commands) >= 8:
            break
    return tuple(commands)


def _cut(text: str) -> str:
    if len(text) <= HEAD_CHARS + TAIL_CHARS:
        return text
    return f"{text[:HEAD_CHARS]}\n{text[-TAIL_CHARS:]}"
