"""Public names of the first release (commit 9f896ae) work for one more release, with a warning that names the successor."""

from __future__ import annotations

import pytest

import tacit
import tacit.middleware
from tacit.app.wiring import open_engine
from tacit.model.changes import Add
from tacit.model.memory import TrustTier
from tacit.providers.embedding import FakeEmbedder

FIRST_RELEASE = {
    "Engine", "Found", "Injection", "InjectionFailed", "InjectionResult", "Prepared", "Recollection", "Session", "Stored",
    "Tacit", "TacitError", "__version__", "is_block", "open_engine", "open_injection", "prune_blocks", "without_blocks",
}  # fmt: skip


@pytest.fixture
def engine(tmp_path):
    engine = open_engine(tmp_path, embedder=FakeEmbedder())
    yield engine
    engine.close()


def test_every_public_name_of_the_first_release_is_there():
    assert set(tacit.__all__) >= FIRST_RELEASE
    assert all(hasattr(tacit, name) for name in FIRST_RELEASE)
    assert set(tacit.middleware.__all__) >= {"http_client", "with_memory"}


@pytest.mark.parametrize(("old", "new"), [("care", "maintenance"), ("desk", "admin")])
def test_a_renamed_attribute_of_the_engine_works_with_a_warning(engine, old, new):
    with pytest.warns(DeprecationWarning, match=f"`Engine.{old}` is now `Engine.{new}`"):
        assert getattr(engine, old) is getattr(engine, new)


def test_an_attribute_that_never_was_is_an_error(engine):
    with pytest.raises(AttributeError, match="no attribute 'cellar'"):
        engine.cellar  # noqa: B018


@pytest.mark.parametrize(
    ("tier", "stored"), [(TrustTier.USER, TrustTier.USER), (TrustTier.ASSISTANT, TrustTier.IMPORT)]
)
def test_a_tier_works_with_a_warning_that_names_the_speaker(engine, tier, stored):
    with pytest.warns(DeprecationWarning, match="speaker"):
        (change,) = engine.remember("The billing port is 8080.", tier=tier)
    assert isinstance(change, Add)
    assert change.memory.provenance.tier is stored
