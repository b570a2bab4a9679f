"""Proof that the user speaks: personal tokens, and the terminal's key. In: a home. Out: yes or no.

A program has the user's rights, but not the user's word. The word is theirs at an interactive terminal, on the signed-in page,
and in a script to which they gave a token. Tokens are kept as hashes in a file that only the user can read; the key is a
file like it, which the command line shows to the daemon when a person sits before it. Decides nothing else.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from tacit.config.home import TERMINAL_HEADER, Home
from tacit.errors import InvalidInput, NotFound, RefusedByTrust, StoreReadOnly
from tacit.frozen import frozen
from tacit.model.memory import Speaker
from tacit.system.files import is_private, write_whole

TOKEN_PREFIX = "tacit_"  # noqa: S105 - how each begins
SPEAKER_KEY = "tacit.speaker"
"""Key of the ASGI scope under which the server stores who speaks. A client cannot set it."""
LEFT_OUT = "memories that are restricted or belong to one session are left out"
"""First line of an export by a caller who does not prove to be the user. It names no number: the caller may not know how many were left out."""
HOW_TO_SPEAK = (
    "Do it in an interactive terminal or on the page (`tacit ui`); a script of yours needs TACIT_TOKEN "
    "(`tacit token create`)."
)


@frozen
class TokenInfo:
    """The name of a personal token, and when it was created; never the token itself."""

    name: str
    created_at_ms: int


class Authority:
    """The tokens and the terminal key of one home. Safe from several threads."""

    def __init__(self, home: Home) -> None:
        """Use the files of `home`. They are read at each check, not now."""
        self._home = home

    # --- tokens

    def create(self, name: str) -> str:
        """Create a token called `name`, store its hash, and return the token. It cannot be shown again.

        Raises:
            InvalidInput: if the name is empty or taken.
            StoreReadOnly: if the file cannot be written.
        """
        name = name.strip()
        entries = self._entries()
        if not name or len(name) > 80 or not name.isprintable():
            raise InvalidInput("A token needs a name of 1 to 80 printable characters.")
        if any(entry["name"] == name for entry in entries):
            raise InvalidInput(
                f"There is a token called {name!r} already.",
                hint=f"`tacit token rotate {name}` replaces it; `tacit token revoke {name}` ends it.",
            )
        token = TOKEN_PREFIX + secrets.token_urlsafe(32)
        new_entry = {"name": name, "sha256": _hash(token), "created_at_ms": time.time_ns() // 1_000_000}
        self._write([*entries, new_entry])
        return token

    def revoke(self, name: str) -> None:
        """Revoke the token called `name`: it is refused from now on.

        Raises:
            NotFound: if there is none.
            StoreReadOnly: if the file cannot be written.
        """
        entries = self._entries()
        remaining = [entry for entry in entries if entry["name"] != name]
        if len(remaining) == len(entries):
            raise NotFound(f"No token is called {name!r}.", hint="`tacit token list` shows them.")
        self._write(remaining)

    def tokens(self) -> tuple[TokenInfo, ...]:
        """Return the valid tokens, oldest first."""
        return tuple(
            TokenInfo(name=entry["name"], created_at_ms=entry["created_at_ms"]) for entry in self._entries()
        )

    def admits_token(self, token: str) -> bool:
        """Whether `token` is a valid token of this home."""
        if not token.startswith(TOKEN_PREFIX):
            return False
        digest = _hash(token)
        return any(hmac.compare_digest(entry["sha256"], digest) for entry in self._entries())

    def _entries(self) -> list[dict[str, Any]]:
        """Return the entries in the file of tokens; none if it is absent, damaged, or readable by others."""
        try:
            if not _is_private(self._home.tokens_file):
                return []
            raw = cast("object", json.loads(self._home.tokens_file.read_bytes()))
        except (OSError, ValueError):
            return []
        tokens = cast("dict[str, object]", raw).get("tokens") if isinstance(raw, dict) else None
        entries = cast("list[dict[str, Any]]", tokens if isinstance(tokens, list) else [])
        fields = ("name", "sha256", "created_at_ms")
        return [entry for entry in entries if all(key in entry for key in fields)]

    def _write(self, entries: list[dict[str, Any]]) -> None:
        self._home.ensure()
        _write_private(self._home.tokens_file, json.dumps({"tokens": entries}, indent=1).encode())

    # --- the terminal

    def terminal_key(self) -> str:
        """Return the key with which the command line proves that a person at a terminal asks. Created if there is none.

        Raises:
            StoreReadOnly: if it cannot be written.
        """
        key = self._read_key()
        if key:
            return key
        self._home.ensure()
        _write_private(self._home.terminal_key_file, secrets.token_urlsafe(32).encode())
        return self._read_key()

    def _read_key(self) -> str:
        try:
            if not _is_private(self._home.terminal_key_file):
                return ""
            return self._home.terminal_key_file.read_text("ascii", "replace").strip()
        except OSError:
            return ""

    def admits(self, headers: Mapping[bytes, bytes]) -> bool:
        """Whether a request with `headers` (names in lower case) has the user's authority: it has a valid token or the terminal's key."""
        kind, _, token = headers.get(b"authorization", b"").decode("latin-1").partition(" ")
        if kind.lower() == "bearer" and self.admits_token(token.strip()):
            return True
        shown = headers.get(TERMINAL_HEADER.lower().encode(), b"").decode("latin-1")
        key = self._read_key()
        return bool(shown and key) and hmac.compare_digest(shown.encode(), key.encode())


def is_own_home(home_path: Path | None) -> bool:
    """Whether a home belongs to the program that opens it: the program named it, it is not the user's default home, and it has no file of tokens."""
    if home_path is None:
        return False
    place = Home(home_path.expanduser().absolute())
    usual = {Home.find().root.resolve(), Home.find({}).root.resolve()}
    return place.root.resolve() not in usual and not place.tokens_file.exists()


def speaker_of(scope: Mapping[str, Any]) -> Speaker:
    """Return who speaks in a request, by its ASGI scope; an agent if the server did not store a speaker."""
    return scope.get(SPEAKER_KEY, Speaker.AGENT)


def require(*, authorized: bool, what: str) -> None:
    """Return if `authorized`, else refuse.

    Raises:
        RefusedByTrust: naming `what` only the user may do, and how.
    """
    if not authorized:
        raise RefusedByTrust(
            f"Only you can {what}, and nothing here proves that it is you.", hint=HOW_TO_SPEAK
        )


def _hash(token: str) -> str:
    # The token is random, 256 bits: a slow hash would protect nothing more.
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


def _is_private(path: Path) -> bool:
    """Whether `path` is a file of this user without rights for others."""
    return is_private(path.stat(follow_symlinks=False))


def _write_private(path: Path, data: bytes) -> None:
    try:
        write_whole(path, data)
    except OSError as error:
        raise StoreReadOnly(
            f"{path} cannot be written: {error.strerror or error}.", hint=f"Make {path.parent} writable."
        ) from error
