"""The fitted trigger maker: its formula by hand, what it leaves alone, and the file of the match."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

from tacit.errors import ProviderError
from tacit.fitted import FitOrigin
from tacit.fitted.matrices import WeightMatrices
from tacit.model.trigger import Trigger
from tacit.ports.models import EmbedderIdentity, Vectors
from tacit.providers.embedding.minilm import IDENTITY
from tacit.reading.match import (
    MatchModel,
    shipped_match,
)
from tacit.reading.trigger_model import (
    CUES,
    LocalTriggers,
    TriggerModel,
    shipped_trigger,
    statement_cues,
    statement_words,
)


class Counting:
    """Gives the same vector for every text and counts."""

    def __init__(self, name: str = "two", *, fails: bool = False) -> None:
        self.identity = EmbedderIdentity(name=name, dimensions=2)
        self.asked: list[str] = []
        self._fails = fails

    def embed(self, texts: Sequence[str]) -> Vectors:
        if self._fails:
            raise ProviderError("gone")
        self.asked.extend(texts)
        return np.tile(np.array([[1.0, 0.0]], np.float32), (len(texts), 1))


def logit(p: float) -> float:
    return math.log(p / (1 - p))


def chance(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def zeros(*shape: int) -> np.ndarray:
    return np.zeros(shape, np.float32)


def tiny() -> TriggerModel:
    plain = {
        "bias": np.array([[0.25, -1.0]], np.float32),
        "rule": np.array([[1.0, 0.0], [0.0, 0.0]], np.float32),
        "kind": zeros(2 + CUES, 2),
        "word": np.array([[2.0, 0.0]], np.float32),
        "breadth.bias": np.array([[1.5]], np.float32),
        "breadth.kind": np.array([[0.5], *[[0.0]] * (1 + CUES)], np.float32),
        "breadth.word": np.array([[0.25]], np.float32),
    }
    vectors = plain | {
        "vector": np.array([[0.0, 3.0], [0.0, 0.0]], np.float32),
        "breadth.vector": zeros(2, 1),
    }
    matrices = {f"words.{k}": v for k, v in plain.items()} | {f"vectors.{k}": v for k, v in vectors.items()}
    names = {"classes": ("commit", "push"), "kinds": ("preference", ""), "words": ("w:sign",)}
    return TriggerModel(WeightMatrices(origin=FitOrigin(embedder="two/2"), names=names, matrices=matrices))


def test_the_formula_by_hand() -> None:
    rules = Trigger(actions=(("commit", 0.67),))
    weights, breadth = tiny().weigh(rules, "Sign commits.", kind="preference")
    # bias + 0.4 logit(0.7 x 0.67) + the rules' own weight + one known word over the root of one
    assert weights[0] == pytest.approx(chance(0.25 + 0.4 * logit(0.7 * 0.67) + 0.67 + 2.0), abs=1e-5)
    assert weights[1] == pytest.approx(chance(-1.0 + 0.4 * logit(0.02)), abs=1e-5)
    assert breadth == pytest.approx(1.5 + 0.5 + 0.25)
    with_vector, _ = tiny().weigh(
        rules, "Sign commits.", kind="preference", vector=np.array([1.0, 0.0], np.float32)
    )
    assert with_vector[1] == pytest.approx(chance(-1.0 + 0.4 * logit(0.02) + 3.0), abs=1e-5)


def test_a_class_that_the_rules_name_never_weighs_nothing() -> None:
    # fitted: about 0.2; by the rules 1.0, of which 0.3 stay
    made = tiny().make(Trigger(actions=(("push", 1.0),)), "Push it.", kind="preference")
    fitted, _ = tiny().weigh(Trigger(actions=(("push", 1.0),)), "Push it.", kind="preference")
    assert dict(made.actions)["push"] == pytest.approx(max(0.3, float(fitted[1])), abs=0.01)
    weak, _ = tiny().weigh(Trigger(actions=(("push", 0.5),)), "Push it.", kind="preference")
    assert weak[1] < 0.3


def test_objects_and_patterns_stay_and_always_is_left_alone() -> None:
    rules = Trigger(
        actions=(("commit", 0.67),), objects=("gpg",), paths=("src/**",), commands=("git commit",)
    )
    made = tiny().make(rules, "Sign commits.", kind="preference")
    assert (made.objects, made.paths, made.commands) == (("gpg",), ("src/**",), ("git commit",))
    assert made.maker == "local"
    assert [name for name, _ in made.actions] == ["commit", "push"]
    always = Trigger(always=True, breadth=3.0)
    assert tiny().make(always, "Answer in German.", kind="preference") == always


def test_the_maker_embeds_only_with_the_embedder_it_knows_and_survives_its_failure() -> None:
    known, other = Counting(), Counting("other")
    LocalTriggers(embedder=known, model=tiny())("Sign commits.", kind="preference")
    by_other = LocalTriggers(embedder=other, model=tiny())("Sign commits.", kind="preference")
    by_none = LocalTriggers(embedder=Counting(fails=True), model=tiny())("Sign commits.", kind="preference")
    assert known.asked == ["Sign commits."]
    assert other.asked == []
    assert by_other == by_none


def test_a_vector_at_hand_is_used_as_it_is() -> None:
    known = Counting()
    make = LocalTriggers(embedder=known, model=tiny())
    make("Sign commits.", kind="preference", vector=np.array([0.0, 1.0], np.float32))
    assert known.asked == []


def test_what_ships_fits_the_shipped_embedder_and_knows_a_plain_rule() -> None:
    assert shipped_trigger().embedder == str(IDENTITY)
    made = LocalTriggers()("Always run the tests before committing.", kind="preference")
    assert {name for name, _ in made.actions[:3]} & {"commit", "run_tests"}
    assert 1.0 <= made.breadth <= 3.0


def test_words_and_cues_of_a_statement() -> None:
    assert {"w:run", "b:run make", "f:run"} <= statement_words("Run make lint.")
    assert list(statement_cues("Run `make` in src/a.py, every time.")) == pytest.approx(
        [6 / 40, 2 / 6, 1.0, 1 / 3, 1.0]
    )


def test_rates_of_a_match_by_hand() -> None:
    model = MatchModel(
        situations={"commit": 0.1},
        triggers={"commit": 0.2},
        given=(1.0, 2.0, 3.0, 4.0),
        local=(0.0,) * 4,
    )
    assert model.situation_rate("commit") == pytest.approx(0.103**0.9)
    assert model.trigger_rate("flying") == pytest.approx(0.02**0.3)


def test_the_shipped_match_knows_that_code_is_edited_more_often_than_released() -> None:
    model = shipped_match()
    assert model.situations["edit_code"] > 5 * model.situations["release"]
    assert model.given[1] > 0
    assert model.local[1] > 0
