"""The intent score: how well a trigger fits a situation.

In: a trigger and a situation. Out: 0-1 with short reasons. Pure; made to be asked for thousands of triggers at once:
build one `Matcher` per situation.

The formula (own; constants fitted by `tacit_evals.fit.match` on judged pairs, kept in `fitted/match.json`):

    fit      = where x sigmoid(k0 + k1 ln(1 + lift) + k2 breadth + k3 about); 0 when lift is 0
    lift     = sum over the classes both name of (chance / s ** 0.9) x (weight / t ** 0.3), where s and t say how common
               the class is among situations and among triggers: that code will be edited says little, that a release is
               coming says much. A command of the trigger about to run counts like a class of chance 1 and s = 0.05, its
               tool like one of s = 0.3; without classes, commands and tools lift is 3
    about    = met / root of (words + 0.64), over the stems of the trigger's objects and topics; met = those that the
               situation's objects hold; 0 without any
    where    = best of paths and languages that are given: 1 when one matches, 0.55 when the situation names none,
               0.1 (paths) or 0.3 (languages) when it names others; 0.8, 0.7 and 0.6 where the trigger is only a guess of
               ours; 1 when none is given
    always   = 1, unless nothing is coming

There are two sets of k: for triggers that somebody gave, and for those of the local maker, whose weights say less. k0 is set
so that three times as many pairs reach 0.5 as were judged needed: where half of what comes near is worth a look.

Whether a trigger governs exactly this tool call: here the action is certain, so that likeness is not enough.

In: a trigger (with the files its memory speaks of), the reading of a call, and the reading of the prompt that led to it.
Out: a `TriggerFit`, separate pieces of evidence, each 0-1. Pure; build one `CallMatcher` per tool call and ask it for many triggers.

A call does a *certain action* when its class is told by the command or the kind of file (`git commit`, a run of the tests, an edit of
a migration), not by the tool alone (an edit of code, some command, a look at a file: the *unspecific* classes). An object of
a trigger is *free* when it only repeats the action or a language (`commit message`, `git`, `go`): it restricts nothing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import field
from functools import lru_cache

from tacit.fitted import Artifact, FitOrigin, load_fitted
from tacit.frozen import frozen
from tacit.model.trigger import Situation, Trigger
from tacit.reading.commands import command_actions, split_commands
from tacit.reading.moment_places import glob_pattern
from tacit.text.lazy_regex import lazy_regex
from tacit.text.stemming import light_stem
from tacit.text.tokens import HUMP, OBJECT_PART

# --- fitted values

UNKNOWN_RATE = 0.02
"""Assumed frequency of a class that is not in the labeled data."""
RATE_FLOOR = 0.003
SITUATION_POWER = 0.9
TRIGGER_POWER = 0.3
_UNKNOWN_SITUATION = float(UNKNOWN_RATE**SITUATION_POWER)
_UNKNOWN_TRIGGER = float(UNKNOWN_RATE**TRIGGER_POWER)
Weights = tuple[float, float, float, float]


@frozen
class MatchModel:
    """The fitted constants of the intent score.

    Attributes:
        situations: class -> mean chance among situations.
        triggers: class -> mean weight among triggers.
        given: k0 to k3 for triggers that somebody gave.
        local: k0 to k3 for triggers of the local maker.
        origin: data, command, date.
    """

    situations: Mapping[str, float]
    triggers: Mapping[str, float]
    given: Weights
    local: Weights
    origin: FitOrigin = field(default_factory=FitOrigin)
    _scaled: tuple[dict[str, float], dict[str, float]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        scaled = (
            {name: (rate + RATE_FLOOR) ** SITUATION_POWER for name, rate in self.situations.items()},
            {name: (rate + RATE_FLOOR) ** TRIGGER_POWER for name, rate in self.triggers.items()},
        )
        object.__setattr__(self, "_scaled", scaled)

    def situation_rate(self, name: str) -> float:
        """Return the number by which a situation's chance of class `name` is divided."""
        return self._scaled[0].get(name, _UNKNOWN_SITUATION)

    def trigger_rate(self, name: str) -> float:
        """Return the number by which a trigger's weight for class `name` is divided."""
        return self._scaled[1].get(name, _UNKNOWN_TRIGGER)


