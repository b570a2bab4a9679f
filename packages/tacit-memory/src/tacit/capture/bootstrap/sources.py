"""The files that are read from a project, and their readers. In: its root. Out: sources, each with its drafts.

Rule files, decision records, README and contributor guide, manifests, and the commits. Reads only the files named here;
never follows links out of the project, never writes into it, runs nothing.

A decision record (ADR). In: its Markdown. Out: the decision in one statement, or nothing while it does not hold.

Reads the forms of Nygard (`## Status`, `## Decision`) and MADR (`status:` in front matter, `## Decision Outcome`). What is
proposed, rejected, deprecated or superseded says nothing, so that a changed status retires the memory.

Conventions read from a repository's commits. In: git. Out: a few statements.

How subjects are written, counted over the last commits and told without numbers, so that the next commit changes nothing.
Messages of robots and merges are not counted; no words of a message become a statement.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

from tacit.capture.bootstrap.manifests import MANIFESTS, read_manifest
from tacit.capture.bootstrap.markdown import MarkdownBlock, RuleLine, blocks_of, read_rules
from tacit.errors import InvalidPayload
from tacit.frozen import frozen
from tacit.model.changes import Draft
from tacit.model.memory import Provenance, TrustTier
from tacit.model.scope import project_scope
from tacit.model.trigger import GREATEST_BREADTH
from tacit.reading.marks import kind_of, rule_like
from tacit.reading.sentences import split_sentences
from tacit.reading.trigger import make_trigger
from tacit.session.projects import git_at
from tacit.system.git import Commit, Repository
from tacit.text.decoding import decode_text
from tacit.text.lazy_regex import lazy_regex, wording

_RULES = wording("rules")

MAX_WORDS = 50
_NUMBER = lazy_regex(r"^(?:ADR[\s-]*)?(?:\d+\s*[.:\u2013\u2014-]\s*)?", re.IGNORECASE)
_RUN_IN = lazy_regex(r"^\*\*(?P<name>[A-Z][\w ]{2,30})[.:]\*\*:?[ \t]*(?=\S)")
"""A heading at the start of its own paragraph: "**Decision.** We use ..."."""
_STATUS = lazy_regex(r"^[^\w\n]*status[^\w:|]*[:|]\W*+(?P<status>[a-z]+)", re.IGNORECASE | re.MULTILINE)
_CHOSEN = lazy_regex(r"^chosen option:\s*(?P<rest>.+)$", re.IGNORECASE | re.DOTALL)
_DECIDED = ("decision outcome", "decision", "choice", "what we decided", "resolution")


def read_decision(text: str) -> tuple[RuleLine, ...]:
    """Return the decision of an ADR as one statement; empty = none, or it does not hold (superseded, proposed)."""
    blocks = blocks_of(text)
    title = next((block for block in blocks if block.kind == "heading" and block.level == 1), None)
    sections = _sections(blocks)
    if title is None or _RULES.over.search(_status(text, sections)):
        return ()
    decided = next((sections[name] for name in _DECIDED if sections.get(name)), None)
    sentences = _sentences(decided) if decided else []
    if not decided or not sentences:
        return ()
    content = _NUMBER.sub("", title.text).rstrip(".")
    words = len(content.split())
    texts: list[str] = []
    for sentence in sentences[:3]:
        words += len(sentence.split())
        if words > MAX_WORDS:
            break
        texts.append(sentence)
    if not texts:
        texts = [" ".join(sentences[0].split()[: MAX_WORDS - len(content.split())]) + "..."]
    return (RuleLine(content=f"{content}: {' '.join(texts)}", line=decided[0].line, span=decided[0].span),)


def _sections(blocks: Sequence[MarkdownBlock]) -> dict[str, tuple[MarkdownBlock, ...]]:
    """Return the paragraphs and list items by their heading in lower case; of two equal headings the first counts."""
    sections: dict[str, list[MarkdownBlock]] = {}
    here: list[MarkdownBlock] = []
    for block in blocks:
        if block.kind == "heading" and block.level > 1:
            here = []
            sections.setdefault(block.text.lower().rstrip(":"), here)
        elif block.kind in ("text", "item") and not block.quote:
            if run_in := _RUN_IN.match(block.span):
                here = []
                sections.setdefault(run_in["name"].lower(), here)
                here.append(replace(block, text=block.text[len(run_in["name"]) + 1 :].lstrip(": ")))
            else:
                here.append(block)
    return {name: tuple(found) for name, found in sections.items()}


def _status(text: str, sections: Mapping[str, Sequence[MarkdownBlock]]) -> str:
    if section := sections.get("status"):
        return section[0].text
    match = _STATUS.search(text[:2000])
    return match["status"] if match else ""


def _sentences(blocks: Sequence[MarkdownBlock]) -> list[str]:
    """Return the sentences of the first paragraph of a section, with the list that it introduces."""
    first = blocks[0].text if blocks else ""
    told = list(blocks[:1])
    if not blocks or blocks[0].kind == "item" or first.endswith(":") or len(first.split()) < 4:
        for block in blocks[1:]:
            if block.kind == "text" and len(told) > 1:
                break
            told.append(block)
            if block.kind == "text":
                break
    chosen = _CHOSEN.match(first)
    texts = [f"chosen is {chosen['rest']}" if chosen else first, *(block.text for block in told[1:])]
    sentences = [sentence for text in texts for sentence in split_sentences(text)]
    whole = [sentence for sentence in sentences if len(sentence.split()) >= 4]
    return [sentence for sentence in whole if not sentence.endswith(":")] or whole


MAX_COMMITS = 300
MIN_COMMITS = 20
"""With fewer commits, no habit is derived."""
_CONVENTIONAL = lazy_regex(r"^(?P<type>[a-z]{2,12})(?:\((?P<scope>[\w./ -]{1,30})\))?!?: \S")
_TYPES = frozenset(
    {"feat", "fix", "docs", "chore", "refactor", "test", "tests", "ci", "build", "perf", "style", "revert"}
)
_KEY = lazy_regex(r"^\[?(?P<key>[A-Z][A-Z0-9]+)-\d+\]?\b")
_PULL_REQUEST = lazy_regex(r"\(#\d+\)$")
_REVERT = lazy_regex(r'^Revert ".+"$')
_HABIT = 0.6
"""Least share of commits that makes something a habit of the project."""


def read_history(git: Repository, head: str) -> tuple[RuleLine, ...]:
    """Return statements on how commits are made here, from the newest commits at `head`, along first parents."""
    return describe_commits(git.commits(head, most=MAX_COMMITS, options=("--first-parent",)) or ())


def describe_commits(commits: Sequence[Commit]) -> tuple[RuleLine, ...]:
    """Return the habits that `commits` (newest first) show, without commits of machines."""
    people = [commit for commit in commits if not _RULES.machine.match(_subject(commit))]
    return tuple(
        RuleLine(content=content, line=1, span=span[:200], command=True) for content, span in _habits(people)
    )


def _habits(commits: Sequence[Commit]) -> Iterable[tuple[str, str]]:
    subjects = [_subject(commit) for commit in commits if not _REVERT.match(_subject(commit))]
    if len(subjects) < MIN_COMMITS:
        return
    bare = [_PULL_REQUEST.sub("", subject).rstrip() for subject in subjects]
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
    if sum(bool(_PULL_REQUEST.search(subject)) for subject in subjects) >= share:
        yield (
            "Commits on the main branch here are squashed pull requests: their subjects end with its number",
            subjects[0],
        )
    signed = sum("\nSigned-off-by: " in commit.message for commit in commits)
    if signed >= len(commits) * 0.8:
        yield "Commits here are signed off (`git commit -s`)", "Signed-off-by"


def _subject(commit: Commit) -> str:
    return commit.message.lstrip("\n").split("\n", 1)[0].strip()


RULE_FILES = (
    "CLAUDE.md", ".claude/CLAUDE.md", "AGENTS.md", "GEMINI.md", ".cursorrules", ".windsurfrules",
    ".github/copilot-instructions.md", "CONTRIBUTING.md", ".github/CONTRIBUTING.md",
)  # fmt: skip
RULE_FOLDERS = (
    (".cursor/rules", "**/*.mdc"),
    (".claude/rules", "**/*.md"),
    (".github/instructions", "*.instructions.md"),
)
READMES = ("README.md", "readme.md", "Readme.md")
DECISION_FOLDERS = (
    "docs/adr", "docs/adrs", "doc/adr", "docs/decisions", "docs/architecture/decisions", "adr", "decisions",
    "architecture/decisions", "docs/architecture",
)  # fmt: skip
HISTORY = ".git"
_PROSE = ("CONTRIBUTING.md", ".github/CONTRIBUTING.md")
LEAST_BREADTH = 1.0
_FORM = b"3"
"""Version of the readers of manifests, README and commits, part of the digest: a new value has all of them read anew."""
MAX_BYTES = 400_000
MAX_FILES = 200
"""Most files of one project; further ones are not read, and their memories are not retired."""


@frozen
class Source:
    """A file, or the git history, whose statements can be imported.

    Attributes:
        path: relative to the project root, with forward slashes.
        digest: changes when its content does.
        drafts: returns its statements, dated with the given time; raises `InvalidPayload` if it cannot be read.
        read_off: it is a README, a manifest or the commits: its statements are only found on demand, and never wait for
            the user. Two that differ in one word are about two things.
        rules: it is a rule file, which the user may have written; all else was written by others or read off by a program.
        text: its content if it is a rule file, else "".
        breadth: greatest breadth of its statements. A low one keeps what a manifest holds out of the start of a session.
    """

    path: str
    digest: str
    drafts: Callable[[int], tuple[Draft, ...]]
    read_off: bool = False
    rules: bool = False
    text: str = ""
    breadth: float = GREATEST_BREADTH


def find_rule_files(root: Path) -> tuple[Path, ...]:
    """Return the rule files inside `root` in a fixed order; a file with two links counts once."""
    return _within(
        root, (*(root / name for name in RULE_FILES), *_in_folders(root, root.resolve(), RULE_FOLDERS))
    )


def find_project_files(root: Path) -> tuple[Path, ...]:
    """Return README, decision records and manifests under `root`, in a fixed order."""
    folders = tuple(
        (name, "adr-*.md" if name.endswith("architecture") else "*.md") for name in DECISION_FOLDERS
    )
    root_files = (root / name for name in (*READMES, *MANIFESTS))
    return _within(root, (*root_files, *_in_folders(root, root.resolve(), folders)))


def read_bytes(file: Path, most: int = MAX_BYTES) -> bytes | None:
    """Return the first `most` + 1 bytes of a file, so that a longer one can be told; None = it cannot be read."""
    try:
        with file.open("rb") as opened:
            return opened.read(most + 1)
    except OSError:
        return None


def file_source(path: str, raw: bytes, *, project_id: str) -> Source:
    """Return the source for the file at `path` with the content `raw`.

    Its `drafts` raise `InvalidPayload` if the file is too large.
    """
    read_off = path in MANIFESTS or path in READMES
    digest = hashlib.sha256((_FORM if read_off else b"") + raw).hexdigest()[:16]

    text = decode_text(raw)

    def drafts(at_ms: int) -> tuple[Draft, ...]:
        if len(raw) > MAX_BYTES:  # a part of it would end what the rest says
            raise InvalidPayload(f"it is too large: more than {MAX_BYTES // 1000} kB")
        return read_drafts(text, path, project_id=project_id, at_ms=at_ms)

    told_by_the_way = read_off or _is_decision(path)
    breadth = LEAST_BREADTH if told_by_the_way else GREATEST_BREADTH
    return Source(
        path=path,
        digest=digest,
        drafts=drafts,
        read_off=read_off,
        breadth=breadth,
        rules=not told_by_the_way,
        text=text,
    )


def history_source(root: Path, *, project_id: str) -> Source | None:
    """Return a source of statements on how commits are made in the repository at `root`.

    They are read off its newest commits. None = it has no commits, or git cannot read them.
    """
    git = git_at(root)
    head = next(iter(git.commits("HEAD", most=1) or ()), None) if git is not None else None
    if git is None or head is None:
        return None

    def drafts(at_ms: int) -> tuple[Draft, ...]:
        lines = read_history(git, head.id)
        return tuple(_read_off(line, HISTORY, project_id, at_ms) for line in lines)

    digest = f"{head.id[:16]}.{_FORM.decode()}"
    return Source(path=HISTORY, digest=digest, drafts=drafts, read_off=True, breadth=LEAST_BREADTH)


def read_drafts(text: str, path: str, *, project_id: str, at_ms: int) -> tuple[Draft, ...]:
    """Return the statements of a file as drafts with the tier `import`; the caller decides which are the user's.

    Raises:
        InvalidPayload: if a manifest makes no sense.
    """
    if path in MANIFESTS:
        return tuple(_read_off(line, path, project_id, at_ms) for line in read_manifest(path, text))
    if _is_decision(path):
        decided = read_decision(text)
        drafts = [_draft(line, (), path, project_id, at_ms) for line in decided]
        return tuple(replace(draft, kind="decision") for draft in drafts)
    if path in READMES:
        return tuple(_read_off(line, path, project_id, at_ms) for line in read_readme(text))
    rules = read_rules(text, rules_only=path in _PROSE)
    return tuple(_draft(line, rules.paths, path, project_id, at_ms) for line in rules.lines)


def kind_of_rule(content: str) -> str:
    """Return the kind that a rule file's statement names by its words, else `guideline` for a rule, else `fact`."""
    kind = kind_of(content)
    if kind == "correction":  # one corrects somebody in a conversation; a file states
        kind = "fact"
    return (
        "guideline"
        if kind == "fact" and (rule_like(content) or _RULES.recurring_order.match(content))
        else kind
    )


