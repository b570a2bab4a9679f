"""Whether a tool call is the moment of a rule, or the step before it.

In: a tool call, or a prompt. Out: what it does, the keys under which the rules for it are found, and its fit with a moment.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from tacit.model.memory import Entity
from tacit.model.signal import ToolCall
from tacit.reading.commands import simple_commands
from tacit.reading.languages import languages_of
from tacit.reading.moments.acts import act_ordered, acts_ahead, acts_done, acts_of_tool
from tacit.reading.moments.moment import Command, Moment, Target
from tacit.reading.moments.places import key_of, parts_of, touches
from tacit.reading.moments.rules import read_moments
from tacit.text.lazy_regex import lazy_regex

Fit = Literal["now", "next", "no"]
"""The call is the moment, it mostly comes right before it, or neither."""
KIND = "moment"
"""Kind of the entities under which the rules of a moment are found."""
_EDITS = frozenset(
    {
        "edit",
        "write",
        "multiedit",
        "patch",
        "apply_patch",
        "notebookedit",
        "create",
        "write_file",
        "str_replace",
    }
)
_LOOKS = frozenset({"read", "view", "read_file", "list", "grep", "glob", "ls"})
_REMOVERS = frozenset({"rm", "rmdir", "unlink", "trash", "shred"})
_CHANGERS = _REMOVERS | {"mv", "cp", "tee", "truncate", "chmod", "touch", "install"}
_VIEWERS = frozenset({"cat", "less", "head", "tail", "ls", "tree", "bat"})
_HOST = lazy_regex(r"(?<![\w.@-])(?:[a-z0-9-]+\.)+[a-z]{2,}(?![\w-])", re.IGNORECASE)
_SWITCHES = frozenset({"checkout", "switch"})
_ORDER_BREAK = lazy_regex(
    r"(?:^|[.,;:!?]\s+|\n\s*|\b(?:and|then|now|please|go ahead and|can you|could you|you can|you may|let's|i want you to)\s+)(?=\w)",
    re.IGNORECASE,
)
_PROPOSAL = lazy_regex(
    r"\b(?:(?:shall|should|can|may|could|will) (?:i|we)|(?:do you |would you )?(?:want|like) me to|ready to|i(?:'ll| will| can| could))"
    r"(?: now| also| then)?\s+",
    re.IGNORECASE,
)
_BRANCHES = frozenset({"main", "master", "develop", "trunk"})
_REFUSAL = lazy_regex(r"\b(?:don't|do not|never|not|without|before|after|when|if)\s*$", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class CallFacts:
    """What one call does. `looks` = it changes nothing; `changed` and `seen` are paths; `text` is all it says, lower case."""

    tool: str = ""
    commands: tuple[Command, ...] = ()
    acts: frozenset[str] = frozenset()
    ahead: frozenset[str] = frozenset()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    seen: tuple[str, ...] = ()
    hosts: frozenset[str] = frozenset()
    text: str = ""


@lru_cache(maxsize=64)
def read_call_facts(call: ToolCall) -> CallFacts:
    """What `call` does."""
    commands = simple_commands(call.command)
    named = [(one[0], word) for one in commands for word in one[1:] if not word.startswith("-")]
    removed = tuple(word for program, word in named if program in _REMOVERS)
    changed = tuple(word for program, word in named if program in _CHANGERS)
    edits = call.tool in _EDITS
    return CallFacts(
        tool=call.tool,
        commands=commands,
        acts=acts_of_tool(call.tool).union(*map(acts_done, commands)),
        ahead=frozenset[str]().union(*map(acts_ahead, commands)),
        changed=(*(call.paths if edits else ()), *changed),
        removed=removed,
        seen=(
            *(call.paths if call.tool in _LOOKS else ()),
            *(word for program, word in named if program in _VIEWERS),
        ),
        hosts=frozenset(host.lower() for host in _HOST.findall(f"{call.command}\n{call.text[:400]}"))
        if call.command or call.tool.startswith("web")
        else frozenset(),
        text=call.command.lower(),
    )


def keys_of_rule(statement: str) -> tuple[Entity, ...]:
    """The keys under which a rule is found; none where its words name no moment."""
    keys: dict[str, None] = {}
    for moment in read_moments(statement):
        target = moment.target
        keys.update(dict.fromkeys(f"act:{act}" for act in target.acts))
        for command in target.commands:
            keys.setdefault(f"command:{command[0].rsplit('/', 1)[-1]}")
        keys.update(dict.fromkeys(f"path:{key}" for pattern in target.paths if (key := key_of(pattern))))
        keys.update(dict.fromkeys(f"host:{host}" for host in target.hosts))
    return tuple(Entity(kind=KIND, key=key) for key in keys)


def keys_of_call(facts: CallFacts) -> tuple[Entity, ...]:
    """The keys of every rule that may govern the call, or the step after it."""
    keys: dict[str, None] = {f"act:{act}": None for act in sorted(facts.acts | facts.ahead)}
    for command in facts.commands:
        keys.update(
            dict.fromkeys(
                f"command:{word.rsplit('/', 1)[-1]}" for word in command[:3] if not word.startswith("-")
            )
        )
    for path in (*facts.changed, *facts.seen):
        keys.update(dict.fromkeys(f"path:{part}" for part in sorted(parts_of(path))))
    keys.update(dict.fromkeys(f"host:{host}" for host in sorted(facts.hosts)))
    if _switched(facts):
        keys["act:commit"] = None
    return tuple(Entity(kind=KIND, key=key) for key in keys)


def keys_of_acts(acts: frozenset[str]) -> tuple[Entity, ...]:
    """The keys of every rule for one of `acts`."""
    return tuple(Entity(kind=KIND, key=f"act:{act}") for act in sorted(acts))


def fit_of(moment: Moment, facts: CallFacts) -> Fit:
    """Whether the call is `moment`, or the step before what it forbids, or a look at the file that it speaks of."""
    target = moment.target
    if _is_now(target, facts):
        return "now"
    return "next" if (moment.forbids or moment.subject) and _is_next(target, facts) else "no"


def _is_now(target: Target, facts: CallFacts) -> bool:
    if target.commands:
        hit = any(begins(wanted, command) for wanted in target.commands for command in facts.commands)
        return (
            hit
            and (not target.acts or not facts.acts.isdisjoint(target.acts))
            and _names_words(target, facts)
        )
    if not facts.acts.isdisjoint(target.acts):
        return _names_words(target, facts) and _speaks(target, facts)
    paths = facts.removed if target.removes else facts.changed
    if any(touches(pattern, path) for pattern in target.paths for path in paths):
        return True
    return not facts.hosts.isdisjoint(target.hosts)


def _is_next(target: Target, facts: CallFacts) -> bool:
    if target.words and _switched(facts) and "commit" in target.acts:
        return any(word in facts.text for word in target.words)
    if target.commands:
        if not facts.acts.isdisjoint(target.acts):
            return True  # the same by another program: `pip install` where `apt install` is forbidden
        return any(_leads_to(wanted, command) for wanted in target.commands for command in facts.commands)
    if not facts.ahead.isdisjoint(target.acts):
        return "database" not in target.acts
    return any(
        touches(pattern, path + end) for pattern in target.paths for path in facts.seen for end in ("", "/")
    )


def begins(wanted: Command, command: Command) -> bool:
    """Whether `command` begins as `wanted` does; options of `wanted` may stand anywhere in it."""
    plain = [word for word in command if not word.startswith("-")]
    named = [word for word in wanted if not word.startswith("-")]
    if len(named) == 1 and "/" in named[0]:
        script = named[0].removeprefix("./")
        if not any(word.removeprefix("./").endswith(script) for word in plain[:3]):
            return False
    elif plain[: len(named)] != named:
        return False
    options = [word for word in wanted if word.startswith("-")]
    return all(any(word == option or word.startswith(f"{option}=") for word in command) for option in options)


def _leads_to(wanted: Command, command: Command) -> bool:
    """A look with the same program at the same sort of thing: `docker system df`, `kubectl get`, `terraform plan`."""
    if len(wanted) < 2 or command[0] != wanted[0] or begins(wanted, command):
        return False
    if len(wanted) > 2 and command[1:2] == wanted[1:2]:
        return True
    return command[1:2] in (
        ("get",),
        ("list",),
        ("ls",),
        ("plan",),
        ("status",),
        ("df",),
        ("show",),
        ("diff",),
    )


def _names_words(target: Target, facts: CallFacts) -> bool:
    """Whether the call names the branch or environment that is meant, or none at all."""
    if not target.words:
        return True
    if any(_names(word, facts.text) for word in target.words):
        return True
    if "commit" in target.acts or "database" in target.acts:
        return False  # a commit never names its branch; a database that is not named is the local one
    plain = [[word for word in one if not word.startswith("-")] for one in facts.commands]
    return all(len(words) <= 2 for words in plain if acts_done(tuple(words)) & frozenset(target.acts))


def _names(word: str, text: str) -> bool:
    """Whether a command names a branch, and not one that only begins so, or an environment, however its server is called."""
    end = r"(?![\w/-])" if word in _BRANCHES else ""
    return re.search(rf"(?<![\w/-]){re.escape(word)}{end}", text) is not None


def _speaks(target: Target, facts: CallFacts) -> bool:
    """Whether a run of tests is of a language that is meant, or of none that its program tells."""
    if not target.languages:
        return True
    programs = {"go": "go", "cargo": "rust", "pytest": "python", "tox": "python", "nox": "python", "rspec": "ruby", "phpunit": "php",
                "jest": "javascript", "vitest": "javascript", "mocha": "javascript", "mix": "elixir"}  # fmt: skip
    spoken = {programs[one[0]] for one in facts.commands if one[0] in programs} or set(
        languages_of(facts.changed)
    )
    return not spoken or not spoken.isdisjoint(target.languages)


def _switched(facts: CallFacts) -> bool:
    return any(one[0] == "git" and one[1:2] and one[1] in _SWITCHES for one in facts.commands)


@lru_cache(maxsize=64)
def acts_asked(prompt: str) -> frozenset[str]:
    """The acts that a prompt orders: those at the beginning of one of its clauses (`looks good, commit it`)."""
    found: set[str] = set()
    for match in _ORDER_BREAK.finditer(prompt[:1_000]):
        if not _REFUSAL.search(prompt[: match.end()]) and (act := act_ordered(prompt[match.end() :])):
            found.add(act)
    return frozenset(found)


def acts_proposed(message: str) -> frozenset[str]:
    """The acts that the end of an agent's message offers to do (`Shall I commit and push?`)."""
    return acts_asked(_PROPOSAL.sub("\n", message[-600:]))


def acts_of_keys(keys: Sequence[Entity]) -> frozenset[str]:
    """The acts that `keys_of_acts` made `keys` of."""
    return frozenset(entity.key.removeprefix("act:") for entity in keys if entity.key.startswith("act:"))


def is_asked(moment: Moment, acts: frozenset[str]) -> bool:
    """Whether a prompt that orders `acts` asks for the moment."""
    target = moment.target
    return not target.commands and not acts.isdisjoint(target.acts)
