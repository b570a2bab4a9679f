"""Shell commands, normalized: `cd x && ENV=1 git -C y commit -m z | cat` is `git commit` and `cat`.

In: a command line. Out: its simple commands as `program subcommand`, and the action classes they certainly are.
Never runs anything; odd quoting never raises.

Action classes for the kinds of files: a test, a document, a pipeline, settings, a lock file.

In: a path and how it is touched. Out: action classes with chances. Never opens the file.
"""

from __future__ import annotations

import re
from typing import Literal

from tacit.reading.languages import is_code
from tacit.text.lazy_regex import lazy_regex, wording

_PROGRAMS = wording("programs")
SEPARATOR = lazy_regex(r"&&|\|\||[;\n|&]")
_QUOTED = lazy_regex(
    r"'[^']*'|\"(?:\\.|[^\"\\])*\"|\$\([^()]*\)|<<-?\s*['\"]?(\w++)['\"]?.{0,4000}?^\s*\1\s*$",
    re.DOTALL | re.MULTILINE,
)
_ASSIGNMENT = lazy_regex(r"^[A-Za-z_]\w*=\S*$")
_WRAPPERS_TEXT = """
sudo env time nohup command exec builtin nice timeout stdbuf doas xvfb-run caffeinate watch then do else
! { (
"""
_WRAPPERS = frozenset(_WRAPPERS_TEXT.split())
_RUNNERS = {
    ("uv", "run"), ("poetry", "run"), ("pipenv", "run"), ("hatch", "run"), ("pdm", "run"), ("rye", "run"), ("bundle", "exec"), ("npm", "exec"),
    ("pnpm", "exec"), ("pnpm", "dlx"), ("yarn", "dlx"), ("bun", "x"), ("mise", "exec"), ("nix", "develop"), ("direnv", "exec"),
}  # fmt: skip
_RUNNER_ONE = frozenset(["npx", "bunx", "uvx", "pipx", "dotenv", "cross-env"])
_SUBCOMMANDS = _PROGRAMS.words("with_subcommand")
_THIRD = {("gh", "pr"), ("gh", "issue"), ("gh", "release"), ("gh", "run"), ("gh", "repo"), ("glab", "mr"), ("docker", "compose"), ("npm", "run"), ("pnpm", "run"),
          ("yarn", "run"), ("bun", "run"), ("deno", "task"), ("uv", "pip"), ("git", "stash"), ("git", "worktree"), ("aws", "s3"), ("go", "mod"), ("dotnet", "ef")}  # fmt: skip
_VALUE_OPTIONS = _PROGRAMS.words("value_options")
_SAME_PROGRAM = {"apt-get": "apt", "pip3": "pip", "nodejs": "node"}
_DATABASE_CLIENTS = frozenset(["psql", "mysql", "mariadb", "sqlite3", "mongo", "mongosh", "sqlcmd"])
_WORDS_TOO = _PROGRAMS.words("words_too")
PROGRAMS: frozenset[str] = (_SUBCOMMANDS | _DATABASE_CLIENTS | _PROGRAMS.words("bare")) - _WORDS_TOO
"""Programs that are recognized by their bare name in a sentence; names that are English words are left out."""
_SKIPPED = _PROGRAMS.words("shell_noise")
_CUT = 4_000


def split_commands(command: str) -> tuple[str, ...]:
    """Return the names of the commands on a line, such as `git commit` or `ls`, in order, without repeats.

    Arguments, wrappers (`sudo`) and shell noise (`cd`, `echo`) are left out.
    """
    if not command.strip():
        return ()
    plain = _QUOTED.sub(" '' ", command[:_CUT])
    commands: dict[str, None] = {}
    for segment in SEPARATOR.split(plain):
        name = _normalize(segment.split())
        if name:
            commands.setdefault(name)
    return tuple(commands)


def main_command(command: str) -> str:
    """Return the name of the first command of the line (see `split_commands`); "" = none."""
    names = split_commands(command)
    return names[0] if names else ""