@frozen
class MatchValues:
    """The values of a `MatchModel` in its fitted file."""

    situations: Mapping[str, float]
    triggers: Mapping[str, float]
    given: Weights
    local: Weights


def match_from(artifact: Artifact[MatchValues]) -> MatchModel:
    """Return the model in a fitted file."""
    values = artifact.values
    return MatchModel(
        situations=values.situations,
        triggers=values.triggers,
        given=values.given,
        local=values.local,
        origin=artifact.origin,
    )


def shipped_match() -> MatchModel:
    """Return the fitted constants that ship with the package.

    Raises:
        InvalidInput: if the file is damaged.
    """
    return load_fitted("match", MatchValues, match_from)


# --- the match

NO_CLASS_LIFT = 3.0
COMMAND_RATE = 0.05
TOOL_RATE = 0.3
WORDS_FLOOR = 0.64
_GIVEN_PLACES = (0.55, 0.1, 0.3)
"""Factors for a trigger with places, if the situation names no place, other paths, or other languages."""
_GUESSED_PLACES = (0.8, 0.7, 0.6)
_MOST_REASONS = 6


@frozen
class Match:
    """The result of matching a trigger with a situation: its score (0-1), with reasons for the trace.

    `when` is the score of the action alone, whatever the object.
    """

    score: float
    when: float = 0.0
    reasons: tuple[str, ...] = ()


@frozen
class MatchParts:
    """The terms of a trigger's score in a situation, before weights.

    `lift` = how much likelier than usual its actions, commands and tools are, `breadth` = that of the
    trigger, `about` = shared words of objects and topics, `where` = factor for paths and languages (1 = no
    effect).
    """

    lift: float
    breadth: float
    about: float
    where: float = 1.0

    @property
    def row(self) -> tuple[float, float, float]:
        """Return the values that the weights k1 to k3 multiply."""
        return math.log1p(self.lift), self.breadth, self.about


