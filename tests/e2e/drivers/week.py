"""A week with a real client: five sessions of eight turns. What is said, and what of it the model was given."""

from __future__ import annotations

import re
from functools import reduce
from pathlib import Path

import yaml

WEEKS = Path(__file__).parents[1] / "weeks"
_BLOCK = re.compile(r"<tacit-memory.*?</tacit-memory>|This session has had its [^\"\\]*", re.DOTALL)
_MADE_AT = (
    (re.compile(r"20\d\d-\d\d-\d\d"), "DATE"),
    (re.compile(r"\([0-9a-f]{7,12}\)"), "(COMMIT)"),
    (re.compile(r"\(id \w+\)"), "(id ID)"),
    (re.compile(r"(?:just now|\d+ minutes? ago)"), "SOME TIME AGO"),
)


def week_of(name: str):
    """What is said and done in a week."""
    return yaml.safe_load((WEEKS / f"{name}.yaml").read_text("utf-8"))


def texts(value: object) -> list[str]:
    """Every text in a request, in order."""
    if isinstance(value, str):
        return [value]
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for part in parts for text in texts(part)]


def given(value: object) -> list[str]:
    """The blocks in a part of a request, without what differs from run to run."""
    blocks = (block for text in texts(value) for block in _BLOCK.findall(text.replace("\\n", "\n")))
    return [reduce(lambda told, made: made[0].sub(made[1], told), _MADE_AT, block) for block in blocks]


def known(sandbox) -> list[tuple[str, int]]:
    """Every active memory, with how often it was stated."""
    listed = sandbox.ask_daemon("/v1/memories?limit=500")["memories"]
    return [(memory["content"], memory["frequency"]) for memory in listed]


class _Blocks(yaml.SafeDumper):
    """Writes texts of several lines as they are."""


_Blocks.add_representer(
    str,
    lambda dumper, text: dumper.represent_scalar(
        "tag:yaml.org,2002:str", text, style="|" if "\n" in text else None
    ),
)


def dump(value: object) -> str:
    return yaml.dump(value, Dumper=_Blocks, allow_unicode=True, sort_keys=False, width=10_000)