def simple_commands(command: str) -> tuple[tuple[str, ...], ...]:
    """Return the simple commands of a line as words, program first, without wrappers (`sudo`, `uv run`).

    `("sudo",)` follows a command that ran with it. If one command is a database client, `("sql:", *words of
    the line)` comes last.
    """
    cut = command[:_CUT]
    commands: dict[tuple[str, ...], None] = {}
    for segment in SEPARATOR.split(_QUOTED.sub(" '' ", cut)):
        words = _unwrapped(segment.split())
        if words:
            commands.setdefault(tuple(words))
        if "sudo" in segment.split()[:3]:
            commands.setdefault(("sudo",))
    if any(words[0] in _DATABASE_CLIENTS for words in commands):
        commands.setdefault(("sql:", *cut.lower().split()))
    return tuple(commands)


def _unwrapped(words: list[str]) -> list[str]:
    """Return a simple command's words without wrappers and redirections, under the program's plain name."""
    words = [word for word in words if not word.startswith((">", "<", "2>", "1>", "&>")) and word != "''"]
    while words and (_ASSIGNMENT.match(words[0]) or words[0] in _WRAPPERS):
        wraps = words.pop(0) in _WRAPPERS
        while wraps and words and (words[0].startswith("-") or words[0][:1].isdigit()):
            words.pop(0)
    if not words or words[0] in _SKIPPED:
        return []
    path = words[0].strip("\"'(){}`").replace("\\", "/")
    program = path.rsplit("/", 1)[-1].removesuffix(".exe").lower()
    program = _SAME_PROGRAM.get(program, program)
    arguments = words[1:]
    if re.fullmatch(r"python[\d.]*|py", program):
        return _unwrapped(arguments[1:]) if arguments[:1] == ["-m"] else ["python", *arguments]
    if program in _RUNNER_ONE:
        return _unwrapped(_drop_options(arguments))
    if program in _SUBCOMMANDS:
        arguments = _drop_options(arguments)
        if arguments and (program, arguments[0]) in _RUNNERS:
            return _unwrapped(_drop_options(arguments[1:]))
    return [path.removeprefix("./") if "/" in path and "." in program else program, *arguments]


def _normalize(words: list[str]) -> str:
    words = [word for word in words if not word.startswith((">", "<", "2>", "1>", "&>"))]
    while words and (_ASSIGNMENT.match(words[0]) or words[0] in _WRAPPERS):
        timeout = words[0] in ("timeout", "nice", "env", "sudo", "watch", "stdbuf")
        words = words[1:]
        while timeout and words and (words[0].startswith("-") or words[0][:1].isdigit()):
            words = words[1:]
    if not words:
        return ""
    program = program_name(words[0].strip("\"'(){}`"))
    raw_arguments = words[1:]
    if program in _SKIPPED or not program or not re.match(r"[A-Za-z0-9_.@+-]+$", program):
        return ""
    if re.fullmatch(r"python[\d.]*|py", program):
        return _python(raw_arguments)
    if program in _RUNNER_ONE:
        return _normalize(_drop_options(raw_arguments)) or program
    if program not in _SUBCOMMANDS:
        return program.lower()
    arguments = _drop_options(raw_arguments)
    if not arguments:
        return program
    if (program, arguments[0]) in _RUNNERS:
        return _normalize(_drop_options(arguments[1:])) or f"{program} {arguments[0]}"
    if (program, arguments[0]) in _THIRD and len(arguments) > 1:
        inner = _drop_options(arguments[1:])
        if inner:
            return f"{program} {arguments[0]} {inner[0]}"
    return f"{program} {arguments[0]}"


def _python(arguments: list[str]) -> str:
    for i, word in enumerate(arguments):
        if word == "-m" and i + 1 < len(arguments):
            return _normalize(arguments[i + 1 :])
        if word.startswith("-m") and len(word) > 2:
            return _normalize([word[2:], *arguments[i + 1 :]])
        if not word.startswith("-"):
            if not word.endswith("manage.py"):
                return "python"
            return " ".join(["python manage.py", *arguments[i + 1 : i + 2]])
    return "python"


def _drop_options(words: list[str]) -> list[str]:
    remaining = list(words)
    while remaining and remaining[0].startswith("-"):
        takes_value = remaining[0] in _VALUE_OPTIONS and len(remaining) > 1
        remaining = remaining[2:] if takes_value else remaining[1:]
    return [word for word in remaining if word != "''"] if remaining else remaining