class Matcher:
    """Scores many triggers against one situation."""

    __slots__ = (
        "_chances", "_commands", "_languages", "_model", "_nothing", "_objects", "_paths", "_strengths", "_tool",
    )  # fmt: skip

    def __init__(self, situation: Situation, *, tool: str = "", model: MatchModel | None = None) -> None:
        """Prepare `situation`; `tool` = host-neutral name of the tool about to run, "" = none."""
        self._model = model or shipped_match()
        self._nothing = situation.nothing_coming
        self._chances = dict(situation.actions)
        self._strengths = class_strengths(situation.actions, self._model)
        self._paths = tuple(path.lower() for path in situation.paths)
        self._languages = frozenset(situation.languages)
        self._commands = situation.commands
        self._tool = tool
        self._objects = object_stems(situation.objects)

    def match(self, trigger: Trigger) -> Match:
        """Return the score of one trigger, with reasons."""
        if self._nothing:
            return Match(score=0.0, reasons=("nothing is coming",))
        if trigger.always:
            return Match(score=1.0, when=1.0, reasons=("always",))
        reasons: list[str] = []
        score = self._score(trigger, reasons)
        if score <= 0.0:
            return Match(score=0.0)
        return Match(score=score, when=round(self._when(trigger), 6), reasons=tuple(reasons))

    def score(self, trigger: Trigger) -> float:
        """Return the score that `match` gives, without reasons."""
        if self._nothing:
            return 0.0
        return 1.0 if trigger.always else self._score(trigger, [])

    def _score(self, trigger: Trigger, reasons: list[str]) -> float:
        if trigger.empty and not trigger.objects:
            return 0.0
        match_parts = self._parts(trigger, reasons)
        if match_parts.lift <= 0.0:
            return 0.0
        k = self._model.local if trigger.maker == "local" else self._model.given
        first, second, third = match_parts.row
        z = k[0] + k[1] * first + k[2] * second + k[3] * third
        return round(match_parts.where / (1.0 + math.exp(-min(max(z, -30.0), 30.0))), 6)

    def terms(self, trigger: Trigger) -> MatchParts:
        """Return the terms (lift, breadth, about, where) from which `score` weighs `trigger` in this situation; used to fit its weights."""
        return self._parts(trigger, [])

    def _parts(self, trigger: Trigger, reasons: list[str]) -> MatchParts:
        lift = self._lift(trigger, reasons)
        place_match = self._where(trigger, reasons) if trigger.paths or trigger.languages else 1.0
        words = object_stems(trigger.objects + trigger.topics)
        met = words & self._objects
        if met and len(reasons) < _MOST_REASONS:
            reasons.extend(f"about: {word}" for word in sorted(met)[:3])
        return MatchParts(
            lift=lift,
            breadth=trigger.breadth,
            about=len(met) / math.sqrt(len(words) + WORDS_FLOOR),
            where=place_match,
        )

    def _lift(self, trigger: Trigger, reasons: list[str]) -> float:
        if not (trigger.actions or trigger.commands or trigger.tools):
            return NO_CLASS_LIFT
        total, best, label = 0.0, 0.0, ""
        for name, weight in trigger.actions:
            strength = self._strengths.get(name)
            if strength is None:
                continue
            share = strength * weight / self._model.trigger_rate(name)
            total += share
            if share > best:
                best, label = share, name
        for command in trigger.commands:
            share = self._command_chance(command, alone=not trigger.actions) / COMMAND_RATE**SITUATION_POWER
            total += share
            if share > best:
                best, label = share, command
        if self._tool and self._tool in trigger.tools:
            share = 1.0 / TOOL_RATE**SITUATION_POWER
            total += share
            if share > best:
                best, label = share, self._tool
        if label:
            reasons.append(f"intent: {label}")
        return total

    def _when(self, trigger: Trigger) -> float:
        """Return the greatest weight x chance over common classes; 1 for a command or tool about to run."""
        best = max((weight * self._chances.get(name, 0.0) for name, weight in trigger.actions), default=0.0)
        if trigger.commands:
            best = max(best, *(self._command_chance(c, alone=not trigger.actions) for c in trigger.commands))
        if self._tool and self._tool in trigger.tools:
            return 1.0
        return best if trigger.actions or trigger.commands or trigger.tools else 0.6

    def _command_chance(self, command: str, *, alone: bool) -> float:
        if any(expected == command or expected.startswith(command + " ") for expected in self._commands):
            return 1.0
        if not alone:
            return 0.0  # its classes speak for it already
        return max(
            (share * self._chances.get(name, 0.0) for name, share in command_actions(command)), default=0.0
        )

    def _where(self, trigger: Trigger, reasons: list[str]) -> float:
        """Return the factor for the places of a trigger that has any; a place that matches is appended to `reasons`."""
        best = 0.0
        unknown, other_path, other_language = _GUESSED_PLACES if trigger.maker == "local" else _GIVEN_PLACES
        if trigger.paths:
            hit = next(
                (p for glob in trigger.paths for p in self._paths if glob_pattern(glob.lower()).search(p)), ""
            )
            if hit:
                reasons.append(f"path: {hit}")
                return 1.0
            best = other_path if self._paths else unknown
        if trigger.languages:
            common = next((name for name in trigger.languages if name in self._languages), "")
            if common:
                reasons.append(f"language: {common}")
                fit = 1.0 if not trigger.paths else unknown
            else:
                fit = other_language if self._languages else unknown
            best = max(best, fit)
        return best


def class_strengths(
    actions: tuple[tuple[str, float], ...], model: MatchModel | None = None
) -> dict[str, float]:
    """Return {class: chance divided by how common the class is} for a situation's actions."""
    chosen = model or shipped_match()
    return {name: chance / chosen.situation_rate(name) for name, chance in actions}


def relative_strengths(
    actions: tuple[tuple[str, float], ...], model: MatchModel | None = None
) -> tuple[tuple[str, float], ...]:
    """Return `class_strengths` scaled so that the greatest is 1, as the query of a search for triggers.

    With bare chances, nearly every search would return the triggers that name `edit_code`.
    """
    strengths = class_strengths(actions, model)
    most = max(strengths.values(), default=0.0)
    return tuple((name, strength / most) for name, strength in strengths.items()) if most > 0.0 else ()


@lru_cache(maxsize=16384)
def object_stems(items: tuple[str, ...]) -> frozenset[str]:
    """Return the stems of the words and path parts in `items`; two spellings of one thing share them."""
    stems: set[str] = set()
    for item in items:
        for word in OBJECT_PART.findall(item.lower().replace("_", " ").replace("-", " ")):
            if len(word) > 2 or word[0] == "#":
                stems.add(light_stem(word))
    return frozenset(stems)


