"""Acts that people name by a word (`before every commit`) and the commands that do them. Data and one lookup."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from tacit.reading.moments.moment import Command
from tacit.text.lazy_regex import lazy_regex

_RUNNERS = (
    r"(?:make|just|task|rake|invoke|poe|fab|cap|ansible-playbook|rails|mix|composer|nx|turbo|gradle|gradlew|mvn"
    r"|(?:npm|pnpm|yarn|bun)(?: run)?|hatch run|deno task)"
)
_SHELLS = r"(?:(?:bash|sh|zsh|node|python[\d.]*|ruby|deno|perl) )?"


def _script(name: str) -> str:
    """A script or a target of a task runner whose name holds `name`."""
    return rf"{_SHELLS}(?:\S*/)?[\w.-]*{name}[\w.-]*(?: |$)|{_RUNNERS} (?:\S+ )*?\S*{name}"


_DATABASE = r"psql|mysql|mariadb|sqlite3|mongosh?|redis-cli|sqlcmd|clickhouse(?:-client)?"
_TESTS = (
    r"pytest|unittest|tox|nox|jest|vitest|mocha|ava|playwright test|cypress run|rspec|phpunit|ctest|go test|gotestsum|cargo (?:test|nextest)"
    rf"|(?:dotnet|mvn|swift|dart|flutter|zig|deno|bun|rails) test|python manage\.py test|{_RUNNERS} (?:\S+ )*?[\w:-]*(?:test|spec|e2e)s?\b"
)
_INSTALLS = (
    r"(?:npm|pnpm|yarn|bun) (?:install|i|add|ci)|pip3? install|uv (?:add|pip install)|(?:poetry|pdm|pipenv|cargo|bundle|dotnet) (?:add|install)"
    r"|go (?:get|install)|(?:gem|brew|apt|apt-get|apk|dnf|yum|conda|mamba|choco|snap|pipx) install|apk add|pacman -S|composer require"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """One act.

    Attributes:
        name: known by it.
        said: pattern of what people call it.
        asked: pattern of how a prompt orders it; "" = the same words.
        command: pattern of the commands that do it.
        tool: pattern of the tools of MCP servers that do it; "" = none.
        leads: pattern of the commands that mostly come right before it.
    """

    name: str
    said: str
    command: str
    asked: str = ""
    tool: str = ""
    leads: str = ""


ACTS: tuple[Act, ...] = (
    Act(name="force_push", said=r"force[- ]?push\w*|push\w* (?:with )?(?:-f\b|--force\S*)", command=r"git push\b.*(?: -f\b| --force| \+\S)",
        leads=r"git (?:rebase|commit\b.*--amend|reset)"),
    Act(name="amend", said=r"amend\w*", command=r"git commit\b.* --amend", leads=r"git (?:commit|log -1|show)"),
    Act(name="cherry_pick", said=r"cherry[- ]?pick\w*", command=r"git cherry-pick"),
    Act(name="rebase", said=r"rebas(?:e|es|ed|ing)", command=r"git (?:rebase|pull\b.* --rebase)", leads=r"git fetch"),
    Act(name="reset", said=r"reset(?:s|ting)? --hard|hard[- ]reset\w*", command=r"git reset\b.* --hard"),
    Act(name="pull_request", said=r"(?:pull|merge)[- ]requests?|PRs?|MRs?", command=r"gh pr (?:create|new)|glab mr (?:create|new)|hub pull-request",
        tool=r"create_(?:pull|merge)_request", leads=r"git push"),
    Act(name="merge", said=r"merg(?:e|es|ed|ing)(?=\s*$|\s*[,.;:]| (?:it|this|that|them|anything|(?:an?|the|any|your|every|each|my|feature|own) (?:[\w/-]+ )?(?:branch|branches|PRs?|work|changes?|code|commits?)|branches|branch|PRs?)\b| (?:in)?to\b| back)", asked=r"merge (?:it|this|that|the|your|my|into|to|back)", command=r"git merge|gh pr merge|glab mr merge", leads=r"git (?:checkout|switch)"),
    Act(name="tag", said=r"tag(?:s|ged|ging)? (?:an? |the |every |any |new )*(?:releases?|versions?|commits?)|tag names?|(?:git|new|release|version) tags?|(?:creat|push)\w* (?:an? |the )?tags?|tagging(?=\s*$)", command=r"git tag (?:-[asfm]+ )*(?!-)\S+"),
    Act(name="commit", said=r"commit(?:s|ted|ting)?(?! (?:hash|hashes|sha|ids?|history|log|graph|to (?:an?|the) (?:approach|plan)))", asked=r"commit", command=r"(?:git|jj|hg) commit", leads=r"git add"),
    Act(name="push", said=r"push(?:es|ed|ing)?(?! (?:notifications?|buttons?|items?|events?|messages?|back|the limit|data|state|values?))", asked=r"push|ship it", command=r"git push", leads=r"git (?:commit|merge|rebase|cherry-pick)"),
    Act(name="release", said=r"(?:releas(?:e|es|ed|ing)(?! (?:branch|notes?))|publish\w*)", command=rf"gh release create|(?:npm|pnpm|yarn|cargo|poetry|uv|hatch|flit) publish|twine upload|goreleaser|{_script('release')}|{_script('publish')}",
        asked=r"(?:make|cut|do) (?:a|the) release|release (?:it|this)|publish", tool=r"create_release"),
    Act(name="deploy", said=r"deploy\w*|roll(?:s|ed|ing)? out", asked=r"deploy", command=rf"{_script('deploy')}|kubectl (?:apply|rollout)|helm (?:upgrade|install)|(?:vercel|netlify|fly|heroku|railway)\b.*(?:deploy|--prod)",
        leads=r"kubectl (?:diff|get)|helm (?:diff|list|lint)"),
    Act(name="issue", said=r"(?:github|gitlab|jira) (?:issues?|tickets?)|(?:open|fil|creat|submit|writ)\w* (?:an? |the |new |github |gitlab )*(?:issues?|tickets?|bug reports?)", asked=r"(?:open|file|create|write) (?:an?|the) (?:\w+ )?(?:issue|ticket)", command=r"(?:gh|glab) issue (?:create|new)", tool=r"create_issue"),
    Act(name="drop_table", said=r"drop(?:s|ped|ping)? (?:\w+ )?(?:tables?|databases?|columns?)", command=r"(?:sql:.*\bdrop (?:table|database|schema)\b.*|dropdb\b|.*\bdb:drop\b)", leads=_DATABASE),
    Act(name="truncate", said=r"truncat\w+ (?:the |any |an? )?(?:\w+ )?tables?", command=r"sql:.*\btruncate\b.*", leads=_DATABASE),
    Act(name="restore", said=r"restor(?:e|es|ed|ing)(?: \w+){0,2} (?:dumps?|backups?|databases?|snapshots?)", command=rf"pg_restore|mongorestore|{_script('restore')}"),
    Act(name="backup", said=r"(?:(?:mak(?:e|ing)|tak(?:e|ing)) (?:an? )?(?:backups?|dumps?)|dump(?:s|ing)? the (?:database|db))", command=rf"pg_dump|mysqldump|mongodump|{_script('backup')}"),
    Act(name="seed", said=r"(?:run|load)\w* (?:the )?(?:\w+ )?seeds?|seed(?:s|ed|ing)? (?:the )?(?:\w+ )?(?:database|db|data)", asked=r"seed", command=_script("seed")),
    Act(name="new_migration", said=r"(?:creat|writ|add|mak|generat)\w* (?:an? |the )?(?:\w+ )?migrations?", command=r"python manage\.py makemigrations|alembic revision|(?:prisma|knex|sequelize|typeorm|diesel|goose|dbmate|sqlx)\b.*migrat\w*|rails (?:g|generate) migration|dotnet ef migrations add|mix ecto\.gen\.migration"),
    Act(name="migrate", said=r"migrat\w+ (?:the |a )?(?:\w+ )?(?:database|db|schema)|(?:run|apply)\w* (?:the |a |any )?(?:\w+ )?migrations?|migrating(?=\s*$)", asked=r"(?:run|apply) (?:the )?migrations?|migrate", command=rf"python manage\.py migrate|alembic upgrade|(?:prisma|knex|diesel|goose|dbmate|flyway)\b.*(?:migrate|deploy|up)|rails db:migrate|dotnet ef database update|mix ecto\.migrate|{_RUNNERS} (?:\S+ )*?\S*migrate"),
    Act(name="database", said=r"(?:production|prod|live|staging) (?:database|db|data)", command=rf"(?:{_DATABASE})"),
    Act(name="test", said=r"(?:run|start|execut|launch)\w* (?:the |all |any |your )?(?:[\w-]+ ){0,2}?(?:tests?|specs?)|(?:the )?(?:[\w-]+ )?(?:test suite|suite)(?! (?:name|file))", asked=r"run (?:the |all )?(?:[\w-]+ )?tests?", command=_TESTS),
    Act(name="install", said=r"install(?:s|ed|ing)?|(?:add|introduc|upgrad|updat|bump)\w* (?:an? |the |any |new )*(?:[\w-]+ )?(?:dependenc(?:y|ies)|packages?|librar(?:y|ies))|new (?:[\w-]+ )?dependenc(?:y|ies)", asked=r"install|add (?:an? |the )?dependenc(?:y|ies)", command=_INSTALLS),
    Act(name="upload", said=r"upload\w* (?:the |any |an? )?(?:artifacts?|packages?|builds?|binar(?:y|ies)|wheels?|releases?|to (?:pypi|s3|npm))", command=rf"aws s3 (?:cp|sync|mv)|gsutil (?:cp|rsync)|scp|rsync|rclone|twine upload|{_script('upload')}"),
    Act(name="agent", said=r"(?:start|spawn|launch|us)\w* (?:an? |any )?sub-?agents?|delegat\w+", command=r"(?!)", tool=r"task|agent"),
)  # fmt: skip
"""In the order of the table the first that is met at a place of a text is meant: `force-push` before `push`."""

_SAID = tuple((lazy_regex(rf"(?<![\w/.-])(?:{act.said})(?![\w/])", re.IGNORECASE), act.name) for act in ACTS)
_ASKED = tuple(
    (lazy_regex(rf"(?:{act.asked or act.said})(?![\w/-])", re.IGNORECASE), act.name) for act in ACTS
)
_DONE = tuple((lazy_regex(rf"(?:{act.command})(?:\b|(?<=\W)|$)", re.IGNORECASE), act.name) for act in ACTS)
_TOOLS = tuple((lazy_regex(rf"(?:^|_){act.tool}$", re.IGNORECASE), act.name) for act in ACTS if act.tool)
_LEADS = tuple((lazy_regex(rf"(?:{act.leads})\b", re.IGNORECASE), act.name) for act in ACTS if act.leads)
_CASED = frozenset({"PR", "PRs", "MR", "MRs"})


def acts_said(text: str) -> tuple[tuple[int, int, str], ...]:
    """(start, end, act) for each act that `text` names, by place; of two at one place the first of the table."""
    found: list[tuple[int, int, str]] = []
    for pattern, name in _SAID:
        for match in pattern.finditer(text):
            start, end = match.span()
            if match[0].upper() in ("PR", "PRS", "MR", "MRS") and match[0] not in _CASED:
                continue
            if not any(start < other_end and other_start < end for other_start, other_end, _ in found):
                found.append((start, end, name))
    return tuple(sorted(found))


def act_ordered(text: str) -> str:
    """The act that the beginning of `text`, an order in a prompt, asks for; "" = none."""
    return next((name for pattern, name in _ASKED if pattern.match(text)), "")


@lru_cache(maxsize=256)
def acts_done(command: Command) -> frozenset[str]:
    """Acts that a simple command does. What a client of a database is told stands behind `sql:`."""
    line = " ".join(command)
    return frozenset(name for pattern, name in _DONE if pattern.match(line))


@lru_cache(maxsize=256)
def acts_ahead(command: Command) -> frozenset[str]:
    """Acts that mostly come right after a simple command."""
    line = " ".join(command)
    return frozenset(name for pattern, name in _LEADS if pattern.match(line))


def acts_of_tool(tool: str) -> frozenset[str]:
    """Acts that a tool does, by its name (`mcp__github__create_pull_request`)."""
    return frozenset(name for pattern, name in _TOOLS if pattern.search(tool))
