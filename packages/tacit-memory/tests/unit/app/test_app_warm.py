"""Tests of what a daemon loads in advance (`Engine.warm`), and of what a start must not look for."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tacit.hosts.plain import Plain
from tacit.model.session import SessionKey
from tacit.model.signal import SessionStarted
from tacit.ports.models import Vectors
from tacit.providers.embedding import FakeEmbedder
from tacit.text.lazy_regex import lazy_regex


class Recording(FakeEmbedder):
    """Says whether its tokens were asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.compared = 0

    def token_matches(self, text: str, others: Sequence[str]) -> Vectors:
        self.compared += 1
        return super().token_matches(text, others)


def test_no_prompt_is_the_first_to_embed_or_to_compare_tokens(make_engine) -> None:
    embedder = Recording()
    engine = make_engine(embedder)
    assert (embedder.texts, embedder.compared) == (0, 0)
    engine.warm()
    assert embedder.texts > 0
    assert embedder.compared > 0


def test_other_work_may_come_between_the_parts_of_it(make_engine) -> None:
    unused, seen = lazy_regex("a"), []
    make_engine().warm(give_way=lambda: seen.append("search" in vars(unused)))
    assert seen[0] is False, "before the patterns"
    assert seen[-1] is True


def test_the_vectors_of_the_last_sessions_project_are_read_before_a_prompt(
    make_engine, tmp_path: Path
) -> None:
    project = tmp_path / "shop"
    project.mkdir()
    engine = make_engine()
    engine.remember("Run make lint before every commit.", cwd=str(project))
    key = SessionKey(host="plain", session_id="s1")
    begun = SessionStarted(session=key, key="start", at_ms=1, cwd=str(project), source="startup")
    engine.handle(begun, capabilities=Plain().capabilities, deadline_ms=1000.0)
    engine.flush()
    again = make_engine()
    assert not again.store._search._vectors._partitions
    again.warm()
    assert any(partition.index for partition in again.store._search._vectors._partitions.values())


@pytest.mark.slow
def test_built_in_stores_and_models_are_opened_without_a_look_at_the_installed_packages(tmp_path: Path):
    code = (
        "import sys\n"
        "read = []\n"
        "def note(event, given):\n"
        "    if event == 'open' and str(given[0]).endswith('entry_points.txt'):\n"
        "        read.append(given[0])\n"
        "sys.addaudithook(note)\n"
        "from tacit.app.wiring import Hosts, open_engine\n"
        "engine = open_engine()\n"
        "engine.hook('plain', {'event': 'start', 'session': 's', 'cwd': '/'}, deadline_ms=10000)\n"
        "engine.close()\n"
        "print(read)\n"
        "assert list(Hosts()) and read, 'the check itself sees nothing'\n"
    )
    environ = {
        **os.environ,
        "TACIT_HOME": str(tmp_path / "home"),
        "TACIT_EMBEDDER__PROVIDER": "fake",
        "PYDANTIC_DISABLE_PLUGINS": "__all__",  # as the daemon does it
    }
    done = subprocess.run(
        [sys.executable, "-c", code], env=environ, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")