UNSPECIFIC_ACTIONS = frozenset(
    {
        "edit_code", "implement_feature", "fix_bug", "refactor", "run_command", "debug_investigate", "explain_code",
        "answer_question", "offer_options", "plan_or_spec", "execute_plan", "reproduce_bug", "review_code",
        "address_review", "config_settings", "ui_design", "cli_output_ux", "error_handling", "parsing_formats",
        "security_privacy", "logging_analytics", "naming_terms", "code_comments", "performance",
    }
)  # fmt: skip
"""Classes that nearly every tool call has, or none has for certain."""
CERTAIN_CHANCE = 0.8
"""From this chance on a call is taken for a certain action. Writing a whole file makes a new one four times out of five (53 of 67
writes whose result says so, in two projects' sessions)."""
_RARE_ACTION_NAMES: dict[str, frozenset[str]] = {
    "commit": frozenset({"commit", "committing", "committed"}),
    "push": frozenset({"push", "pushing", "pushed"}),
    "open_or_update_pr": frozenset({"pr", "pull"}),
    "release": frozenset({"release", "releasing", "publish"}),
}
"""Words by which statements name a rare action. They say when, not about what, so they are no objects."""
UNMET_SHARE = 0.5
_GUESSED_WORD = 0.05
_ACTION_WORDS: dict[str, str] = {
    "commit": "git commit commits committing message messages conventional",
    "push": "git push pushing remote origin branch",
    "open_or_update_pr": "gh pr prs pull request requests description git github",
    "merge_rebase": "git merge rebase branch main merging conflict conflicts",
    "release": "release releases tag git version changelog publish",
    "run_tests": "test tests testing suite run unit",
    "write_test": "test tests testing suite unit", "change_test": "test tests testing suite unit",
    "add_dependency": "dependency dependencies package packages install library libraries module modules",
    "write_docs": "docs doc documentation markdown md", "edit_rules": "rules rule claude agents md",
    "ci_pipeline": "ci workflow workflows github actions pipeline", "create_task": "issue issues task tasks gh github",
    "workspace_session": "git branch branches checkout worktree stash", "delete_code": "delete remove rm file files",
    "rename_move": "rename move mv file files", "data_storage": "database migration migrations sql schema db",
    "generated_files": "generated file files", "delegate_agent": "agent agents subagent",
}  # fmt: skip
"""Words that only repeat an action; in a trigger they do not narrow the tool calls."""
_LINT_BUILD: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (lazy_regex(pattern), words)
    for pattern, words in (
        (r"build|install|compile|make|webpack|vite|ninja|package|generate", "build building compile compiling binary"),
        (r"lint|ruff|flake8|vet|clippy|check|biome|rubocop|vale|analyze", "lint linter linters linting vet check checks"),
        (r"fmt|format|prettier|black|isort|imports|clang-format", "format formatter formatting"),
        (r"mypy|pyright|tsc|type", "type types typecheck check checking"),
    )
)  # fmt: skip
"""`run_lint_build` covers several actions: which words name the command at hand."""
_EVERYWHERE_TEXT = """
src lib pkg internal app apps packages package cmd main index mod code source file files project repo
repository test tests docs doc scripts bin out build home users dev tmp usr local
"""
_EVERYWHERE = frozenset(_EVERYWHERE_TEXT.split())
_ANYTHING = frozenset({"code", "file", "source", "project", "repo", "repository", "command", "change"})
_LANGUAGE_TEXT = """
python typescript javascript go golang rust java kotlin c# ruby php swift shell bash sql html css markdown json yaml
ts js py md
"""
_LANGUAGES = frozenset(_LANGUAGE_TEXT.split())
_NONE: frozenset[str] = frozenset()
_SPLIT = lazy_regex(r"[^a-z0-9#+]+")
_FILE = lazy_regex(r"[^\s/]\.[a-z][a-z0-9]{0,4}$")


