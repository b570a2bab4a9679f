"""What a phrase of a statement means as a call: a command, an act, files, a server.

In: a statement, then phrases of it. Out: a `Target` for each phrase. Code spans, paths and addresses are replaced by marks
first, so that no clause ends inside one.
"""

from __future__ import annotations

import re

from tacit.reading.commands import PROGRAMS, simple_commands
from tacit.reading.moments.acts import acts_said
from tacit.reading.moments.moment import Command, Target
from tacit.reading.moments.places import FOLDER, kinds_said, path_pattern
from tacit.reading.terms import find_paths
from tacit.text.lazy_regex import lazy_regex

_SPAN = re.compile(r"`([^`\n]{1,120})`")
_ADDRESS = lazy_regex(
    r"(?:https?://)?((?:[a-z0-9-]+\.)+(?:com|org|net|io|dev|internal|local|localdomain|ai|app|co|cloud|sh|so|info|eu|de|fr|uk)(?::\d+)?)(?:/[\w./-]*)?(?![\w.])",
    re.IGNORECASE,
)
_PLACE = lazy_regex(
    r"(?<![\w\ue000])(?:~|\.{1,2})?/?(?:[\w.@+*-]+/)+[\w.@+*-]*(?![\w/])|(?<![\w/.])/[\w.-]+(?:/[\w.-]*)*"
    r"|(?<![\w/.@-])(?:[\w*-]+\.)+(?:[a-z][a-z0-9]{0,5}|lock)(?![\w/])|(?<![\w/])(?:Dockerfile|Makefile|Justfile|Gemfile|Rakefile|Jenkinsfile|Procfile)(?![\w/])"
)
_MARK = re.compile("\ue000(\\d+)\ue001")
_RUNS = lazy_regex(
    r"\b(?:run|runs|running|start|starts|starting|execut\w+|invok\w+|call|calling|launch\w*|us(?:e|ing))\b",
    re.IGNORECASE,
)
_REMOVES = lazy_regex(r"\b(?:delet\w+|remov\w+|eras\w+|wip\w+)\b", re.IGNORECASE)
_EDITS = lazy_regex(
    r"\b(?:edit\w*|chang\w+|touch\w*|modif\w+|writ\w+|add\w*|creat\w+|updat\w+|renam\w+|hard-?cod\w*|introduc\w+|alter\w*|new|generat\w+|work\w* (?:in|on)|mov\w+|put\w*|stor\w+|import\w*)\b",
    re.IGNORECASE,
)
_BRANCH = lazy_regex(
    r"\b(?:to|into|onto|on|against|at|from|in|the)\s+(?:the\s+)?(?:origin/)?(main|master|develop|trunk|production|prod|staging|\ue000\d+\ue001)(?!\w)",
    re.IGNORECASE,
)
_ENVIRONMENT = lazy_regex(r"(?<!\w)(production|prod|staging|live)(?!\w)", re.IGNORECASE)
_BRANCH_ACTS = frozenset({"push", "force_push", "commit", "merge", "rebase", "amend"})
_ENVIRONMENT_ACTS = frozenset({"deploy", "database", "migrate", "restore", "seed", "truncate", "drop_table"})
_BRANCH_WORD = re.compile(r"(?:main|master|develop|trunk|production|prod|staging|[\w-]+/\*?)$", re.IGNORECASE)
_LANGUAGE = lazy_regex(
    r"(?<!\w)(go|python|rust|java|typescript|javascript|ruby|php|kotlin|swift|elixir)(?!\w)", re.IGNORECASE
)
_BARE_TEXT = "|".join(sorted((re.escape(name) for name in PROGRAMS), key=len, reverse=True))
_BARE = lazy_regex(rf"(?<![\w/.\ue001-])({_BARE_TEXT})((?: [a-z][a-z0-9:_-]+){{0,2}})(?![\w/-])")
_SUBCOMMANDS_TEXT = """
add apply build check checkout cherry-pick clean commit compose create delete deploy destroy down exec fetch fmt format get install
lint login merge migrate plan prune publish pull push rebase remove reset restore rm rmi rollback run scale stash switch system tag
test uninstall up upgrade volume image
"""
_SUBCOMMANDS = frozenset(_SUBCOMMANDS_TEXT.split())
_CALLS = lazy_regex(
    r"(?:^|\b(?:with|via|use|using|runs?|running|call|calling|starts?|starting|want|not|than|of|through|invoke|execute|never)(?: the)?)\s*$",
    re.IGNORECASE,
)
"""What stands before the bare name of a program that is to be run; elsewhere it may be an adjective (`an npm package`)."""


