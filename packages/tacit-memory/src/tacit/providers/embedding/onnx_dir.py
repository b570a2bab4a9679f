"""Any model folder in the layout of sentence-transformers with an ONNX file.

In: the folder (`model.onnx` or `onnx/model.onnx`, `tokenizer.json` or an uncased `vocab.txt`, `1_Pooling/config.json`).
Out: unit vectors. Never downloads; loads at the first text.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import json
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from tacit.errors import ProviderError, install_extra
from tacit.ports.models import EmbedderIdentity, Vectors
from tacit.providers.embedding.http import unit_rows
from tacit.providers.embedding.session import OnnxSession, open_session, run_model
from tacit.providers.embedding.wordpiece import CHARS_PER_TOKEN, WordPiece, read_vocabulary

Pooling = Literal["mean", "cls", "max"]
Encode = Callable[[str], list[int]]

_MODELS = ("model.onnx", "onnx/model.onnx", "onnx/model_quantized.onnx")
_KNOWN_MODULES = {"Transformer", "Pooling", "Normalize"}
_TOKEN_OUTPUTS = ("sentence_embedding", "last_hidden_state", "token_embeddings")  # in order of preference
_MOST_TOKENS = 512
_SAMPLES, _SAMPLE_BYTES = 64, 4096


class OnnxFolder:
    """An embedder with an ONNX model in a folder. Safe to share between threads.

    Raises:
        ProviderError: at once if the folder is incomplete or asks for something unknown.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._model = find_model(folder)
        _check_modules(folder)
        pooling = read_json(folder / "1_Pooling/config.json")
        config = read_json(folder / "config.json")
        self._pooling: Pooling = _pooling(pooling, folder)
        dimensions = pooling.get("word_embedding_dimension") or config.get("hidden_size")
        if not isinstance(dimensions, int):
            raise ProviderError(
                f"{folder} does not say how long its vectors are.",
                hint="It needs `1_Pooling/config.json` or `hidden_size` in `config.json`.",
            )
        length = read_json(folder / "sentence_bert_config.json").get("max_seq_length")
        self._max_tokens = min(length, _MOST_TOKENS) if isinstance(length, int) else _MOST_TOKENS
        digest = _digest(self._model, f"{self._pooling}/{self._max_tokens}")
        self._identity = EmbedderIdentity(name=f"onnx:{folder.name}@{digest}", dimensions=dimensions)
        self._lock = threading.Lock()
        self._loaded: tuple[Encode, OnnxSession] | None = None

    @property
    def identity(self) -> EmbedderIdentity:
        """Return the folder's name with a digest of the model's files, and the vector length."""
        return self._identity

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return unit float32 vectors, shape (len(texts), dimensions). Texts go through the model one at a time (see `MiniLM`).

        Raises:
            ProviderError: if the model or its tokenizer cannot be loaded.
        """
        distinct = {text: row for row, text in enumerate(dict.fromkeys(texts))}
        if not distinct:
            return np.empty((0, self._identity.dimensions), dtype=np.float32)
        encode, session = self._load()
        rows = [self._forward(session, encode(text)) for text in distinct]
        vectors = unit_rows(
            rows, count=len(rows), dimensions=self._identity.dimensions, server=f"The model {self._model}"
        )
        return vectors[[distinct[text] for text in texts]]

    def _load(self) -> tuple[Encode, OnnxSession]:
        with self._lock:
            if self._loaded is None:
                try:
                    session = open_session(self._model)
                except ImportError as error:
                    raise ProviderError(
                        f"onnxruntime cannot be imported: {error}", hint="Use the provider `minilm`."
                    ) from error
                self._loaded = (make_encode(self._folder, self._max_tokens), session)
            return self._loaded

    def _forward(self, session: OnnxSession, ids: list[int]) -> NDArray[Any]:
        value = run_model(session, ids, [0] * len(ids), outputs=_TOKEN_OUTPUTS, model=str(self._model))
        return _pool(value[0], self._pooling) if value.ndim == 3 else value[0]


def _pool(tokens: NDArray[Any], pooling: Pooling) -> NDArray[Any]:
    """Combine the vectors of tokens, shape (tokens, dimensions), into one. They must not include padding."""
    match pooling:
        case "mean":
            return cast("NDArray[Any]", tokens.mean(axis=0))
        case "cls":
            return cast("NDArray[Any]", tokens[0])
        case "max":
            return cast("NDArray[Any]", tokens.max(axis=0))


def find_model(folder: Path) -> Path:
    """Return the path of the ONNX file in a model's folder.

    Raises:
        ProviderError: if there is none.
    """
    for name in _MODELS:
        if (folder / name).is_file():
            return folder / name
    raise ProviderError(
        f"{folder} holds no {' or '.join(_MODELS)}.",
        hint="Name the folder of a model that was exported to ONNX.",
    )


def _check_modules(folder: Path) -> None:
    modules = _read(folder / "modules.json")
    if not isinstance(modules, list):
        return
    types = {str(module.get("type")) for module in cast("list[Mapping[str, object]]", modules)}
    unknown = {name.rsplit(".", 1)[-1] for name in types} - _KNOWN_MODULES
    if unknown:
        raise ProviderError(
            f"{folder} needs modules that are not in its ONNX file: {', '.join(sorted(unknown))}."
        )


def _pooling(config: Mapping[str, object], folder: Path) -> Pooling:
    chosen = [name for name, value in config.items() if name.startswith("pooling_mode_") and value is True]
    poolings: dict[str, Pooling] = {
        "pooling_mode_mean_tokens": "mean",
        "pooling_mode_cls_token": "cls",
        "pooling_mode_max_tokens": "max",
    }
    if not chosen:
        return "mean"
    if len(chosen) > 1 or chosen[0] not in poolings:
        raise ProviderError(f"{folder} asks for a pooling that is not supported: {', '.join(chosen)}.")
    return poolings[chosen[0]]


def make_encode(folder: Path, max_tokens: int) -> Encode:
    """Return a function that turns a text into the ids of its tokens, at most `max_tokens` with the first and last mark.

    Raises:
        ProviderError: if the folder holds no tokenizer that can be read.
    """
    if (folder / "tokenizer.json").is_file() and importlib.util.find_spec("tokenizers") is not None:
        library = cast(Any, importlib.import_module("tokenizers"))
        try:
            tokenizer = library.Tokenizer.from_file(str(folder / "tokenizer.json"))
        except Exception as error:  # the library raises no class of its own
            raise ProviderError(f"{folder / 'tokenizer.json'} cannot be read: {error}") from error
        tokenizer.no_padding()  # files of this kind often pad every text to 128 tokens
        tokenizer.enable_truncation(max_tokens)

        def encode(text: str) -> list[int]:
            clean = text.lstrip()[: max_tokens * CHARS_PER_TOKEN].encode("utf-8", "ignore").decode("utf-8")
            return cast("list[int]", tokenizer.encode(clean).ids)

        return encode
    uncased = read_json(folder / "tokenizer_config.json").get("do_lower_case", True) is True
    if not uncased or not (folder / "vocab.txt").is_file():
        raise ProviderError(
            f"The tokenizer of {folder} needs the library tokenizers.",
            hint=install_extra("onnx-dir"),
        )
    try:
        wordpiece = WordPiece(read_vocabulary(folder / "vocab.txt"))
    except (OSError, KeyError, UnicodeDecodeError) as error:
        raise ProviderError(f"{folder / 'vocab.txt'} cannot be read: {error}") from error
    return lambda text: wordpiece.encode(text, max_tokens=max_tokens)


def read_json(path: Path) -> Mapping[str, object]:
    """Return the JSON object in a file; empty if there is no such file or it holds something else. Raises ProviderError if it cannot be read."""
    value = _read(path)
    return cast("Mapping[str, object]", value) if isinstance(value, dict) else {}


def _read(path: Path) -> object:
    """Return the JSON value in a file; None = there is no such file. Raises ProviderError if it cannot be read."""
    if not path.is_file():
        return None
    try:
        return cast(object, json.loads(path.read_text("utf-8")))
    except (OSError, ValueError) as error:
        raise ProviderError(f"{path} cannot be read: {error}") from error


def _digest(model: Path, extra: str) -> str:
    """Return eight hex digits that change with the weights: a digest of the file's size, of samples at even distances, and of `extra`."""
    size = model.stat().st_size
    digest = hashlib.blake2b(f"{size}/{extra}".encode(), digest_size=4)
    with model.open("rb") as file:
        for index in range(_SAMPLES):
            file.seek(size * index // _SAMPLES)
            digest.update(file.read(_SAMPLE_BYTES))
    return digest.hexdigest()
