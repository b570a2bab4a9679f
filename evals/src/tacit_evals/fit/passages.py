"""Fit what tells a passage worth keeping. In: labelled sessions and prompts, an embedder for matching. Out: a `PassageModel`.

Labels: a passage of a labelled session is right when it matches a gold item by the data's own rule; a passage of a labelled
prompt is right when it holds the span of what is to be learned from it. Prompts of labelled sessions are never fitted on.
The line that makes a chance of a logit comes from sessions left out.
"""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.sparse import csr_matrix, hstack
from sklearn.linear_model import LogisticRegression

from tacit.capture.extract.passages.features import CUES, SentenceFeatures
from tacit.capture.extract.passages.model import PassageModel
from tacit.capture.extract.passages.segmentation import messages_of, passages_of
from tacit.capture.transcript import TranscriptSource, read_transcript
from tacit.capture.turn import Role, Turn
from tacit.config.settings import EmbedderSettings
from tacit.errors import InvalidInput
from tacit.fitted import FOLDER, Artifact, Origin, encode_artifact
from tacit.fitted.matrices import MatrixValues, WeightMatrices
from tacit.ports.models import Embedder
from tacit.providers.embedding import make_embedder
from tacit.state.captured import Position
from tacit_evals.data.learnings import LabelledSession, load_learnings
from tacit_evals.data.recognise import folders_of
from tacit_evals.data.rows import Row, read_rows
from tacit_evals.fit.leaks import same_project, usable
from tacit_evals.fit.logistic import Array
from tacit_evals.metrics.matching import likeness, token_f1
from tacit_evals.suites.capturing import HOST, evidence_turns

ROLES: tuple[Role, ...] = ("assistant", "user")
SESSION_WEIGHT, PROMPT_WEIGHT = 3.0, 0.4
"""How much a passage counts; prompts were labelled under another protocol."""
STRENGTH = {"user": 0.05, "assistant": 0.1}
CUE_SCALE = {"user": 0.2, "assistant": 0.3}
WORD_SCALE = {"user": 3.0, "assistant": 3.0}
LEAST_SESSIONS = 3
FOLDS = 6
SPAN_F1 = 0.4
_HEAD = 40
COMMAND = "python -m tacit_evals.fit --data DATA --date DATE"


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledPassage:
    """One passage; `session` = a digest; `right` = worth keeping; `weight` = how much it counts."""

    session: str
    project: str
    role: Role
    words: frozenset[str]
    cues: Array
    right: bool
    weight: float
    labelled_session: bool


def digest(session: str) -> str:
    """What stands for a session's name in a file."""
    return hashlib.sha256(session.encode()).hexdigest()[:12]


def sessions_below(folders: Sequence[Path]) -> tuple[LabelledSession, ...]:
    """All labelled sessions of the folders, each once."""
    sessions: dict[str, LabelledSession] = {}
    for folder in folders:
        for place in _places(folder):
            for session in load_learnings(place):
                sessions.setdefault(session.id, session)
    return tuple(sessions.values())


def _places(folder: Path) -> tuple[Path, ...]:
    try:
        return folders_of("capture", folder)
    except InvalidInput:
        return ()


def labelled_passages(
    folders: Sequence[Path], *, embedder: Embedder, exclude_sessions: Collection[str] = ()
) -> list[LabelledPassage]:
    """Passages of all labelled sessions and prompts of the folders but those of `exclude_sessions`."""
    sessions = sessions_below(folders)
    passages = [
        passage
        for session in sessions
        if session.id not in exclude_sessions
        for passage in passages_of_session(session, embedder=embedder)
    ]
    apart = {*exclude_sessions, *(session.id for session in sessions)}
    for folder in folders:
        passages += passages_of_prompts(folder, exclude_sessions=apart)
    return passages


def passages_of_session(session: LabelledSession, *, embedder: Embedder) -> list[LabelledPassage]:
    """Every passage of a session, right where it matches a gold item."""
    source = TranscriptSource(host=HOST, session_id=session.id, path=str(session.path))
    turns = read_transcript(source, Position()).turns
    cut = [
        (passage, reading)
        for message in messages_of(turns)
        for reading in [SentenceFeatures(message)]
        for passage in passages_of(message)
    ]
    texts = [passage.text for passage, _ in cut]
    gold = embedder.embed([item.content for item in session.gold]) if session.gold else None
    cosines = embedder.embed(texts) @ gold.T if texts and gold is not None else None
    passages: list[LabelledPassage] = []
    for row, (passage, reading) in enumerate(cut):
        turn = passage.message.turn
        evidence = evidence_turns(passage.span, turn.number, session.turns)
        best = 0.0
        for at, item in enumerate(session.gold):
            if cosines is not None and evidence & item.turns:
                like = likeness(texts[row], span=item.span, gold=item.content, cosine=float(cosines[row, at]))
                best = max(best, like)
        passages.append(
            LabelledPassage(
                session=digest(session.id),
                project=session.project,
                role=turn.role,
                words=reading.words(passage),
                cues=reading.cues(passage).astype(np.float64),
                right=best >= 1.0,
                weight=SESSION_WEIGHT,
                labelled_session=True,
            )
        )
    return passages


