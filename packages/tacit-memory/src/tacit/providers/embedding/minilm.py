"""The shipped embedder: all-MiniLM-L6-v2 in 8 bits, offline, on the processor.

In: texts. Out: unit vectors of 384 dimensions. Never downloads; loads at the first text (about 70 ms).

The shipped model's forward pass in numpy, for platforms without onnxruntime (Alpine, Intel macOS with a new Python).

In: the shipped `model.onnx` and token ids. Out: a unit vector. About five times slower than onnxruntime and needs 60 MB more;
activations stay in float32, so the vectors differ slightly (cosine above 0.98, held by a test) and share the identity.
Never used where onnxruntime loads. The weights are read out of the ONNX file without onnx or protobuf.

Token vectors without a forward pass: the input embeddings of the shipped model, centred and without their main direction.

In: texts. Out: how well the tokens of one are matched by those of others. Input embeddings share one strong direction that
says how frequent a token is; taking the mean and the first principal component away leaves the meaning. Source: Mu and
Viswanath, All-but-the-top, ICLR 2018. Both ship as `fitted/token_axes.json` (`scripts/build_token_axes.py`), with the lengths that are left, and the 8-bit
rows stay in the model's file, mapped: there is no table to build and none to keep.
"""

from __future__ import annotations

import hashlib
import json
import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from typing import Literal, cast

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidInput, ProviderError
from tacit.fitted import load_fitted, values_of
from tacit.frozen import frozen
from tacit.ports.models import EmbedderIdentity, Vectors
from tacit.providers.embedding.session import open_session
from tacit.providers.embedding.wordpiece import WordPiece, read_vocabulary
from tacit.text.natural_language import ENGLISH

Floats = NDArray[np.float32]

_LAYERS, _HEADS = 6, 12
_EPSILON = 1e-12  # layer_norm_eps of the model


class NumpyForward:
    """The forward pass of the shipped model in numpy: BERT with six layers and mean pooling. Safe to share between threads, which take turns.

    BLAS brings threads of its own; several callers at once would fight over the cores.
    """

    def __init__(self, model: Path) -> None:
        self._turn = threading.Lock()
        stored = read_weights(model)
        if "words_quantized" not in stored:
            raise ProviderError(f"{model} is not the model that Tacit ships.", hint="Reinstall Tacit.")
        # The table of words is the largest part: it stays in 8 bits, and only the rows of a text are made float.
        self._words = stored.pop("words_quantized")
        self._words_scale = np.float32(stored.pop("words_scale").item())
        self._words_zero = np.float32(stored.pop("words_zero_point").item())
        self._weights = {name: _floats(stored, name) for name in stored if _is_plain(name)}
        self._weights |= {
            name.removesuffix("_quantized"): _dequantized(stored, name.removesuffix("_quantized"))
            for name in stored
            if name.endswith("_quantized")
        }

    def __call__(self, ids: Sequence[int]) -> Floats:
        """Return the unit vector of the tokens `ids` of one text, shape (384,)."""
        with self._turn:
            return self._run(ids)

    def _run(self, ids: Sequence[int]) -> Floats:
        words = (self._words[list(ids)].astype(np.float32) - self._words_zero) * self._words_scale
        hidden = self._norm(words + self._weights["positions"][: len(ids)], "embed")
        for index in range(_LAYERS):
            hidden = self._layer(hidden, f"layer{index}")
        mean = hidden.mean(axis=0)
        return cast(Floats, (mean / max(float(np.linalg.norm(mean)), 1e-9)).astype(np.float32))

    def _layer(self, hidden: Floats, name: str) -> Floats:
        length, width = hidden.shape
        size = width // _HEADS
        query, key, value = (
            self._linear(hidden, f"{name}.{projection}").reshape(length, _HEADS, size).transpose(1, 0, 2)
            for projection in ("query", "key", "value")
        )
        scores = query @ key.transpose(0, 2, 1) * np.float32(size**-0.5)
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weights /= weights.sum(axis=-1, keepdims=True)
        context = (weights @ value).transpose(1, 0, 2).reshape(length, width)
        middle = self._norm(self._linear(context, f"{name}.attention") + hidden, f"{name}.attention.norm")
        wide = _gelu(self._linear(middle, f"{name}.up"))
        return self._norm(self._linear(wide, f"{name}.down") + middle, name)

    def _linear(self, value: Floats, name: str) -> Floats:
        return cast(Floats, value @ self._weights[f"{name}.weight"] + self._weights[f"{name}.bias"])

    def _norm(self, value: Floats, name: str) -> Floats:
        centred = value - value.mean(axis=-1, keepdims=True)
        scale = np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + np.float32(_EPSILON))
        return cast(Floats, centred / scale * self._weights[f"{name}.gain"] + self._weights[f"{name}.bias"])


