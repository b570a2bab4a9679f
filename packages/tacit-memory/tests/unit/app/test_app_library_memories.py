"""The library looks after what is stored: the same calls and the same answers in this process and through the daemon."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from forks import start_daemon
from tacit import Recollection, Stored, Tacit
from tacit.client.daemon_client import DaemonClient
from tacit.config.home import Home, chosen_transport
from tacit.errors import InvalidInput, NotFound, RefusedByTrust
from user_voice import user_token

SETTINGS = {
    "embedder": {"provider": "fake"},
    "recall": {
        "deadline_ms": 10_000,
        "thresholds": {"prompt": 0.0, "action": 0.0, "on_demand": 0.0},
    },
}
Open = Callable[..., Tacit]


@pytest.fixture
def opened(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Open]:
    """Opens the memory of one home, in this process if the test does not say otherwise; with `token=""` for a program that may not speak for the user."""
    home, places, way = Home(tmp_path / "home"), list[Tacit](), getattr(request, "param", "open")
    home.ensure()
    monkeypatch.setenv("TACIT_HOME", str(home.root))
    (home.root / "config.yaml").write_text(json.dumps(SETTINGS), "utf-8")
    if way == "connect":
        start_daemon(
            {**chosen_transport(), "TACIT_HOME": str(home.root), "PATH": os.environ["PATH"]}, home.daemon_file
        )

    def make(**given: Any) -> Tacit:
        token = given.pop("token", user_token(home))
        cwd = {} if "user" in given else {"cwd": tmp_path}
        if way == "open":
            while places:
                places.pop().close()
            place = Tacit.open(token=token, **cwd, **given)
        else:
            place = Tacit.connect(token=token, **cwd, **given)
        places.append(place)
        return place

    yield make
    for place in places:
        place.close()
    if way == "connect":
        DaemonClient(home).stop()


both_ways = pytest.mark.parametrize(
    "opened", ["open", pytest.param("connect", marks=pytest.mark.slow)], indirect=True
)
"""In this process and through a daemon, for tests of what the way has a part in; tests/live/test_live_library.py asks a daemon, too."""


@both_ways
def test_a_memory_is_listed_read_changed_ended_and_brought_back(opened: Open) -> None:
    memory = opened()
    (first,) = memory.remember("Invoices are numbered by hand.", kind="decision")
    memory.remember("The printer in the hallway is called Ada.", kind="fact")
    assert first.change_id.startswith("chg_")

    page = memory.list()
    assert page.total == len(page) == 2
    assert [one.content for one in page] == [
        "The printer in the hallway is called Ada.",
        "Invoices are numbered by hand.",
    ]
    assert [one.id for one in memory.list(kind="decision")] == [first.id]
    assert [one.id for one in memory.list(text="invoices by hand").memories[:1]] == [first.id]
    assert memory.list(limit=1, offset=1).memories[0].id == first.id
    assert memory.list(limit=1, offset=1).total == 2
    assert memory.list(cwd="").total == 2

    stored = memory.get(first.id[:16])
    assert (stored.id, stored.kind, stored.tier, stored.status) == (first.id, "decision", "user", "active")
    assert (stored.pinned, stored.sensitivity, stored.files, stored.source) == (
        False,
        "project",
        (),
        "library",
    )
    assert stored.scope.startswith("project:")
    assert stored.created_at_ms <= stored.updated_at_ms
    assert stored.valid_to_ms is None

    changed = memory.edit(first.id, content="Invoices are numbered by the database.", importance=0.9)
    assert (changed.change, changed.id, changed.content) == (
        "edit",
        first.id,
        "Invoices are numbered by the database.",
    )
    assert [one.content for one in memory.history(first.id)] == [stored.content, changed.content]
    (back,) = memory.undo(changed.change_id)
    assert back.id == first.id
    assert memory.get(first.id).content == stored.content

    gone = memory.forget(first.id, reason="moved to the accountant")
    assert (gone.change, gone.id) == ("retire", first.id)
    assert memory.list().total == 1
    assert [one.id for one in memory.list(status=["retired"])] == [first.id]
    assert memory.list(status="all").total == 2
    memory.undo(gone.change_id)
    assert memory.get(first.id).status == "active"


def test_a_scope_of_the_name_project_is_the_project_of_the_folder(opened: Open) -> None:
    memory = opened()
    (stored,) = memory.remember("Invoices are numbered by hand.", kind="decision", scope="universal")
    assert memory.get(stored.id).scope == "universal"
    memory.edit(stored.id, scope="project")
    (other,) = memory.remember("The printer in the hallway is called Ada.", kind="fact", scope="project")
    scope = memory.get(stored.id).scope
    assert scope.startswith("project:")
    assert memory.get(other.id).scope == scope
    with pytest.raises(InvalidInput, match="folder"):
        memory.remember("The coffee machine is called Bob.", scope="project", cwd="")


def test_a_memory_without_open_or_connect_says_what_to_use() -> None:
    with pytest.raises(TypeError, match=r"Tacit\.open\(\).*Tacit\.connect\(\)"):
        Tacit()


def test_why_tells_what_was_given_and_what_not(opened: Open) -> None:
    memory = opened()
    (stored,) = memory.remember("Run make lint before every commit.", when="commit")
    memory.context_for("Please commit the changes in the billing module now.", session="chat-1")
    memory.recall("what comes before a commit?")
    memory.flush()
    (record,) = memory.why(session="chat-1", limit=5)
    assert (record.surface, record.session, record.given) == ("prompt", "library/chat-1", (stored.id,))
    assert record.silence == ""
    assert record.considered[0].content.startswith("Run make lint")
    assert record.considered[0].relevance is not None
    assert {one.surface for one in memory.why()} == {"prompt", "on_demand"}
    assert [one.surface for one in memory.why(surface="on_demand")] == ["on_demand"]
    assert memory.why(session="nobody") == ()


def test_an_export_has_everything_or_what_a_folder_sees(opened: Open, tmp_path: Path) -> None:
    memory = opened()
    memory.remember("Invoices are numbered by hand.")
    memory.remember("Prices are in cents.", cwd=str(tmp_path / "elsewhere"))
    lines = [json.loads(line) for line in memory.export().splitlines()]
    assert "Invoices" in json.dumps(lines)
    assert "cents" in json.dumps(lines)
    assert "cents" not in memory.export("markdown", cwd=None)
    assert "Invoices" in memory.export("markdown", cwd=None)
    with pytest.raises(InvalidInput, match="expected 'jsonl' or 'markdown'"):
        memory.export("xml")


def test_recall_honors_the_scopes_of_agents_and_sessions(opened: Open) -> None:
    memory = opened()
    memory.remember("Answer customers in formal German.", scope="agent:support")
    memory.remember("The customer of this talk is called Nordlicht.", scope="session:chat-3")
    memory.remember("The pilot of this talk ends in June.", session="chat-3", sensitivity="session")

    def found(question: str, **given: str) -> str:
        return " ".join(one.content for one in memory.recall(question, **given).memories)

    german, customer, pilot = (
        "how do we answer customers",
        "which customer is this talk with",
        "when does the pilot of this talk end",
    )
    assert "German" in found(german, agent="support")
    assert "German" not in found(german)
    assert "German" not in found(german, agent="sales")
    assert "Nordlicht" in found(customer, session="chat-3")
    assert "Nordlicht" not in found(customer)
    assert "Nordlicht" not in found(customer, session="chat-4")
    assert "June" in found(pilot, session="chat-3")
    assert "June" not in found(pilot, session="chat-4")


def test_a_program_without_authority_may_not_change_the_users_words(opened: Open) -> None:
    (stored,) = opened().remember("Invoices are numbered by hand.")
    memory = opened(token="")
    for call in (
        lambda: memory.edit(stored.id, content="Invoices are numbered by Bob."),
        lambda: memory.forget(stored.id),
        lambda: memory.undo(stored.change_id),
    ):
        with pytest.raises(RefusedByTrust):
            call()
    assert memory.get(stored.id).content == "Invoices are numbered by hand."


def test_one_text_counts_as_a_list_of_one(opened: Open) -> None:
    memory = opened()
    (stored,) = memory.remember("Invoices are numbered by hand.", kind="decision", files="src/invoices.py")
    page = memory.list(kind="decision", status="active")
    assert page[0].id == stored.id
    assert page[0].files == ("src/invoices.py",)


@both_ways
def test_wrong_calls_say_what_is_wrong(opened: Open) -> None:
    memory = opened()
    (stored,) = memory.remember("Invoices are numbered by hand.")
    for call, error in (
        (lambda: memory.get("mem_nowhere"), NotFound),
        (lambda: memory.edit(stored.id), InvalidInput),
        (lambda: memory.undo(stored.id), InvalidInput),
        (lambda: memory.undo("chg_nowhere"), NotFound),
        (lambda: memory.list(limit=0), InvalidInput),
        (lambda: memory.list(status="alive"), InvalidInput),
        (lambda: memory.for_user(""), InvalidInput),
        (lambda: memory.for_user(None), InvalidInput),
        (lambda: memory.for_user(3), InvalidInput),
        (lambda: memory.get(""), NotFound),
        (lambda: memory.forget(""), NotFound),
    ):
        with pytest.raises(error):
            call()


def test_a_notebook_shows_values_as_tables_with_every_text_escaped(opened: Open) -> None:
    memory = opened()
    evil = "Close <script>alert(1)</script> & go."
    (stored,) = memory.remember(evil, kind="fact")
    recalled = memory.recall("close & go")
    shown = [
        stored,
        recalled,
        recalled.memories[0],
        memory.get(stored.id),
        memory.list(),
        memory.why()[0],
        Recollection(silence="<b>"),
    ]
    for value in shown:
        html = value._repr_html_()
        assert html.startswith("<table>")
        assert "<script>" not in html
        assert "<b>" not in html
    assert "&lt;script&gt;" in memory.list()._repr_html_()
    assert "1 of 1 memories" in memory.list()._repr_html_()
    assert isinstance(stored, Stored)


def test_one_limit_and_one_refusal_for_what_is_too_long(opened: Open) -> None:
    memory = opened()
    for length in (2_001, 24_000):
        with pytest.raises(InvalidInput, match=r"at most 2,000"):
            memory.remember("x" * length)
    (first,) = memory.remember("y" * 2_000)
    with pytest.raises(InvalidInput, match=r"at most 2,000"):
        memory.edit(first.id, content="z" * 2_001)
    assert [one.content[:1] for one in memory.list()] == ["y"]


@pytest.mark.parametrize("form", ["jsonl", "markdown"])
def test_an_export_says_what_it_leaves_out(opened: Open, form: str) -> None:
    memory = opened()
    memory.remember("The merger is called Heron.", sensitivity="restricted")
    memory.remember("The port is 9090.")
    assert "left out" not in memory.export(form).partition("\n")[0]
    with pytest.warns(UserWarning, match="not complete"):
        text = opened(token="").export(form)
    assert "left out" in text.partition("\n")[0]
    assert "9090" in text
    assert "Heron" not in text


def test_results_say_kind_id_and_whether_it_waits_also_where_it_was_known(opened: Open) -> None:
    memory = opened()
    (first,) = memory.remember("We chose PostgreSQL for the shop.", kind="decision")
    (again,) = memory.remember("We chose PostgreSQL for the shop.", kind="decision")
    assert (first.kind, first.waits) == ("decision", False)
    assert (again.id, again.kind, again.waits) == (first.id, "decision", False)
    ended = memory.forget(first.id)
    assert (ended.id, ended.kind) == (first.id, "decision")


def test_what_a_program_without_the_users_word_states_waits_and_is_listed(opened: Open) -> None:
    memory = opened(token="")
    (stored,) = memory.remember("Deploys go out on Tuesdays.")
    assert stored.waits
    (listed,) = memory.list()
    assert (listed.id, listed.waits) == (stored.id, True)
    (found,) = memory.recall("when do deploys go out?").memories
    assert (found.id, found.waits) == (stored.id, True)
    assert memory.list(status="active").total == 0


def test_a_recall_is_held_to_kinds_and_to_a_number(opened: Open) -> None:
    memory = opened()
    for number in range(3):
        memory.remember(f"The importer of the shop reads file number {number}.", kind="fact")
    memory.remember("We chose a streaming importer for the shop.", kind="decision")
    assert len(memory.recall("the importer of the shop", limit=2).memories) == 2
    kinds = {one.kind for one in memory.recall("the importer of the shop", kind="decision").memories}
    assert kinds == {"decision"}


def test_a_value_of_a_wrong_type_is_named(opened: Open) -> None:
    memory: Any = opened()
    for name, call in (
        ("content", lambda: memory.remember(5)),
        ("when", lambda: memory.remember("x y z", when=5)),
        ("files", lambda: memory.remember("x y z", files=5)),
        ("text", lambda: memory.recall(5)),
        ("limit", lambda: memory.recall("x", limit="a")),
        ("kind", lambda: memory.recall("x", kind=5)),
        ("text", lambda: memory.list(text=5)),
        ("cwd", lambda: memory.list(cwd=5)),
        ("prompt", lambda: memory.context_for(5)),
        ("session_id", lambda: memory.session(5)),
    ):
        with pytest.raises(InvalidInput, match=f"`{name}` is "):
            call()


def test_completion_finds_the_names() -> None:
    import tacit

    assert {"Tacit", "Stored", "TacitError"} <= set(dir(tacit))
    assert "annotations" not in dir(tacit)