@frozen
class TriggerFit:
    """The result of comparing one trigger with one tool call; all numbers but `hits` are 0-1.

    Attributes:
        action_match: greatest weight x chance over the common classes that the call has for certain.
        unspecific_match: the same over the unspecific classes.
        goal: the same between the trigger and the governing prompt, over all classes.
        about: share of the trigger's conditions that the call meets (see `CallMatcher.fit`).
        hits: number of conditions, besides the action, that the call itself meets.
        file: the call touches a file that the trigger or its memory names.
        named: a command that the trigger or its memory names is about to run.
        elsewhere: the trigger names paths or languages, and the call has others.
    """

    action_match: float = 0.0
    unspecific_match: float = 0.0
    goal: float = 0.0
    about: float = 0.0
    hits: int = 0
    file: bool = False
    named: bool = False
    elsewhere: bool = False
    reasons: tuple[str, ...] = ()


class CallMatcher:
    """Compares many triggers with one tool call."""

    __slots__ = ("_action_words", "_chances", "_commands", "_goal", "_languages", "_paths", "_told", "_words")

    def __init__(self, situation: Situation, goal: Situation | None = None) -> None:
        """Prepare a call's situation, and that of the prompt that governs it (None = unknown)."""
        self._chances = dict(situation.actions)
        self._paths = tuple(path.lower().removeprefix("./") for path in situation.paths)
        self._languages = frozenset(situation.languages)
        self._commands = situation.commands
        places = frozenset(word for path in self._paths for word in item_tokens(path)) - _EVERYWHERE
        self._words = _tokens(situation.objects) | places
        self._goal = dict(goal.actions) if goal is not None else {}
        self._told = _tokens((*goal.objects, *goal.paths)) if goal is not None else frozenset[str]()
        self._action_words = frozenset(
            _singular(word) for name in self.certain_actions for word in self._words_for(name).split()
        )

    def _words_for(self, action: str) -> str:
        if action == "run_lint_build":
            return " ".join(
                words for pattern, words in _LINT_BUILD if any(map(pattern.search, self._commands))
            )
        return _ACTION_WORDS.get(action, action.replace("_", " "))

    @property
    def certain_actions(self) -> tuple[str, ...]:
        """Return the specific classes that the call has for certain."""
        return tuple(
            n
            for n, chance in self._chances.items()
            if chance >= CERTAIN_CHANCE and n not in UNSPECIFIC_ACTIONS
        )

    def fit(
        self, trigger: Trigger, *, files: Iterable[str] = (), commands: Iterable[str] = (), said: str = ""
    ) -> TriggerFit:
        """Compare a memory's trigger with this call. `files`, `commands`: what the memory names; `said`: its words.

        The conditions of a trigger are: one of its commands, one of its paths, the action itself, and each word that
        narrows it. `about` is the share of these that the call meets. A word that only the governing prompt names
        counts one half; where the action is among the words, those not met count UNMET_SHARE. In a trigger that is
        only guessed, a plain word hardly counts.
        """
        reasons: list[str] = []
        match, name = self._best(trigger, certain_classes=True)
        unspecific, _ = self._best(trigger, certain_classes=False)
        goal = max((w * self._goal.get(n, 0.0) for n, w in trigger.actions), default=0.0)
        if match:
            reasons.append(f"deed: {name}")
        conditions = met = 0.0
        hits, missed = 0, 0.0
        guessed = trigger.maker == "local"
        # For inferred triggers, match only commands of the call's action class; other commands are what the rule prescribes.
        own = tuple(item for item in trigger.commands if not guessed or self._is_of_this_action(item))
        chosen = (*own, *(item for item in trigger.objects if is_known_command(item)))
        named_too = tuple(item for item in commands if self._is_of_this_action(item))
        command_named = self._command((*chosen, *named_too), reasons)
        if chosen or named_too:
            conditions, met, hits = conditions + 1, met + command_named, hits + command_named
        paths = tuple(item for item in trigger.objects if is_path(item))
        # The patterns of a guess are the files at hand when it was said, no more.
        file = self._file(paths if guessed else (*paths, *files), reasons)
        pattern = self._pattern(trigger.paths, reasons)
        if paths or trigger.paths:
            touched = file or pattern or self._folder(paths)
            conditions, met, hits = conditions + 1, met + touched, hits + touched
        free = (
            guessed and bool(match) and not _RARE_ACTION_NAMES.get(name, _NONE).isdisjoint(item_tokens(said))
        )
        for item in (*trigger.objects, *trigger.topics):
            forms = item_tokens(item)
            if not forms or is_known_command(item) or is_path(item):
                continue
            if forms <= self._action_words or item in _LANGUAGES or forms <= _ANYTHING:
                free = True
            elif forms <= self._words:
                conditions, met, hits = conditions + 1, met + 1, hits + 1
                reasons.append(f"about: {item}")
            else:
                missed += _GUESSED_WORD if guessed else 1.0
                met += 0.5 if forms <= self._told else 0.0
        # Where the action itself is named, the other words mostly say how it is done, not when.
        conditions += missed * (UNMET_SHARE if free else 1.0)
        if free:
            conditions, met = conditions + 1, met + 1
        return TriggerFit(
            action_match=match,
            unspecific_match=unspecific,
            goal=round(goal, 4),
            about=round(min(1.0, met / conditions), 4) if conditions else 1.0,
            hits=hits,
            file=file or (pattern and not guessed),
            named=command_named,
            elsewhere=self._elsewhere(trigger, touched=file or pattern),
            reasons=tuple(reasons[:4]),
        )

    def _best(self, trigger: Trigger, *, certain_classes: bool) -> tuple[float, str]:
        best, label = 0.0, ""
        for name, weight in trigger.actions:
            chance = self._chances.get(name, 0.0)
            certain = chance >= CERTAIN_CHANCE and name not in UNSPECIFIC_ACTIONS
            if certain == certain_classes and weight * chance > best:
                best, label = weight * chance, name
        return round(best, 4), label

    def _command(self, commands: Iterable[str], reasons: list[str]) -> bool:
        for command in commands:
            for normal in split_commands(command):
                if any(called == normal or called.startswith(normal + " ") for called in self._commands):
                    reasons.append(f"command: {normal}")
                    return True
        return False

    def _is_of_this_action(self, command: str) -> bool:
        """Whether a command is a way to do what this call does (`go build` when it runs a linter)."""
        mine = set(self.certain_actions)
        return any(name in mine for simple in split_commands(command) for name, _ in command_actions(simple))

    def _file(self, items: Iterable[str], reasons: list[str]) -> bool:
        for item in items:
            plain = item.lower().removeprefix("./").rstrip("/")
            if _FILE.search(plain) and any(
                path == plain or path.endswith("/" + plain) for path in self._paths
            ):
                reasons.append(f"file: {item}")
                return True
        return False

    def _folder(self, items: Iterable[str]) -> bool:
        return any(f"/{item.lower().strip('./')}/" in f"/{path}" for item in items for path in self._paths)

    def _pattern(self, patterns: Iterable[str], reasons: list[str]) -> bool:
        for pattern in patterns:
            if any(glob_pattern(pattern.lower()).search(path) for path in self._paths):
                reasons.append(f"path: {pattern}")
                return True
        return False

    def _elsewhere(self, trigger: Trigger, *, touched: bool) -> bool:
        if trigger.paths and self._paths:
            return not touched
        if trigger.languages and self._languages:
            return not self._languages & set(trigger.languages)
        return False


@lru_cache(maxsize=4096)
def is_known_command(item: str) -> bool:
    """Whether an object of a trigger is a command of a known program: `go build`, `golangci-lint`; a path or an unknown program is not."""
    if is_path(item):
        return False
    names = split_commands(item)
    return (
        bool(names)
        and names[0].split(maxsplit=1)[0] == item.split(maxsplit=1)[0]
        and command_actions(names[0]) != (("run_command", 0.7),)
    )


def is_path(item: str) -> bool:
    """Whether an object of a trigger is a path or a file name."""
    return " " not in item and ("/" in item or bool(_FILE.search(item)))


@lru_cache(maxsize=16384)
def item_tokens(item: str) -> frozenset[str]:
    """Return the lower-case words of one object, its path and identifier split, without plural s."""
    return frozenset(_singular(word) for word in _SPLIT.split(HUMP.sub(" ", item).lower()) if len(word) > 1)


def _tokens(items: Iterable[str]) -> frozenset[str]:
    tokens: set[str] = set()
    for item in items:
        tokens |= item_tokens(item)
    return frozenset(tokens)


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 4 and word.endswith("s") and not word.endswith("ss") else word
