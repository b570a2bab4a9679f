"""A verb exists once: every entry point asks the same function, by the same rule of trust and with the same limits."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

import tacit
from tacit.api.asking import ask_endpoint
from tacit.api.endpoints import ENDPOINTS
from tacit.api.routes import build_routes
from tacit.app.engine import Engine
from tacit.app.queries.injection import Injection
from tacit.app.values import Caller
from tacit.app.wiring import open_engine
from tacit.errors import TacitError, error_of
from tacit.library.engine_access import LocalEngine
from tacit.library.tacit import Tacit
from tacit.mcp.tools import TOOLS, call
from tacit.model.changes import Change
from tacit.model.memory import BY_TOOL, Memory, Speaker, TrustTier
from tacit.providers.clock import FakeClock
from tacit.providers.embedding import FakeEmbedder
from tacit.safety.trust import NOTING, USERS_ALONE
from tacit.verbs.answers import CHANGE_VIEWS
from user_voice import spoken_by, store_as

RULE = "Amounts are integer cents."


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "project"
    (place / ".git" / "objects").mkdir(parents=True)
    return place


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Callable[..., Engine]]:
    opened: list[Engine] = []

    def engine(**settings: object) -> Engine:
        opened.append(
            open_engine(tmp_path / "h", embedder=FakeEmbedder(), clock=FakeClock(), overrides=settings)
        )
        return opened[-1]

    yield engine
    for one in opened:
        one.close()


def known(engine: Engine, folder: Path, tier: TrustTier, rule: str = RULE, **given: Any) -> Memory:
    (change,) = store_as(tier, engine, rule, cwd=str(folder), **{"kind": "decision", **given})
    return change.memory


def forgets_by_http(engine: Engine, folder: Path, name: str, values: Mapping[str, Any]) -> None:
    with TestClient(Starlette(routes=build_routes(engine))) as client:
        answer = client.delete(f"/v1/memories/{name}", params={"cwd": str(folder), **values})
    if answer.status_code >= 400:
        raise error_of(answer.json(), answer.status_code)


def forgets_by_tool(engine: Engine, folder: Path, name: str, values: Mapping[str, Any]) -> None:
    call(engine, Caller(cwd=str(folder), client="test"), "memory_forget", {"id": name, **values})


def forgets_in_process(engine: Engine, folder: Path, name: str, values: Mapping[str, Any]) -> None:
    request = {"id": name, "cwd": str(folder), **values}
    ask_endpoint(engine, Speaker.AGENT, "DELETE", "/v1/memories/{id}", request)


def forgets_by_library(engine: Engine, folder: Path, name: str, values: Mapping[str, Any]) -> None:
    way = LocalEngine(engine, injection=Injection(engine), on_failure=lambda _: None)
    Tacit(way, cwd=folder).forget(name, **values)


DOORS = [forgets_by_http, forgets_by_tool, forgets_in_process, forgets_by_library]
"""Every way in which an agent may end a memory; each test asks one engine by all of them."""


@pytest.mark.parametrize("tier", [TrustTier.USER, TrustTier.TEAMMATE])
def test_an_agent_ends_nothing_that_a_person_said(make, folder, tier) -> None:
    engine = make()
    memory = known(engine, folder, tier)
    said = "was said by the user or a teammate: an agent may end it only with the user's words."
    for forgets in DOORS:
        with pytest.raises(TacitError) as refused:
            forgets(engine, folder, memory.id, {})
        assert refused.value.code == "refused_by_trust", forgets
        assert refused.value.message == f"{memory.id} {said}"
        assert engine.show(memory.id).status == "active"


def test_an_agent_ends_what_an_agent_noted(make, folder) -> None:
    engine = make()
    for door, forgets in enumerate(DOORS):
        memory = known(engine, folder, TrustTier.IMPORT, f"Column {door} holds cents.", source=BY_TOOL)
        forgets(engine, folder, memory.id, {})
        assert engine.show(memory.id).status == "retired", forgets
        forgets(engine, folder, memory.id, {})  # it has ended already


def test_where_the_user_reviews_notes_an_agent_ends_nothing_that_holds(make, folder) -> None:
    engine = make(capture={"notes": "review"})
    memory = known(engine, folder, TrustTier.ASSISTANT, kind="fact")
    for forgets in DOORS:
        with pytest.raises(TacitError, match="only the user changes what holds"):
            forgets(engine, folder, memory.id, {})


def test_where_nothing_is_noted_an_agent_ends_nothing(make, folder) -> None:
    engine = make(capture={"notes": "off"})
    memory = known(engine, folder, TrustTier.IMPORT, source=BY_TOOL)
    for forgets in DOORS:
        with pytest.raises(TacitError, match=r"capture\.notes is off"):
            forgets(engine, folder, memory.id, {})
        assert engine.show(memory.id).status == "quarantined", forgets


@pytest.mark.parametrize("forgets", DOORS[:3], ids=lambda door: door.__name__)
def test_the_users_words_let_an_agent_end_it_at_every_door(make, folder, forgets) -> None:
    engine = make()
    memory = known(engine, folder, TrustTier.USER)
    words = "forget that amounts are integer cents"
    event = {
        "hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": f"please {words}", "cwd": str(folder),
        "transcript_path": "",
    }  # fmt: skip
    engine.hook("claude-code", event, deadline_ms=5000)
    forgets(engine, folder, memory.id, {"user_words": words})
    assert engine.show(memory.id).status == "retired"


def test_a_limit_holds_at_every_door(make, folder) -> None:
    engine = make()
    for door, forgets in enumerate(DOORS):
        memory = known(engine, folder, TrustTier.IMPORT, f"Column {door} holds cents.", source=BY_TOOL)
        for letter in "xé":
            with pytest.raises(TacitError, match="at most 500 characters") as refused:
                forgets(engine, folder, memory.id, {"reason": letter * 501})
            assert refused.value.code == "invalid_input", forgets
        forgets(engine, folder, memory.id, {"reason": "x" * 500})


def test_what_only_the_user_may_do_is_refused_to_a_program_by_http_and_in_process(make) -> None:
    """A body that cannot be used is looked at first, so only endpoints without one are asked whole."""
    engine = make()
    with TestClient(spoken_by(Speaker.AGENT, Starlette(routes=build_routes(engine)))) as client:
        for endpoint in (one for one in ENDPOINTS if one.users):
            if endpoint.request.model_fields:
                assert endpoint.name in USERS_ALONE
                continue
            with pytest.raises(TacitError, match=f"Only you can {endpoint.users}"):
                ask_endpoint(engine, Speaker.AGENT, endpoint.method, endpoint.path, {})
            assert client.request(endpoint.method, endpoint.path).status_code == 403, endpoint.name


def test_a_verb_is_defined_once() -> None:
    source = Path(tacit.__file__).parent
    verbs = [
        node.name
        for path in sorted((source / "verbs").glob("*.py"))
        for node in ast.parse(path.read_text("utf-8")).body
        if isinstance(node, ast.FunctionDef)
        and not node.name.startswith("_")
        and [arg.arg for arg in node.args.args][1:] == ["caller", "request"]
    ]
    assert len(verbs) > 55
    assert [name for name, count in Counter(verbs).items() if count > 1] == []
    served = {endpoint.name for endpoint in ENDPOINTS}
    assert set(verbs) - served == {"update_memory"}, "an agent's own verb: only a tool asks it"
    assert {*USERS_ALONE, *NOTING} <= {*verbs, *served}


def test_each_argument_of_a_tool_that_asks_a_verb_is_a_field_of_its_request() -> None:
    asking = [tool for tool in TOOLS if tool.says is not None]
    assert {tool.name for tool in asking} == {
        "memory_get", "memory_add", "memory_update", "memory_forget", "memory_feedback",
    }  # fmt: skip
    for tool in asking:
        assert set(tool.says or ()) <= set(tool.takes.model_fields), tool.name


def test_every_change_has_its_form_in_answers() -> None:
    assert set(CHANGE_VIEWS) == set(get_args(Change))
