"""Fill a home with the code of commit 9f896ae, and keep it as tests/homes/home_9f896ae.zip.

In: this repository, which must hold the commit. Out: the archive. Run: `uv run --no-sync python scripts/make_home_9f896ae.py`.

The archive holds the database as SQL text, the other files of the home, the files that `tacit install` wrote for the hosts, a
project, and `expected.json`: what the code of that commit said of the home. `@FOLDER@` stands for the folder that it lay in and
`@PYTHON@` for the interpreter. tests/unit/app/test_app_home_9f896ae.py opens it with the code of today.

tests/homes/fill_9f896ae.py fills the home, with the code of that commit.
"""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

COMMIT = "9f896ae"
ROOT = Path(__file__).parents[1]
ARCHIVE = ROOT / "tests" / "homes" / f"home_{COMMIT}.zip"
FILLER = ROOT / "tests" / "homes" / f"fill_{COMMIT}.py"
LEFT_OUT = ("run", "index", "log", "logs", "__pycache__")
ZIP_DATE = (2026, 11, 22, 0, 0, 0)


def main() -> int:
    """Make the archive."""
    with tempfile.TemporaryDirectory(prefix="home-") as name:
        work = Path(name).resolve()
        source, folder = work / "source", work / "folder"
        source.mkdir()
        folder.mkdir()
        archive = subprocess.run(["git", "-C", str(ROOT), "archive", COMMIT], capture_output=True, check=True)
        subprocess.run(["tar", "-x", "-C", str(source)], input=archive.stdout, check=True)
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("TACIT_", "PYTHON"))}
        environment = {
            **kept, "PYTHONPATH": str(source / "src"), "HOME": str(folder / "user"),
            "TACIT_HOME": str(folder / "home"), "GIT_CONFIG_GLOBAL": os.devnull,
        }  # fmt: skip
        command = [sys.executable, "-P", str(FILLER), str(folder), str(source)]
        subprocess.run(command, check=True, env=environment, cwd=folder)
        pack(folder, source)
    print(f"{ARCHIVE.relative_to(ROOT)}: {ARCHIVE.stat().st_size // 1024} KB")
    return 0


def pack(folder: Path, source: Path) -> None:
    """Write `folder` into the archive, without paths of this machine."""
    texts: dict[str, str] = {}
    with closing(sqlite3.connect(folder / "home" / "tacit.db")) as database:
        texts["home/tacit.sql"] = "\n".join(dump(database))
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder)
        derived = inside.parts[0] == "home" and inside.parts[1:2] and inside.parts[1] in LEFT_OUT
        if not path.is_file() or derived or path.name.startswith("tacit.db") or path.suffix == ".pyc":
            continue
        if path.name != "tacit.lock":
            texts[inside.as_posix()] = path.read_text("utf-8")
    ARCHIVE.parent.mkdir(exist_ok=True)
    with zipfile.ZipFile(ARCHIVE, "w", zipfile.ZIP_DEFLATED) as target:
        for name, text in sorted(texts.items()):
            entry = zipfile.ZipInfo(name, ZIP_DATE)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o700 if name == "home/bin/tacit-hook" else 0o600) << 16
            target.writestr(entry, without_paths(text, folder, source))


def dump(database: sqlite3.Connection) -> Iterator[str]:
    """The database as SQL that `executescript` reads; `iterdump` writes virtual tables in a way that it does not."""
    for name in ("application_id", "user_version"):
        yield f"PRAGMA {name} = {database.execute(f'PRAGMA {name}').fetchone()[0]};"
    yield "BEGIN;"
    schema = database.execute(
        "SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' ORDER BY rowid"
    ).fetchall()
    tables = [(name, sql) for sort, name, sql in schema if sort == "table"]
    virtual = [name for name, sql in tables if sql.startswith("CREATE VIRTUAL")]
    # A virtual table makes tables of its own, with rows in them.
    shadows = [
        name
        for name, _ in tables
        if name not in virtual and name.startswith(tuple(f"{one}_" for one in virtual))
    ]
    yield from (f"{sql};" for name, sql in tables if name not in shadows)
    for name, _ in tables:
        if name in virtual:
            continue
        if name in shadows:
            yield f"DELETE FROM {name};"
        columns = [row[1] for row in database.execute(f"PRAGMA table_info({name})")]
        quoted = ", ".join(f'quote("{column}")' for column in columns)
        for row in database.execute(f"SELECT {quoted} FROM {name}"):
            yield f"INSERT INTO {name} VALUES ({', '.join(row)});"
    yield from (f"{sql};" for sort, _, sql in schema if sort != "table")
    yield "COMMIT;"


def without_paths(text: str, folder: Path, source: Path) -> str:
    """`text` with placeholders for the folders and interpreters of this machine.

    Raises:
        SystemExit: if one is left.
    """
    text = text.replace(str(folder), "@FOLDER@")
    for python in sorted({sys.executable, os.path.realpath(sys.executable)}, key=len, reverse=True):
        text = text.replace(python, "@PYTHON@")
    for path in (str(source), sys.prefix, str(ROOT), str(Path.home())):
        if path in text and path != "/":
            at = text.index(path)
            raise SystemExit(f"A path of this machine is left: {text[max(0, at - 80) : at + 80]!r}")
    return text


if __name__ == "__main__":
    raise SystemExit(main())
