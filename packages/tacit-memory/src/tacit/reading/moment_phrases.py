"""Programs that a statement names in plain words (`git reset --hard is banned`), with the subcommands they are known by. Data and one lookup.

In: text. Out: where a command stands in it, and how sure that is: a program alone may be an adjective (`an npm package`).

What a phrase of a statement means as a call: its anchors, and the target that they make together.

In: a statement, then phrases of it. Out: a `CallConditions` for each phrase. Anchors are commands (in code or in plain words), paths,
addresses, options, tools of the host, and acts. All but acts and options are replaced by marks first, so that no clause ends inside one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from tacit.reading.commands import PROGRAMS, simple_commands
from tacit.reading.moment import RUNNERS, CallConditions, Command, acts_said
from tacit.reading.moment_places import FOLDER, file_patterns_said, file_sort_said, path_pattern
from tacit.reading.terms import find_paths
from tacit.text.lazy_regex import lazy_regex, wording
from tacit.text.tokens import SHORT_SPAN

_PHRASES = wording("moments")
_PROGRAMS = wording("programs")

_WORDS = _PROGRAMS.words("english")
"""Program names that are English words: commands only before a subcommand, an option, or after "run"."""


def _read_known() -> dict[str, frozenset[str]]:
    subcommands_of: dict[str, frozenset[str]] = dict.fromkeys(
        (*_PROGRAMS.words("alone"), *PROGRAMS), frozenset()
    )
    for line in _PROGRAMS.lines("known"):
        names, _, subcommands = line.partition(":")
        for name in names.split():
            subcommands_of[name] = frozenset(subcommands.split())
    return subcommands_of


KNOWN: dict[str, frozenset[str]] = _read_known()
_NAMES = "|".join(sorted((re.escape(name) for name in KNOWN), key=len, reverse=True))
_COMMAND = lazy_regex(rf"(?<![\w/.@\ue001-])({_NAMES})(?![\w/-])(?=((?: (?!\ue000)[\w@:./=-]+){{0,6}}))")
_PROGRAM_OPTION = lazy_regex(r"--?[A-Za-z][\w-]*(?:=[\w./:-]+)?$")
_TARGET = lazy_regex(r"[a-z]+(?:[:.][a-z-]+)+$")
_SCRIPTED = frozenset({"npm", "pnpm", "yarn", "bun", "mix", "rails", "php", "composer", "rake", "artisan"})
_FREE = frozenset({"run", "exec", "artisan", "fastlane"})
_NOT_A_TARGET = _PROGRAMS.words("not_a_target")


def commands_in(text: str) -> Iterator[tuple[int, int, str, bool]]:
    """Yield (start, end, command, certain) for each command that `text` names in plain words.

    `certain` = it has a subcommand or an option; a program alone may be an adjective ("an npm package").
    """
    for match in _COMMAND.finditer(text):
        program, words = match[1], match[2].split()
        command_words = [program]
        subcommands = KNOWN[program]
        for number, word in enumerate(words):
            plain = word.rstrip(".,:")
            option = bool(_PROGRAM_OPTION.match(plain))
            free = command_words[-1] in _FREE and plain not in _NOT_A_TARGET and number < 2
            target = program in _SCRIPTED and bool(_TARGET.match(plain))
            if not (option or free or target or (plain in subcommands and len(command_words) < 5)):
                break
            command_words.append(plain)
            if plain != word:
                break
        if (
            program in _WORDS
            and len(command_words) == 2
            and words[1:2]
            and words[1] in ("the", "a", "an", "it", "my", "your", "sure", "them")
        ):
            continue
        command = " ".join(command_words)
        yield match.start(), match.start() + len(command), command, len(command_words) > 1


def is_word(program: str) -> bool:
    """Whether a program's name is also an English word."""
    return program in _WORDS


