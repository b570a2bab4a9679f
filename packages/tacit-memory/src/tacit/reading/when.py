"""The words of `--when`: read and written.

In: text such as `commit, path:src/**/*.py, lang:python`; or a trigger. Out: a trigger; or text that reads back to it.
Never guesses about a word that looks like an action class: an unknown one is an error that names the nearest.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from difflib import get_close_matches

from tacit.errors import InvalidInput
from tacit.model.trigger import ACTIONS, MAKER_RANK, Trigger, TriggerMaker
from tacit.reading.trigger import make_trigger

_PREFIXES = {
    "path": "paths", "file": "paths", "lang": "languages", "language": "languages", "cmd": "commands", "command": "commands",
    "tool": "tools", "topic": "topics", "phrase": "phrases", "about": "objects", "object": "objects", "action": "action", "breadth": "breadth",
}  # fmt: skip
_ITEM = re.compile(r"^([a-z]+):(.*)$", re.IGNORECASE | re.DOTALL)
_ACTION = re.compile(r"^([a-z][a-z0-9]*(?:_[a-z0-9]+)*)(?:\s*=\s*([0-9.]+(?:e-?\d+)?))?$")
_KNOWN = frozenset(ACTIONS)
_EXAMPLE = "Example: `commit, path:src/**/*.py, lang:python, cmd:git push, topic:billing` or `always`."


@dataclass(slots=True)
class _Parts:
    maker: str
    always: bool = False
    blocking: bool = False
    breadth: float | None = None
    actions: dict[str, float] = field(default_factory=dict[str, float])
    lists: dict[str, dict[str, None]] = field(default_factory=dict[str, dict[str, None]])
    words: list[str] = field(default_factory=list[str])

    @property
    def said(self) -> bool:
        """Whether anything but free words was named."""
        return self.always or bool(self.actions or self.lists)

    def put(self, name: str, value: str) -> None:
        self.lists.setdefault(name, {})[value] = None

    def values(self, name: str) -> tuple[str, ...]:
        return tuple(self.lists.get(name, ()))


def parse_when(text: str | Sequence[str], *, maker: str = "user") -> Trigger:
    """Return the trigger that `--when` text describes, or a list of phrases and such text.

    Comma or newline separated: `always`, `blocking`, action classes (`commit`, `edit_code=0.67`), `path:src/**/*.py`,
    `lang:python`, `cmd:git commit`, `tool:edit`, `topic:billing`, `about:droidcli`, `breadth:2`; other words are read
    like a memory's words. In a list, phrases are kept as given beside what they mean: see `_parse_phrases`.

    Raises:
        InvalidInput: for an unknown class (naming the nearest), prefix or maker, an empty text, or a value out of range.
    """
    _check_maker(maker)
    if not isinstance(text, str):
        return _parse_phrases(text, maker)
    parts = _Parts(maker=maker)
    for raw in text.replace("\n", ",").split(","):
        item = raw.strip()
        if item:
            _read_item(item, parts)
    if not (parts.said or parts.words):
        raise InvalidInput("When the memory applies is empty.", hint=_EXAMPLE)
    if parts.words:
        guessed = make_trigger(", ".join(parts.words), kind="")
        _add_actions(guessed, parts)
        for word in (*guessed.objects, *(w.lower() for w in parts.words)):
            parts.put("topics", word)
    return _trigger(parts, maker)


def _parse_phrases(items: Sequence[str], maker: str) -> Trigger:
    """Return a trigger from a list of phrases and terms, which applies where any of them does.

    An item that is written like `--when` is read as that; any other is a phrase, kept as given. Its classes join the others. What it is
    about narrows the trigger only where nothing else is said and every phrase is about something: else one phrase would forbid
    the moment that another names.
    """
    parts = _Parts(maker=maker)
    phrases: list[str] = []
    for raw in items:
        item = " ".join(raw.split())
        if item and not _read_terms(item, parts):
            phrases.append(item)
    if not (parts.said or phrases):
        raise InvalidInput("When the memory applies is empty.", hint=_EXAMPLE)
    terms_said = parts.said
    guesses = [make_trigger(phrase, kind="") for phrase in phrases]
    for guessed in guesses:
        _add_actions(guessed, parts)
        parts.always = parts.always or guessed.always
    if not terms_said and all(guessed.objects for guessed in guesses):
        for word in (word for guessed in guesses for word in guessed.objects):
            parts.put("topics", word)
    for phrase in phrases:
        parts.put("phrases", phrase)
    return _trigger(parts, maker)


def _read_terms(item: str, parts: _Parts) -> bool:
    """Add an item written like `--when` to `parts`; returns False for a phrase, which adds nothing.

    A single word is one when it is a term, or looks like one that is misspelled; words with spaces between them are a phrase unless
    each part between commas is a term.
    """
    terms = [term.strip() for term in item.split(",") if term.strip()]
    if len(terms) == 1 and " " not in item:
        _read_item(item, parts)
        return not parts.words or parts.words.pop() != item
    trial = _Parts(maker=parts.maker)
    with suppress(InvalidInput):
        for term in terms:
            _read_item(term, trial)
        if not trial.words:
            for term in terms:
                _read_item(term, parts)
            return True
    return False


def _add_actions(guessed: Trigger, parts: _Parts) -> None:
    for name, weight in guessed.actions:
        if not parts.actions.get(name):
            parts.actions[name] = min(weight, 0.67)


def _trigger(parts: _Parts, maker: str) -> Trigger:
    actions = sorted(parts.actions.items(), key=lambda pair: -pair[1])
    trigger_maker: TriggerMaker = next(name for name in ("local", "model", "agent", "user") if name == maker)
    return Trigger(
        always=parts.always, actions=tuple(actions), objects=parts.values("objects"), paths=parts.values("paths"),
        languages=parts.values("languages"), commands=parts.values("commands"), tools=parts.values("tools"),
        topics=parts.values("topics"), phrases=parts.values("phrases"), breadth=parts.breadth if parts.breadth is not None else (3.0 if parts.always else 1.0),
        maker=trigger_maker, blocking=parts.blocking,
    )  # fmt: skip


def format_when(trigger: Trigger) -> str:
    """Return `trigger` as text that `parse_when` reads back (with the same maker); "" = an empty trigger."""
    items: list[str] = ["always"] if trigger.always else []
    items.extend(
        name if weight == 1.0 and name in _KNOWN else f"action:{name}={weight!r}"
        for name, weight in trigger.actions
    )
    for prefix, values in (
        ("path", trigger.paths),
        ("lang", trigger.languages),
        ("cmd", trigger.commands),
        ("tool", trigger.tools),
        ("topic", trigger.topics),
        ("about", trigger.objects),
        ("phrase", trigger.phrases),
    ):
        items.extend(f"{prefix}:{_quote(value)}" for value in values)
    if items and trigger.blocking:
        items.append("blocking")
    if items and trigger.breadth != (3.0 if trigger.always else 1.0):
        items.append(f"breadth:{trigger.breadth!r}")
    return ", ".join(items)


def _read_item(item: str, parts: _Parts) -> None:
    if item.lower() == "always":
        parts.always = True
        return
    if item.lower() == "blocking":
        parts.blocking = True
        return
    prefixed = _ITEM.match(item)
    if prefixed and prefixed[1].lower() in _PREFIXES:
        _read_prefixed(_PREFIXES[prefixed[1].lower()], _unquote(prefixed[2].strip()), item, parts)
        return
    if prefixed and not prefixed[2].startswith("//") and " " not in prefixed[1] and prefixed[2]:
        near = get_close_matches(prefixed[1].lower(), _PREFIXES, n=1)
        hint = f"Did you mean `{near[0]}:`? " if near else ""
        raise InvalidInput(f"Unknown prefix {prefixed[1]!r} in {item!r}.", hint=f"{hint}{_EXAMPLE}")
    action = _ACTION.match(item)
    if action and (action[1] in _KNOWN):
        parts.actions[action[1]] = _weight(action[2], item)
    elif action and ("=" in item or _nearly(item) or ("_" in item and parts.maker != "agent")):
        raise InvalidInput(
            f"Unknown action class {action[1]!r}.",
            hint=f"Nearest: {', '.join(_nearest(action[1])) or 'none'}. For a free word write `topic:{action[1]}`.",
        )
    else:
        parts.words.append(item)


def _read_prefixed(name: str, value: str, item: str, parts: _Parts) -> None:
    if not value:
        raise InvalidInput(f"{item!r} names nothing.", hint=_EXAMPLE)
    if name == "breadth":
        try:
            parts.breadth = float(value)
        except ValueError:
            raise InvalidInput(f"{item!r}: breadth is a number from 0 to 3.") from None
    elif name == "action":
        action = _ACTION.match(value)
        if action is None or action[1] not in _KNOWN:
            nearest = ", ".join(_nearest(value)) or ", ".join(ACTIONS)
            raise InvalidInput(f"Unknown action class {value!r}.", hint=f"Nearest: {nearest}.")
        parts.actions[action[1]] = _weight(action[2], item)
    else:
        parts.put(name, value.lower() if name in ("languages", "objects", "tools") else value)


def _check_maker(maker: str) -> None:
    if maker not in MAKER_RANK:
        raise InvalidInput(
            f"Unknown trigger maker {maker!r}.", hint=f"Known makers: {', '.join(MAKER_RANK)}."
        )


def _weight(text: str | None, item: str) -> float:
    if text is None:
        return 1.0
    try:
        weight = float(text)
    except ValueError:
        weight = -1.0
    if not 0.0 < weight <= 1.0:
        raise InvalidInput(f"{item!r}: the weight must be above 0 and at most 1.")
    return weight


def _nearest(word: str) -> list[str]:
    return get_close_matches(word, ACTIONS, n=3, cutoff=0.5)


def _nearly(word: str) -> bool:
    return bool(get_close_matches(word, ACTIONS, n=1, cutoff=0.84))


def _quote(value: str) -> str:
    """Return the value with separators escaped, so that splitting leaves it whole."""
    return value.replace("%", "%25").replace(",", "%2C").replace("\n", "%0A")


def _unquote(value: str) -> str:
    return value.replace("%2C", ",").replace("%0A", "\n").replace("%25", "%")


def stated_when(trigger: Trigger) -> tuple[str, ...]:
    """Return the stated conditions of a trigger as `parse_when` reads them, without `blocking`.

    Empty if nobody stated them: they were read from the content.
    """
    if trigger.empty or trigger.maker == "local":
        return ()
    return tuple(part for part in format_when(trigger).split(", ") if part != "blocking")
