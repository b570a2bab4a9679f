"""How well a trigger fits a situation: the intent score.

In: a trigger and a situation. Out: 0-1 with short reasons. Pure; made to be asked for thousands of triggers at once:
build one `Matcher` per situation.

The formula (own; it starts from the best rule of the situation experiment, class x (objects + 0.3 breadth)):

    fit      = when x where x about
    when     = best weight x chance over the classes both name; a command or tool of the trigger that is about to run
               counts as a class of chance 1; without classes, commands and tools: 0.6 if anything else is given
    where    = best of paths and languages that are given: 1 when one matches, 0.55 when the situation names none,
               0.1 (paths; 0.45 where the trigger is only a guess of ours) or 0.3 (languages) when it names others;
               1 when none is given
    about    = (overlap + 0.3 x breadth) / 1.9 when the trigger has objects or topics, where overlap = 1 - 0.5 ** hits
               and 1.9 = 1 + 0.3 x 3 is the most it can be; without them 0.7 + 0.1 x breadth
    always   = 1, unless nothing is coming
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from tacit.model.situation import Situation
from tacit.model.trigger import Trigger
from tacit.reading.commands import command_actions

_NO_CLASS = 0.6
_UNKNOWN_PLACE = 0.55
_OTHER_PATH = 0.1
_OTHER_PATH_GUESSED = 0.45
_OTHER_LANGUAGE = 0.3
_BREADTH_SHARE = 0.3
_MOST = 1.0 + 3 * _BREADTH_SHARE


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """How well a trigger fits (0-1), and why, for the trace. `when` is the part of its action alone, whatever the object."""

    score: float
    when: float = 0.0
    reasons: tuple[str, ...] = ()


class Matcher:
    """One situation, prepared for many triggers."""

    __slots__ = ("_chances", "_commands", "_languages", "_nothing", "_objects", "_paths", "_tool")

    def __init__(self, situation: Situation, *, tool: str = "") -> None:
        """Prepare `situation`; `tool` is the host-neutral name of the tool about to run, where one is."""
        self._nothing = situation.nothing_coming
        self._chances = dict(situation.actions)
        self._paths = tuple(path.lower() for path in situation.paths)
        self._languages = frozenset(situation.languages)
        self._commands = situation.commands
        self._tool = tool
        objects: set[str] = set()
        for item in situation.objects:
            objects.update(_forms(item))
        for path in self._paths:
            objects.update(_forms(path))
        self._objects = objects

    def match(self, trigger: Trigger) -> Match:
        """Score one trigger by the formula of this module."""
        if self._nothing:
            return Match(score=0.0, reasons=("nothing is coming",))
        if trigger.always:
            return Match(score=1.0, when=1.0, reasons=("always",))
        if trigger.empty and not trigger.objects:
            return Match(score=0.0)
        reasons: list[str] = []
        when = self._when(trigger, reasons)
        if when <= 0.0:
            return Match(score=0.0)
        fit = when * self._where(trigger, reasons) * self._about(trigger, reasons)
        return Match(score=round(min(fit, 1.0), 6), when=round(when, 6), reasons=tuple(reasons))

    def _when(self, trigger: Trigger, reasons: list[str]) -> float:
        if not (trigger.actions or trigger.commands or trigger.tools):
            return _NO_CLASS
        best, label = 0.0, ""
        for name, weight in trigger.actions:
            product = weight * self._chances.get(name, 0.0)
            if product > best:
                best, label = product, name
        for command in trigger.commands:
            chance = self._command_chance(command, alone=not trigger.actions)
            if chance > best:
                best, label = chance, command
        if self._tool and self._tool in trigger.tools:
            best, label = 1.0, self._tool
        if label:
            reasons.append(f"intent: {label}")
        return best

    def _command_chance(self, command: str, *, alone: bool) -> float:
        if any(one == command or one.startswith(command + " ") for one in self._commands):
            return 1.0
        if not alone:
            return 0.0  # its classes speak for it already
        return max(
            (share * self._chances.get(name, 0.0) for name, share in command_actions(command)), default=0.0
        )

    def _where(self, trigger: Trigger, reasons: list[str]) -> float:
        if not trigger.paths and not trigger.languages:
            return 1.0
        best = 0.0
        if trigger.paths:
            hit = next(
                (p for glob in trigger.paths for p in self._paths if glob_pattern(glob.lower()).search(p)), ""
            )
            if hit:
                reasons.append(f"path: {hit}")
                return 1.0
            other = _OTHER_PATH_GUESSED if trigger.maker == "local" else _OTHER_PATH
            best = other if self._paths else _UNKNOWN_PLACE
        if trigger.languages:
            common = next((name for name in trigger.languages if name in self._languages), "")
            if common:
                reasons.append(f"language: {common}")
                fit = 1.0 if not trigger.paths else _UNKNOWN_PLACE
            else:
                fit = _OTHER_LANGUAGE if self._languages else _UNKNOWN_PLACE
            best = max(best, fit)
        return best

    def _about(self, trigger: Trigger, reasons: list[str]) -> float:
        if not trigger.objects and not trigger.topics:
            return 0.7 + 0.1 * trigger.breadth
        hits = 0
        for item in (*trigger.objects, *trigger.topics):
            if any(form in self._objects for form in _forms(item.lower())):
                hits += 1
                if hits <= 3:
                    reasons.append(f"about: {item}")
        return (1.0 - 0.5**hits + _BREADTH_SHARE * trigger.breadth) / _MOST


def match_trigger(trigger: Trigger, situation: Situation) -> float:
    """How well `trigger` fits `situation`, 0-1. For many triggers build one `Matcher`."""
    return Matcher(situation).match(trigger).score


@lru_cache(maxsize=16384)
def _forms(item: str) -> tuple[str, ...]:
    """The forms under which two spellings of one thing meet: itself, singular, file name, its stem."""
    item = item.strip().removesuffix("()")
    forms = {item}
    if item.endswith("s") and len(item) > 4 and not item.endswith("ss"):
        forms.add(item[:-1])
    if "/" in item:
        forms.add(item.rstrip("/").rsplit("/", 1)[-1])
    for form in tuple(forms):
        stem, dot, ending = form.rpartition(".")
        if dot and len(stem) > 3 and ending.isalpha() and len(ending) <= 5:
            forms.add(stem)
    return tuple(sorted(form for form in forms if len(form) > 1))


@lru_cache(maxsize=4096)
def glob_pattern(pattern: str) -> re.Pattern[str]:
    """A glob as a pattern: `**` any folders, `*` and `?` within one name; a bare name matches in any folder."""
    pattern = pattern.replace("\\", "/").removeprefix("./")
    out: list[str] = []
    position = 0
    while position < len(pattern):
        if pattern.startswith("**/", position):
            out.append("(?:[^/]+/)*")
            position += 3
        elif pattern.startswith("**", position):
            out.append(".*")
            position += 2
        else:
            char = pattern[position]
            out.append("[^/]*" if char == "*" else "[^/]" if char == "?" else re.escape(char))
            position += 1
    body = "".join(out)
    tail = "(?:/.*)?" if not pattern.endswith(("*", "/")) and "." not in pattern.rsplit("/", 1)[-1] else ""
    return re.compile(f"(?:^|/){body}{tail}$")
