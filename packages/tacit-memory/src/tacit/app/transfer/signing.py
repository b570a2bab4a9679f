"""Lines of an export that this home wrote itself. In: lines. Out: lines with a signature, and whether one is this home's.

The signature is an HMAC-SHA256 of the line's bytes with a secret that stays in the home, written as the line's last field. A line that
was changed, or comes from another home, is not signed. It says who wrote the line, nothing about what stands in it.
"""

from __future__ import annotations

import hmac
import os
import re
import secrets
from hashlib import sha256
from pathlib import Path

from tacit.errors import StoreReadOnly
from tacit.system.files import open_handle

_PURPOSE = b"tacit export 1\n"
_SIGNED = re.compile(rb',"sig":"([0-9a-f]{64})"\}$')
_KEY_BYTES = 32


class Signer:
    """Signs and verifies lines with the secret of one home. Safe to use from several threads."""

    def __init__(self, key_file: Path) -> None:
        self._file = key_file

    def sign(self, line: bytes) -> bytes:
        """`line`, a JSON object without spaces at its end, with its signature; the first call makes the secret.

        Raises:
            StoreReadOnly: the secret cannot be read or written.
        """
        return line[:-1] + b',"sig":"' + self._mark(self._key(), line) + b'"}'

    def verified(self, line: bytes) -> bool:
        """Whether this home signed the line and nobody has changed it since."""
        line = line.strip()
        signature = _SIGNED.search(line)
        if not signature:
            return False
        try:
            key = self._file.read_bytes()
        except OSError:
            return False
        return len(key) == _KEY_BYTES and hmac.compare_digest(
            self._mark(key, line[: signature.start()] + b"}"), signature[1]
        )

    def _mark(self, key: bytes, line: bytes) -> bytes:
        return hmac.new(key, _PURPOSE + line, sha256).hexdigest().encode()

    def _key(self) -> bytes:
        try:
            if not self._file.exists() or self._file.stat().st_size != _KEY_BYTES:
                self._file.unlink(
                    missing_ok=True
                )  # damaged: what it signed counts as another home's from now on
                self._make()
            return self._file.read_bytes()
        except OSError as error:
            raise StoreReadOnly(
                f"The secret {self._file} that signs exports cannot be used: {error.strerror or error}.",
                hint="Make the home writable.",
            ) from error

    def _make(self) -> None:
        partial = self._file.with_name(f".{self._file.name}.{os.getpid()}.part")
        handle = open_handle(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, follow=False)
        try:
            os.write(handle, secrets.token_bytes(_KEY_BYTES))
            os.fsync(handle)
            os.link(partial, self._file)  # of two processes the first one's stays
        except FileExistsError:
            pass
        finally:
            os.close(handle)
            partial.unlink(missing_ok=True)