def _is_decision(path: str) -> bool:
    return any(path.startswith(f"{folder}/") for folder in DECISION_FOLDERS)


def _within(root: Path, paths: tuple[Path, ...]) -> tuple[Path, ...]:
    base = root.resolve()
    by_target: dict[Path, Path] = {}
    for path in paths:
        if len(by_target) >= MAX_FILES:
            break
        if path.is_file():
            target = path.resolve()
            if target.is_relative_to(base):
                by_target.setdefault(target, path)
    return tuple(by_target.values())


def _in_folders(root: Path, base: Path, folders: tuple[tuple[str, str], ...]) -> Iterator[Path]:
    """Yield the matching files of each (folder, pattern), sorted, without links that lead out of the project."""
    for name, pattern in folders:
        folder = root / name
        if folder.is_dir() and folder.resolve().is_relative_to(base):
            # glob does not descend into links below its start; the bound holds for what one folder may yield.
            yield from sorted(islice(folder.glob(pattern), MAX_FILES))


def _read_off(line: RuleLine, path: str, project_id: str, at_ms: int) -> Draft:
    return replace(_draft(line, (), path, project_id, at_ms), read_off=True)


def _draft(line: RuleLine, paths: tuple[str, ...], path: str, project_id: str, at_ms: int) -> Draft:
    kind = "fact" if line.command else kind_of_rule(line.content)
    trigger = make_trigger(line.content, kind=kind)
    if paths:
        trigger = replace(trigger, paths=tuple(dict.fromkeys((*paths, *trigger.paths))))
    return Draft(
        content=line.content,
        kind=kind,
        scope=project_scope(project_id),
        provenance=Provenance(tier=TrustTier.IMPORT, source=path, span=line.span),
        at_ms=at_ms,
        line=line.line,
        trigger=trigger,
    )


