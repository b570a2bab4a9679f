"""The fitted situation reader: its formula by hand, its two sets of weights, when it does not embed."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tacit.fitted import Origin
from tacit.fitted.matrices import WeightMatrices
from tacit.model.situation import Situation
from tacit.providers.embedding.minilm import IDENTITY
from tacit.reading.classifier.features import CUES, cues, prompt_words, shortened, shortness
from tacit.reading.classifier.reader import SituationReader
from tacit.reading.classifier.situation import PromptInput, SituationModel, shipped_situation
from unit.reading.classifier.counting import Counting, chance, logit

CLASSES = ("commit", "push", "none")


def tiny() -> SituationModel:
    zero = np.zeros((2, 3), np.float32)
    plain = {
        "bias": np.array([[0.5, -1.0, -9.0]], np.float32),
        "cue": np.zeros((CUES, 3), np.float32),
        "rule": np.zeros((3, 3), np.float32),
        "word": np.array([[2.0, 0.0, 0.0], [0.0, 1.0, 0.0]], np.float32),
        "end_word": np.zeros((1, 3), np.float32),
    }
    vectors = plain | {
        "prompt": np.array([[0.0, 3.0, 0.0], [0.0, 0.0, 0.0]], np.float32),
        "end": zero, "end_accepted": zero, "end_short": np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 0.0]], np.float32),
    }  # fmt: skip
    matrices = {f"words.{k}": v for k, v in plain.items()} | {f"vectors.{k}": v for k, v in vectors.items()}
    names = {"classes": CLASSES, "words": ("w:ship", "w:it"), "end_words": ("p:x",)}
    return SituationModel(WeightMatrices(origin=Origin(embedder="two/2"), names=names, matrices=matrices))


def test_the_formula_by_hand_without_vectors() -> None:
    rules = Situation(actions=(("commit", 0.8),))
    found = tiny().chances(rules, PromptInput(text="ship it"))
    # Two known words: each counts 1 / root of 2. Rules count 0.4 in logits; a class they do not name has chance 0.003.
    assert found[0] == pytest.approx(chance(0.5 + 0.4 * logit(0.8) + 2 / math.sqrt(2)), abs=1e-5)
    assert found[1] == pytest.approx(chance(-1.0 + 0.4 * logit(0.003) + 1 / math.sqrt(2)), abs=1e-5)


def test_the_formula_by_hand_with_vectors() -> None:
    vector = np.array([1.0, 0.0], np.float32)
    found = tiny().chances(Situation(), PromptInput(text="ship it", vector=vector, end_vector=vector))
    base = 0.4 * logit(0.003)
    assert found[0] == pytest.approx(chance(0.5 + base + 2 / math.sqrt(2) + (1 - 2 / 40)), abs=1e-5)
    assert found[1] == pytest.approx(chance(-1.0 + base + 1 / math.sqrt(2) + 3.0), abs=1e-5)


def test_what_words_say_outright_is_not_argued_away() -> None:
    rules = Situation(actions=(("push", 0.8),))
    asked = PromptInput(text="now")
    fitted = dict(zip(CLASSES, tiny().chances(rules, asked), strict=True))
    found = dict(tiny().read(rules, asked).actions)
    # 1 - (1 - fitted) (1 - 0.3 x 0.8); a class that no rule names keeps the fitted chance
    assert found["push"] == pytest.approx(1 - (1 - fitted["push"]) * 0.76, abs=1e-3)
    assert found["commit"] == pytest.approx(fitted["commit"], abs=1e-3)


def test_what_the_rules_found_besides_actions_stays() -> None:
    rules = Situation(
        actions=(("commit", 0.8),), objects=("src/a.py",), commands=("git commit",), accepted=True
    )
    found = tiny().read(rules, PromptInput(text="ship it"))
    assert found.objects == ("src/a.py",)
    assert found.accepted
    assert [name for name, _ in found.actions] == ["commit", "push"]


def test_the_reader_embeds_the_prompt_once_and_the_end_when_it_arrives() -> None:
    embedder = Counting()
    read = SituationReader(embedder=embedder, model=tiny())
    read.heard("Shall I ship it?")
    assert embedder.asked == ["Shall I ship it?"]
    read("ship the fix", previous_end="Shall I ship it?")
    assert embedder.asked == ["Shall I ship it?", "ship the fix"]
    read("ship the fix", previous_end="a message nobody told of")
    assert embedder.asked[2:] == ["ship the fix"]


def test_nothing_is_embedded_where_the_rules_are_certain_or_the_embedder_is_another() -> None:
    embedder = Counting()
    read = SituationReader(embedder=embedder, model=tiny())
    assert read("thanks!").nothing_coming
    other = Counting("other")
    SituationReader(embedder=other, model=tiny())("commit this")
    assert embedder.asked == other.asked == []


def test_a_failing_embedder_costs_the_vectors_not_the_reading() -> None:
    embedder = Counting(fails=True)
    read = SituationReader(embedder=embedder, model=tiny())
    read.heard("Shall I?")
    assert read("ship it").actions == SituationReader(model=tiny())("ship it").actions


def test_once_warm_a_prompt_loads_nothing() -> None:
    read = SituationReader()
    read.warm()
    loaded = shipped_situation()
    read("commit and push this", previous_end="Shall I commit it?")
    assert shipped_situation() is loaded


def test_what_ships_fits_the_shipped_embedder_and_reads_a_plain_order() -> None:
    model = shipped_situation()
    assert model.embedder == str(IDENTITY)
    found = SituationReader()("commit and push this")
    assert {name for name, _ in found.actions[:3]} >= {"commit", "push"}
    assert all(0 < p < 1 for _, p in found.actions)


def test_cues_and_words() -> None:
    row = cues("why does it fail?", previous_end="Done. Shall I go on?", files=("src/test_a.py", "README.md"))
    assert row.shape == (CUES,)
    assert row[6] == row[7] == row[16] == 1.0  # a question, it ends in one, and so does what came before
    assert row[18] == row[19] == 0.5  # one test, one document
    assert {"w:fix", "b:fix the", "f0:fix"} <= prompt_words("Fix the tests")
    assert shortness("") == 1.0
    assert shortness("word " * 50) == 0.0
    assert len(shortened("x" * 9_000)) == 1_801
