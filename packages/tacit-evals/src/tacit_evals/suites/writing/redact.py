"""What the write path lets into the home. In: texts with the secrets in them marked, and innocent ones. Out: a scorecard.

Every text is stated, said in a prompt, run and failed as a command, answered by the agent, read from a transcript and asked
about, in a project of its own, in one throw-away home. Then every file of that home is read, and what was put in must not be there.
"""

from __future__ import annotations

import contextlib
import json
import logging
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tacit.app.engine import Engine
from tacit.app.wiring import open_engine
from tacit.config.home import Home
from tacit.daemon.logs import start_log
from tacit.errors import TacitError
from tacit.model.changes import Add, Merge
from tacit.model.session import SessionKey
from tacit_evals.data.recognise import folders_of
from tacit_evals.data.rows import Row, read_rows
from tacit_evals.report.scorecard import Listing, Part, Scorecard
from tacit_evals.suites.running import Run

WINDOW = 8
"""So many characters of a secret in a row are a leak."""
PUBLIC = (
    "github_pat_", "sk-ant-api03-", "sk-ant-", "sk-proj-", "sk-or-v1-", "sk_live_", "sk_test_", "rk_live_", "whsec_", "lin_api_", "dckr_pat_",
    "shpat_", "glpat-", "xoxb-", "xoxp-", "gocspx-", "pypi-ageichlwas5vcmc", "age-secret-key-1", "-----begin", "sq0atp-", "dop_v1_", "nrak-",
    "eyjhbgcioijiuzi1niisinr5cci6ikpxvcj9", "eyjhbgcioijsuzi1niisinr5cci6ikpxvcj9", "accountkey=", "https://", "postgres://", "postgresql://",
    "mongodb+srv://", "mysql://", "redis://", "hooks.slack.com/services/", "access_token=", "password=",
)  # fmt: skip
"""What stands in front of every token of an issuer, or names it: no secret. Lower case."""
_HOST = "claude-code"
_MARK = "[redacted:"


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """One row: a text, and the parts of it that must go (none = the text is innocent)."""

    id: str
    text: str
    spans: tuple[str, ...]
    shape: str


def load_texts(folder: Path) -> tuple[Text, ...]:
    """Rows of every `*.jsonl` and `*.jsonl.gz` of `folder`.

    Raises:
        InvalidInput: naming the row that is wrong.
    """
    files = sorted((*folder.glob("*.jsonl"), *folder.glob("*.jsonl.gz")))
    return tuple(_text(row, file) for file in files for row in read_rows(file))


def _text(row: Row, file: Path) -> Text:
    label, spans, text = row.text("label"), row.texts("spans"), row.text("text")
    if label not in ("secret", "innocent") or (label == "secret") != bool(spans):
        raise row.bad(
            f"label {label!r} with {len(spans)} spans.", "A secret has spans, an innocent text none."
        )
    for span in spans:
        if span not in text:
            raise row.bad(
                f"{span[:4]!r}... is not in the text.", "Every span is a verbatim part of the text."
            )
    return Text(id=f"{file.name}:{row.text('id')}", text=text, spans=spans, shape=row.maybe("shape"))


def run_redact(run: Run) -> Scorecard:
    """Measure every folder of marked texts below the run's folder."""
    texts = [text for folder in folders_of("redact", run.data) for text in load_texts(folder)]
    run.say(f"{len(texts)} texts through the write path")
    with tempfile.TemporaryDirectory(prefix="tacit-redact-") as place:
        home, outside = Path(place) / "home", Path(place) / "outside"
        touched = put_in(texts, home=home, outside=outside, run=run)
        leaks = find_leaks(texts, home=home, exports=outside / "exports")
    return _card(texts, leaks, touched, run)


def put_in(texts: list[Text], *, home: Path, outside: Path, run: Run) -> set[str]:
    """Give every text every way into `home`; return the ids of texts without a secret that were changed."""
    Home(home).ensure()
    (outside / "exports").mkdir(parents=True)
    handler = start_log(Home(home), max_bytes=50_000_000, files=1)
    engine = open_engine(home, embedder=run.embedder)
    touched: set[str] = set()
    try:
        for number, text in enumerate(texts):
            folder = outside / "projects" / f"p{number}"
            folder.mkdir(parents=True)
            if not _unchanged(engine, text, folder) and not text.spans:
                touched.add(text.id)
            _session(engine, text, folder, f"s{number}")
        engine.flush()
        engine.learning.capture_pending()
        engine.prerender()
        touched.update(_masked(engine, texts))
        engine.flush()
        engine.maintenance.backup(outside / "exports" / "backup.db")
    finally:
        engine.close()
        logging.getLogger().removeHandler(handler)
        handler.close()
    return touched