_TABLE: tuple[tuple[str, str], ...] = (
    (r"git commit", "commit"), (r"git push", "push"), (r"git (?:merge|rebase|cherry-pick|pull)", "merge_rebase"), (r"git mv", "rename_move"),
    (r"git (?:checkout|switch|worktree.*|branch|stash.*|clone|init)", "workspace_session"), (r"git tag|gh release.*|(?:npm|yarn|pnpm|cargo|poetry|uv|hatch|flit|lerna) publish|twine|goreleaser|semantic-release|changeset.*|cargo release|npm version", "release"),
    (r"gh pr (?:create|edit|ready|merge|comment)|glab mr .*", "open_or_update_pr"), (r"gh pr (?:view|diff|checks|review)", "review_code"),
    (r"gh issue (?:create|edit|close|comment)", "create_task"), (r"gh run.*|gh workflow.*|act", "ci_pipeline"),
    (r"pytest|tox.*|nox.*|unittest|jest|vitest|mocha|ava|playwright|cypress|rspec|phpunit|ctest|go test|cargo (?:test|nextest)|(?:npm|yarn|pnpm|bun|deno|dotnet|mvn|gradle|gradlew|make|just|task|mix|flutter|dart|swift|rake|rails|composer) (?:run )?(?:test|tests|check|t|e2e|unit)\S*|python manage\.py test", "run_tests"),
    (r"ruff.*|flake8|pylint|black|isort|mypy|pyright|basedpyright|eslint|prettier|biome|tsc|golangci-lint|gofmt|goimports|staticcheck|go (?:build|vet|fmt|generate|install)|cargo (?:build|clippy|fmt|check)|rustfmt|shellcheck|stylelint|markdownlint\S*|pre-commit.*|lint-imports|clang-\w+|cmake|ninja|webpack|vite|rollup|esbuild|swiftlint|rubocop|ktlint|tslint|oxlint|vale|(?:npm|yarn|pnpm|bun|make|just|task|dotnet|mvn|gradle|gradlew|nx|turbo|flutter|dart|swift|docker|uv|poetry|hatch|mix) (?:run )?(?:lint|build|format|fmt|typecheck|type-check|compile|check-types|package|analyze)\S*|make", "run_lint_build"),
    (r"(?:npm|pnpm|yarn|bun) (?:install|i|add|remove|uninstall|upgrade|update|ci)|pip3? (?:install|uninstall)|uv (?:add|remove|sync|lock|pip .*)|poetry (?:add|remove|update|lock|install)|pipenv install|pdm add|cargo (?:add|remove|update)|go (?:get|mod.*)|bundle (?:add|install|update)|gem install|composer (?:require|install|update)|dotnet add|brew install|apt(?:-get)? install|conda install|mix deps\.get|flutter pub", "add_dependency"),
    (r"rm|rmdir|git rm|unlink", "delete_code"), (r"mv", "rename_move"), (r"touch|mkdir", "new_file"),
    (r"python manage\.py (?:make)?migrat\w+|psql|mysql|sqlite3|mongo(?:sh)?|redis-cli|prisma.*|alembic.*|supabase.*|dotnet ef.*|rails db:.*", "data_storage"),
    (r"docker.*|podman.*|kubectl.*|helm.*|terraform.*|pulumi.*|ansible.*|aws.*|gcloud.*|az .*|fly.*|vercel.*|netlify.*|heroku.*|systemctl.*|curl|wget|ssh|scp|rsync", "run_command"),
    (r"git (?:log|show|blame|diff|bisect|status|grep)|grep|rg|ag|find|ls|cat|head|tail|tree|sed|awk|jq|wc|less|strace|gdb|lldb|dlv", "debug_investigate"),
    (r"codex|claude|gemini|aider|opencode", "delegate_agent"), (r"perf|hyperfine|py-spy|cargo bench|go tool|wrk|ab|k6", "performance"),
)  # fmt: skip
_RULES = tuple((lazy_regex(f"(?:{pattern})$"), action) for pattern, action in _TABLE)
_WEAK = {
    "debug_investigate": 0.3,
    "run_command": 0.9,
    "new_file": 0.6,
    "delete_code": 0.5,
    "rename_move": 0.7,
}


