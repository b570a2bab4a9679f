"""What capture, redaction and recall do with texts in other languages than English. In: a file per language. Out: a scorecard.

A file (`german.txt`) has the sections `## kept` (statements to remember, some with a later prompt behind ` ¦ ` that needs them), `## others`
(sentences to leave alone) and `## secrets` (texts whose secret stands between ⟦ and ⟧; `@hex32` and the like are made up at the
run). Lines 1, 3, 5 of a section are the development half, the others the test half. The texts were written without sight of the patterns.
"""

from __future__ import annotations

import random
import string
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tacit.app.engine import Engine
from tacit.app.wiring import open_engine
from tacit.config.home import Home
from tacit.config.settings import PrivacySettings
from tacit.errors import InvalidInput
from tacit.model.changes import Add
from tacit.model.session import SessionKey
from tacit.ports.store import MemoryFilter
from tacit.safety.redact import Redactor
from tacit_evals.data.recognise import folders_of
from tacit_evals.report.scorecard import Line, Listing, Part, Scorecard
from tacit_evals.suites.running import Run

SECTIONS = ("kept", "others", "secrets")
WINDOW = 8
"""So many characters of a secret in a row are a leak; of a shorter one, all of it."""
LEAST_KEPT, MOST_OTHERS, LEAST_GONE = 27, 1, 0.95
"""Promised per language: statements of 30, others of 30, share of secrets."""
_ASKED = " ¦ "
_HOST = "claude-code"
_ALNUM = string.ascii_letters + string.digits
_MADE = {
    "@hex32": ("", "0123456789abcdef", 32), "@hex40": ("", "0123456789abcdef", 40), "@alnum20": ("", _ALNUM, 20), "@alnum40": ("", _ALNUM, 40),
    "@base64": ("", _ALNUM, 43), "@github": ("ghp_", _ALNUM, 36), "@awssecret": ("", _ALNUM, 40), "@stripe": ("sk_live_", _ALNUM, 24),
    "@jwt": ("eyJhbGciOiJIUzI1NiJ9.eyJ", _ALNUM, 60),
}  # fmt: skip
"""Secrets that are made up at the run: what stands before the random part, its characters, and how many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Texts:
    """The texts of one language.

    Attributes:
        name: of the file.
        kept, others: statements to keep, sentences to leave alone.
        asks: a later prompt by the place of the statement that it needs.
        secrets: texts, each with the secret in it.
    """

    name: str
    kept: tuple[str, ...]
    others: tuple[str, ...]
    asks: tuple[tuple[int, str], ...]
    secrets: tuple[tuple[str, str], ...]


def read_texts(path: Path) -> Texts:
    """The texts of a file.

    Raises:
        InvalidInput: if a line stands in no section, or a secret is not marked.
    """
    lines: dict[str, list[str]] = {section: [] for section in SECTIONS}
    section = ""
    for line in filter(None, path.read_text("utf-8").splitlines()):
        if line.startswith("## "):
            section = line[3:]
        elif section not in lines:
            raise InvalidInput(
                f"{path}: a line stands in no known section.", hint=f"Sections: {', '.join(SECTIONS)}."
            )
        else:
            lines[section].append(line)
    statements = [line.split(_ASKED) for line in lines["kept"]]
    made = random.Random(path.stem)
    return Texts(
        name=path.stem,
        kept=tuple(parts[0] for parts in statements),
        others=tuple(lines["others"]),
        asks=tuple((at, parts[1]) for at, parts in enumerate(statements) if len(parts) > 1),
        secrets=tuple(_with_secret(line, path, made) for line in lines["secrets"]),
    )


def _with_secret(line: str, path: Path, made: random.Random) -> tuple[str, str]:
    before, mark, rest = line.partition("⟦")
    secret, end, after = rest.partition("⟧")
    if not (mark and end and secret):
        raise InvalidInput(f"{path}: no secret is marked in {line!r}.", hint="Write it between ⟦ and ⟧.")
    if secret in _MADE:
        start, characters, count = _MADE[secret]
        secret = start + "".join(made.choice(characters) for _ in range(count))
    return f"{before}{secret}{after}", secret


def run_languages(run: Run) -> Scorecard:
    """Measure every file of every folder of such texts below the run's folder."""
    files = [path for folder in folders_of("languages", run.data) for path in sorted(folder.glob("*.txt"))]
    parts: list[Part] = []
    lines: list[Line] = []
    listings: list[Listing] = []
    for path in files:
        run.say(path.stem)
        texts = read_texts(path)
        part, errors = measure_language(texts, run)
        parts.append(part)
        listings.append(errors)
        figures = part.metrics
        if texts.kept and texts.secrets:
            lines += (
                Line(name=f"{texts.name}: statements kept", value=figures["kept"], least=LEAST_KEPT),
                Line(name=f"{texts.name}: others kept", value=figures["others_kept"], most=MOST_OTHERS),
            )
        if texts.secrets:
            lines.append(
                Line(name=f"{texts.name}: secrets gone", value=figures["secrets_gone"], least=LEAST_GONE)
            )
    names = dict.fromkeys(name for part in parts for name in part.metrics)
    values = {
        name: [value for part in parts if (value := part.metrics.get(name)) is not None] for name in names
    }
    return Scorecard(
        suite="languages",
        dataset=str(run.data),
        settings={"embedder": str(run.embedder.identity)},
        total=Part(
            name="mean", metrics={name: sum(found) / len(found) for name, found in values.items() if found}
        ),
        parts=tuple(parts),
        columns=tuple(names),
        lines=tuple(lines),
        listings=tuple(listings),
    )