def _unchanged(engine: Engine, text: Text, folder: Path) -> bool:
    """Whether the statement was stored word by word."""
    try:
        changes = engine.remember(text.text, cwd=str(folder), files=("src/app.py",))
    except TacitError:
        return False
    stored = [change.memory.content for change in changes if isinstance(change, Add | Merge)]
    return stored == [text.text.strip()]


def _session(engine: Engine, text: Text, folder: Path, session: str) -> None:
    """A session in which the text is said, run, answered and kept in a transcript."""

    def send(event: str, **fields: object) -> None:
        payload = {"session_id": session, "cwd": str(folder), "hook_event_name": event, **fields}
        engine.hook(_HOST, payload, deadline_ms=5000)

    call = {"tool_name": "Bash", "tool_use_id": f"{session}-1", "tool_input": {"command": text.text}}
    send("SessionStart", source="startup")
    send("UserPromptSubmit", prompt=text.text)
    send("UserPromptSubmit", prompt=f"Remember that: {text.text}")
    send("PreToolUse", **call)
    send("PostToolUseFailure", **call, error=f"fatal: {text.text}")
    send("Stop", last_assistant_message=f"I have found this: {text.text}")
    send("UserPromptSubmit", prompt="yes, please commit it")
    engine.recall(text.text, cwd=str(folder))
    transcript = folder / "transcript.jsonl"
    transcript.write_text("".join(json.dumps(line) + "\n" for line in _lines(text, folder, session)), "utf-8")
    send("SessionEnd", reason="exit", transcript_path=str(transcript))


def _lines(text: Text, folder: Path, session: str) -> Iterator[dict[str, object]]:
    """The transcript that a host would have kept."""
    messages: list[tuple[str, object]] = [
        ("user", text.text),
        ("assistant", [{"type": "text", "text": f"Understood: {text.text}"}]),
        ("user", f"From now on always use this: {text.text}"),
        ("assistant", [_tool("t1", "Bash", {"command": "make deploy"})]),
        ("user", [_result("t1", f"Error: {text.text}", failed=True)]),
        ("assistant", [_tool("t2", "Edit", {"file_path": f"{folder}/app.py", "old_string": "a", "new_string": text.text})]),
        ("user", [_result("t2", "ok")]),
        ("assistant", [_tool("t3", "Bash", {"command": "make deploy"})]),
        ("user", [_result("t3", "done")]),
        ("user", f"No, that is wrong. {text.text}"),
    ]  # fmt: skip
    for number, (role, content) in enumerate(messages):
        yield {
            "type": role,
            "uuid": f"{session}-{number}",
            "sessionId": session,
            "cwd": str(folder),
            "timestamp": f"2026-01-01T10:{number:02d}:00.000Z",
            "message": {"role": role, "content": content},
        }


def _tool(name: str, tool: str, arguments: dict[str, object]) -> dict[str, object]:
    return {"type": "tool_use", "id": name, "name": tool, "input": arguments}


def _result(name: str, text: str, *, failed: bool = False) -> dict[str, object]:
    return {"type": "tool_result", "tool_use_id": name, "content": text, "is_error": failed}


def _masked(engine: Engine, texts: list[Text]) -> set[str]:
    """Innocent texts of whose session the record or a trace holds a mark."""
    masked: set[str] = set()
    for number, text in enumerate(texts):
        if text.spans:
            continue
        key = SessionKey(host=_HOST, session_id=f"s{number}")
        traces = [trace.text for trace in engine.why(session=str(key), limit=20)]
        if any(_MARK in trace for trace in traces):
            masked.add(text.id)
    return masked