def command_actions(name: str) -> tuple[tuple[str, float], ...]:
    """Return (action class, chance) pairs for a command as `split_commands` gives it; an unknown program is only `run_command`."""
    for pattern, action in _RULES:
        if pattern.match(name):
            weight = _WEAK.get(action, 1.0)
            return (
                ((action, weight),) if action == "run_command" else ((action, weight), ("run_command", 0.4))
            )
    return (("run_command", 0.7),)


_MISSING = (
    lazy_regex(r"command not found: (?P<name>[\w.+-]+)"),
    lazy_regex(r"(?<![\w./+-])(?P<name>[A-Za-z_][\w.+-]*): (?:command )?not found\b"),
    lazy_regex(r"executable file not found in \$PATH: \"?(?P<name>[\w.+-]+)"),
    lazy_regex(r"exec: \"(?P<name>[\w.+-]+)\": executable file not found"),
    lazy_regex(r"(?:spawn|env: [\u2018']?)\s*(?P<name>[\w.+-]+)(?: ENOENT|[\u2019']?: No such file)"),
    lazy_regex(r"[Nn]o module named '?(?P<name>[\w.]+)"),
    lazy_regex(r"'(?P<name>[\w.+-]+)' is not recognized as"),
    lazy_regex(r"Unable to locate (?:executable|the command) '?(?P<name>[\w.+-]+)"),
)


def program_name(word: str) -> str:
    """Return the name of a program without its folder and its Windows extension."""
    return word.replace("\\", "/").rsplit("/", 1)[-1].removesuffix(".exe").removesuffix(".cmd")


def names_missing(error: str) -> tuple[str, ...]:
    """Return the programs and modules that an error says are missing."""
    return tuple(dict.fromkeys(match["name"] for pattern in _MISSING for match in pattern.finditer(error)))


def refused_by_shell(command: str, output: str) -> bool:
    """Whether short output says that a program or module of `command` is missing.

    A pipe hides that from the exit code.
    """
    head = output[:2000]
    if len(head.strip().splitlines()) > 3:
        return False
    words = {variant for word in command.split() for variant in (program_name(word), word.split(".")[0])}
    return any(name in words or name.split(".")[0] in words for name in names_missing(head))


Touch = Literal["edit", "write", "read", "named"]
"""How a file is touched; `named` = only mentioned in words, the weakest."""

