"""The tools: one entry each, with what an agent reads of it and the function that answers.

In: who asks and checked arguments. Out: a short text, never of more tokens than were asked for, and the same as JSON. What Tacit
refuses on purpose is raised and becomes an error result; a statement of an agent is never taken for the user's word.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from pydantic import BaseModel

from tacit.app.queries.agent_tools import MemoryListing
from tacit.app.queries.session_answers import ContextAnswer
from tacit.app.values import Caller
from tacit.config.settings import ToolSet
from tacit.errors import NotFound
from tacit.mcp import arguments as ask
from tacit.mcp import outputs as say
from tacit.mcp.outputs import ToolAnswer
from tacit.mcp.texts import (
    MORE_HINT,
    TAIL_TOKENS,
    framed,
    memory_line,
    nothing_text,
    outcome,
    rival_line,
    stats_text,
    too_long_text,
    trace_lines,
    with_more,
)
from tacit.model.changes import Add, Change, Retire
from tacit.model.memory import Memory
from tacit.model.signal import SESSION_TOOLS
from tacit.model.trace import Trace
from tacit.presets import preset_of
from tacit.verbs.answers import Changed, OneMemory
from tacit.verbs.asking import AnswerT, Verb, ask_verb
from tacit.verbs.edit import Update, update_memory
from tacit.verbs.feedback import MemoryFeedback, Rated, rate_memory
from tacit.verbs.fetch import Fetch, Got, fetch_memories
from tacit.verbs.forget import Forget, forget_memory
from tacit.verbs.remember import Remember, remember

if TYPE_CHECKING:
    from tacit.app.engine import Engine

OFFSET_HINT = "ask more narrowly, raise max_tokens or use offset"
ERRORS = ("error_pattern", "anti_pattern")
FILES = ("file_context",)
LEAST_FURTHER = 120
"""If fewer tokens than this remain after the first block of an answer, there is no second one."""


@dataclass(frozen=True, slots=False, kw_only=True)
class Tool:
    """One MCP tool, and the function that answers it.

    Attributes:
        name: as clients call it.
        title: its name for people.
        about: its description for agents.
        takes: the model of its arguments, or the request of the verb that it asks.
        says: of a verb's request, the fields that are its arguments, and what its schema says of them; None = of none.
        gives: JSON schema of the structured part of its answer.
        answer: the function that answers; it blocks.
        lean: whether it is in the lean set.
        reads: whether it only reads.
        ends: whether it changes or ends an existing memory (a destructive tool, as MCP calls it).
        always: whether a host that shows names alone until a tool is looked for is asked to show it whole: an agent uses
            what it can read. Two of them, because every session pays for it.
    """

    name: str
    title: str
    about: str
    takes: type[BaseModel]
    gives: dict[str, Any]
    answer: Callable[[Engine, Caller, Any], ToolAnswer]
    says: ask.Says | None = None
    lean: bool = False
    reads: bool = True
    ends: bool = False
    always: bool = False

    @cached_property
    def schema(self) -> dict[str, Any]:
        """Return the JSON schema of the tool's arguments."""
        return ask.schema_of(self.takes, self.says)


def _asking(
    verb: Verb[AnswerT], tell: Callable[[Engine, Caller, Any, AnswerT], ToolAnswer]
) -> Callable[[Engine, Caller, Any], ToolAnswer]:
    """Return a tool's answer function: it asks `verb` with the parsed request, and has `tell` turn the answer into words for a model."""
    return lambda engine, caller, request: tell(
        engine, caller, request, ask_verb(verb, engine, caller, request)
    )


def search(engine: Engine, caller: Caller, arguments: ask.SearchArguments) -> ToolAnswer:
    """Answer a question with the memories that fit, within `max_tokens`, and say how many more there are."""
    answer = engine.agents.queries.answer(
        caller, arguments.query, budget_tokens=arguments.max_tokens - TAIL_TOKENS
    )
    further = () if answer.refused else engine.agents.further_matches(caller, arguments.query, besides=answer)
    if not further:
        return _answer(engine, caller, answer)
    count = engine.agents.count_tokens
    remaining = arguments.max_tokens - count(answer.block.text)
    if answer.block.text and remaining < LEAST_FURTHER:
        more = answer.more + len(further)
        return _found(with_more(answer.block.text, more, MORE_HINT), answer.memories, more=more)
    lines = framed(
        "On record with such words.",
        [memory_line(memory) for memory in further],
        max_tokens=remaining,
        more=answer.more,
        count=count,
    )
    # First: they hold the words, and an answer may be long.
    shown = [memory for memory in further if memory.id in lines]
    known = {memory.id for memory in shown}
    shown += [memory for memory in answer.memories if memory.id not in known]
    more = answer.more + sum(memory.id not in lines for memory in further)
    return _found(f"{lines}\n{answer.block.text}".strip(), shown, more=more)