def passages_of_prompts(data: Path, *, exclude_sessions: Collection[str]) -> list[LabelledPassage]:
    """Every passage of the labelled prompts below `data` but those of `exclude_sessions`."""
    return [
        passage for row in prompt_rows(data, exclude_sessions=exclude_sessions) for passage in _of_prompt(row)
    ]


def prompt_rows(data: Path, *, exclude_sessions: Collection[str]) -> list[Row]:
    """The labelled prompts below `data` that may be fitted on."""
    rows: list[Row] = []
    for name in ("prompts.jsonl", "more.jsonl"):
        for path in sorted(data.glob(f"**/situation/{name}")):
            rows += read_rows(path)
    return usable(rows, exclude_projects=(), exclude_sessions=exclude_sessions)


def _of_prompt(row: Row) -> list[LabelledPassage]:
    span, learned = row.maybe("span"), row.maybe("learn")
    before = row.maybe("previous_assistant")
    turn = Turn(index=1, number=2 if before else 1, role="user", text=row.text("text"))
    passages: list[LabelledPassage] = []
    for message in messages_of([turn], before=before):
        reading = SentenceFeatures(message)
        for passage in passages_of(message):
            text = passage.text
            right = bool(learned and span) and (
                token_f1(text, span) >= SPAN_F1
                or span[:_HEAD].lower() in text.lower()
                or text[:_HEAD].lower() in span.lower()
            )
            passages.append(
                LabelledPassage(
                    session=digest(row.maybe("session")),
                    project=row.maybe("project") or row.maybe("repo"),
                    role="user",
                    words=reading.words(passage),
                    cues=reading.cues(passage).astype(np.float64),
                    right=right,
                    weight=PROMPT_WEIGHT,
                    labelled_session=False,
                )
            )
    return passages


def fit_passages(
    passages: Sequence[LabelledPassage],
    *,
    date: str = "",
    command: str = "",
    lines: bool = True,
) -> PassageModel:
    """Fit on `passages`, in their order; without `lines` logits are taken for those of a chance."""
    words = _vocabulary(passages)
    matrices: dict[str, Array] = {}
    for role in ROLES:
        own = [passage for passage in passages if passage.role == role]
        matrices |= _speaker(role, own, words)
        matrices[f"{role}.line"] = _line(own, words) if lines else np.array([[1.0, 0.0]])
    weights = WeightMatrices(
        origin=Origin(
            what="passages worth keeping",
            made_by=command,
            projects=tuple(sorted({passage.project for passage in passages})),
            date=date,
            details={"rows": len(passages), "right": sum(passage.right for passage in passages)},
        ),
        names={
            "words": tuple(words),
            "sessions": tuple(sorted({passage.session for passage in passages if passage.labelled_session})),
        },
        matrices={name: matrix.astype(np.float32) for name, matrix in matrices.items()},
    )
    return PassageModel(weights.rounded())


def _vocabulary(passages: Sequence[LabelledPassage]) -> list[str]:
    """Words of three sessions or more."""
    sessions_with: dict[str, set[str]] = {}
    for passage in passages:
        for word in passage.words:
            sessions_with.setdefault(word, set()).add(passage.session)
    return sorted(word for word, sessions in sessions_with.items() if len(sessions) >= LEAST_SESSIONS)


def _inputs(passages: Sequence[LabelledPassage], words: Sequence[str], name: str) -> tuple[csr_matrix, Array]:
    """Scaled cues and words side by side, and the factor of every column."""
    index = {word: number for number, word in enumerate(words)}
    rows: list[int] = []
    columns: list[int] = []
    values: list[float] = []
    for row, passage in enumerate(passages):
        numbers = sorted(index[word] for word in passage.words if word in index)
        rows += [row] * len(numbers)
        columns += numbers
        values += [len(numbers) ** -0.5] * len(numbers)
    present = csr_matrix((values, (rows, columns)), shape=(len(passages), len(words)))
    cues = np.array([passage.cues for passage in passages]).reshape(-1, CUES)
    spread = cues.std(axis=0)
    scale = np.where(spread > 0, CUE_SCALE[name] / np.maximum(spread, 0.05), 0.0)
    factors = np.concatenate([scale, np.full(len(words), WORD_SCALE[name])])
    return hstack([csr_matrix(cues * scale), present * WORD_SCALE[name]]).tocsr(), factors