_TEST = lazy_regex(
    r"(?:^|/)(?:tests?|__tests__|spec|specs|e2e|testdata)/|(?:^|/)test_[^/]+$|[._-](?:test|tests|spec|e2e)\.[^/]+$|(?:Tests?|Spec)\.(?:cs|java|kt|swift|scala)$|(?:^|/)conftest\.py$"
)
_KINDS: tuple[tuple[re.Pattern[str], tuple[tuple[str, float], ...]], ...] = tuple(
    (lazy_regex(pattern, re.IGNORECASE), actions)
    for pattern, actions in (
        (r"(?:^|/)\.github/(?:workflows|actions)/|(?:^|/)\.gitlab-ci\.ya?ml$|(?:^|/)(?:jenkinsfile|azure-pipelines\.ya?ml|\.travis\.yml|\.drone\.yml)$|(?:^|/)\.circleci/|(?:^|/)\.goreleaser", (("ci_pipeline", 1.0),)),
        (r"(?:^|/)(?:dockerfile|containerfile)|docker-compose|(?:^|/)compose\.ya?ml$|\.dockerignore$|(?:^|/)(?:k8s|helm|charts|terraform|infra)/|\.tf$", (("ci_pipeline", 0.6), ("config_settings", 0.6))),
        (r"(?:^|/)(?:agents|claude|gemini|copilot-instructions|skill)\.md$|\.mdc$|(?:^|/)\.cursorrules$|(?:^|/)\.cursor/rules/|(?:^|/)\.claude/|(?:^|/)\.windsurfrules$", (("edit_rules", 1.0),)),
        (r"(?:^|/)(?:change(?:s|log)|history|news)(?:\.\w+)?$", (("write_docs", 0.9), ("release", 0.4))),
        (r"\.(?:mdx?|rst|adoc|txt)$|(?:^|/)docs?/|(?:^|/)(?:readme|contributing|license|security)(?:\.\w+)?$", (("write_docs", 0.9),)),
        (r"(?:^|/)(?:package-lock\.json|yarn\.lock|pnpm-lock\.yaml|poetry\.lock|uv\.lock|cargo\.lock|go\.sum|gemfile\.lock|composer\.lock|bun\.lockb?)$", (("generated_files", 0.9), ("add_dependency", 0.7))),
        (r"(?:^|/)(?:package\.json|requirements[\w.-]*\.txt|pyproject\.toml|cargo\.toml|go\.mod|gemfile|composer\.json|pom\.xml|build\.gradle(?:\.kts)?|[^/]+\.csproj)$", (("config_settings", 0.6), ("add_dependency", 0.6))),
        (r"(?:^|/)(?:dist|build|out|generated|__generated__|gen|node_modules|vendor)/|\.(?:pb\.go|pb2\.py|g\.dart|generated\.\w+|min\.js|snap)$|_pb2\.py$", (("generated_files", 0.9),)),
        (r"(?:^|/)(?:migrations?|alembic|prisma|schema)/|\.sql$|\.prisma$|schema\.\w+$", (("data_storage", 0.9),)),
        (r"(?:^|/)\.env|\.(?:ya?ml|toml|ini|cfg|conf|jsonc?|properties|plist)$|(?:^|/)\.[\w-]+rc(?:\.\w+)?$|config\.\w+$|settings\.\w+$", (("config_settings", 0.8),)),
        (r"\.(?:css|scss|sass|less|html?|vue|svelte|tsx|jsx|razor|xaml)$|(?:^|/)(?:components|pages|views|styles|templates)/", (("ui_design", 0.5),)),
        (r"(?:^|/)(?:cli|cmd|commands?|tui)(?:/|\.)|_tui\.\w+$", (("cli_output_ux", 0.3),)),
        (r"(?:log(?:ger|ging)?|analytics|telemetry|metrics|tracing)[^/]{0,255}\.\w+$", (("logging_analytics", 0.5),)),
        (r"(?:auth|security|crypto|permission|secret|token|password)[^/]{0,255}\.\w+$", (("security_privacy", 0.4),)),
        (r"(?:pars(?:e|er|ing)|serial|encod|decod|format|markdown)[^/]{0,255}\.\w+$", (("parsing_formats", 0.4),)),
        (r"(?:store|storage|database|db|repository|models?)[^/]{0,255}\.\w+$", (("data_storage", 0.4),)),
        (r"(?:errors?|exceptions?)[^/]{0,255}\.\w+$", (("error_handling", 0.5),)),
    )
)  # fmt: skip
_NAMED = 0.35
_READ = 0.5


def is_test(path: str) -> bool:
    """Whether the file at `path` is a test, by its name or folder."""
    return bool(_TEST.search(path.replace("\\", "/")))


def file_actions(path: str, touch: Touch) -> tuple[tuple[str, float], ...]:
    """Return (action class, chance) pairs for touching the file at `path`, likeliest first.

    Editing is certain; reading counts by half (an edit often follows); naming by a third.
    """
    path = path.replace("\\", "/")
    chances: dict[str, float] = {}
    for pattern, actions in _KINDS:
        if pattern.search(path):
            for name, chance in actions:
                chances[name] = max(chance, chances.get(name, 0.0))
    if is_test(path):
        chances.pop("ui_design", None)
        chances["write_test" if touch == "write" else "change_test"] = 1.0
        chances["change_test" if touch == "write" else "write_test"] = 0.5
        chances["run_tests"] = 0.6
    if is_code(path) and "generated_files" not in chances:
        chances["edit_code"] = 1.0 if not is_test(path) else 0.6
    share = {"edit": 1.0, "write": 1.0, "read": _READ, "named": _NAMED}[touch]
    weighted = {name: chance * share for name, chance in chances.items()}
    if touch == "write":
        weighted["new_file"] = 0.8
    elif touch == "read":
        weighted["explain_code"] = 0.4
    return tuple(
        sorted(((name, round(p, 3)) for name, p in weighted.items()), key=lambda item: (-item[1], item[0]))
    )