# --- README

MAX_COMMANDS = 20
_MAX_WORDS = 40


def read_readme(text: str) -> tuple[RuleLine, ...]:
    """Return what the project is, in its own first sentence, and the commands that its README shows, in order.

    The rest of a README is for people who do not know the project yet, or sells it; nothing of that is kept.
    """
    commands = [
        line
        for line in read_rules(text, rules_only=True).lines
        if line.command
        and not _RULES.no_label.match(line.content)
        and not _RULES.elsewhere.search(line.content)
    ]
    about = _about(blocks_of(text))
    return (*((about,) if about else ()), *commands[:MAX_COMMANDS])


def _about(blocks: Sequence[MarkdownBlock]) -> RuleLine | None:
    """Return the first sentence below the title, which says what the project is; None = none before the next heading."""
    name = ""
    for block in blocks:
        if block.kind == "heading":
            if name:
                return None
            name = block.text if block.level == 1 else ""
        if not name or block.kind != "text" or block.quote or block.level:
            continue
        sentences = split_sentences(block.text)
        if sentences and 5 <= len(sentences[0].split()) <= _MAX_WORDS:
            first = sentences[0].rstrip(".")
            content = first if first.lower().startswith(name.lower()) else f"{name}: {first}"
            return RuleLine(content=content, line=block.line, span=block.span[:200], command=True)
    return None