def _found(text: str, memories: Sequence[Memory] = (), *, more: int = 0) -> ToolAnswer:
    return ToolAnswer(text=text, data=say.memories_data(text, memories, more=more))


def _answer(
    engine: Engine, caller: Caller, answer: ContextAnswer, *, scope: str = "", kinds: Collection[str] = ()
) -> ToolAnswer:
    """Return the answer, or why it is empty: refused, too long, or nothing that fits beside what is on record."""
    if answer.block.empty and answer.refused:
        return _found(answer.refused)
    if answer.block.empty and answer.too_long:
        return _found(too_long_text(answer.too_long), more=answer.more)
    if answer.block.empty:
        return _found(nothing_text(engine.agents.on_record(caller, scope=scope), kinds=kinds))
    return _found(with_more(answer.block.text, answer.more, MORE_HINT), answer.memories, more=answer.more)


def _tell_fetched(engine: Engine, caller: Caller, request: Fetch, got: Got) -> ToolAnswer:  # noqa: ARG001 - one shape for all
    found = {memory.id: memory for memory in engine.store.get(got.ids, scope=engine.store.scopes())}
    return _found(got.text, [found[name] for name in got.ids])


def _tell_added(engine: Engine, caller: Caller, request: Remember, answer: Changed) -> ToolAnswer:
    lines = [outcome(change) for change in answer.changes]
    if not request.replaces:
        ids = [change.memory.id for change in answer.changes if isinstance(change, Add)]
        lines += [rival_line(memory) for memory in engine.agents.rivals(caller, ids)]
    return _changed(answer.changes, "\n".join(lines) or "Nothing was stored.")


def _tell_updated(engine: Engine, caller: Caller, request: Update, answer: Changed) -> ToolAnswer:  # noqa: ARG001
    return _changed(answer.changes, "\n".join(outcome(change) for change in answer.changes))


def _tell_forgotten(engine: Engine, caller: Caller, request: Forget, answer: OneMemory) -> ToolAnswer:  # noqa: ARG001
    retired = Retire(memory_id=answer.memory.id, at_ms=engine.clock.now_ms())
    return _changed((retired,), f"Forgotten: {memory_line(answer.memory)[2:]}")


def _tell_rated(engine: Engine, caller: Caller, request: MemoryFeedback, answer: Rated) -> ToolAnswer:  # noqa: ARG001
    name, verdict = answer.memory.id if answer.memory else "", "useful" if request.useful else "not useful"
    text = f"{name} counts as {verdict}." if answer.counted else f"{name} was called {verdict} before."
    return ToolAnswer(text=text, data={"id": name, "counted": answer.counted})


def _changed(changes: Sequence[Change], text: str) -> ToolAnswer:
    return ToolAnswer(text=text, data=say.changes_data(changes, text))


def context(engine: Engine, caller: Caller, arguments: ask.ContextArguments) -> ToolAnswer:
    """Return the start pack of a new session in the folder. With any argument, answer the question; the answer then counts as given to the session."""
    if not (arguments.query or arguments.scope or arguments.kind):
        start = engine.context_answer(caller.cwd)
        return _found(start.block.text or nothing_known(engine, caller), start.memories)
    scope, kinds = arguments.scope or "", (arguments.kind,) if arguments.kind else ()
    answer = engine.agents.queries.answer(caller, arguments.query or "", scope=scope, kinds=kinds)
    return _answer(engine, caller, answer, scope=scope, kinds=engine.agents.kinds_of(caller, kinds))


def nothing_known(engine: Engine, caller: Caller) -> str:
    """Say that a session in the caller's folder starts with nothing, and what is on record all the same."""
    record = engine.agents.on_record(caller)
    if record.active:
        return f"No rule, decision or task is on record for the start of a session here; {record.active} memories can be searched."
    waiting = f" {record.unconfirmed} statements wait for the user to confirm them; memory_search finds them."
    return f"Nothing confirmed is on record here yet.{waiting if record.unconfirmed else ''}"


