"""The write path over a store in memory, with fakes for all that costs."""

from __future__ import annotations

from typing import Any

from tacit.capture.pipeline import CapturePipeline
from tacit.config.settings import CaptureSettings, PrivacySettings
from tacit.model.kinds import KindRegistry
from tacit.ports.store import ProjectRecord, Store
from tacit.providers.clock import FakeClock
from tacit.providers.embedding import FakeEmbedder
from tacit.providers.tokens import FakeTokenCounter
from tacit.safety.redact import Redactor


def make_pipeline(store: Store, clock: FakeClock, *, project: str = "", **parts: Any) -> CapturePipeline:
    """The usual parts unless others are given; with `project`, every folder belongs to it."""
    if project:
        parts["identify"] = lambda cwd: ProjectRecord(id=project, name=project, root=cwd)
    values: dict[str, Any] = {
        "embedder": FakeEmbedder(),
        "tokens": FakeTokenCounter(),
        "redactor": Redactor(PrivacySettings()),
        "kinds": KindRegistry(),
        "settings": CaptureSettings(),
        **parts,
    }
    return CapturePipeline(store=store, clock=clock, **values)