class Phrases:
    """One statement, with marks for what is written as code."""

    __slots__ = ("_kept", "masked")

    def __init__(self, statement: str) -> None:
        self._kept: list[tuple[str, str]] = []
        text = _SPAN.sub(lambda match: self._keep("code", match[1].strip()), statement)
        text = _ADDRESS.sub(self._keep_address, text)
        self.masked = _PLACE.sub(self._keep_place, text)

    def target(self, phrase: str, *, changes: bool = False) -> Target:
        """The call that `phrase` names; an empty target where it names none for certain.

        A file is one only where the phrase says that it is changed, or where the caller knows (`changes`).
        """
        marks = [self._kept[int(number)] for number in _MARK.findall(phrase)]
        acts = acts_said(phrase)
        first = acts[0][2] if acts else ""
        words = self._words(phrase, first)
        hosts = tuple(text for sort, text in marks if sort == "host")
        commands = self._commands(phrase, marks)
        if commands:
            alone = all(len(command) == 1 for command in commands)
            return Target(commands=commands, acts=(first,) if first and alone else (), words=words)
        edits = changes or bool(_EDITS.search(phrase) or _REMOVES.search(phrase))
        paths = self._paths(phrase, marks, acts=bool(first)) if edits else ()
        if paths and not (first and acts[0][0] < phrase.find("\ue000")):
            return Target(paths=paths, removes=bool(_REMOVES.search(phrase)))
        if first:
            return Target(acts=(first,), words=words, languages=self._languages(phrase, first))
        if not paths and edits and (kinds := kinds_said(phrase)):
            return Target(paths=kinds, removes=bool(_REMOVES.search(phrase)))
        return Target(paths=paths, hosts=hosts)

    def files(self, phrase: str) -> Target:
        """The files and folders that `phrase` names, as changed ones; a dotted name of another kind (`os.path`) is none."""
        marks = [self._kept[int(number)] for number in _MARK.findall(phrase)]
        named = [text for sort, text in marks if sort == "path" or (sort == "code" and _is_place(text))]
        return Target(paths=tuple(dict.fromkeys(path_pattern(text) for text in named if find_paths(text))))

    def command_at(self, phrase: str) -> Target:
        """The command at the very beginning of `phrase`; an empty target where something else stands there."""
        begin = phrase.lstrip()
        mark = _MARK.match(begin)
        if mark is not None:
            sort, text = self._kept[int(mark[1])]
            return Target(commands=_as_commands(text)) if sort == "code" else Target()
        bare = _BARE.match(begin)
        return Target(commands=_bare_commands(begin, bare)) if bare else Target()

    def _commands(self, phrase: str, marks: list[tuple[str, str]]) -> tuple[Command, ...]:
        found = [
            one
            for sort, text in marks
            if sort == "code" and not _is_place(text)
            for one in _as_commands(text)
        ]
        if not found and _RUNS.search(phrase):
            found = [
                (text,) for sort, text in marks if sort == "path" and not text.endswith("/") and "/" in text
            ]
        if not found:
            found = [one for match in _BARE.finditer(phrase) for one in _bare_commands(phrase, match)]
        return tuple(dict.fromkeys(found))

    def _paths(self, phrase: str, marks: list[tuple[str, str]], *, acts: bool) -> tuple[str, ...]:
        named = [text for sort, text in marks if sort == "path" or (sort == "code" and _is_place(text))]
        named = [text for text in named if not (acts and _BRANCH_WORD.match(text))]
        folders = [
            f"{first or second}/"
            for first, second in FOLDER.findall(phrase)
            if "\ue000" not in (first or second)
        ]
        return tuple(dict.fromkeys(path_pattern(text) for text in (*named, *folders)))

    def _words(self, phrase: str, act: str) -> tuple[str, ...]:
        if act in _ENVIRONMENT_ACTS:
            found = [word.lower() for word in _ENVIRONMENT.findall(phrase)]
            return tuple(dict.fromkeys("prod" if word == "production" else word for word in found))
        if act not in _BRANCH_ACTS:
            return ()
        named = (self._plain(word) for word in _BRANCH.findall(phrase))
        return tuple(dict.fromkeys(word.lower().rstrip("*") for word in named if _BRANCH_WORD.match(word)))

    def _plain(self, word: str) -> str:
        mark = _MARK.match(word)
        return self._kept[int(mark[1])][1] if mark else word

    def _languages(self, phrase: str, act: str) -> tuple[str, ...]:
        return (
            tuple(dict.fromkeys(name.lower() for name in _LANGUAGE.findall(phrase))) if act == "test" else ()
        )

    def _keep(self, sort: str, text: str) -> str:
        self._kept.append((sort, text))
        return f"\ue000{len(self._kept) - 1}\ue001"

    def _keep_address(self, match: re.Match[str]) -> str:
        return self._keep("host", match[1].lower())

    def _keep_place(self, match: re.Match[str]) -> str:
        text = match[0].rstrip(".")
        plain = "/" not in text and not re.search(r"\.[a-z]|file$", text)
        if plain or re.match(r"(?:and|or|he|she|yes|on|input|read|w|n|i)/", text, re.IGNORECASE):
            return match[0]
        return self._keep("path", text) + match[0][len(text) :]


def _is_place(text: str) -> bool:
    return " " not in text and bool(_PLACE.fullmatch(text)) and not text.startswith("./")


def _as_commands(text: str) -> tuple[Command, ...]:
    """The commands of a code span; none for an identifier, an option or a value."""
    if not re.match(r"(?:\./)?[a-zA-Z][\w./-]*(?: |$)", text) or " = " in text:
        return ()
    found = simple_commands(text)
    return tuple(one for one in found if len(one) > 1 or not PROGRAMS.isdisjoint(one))


def _bare_commands(phrase: str, match: re.Match[str]) -> tuple[Command, ...]:
    """A program that a phrase names in plain words, with its subcommands."""
    words: list[str] = []
    for word in match[2].split():
        if word not in _SUBCOMMANDS:
            break
        words.append(word)
    if not words and not _CALLS.search(phrase[: match.start()]):
        return ()
    return simple_commands(" ".join((match[1], *words)))