_ADDRESS = lazy_regex(
    r"(?:(?:https?|wss?|ftp|ssh)://([a-z0-9][\w.-]*)(?::\d+)?(?:/[\w./*?=&%-]*)?|(?:s3|gs|az|r2|abfss?)://([\w.-]+)(?:/[\w./*-]*)?"
    r"|(?<![\w/@-])((?:[a-z0-9-]{1,63}\.){1,20}(?:com|org|net|io|dev|internal|local|localdomain|ai|app|co|cloud|so|info|eu|de|fr|uk|us|ch|at|nl|example|test|corp|lan|intra|tech|edu|gov)(?::\d+)?)(?:/[\w./*-]*)?)(?!\.*\w)",
    re.IGNORECASE,
)
_WELL_KNOWN = (
    r"Dockerfile|Makefile|Justfile|Gemfile|Rakefile|Jenkinsfile|Procfile|Podfile|Vagrantfile|Brewfile|Fastfile|Appfile|Pipfile|Cartfile|Caddyfile"
    r"|Tiltfile|BUILD|WORKSPACE|CODEOWNERS|LICENSE|CHANGELOG|README|__[a-z]+__"
)
_LONG = "production|example|properties|storyboard|pbxproj|snapshot|xcconfig|template|entitlements|gitignore|dockerfile|gemspec|podspec|nuspec|xcodeproj|development|staging|graphql|jsonnet|feature"
_PLACE = lazy_regex(
    r"(?<![\w\ue000])(?:~|\.{1,2})?/?(?:[\w.@+*{},<>\[\]-]{0,255}[\w.@+*}>\]-]/)+[\w.@+*-]*(?![\w/])|(?<![\w/.~])/[\w.-]+(?:/[\w.-]*)*"
    r"|(?<![\w/.@*-])\*\*?(?:\.[\w-]+)+|(?<![\w/.@-])\.(?:env|git|github|vscode|idea|npm|docker|editor|eslint|prettier|tool|ruby|node|nvm|python|aws|ssh|kube|terraform|circleci|husky|config)[\w-]*(?:\.[\w-]+)*(?![\w/])"
    rf"|(?<![\w/.@-])(?<!mix )(?:[\w*-]{{1,255}}\.){{1,20}}(?:[a-z][a-z0-9]{{0,5}}|{_LONG})(?![\w/(])|~/[\w./*-]+|(?<![\w/])(?:{_WELL_KNOWN})(?![\w/])"
)
_MARK = re.compile("\ue000(\\d+)\ue001")
_VERSION = lazy_regex(r"\bversion\b[^,;]*?\b(?:in|of)\s+(?:the )?\ue000", re.IGNORECASE)
_NO_SCOPE = _PHRASES.words("no_scope")
_BRANCH_ACTS = frozenset({"push", "force_push", "commit", "merge", "rebase", "amend", "cherry_pick"})
_ENVIRONMENT_ACTS_TEXT = """
deploy infrastructure database migrate restore seed truncate drop_table delete_rows delete_resource remote_shell
"""
_ENVIRONMENT_ACTS = frozenset(_ENVIRONMENT_ACTS_TEXT.split())
_FILE_ACTS = frozenset({"commit", "format"})
_FILE_COMMANDS = frozenset(
    {("git", "add"), ("git", "commit"), ("git", "rm"), ("git", "mv"), ("git", "checkout"), ("git", "restore")}
)
_END_TO_END = "e2e|end-to-end|playwright|cypress"
_OPTION = lazy_regex(r"(?<![\w-])(--?[A-Za-z][\w-]*)(?:[= ](?=[\"'\ue000<]|\w+=)|=[\w./:,-]+)?")
_TOPIC_WORD = re.compile(r"[a-z]{5,}")