def inject(engine: Engine, caller: Caller, arguments: ask.InjectArguments) -> ToolAnswer:
    """Return what is known about a topic, by default about the user's last prompt. Source: section 3.2 of the typed seed."""
    words = arguments.topic or engine.agents.last_words(caller)
    kinds = tuple(arguments.kind or ())
    answer = engine.agents.queries.answer(
        caller, words, kinds=kinds, budget_tokens=arguments.max_tokens - TAIL_TOKENS
    )
    return _answer(engine, caller, answer, kinds=engine.agents.kinds_of(caller, kinds))


def task(engine: Engine, caller: Caller, arguments: ask.TaskArguments) -> ToolAnswer:
    """Return what is known for a task. Source: section 3.2 of the typed seed."""
    without: Sequence[str] = (
        *(() if arguments.include_file_context else FILES),
        *(() if arguments.include_error_patterns else ERRORS),
    )
    answer = engine.agents.queries.answer(
        caller,
        arguments.task_description,
        without=without,
        budget_tokens=arguments.max_tokens - TAIL_TOKENS,
        for_task=True,
    )
    return _answer(engine, caller, answer)


def list_some(engine: Engine, caller: Caller, arguments: ask.ListArguments) -> ToolAnswer:
    """List memories with their ids, newest first; with a text the best match first."""
    listing = engine.agents.listing(
        caller,
        kinds=(arguments.kind,) if arguments.kind else (),
        scope=arguments.scope or "",
        text=arguments.text or "",
        limit=arguments.limit,
        offset=arguments.offset,
    )
    heading = "On record, best match first." if arguments.text else "On record, newest first."
    kinds = (arguments.kind,) if arguments.kind else ()
    if not listing.memories and arguments.offset:
        return _found(f"No further memory: `offset` {arguments.offset} is past the last one.")
    if not listing.memories:
        record = engine.agents.on_record(caller, scope=arguments.scope or "")
        return _found(nothing_text(record, kinds=kinds))
    return _listed(engine, listing, heading, arguments.max_tokens, how=OFFSET_HINT)


def profile(engine: Engine, caller: Caller, arguments: ask.ProfileArguments) -> ToolAnswer:
    """Return what is known of the user and their standing rules, the most important first."""
    heading = "What the user prefers and wants to be kept to, the most important first."
    listing = engine.agents.profile(caller)
    if not listing.memories:
        waiting = engine.agents.on_record(caller).unconfirmed
        told = f" {waiting} statements wait for them to confirm." if waiting else ""
        return _found(f"No preference that the user confirmed is on record yet.{told}")
    return _listed(engine, listing, heading, arguments.max_tokens)


def _listed(
    engine: Engine,
    listing: MemoryListing,
    heading: str,
    max_tokens: int,
    *,
    how: str = MORE_HINT,
) -> ToolAnswer:
    lines = [memory_line(memory) for memory in listing.memories]
    text = framed(
        heading, lines, max_tokens=max_tokens, more=listing.more, count=engine.agents.count_tokens, how=how
    )
    shown = [memory for memory in listing.memories if memory.id in text]
    return _found(text, shown, more=listing.more + len(listing.memories) - len(shown))


def why(engine: Engine, caller: Caller, arguments: ask.WhyArguments) -> ToolAnswer:
    """Explain what the last recalls of the session injected and left out, and why."""
    traces = engine.agents.traces(caller, memory=arguments.id or "", limit=arguments.limit)
    name = _whole(traces, arguments.id or "")
    count = engine.agents.count_tokens
    data = say.recalls_data(traces, name, max_tokens=arguments.max_tokens, count=count)
    if not traces:
        at_work = engine.agents.queries.newest(caller.cwd) is not None
        of = f" that looked at {arguments.id}" if arguments.id else ""
        told = (
            f"The session at work here has had no recall{of} yet."
            if at_work
            else "No session is at work here."
        )
        return ToolAnswer(text=told, data=data)
    lines = [line for trace in traces for line in trace_lines(trace, name)]
    text = framed(
        "The last recalls of this session, newest first.",
        lines,
        max_tokens=arguments.max_tokens,
        more=0,
        count=count,
    )
    return ToolAnswer(text=text, data=data)