def _logistic(inputs: csr_matrix, labels: Array, weights: Array, name: str) -> tuple[Array, float]:
    if labels.min() == labels.max():
        return np.zeros(inputs.shape[1]), -6.0 if labels.max() == 0 else 6.0
    learner = LogisticRegression(C=STRENGTH[name], max_iter=1000, tol=1e-6)
    learner.fit(inputs, labels, sample_weight=weights)
    return learner.coef_[0], float(learner.intercept_[0])


def _speaker(role: Role, passages: Sequence[LabelledPassage], words: Sequence[str]) -> dict[str, Array]:
    if not passages:
        return {
            f"{role}.bias": np.array([[-6.0]]),
            f"{role}.cue": np.zeros((CUES, 1)),
            f"{role}.word": np.zeros((len(words), 1)),
        }
    inputs, factors = _inputs(passages, words, role)
    labels = np.array([float(passage.right) for passage in passages])
    weights = np.array([passage.weight for passage in passages])
    slopes, bias = _logistic(inputs, labels, weights, role)
    slopes = (slopes * factors)[:, None]
    return {f"{role}.bias": np.array([[bias]]), f"{role}.cue": slopes[:CUES], f"{role}.word": slopes[CUES:]}


def _line(passages: Sequence[LabelledPassage], words: Sequence[str]) -> Array:
    """Slope and bias that make chances of logits, over labelled sessions left out in turn."""
    sessions = sorted({passage.session for passage in passages if passage.labelled_session})
    logits: list[float] = []
    labels: list[float] = []
    for fold in range(min(FOLDS, len(sessions))):
        out = set(sessions[fold::FOLDS])
        training = [passage for passage in passages if passage.session not in out]
        tried = [passage for passage in passages if passage.session in out]
        if not training or not tried:
            continue
        model = _speaker(tried[0].role, training, words)
        inputs, factors = _inputs(tried, words, tried[0].role)
        weights = np.concatenate([model[f"{tried[0].role}.cue"], model[f"{tried[0].role}.word"]])[:, 0]
        raw = inputs.multiply(1.0 / np.where(factors > 0, factors, 1.0)).tocsr() @ weights
        logits += (raw + model[f"{tried[0].role}.bias"][0, 0]).tolist()
        labels += [float(passage.right) for passage in tried]
    if len(set(labels)) < 2:
        return np.array([[1.0, 0.0]])
    learner = LogisticRegression(C=10.0).fit(np.array(logits)[:, None], labels)
    return np.array([[float(learner.coef_[0, 0]), float(learner.intercept_[0])]])


def fit_shipped_passages(
    folders: Sequence[Path], *, embedder: Embedder, date: str = "", command: str = ""
) -> Artifact[MatrixValues] | None:
    """The content of the file that ships, fitted on all sessions; None where there are none."""
    rows = labelled_passages(folders, embedder=embedder)
    if not any(passage.labelled_session for passage in rows):
        return None
    return fit_passages(rows, date=date, command=command).weights.as_artifact("passages")


def without(passages: Sequence[LabelledPassage], project: str) -> list[LabelledPassage]:
    """Passages but those of one project, under any of its names."""
    return [passage for passage in passages if not same_project(passage.project, project)]


def main() -> None:
    """Fit these weights alone and write them where they ship from."""
    parser = argparse.ArgumentParser(
        prog="python -m tacit_evals.fit.passages", description="Fit what tells a passage worth keeping."
    )
    parser.add_argument("--data", type=Path, required=True, action="append", help="folder of labelled data")
    parser.add_argument("--date", required=True, help="date for the file, such as 2026-11-21")
    parser.add_argument("--out", type=Path, default=FOLDER / "passages.json", help="file to write")
    options = parser.parse_args()
    embedder = make_embedder(EmbedderSettings(cache_entries=100_000))
    artifact = fit_shipped_passages(options.data, embedder=embedder, date=options.date, command=COMMAND)
    if artifact is not None:
        content = encode_artifact(artifact)
        options.out.write_bytes(content)
        print(f"{options.out}: {len(content)} bytes")


if __name__ == "__main__":
    main()