class Phrases:
    """One statement, whose commands, paths and addresses are replaced by marks (`masked`)."""

    __slots__ = ("_kept", "masked")

    def __init__(self, statement: str) -> None:
        self._kept: list[tuple[str, str]] = []
        text = SHORT_SPAN.sub(lambda match: self._keep("code", match[1].strip()), statement)
        text = _ADDRESS.sub(self._keep_address, text)
        text = _PLACE.sub(self._keep_place, text)
        pieces: list[str] = []
        end = 0
        for start, stop, command, certain in commands_in(text):
            if start < end or not (certain or self._is_called(text, start, stop)):
                continue
            pieces += [text[end:start], self._keep("code" if certain else "program", command)]
            end = stop
        self.masked = "".join((*pieces, text[end:]))

    @staticmethod
    def _is_called(text: str, start: int, stop: int) -> bool:
        program = text[start:stop]
        after = text[stop:]
        if is_word(program):
            before = _PHRASES.calls.search(text[max(0, start - 24) : start])
            listed = re.search(
                r"\b(?:use|using|than|instead of|in place of|with|via|over|plain|run|running|not|never)\s*$",
                text[:start],
            )
            return bool(before and listed) and not re.match(r"\s+(?:the|a|an|sure|it|to|through)\b", after)
        if _PHRASES.calls.search(text[max(0, start - 24) : start]) is None:
            return False
        return _PHRASES.adjective.match(after) is None or bool(
            re.match(r"\s+(?:is|to|in|into|on|with|through|over)\b", after)
        )

    def target(self, phrase: str, *, changes: bool = False) -> CallConditions:
        """Return the call that `phrase` names; an empty target = none for certain.

        A file is one only where the phrase says that it is changed, or where the caller knows (`changes`).
        """
        target = self._own_target(phrase, changes=changes)
        takes_files = not target.paths and any(command[:2] in _FILE_COMMANDS for command in target.commands)
        if "\ue000" in phrase and not target.empty and not takes_files:
            return target
        if (
            not target.empty
            and not target.acts
            and not takes_files
            and not (target.paths and _PHRASES.pronoun.search(phrase))
        ):
            return target
        if _PHRASES.pronoun.search(phrase) is None or (antecedent := self._antecedent(phrase)) is None:
            return target
        resolved = self._own_target(f"{_PHRASES.pronoun.sub(antecedent, phrase, count=1)}", changes=changes)
        return (
            resolved
            if not resolved.empty and (target.empty or resolved.commands == target.commands)
            else target
        )

    def satisfied_by(self, target: CallConditions, sentence: str) -> CallConditions:
        """Return `target` with the options that `sentence` prescribes: a call with them follows the rule."""
        options = tuple(dict.fromkeys(_OPTION.findall(sentence)))
        own = {word for command in target.commands for word in command}
        return replace(target, satisfied=tuple(option for option in options if option not in own))

    def files(self, phrase: str) -> CallConditions:
        """Return the conditions of a call that changes the files and folders which `phrase` names; empty = it names none."""
        marks = [self._kept[int(number)] for number in _MARK.findall(phrase)]
        place_texts = [text for sort, text in marks if sort == "path" or (sort == "code" and _is_place(text))]
        return CallConditions(
            paths=tuple(dict.fromkeys(path_pattern(text) for text in place_texts if find_paths(text)))
        )

    def file_patterns_named(self, phrase: str) -> tuple[str, ...]:
        """Return patterns of the files that `phrase` names by path or by kind."""
        marks = [self._kept[int(number)] for number in _MARK.findall(phrase)]
        return self._paths(phrase, marks, acts=True) or file_patterns_said(phrase)

    def command_at(self, phrase: str) -> CallConditions:
        """Return the commands or the tool that `phrase` begins with; an empty target = it begins otherwise."""
        begin = re.sub(
            r"^(?:\s*(?:with|via|by|the|an?|plain|bare|raw|whatever|system|global|globally installed|directly|direct|calling|running|run|using|use|invoking|through|to|from|your|our)\b)*\s*",
            "", phrase, flags=re.IGNORECASE,
        )  # fmt: skip
        commands: list[Command] = []
        unread = begin
        while (mark := _MARK.match(unread)) is not None:
            sort, text = self._kept[int(mark[1])]
            if sort in ("code", "program"):
                commands += _as_commands(text)
            unread = re.sub(r"^\s*(?:,|or|and|/)\s*(?:the |plain )?", "", unread[mark.end() :])
        if commands:
            return CallConditions(commands=tuple(dict.fromkeys(commands)))
        for start, _stop, command, _certain in commands_in(begin):
            if start == 0:
                return CallConditions(commands=simple_commands(command))
        tool = _PHRASES.tool.match(begin)
        if tool is None:
            return CallConditions()
        before = self._antecedent(phrase)
        marks = [self._kept[int(number)] for number in _MARK.findall(before or "")]
        return CallConditions(tools=((tool[1] or tool[2]).lower(),), paths=self._paths("", marks, acts=False))

    def _own_target(self, phrase: str, *, changes: bool) -> CallConditions:
        marks = [self._kept[int(number)] for number in _MARK.findall(phrase)]
        acts = acts_said(phrase)
        first = acts[0][2] if acts else ""
        hosts = tuple(text for sort, text in marks if sort == "host")
        removes = bool(_PHRASES.removes.search(phrase))
        commands = self._commands(phrase, marks)
        tools = tuple((name or spoken_name).lower() for name, spoken_name in _PHRASES.tool.findall(phrase))
        if tools and not commands:
            return CallConditions(
                tools=tools, paths=self._paths(phrase, marks, acts=False), topics=self._topics(phrase)
            )
        if commands:
            alone = all(len(command) == 1 for command in commands)
            more = tuple(option for option in _OPTION.findall(phrase))
            files = any(command[:2] in _FILE_COMMANDS for command in commands)
            paths = self._paths(phrase, marks, acts=True) or file_patterns_said(phrase) if files else ()
            words = self._words(phrase, first, commands=True)
            return CallConditions(
                commands=tuple((*command, *(option for option in more if option not in command)) for command in commands),
                acts=(first,) if first and alone and first not in ("download", "remote_shell") else (), words=words, paths=paths, hosts=hosts,
            )  # fmt: skip
        words = self._words(phrase, first)
        edits = changes or bool(_PHRASES.edits.search(phrase)) or removes
        reads = bool(_PHRASES.reads.search(phrase))
        named_paths = self._paths(phrase, marks, acts=bool(first))
        paths = named_paths if edits or reads else ()
        if paths and not (first and acts[0][0] < phrase.find("\ue000")):
            secret = changes and any(_PHRASES.secret.search(path) for path in paths)
            folders = all(path.endswith("/") or "*" in path for path in paths)
            return CallConditions(
                paths=paths, removes=removes, reads=secret or (reads and not (edits and not changes)),
                creates=folders and not removes and bool(_PHRASES.creates.search(phrase)), topics=("version",) if _VERSION.search(phrase) else (),
            )  # fmt: skip
        if first:
            options = _OPTION.findall(phrase)
            if first != "test" and options and first not in ("force_push", "reset"):
                return CallConditions(acts=(first,), words=words, options=tuple(options), hosts=hosts)
            narrow = (named_paths or (file_patterns_said(phrase))) if first in _FILE_ACTS else ()
            return CallConditions(
                acts=(first,), words=words, hosts=hosts, paths=narrow, runners=self._runners(phrase, first), topics=self._topics(phrase)
            )  # fmt: skip
        if options := tuple(dict.fromkeys(_OPTION.findall(phrase))):
            return CallConditions(options=options)
        if not paths and (edits or reads) and (kinds := file_patterns_said(phrase)):
            return CallConditions(
                paths=kinds,
                removes=removes,
                reads=reads and not edits,
                creates=not removes and bool(_PHRASES.creates.search(phrase)),
            )
        return CallConditions(paths=paths, hosts=hosts)

    def _antecedent(self, phrase: str) -> str | None:
        """Return the first mark, or else the words for a sort of file, of the nearest sentence before the pronoun in `phrase`; None = there is none.

        Marks of bare programs do not count. Without a pronoun all words before `phrase` are looked at.
        """
        at = self.masked.find(phrase)
        pronoun = _PHRASES.pronoun.search(phrase)
        before = self.masked[: at + (pronoun.start() if pronoun else 0)] if at >= 0 else ""
        for sentence in reversed(re.split(r"(?<=[.!?;])\s+|\n+", before)):
            for mark in _MARK.finditer(sentence):
                if self._kept[int(mark[1])][0] != "program":
                    return mark[0]
            if sort := file_sort_said(sentence):
                return sort
        return None

    def _commands(self, phrase: str, marks: list[tuple[str, str]]) -> tuple[Command, ...]:
        commands = [
            command
            for sort, text in marks
            if sort == "code" and not _is_place(text)
            for command in _as_commands(text)
        ]
        if not commands and _PHRASES.runs.search(phrase):
            commands = [
                (text,)
                for sort, text in marks
                if sort == "path" and not text.endswith("/") and "/" in text and "*" not in text
            ]
        if not commands:
            commands = [
                command for sort, text in marks if sort == "program" for command in simple_commands(text)
            ]
        return tuple(dict.fromkeys(commands))

    def _paths(self, phrase: str, marks: list[tuple[str, str]], *, acts: bool) -> tuple[str, ...]:
        file_texts = [
            text
            for sort, text in marks
            if sort == "path" or (sort == "code" and _is_place(text) and find_paths(text))
        ]
        file_texts = [text for text in file_texts if not (acts and _PHRASES.branch_word.match(text))]
        folders = [
            f"{first or second}/"
            for first, second in FOLDER.findall(phrase)
            if "\ue000" not in (first or second)
        ]
        return tuple(dict.fromkeys(path_pattern(text) for text in (*file_texts, *folders)))

    def _words(self, phrase: str, act: str, *, commands: bool = False) -> tuple[str, ...]:
        words: list[str] = []
        if commands or act in _ENVIRONMENT_ACTS:
            words += [
                "prod" if word.lower() == "production" else word.lower()
                for word in _PHRASES.environment.findall(phrase)
            ]
            scopes = (
                self._plain(first or second).lower() for first, second in _PHRASES.scope.findall(phrase)
            )
            words += ["prod" if word == "production" else word for word in scopes if word not in _NO_SCOPE]
        if act in _BRANCH_ACTS:
            branches = (self._plain(word) for word in _PHRASES.branch.findall(phrase))
            words += [word.lower().rstrip("*") for word in branches if _PHRASES.branch_word.match(word)]
        return tuple(dict.fromkeys(words))

    def _topics(self, phrase: str) -> tuple[str, ...]:
        match = _PHRASES.topic.search(phrase)
        return tuple(_TOPIC_WORD.findall((match[1] or match[2] or "").lower())) if match else ()

    def _plain(self, word: str) -> str:
        mark = _MARK.match(word)
        return self._kept[int(mark[1])][1] if mark else word

    def _runners(self, phrase: str, act: str) -> tuple[str, ...]:
        if act != "test":
            return ()
        names = [str(name).lower() for name in _PHRASES.runner_word.findall(phrase)]
        runners: list[str] = [
            _END_TO_END if name in ("e2e", "end-to-end", "browser", "ui") else RUNNERS.get(name, name)
            for name in names
        ]
        return tuple(dict.fromkeys(runners))

    def _keep(self, sort: str, text: str) -> str:
        self._kept.append((sort, text))
        return f"\ue000{len(self._kept) - 1}\ue001"

    def _keep_address(self, match: re.Match[str]) -> str:
        return self._keep("host", (match[1] or match[2] or match[3]).lower())

    def _keep_place(self, match: re.Match[str]) -> str:
        text = match[0].rstrip(".,")
        plain = "/" not in text and not re.search(r"\.[a-z]|file$|^\.|^__|^[A-Z]+$", text)
        if (
            plain
            or _PHRASES.loose_word.match(text)
            or re.fullmatch(r"e\.g|i\.e|etc|vs", text)
            or ("," in text and "{" not in text)
        ):
            return match[0]
        return self._keep("path", text) + match[0][len(text) :]


def _is_place(text: str) -> bool:
    return " " not in text and bool(_PLACE.fullmatch(text)) and not text.startswith("./")


def _as_commands(text: str) -> tuple[Command, ...]:
    """Return the commands in a code span (without backticks), each as its words, program first; () for an identifier, an option or a value. A single word counts only if it is a known program or begins with `./`."""
    if not re.match(r"(?:\./)?[a-zA-Z][\w./-]*(?: |$)", text) or " = " in text:
        return ()
    commands = simple_commands(re.sub(r"\s*(?:<[\w /-]+>|\.\.\.|\[[\w /-]+\])", "", text))
    return tuple(
        command
        for command in commands
        if len(command) > 1 or not KNOWN.keys().isdisjoint(command) or text.startswith("./")
    )