def _whole(traces: Sequence[Trace], prefix: str) -> str:
    ids = (candidate.memory_id for trace in traces for candidate in trace.candidates)
    return next((name for name in ids if prefix and name.startswith(prefix)), prefix)


def stats(engine: Engine, caller: Caller, arguments: ask.StatsArguments) -> ToolAnswer:  # noqa: ARG001 - one shape for all
    """Count the memories that may be seen here, and the injections of the session at work."""
    counts = engine.agents.stats(caller)
    return ToolAnswer(text=stats_text(counts), data=say.stats_data(counts))


def explain(engine: Engine, caller: Caller, arguments: ask.HelpArguments) -> ToolAnswer:  # noqa: ARG001 - one shape for all
    """Say what each tool is for, one line each."""
    return _found("\n".join(f"- {tool.name}: {tool.about.partition('. ')[0].rstrip('.')}." for tool in TOOLS))


TOOLS: tuple[Tool, ...] = (
    Tool(
        name="memory_search",
        title="Search memory",
        about="Search what earlier sessions left on record for this project and user: decisions, rules, known errors with"
        " their fixes, open tasks. Use it BEFORE you decide something that may be decided already, when an error looks"
        " familiar, when the user refers to earlier work, and before you ask the user anything. Also to get the id of a memory.",
        takes=ask.SearchArguments,
        gives=say.MEMORIES,
        answer=search,
        lean=True,
        always=True,
    ),
    Tool(
        name="memory_get",
        title="Fetch memories",
        about="Fetch memories whole by the ids before their headlines, several at once: before a step that a headline may change.",
        takes=Fetch,
        says={"ids": {"description": "As before the headlines"}},
        gives=say.MEMORIES,
        answer=_asking(fetch_memories, _tell_fetched),
        lean=True,
        always=True,
    ),
    Tool(
        name="memory_add",
        title="Add a memory",
        about="Remember one statement for later sessions, as soon as it is settled: what the user decided, prefers or"
        " corrected, a fix that worked, what a file is for. Without `when` it is found only by its words; without"
        " `user_words` it is your own note, unconfirmed and for this project only. Never secrets, never what the code itself says.",
        takes=Remember,
        says={
            "content": {
                "description": "One durable statement that stands on its own, e.g. 'Migrations are written by hand.'"
            },
            "headline": {
                "description": "Up to 60 characters: 'when SITUATION, COMMAND or ERROR: what to do'"
            },
            "kind": {"enum": ask.KIND_NAMES},
            "when": {
                **ask.A_LIST,
                "description": "Coming actions, paths, commands or situations it applies to: 'commit', 'path:*.sql', 'cmd:pytest', 'before a"
                " release', 'always'",
            },
            "scope": {
                "enum": ["project", "universal"],
                "default": "project",
                "description": "universal = all the user's projects",
            },
            "files": {"description": "Files it speaks of"},
            "sensitivity": {
                "enum": ["project", "session", "restricted"],
                "description": "session = this session only; restricted = for the user's eyes",
            },
            "user_words": {
                "description": "If the user said it: their words from this conversation, verbatim"
            },
            "replaces": {
                "description": "Ids or words of memories that hold no more. One that says the same stays: give its id or its words as `content`"
            },
        },
        gives=say.CHANGES,
        answer=_asking(remember, _tell_added),
        reads=False,
        lean=True,
        always=True,
    ),
    Tool(
        name="memory_update",
        title="Correct a memory",
        about="Correct a memory that you were shown; what is left out stays. What the user said is changed only with `user_words`;"
        " otherwise yours ranks first.",
        takes=Update,
        says={
            "id": {"description": "Id, or the ending shown as (id ...)"},
            "content": {"description": "The whole statement as it should be"},
            "kind": {},
            "when": {**ask.A_LIST, "description": ask.AS_IN_ADD},
            "user_words": {
                "description": "The user's words asking for it, verbatim; needed for what they said"
            },
        },
        gives=say.CHANGES,
        answer=_asking(update_memory, _tell_updated),
        reads=False,
        ends=True,
        lean=True,
    ),
    Tool(
        name="memory_forget",
        title="Forget a memory",
        about="Stop recalling a memory that is wrong or outdated and has no successor; the user can undo it.",
        takes=Forget,
        says={
            "id": {"description": "Id, or the ending shown as (id ...)"},
            "reason": {},
            "user_words": {
                "description": "The user's words asking for it, verbatim; needed for what they said"
            },
        },
        gives=say.CHANGES,
        answer=_asking(forget_memory, _tell_forgotten),
        reads=False,
        ends=True,
        lean=True,
    ),
    Tool(
        name="memory_context",
        title="Project context",
        about="What a new session here is given: rules, decisions, open tasks, an index of the rest. With an argument: what is known of"
        " that. Call it when you start without such a block, after a compaction, and in mid-session when the task changes.",
        takes=ask.ContextArguments,
        gives=say.MEMORIES,
        answer=context,
        lean=True,
    ),
    Tool(
        name="inject_context",
        title="Context on a topic",
        about="What is on record about a topic.",
        takes=ask.InjectArguments,
        gives=say.MEMORIES,
        answer=inject,
    ),
    Tool(
        name="get_context_for_task",
        title="Context for a task",
        about="All on record that governs a fix, feature or refactoring; call it once before you start.",
        takes=ask.TaskArguments,
        gives=say.MEMORIES,
        answer=task,
    ),
    Tool(
        name="memory_list",
        title="List memories",
        about="List memories, newest first; with text, the best match first.",
        takes=ask.ListArguments,
        gives=say.MEMORIES,
        answer=list_some,
    ),
    Tool(
        name="memory_profile",
        title="User preferences",
        about="How this user wants to work.",
        takes=ask.ProfileArguments,
        gives=say.MEMORIES,
        answer=profile,
    ),
    Tool(
        name="memory_feedback",
        title="Rate a memory",
        about="Say whether a memory you were given helped; it ranks higher or lower from then on.",
        takes=MemoryFeedback,
        says={"id": {"description": "Id, or the ending shown as (id ...)"}, "useful": {}},
        gives=say.JUDGED,
        answer=_asking(rate_memory, _tell_rated),
        reads=False,
    ),
    Tool(
        name="memory_why",
        title="Explain recalls",
        about="Why memories were or were not handed over in this session.",
        takes=ask.WhyArguments,
        gives=say.RECALLS,
        answer=why,
    ),
    Tool(
        name="memory_stats",
        title="Count memories",
        about="How much is on record here and what this session was given.",
        takes=ask.StatsArguments,
        gives=say.STATS,
        answer=stats,
    ),
    Tool(
        name="memory_help",
        title="Help",
        about="What each memory tool is for.",
        takes=ask.HelpArguments,
        gives=say.MEMORIES,
        answer=explain,
    ),
)
BY_NAME = {tool.name: tool for tool in TOOLS}


