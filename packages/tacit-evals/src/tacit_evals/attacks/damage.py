"""Damaged files of a home: no row that can still be read may be lost, and the hook goes on.

In: a lab. Out: an outcome for each damage. What can still be read is told by plain SQL on a copy of the damaged files, row by row,
before the product sees them. In a whole run the first case of each form goes through daemon and hook process, the others open the home in here.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import signal
import sqlite3
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path

from tacit.app.wiring import open_engine
from tacit.errors import TacitError
from tacit.ports.store import MemoryFilter
from tacit_evals.attacks.outcome import Area, Lab, Outcome, spread
from tacit_evals.attacks.product import Product
from tacit_evals.attacks.words import made_word

ROWS = 60
TOGETHER = 3
FAKE = {"TACIT_EMBEDDER__PROVIDER": "fake"}
PAGE = 4096
DEADLINE_S = 1.5 + 1.5
Damage = Callable[[Path, random.Random], None]


def _write_at(path: Path, at: int, data: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(at)
        file.write(data)


def _page(path: Path, chance: random.Random) -> int:
    """Where some page but the first begins."""
    return chance.randrange(1, max(2, path.stat().st_size // PAGE)) * PAGE


def _noise(chance: random.Random, count: int) -> bytes:
    return chance.randbytes(count)


def _one_page(home: Path, chance: random.Random) -> None:
    db = home / "tacit.db"
    _write_at(db, _page(db, chance), _noise(chance, PAGE))


def _zero_page(home: Path, chance: random.Random) -> None:
    db = home / "tacit.db"
    _write_at(db, _page(db, chance), bytes(PAGE))


def _some_pages(home: Path, chance: random.Random) -> None:
    for _ in range(chance.randint(2, 6)):
        (_one_page if chance.random() < 0.5 else _zero_page)(home, chance)


def _few_bytes(home: Path, chance: random.Random) -> None:
    db = home / "tacit.db"
    for _ in range(chance.randint(1, 8)):
        _write_at(db, _page(db, chance) + chance.randrange(PAGE - 8), _noise(chance, chance.randint(1, 8)))


def _page_head(home: Path, chance: random.Random) -> None:
    db = home / "tacit.db"
    _write_at(db, _page(db, chance), _noise(chance, 12))


def _swapped(home: Path, chance: random.Random) -> None:
    db = home / "tacit.db"
    data = db.read_bytes()
    first, second = _page(db, chance), _page(db, chance)
    _write_at(db, first, data[second : second + PAGE])
    _write_at(db, second, data[first : first + PAGE])


def _memory_page(home: Path, chance: random.Random) -> None:
    """A page that holds rows of memories."""
    db = home / "tacit.db"
    data = db.read_bytes()
    at = [place for place in range(PAGE, len(data), PAGE) if b'"content"' in data[place : place + PAGE]]
    _write_at(db, chance.choice(at) if at else PAGE, _noise(chance, PAGE))


def _cut(home: Path, chance: random.Random) -> None:
    db = home / "tacit.db"
    os.truncate(db, max(PAGE, db.stat().st_size - chance.randint(1, 5 * PAGE)))


def _header(home: Path, chance: random.Random) -> None:
    _write_at(home / "tacit.db", chance.choice((16, 18, 28, 32, 36, 40, 44, 56, 60, 92)), _noise(chance, 4))


def _no_header(home: Path, chance: random.Random) -> None:
    _write_at(home / "tacit.db", 0, _noise(chance, 100))


def _another_file(home: Path, chance: random.Random) -> None:
    (home / "tacit.db").write_bytes(
        chance.choice((b"", b"hello\n", b"PK\x03\x04" + _noise(chance, 900), bytes(8192)))
    )


def _log(change: Callable[[Path, random.Random], None]) -> Damage:
    def damage(home: Path, chance: random.Random) -> None:
        change(home / "tacit.db-wal", chance)

    return damage


def _log_noise(path: Path, chance: random.Random) -> None:
    size = path.stat().st_size if path.exists() else 0
    if size > 200:
        _write_at(path, chance.randrange(32, size - 100), _noise(chance, chance.randint(1, 100)))
    else:
        path.write_bytes(_noise(chance, 5000))


def _log_cut(path: Path, chance: random.Random) -> None:
    if path.exists():
        os.truncate(path, chance.randrange(0, max(1, path.stat().st_size)))


def _log_longer(path: Path, chance: random.Random) -> None:
    with path.open("ab") as file:
        file.write(_noise(chance, chance.randint(1, 9000)))


def _shared(home: Path, chance: random.Random) -> None:
    path = home / "tacit.db-shm"
    path.unlink(missing_ok=True)
    if chance.random() < 0.7:
        path.write_bytes(_noise(chance, chance.choice((0, 100, 32768))))


def _journal(home: Path, chance: random.Random) -> None:
    (home / "tacit.db-journal").write_bytes(chance.choice((_noise(chance, 3000), bytes(600), b"")))


def _sql(*statements: str) -> Damage:
    def damage(home: Path, chance: random.Random) -> None:
        with contextlib.closing(sqlite3.connect(home / "tacit.db")) as store:
            store.execute("PRAGMA foreign_keys = OFF")
            with contextlib.suppress(sqlite3.Error):
                store.execute(chance.choice(statements).replace("%n", str(chance.randint(1, ROWS))))
            store.commit()

    return damage


def _index(home: Path, chance: random.Random) -> None:
    files = [path for path in (home / "index").rglob("*") if path.is_file()] or [
        home / "index" / "vectors-1.bin"
    ]
    path = chance.choice(files)
    match chance.randrange(4):
        case 0:
            path.unlink(missing_ok=True)
        case 1:
            path.write_bytes(_noise(chance, chance.randint(0, 5000)))
        case 2:
            path.unlink(missing_ok=True)
            path.mkdir(parents=True)
        case _:
            shutil.rmtree(home / "index", ignore_errors=True)
            (home / "index").write_text("x")


def _config(home: Path, chance: random.Random) -> None:
    texts = (
        b"recall: [", b"\xff\xfe\x00\x01", b"- a\n- b\n", b"unknown_section:\n  x: 1\n", b"recall:\n  budget_tokens: many\n", b"%YAML 9\n---\n", b"a: &a [*a]\n",
        b"embedder: 5\n", b"preset: nothing\n", b"{" * 5000, b"kinds:\n  x: y\n", b"\x00" * 4096, b"retention:\n  memories: -3\n",
    )  # fmt: skip
    (home / "config.yaml").write_bytes(chance.choice(texts))


def _spool(home: Path, chance: random.Random) -> None:
    folder = home / "spool"
    folder.mkdir(exist_ok=True)
    texts = (
        b"",
        b"{",
        _noise(chance, 3000),
        b'{"host":"x","event":"Stop","reason":"undelivered","at_ms":1}\n{',
        b'{"host":"claude-code"}\nnull',
        b"[]\n[]",
        b"\n" * 9999,
    )
    for number in range(5):
        (folder / f"{number:020d}-{number}.event").write_bytes(chance.choice(texts))
    (folder / "00000000000000000009-9.event").mkdir()


def _run(home: Path, chance: random.Random) -> None:
    folder = home / "run"
    for name in ("daemon.json", "start.lock", "daemon.lock", "upgrade"):
        if chance.random() < 0.6 and not (folder / name).is_dir():
            (folder / name).write_bytes(chance.choice((b"", b"{", _noise(chance, 300), b'{"pid": 1}')))
    (folder / "daemon.sock").unlink(missing_ok=True)
    (folder / "daemon.sock").write_text("x")


def _starts(home: Path, chance: random.Random) -> None:
    folder = home / "start"
    folder.mkdir(exist_ok=True)
    for path in [*folder.iterdir(), folder / "x.json"]:
        if not path.is_dir():
            path.write_bytes(_noise(chance, 200))


FORMS: dict[str, tuple[str, Damage]] = {
    "page": ("one page of noise", _one_page),
    "page of zeros": ("one page of zeros", _zero_page),
    "page of memories": ("noise over a page with rows of memories", _memory_page),
    "pages": ("several pages", _some_pages),
    "bytes": ("a few bytes", _few_bytes),
    "head of a page": ("the first bytes of a page", _page_head),
    "swapped pages": ("two pages in each other's place", _swapped),
    "cut": ("the end of the file is missing", _cut),
    "header": ("a number in the file's header", _header),
    "no header": ("the whole header", _no_header),
    "another file": ("no database at all", _another_file),
    "log, noise": ("noise in the write-ahead log", _log(_log_noise)),
    "log, cut": ("the log ends early", _log(_log_cut)),
    "log, longer": ("noise behind the log", _log(_log_longer)),
    "log, missing": ("no log", _log(lambda path, _: path.unlink(missing_ok=True))),
    "shared memory": ("the log's index is noise or missing", _shared),
    "journal": ("a rollback journal of another time", _journal),
    "row": ("one row that is no memory", _sql("UPDATE memories SET body = '{' WHERE number = %n", "UPDATE memories SET body = '[]' WHERE number = %n", "UPDATE memories SET body = x'ff00fe' WHERE number = %n", "UPDATE memories SET body = json_set(body, '$.provenance.tier', 'king') WHERE number = %n", "UPDATE memories SET body = json_remove(body, '$.validity') WHERE number = %n", "UPDATE memories SET body = json_set(body, '$.importance', 'much') WHERE number = %n")),
    "table missing": ("a table is gone", _sql("DROP TABLE documents", "DROP TABLE text_words", "DROP TABLE text_code", "DROP TABLE vectors", "DROP TABLE relations", "DROP TABLE traces", "DROP TABLE exposures", "DROP TABLE named_values", "DROP TABLE sessions")),
    "index missing": ("an index of the database is gone", _sql("DROP INDEX memories_by_age", "DROP INDEX memories_by_standing", "DROP INDEX memories_by_change", "DROP INDEX vectors_by_identity")),
    "rows of other tables": ("what belongs to the memories is noise", _sql("UPDATE vectors SET vector = x'00'", "DELETE FROM documents", "DELETE FROM vectors", "DELETE FROM identities", "UPDATE sessions SET body = '{'", "UPDATE projects SET body = '['", "UPDATE named_values SET value = 'x'", "DELETE FROM state")),
    "search words": ("the tables of the full text are noise", _sql("UPDATE text_words_data SET block = x'00ff'", "DELETE FROM text_words_data", "DELETE FROM text_words_docsize", "UPDATE text_code_data SET block = x'99'")),
    "vectors": ("the files of vectors", _index),
    "settings": ("the settings", _config),
    "spool": ("what waits for a daemon", _spool),
    "run": ("files of the daemon", _run),
    "start blocks": ("blocks that were made earlier", _starts),
    "newer schema": ("a schema that nobody knows yet", _sql("PRAGMA user_version = 999")),
}  # fmt: skip


_REFUSED = frozenset({"settings", "newer schema"})
"""What may be refused with a reason: then the rows must stand in the file as before."""


def readable_rows(home: Path, place: Path) -> set[str]:
    """Statements of memories that plain SQL reads from a copy of the files, row by row; text that is no UTF-8 is not intact."""
    place.mkdir()
    for name in ("tacit.db", "tacit.db-wal", "tacit.db-journal"):
        if (home / name).is_file():
            shutil.copyfile(home / name, place / name)
    statements: set[str] = set()
    with contextlib.suppress(sqlite3.Error), contextlib.closing(sqlite3.connect(place / "tacit.db")) as store:
        for number in range(1, 2 * ROWS):
            with contextlib.suppress(sqlite3.Error, ValueError, TypeError, KeyError):
                row = store.execute("SELECT body FROM memories WHERE number = ?", (number,)).fetchone()
                values = json.loads(row[0]) if row else None
                if values and _whole(values):
                    statements.add(values["content"])
    return statements


def _whole(values: object) -> bool:
    """Whether a body is a memory: what the form `row` takes away is there."""
    return (
        isinstance(values, dict)
        and isinstance(values["provenance"]["tier"], int)
        and "validity" in values
        and isinstance(values["importance"], float | int)
    )


def _template(lab: Lab, name: str, *, killed: bool) -> Path:
    """A home with `ROWS` memories; of a killed daemon a part of them stands in the log alone."""
    product = Product(lab.root / name, lab.python, environment=FAKE)
    folder = product.folder("p")
    with product.running():
        for _ in range(ROWS):
            text = " ".join(made_word(lab.chance) for _ in range(9))
            product.post("/v1/remember", {"content": f"The {text} holds", "kind": "fact", "cwd": str(folder)})
        product.settle()
        if killed:
            os.kill(
                int(json.loads((product.home / "run" / "daemon.json").read_text())["pid"]), signal.SIGKILL
            )
            time.sleep(0.2)
    for name_ in ("daemon.sock", "daemon.json"):
        (product.home / "run" / name_).unlink(missing_ok=True)
    return product.home


@contextmanager
def _environment(values: dict[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _opened_here(home: Path) -> set[str]:
    """What the engine lists; a home that was found damaged at work is opened once more, as the next start does.

    The backup of the day belongs to its work: it reads every page, also of an index that hides rows without an error.
    """
    with _environment({**FAKE, "TACIT_HOME": str(home)}):
        for last in (False, True):
            with closing(open_engine(home)) as engine:
                try:
                    memories = engine.list_memories(MemoryFilter(statuses=None), limit=10_000)
                    engine.upkeep()
                    return {memory.content for memory in memories}
                except TacitError:
                    if last:
                        raise
    return set()


def _opened_by_daemon(lab: Lab, root: Path) -> tuple[set[str], str]:
    """What the daemon lists after a hook process has asked it, at the second start at the latest; what was wrong with the hook."""
    product = Product(root, lab.python, environment=FAKE, hook=lab.hook)
    product.environment["TACIT_HOOK_DEADLINE_MS"] = "1500"
    wrong, listed = "", set[str]()
    for number in range(2):
        with product.running_unwarmed():
            began = time.monotonic()
            try:
                product.hook(
                    "SessionStart", session=f"d{number}", cwd=root, source="startup", by_process=True
                )
            except Exception as error:  # noqa: BLE001 - whatever the hook did wrong is the finding
                wrong = f"hook: {error}"
            if time.monotonic() - began > DEADLINE_S:
                wrong = f"hook took {time.monotonic() - began:.1f} s"
            with contextlib.suppress(OSError, ValueError, KeyError):
                listed = {str(memory["content"]) for memory in product.memories()}
        if len(listed) > ROWS // 2:
            break
    return listed, wrong


def _tried(lab: Lab, number: int, form: str, seed: int, source: Path, *, by_process: bool) -> Outcome:
    root = lab.root / f"d{number}"
    shutil.copytree(source, root / "h", symlinks=True)
    FORMS[form][1](root / "h", random.Random(seed))
    expected = readable_rows(root / "h", root / "copy")
    wrong, listed = "", set[str]()
    try:
        if by_process:
            listed, wrong = _opened_by_daemon(lab, root)
        else:
            listed = _opened_here(root / "h")
    except Exception as error:  # noqa: BLE001 - a home that cannot be opened has lost its rows
        wrong = f"{type(error).__name__}: {error}"
    if form in _REFUSED:
        listed |= readable_rows(root / "h", root / "after")
    lost = expected - listed
    came = (
        f"{len(lost)} of {len(expected)} readable rows lost. {wrong}" if lost else wrong if by_process else ""
    )
    shutil.rmtree(root, ignore_errors=True)
    how = "daemon and hook" if by_process else "opened in here"
    return Outcome(form=form, tried=f"damage of seed {seed}, {how}", survived=not came, came_out=came)


def attack(lab: Lab) -> list[Outcome]:
    """Damage copies of a home and count what is lost."""
    templates = (_template(lab, "a", killed=False), _template(lab, "b", killed=True))
    plan: list[tuple[int, str, int, Path]] = []
    for number, form in enumerate(spread(list(FORMS), lab.cases)):
        seed = lab.chance.randrange(1 << 30)
        plan.append((number, form, seed, templates[1 if form.startswith(("log", "shared")) else seed % 2]))
    # Each daemon takes seconds: a small run starts a few, a whole one a daemon for every form.
    processes = min(len(FORMS), max(1, lab.cases // 10))
    with ThreadPoolExecutor(TOGETHER) as pool:
        outcomes = list(pool.map(lambda case: _tried(lab, *case, by_process=True), plan[:processes]))
    return outcomes + [_tried(lab, *case, by_process=False) for case in plan[processes:]]


RULE = "always run `make lint` before you commit"


def undamaged(lab: Lab) -> list[Outcome]:
    """Homes that nothing happened to: every row is listed, and the hook hands over what the daemon knows, after a killed daemon, too."""
    outcomes: list[Outcome] = []
    for number, form in enumerate(spread(list(_UNDAMAGED), lab.cases)):
        product = Product(lab.root / f"u{number}", lab.python, environment=FAKE, hook=lab.hook)
        folder = product.folder("p")
        with product.running():
            product.whole_session("said", RULE, cwd=folder)
            texts = {f"The {' '.join(made_word(lab.chance) for _ in range(9))} holds" for _ in range(20)}
            for text in texts:
                product.post("/v1/remember", {"content": text, "kind": "fact", "cwd": str(folder)})
            product.settle()
            if form == "killed":
                os.kill(
                    int(json.loads((product.home / "run" / "daemon.json").read_text())["pid"]), signal.SIGKILL
                )
                time.sleep(0.2)
        wrong = ""
        with product.running():
            listed = {str(memory["content"]) for memory in product.memories()}
            block = product.hook(
                "SessionStart", session="next", cwd=folder, source="startup", by_process=True
            )
        if missing := texts - listed:
            wrong = f"{len(missing)} of {len(texts)} rows are missing"
        elif "make lint" not in block:
            wrong = f"the hook handed over {block[:200]!r}"
        outcomes.append(Outcome(form=form, tried="no damage", survived=not wrong, came_out=wrong))
    return outcomes


_UNDAMAGED = {"stopped": "the daemon ended in order", "killed": "the daemon was killed"}
UNDAMAGED = Area(
    name="damage, none",
    about="Of a home without damage every row is listed, and the hook hands over what it knows.",
    forms=_UNDAMAGED,
    run=undamaged,
    standard=20,
    control=True,
)
DAMAGE = Area(
    name="damage",
    about="No row that can be read is lost, and the hook exits 0.",
    forms={name: about for name, (about, _) in FORMS.items()},
    run=attack,
)
