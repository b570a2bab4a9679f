"""Keys of a device and of an account. In: random bytes, a recovery phrase. Out: signatures, encrypted payloads, subjects.

A device signs its log with a key of its own (Ed25519). All devices of one account share a secret, which no server ever sees: from it come
the key that encrypts payloads (ChaCha20-Poly1305, RFC 8439) and the key that hides which memory an entry is about (HMAC-SHA256). The
recovery phrase is that secret, written in letters; whoever has it can read everything.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from dataclasses import dataclass
from functools import lru_cache

from cryptography.exceptions import InvalidSignature, InvalidTag
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from tacit.errors import InvalidInput, UnreadableEntry
from tacit.model.ids import encode_base32
from tacit.model.shared import MARK_CHARS

SECRET_BYTES = 20
"""160 bits, which are 32 letters."""
CHECK_BYTES = 5
GROUP = 5
_LETTERS = "0123456789abcdefghjkmnpqrstvwxyz"
_READ_AS = str.maketrans({"o": "0", "i": "1", "l": "1", "u": "v"})
_NONCE_BYTES = 12
_SUBJECT_BYTES = 16


@dataclass(frozen=True, slots=True)
class DeviceKey:
    """The private key of a device, as its 32 bytes."""

    private: bytes

    @classmethod
    def new(cls) -> DeviceKey:
        """Return a new random key."""
        return cls(os.urandom(32))

    @property
    def device(self) -> str:
        """The name of the device in logs: its public key, as 64 hexadecimal digits."""
        return Ed25519PrivateKey.from_private_bytes(self.private).public_key().public_bytes_raw().hex()

    def sign(self, message: bytes) -> bytes:
        """Return the device's signature of `message` (Ed25519, 64 bytes)."""
        return Ed25519PrivateKey.from_private_bytes(self.private).sign(message)


def is_signed(device: str, message: bytes, signature: bytes) -> bool:
    """Whether `signature` is that of the device (named by its public key) for `message`. False for a malformed name; never raises."""
    try:
        Ed25519PublicKey.from_public_bytes(bytes.fromhex(device)).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True


@dataclass(frozen=True, slots=True)
class AccountKey:
    """The secret that the devices of one account share, `SECRET_BYTES` long."""

    secret: bytes

    @classmethod
    def new(cls) -> AccountKey:
        """Return a new random secret."""
        return cls(os.urandom(SECRET_BYTES))

    @classmethod
    def from_phrase(cls, phrase: str) -> AccountKey:
        """Return the account key that a recovery phrase stands for. Case, spaces and hyphens do not matter; `o`, `i`, `l`, `u` are read as similar letters.

        Raises:
            InvalidInput: if it is no recovery phrase, or its checksum is wrong, as after a typing mistake.
        """
        letters = "".join(phrase.lower().split()).replace("-", "").translate(_READ_AS)
        wrong = InvalidInput(
            "This is not a recovery phrase.",
            hint="It has eight groups of five letters; check them against what was shown at the first login.",
        )
        if len(letters) != (SECRET_BYTES + CHECK_BYTES) * 8 // 5 or set(letters) - set(_LETTERS):
            raise wrong
        value = 0
        for letter in letters:
            value = value * 32 + _LETTERS.index(letter)
        raw = value.to_bytes(SECRET_BYTES + CHECK_BYTES, "big")
        secret, check = raw[:SECRET_BYTES], raw[SECRET_BYTES:]
        if not hmac.compare_digest(_check(secret), check):
            raise wrong
        return cls(secret)

    @property
    def phrase(self) -> str:
        """The recovery phrase: eight groups of five letters; the last ones are a checksum."""
        raw = self.secret + _check(self.secret)
        letters = encode_base32(int.from_bytes(raw, "big"), len(raw) * 8 // 5)
        return " ".join(letters[at : at + GROUP] for at in range(0, len(letters), GROUP))

    @property
    def account(self) -> str:
        """The account's name, derived from the secret: equal on all its devices, and reveals nothing about the secret."""
        return self._derived(b"account")[:16].hex()

    def subject(self, memory_id: str) -> str:
        """Return the keyed hash that stands for a memory's id outside of encrypted payloads, so that the server can purge it without knowing the id."""
        digest = hmac.new(self._derived(b"subject"), memory_id.encode(), hashlib.sha256).digest()
        return digest[:_SUBJECT_BYTES].hex()

    def mark(self, memory_id: str, words: str) -> str:
        """Return the keyed hash, `MARK_CHARS` long, with which a device asks a team to share a memory. `words` = the hash of its words.

        All devices of the account recognize by it what became of their memory; nobody else can make one.
        """
        digest = hmac.new(self._derived(b"share"), f"{memory_id} {words}".encode(), hashlib.sha256).digest()
        return encode_base32(int.from_bytes(digest), MARK_CHARS)

    def seal(self, payload: bytes, *, about: bytes) -> bytes:
        """Encrypt and authenticate a payload; `open` needs the same `about`."""
        nonce = os.urandom(_NONCE_BYTES)
        return nonce + ChaCha20Poly1305(self._derived(b"payload")).encrypt(nonce, payload, about)

    def open(self, sealed: bytes, *, about: bytes) -> bytes:
        """Decrypt and return a payload from `seal`, with the same `about`.

        Raises:
            UnreadableEntry: if it was changed, or sealed with another secret or `about`.
        """
        try:
            return ChaCha20Poly1305(self._derived(b"payload")).decrypt(
                sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], about
            )
        except (InvalidTag, ValueError) as error:
            raise UnreadableEntry(
                "An entry of another device cannot be decrypted.",
                hint="Its device uses another recovery phrase: log in again on it.",
            ) from error

    def _derived(self, purpose: bytes) -> bytes:
        return _derive(self.secret, purpose)


@lru_cache(maxsize=16)
def _derive(secret: bytes, purpose: bytes) -> bytes:
    return HKDF(algorithm=SHA256(), length=32, salt=None, info=b"tacit sync " + purpose).derive(secret)


def _check(secret: bytes) -> bytes:
    return hashlib.sha256(b"tacit recovery phrase" + secret).digest()[:CHECK_BYTES]
