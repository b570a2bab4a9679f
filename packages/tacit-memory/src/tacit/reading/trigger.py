"""When a memory applies, made from its words. In: a statement with its kind and files. Out: a `Trigger`. Pure; never looks at other memories."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tacit.model.kinds import BUILTIN_KINDS, Kind, KindRegistry
from tacit.model.trigger import Situation, Trigger
from tacit.reading.commands import command_actions, file_actions, split_commands
from tacit.reading.languages import languages_in
from tacit.reading.terms import IDENTIFIER, code_spans, find_paths, informative_words, prose_of
from tacit.reading.words import ActionEvidence, action_phrases, read_table
from tacit.text.lazy_regex import lazy_regex, wording
from tacit.text.stemming import light_stem
from tacit.text.stop_words import GENERIC_TOPICS

_WORDING = wording("triggers")

_COMMAND_WORD = lazy_regex(r"^[a-z][\w.-]*(?: [\w./:@=-]+)*$")
_BREADTH_OF_ACTION = {
    "run_tests": 0.45, "commit": 0.4, "run_lint_build": 0.35, "code_comments": 0.25, "open_or_update_pr": 0.2, "release": -0.25,
    "config_settings": -0.15, "update_task": -0.15, "ci_pipeline": -0.15,
}  # fmt: skip
_BREADTH_BASE = 1.1
_MOST_ACTIONS = 5
_MOST_OBJECTS = 10
_CUT = 4_000


def make_trigger(
    content: str,
    *,
    kind: str,
    files: Sequence[str] = (),
    situation: Situation | None = None,
    kinds: KindRegistry = BUILTIN_KINDS,
) -> Trigger:
    """Return a trigger guessed from a memory's words. Used when nobody gave a better one.

    Args:
        content: the memory's statement.
        kind: name of its kind; unknown kinds get no prior.
        files: paths it speaks of; they become patterns.
        situation: what was going on when it was said; its likeliest actions are added weakly.
        kinds: where the kind is looked up.

    Returns:
        A trigger of maker `local`: one to five action classes (weights 1.0, 0.67, 0.33), objects, path patterns,
        languages, commands, breadth 1-3; `always` for identity and rules about the style of answers.
    """
    content = content[:_CUT]
    nature = kinds.of_stored(kind)
    if nature.always or (nature.standing and _WORDING.always.search(content)):
        return Trigger(always=True, breadth=3.0, objects=())
    evidence = ActionEvidence()
    read_table(prose_of(content), action_phrases("trigger_cues"), evidence)
    for name, chance in nature.actions:
        evidence.add(((name, chance),), 0.7)
    named_paths = find_paths(content)
    for path in (*named_paths, *files):
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
            evidence.add(((name, chance),), 0.3)
    actions = _weights(evidence)
    # What a rule prescribes ("run `make lint`") is not what the situation must touch, nor is the action itself
    # ("before committing"): both would keep the rule from the moment it is for.
    prescribed = commands if nature.standing else ()
    objects = _objects(content, paths=named_paths, spans=spans, prescribed=prescribed, actions=actions)
    return Trigger(
        actions=actions,
        objects=objects,
        paths=tuple(dict.fromkeys(_pattern(path) for path in files)),
        languages=languages_in(content),
        commands=commands,
        breadth=_breadth(
            content,
            kind=nature,
            actions=actions,
            specific=len(named_paths) + len(IDENTIFIER.findall(content)),
        ),
    )


def _weights(evidence: ActionEvidence) -> tuple[tuple[str, float], ...]:
    """Return the likeliest action classes, each with one of three weights: 1.0 = the trigger applies exactly then, 0.67 = often, 0.33 = sometimes."""
    ranked = evidence.ranked(least=0.2, most=_MOST_ACTIONS)
    top = max(ranked[0][1], 0.5) if ranked else 0.5  # weak evidence alone never becomes "exactly then"
    weights: list[tuple[str, float]] = []
    for name, chance in ranked:
        share = chance / top
        weights.append((name, 1.0 if share >= 0.85 else 0.67 if share >= 0.55 else 0.33))
    return tuple(weights)


def _objects(
    content: str,
    *,
    paths: tuple[str, ...],
    spans: tuple[str, ...],
    prescribed: tuple[str, ...],
    actions: tuple[tuple[str, float], ...],
) -> tuple[str, ...]:
    action_stems = {light_stem(word) for name, _ in actions for word in name.split("_")}
    orders = {word for command in prescribed for word in command.lower().split()}
    objects: dict[str, None] = {}
    for path in paths:
        objects.setdefault(path.lower())
    for span in spans:
        if len(span) <= 40 and not set(span.lower().split()) <= orders:
            objects.setdefault(span.lower().removesuffix("()"))
    for identifier in IDENTIFIER.findall(content):
        objects.setdefault(identifier.lower().removesuffix("()"))
    for name in re.findall(r"(?<=[a-z,;] )[A-Z][A-Za-z0-9.+#-]{2,}", content):
        objects.setdefault(name.lower().rstrip("."))
    if len(objects) < _MOST_OBJECTS:
        for word in informative_words(prose_of(content), limit=24):
            if word not in GENERIC_TOPICS and len(word) > 3 and light_stem(word) not in action_stems:
                objects.setdefault(word)
    return tuple(objects)[:_MOST_OBJECTS]


def _commands_of(spans: tuple[str, ...]) -> tuple[str, ...]:
    commands: dict[str, None] = {}
    for span in spans:
        if _COMMAND_WORD.match(span) and (" " in span or command_actions(span) != (("run_command", 0.7),)):
            for command in split_commands(span):
                if command_actions(command) != (("run_command", 0.7),):
                    commands.setdefault(command)
    return tuple(commands)[:6]


def _pattern(path: str) -> str:
    return path.replace("\\", "/").removeprefix("./").rstrip("/") + ("/**" if path.endswith("/") else "")


def _breadth(content: str, *, kind: Kind, actions: tuple[tuple[str, float], ...], specific: int) -> float:
    """Return the breadth: 1 for a fact about one thing, 3 for a rule about everything.

    A sum of points (own; rounded from a least-squares fit on labeled rules of other projects): base 1.1, the kind's
    points, the points of each class times its weight, 0.2 for an order (`Use ...`, `Never ...`), 0.15 for a word such
    as `every`, -0.04 for each path or identifier it names (at most 5); then kept within 1 to 3.
    """
    points = _BREADTH_BASE + kind.breadth
    points += sum(weight * _BREADTH_OF_ACTION.get(name, 0.0) for name, weight in actions)
    points += 0.2 if _WORDING.order.match(content) else 0.0
    points += 0.15 if _WORDING.strong.search(content) else 0.0
    points -= 0.04 * min(specific, 5)
    return round(min(max(points, 1.0), 3.0), 2)
