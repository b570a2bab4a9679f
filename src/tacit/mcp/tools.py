"""The tools: one entry each, with what an agent reads of it and the function that answers.

In: who asks and checked arguments. Out: a short text, never of more tokens than were asked for. What Tacit refuses on purpose
is raised and becomes an error result; a statement of an agent is never taken for the user's word.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from tacit.app.queries.agent_tools import Caller
from tacit.app.queries.session_answers import ContextAnswer
from tacit.errors import NotFound
from tacit.mcp import arguments as ask
from tacit.mcp.texts import (
    TAIL_TOKENS,
    framed,
    memory_line,
    outcome,
    stats_text,
    trace_lines,
    with_more,
)
from tacit.model.memory import BY_TOOL, Sensitivity, Speaker
from tacit.model.scope import Scope

if TYPE_CHECKING:
    from tacit.app.engine import Engine

NOTHING_FITS = "Nothing fits this question."
MORE_HINT = "ask more narrowly or raise max_tokens"
ERRORS = ("error_pattern", "anti_pattern")
FILES = ("file_context",)
LEAST_FURTHER = 120
"""Tokens below which the rest of an answer is not worth a second block."""


@dataclass(frozen=True, slots=False, kw_only=True)
class Tool:
    """One tool.

    Attributes:
        name: as clients call it.
        about: what an agent reads.
        takes: model of its arguments.
        answer: what answers; blocking.
        reads: whether it changes nothing.
        ends: whether it takes something away.
        always: whether a host that shows names alone until a tool is looked for is asked to show it whole: an agent uses
            what it can read. Two of them, because every session pays for it.
    """

    name: str
    about: str
    takes: type[ask.Arguments]
    answer: Callable[[Engine, Caller, Any], str]
    reads: bool = True
    ends: bool = False
    always: bool = False

    @cached_property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of its arguments."""
        return ask.schema_of(self.takes)


def search(engine: Engine, caller: Caller, arguments: ask.Search) -> str:
    """The answer to a question, within its tokens, with how many more there are."""
    answer = engine.agents.answer(caller, arguments.query, budget_tokens=arguments.max_tokens - TAIL_TOKENS)
    if answer.refused:
        return answer.refused
    further = engine.agents.matching(caller, arguments.query, besides=answer)
    if not further:
        return _answer_text(answer)
    count = engine.agents.count
    remaining = arguments.max_tokens - count(answer.block.text)
    if answer.block.text and remaining < LEAST_FURTHER:
        return with_more(answer.block.text, answer.more + len(further), MORE_HINT)
    lines = framed(
        "On record with such words.",
        [memory_line(memory) for memory in further],
        max_tokens=remaining,
        more=answer.more,
        count=count,
    )
    # First: they hold the words, and an answer may be long.
    return f"{lines}\n{answer.block.text}".strip()


def add(engine: Engine, caller: Caller, arguments: ask.AddOne) -> str:
    """Store an agent's statement and say what became of it.

    It is stored at the lowest tier: an agent's word without the user's is unconfirmed, and recalled on demand only. With
    `user_words` from this project's recent prompts that say the same it counts as the user's, for this project only.
    """
    changes = engine.remember(
        arguments.content,
        kind=arguments.kind or None,
        scope=Scope.parse("universal") if arguments.scope == "universal" else None,
        when=arguments.when or None,
        cwd=caller.cwd,
        speaker=Speaker.AGENT,
        source=BY_TOOL,
        files=tuple(arguments.files or ()),
        user_words=arguments.user_words or "",
        sensitivity=Sensitivity.parse(arguments.sensitivity) if arguments.sensitivity else None,
        replaces=tuple(arguments.replaces or ()),
    )
    return "\n".join(outcome(change) for change in changes) or "Nothing was stored."


def context(engine: Engine, caller: Caller, arguments: ask.Context) -> str:
    """What a new session gets; with any argument, an answer that counts for the session."""
    if not (arguments.query or arguments.scope or arguments.category):
        return engine.context(caller.cwd, with_ids=True).text or "Nothing is known of this project yet."
    answer = engine.agents.answer(
        caller, arguments.query or "", scope=arguments.scope or "", category=arguments.category or ""
    )
    return _answer_text(answer)


