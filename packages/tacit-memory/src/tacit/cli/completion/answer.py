"""Answers a shell that asks what may follow. In: the environment that typer's scripts for bash, zsh and fish set. Out: words.

Commands, options and settings come from `words.json` (`table.py` makes it), ids and names from the daemon that runs. Loads neither
typer nor a command, starts no daemon, and never fails: without an answer it offers nothing, and the shell offers files.
"""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tacit.cli.completion.values import FAILURES, Offer, offers_of

TABLE = Path(__file__).with_name("words.json")
SHOWN_CHARS = 60
Ask = Callable[[str], Any]
"""Asks the daemon that runs for a path, and answers with its JSON value."""


def complete(environment: Mapping[str, str]) -> int:
    """Print what may follow; return the exit code (fish is told by it whether there is anything)."""
    shell = environment["_TACIT_COMPLETE"].removeprefix("complete_")
    try:
        words, incomplete, before = _typed(shell, environment)
        offers = offers_for(words, incomplete, table=json.loads(TABLE.read_text("utf-8")), ask=_daemon())
        offers = [(name.removeprefix(before), about) for name, about in offers]
    except FAILURES:  # a shell waits for words, and a message would be typed for the user
        offers = []
    if shell == "fish" and environment.get("_TYPER_COMPLETE_FISH_ACTION") == "is-args":
        return 0 if offers else 1
    text = _written(shell, offers)
    if text:
        sys.stdout.write(f"{text}\n")
    return 0


def offers_for(words: Sequence[str], incomplete: str, *, table: Mapping[str, Any], ask: Ask) -> list[Offer]:
    """What may stand where `incomplete` stands.

    Args:
        words: those before it, without the program's name.
        incomplete: what is typed of the word.
        table: as `table.py` makes it.
        ask: asks the daemon.
    """
    node: Mapping[str, Any] = table["commands"]
    waiting = ""  # the option whose value comes next
    given: list[str] = []
    for word in words:
        if waiting:
            waiting = ""
        elif word.startswith("-"):
            waiting = word if node.get("options", {}).get(word, {}).get("value") is not None else ""
        elif word in node.get("below", {}) and not given:
            node = node["below"][word]
        else:
            given.append(word)
    if waiting:
        return _matching(
            offers_of(node["options"][waiting]["value"], given, incomplete, table, ask), incomplete
        )
    if incomplete.startswith("-"):
        options = [(name, about["help"]) for name, about in node.get("options", {}).items()]
        return _matching(options, incomplete)
    if not given and node.get("below"):
        return _matching([(name, one["help"]) for name, one in node["below"].items()], incomplete)
    arguments: list[str] = node.get("arguments", [])
    if not arguments:
        return []
    at = min(len(given), len(arguments) - 1)
    if len(given) >= len(arguments) and not node.get("repeats"):
        return []
    return _matching(offers_of(arguments[at], given, incomplete, table, ask), incomplete)


def _matching(offers: Sequence[Offer], incomplete: str) -> list[Offer]:
    """The offers that begin with what is typed; else those that end with it, as a memory may be named."""
    begin = [offer for offer in offers if offer[0].startswith(incomplete)]
    return begin or [
        offer for offer in offers if offer[0].startswith("mem_") and offer[0].endswith(incomplete)
    ]


def _typed(shell: str, environment: Mapping[str, str]) -> tuple[list[str], str, str]:
    """The words before the one that is typed, what is typed of it, and the part of that which the shell does not replace."""
    if shell == "bash":
        words = _split(environment["COMP_WORDS"])
        at = int(environment["COMP_CWORD"])
        before, typed = words[1:at], words[at] if at < len(words) else ""
        if typed == ":" and before:  # bash breaks words at colons
            return before[:-1], f"{before[-1]}:", f"{before[-1]}:"
        if len(before) > 1 and before[-1] == ":":
            return before[:-2], f"{before[-2]}:{typed}", f"{before[-2]}:"
        return before, typed, ""
    line = environment.get("_TYPER_COMPLETE_ARGS", "")
    words = _split(line)[1:]
    if shell in ("powershell", "pwsh"):
        typed = environment.get("_TYPER_COMPLETE_WORD_TO_COMPLETE", "")
        return (words[:-1] if typed else words), typed, ""
    if words and not line.endswith(" "):
        return words[:-1], words[-1], ""
    return words, "", ""


def _split(line: str) -> list[str]:
    """The words of a line, whose last quotation may not have ended yet."""
    lexer = shlex.shlex(line, posix=True)
    lexer.whitespace_split = True
    lexer.commenters = ""
    words: list[str] = []
    try:
        words.extend(lexer)
    except ValueError:
        words.append(lexer.token)
    return words


def _written(shell: str, offers: Sequence[Offer]) -> str:
    """The offers as the script of the shell reads them."""
    shown = [(name, _one_line(about)[:SHOWN_CHARS]) for name, about in offers if name.isprintable()]
    if shell == "zsh":
        shown = [(name, about.replace("\\", " ")) for name, about in shown if "\\" not in name]
        if not shown:
            return "_files"
        entries = "\n".join(
            _for_zsh(name) + (f":{_for_zsh(about)}" if about else "") for name, about in shown
        )
        return f"_arguments '*: :(({entries}))'"
    if shell == "fish":
        return "\n".join(f"{name}\t{about}" if about else name for name, about in shown)
    if shell in ("powershell", "pwsh"):
        return "\n".join(f"{name}:::{about or ' '}" for name, about in shown)
    # bash shows what it would insert: of several ids the first words stand beside them, and no such word is inserted,
    # because ids differ before it.
    beside = len(shown) > 1 and all(name.startswith(("mem_", "trc_")) for name, _ in shown)
    return "\n".join(f"{name}  {about}" if beside and about else name for name, about in shown)


def _one_line(text: str) -> str:
    """The words of a memory may be anybody's: nothing in them reaches the terminal as a command to it."""
    return "".join(ch for ch in " ".join(text.split()) if ch.isprintable())


def _for_zsh(text: str) -> str:
    """`text`, which holds no backslash, as an element of the list that zsh evaluates: nothing in it is carried out."""
    escaped = text.replace('"', '""').replace("'", "''").replace("$", "\\$").replace("`", "\\`")
    return f'"{escaped.replace(":", chr(92) * 2 + ":")}"'


def _daemon() -> Ask:
    """Asks the daemon of this user's home, if one runs, as an agent would: what is restricted is not offered."""

    def ask(path: str) -> Any:
        from tacit.client.daemon_client import DaemonClient

        _, answer = DaemonClient().request("GET", path, timeout_s=1.0)
        return answer

    return ask
