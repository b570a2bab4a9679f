"""Conventions read from a repository's commits. In: git. Out: a few statements.

How subjects are written, counted over the last commits and told without numbers, so that the next commit changes nothing;
what was reverted and why; what was announced as breaking. Messages of robots and merges are not counted.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from tacit.capture.bootstrap.markdown import RuleLine
from tacit.system.git import Commit, Git
from tacit.text.lazy_regex import lazy_regex

MAX_COMMITS = 300
MIN_COMMITS = 20
"""Fewer commits show no habit."""
_MOST_TOLD = 8
_CONVENTIONAL = lazy_regex(r"^(?P<type>[a-z]{2,12})(?:\((?P<scope>[\w./ -]{1,30})\))?!?: \S")
_TYPES = frozenset(
    {"feat", "fix", "docs", "chore", "refactor", "test", "tests", "ci", "build", "perf", "style", "revert"}
)
_KEY = lazy_regex(r"^\[?(?P<key>[A-Z][A-Z0-9]+)-\d+\]?\b")
_NUMBER = lazy_regex(r"\(#\d+\)$")
_REVERT = lazy_regex(r'^Revert "(?P<what>.+)"$')
_REASON = lazy_regex(
    r"\b(?:because|since|as it|due to|broke|breaks|caused|causes|fails?|failed|regress\w*|too )\b",
    re.IGNORECASE,
)
_BREAKING = lazy_regex(r"^BREAKING[ -]CHANGE: (?P<what>\S.*(?:\n(?!\n)[^\n:]+)*)", re.MULTILINE)
_MACHINE = lazy_regex(
    r"^(?:Merge (?:branch|pull request|remote|tag)\b|(?:chore|build|ci)\(deps|Bump \S+ from |Update dependency |\[bot\])"
)
_ORDER = lazy_regex(
    r"\b(?:curl|wget)\b|https?://|\b(?:ignore|disregard) (?:all|any|the|previous)\b|\byou (?:must|should)\b|\bassistants?\b|\bagents?\b",
    re.IGNORECASE,
)
_HABIT = 0.6
"""Share of commits from which on something is how it is done here."""


def read_history(git: Git, head: str) -> tuple[RuleLine, ...]:
    """Statements of the last commits from `head` on, along the first parents."""
    return describe_commits(git.commits(head, most=MAX_COMMITS, options=("--first-parent",)) or ())


def describe_commits(commits: Sequence[Commit]) -> tuple[RuleLine, ...]:
    """Statements of `commits`, newest first."""
    people = [commit for commit in commits if not _MACHINE.match(_subject(commit))]
    statements = [*_habits(people), *_reverts(people), *_breaking(people)]
    return tuple(
        RuleLine(content=content, line=1, span=span[:200], command=True) for content, span in statements
    )


def _habits(commits: Sequence[Commit]) -> Iterable[tuple[str, str]]:
    subjects = [_subject(commit) for commit in commits if not _REVERT.match(_subject(commit))]
    if len(subjects) < MIN_COMMITS:
        return
    bare = [_NUMBER.sub("", subject).rstrip() for subject in subjects]
    typed = [match for subject in bare if (match := _CONVENTIONAL.match(subject)) and match["type"] in _TYPES]
    share = len(subjects) * _HABIT
    if len(typed) >= share:
        scoped = sum(match["scope"] is not None for match in typed) >= len(typed) * _HABIT
        form = "`type(scope): what changed`" if scoped else "`type: what changed`"
        yield f"Commit subjects here follow Conventional Commits: {form}", typed[0].string
    else:
        keys = Counter(match["key"] for subject in bare if (match := _KEY.match(subject)))
        key, count = keys.most_common(1)[0] if keys else ("", 0)
        if count >= share:
            yield f"Commit subjects here begin with the issue's key, such as `{key}-123`", bare[0]
        elif sum(subject[:1].isupper() and not subject.endswith(".") for subject in bare) >= len(bare) * 0.9:
            yield "Commit subjects here begin with a capital and end without a full stop", bare[0]
        elif sum(subject[:1].islower() and not subject.endswith(".") for subject in bare) >= len(bare) * 0.9:
            yield "Commit subjects here begin in lower case and end without a full stop", bare[0]
    if sum(bool(_NUMBER.search(subject)) for subject in subjects) >= share:
        yield (
            "Commits on the main branch here are squashed pull requests: their subjects end with its number",
            subjects[0],
        )
    signed = sum("\nSigned-off-by: " in commit.message for commit in commits)
    if signed >= len(commits) * 0.8:
        yield "Commits here are signed off (`git commit -s`)", "Signed-off-by"


def _reverts(commits: Sequence[Commit]) -> Iterable[tuple[str, str]]:
    count = 0
    for commit in commits:
        reverted = _REVERT.match(_subject(commit))
        lines = [line.strip() for line in commit.message.split("\n")[1:]]
        reason = next(
            (line for line in lines if _REASON.search(line) and not line.startswith("This reverts")), ""
        )
        if reverted and 4 <= len(reason.split()) <= 40 and not _ORDER.search(f"{reverted['what']} {reason}"):
            yield f'"{reverted["what"]}" was reverted: {reason.rstrip(".")}', reason
            count += 1
        if count >= _MOST_TOLD:
            return


def _breaking(commits: Sequence[Commit]) -> Iterable[tuple[str, str]]:
    count = 0
    for commit in commits:
        match = _BREAKING.search(commit.message)
        change = " ".join(match["what"].split()) if match else ""
        if 4 <= len(change.split()) <= 40 and not _ORDER.search(change):
            yield f"Breaking change: {change.rstrip('.')}", change
            count += 1
        if count >= _MOST_TOLD:
            return


def _subject(commit: Commit) -> str:
    return commit.message.lstrip("\n").split("\n", 1)[0].strip()