def inject(engine: Engine, caller: Caller, arguments: ask.Inject) -> str:
    """What is known of a topic, else of what the user asked last. Source: section 3.2 of the typed seed."""
    words = arguments.topic or engine.agents.last_words(caller)
    answer = engine.agents.answer(
        caller,
        words,
        kinds=tuple(arguments.memory_types or ()),
        budget_tokens=arguments.max_tokens - TAIL_TOKENS,
    )
    return _answer_text(answer)


def task(engine: Engine, caller: Caller, arguments: ask.Task) -> str:
    """What is known for a task. Source: section 3.2 of the typed seed."""
    without: Sequence[str] = (
        *(() if arguments.include_file_context else FILES),
        *(() if arguments.include_error_patterns else ERRORS),
    )
    answer = engine.agents.answer(
        caller,
        arguments.task_description,
        without=without,
        budget_tokens=arguments.max_tokens - TAIL_TOKENS,
        for_task=True,
    )
    return _answer_text(answer)


def _answer_text(answer: ContextAnswer) -> str:
    if answer.block.empty:
        return answer.refused or NOTHING_FITS
    return with_more(answer.block.text, answer.more, MORE_HINT)


def list_some(engine: Engine, caller: Caller, arguments: ask.ListSome) -> str:
    """Memories with their ids, newest first."""
    listing = engine.agents.listing(
        caller,
        kinds=(arguments.kind,) if arguments.kind else (),
        scope=arguments.scope or "",
        text=arguments.text or "",
        limit=arguments.limit,
        offset=arguments.offset,
    )
    if not listing.memories:
        return "No memory of this sort may be seen from here."
    lines = [memory_line(memory) for memory in listing.memories]
    return framed(
        "On record, best match first." if arguments.text else "On record, newest first.",
        lines,
        max_tokens=arguments.max_tokens,
        more=listing.more,
        count=engine.agents.count,
    )


def profile(engine: Engine, caller: Caller, arguments: ask.Profile) -> str:
    """What is known of the user and their standing rules."""
    listing = engine.agents.profile(caller)
    if not listing.memories:
        return "No preference of the user is known yet."
    lines = [memory_line(memory) for memory in listing.memories]
    return framed(
        "What the user prefers and wants to be kept to, the most important first.",
        lines,
        max_tokens=arguments.max_tokens,
        more=listing.more,
        count=engine.agents.count,
    )


def forget(engine: Engine, caller: Caller, arguments: ask.Forget) -> str:
    """Retire a memory."""
    memory = engine.agents.forget(
        caller, arguments.id, reason=arguments.reason or "", user_words=arguments.user_words or ""
    )
    return f"Forgotten: {memory_line(memory)[2:]}"


def feedback(engine: Engine, caller: Caller, arguments: ask.Feedback) -> str:
    """Say whether a memory helped."""
    memory, counted = engine.agents.feedback(caller, arguments.id, useful=arguments.useful)
    verdict = "useful" if arguments.useful else "not useful"
    return f"{memory.id} counts as {verdict}." if counted else f"{memory.id} was called {verdict} before."


def why(engine: Engine, caller: Caller, arguments: ask.Why) -> str:
    """What the last recalls handed over and left out, and why."""
    traces = engine.agents.traces(caller, memory=arguments.id or "", limit=arguments.limit)
    if not traces:
        of = f" looked at {arguments.id}" if arguments.id else ""
        return f"No recall of a session at work here{of}."
    name = arguments.id or ""
    lines = [line for trace in traces for line in trace_lines(trace, _whole(traces, name))]
    return framed(
        "The last recalls of this session, newest first.",
        lines,
        max_tokens=arguments.max_tokens,
        more=0,
        count=engine.agents.count,
    )


def _whole(traces: Sequence[Any], prefix: str) -> str:
    ids = (candidate.memory_id for trace in traces for candidate in trace.candidates)
    return next((name for name in ids if prefix and name.startswith(prefix)), prefix)


