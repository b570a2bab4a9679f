"""The examples of docs/guide/frameworks.md, run in their order with a home of their own, against the stub model."""

from __future__ import annotations

import json
import re
from importlib.metadata import version
from pathlib import Path

import pytest

from scripted_model import ScriptedModel
from tacit import Tacit
from tacit.client.daemon_client import DaemonClient
from user_voice import user_token

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),  # the frameworks' own warnings are not ours to settle
    pytest.mark.usefixtures("no_leftovers"),
]
GUIDE = Path(__file__).parents[3] / "docs/guide/frameworks.md"
EXAMPLE = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
VERSION = re.compile(r"\| ([a-z-]+) (\d[\d.]+) \|$", re.MULTILINE)
RULE = "Run make lint before every commit."


def test_every_example_of_the_guide_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    (home / "config.yaml").write_text("recall:\n  deadline_ms: 10000\n")
    monkeypatch.setenv("TACIT_HOME", str(home))
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # nothing is asked of the network
    monkeypatch.chdir(tmp_path)
    named = dict(VERSION.findall(GUIDE.read_text("utf-8")))
    assert len(named) == 6
    assert {name: version(name) for name in named} == named
    examples = EXAMPLE.findall(GUIDE.read_text("utf-8"))
    assert len(examples) >= 8
    try:
        with Tacit.connect(home, token=user_token(home)) as memory, ScriptedModel() as model:
            memory.remember(RULE, when="commit")  # starts the daemon
            monkeypatch.setenv("OPENAI_API_KEY", "none")
            monkeypatch.setenv("OPENAI_BASE_URL", f"{model.url}/v1")
            monkeypatch.setenv("OPENAI_API_BASE", f"{model.url}/v1")
            known: dict[str, object] = {"__name__": "example"}
            for code in examples:
                if "Tacit.open()" in code:
                    DaemonClient(home).stop()  # one process writes
                else:
                    memory.context_for("Hello?")  # the daemon has its model before an example waits
                exec(compile(code, str(GUIDE), "exec"), known)
            requests = [json.dumps(request.body) for request in model.model_requests]
    finally:
        DaemonClient(home).stop()
    assert len(requests) == 7  # LangChain twice, Pydantic AI twice, the Agents SDK, LlamaIndex, LiteLLM
    assert all(RULE in request for request in requests)
