"""When a memory applies: made from its words, written by people, matched with what is about to happen.

In: a memory's words, or the words given with `--when`, or a trigger and a situation. Out: a `Trigger`, its text, or
how well it fits (0-1) with reasons. Pure; never looks at other memories.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from tacit.model.situation import Situation
from tacit.model.trigger import Trigger
from tacit.reading.commands import command_actions, split_commands
from tacit.reading.file_actions import file_actions
from tacit.reading.languages import languages_in
from tacit.reading.lexicon import Evidence, load_table, read_table
from tacit.reading.match import Match, Matcher, match_trigger
from tacit.reading.terms import IDENTIFIER, code_spans, find_paths, informative_words, prose_of
from tacit.reading.trigger_words import ALWAYS_ANSWER, GENERIC, TRIGGER_CUES
from tacit.reading.when import format_when, parse_when_with

__all__ = ["Match", "Matcher", "format_when", "make_trigger", "match_trigger", "parse_when"]

_TABLE = load_table(TRIGGER_CUES)
_ALWAYS = re.compile(ALWAYS_ANSWER, re.IGNORECASE)
_STRONG = re.compile(
    r"\b(?:always|never|every|all|must|any|each|whenever|before (?:every|each|any)|after (?:every|each|any))\b",
    re.IGNORECASE,
)
_COMMAND_WORD = re.compile(r"^[a-z][\w.-]*(?: [\w./:@=-]+)*$")
_KIND_PRIOR: dict[str, tuple[tuple[str, float], ...]] = {
    "preference": (("edit_code", 0.45),),
    "correction": (("edit_code", 0.45),),
    "anti_pattern": (("edit_code", 0.55), ("review_code", 0.3)),
    "guideline": (("edit_code", 0.45),),
    "decision": (("edit_code", 0.45), ("plan_or_spec", 0.35), ("implement_feature", 0.3)),
    "error_pattern": (("debug_investigate", 0.75), ("fix_bug", 0.6)),
    "file_context": (("edit_code", 0.5), ("explain_code", 0.45), ("debug_investigate", 0.25)),
    "fact": (("explain_code", 0.35), ("answer_question", 0.3), ("edit_code", 0.35), ("debug_investigate", 0.25)),
    "research": (("plan_or_spec", 0.4), ("answer_question", 0.4), ("explain_code", 0.3)),
    "outcome": (("answer_question", 0.35), ("explain_code", 0.3), ("edit_code", 0.3)),
    "todo": (("execute_plan", 0.4), ("plan_or_spec", 0.4), ("edit_code", 0.35)),
    "goal": (("plan_or_spec", 0.6), ("implement_feature", 0.4)),
    "event": (("answer_question", 0.4),),
    "observation": (("debug_investigate", 0.4), ("answer_question", 0.3)),
    "digest": (("execute_plan", 0.4), ("plan_or_spec", 0.35)),
}  # fmt: skip
_STANDING = frozenset({"preference", "correction", "anti_pattern", "guideline", "decision", "identity"})
_MOST_ACTIONS = 5
_MOST_OBJECTS = 10
_CUT = 4_000


def make_trigger(
    content: str, *, kind: str, files: Sequence[str] = (), situation: Situation | None = None
) -> Trigger:
    """Guess from its words when a memory applies. Used when nobody who knows better gave a trigger.

    Args:
        content: the memory's statement.
        kind: name of its kind; unknown kinds get no prior.
        files: paths it speaks of; they become patterns.
        situation: what was going on when it was said; its likeliest actions are added weakly.

    Returns:
        A trigger of maker `local`: one to five action classes (weights 1.0, 0.67, 0.33), objects, path patterns,
        languages, commands, breadth 1-3; `always` for identity and rules about the style of answers.
    """
    content = content[:_CUT]
    if kind == "identity" or (kind in _STANDING and _ALWAYS.search(content)):
        return Trigger(always=True, breadth=3.0, objects=())
    evidence = Evidence()
    read_table(prose_of(content), _TABLE, evidence)
    for name, chance in _KIND_PRIOR.get(kind, (("edit_code", 0.3),)):
        evidence.add(((name, chance),), 0.7)
    named = find_paths(content)
    for path in (*named, *files):
        for name, chance in file_actions(path, "named"):
            evidence.add(((name, chance),), 0.7)
    spans = code_spans(content)
    commands = _commands_of(spans)
    for command in commands:
        for name, chance in command_actions(command):
            if name != "run_command" or len(command_actions(command)) == 1:
                evidence.add(((name, chance),), 0.5)
    if situation is not None:
        for name, chance in situation.actions[:3]:
            evidence.add(((name, chance),), 0.2)
    actions = _weights(evidence)
    objects = _objects(content, paths=named, spans=spans)
    return Trigger(
        actions=actions,
        objects=objects,
        paths=tuple(dict.fromkeys(_pattern(path) for path in files)),
        languages=languages_in(content),
        commands=commands,
        breadth=_breadth(
            content, kind=kind, objects=objects, specific=len(named) + len(IDENTIFIER.findall(content))
        ),
    )


def parse_when(text: str, *, maker: str = "user") -> Trigger:
    """Read the words given with `--when` (or a tool's `when`).

    Comma or newline separated: `always`, action classes (`commit`, `edit_code=0.67`), `path:src/**/*.py`,
    `lang:python`, `cmd:git commit`, `tool:edit`, `topic:billing`, `about:droidcli`, `breadth:2`; other words are read
    like a memory's words.

    Raises:
        InvalidInput: for an unknown class (naming the nearest), an empty text, or a value out of range.
    """
    return parse_when_with(text, maker=maker, read_words=lambda words: make_trigger(words, kind=""))


def _weights(evidence: Evidence) -> tuple[tuple[str, float], ...]:
    """Chances as the three weights of the protocol: 1.0 exactly then, 0.67 often, 0.33 sometimes."""
    ranked = evidence.ranked(least=0.2, most=_MOST_ACTIONS)
    top = ranked[0][1] if ranked else 0.0
    found: list[tuple[str, float]] = []
    for name, chance in ranked:
        share = chance / top
        found.append((name, 1.0 if share >= 0.85 else 0.67 if share >= 0.55 else 0.33))
    return tuple(found)


def _objects(content: str, *, paths: tuple[str, ...], spans: tuple[str, ...]) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for path in paths:
        found.setdefault(path.lower())
    for span in spans:
        if len(span) <= 40:
            found.setdefault(span.lower().removesuffix("()"))
    for identifier in IDENTIFIER.findall(content):
        found.setdefault(identifier.lower().removesuffix("()"))
    for name in re.findall(r"(?<=[a-z,;] )[A-Z][A-Za-z0-9.+#-]{2,}", content):
        found.setdefault(name.lower().rstrip("."))
    if len(found) < _MOST_OBJECTS:
        for word in informative_words(prose_of(content), limit=24):
            if word not in GENERIC and len(word) > 3:
                found.setdefault(word)
    return tuple(found)[:_MOST_OBJECTS]


def _commands_of(spans: tuple[str, ...]) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for span in spans:
        if _COMMAND_WORD.match(span) and (" " in span or command_actions(span) != (("run_command", 0.7),)):
            for command in split_commands(span):
                if command_actions(command) != (("run_command", 0.7),):
                    found.setdefault(command)
    return tuple(found)[:6]


def _pattern(path: str) -> str:
    return path.replace("\\", "/").removeprefix("./").rstrip("/") + ("/**" if path.endswith("/") else "")


def _breadth(content: str, *, kind: str, objects: tuple[str, ...], specific: int) -> float:
    """How many sessions it matters in: 3 for a rule about everything, 1 for a fact about one thing."""
    if kind in _STANDING:
        breadth = 2.0
        if _STRONG.search(content) and specific <= 1:
            breadth = 3.0
        elif specific >= 3:
            breadth = 1.0
        return breadth
    if kind == "file_context" and specific <= 1 and len(objects) <= 4:
        return 2.0
    return 1.0
