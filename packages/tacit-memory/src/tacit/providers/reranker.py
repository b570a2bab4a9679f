"""The second-stage model: a cross-encoder in a folder that reads the question and a text together. In: two texts. Out: a probability.

    p = 1 / (1 + exp(-logit));  with two logits the second's share by softmax

Source: Nogueira and Cho, Passage re-ranking with BERT, 2019. The folder holds `model.onnx` or `onnx/model.onnx` and
`tokenizer.json` or an uncased `vocab.txt`, as sentence-transformers exports it. It is loaded in the background: whoever asks meanwhile
is told so and goes on without it. Never downloads.
"""

from __future__ import annotations

import math
import threading
from pathlib import Path

from tacit.errors import ProviderError
from tacit.frozen import frozen
from tacit.providers.embedding.onnx_dir import Encode, find_model, make_encode, read_json
from tacit.providers.embedding.session import OnnxSession, open_session, run_model

QUESTION_TOKENS = 128
"""A question is cut to this many tokens, so that room is left for the text."""
MOST_TOKENS = 512


@frozen
class LoadedModel:
    """A loaded model: its tokenizer and its session."""

    encode: Encode
    session: OnnxSession


class CrossEncoder:
    """The second-stage model in a folder, which scores how well a text answers a question. It is loaded once; safe to share between threads.

    Raises:
        ProviderError: at once if the folder holds no model.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._path = find_model(folder)
        length = read_json(folder / "tokenizer_config.json").get("model_max_length")
        self.max_tokens = min(length, MOST_TOKENS) if isinstance(length, int) else MOST_TOKENS
        self.name = f"onnx:{folder.name}"
        self._lock = threading.Lock()
        self._loading: threading.Thread | None = None
        self._loaded: LoadedModel | None = None
        self._error: ProviderError | None = None

    @property
    def ready(self) -> bool:
        """Whether the model is loaded. If not, this begins to load it in the background.

        Raises:
            ProviderError: if loading failed before.
        """
        if self._error is not None:
            raise self._error
        if self._loaded is not None:
            return True
        with self._lock:
            if self._loading is None:
                self._loading = threading.Thread(target=self._load_aside, name="tacit-load", daemon=True)
                self._loading.start()
        return False

    def load(self) -> LoadedModel:
        """Return the model. The first call loads it, and other calls wait until that is done.

        Raises:
            ProviderError: if it cannot be opened; the failure is kept and raised on every call.
        """
        if self._loaded is None:
            self._open()
        if self._loaded is None:
            raise self._error or ProviderError(f"The model {self._path} was not loaded.")
        return self._loaded

    def _load_aside(self) -> None:
        try:
            self._open()
        except ProviderError:
            return  # kept for whoever asks next

    def _open(self) -> None:
        with self._lock:
            if self._loaded is not None or self._error is not None:
                return
            try:
                encode = make_encode(self._folder, self.max_tokens)
                self._loaded = LoadedModel(encode=encode, session=open_session(self._path))
            except ProviderError as error:
                self._error = error
            except ImportError as error:
                self._error = ProviderError(f"onnxruntime cannot be imported: {error}")

    def score(self, text: str, other: str) -> float:
        """Return how well `other` answers `text`, from 0 to 1. Blocks while the model is loaded.

        Raises:
            ProviderError: if the model cannot be loaded, asks for something unknown, or fails.
        """
        loaded = self.load()
        encode = loaded.encode
        query = encode(text)
        if len(query) > QUESTION_TOKENS:
            query = [*query[: QUESTION_TOKENS - 1], query[-1]]
        document = encode(other)[1:]
        room = self.max_tokens - len(query)
        if len(document) > room:
            document = [*document[: room - 1], document[-1]]
        types = [0] * len(query) + [1] * len(document)
        logits = run_model(loaded.session, [*query, *document], types, model=str(self._path)).reshape(-1)
        match logits.size:
            case 1:
                return _sigmoid(float(logits[0]))
            case 2:
                return _sigmoid(float(logits[1]) - float(logits[0]))
            case size:
                raise ProviderError(
                    f"{self.name} gives {size} numbers for a pair; one or two are known.",
                    hint="Name the folder of a cross-encoder for ranking.",
                )


def _sigmoid(logit: float) -> float:
    """Return 1 / (1 + exp(-logit)), without overflow."""
    return 1 / (1 + math.exp(-logit)) if logit >= 0 else math.exp(logit) / (1 + math.exp(logit))