def measure_language(texts: Texts, run: Run) -> tuple[Part, Listing]:
    """The figures of one language, and the errors of its development half alone."""
    redactor = Redactor(PrivacySettings())
    left = [_leaks(redactor.redact(text).text, secret) for text, secret in texts.secrets]
    touched = sum(redactor.redact(text).has_secret for text in (*texts.kept, *texts.others))
    with tempfile.TemporaryDirectory(prefix="tacit-languages-") as place:
        home = Path(place) / "home"
        Home(home).ensure()
        engine = open_engine(home, embedder=run.embedder)
        try:
            kept, taken = _captured(engine, texts, Path(place) / "capture")
            recall = _recalled(engine, texts, Path(place) / "recall")
        finally:
            engine.close()
    figures: dict[str, float | None] = {
        "kept": float(len(kept)),
        "kept_dev": float(sum(at % 2 == 0 for at in kept)),
        "kept_test": float(sum(at % 2 for at in kept)),
        "others_kept": float(len(taken)),
        "others_kept_test": float(sum(at % 2 for at in taken)),
        "secrets_gone": 1 - sum(left) / len(left) if left else None,
        "secrets_gone_dev": 1 - sum(left[::2]) / len(left[::2]) if left else None,
        "secrets_gone_test": 1 - sum(left[1::2]) / len(left[1::2]) if left else None,
        "innocents_touched": float(touched),
        **recall,
    }
    rows = [
        *(("not kept", text) for at, text in enumerate(texts.kept) if at % 2 == 0 and at not in kept),
        *(("kept", text) for at, text in enumerate(texts.others) if at % 2 == 0 and at in taken),
        *(("secret left", text) for at, (text, _) in enumerate(texts.secrets) if at % 2 == 0 and left[at]),
    ]
    counts = {name: sum(row[0] == name for row in rows) for name in dict.fromkeys(row[0] for row in rows)}
    title = f"{texts.name}, errors of the development half"
    return Part(name=texts.name, metrics=figures), Listing(
        title=title, counts=counts, columns=("error", "text"), rows=rows
    )


def _leaks(text: str, secret: str) -> bool:
    size = min(WINDOW, len(secret))
    return any(secret[at : at + size] in text for at in range(len(secret) - size + 1))


def _captured(engine: Engine, texts: Texts, folder: Path) -> tuple[frozenset[int], frozenset[int]]:
    """Places of the statements, and of the other sentences, that an active memory came from: each is said in a session of its own."""
    folder.mkdir()
    for name, said in (("kept", texts.kept), ("other", texts.others)):
        for number, text in enumerate(said):
            _prompt(engine, text, folder, f"{name}-{number}")
    engine.flush()
    memories = engine.list_memories(MemoryFilter(statuses=("active",)), limit=500)
    sessions = [memory.provenance.session_id.split("-") for memory in memories]
    return (
        frozenset(int(number) for name, number in sessions if name == "kept"),
        frozenset(int(number) for name, number in sessions if name == "other"),
    )


def _recalled(engine: Engine, texts: Texts, folder: Path) -> dict[str, float | None]:
    """What prompts are given, and what comes first on demand, where every statement is stored."""
    folder.mkdir()
    ids = [
        next(
            (
                change.memory.id
                for change in engine.remember(text, cwd=str(folder))
                if isinstance(change, Add)
            ),
            "",
        )
        for text in texts.kept
    ]
    engine.flush()
    first = given_right = given = unrelated = 0
    for number, (at, text) in enumerate(texts.asks):
        found = engine.recall(text, cwd=str(folder), store_trace=False).trace.injected
        first += found[:1] == (ids[at],)
        injected = _given(engine, text, folder, f"ask-{number}")
        given_right += ids[at] in injected
        given += len(injected)
    for number, text in enumerate(texts.others):
        unrelated += bool(_given(engine, text, folder, f"chat-{number}"))
    count = len(texts.asks)
    return {
        "first_on_demand": first / count if count else None,
        "given_to_prompts": given_right / count if count else None,
        "precision_of_prompts": given_right / given if given else None,
        "chat_given": unrelated / len(texts.others) if texts.others else None,
    }


def _given(engine: Engine, text: str, folder: Path, session: str) -> tuple[str, ...]:
    """Ids of the memories that a prompt is given."""
    _prompt(engine, text, folder, session)
    engine.flush()
    traces = engine.why(session=str(SessionKey(host=_HOST, session_id=session)), limit=1)
    return traces[0].injected if traces else ()


def _prompt(engine: Engine, text: str, folder: Path, session: str) -> None:
    payload = {
        "session_id": session,
        "cwd": str(folder),
        "hook_event_name": "UserPromptSubmit",
        "prompt": text,
    }
    engine.hook(_HOST, payload, deadline_ms=10_000)