def _gelu(value: Floats) -> Floats:
    """Apply GELU: 0.5 x (1 + erf(x / sqrt 2)), with erf by Abramowitz and Stegun, formula 7.1.26, error below 1.5e-7."""
    x = value * np.float32(2**-0.5)
    t = 1 / (1 + np.float32(0.3275911) * np.abs(x))
    series = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
    erf = np.copysign(1 - series * np.exp(-x * x), x)
    return cast(Floats, value * (1 + erf) * np.float32(0.5))


def _is_plain(name: str) -> bool:
    return name == "positions" or name.endswith((".gain", ".bias"))


def _floats(stored: dict[str, NDArray[np.generic]], name: str) -> Floats:
    return stored[name].astype(np.float32)


def _dequantized(stored: dict[str, NDArray[np.generic]], name: str) -> Floats:
    """Return the 8-bit weights `name` as floats: (whole - zero) x scale, with one zero and one scale per output channel (the last axis)."""
    whole, zero, scale = (
        _floats(stored, f"{name}_{suffix}") for suffix in ("quantized", "zero_point", "scale")
    )
    return (whole - zero) * scale


# --- the weights

# Field numbers of onnx.proto: ModelProto.graph, GraphProto.initializer, and those of TensorProto.
_GRAPH, _INITIALIZER = 7, 5
_DIMS, _TYPE, _FLOATS, _INTS, _NAME, _RAW = 1, 2, 4, 5, 8, 9
_TYPES: dict[int, np.dtype[np.generic]] = {
    1: np.dtype("<f4"),
    2: np.dtype("u1"),
    3: np.dtype("i1"),
    7: np.dtype("<i8"),
}


def read_weights(path: Path) -> dict[str, NDArray[np.generic]]:
    """Read all weights (initializers) of an ONNX file, by name, in their stored types and shapes.

    Raises:
        ProviderError: if the file cannot be read or is not such a model.
    """
    try:
        data = memoryview(path.read_bytes())
        graphs = [value for number, value in _fields(data) if number == _GRAPH]
        tensors = [
            value
            for graph in graphs
            for number, value in _fields(_require_bytes(graph))
            if number == _INITIALIZER
        ]
        return dict(_tensor(_require_bytes(tensor)) for tensor in tensors)
    except (OSError, ValueError, IndexError, KeyError, TypeError) as error:
        raise ProviderError(
            f"The embedding model {path} cannot be read: {error}", hint="Reinstall Tacit."
        ) from error


def _tensor(data: memoryview) -> tuple[str, NDArray[np.generic]]:
    name, dtype, raw = "", np.dtype("<f4"), b""
    shape: list[int] = []
    ints: list[int] = []
    for number, value in _fields(data):
        if number == _NAME:
            name = bytes(_require_bytes(value)).decode()
        elif number == _TYPE and isinstance(value, int):
            dtype = _TYPES[value]
        elif number == _DIMS:
            shape += [value] if isinstance(value, int) else _varints(value)
        elif number == _INTS:
            ints += [value] if isinstance(value, int) else _varints(value)
        elif number in {_RAW, _FLOATS}:  # floats are packed, which is the same as raw
            raw = bytes(_require_bytes(value))
    array = np.frombuffer(raw, dtype=dtype) if raw else np.array(ints, dtype=np.int64).astype(dtype)
    return name, array.reshape(shape)


