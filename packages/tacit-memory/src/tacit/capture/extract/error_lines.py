"""The error message in a tool's output. In: the output. Out: one line, or the class of the failure. Pure.

A tool's output is anybody's text: what is kept of it names the error, never the sentences around it, never an order.
"""

from __future__ import annotations

import re

from tacit.text.lazy_regex import lazy_regex
from tacit.text.terminal_codes import strip_terminal_codes

RED_TEST = lazy_regex(
    r"AssertionError|assert(?:ion)? failed|\bexpected\b.{0,80}\b(?:got|received|but|to (?:equal|be))\b|^--- FAIL|^FAILED "
    r"|^E\s+assert|\d+ (?:tests? )?failed|Expected:|✗|✕",
    re.MULTILINE | re.IGNORECASE,
)
ENVIRONMENT = lazy_regex(
    r"ModuleNotFoundError|ImportError|Cannot find module|command not found|No such file|EADDRINUSE|address already in use"
    r"|ECONNREFUSED|connection refused|permission denied|EACCES|not installed|could not (?:find|connect|resolve|open)"
    r"|cannot connect|missing|no required module|unable to|does not exist|not a git repository|environment variable"
    r"|unsupported|incompatible|version|deadlock|locked|timed? ?out",
    re.IGNORECASE,
)
USAGE = lazy_regex(
    r"unknown (?:option|flag|command|argument|shorthand)|unrecogni[sz]ed|usage:|invalid (?:option|argument|flag)"
    r"|missing required|no such (?:option|command|file)|command not found|did you mean|not a (?:valid|git) "
    r"|unexpected argument|bad flag|illegal option|syntax error|accepts (?:at most|exactly|between)|too many arguments|is not defined|requires? (?:an? )?(?:argument|value)",
    re.IGNORECASE,
)
_NOISE = lazy_regex(
    r"^(?:Exit code \d+|\s*|\s*\^+\s*|\s*~+\s*|npm (?:ERR|error).*log.*|.*complete log of this run.*)$"
)
_TELLING = lazy_regex(
    r"error|fail|cannot|can't|could not|not found|no such|denied|refused|missing|unknown|invalid|undefined|unable|panic",
    re.IGNORECASE,
)
_NAMED = r"(?:[a-z_]\w*[.:]+)*[A-Z]\w*(?:Error|Exception|Warning|Failure|Panic|NotFound|Timeout)"
_SHAPE = lazy_regex(
    rf"\b(?P<name>{_NAMED})\b(?::\s*(?P<said>.*))?$"
    r"|^(?P<place>(?:[A-Z]:)?[\w@.+/\\-]+(?::\d+(?::\d+)?|\(\d+(?:,\d+)?\)):)\s*(?P<at>.+)$"
    r"|(?:^|\s)(?P<mark>(?:fatal|error|panic|npm ERR!)(?:\s?\[[\w-]+\]|\s[A-Z]{1,5}\d{2,5})?:?)\s+(?P<told>.+)$",
)
_ORDER = lazy_regex(
    r"\|\s*(?:sudo\s+)?(?:ba|z|da)?sh\b|\b(?:curl|wget)\b|\b[a-z]+://(?!localhost|127\.)|\b(?:agents?|assistants?|AI|LLM|SYSTEM"
    r"|instructions?|prompts?|ignore (?:all|any|the|previous)|you (?:must|should|need|have|are|may)|must (?:now )?(?:run|execute"
    r"|call|use)|please|always|never|remember|important)\b|^\W*(?:run|execute|download|install|ignore|delete|remove|add|use"
    r"|send|call|follow|disable|try|to (?:fix|add|solve|resolve|continue))\b",
    re.IGNORECASE,
)
_MISSES = lazy_regex(
    r"no module named|\bnot set\b|must be set|unbound variable|no rule to make target|no configuration|: not found\b|executable file not found",
    re.IGNORECASE,
)
_SHELL = lazy_regex(
    r"^(?:/\S*/)?(?:ba|z|da|k)?sh: (?:(?:line )?\d+: )?|^\(eval\):\d+: |^/\S*/(?=python[\d.]*: )"
)
"""What shells and interpreters write before an error: where it stands in a script of the moment."""
MAX_ESSENCE = 160
_STOPPED = lazy_regex(
    r"Sibling tool call errored|Request interrupted by user|user doesn't want to|was rejected|\[Request interrupted"
)


def stopped_from_outside(error: str) -> bool:
    """Whether the call did not fail but was stopped: by the user, or with another call."""
    return bool(_STOPPED.search(error))


def is_red_test(error: str) -> bool:
    """Whether a test simply does not hold yet: no failure of the surroundings."""
    return bool(RED_TEST.search(error)) and not ENVIRONMENT.search(key_error_line(error))


def is_misuse(error: str) -> bool:
    """Whether the command was written wrongly."""
    return bool(USAGE.search(error))


def is_environment(error: str) -> bool:
    """Whether something around the command is missing or out of reach."""
    return bool(ENVIRONMENT.search(error))


def key_error_line(error: str) -> str:
    """The most telling line of an error, at most 160 characters."""
    lines = [line.strip() for line in error.splitlines() if not _NOISE.match(line)]
    telling = [line for line in lines if _TELLING.search(line)]
    chosen = (telling or lines or [""])[0]
    return chosen if len(chosen) <= 160 else chosen[:157].rsplit(" ", 1)[0] + "..."


def error_line(error: str) -> str:
    """The first line that has an error's form, up to its first sentence end and at most 160 characters; "" = none.

    A tool's output is anybody's text. What is kept will be handed to an agent later, so only what names the error
    may stay: never the sentences around it, never an order, whatever form it comes in.
    """
    for raw in strip_terminal_codes(error).splitlines():
        line = _SHELL.sub("", " ".join(raw.split()))
        shape = _SHAPE.search(line)
        if shape is None and not (ENVIRONMENT.search(line) or USAGE.search(line) or _MISSES.search(line)):
            continue
        head = (shape["name"] or shape["place"] or shape["mark"]) if shape else ""
        message = (shape["said"] or shape["at"] or shape["told"] or "") if shape else line
        message = re.split(r"(?<=[\w'\"`)\]])[.!?;]+(?:\s|$)", message, maxsplit=1)[0].strip()
        if _ORDER.search(message) or _ORDER.search(head):
            if shape and shape["name"]:
                return shape["name"]
            continue
        colon = ":" if shape and shape["name"] and message else ""
        essence = f"{head}{colon} {message}".strip()
        return (
            essence if len(essence) <= MAX_ESSENCE else essence[: MAX_ESSENCE - 3].rsplit(" ", 1)[0] + "..."
        )
    return ""
