"""Pairs of made-up statements about different things that share words, numbers and the form of their sentence. In: a number, a seed.

Two statements of a pair speak of two subjects, attributes or places (`THINGS`, `PLACES`, made-up words), so both can hold whatever
else they share; also where one of them says that something changed, ended or was replaced. Equal arguments give equal pairs.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

THINGS = (
    "billing service", "search service", "orders API", "invoices API", "upload worker", "export worker", "staging database",
    "reporting database", "login page", "settings page", "nightly build", "release build", "session cache", "image cache",
    "mail queue", "audit log", "mobile client", "admin client", "payment gateway", "metrics collector",
)  # fmt: skip
PLACES = (
    "the docs", "the web app", "the command line", "`src/billing`", "`src/search`", "the Python code", "the Go code",
    "`tests/unit`", "`tests/e2e`", "the mobile app", "the scripts", "the CI", "the demo", "the installer",
)  # fmt: skip
TOOLS = (
    "pnpm",
    "npm",
    "ruff",
    "black",
    "Redis",
    "Postgres",
    "`make lint`",
    "`just check`",
    "Docker",
    "Podman",
    "pytest",
    "jest",
)
VERBS = ("restart", "deploy", "test", "review", "migrate", "document", "profile", "back up")
_START, _STEP = "bcdfgklmnprstvz", "aeiou"

SAME_FORM = (
    ("fact", "The {thing} listens on port {number}."),
    ("fact", "The {thing} is now on port {number}."),
    ("fact", "The {thing} has a timeout of {number} seconds and {count} retries."),
    ("fact", "The {thing} was moved from port {number} to port {other_number}."),
    ("fact", "We raised the limit of the {thing} to {number} requests per minute."),
    ("fact", "The {thing} no longer uses {tool}."),
    ("fact", "{tool} was replaced by {other_tool} in the {thing}."),
    ("fact", "Formerly the {thing} ran on port {number}; it was replaced by port {other_number}."),
    ("decision", "Use {tool} for {place}."),
    ("decision", "Use {tool}, not {other_tool}, for {place}."),
    ("decision", "From now on use {tool} instead of {other_tool} in {place}."),
    ("decision", "We store the state of the {thing} in {tool}."),
    ("preference", "Always {verb} the {thing} before a release."),
    ("preference", "Never {verb} the {thing} on Fridays."),
    ("correction", "No, the {thing} runs with {number} threads."),
    ("correction", "We run {tool} before committing to {place} now."),
    ("fact", "`{word}_total` of the {thing} counts {word2} in steps of {number}."),
    ("fact", "The {word} {word2} holds {number} {word3}."),
)  # fmt: skip
"""One sentence said of two things: every slot that names one is filled anew, the others may be filled alike."""
TWO_FORMS = (
    ("fact", "The {thing} listens on port {number}.", "The timeout of the {thing} is {other_number} ms now."),
    ("fact", "The {thing} runs with {number} threads.", "The {thing} was raised to {other_number} retries."),
    ("decision", "Use {tool} for {place}.", "Use {other_tool} instead of {tool} for {place2}."),
    ("decision", "Use {tool} in {place}.", "We no longer use {tool} in {place2}."),
    ("decision", "We use {tool} for {place}.", "Stop using {tool} in {place2}."),
    ("preference", "Always {verb} the {thing} before a release.", "Never {verb} the {thing} on Fridays."),
    ("preference", "Ask before you {verb} the {thing}.", "Do not {verb} the {thing2} without asking."),
    ("fact", "The {thing} reads its settings from `{word}.toml`.", "The {thing2} now reads `{word}.toml`, not `{word2}.toml`."),
    ("fact", "The {thing} was fixed in version {count}.", "The {thing2} was removed in version {count}."),
    ("fact", "{tool} is installed for {place}.", "{tool} was removed from {place2}."),
    ("fact", "Copy the {word} from the {thing} to the {thing2}.", "Copy the {word} from the {thing2} to the {thing}."),
    ("fact", "The {word} of the {thing} is {number}.", "The {word2} of the {thing} is {number}."),
    ("fact", "Formerly the {thing} used {tool}, replaced by {other_tool}.", "The {thing2} uses {tool}."),
    ("fact", "The {thing2} uses {tool}.", "Formerly the {thing} used {tool}, replaced by {other_tool}."),
    ("decision", "{verb} the {thing} with {tool}.", "We don't {verb} the {thing} with {other_tool} any more."),
)  # fmt: skip
"""Two sentences of about the same words that can both hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """Two unrelated statements in the order in which they are said."""

    kind: str
    first: str
    second: str


def make_pairs(count: int, *, seed: int) -> list[Made]:
    """`count` different pairs."""
    chance = random.Random(seed)
    pairs: dict[Made, None] = {}
    while len(pairs) < count:
        pairs[_pair(chance)] = None
    return list(pairs)


def _pair(chance: random.Random) -> Made:
    if chance.random() < len(SAME_FORM) / (len(SAME_FORM) + len(TWO_FORMS)):
        kind, form = chance.choice(SAME_FORM)
        first_slots, second_slots = _slots(chance), _slots(chance)
        # What a sentence says may be the same of both things; the things are two.
        for name in ("number", "other_number", "count", "tool", "other_tool", "verb"):
            if chance.random() < 0.5:
                second_slots[name] = first_slots[name]
        if second_slots["tool"] == second_slots["other_tool"]:
            second_slots["tool"], second_slots["other_tool"] = first_slots["tool"], first_slots["other_tool"]
        second_slots |= {"thing": first_slots["thing2"], "place": first_slots["place2"]}
        return _made(kind, form.format(**first_slots), form.format(**second_slots))
    kind, first, second = chance.choice(TWO_FORMS)
    slots = _slots(chance)
    return _made(kind, first.format(**slots), second.format(**slots))


def _made(kind: str, first: str, second: str) -> Made:
    return Made(kind=kind, first=_capital(first), second=_capital(second))


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _slots(chance: random.Random) -> dict[str, object]:
    thing, thing2 = chance.sample(THINGS, 2)
    place, place2 = chance.sample(PLACES, 2)
    tool, other_tool = chance.sample(TOOLS, 2)
    number, other_number = chance.sample(range(10, 9_999), 2)
    words = [_word(chance) for _ in range(3)]
    return {
        "thing": thing,
        "thing2": thing2,
        "place": place,
        "place2": place2,
        "tool": tool,
        "other_tool": other_tool,
        "number": number,
        "other_number": other_number,
        "count": chance.randrange(2, 10),
        "verb": chance.choice(VERBS),
        "word": words[0],
        "word2": words[1],
        "word3": words[2],
    }


def _word(chance: random.Random) -> str:
    return "".join(chance.choice(_START) + chance.choice(_STEP) for _ in range(chance.randrange(2, 5)))