def _fields(data: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """Yield number and value of each field of one protobuf message."""
    place = 0
    while place < len(data):
        key, place = _varint(data, place)
        match key & 7:
            case 0:
                value, place = _varint(data, place)
                yield key >> 3, value
            case 2:
                size, place = _varint(data, place)
                if place + size > len(data):
                    raise ValueError("the file is cut off")
                yield key >> 3, data[place : place + size]
                place += size
            case 1 | 5 as wire:
                place += 8 if wire == 1 else 4
            case wire:
                raise ValueError(f"wire type {wire} is unknown")


def _varint(data: memoryview, place: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[place]
        place += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, place
        shift += 7


def _varints(data: memoryview) -> list[int]:
    values: list[int] = []
    place = 0
    while place < len(data):
        value, place = _varint(data, place)
        values.append(value)
    return values


def _require_bytes(value: int | memoryview) -> memoryview:
    if isinstance(value, int):
        raise TypeError("a number stands where a message should be")
    return value


Ids = NDArray[np.int32] | NDArray[np.intp]

KEPT_TEXTS = 4096
_LEAST_LENGTH = np.float32(1e-6)


@frozen
class TableInModel:
    """Where the table of input embeddings is in the model's file: the offset of its first byte, and its shape (tokens, dimensions)."""

    at: int
    shape: tuple[int, int]


@frozen
class TokenAxes:
    """The fitted constants that turn rows of the shipped model's token table into vectors: scale, mean, and the common direction to remove.

    Attributes:
        rows: the place of the table in the model's file.
        zero, scale: a value of the table is (byte - `zero`) * `scale`.
        mean, direction: what is subtracted from each vector: the mean, then its part along `direction`.
        lengths: the length of each vector after that, as little-endian half-precision numbers.
    """

    rows: TableInModel
    zero: float
    scale: float
    mean: tuple[float, ...]
    direction: tuple[float, ...]
    lengths: bytes


class StaticTokens:
    """The vectors of single tokens of one model, and their cosines. Caches texts; safe to share between threads.

    A row q of the table stands for the vector x = (q - zero) * scale - mean, projected to p = x - (x . d) d. For an asked
    token t of unit length, which is orthogonal to d, p . t = scale * (q . t) - (zero * scale + mean) . t.
    """

    def __init__(self, folder: Path, tokenizer: WordPiece) -> None:
        self._tokenizer = tokenizer
        self._ids = lru_cache(maxsize=KEPT_TEXTS)(self._encode)
        axes = shipped_axes()
        self._rows = map_rows(folder)
        self._scale = np.float32(axes.scale)
        self._direction = np.array(axes.direction, np.float32)
        self._middle: Vectors = np.float32(axes.zero) * self._scale + np.array(axes.mean, np.float32)
        lengths = np.frombuffer(axes.lengths, "<f2").astype(np.float32)
        self._lengths: Vectors = np.maximum(lengths, _LEAST_LENGTH)

    def vectors(self, ids: Ids) -> Vectors:
        """Return the context-free vectors of tokens, by token id: float32 of unit length, shape (len(ids), dimensions).

        They are rows of the model's input table, less their mean and the direction that all of them share.
        """
        plain = self._rows[ids].astype(np.float32)
        plain *= self._scale
        plain -= self._middle
        plain -= (plain @ self._direction)[:, None] * self._direction
        lengths: Vectors = np.maximum(np.sqrt(np.einsum("ij,ij->i", plain, plain)), _LEAST_LENGTH)
        plain /= lengths[:, None]
        return plain

    def matches(self, text: str, others: Sequence[str]) -> Vectors:
        """Return the best cosine (0 to 1) of each token of `text` with a token of each of `others`, shape (len(others), tokens of `text`)."""
        ids = self._ids(text)
        token_ids = [self._ids(other) for other in others]
        out = np.zeros((len(others), len(ids)), dtype=np.float32)
        rows = [row for row, ids in enumerate(token_ids) if len(ids)]
        if not len(ids) or not rows:
            return out
        # The same tokens come again and again: each distinct one is compared once.
        all_ids = np.concatenate([token_ids[row] for row in rows])
        present = np.zeros(len(self._rows), np.bool_)
        present[all_ids] = True
        distinct = present.nonzero()[0]
        place_of = np.empty(len(present), np.int32)
        place_of[distinct] = np.arange(len(distinct), dtype=np.int32)
        cosines = self._cosines(distinct, ids)
        starts = [*accumulate((len(token_ids[row]) for row in rows[:-1]), initial=0)]
        out[rows] = np.maximum.reduceat(cosines[place_of[all_ids]], starts, axis=0)
        np.maximum(out, 0.0, out=out)
        return np.minimum(out, 1.0, out=out)

    def _cosines(self, ids: Ids, query: Ids) -> Vectors:
        """Return the cosines of the tokens `ids` with those of `query`, shape (ids, query)."""
        query_vectors = self.vectors(query).T
        plain = self._rows[ids].astype(np.float32)
        cosines = cast(Vectors, plain @ (query_vectors * self._scale))
        cosines -= self._middle @ query_vectors
        cosines /= self._lengths[ids, None]
        return cosines

    def _encode(self, text: str) -> NDArray[np.int32]:
        return np.array(self._tokenizer.encode(text, max_tokens=MAX_TOKENS)[1:-1], dtype=np.int32)


def shipped_axes() -> TokenAxes:
    """Load the constants that are shipped with Tacit.

    Raises:
        ProviderError: if the file cannot be used.
    """
    try:
        return load_fitted("token_axes", TokenAxes, values_of)
    except InvalidInput as error:
        raise ProviderError(error.message, hint="Reinstall Tacit.") from error


@lru_cache(maxsize=1)
def map_rows(folder: Path) -> NDArray[np.uint8]:
    """Map the table of token vectors into memory, shape (tokens, dimensions); the file is read where it is accessed.

    One mapping for all callers: pages of a second one would count again as memory of this process.

    Raises:
        ProviderError: if the file of axes or the model cannot be read.
    """
    table, model = shipped_axes().rows, folder / "model.onnx"
    try:
        mapped = np.memmap(model, np.uint8, "r", offset=table.at, shape=table.shape)
    except (OSError, ValueError) as error:
        raise ProviderError(f"The model {model} cannot be read: {error}", hint="Reinstall Tacit.") from error
    return np.asarray(mapped)  # picking rows of numpy's type for mapped files is slower


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
    """An embedder with the shipped model all-MiniLM-L6-v2. Safe to share between threads.

    Texts go through the model one by one. In a batch the 8-bit scale is taken over all of its texts, and a vector would
    depend on its neighbors (cosine down to 0.976 measured) for at most a fifth more speed.
    """

    def __init__(self, *, folder: Path = FOLDER, runtime: Runtime = "auto") -> None:
        self._folder = folder
        self._runtime: Runtime = runtime
        self._lock = threading.Lock()
        self._loaded: tuple[WordPiece, Forward, Future[None]] | None = None
        self._tokens: StaticTokens | None = None

    @property
    def identity(self) -> EmbedderIdentity:
        """Return the name with the version of the weights, and the vector length 384."""
        return IDENTITY

    @property
    def languages(self) -> frozenset[str]:
        """The languages that the model was made for: English. It knows only pieces of other languages' words, and finds any two such texts similar (docs/guide/languages.md)."""
        return frozenset({ENGLISH})

    def warm(self) -> None:
        """Load the model now, instead of with the first text. Blocks.

        Raises:
            ProviderError: if it cannot be loaded.
        """
        self._load()

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return unit float32 vectors, shape (len(texts), 384). Of each text only the first 254 tokens count.

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
            _load_once.cache_clear()
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
        """Return the best cosine (0-1) of each token of `text` with a token of each of `others`, shape (len(others), tokens of `text`).

        From the input embeddings, without a forward pass. Loads the model if it is not loaded.
        """
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
                    self._loaded = _load_once(self._folder, self._runtime)
        return self._loaded


@lru_cache(maxsize=1)
def _load_once(folder: Path, runtime: Runtime) -> tuple[WordPiece, Forward, Future[None]]:
    """Load tokenizer and model once per process, because they take 70 ms and 30 MB. Many threads may use them.

    The last value is the check of the files. It takes 16 ms beside the load; the first text waits for it, `warm` does not.
    """
    beside = ThreadPoolExecutor(1)
    try:
        checked = beside.submit(_check_files, folder)
        return _read_tokenizer(folder), _make_forward(folder, runtime), checked
    finally:
        beside.shutdown(wait=False)


def _check_files(folder: Path) -> None:
    """Check that the model's files are those that the manifest names.

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
