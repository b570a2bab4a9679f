"""Commits and the files in them, read from a repository's own files. In: a work tree. Out: commits, texts. Never runs git.

A repository's configuration can name programs for git to run, so git is not asked; loose objects and packs are plain files.
Reads a bounded number of objects and of bytes; never follows `alternates`, which lead out of the repository.
Whatever cannot be read ends the walk.

Source: gitformat-pack(5), gitrepository-layout(5).
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from tacit.session.branches import OBJECT_ID, default_branch, has_remotes, merged_ref, resolve_ref
from tacit.session.projects import find_checkout
from tacit.text.decoding import decode_text

MAX_COMMITS = 300
MAX_OBJECT_BYTES = 200_000
"""A larger commit says more than anybody wrote by hand."""
MAX_DELTAS = 60
MAX_PACKS = 200
_COMMIT, _TREE, _BLOB, _OFS_DELTA, _REF_DELTA = 1, 2, 3, 6, 7
_FILE_MODES = (b"100644", b"100755")
_KINDS = {b"commit": _COMMIT, b"tree": _TREE, b"blob": _BLOB}


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """The commit a work tree stands on, and the folder that holds the objects."""

    commit: str
    objects: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """A commit. `tree` = the id of its tree; `at_s` = when it was committed, in seconds since the epoch, 0 = unknown."""

    id: str
    parents: tuple[str, ...]
    message: str
    tree: str = ""
    at_s: int = 0


def head_of(root: Path) -> Head | None:
    """Return the head commit of the work tree at `root`; None outside a repository or before its first commit."""
    checkout = find_checkout(root)
    if checkout is None or checkout.root != root or checkout.own is None or checkout.common is None:
        return None
    own, shared = checkout.own, checkout.common
    try:
        text = (own / "HEAD").read_text("utf-8", "replace").strip()
        name = text.removeprefix("ref:").strip()
        commit = text if OBJECT_ID.fullmatch(text) else resolve_ref(shared, own, name)
    except OSError:
        return None
    return Head(commit=commit, objects=shared / "objects") if commit else None


def default_branch_of(root: Path) -> Head | None:
    """The newest commit known of the default branch; None outside a repository or where nothing names that branch.

    Where there is a remote called `origin`, that is what was fetched of its default branch: what stands there was pushed or merged. A
    repository that was never connected to a remote has its own `main` or `master`.
    """
    checkout = find_checkout(root)
    if checkout is None or checkout.root != root or checkout.own is None or checkout.common is None:
        return None
    shared = checkout.common
    try:
        remote = has_remotes(shared)
        name = default_branch(shared, remote=remote)
        commit = resolve_ref(shared, shared, merged_ref(name, remote=remote)) if name else ""
    except OSError:
        return None
    return Head(commit=commit, objects=shared / "objects") if commit else None


class Unreadable(Exception):
    """An object that is absent, too large or damaged: nobody knows what it holds."""


class ObjectReader:
    """Reads commits and trees of one repository and caches them. It lists the packs once, so make a new one when the repository may have changed. For one thread."""

    def __init__(self, objects: Path) -> None:
        self._objects = objects
        self._packs = _Packs(objects)
        self._commits: dict[str, Commit] = {}
        self._trees: dict[str, dict[bytes, tuple[bytes, str]]] = {}

    def commit(self, name: str) -> Commit:
        """The commit called `name`.

        Raises:
            Unreadable: if it cannot be read.
        """
        if name not in self._commits:
            parsed = _parse(name, _whole(self._objects, name, _COMMIT, self._packs))
            if parsed is None:
                raise Unreadable(name)
            self._commits[name] = parsed
        return self._commits[name]

    def tree(self, name: str) -> dict[bytes, tuple[bytes, str]]:
        """The mode and id of each entry of the tree called `name`, by the name of the entry.

        Raises:
            Unreadable: if it cannot be read.
        """
        if name not in self._trees:
            raw = _whole(self._objects, name, _TREE, self._packs)
            self._trees[name] = {entry: (mode, at) for mode, entry, at in _entries(raw, len(name) // 2)}
        return self._trees[name]


def has_commits(root: Path) -> bool:
    """Whether the repository at `root` seems to hold commits, whatever can be read of them."""
    checkout = find_checkout(root)
    if checkout is None or checkout.common is None:
        return checkout is not None  # a link that leads nowhere: nobody knows
    shared = checkout.common
    heads = shared / "refs" / "heads"
    return (shared / "packed-refs").is_file() or (
        heads.is_dir() and any(p.is_file() for p in heads.rglob("*"))
    )


def parents_of(objects: Path, commit: str) -> tuple[str, ...]:
    """The parents of a commit.

    Raises:
        Unreadable: if it cannot be read.
    """
    return ObjectReader(objects).commit(commit).parents


def author_of(objects: Path, commit: str) -> str:
    """The e-mail address that a commit names as its author's.

    Raises:
        Unreadable: if it cannot be read.
    """
    head = _whole(objects, commit, _COMMIT).partition(b"\n\n")[0].decode("utf-8", "replace")
    author_line = next((line for line in head.split("\n") if line.startswith("author ")), "")
    return author_line.rpartition("<")[2].partition(">")[0]


def file_at(objects: Path, commit: str, path: str) -> str:
    """The text of the file at `path` in a commit; "" where it has none.

    Raises:
        Unreadable: if anything on the way cannot be read.
    """
    raw = _whole(objects, commit, _COMMIT)
    at = raw[5:].partition(b"\n")[0].decode("ascii", "replace")
    *folders, name = path.split("/")
    for segment in (*folders, name):
        entry = _entry_of(_whole(objects, at, _TREE), segment.encode(), len(at) // 2)
        if entry is None:
            return ""
        at = entry
    return decode_text(_whole(objects, at, _BLOB))


def files_at(objects: Path, commit: str, folder: str, *, name: re.Pattern[str]) -> dict[str, bytes | None]:
    """The ordinary files that lie directly in `folder` of a commit, by name; None = one that cannot be read, or is too large.

    Links are left out, and so are files whose name is not UTF-8 or does not match `name` as a whole: a tree can hold any bytes as a name, a path that
    leads elsewhere too. Empty where there is no such folder.

    Raises:
        Unreadable: if the way to the folder cannot be read.
    """
    raw = _whole(objects, commit, _COMMIT)
    at = raw[5:].partition(b"\n")[0].decode("ascii", "replace")
    for segment in folder.split("/"):
        entry = _entry_of(_whole(objects, at, _TREE), segment.encode(), len(at) // 2)
        if entry is None:
            return {}
        at = entry
    files: dict[str, bytes | None] = {}
    for mode, raw_name, blob in _entries(_whole(objects, at, _TREE), len(at) // 2):
        try:
            entry_name = raw_name.decode("utf-8")
        except UnicodeDecodeError:
            continue
        if mode not in _FILE_MODES or not name.fullmatch(entry_name):
            continue
        try:
            files[entry_name] = _whole(objects, blob, _BLOB)
        except Unreadable:
            files[entry_name] = None
    return files


def _entry_of(tree: bytes, name: bytes, size: int) -> str | None:
    """The id of the entry called `name` of a tree."""
    return next((found for _, entry, found in _entries(tree, size) if entry == name), None)


def _entries(tree: bytes, size: int) -> Iterator[tuple[bytes, bytes, str]]:
    """Mode, name and id of every entry of a tree, whose ids have `size` bytes."""
    at = 0
    while at < len(tree):
        end = tree.find(b"\0", at)
        if end < 0:
            raise Unreadable("a tree that is cut off")
        mode, _, name = tree[at:end].partition(b" ")
        yield mode, name, tree[end + 1 : end + 1 + size].hex()
        at = end + 1 + size


def _whole(objects: Path, name: str, kind: int, packs: _Packs | None = None) -> bytes:
    """All bytes of the object called `name`, which must be of `kind`.

    Raises:
        Unreadable: if it is absent, of another kind, or longer than may be read: a part of it would mislead.
    """
    if not OBJECT_ID.fullmatch(name):
        raise Unreadable(name)
    loose = objects / name[:2] / name[2:]
    try:
        if loose.is_file():
            with loose.open("rb") as file:
                whole = _inflate(file.read(MAX_OBJECT_BYTES))
            head, _, body = whole.partition(b"\0")
            word, _, size = head.partition(b" ")
            if _KINDS.get(word) == kind and size.isdigit() and int(size) == len(body):
                return body
            raise Unreadable(name)
    except OSError:
        raise Unreadable(name) from None
    stored_kind, body = (packs or _Packs(objects)).object(name)
    if stored_kind != kind or len(body) >= MAX_OBJECT_BYTES:
        raise Unreadable(name)
    return body


def walk(head: Head) -> Iterator[Commit]:
    """At most `MAX_COMMITS` along the first parents from `head`, newest first."""
    packs = _Packs(head.objects)
    at = head.commit
    for _ in range(MAX_COMMITS):
        raw = _loose(head.objects, at) or packs.commit(at)
        commit = _parse(at, raw) if raw else None
        if commit is None:
            return
        yield commit
        if not commit.parents:
            return
        at = commit.parents[0]


def _inflate(data: bytes) -> bytes:
    """Unpack the beginning of `data`, as far as a commit may be long."""
    try:
        return zlib.decompressobj().decompress(data, MAX_OBJECT_BYTES)
    except zlib.error:
        return b""


def _loose(objects: Path, name: str) -> bytes:
    try:
        with (objects / name[:2] / name[2:]).open("rb") as file:
            whole = _inflate(file.read(MAX_OBJECT_BYTES))
    except OSError:
        return b""
    head, _, body = whole.partition(b"\0")
    return body if head.startswith(b"commit ") else b""


def _parse(name: str, raw: bytes) -> Commit | None:
    head, _, message = raw.partition(b"\n\n")
    lines = head.decode("utf-8", "replace").split("\n")
    if not lines[0].startswith("tree "):
        return None
    parents = tuple(
        line[7:] for line in lines if line.startswith("parent ") and OBJECT_ID.fullmatch(line[7:])
    )
    committer = next((line for line in lines if line.startswith("committer ")), "")
    seconds = committer.rpartition("> ")[2].partition(" ")[0]
    return Commit(
        id=name,
        parents=parents,
        message=message.decode("utf-8", "replace"),
        tree=lines[0][5:],
        at_s=int(seconds) if seconds.isdigit() else 0,
    )


class _Packs:
    """The packs of a repository; files are opened when first asked."""

    def __init__(self, objects: Path) -> None:
        folder = objects / "pack"
        self._indexes = sorted(folder.glob("*.idx"))[:MAX_PACKS] if folder.is_dir() else []

    def commit(self, name: str) -> bytes:
        """The commit called `name`, or nothing."""
        kind, body = self._named(bytes.fromhex(name), MAX_DELTAS)
        return body if kind == _COMMIT else b""

    def object(self, name: str) -> tuple[int, bytes]:
        """Kind and bytes of the object called `name`; (0, b"") where there is none."""
        return self._named(bytes.fromhex(name), MAX_DELTAS)

    def _named(self, name: bytes, deltas: int) -> tuple[int, bytes]:
        for index in self._indexes:
            try:
                with index.open("rb") as file:
                    at = _find_object_offset(file, name)
                if at >= 0:
                    return self._entry(index.with_suffix(".pack"), at, deltas)
            except (OSError, IndexError, ValueError):
                continue
        return 0, b""

    def _entry(self, pack: Path, at: int, deltas: int) -> tuple[int, bytes]:
        """Type and content of the entry at `at`; deltas are applied to what they are made from."""
        if deltas <= 0 or at <= 0:
            return 0, b""
        with pack.open("rb") as file:
            file.seek(at)
            data = file.read(MAX_OBJECT_BYTES)
        used = 1
        kind, size, shift = (data[0] >> 4) & 7, data[0] & 0x0F, 4
        while data[used - 1] & 0x80:
            size |= (data[used] & 0x7F) << shift
            shift += 7
            used += 1
        if kind == _OFS_DELTA:
            back, used = _back(data, used)
            base_kind, base = self._entry(pack, at - back, deltas - 1)
        elif kind == _REF_DELTA:
            length = 32 if len(self._indexes) and _is_long(pack) else 20
            base_kind, base = self._named(data[used : used + length], deltas - 1)
            used += length
        else:
            body = _inflate(data[used:])
            return (kind, body) if len(body) == size else (0, b"")
        return base_kind, _patched(base, _inflate(data[used:]))


def _is_long(pack: Path) -> bool:
    """Whether the repository names its objects by SHA-256: its packs are named so, too."""
    return len(pack.stem.removeprefix("pack-")) == 64


def _find_object_offset(index: BinaryIO, name: bytes) -> int:
    """Return the offset of the object in the pack, by its index of version 2; -1 = it is not in it."""
    read, seek = index.read, index.seek
    head = read(8)
    if head != b"\xfftOc\x00\x00\x00\x02":
        return -1
    fan = read(1024)
    counts = [int.from_bytes(fan[n : n + 4], "big") for n in range(0, 1024, 4)]
    low, high, whole, size = counts[name[0] - 1] if name[0] else 0, counts[name[0]], counts[255], len(name)
    names = 8 + 1024
    while low < high:
        middle = (low + high) // 2
        seek(names + middle * size)
        value = read(size)
        if value == name:
            seek(names + whole * (size + 4) + middle * 4)
            at = int.from_bytes(read(4), "big")
            if at & 0x80000000:
                seek(names + whole * (size + 8) + (at & 0x7FFFFFFF) * 8)
                at = int.from_bytes(read(8), "big")
            return at
        low, high = (middle + 1, high) if value < name else (low, middle)
    return -1


def _back(data: bytes, at: int) -> tuple[int, int]:
    """Return the distance to the base of a delta, and the end of that number."""
    value = data[at] & 0x7F
    while data[at] & 0x80:
        at += 1
        value = ((value + 1) << 7) | (data[at] & 0x7F)
    return value, at + 1


def _number(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
        if not data[at - 1] & 0x80:
            return value, at


def _patched(base: bytes, delta: bytes) -> bytes:
    """`base` with the copy and insert orders of `delta` carried out."""
    try:
        size, at = _number(delta, 0)
        whole, at = _number(delta, at)
        if size != len(base):
            return b""
        patched = bytearray()
        while at < len(delta) and len(patched) <= MAX_OBJECT_BYTES:
            order = delta[at]
            at += 1
            if order & 0x80:
                start = length = 0
                for bit in range(4):
                    if order & (1 << bit):
                        start |= delta[at] << (8 * bit)
                        at += 1
                for bit in range(3):
                    if order & (0x10 << bit):
                        length |= delta[at] << (8 * bit)
                        at += 1
                patched += base[start : start + (length or 0x10000)]
            else:
                patched += delta[at : at + order]
                at += order
    except IndexError:
        return b""
    return bytes(patched) if len(patched) == whole else b""
