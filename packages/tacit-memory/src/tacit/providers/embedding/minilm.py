"""The shipped embedder: all-MiniLM-L6-v2 in 8 bits, offline, on the processor.

In: texts. Out: unit vectors of 384 dimensions. Never downloads; loads at the first text (about 70 ms).
"""

from __future__ import annotations

import hashlib
import json
import logging
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Literal, cast

import numpy as np
from numpy.typing import NDArray

from tacit.errors import ProviderError
from tacit.ports.models import EmbedderIdentity, Vectors
from tacit.providers.embedding.session import open_session
from tacit.providers.embedding.static_tokens import StaticTokens, map_rows
from tacit.providers.embedding.wordpiece import WordPiece, read_vocabulary
from tacit.text.natural_language import ENGLISH

FOLDER = Path(__file__).parent / "minilm"
IDENTITY = EmbedderIdentity(
    name="all-minilm-l6-v2-int8@1", dimensions=384
)  # a test compares it with the manifest
MAX_TOKENS = 256  # what the model was trained with; more of a text is not read

_EMBEDDING_TABLE = "words_quantized"  # half of the model; `StaticTokens` reads the same mapping

Runtime = Literal["auto", "onnxruntime", "numpy"]
Forward = Callable[[Sequence[int]], Vectors]
_log = logging.getLogger(__name__)


class MiniLM:
    """all-MiniLM-L6-v2. Safe to share between threads.

    Texts go through the model one by one. In a batch the 8-bit scale is taken over all of its texts, and a vector would
    depend on its neighbours (cosine down to 0.976 measured) for at most a fifth more speed.
    """

    def __init__(self, *, folder: Path = FOLDER, runtime: Runtime = "auto") -> None:
        self._folder = folder
        self._runtime: Runtime = runtime
        self._lock = threading.Lock()
        self._loaded: tuple[WordPiece, Forward, Future[None]] | None = None
        self._tokens: StaticTokens | None = None

    @property
    def identity(self) -> EmbedderIdentity:
        """Name with the version of the weights, and 384."""
        return IDENTITY

    @property
    def languages(self) -> frozenset[str]:
        """Return English. Of other languages the model knows only pieces of words, and finds any two texts similar (docs/guide/languages.md)."""
        return frozenset({ENGLISH})

    def warm(self) -> None:
        """Load the model now instead of at the first text.

        Raises:
            ProviderError: if it cannot be loaded.
        """
        self._load()

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Unit float32 vectors, shape (len(texts), 384); of each text the first 254 tokens count.

        Raises:
            ProviderError: if the model cannot be loaded, or is not the one that was released.
        """
        out = np.empty((len(texts), IDENTITY.dimensions), dtype=np.float32)
        if not texts:
            return out
        tokenizer, forward, checked = self._load()
        try:
            checked.result()
        except ProviderError:
            _loaded.cache_clear()
            self._loaded = None
            raise
        done: dict[str, Vectors] = {}
        for row, text in enumerate(texts):
            vector = done.get(text)
            if vector is None:
                vector = done[text] = forward(tokenizer.encode(text, max_tokens=MAX_TOKENS))
            out[row] = vector
        return out

    def token_matches(self, text: str, others: Sequence[str]) -> Vectors:
        """Best cosine of each word piece of `text` in each of `others`, by input embeddings: no forward pass."""
        return self._static().matches(text, others)

    def _static(self) -> StaticTokens:
        if self._tokens is None:
            tokenizer = self._load()[0]
            with self._lock:
                if self._tokens is None:
                    self._tokens = _static_tokens(self._folder, tokenizer)
        return self._tokens

    def _load(self) -> tuple[WordPiece, Forward, Future[None]]:
        if self._loaded is None:
            with self._lock:
                if self._loaded is None:
                    self._loaded = _loaded(self._folder, self._runtime)
        return self._loaded


@lru_cache(maxsize=1)
def _loaded(folder: Path, runtime: Runtime) -> tuple[WordPiece, Forward, Future[None]]:
    """Tokenizer and model, one of them for a process: both may be used by many threads, and take 70 ms and 30 MB.

    The last value is the check of the files. It takes 16 ms beside the load; the first text waits for it, `warm` does not.
    """
    beside = ThreadPoolExecutor(1)
    try:
        checked = beside.submit(_check_files, folder)
        return _read_tokenizer(folder), _make_forward(folder, runtime), checked
    finally:
        beside.shutdown(wait=False)


def _check_files(folder: Path) -> None:
    """Refuse files that are not those that the manifest names.

    Raises:
        ProviderError: a file is another one, or cannot be read.
    """
    try:
        manifest: dict[str, object] = json.loads((folder / "manifest.json").read_bytes())
        for name, key in (("model.onnx", "model_sha256"), ("vocab.txt", "vocab_sha256")):
            with (folder / name).open("rb") as file:
                found = hashlib.file_digest(file, "sha256").hexdigest()
            if found != manifest[key]:
                raise ProviderError(
                    f"{folder / name} is not the file that Tacit was released with: its SHA-256 is {found}, expected {manifest[key]}.",
                    hint="It was damaged or exchanged. Reinstall Tacit.",
                )
    except (OSError, ValueError, LookupError) as error:
        raise ProviderError(
            f"The model in {folder} cannot be checked: {error}", hint="Reinstall Tacit."
        ) from error


@lru_cache(maxsize=1)
def _static_tokens(folder: Path, tokenizer: WordPiece) -> StaticTokens:
    return StaticTokens(folder, tokenizer)


def _read_tokenizer(folder: Path) -> WordPiece:
    try:
        return WordPiece(read_vocabulary(folder / "vocab.txt"))
    except (OSError, KeyError, UnicodeDecodeError) as error:
        raise ProviderError(
            f"The vocabulary in {folder} cannot be read: {error}", hint="Reinstall Tacit."
        ) from error


def _make_forward(folder: Path, runtime: Runtime) -> Forward:
    model = folder / "model.onnx"
    if runtime != "numpy":
        try:
            return _onnx_forward(folder)
        except ImportError as error:
            if runtime == "onnxruntime":
                raise ProviderError(f"onnxruntime cannot be imported: {error}") from error
            _log.warning("onnxruntime cannot be imported (%s); the model runs in numpy, slower.", error)
    from tacit.providers.embedding.numpy_forward import NumpyForward  # noqa: PLC0415 - rarely needed

    return NumpyForward(model)


def _onnx_forward(folder: Path) -> Forward:
    weights: dict[str, NDArray[np.uint8]] = {}
    with suppress(ProviderError):  # without the file of axes the session copies the table
        weights = {_EMBEDDING_TABLE: map_rows(folder)}
    session = open_session(folder / "model.onnx", weights)

    def forward(ids: Sequence[int]) -> Vectors:
        row = np.array([ids], dtype=np.int64)
        return cast(Vectors, session.run(None, {"input_ids": row, "attention_mask": np.ones_like(row)})[0][0])

    return forward
