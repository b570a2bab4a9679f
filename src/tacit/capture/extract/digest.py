"""The digest of a session: a few deterministic lines. In: what the session did. Out: text, "" when nothing is worth it.

Lines in fixed order, each with its code: impl (what was asked, files changed), dec (decided), block (still failing),
next (left to do), done (committed), fix (verified fixes). Only the user's words, paths and commands go in: the agent's
claims do not. Never longer than `MAX_CHARS`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from tacit.capture.prose import spoken_sentences
from tacit.capture.turn import Turn
from tacit.reading.commands import split_commands

CODES = ("impl", "dec", "block", "next", "done", "fix")
MAX_CHARS = 1200
_MAX_LINE = 160
_MAX_LINES = {"impl": 2, "dec": 3, "block": 2, "next": 4, "done": 1, "fix": 3}
_MAX_FILES = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionWork:
    """What a session has done so far; carried from one reading of its transcript to the next.

    Attributes:
        asked: the user's first real request, shortened.
        files: files edited or written, first touched first.
        decided, left, fixed: lines in order.
        commits: successful `git commit` calls.
    """

    asked: str = ""
    files: tuple[str, ...] = ()
    decided: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    fixed: tuple[str, ...] = ()
    commits: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Line:
    code: str
    texts: tuple[str, ...] = field(default=())


def extend_work(
    work: SessionWork,
    turns: Iterable[Turn],
    *,
    decided: Sequence[str],
    left: Sequence[str],
    fixed: Sequence[str],
) -> SessionWork:
    """`work` with what `turns` add to it."""
    files = dict.fromkeys(work.files)
    commits, asked = work.commits, work.asked
    for turn in turns:
        if turn.role == "user" and not asked:
            asked = _request(turn.text)
        for use in turn.tools:
            if use.finished and not use.failed:
                if use.tool in ("edit", "write"):
                    files.update(dict.fromkeys(use.paths))
                elif use.tool == "bash" and "git commit" in split_commands(use.command):
                    commits += 1
    return replace(
        work,
        asked=asked,
        files=tuple(files)[:50],
        decided=_joined(work.decided, decided),
        left=_joined(work.left, left),
        fixed=_joined(work.fixed, fixed),
        commits=commits,
    )


def write_digest(work: SessionWork, *, failing: Sequence[str]) -> str:
    """The digest, or "" for a session that changed, decided and left nothing."""
    if not (work.files or work.decided or work.left or work.fixed):
        return ""
    shown = list(work.files[:_MAX_FILES])
    more = len(work.files) - len(shown)
    files = ", ".join(shown) + (f" and {more} more" if more > 0 else "")
    impl = [text for text in (work.asked, f"changed {files}" if files else "") if text]
    plural = "commit" if work.commits == 1 else "commits"
    lines = (
        _Line(code="impl", texts=tuple(impl)),
        _Line(code="dec", texts=work.decided),
        _Line(code="block", texts=tuple(f"`{command}` still fails" for command in failing)),
        _Line(code="next", texts=work.left),
        _Line(code="done", texts=(f"{work.commits} {plural}",) if work.commits else ()),
        _Line(code="fix", texts=work.fixed),
    )
    written: list[str] = []
    for line in lines:
        for text in line.texts[-_MAX_LINES[line.code] :]:
            whole = f"{line.code}: {_short(text)}"
            if sum(map(len, written)) + len(written) + len(whole) <= MAX_CHARS:
                written.append(whole)
    return "\n".join(written)


def _request(text: str) -> str:
    sentences = [s.text for s in spoken_sentences(text) if len(s.text.split()) >= 4]
    return _short(sentences[0]) if sentences else ""


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _MAX_LINE else flat[: _MAX_LINE - 3].rsplit(" ", 1)[0] + "..."


def _joined(old: tuple[str, ...], new: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*old, *(_short(text) for text in new))))[-20:]