def windows_of(text: Text) -> frozenset[str]:
    """Every run of `WINDOW` characters of the spans, lower case, without what is public or stands beside them too."""
    rest = text.text
    for span in text.spans:
        rest = rest.replace(span, "\n")
    rest = rest.casefold()
    windows: set[str] = set()
    for span in text.spans:
        secret = span.casefold()
        for prefix in PUBLIC:
            secret = secret.replace(prefix, "\n")
        pieces = (
            [secret]
            if len(secret) < WINDOW
            else [secret[i : i + WINDOW] for i in range(len(secret) - WINDOW + 1)]
        )
        windows.update(piece for piece in pieces if "\n" not in piece and piece not in rest)
    return frozenset(windows)


def find_leaks(texts: list[Text], *, home: Path, exports: Path) -> dict[str, set[str]]:
    """Where parts of secrets are: names of places by the id of the text."""
    owners: dict[str, set[str]] = {}
    for text in texts:
        for window in windows_of(text):
            owners.setdefault(window, set()).add(text.id)
    innocent = "\n".join(text.text.casefold() for text in texts if not text.spans)
    owners = {window: ids for window, ids in owners.items() if window not in innocent}
    sizes = {len(window) for window in owners}
    leaks: dict[str, set[str]] = {}
    for place, content in _everything(home, exports):
        lower = content.casefold()
        for size in sizes:
            for start in range(len(lower) - size + 1):
                for owner in owners.get(lower[start : start + size], ()):
                    leaks.setdefault(owner, set()).add(place)
    return leaks


def _everything(home: Path, exports: Path) -> Iterator[tuple[str, str]]:
    """(place, text) of every file, and of every value of every table, indexes of words included."""
    for file in sorted((*home.rglob("*"), *exports.rglob("*"))):
        if not file.is_file():
            continue
        place = "exports" if file.is_relative_to(exports) else file.relative_to(home).parts[0]
        yield place, file.read_bytes().decode("utf-8", "replace")
        if file.suffix == ".db":
            yield from _tables(file, place)


def _tables(file: Path, place: str) -> Iterator[tuple[str, str]]:
    with contextlib.closing(sqlite3.connect(file)) as base:
        for (table,) in base.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            with contextlib.suppress(sqlite3.OperationalError):  # what an extension of another build keeps
                for row in base.execute(f'SELECT * FROM "{table}"'):
                    yield f"{place}: {table}", "\n".join(_readable(value) for value in row)


def _readable(value: object) -> str:
    """A value as text; JSON without its escapes."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    text = str(value)
    if text[:1] in ("{", "["):
        with contextlib.suppress(ValueError):
            return "\n".join(_leaves(json.loads(text)))
    return text


def _leaves(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        for name, child in value.items():
            yield str(name)
            yield from _leaves(child)
    elif isinstance(value, list):
        for child in value:
            yield from _leaves(child)
    else:
        yield str(value)


def _card(texts: list[Text], leaks: dict[str, set[str]], touched: set[str], run: Run) -> Scorecard:
    secrets = [text for text in texts if text.spans]
    innocents = [text for text in texts if not text.spans]
    gone = sum(text.id not in leaks for text in secrets)
    untouched = sum(text.id not in touched for text in innocents)
    places = Counter(place for own in leaks.values() for place in own)
    return Scorecard(
        suite="redact",
        dataset=str(run.data),
        settings={"embedder": str(run.embedder.identity)},
        total=Part(
            name="all",
            metrics={
                "secrets_gone": gone / len(secrets) if secrets else None,
                "innocents_untouched": untouched / len(innocents) if innocents else None,
                "secrets": float(len(secrets)),
                "secrets_left": float(len(secrets) - gone),
                "innocents": float(len(innocents)),
                "innocents_touched": float(len(innocents) - untouched),
            },
            curves={"left_in": dict(places)},
        ),
        columns=("secrets_gone", "innocents_untouched", "secrets_left", "innocents_touched"),
        listings=(
            _listing("secrets left", [text for text in secrets if text.id in leaks]),
            _listing("innocents touched", [text for text in innocents if text.id in touched]),
        ),
    )


def _listing(title: str, texts: list[Text]) -> Listing:
    return Listing(
        title=title,
        counts=Counter(text.shape for text in texts),
        columns=("row", "shape"),
        rows=[(text.id, text.shape) for text in texts],
    )