def stats(engine: Engine, caller: Caller, arguments: ask.Stats) -> str:  # noqa: ARG001 - one shape for all
    """Counts."""
    return stats_text(engine.agents.stats(caller))


TOOLS: tuple[Tool, ...] = (
    Tool(
        name="memory_search",
        about="Search what earlier sessions left on record for this project and user: decisions, rules, known errors with"
        " their fixes, open tasks. Use it BEFORE you decide something that may be decided already, when an error looks"
        " familiar, when the user refers to earlier work, and before you ask the user anything.",
        takes=ask.Search,
        answer=search,
        always=True,
    ),
    Tool(
        name="memory_add",
        about="Remember one statement for later sessions, as soon as it is settled: what the user decided, prefers or"
        " corrected, a fix that worked, what a file is for. Without `when` it is found only by its words; without"
        " `user_words` it waits for the user. Never secrets, never what the code itself says.",
        takes=ask.AddOne,
        answer=add,
        reads=False,
        always=True,
    ),
    Tool(
        name="memory_context",
        about="What a new session in this folder is given: standing rules, recent decisions, open tasks. With an argument:"
        " what is known of that. Call it when you start without such a block, after a compaction, and again in"
        " mid-session when the task changes.",
        takes=ask.Context,
        answer=context,
    ),
    Tool(
        name="inject_context",
        about="Bring what is on record about a topic into this conversation, of some kinds only if you like.",
        takes=ask.Inject,
        answer=inject,
    ),
    Tool(
        name="get_context_for_task",
        about="Everything on record that governs a task: call it once before you start a fix, feature or refactoring.",
        takes=ask.Task,
        answer=task,
    ),
    Tool(
        name="memory_list",
        about="List memories with their ids, newest first; with text, the best match first.",
        takes=ask.ListSome,
        answer=list_some,
    ),
    Tool(
        name="memory_profile",
        about="How this user wants to work: preferences, corrections, standing rules.",
        takes=ask.Profile,
        answer=profile,
    ),
    Tool(
        name="memory_forget",
        about="Stop recalling a memory that is wrong or outdated; the user can undo it.",
        takes=ask.Forget,
        answer=forget,
        reads=False,
        ends=True,
    ),
    Tool(
        name="memory_feedback",
        about="Say whether a memory you were given helped; it ranks higher or lower from then on.",
        takes=ask.Feedback,
        answer=feedback,
        reads=False,
    ),
    Tool(
        name="memory_why",
        about="Why memories were or were not handed over in this session.",
        takes=ask.Why,
        answer=why,
    ),
    Tool(
        name="memory_stats",
        about="How much is on record here and what this session was given.",
        takes=ask.Stats,
        answer=stats,
    ),
)
BY_NAME = {tool.name: tool for tool in TOOLS}
REMOVED = {"hook": "events come through the command hooks that `tacit install` writes"}
"""Tools of the first release that cannot be kept, and what takes their place: what a tool says is no word of the user's."""


def unknown_tool(name: str) -> str:
    """The error for a name that no tool has, with the successor of a removed one."""
    return f"Unknown tool: {name[:100]}" + (f" ({REMOVED[name]})" if name in REMOVED else "")


def call(engine: Engine, caller: Caller, name: str, values: dict[str, object]) -> str:
    """Answer one call; blocking.

    Raises:
        NotFound: if there is no such tool.
        TacitError: what Tacit refuses on purpose.
    """
    tool = BY_NAME.get(name)
    if tool is None:
        raise NotFound(f"No tool is called {name!r}.", hint=f"Known: {', '.join(BY_NAME)}.")
    arguments = ask.checked(tool.takes, cast(dict[str, Any], values))
    if tool.reads:
        return tool.answer(engine, caller, arguments)
    with engine.noting_changes() as written:
        answer = tool.answer(engine, caller, arguments)
    return f"{answer}\nThe user can take that back with `tacit undo {written[-1]}`." if written else answer