def tools_of(name: ToolSet) -> tuple[Tool, ...]:
    """Return the tools that `tools/list` shows to a client when the setting `mcp.tools` is `name`. The other tools can still be called."""
    if name == "full":
        return TOOLS
    if name == "lean":
        return tuple(tool for tool in TOOLS if tool.lean)
    preset = preset_of(name)
    shown = (tool for tool in TOOLS if tool.lean or tool.name in preset.tools)
    return tuple(replace(tool, about=preset.tool_words.get(tool.name, tool.about)) for tool in shown)


def call(engine: Engine, caller: Caller, name: str, values: dict[str, object]) -> ToolAnswer:
    """Answer one call of a tool. Blocks.

    Raises:
        NotFound: if there is no such tool.
        TacitError: what Tacit refuses on purpose.
    """
    tool = BY_NAME.get(name)
    if tool is None:
        raise NotFound(f"No tool is called {name!r}.", hint=f"Known: {', '.join(BY_NAME)}.")
    arguments = ask.checked(tool.takes, cast(dict[str, Any], values), tool.says)
    if name in SESSION_TOOLS or not tool.reads:
        caller = engine.agents.in_its_session(caller, name, values.get)
    if tool.reads:
        return tool.answer(engine, caller, arguments)
    with engine.store.noting_changes() as written:
        answer = tool.answer(engine, caller, arguments)
    if not written:
        return answer
    return ToolAnswer(
        text=f"{answer.text}\nThe user can take that back with {' and '.join(f'`tacit undo {one}`' for one in written)}.",
        data={**answer.data, "undo": written[-1]},
    )
