"""The prompts: what a person picks from a client's menu. In: who asks, a name, words. Out: one message for the agent.

Nothing is stored here: the agent is asked to use its tools, with the person's own words as proof.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tacit.app.values import Caller
from tacit.errors import InvalidInput, NotFound
from tacit.frozen import frozen
from tacit.mcp import arguments as ask
from tacit.mcp.resources import read
from tacit.mcp.tools import search

if TYPE_CHECKING:
    from tacit.app.engine import Engine


@frozen
class Prompt:
    """One MCP prompt: the name of its argument ("" = it has none), and the function that makes its message."""

    name: str
    about: str
    argument: str
    argument_about: str
    message: Callable[[Engine, Caller, str], str]


def _recall(engine: Engine, caller: Caller, words: str) -> str:
    answer = search(engine, caller, ask.SearchArguments(query=words)).text
    return f"{words}\n\nThis is what is on record about it:\n\n{answer}"


def _remember(engine: Engine, caller: Caller, words: str) -> str:  # noqa: ARG001 - one shape for all
    return (
        f"Remember this: {words}\n\nStore it with the tool memory_add: `content` is the statement so that it stands on its"
        " own, `when` the coming action it applies to, `user_words` the words above, verbatim. Say what was stored."
    )


def _handover(engine: Engine, caller: Caller, words: str) -> str:  # noqa: ARG001
    return (
        "We stop here. So that the next session can go on, store with the tool memory_add, one statement each: what was"
        " decided and why (kind decision), which error had which fix (error_pattern), what a file is for (file_context), and"
        " every open end with the next step (todo). Leave out what is on record already, what the code itself says, and"
        " secrets. Then list in a few lines what you stored. On record from the last session:\n\n"
        + read(engine, caller, "tacit://session/digest")
    )


PROMPTS: tuple[Prompt, ...] = (
    Prompt(
        name="recall",
        about="Put what is on record about a topic into the conversation",
        argument="topic",
        argument_about="What you want to know",
        message=_recall,
    ),
    Prompt(
        name="remember",
        about="Have one statement remembered for later sessions",
        argument="statement",
        argument_about="What to remember, in your own words",
        message=_remember,
    ),
    Prompt(
        name="handover",
        about="Have the agent store what the next session needs",
        argument="",
        argument_about="",
        message=_handover,
    ),
)


def message(engine: Engine, caller: Caller, name: str, values: dict[str, str]) -> str:
    """Return the message of a prompt. Blocks.

    Raises:
        NotFound: if there is no such prompt.
        InvalidInput: if its argument is missing.
    """
    prompt = next((candidate for candidate in PROMPTS if candidate.name == name), None)
    if prompt is None:
        raise NotFound(f"No prompt is called {name!r}.", hint=f"Known: {', '.join(p.name for p in PROMPTS)}.")
    words = values.get(prompt.argument, "").strip() if prompt.argument else ""
    if prompt.argument and not words:
        raise InvalidInput(f"The argument `{prompt.argument}` is missing.", hint=prompt.argument_about)
    return prompt.message(engine, caller, words)
