"""The real OpenCode server, the real daemon, the plugin as `tacit install` writes it; only the model is a stub."""

from __future__ import annotations

import json
import time

import pytest

from e2e.drivers.clients import require_client
from e2e.drivers.opencode import OpenCode
from e2e.drivers.prefix import compare_prefixes
from e2e.drivers.sandbox import Sandbox
from e2e.host_matrix import proves
from scripted_model import ScriptedReply, find_places
from tacit.app.delivery_texts import EVERY, NUDGE, START_LINE
from tacit.hosts.probe.wire import CallTool, Say

pytestmark = pytest.mark.e2e

EARLIER = (
    ("Remember that auth uses JWT tokens in httpOnly cookies.", "httpOnly"),
    ("Remember that deployment is Kubernetes with Helm on GCP, run by deploy/release.sh.", "Helm"),
    ("Remember that the database is PostgreSQL 16 behind PgBouncer.", "PgBouncer"),
)
TOPICS = (
    ("How is auth handled?", "httpOnly"),
    ("Now help me set up the deployment pipeline.", "Helm"),
    ("What about the database?", "PgBouncer"),
)
"""The prompts of the seed's scenario 11, and what each of them needs."""

NAMED_TOPICS = (
    ("How is auth handled? Fix the httpOnly cookies of the auth.", "JWT"),
    ("Now set up the Kubernetes deployment in deploy/release.sh.", "Helm on GCP"),
    ("What about the database? Set up the PgBouncer pool for PostgreSQL.", "PostgreSQL 16"),
)
"""The same topics, each named so that its memory is surely meant."""

PREFIX_START_TOKENS = 60
"""A start pack too small for everything, so that prompts get what it leaves out."""

RULE = "We always run `make lint` before committing."

TEACHES = "Invoices over ten thousand need a second approval, so the exporter has to split them."
ASKED = f"{TEACHES} Please add that. Are releases signed with the key of the build server?"
LATER = "Tag the release and publish it, please."
ADDED = {
    "content": TEACHES.rstrip("."),
    "kind": "decision",
    "when": ["release", "before the exporter is published, or deployed"],
    "user_words": TEACHES,
}
SIGNED = "Releases are signed with the key of the build server"


@pytest.fixture
def installed(sandbox, opencode):
    opencode.install()
    sandbox.wake_daemon()  # the plugin never waits for a daemon to start
    return opencode


@pytest.fixture(scope="module")
def shared():
    """One machine and one server for tests with the usual settings, each in a session of its own: a start takes ten seconds."""
    client = require_client("opencode")
    with Sandbox() as machine:
        machine.search_path = f"{client.parent}:{machine.search_path}"
        opencode = OpenCode(machine, client)
        opencode.install()
        machine.wake_daemon()
        machine.remember(RULE, kind="preference")
        with opencode.serve() as server:
            yield machine, server


@pytest.fixture
def served(shared):
    """The shared machine and server, and nothing asked of the model yet."""
    shared[0].stub.clear()
    return shared


@pytest.fixture(scope="module")
def taught(shared):
    """The shared machine and server, after a session in which a person says what later ones need."""
    sandbox, server = shared
    learn_earlier(sandbox, server)
    return shared


@pytest.fixture
def budgets(shared):
    """Call it with the budgets of surfaces for the rest of the test."""
    sandbox, _ = shared

    def configure(settings: str) -> None:
        sandbox.configure(settings)
        time.sleep(1.1)  # the daemon looks at the file once a second

    yield lambda **tokens: configure(json.dumps({"recall": {"budgets": tokens}}))
    configure("")


def newest(sandbox):
    return sandbox.stub.agent_requests[-1]


def of_session(sandbox, session: str):
    return [r for r in sandbox.stub.agent_requests if r.headers.get("x-session-id") == session]


def learn_earlier(sandbox, server) -> None:
    """An earlier session in which a person says what the topics of the later one need."""
    session = server.create_session()
    for said, word in EARLIER:
        server.prompt(session, said)
        sandbox.wait_for_memory(word)


@proves("opencode", "start")
def test_topic_switches_find_what_an_earlier_session_said(taught, report):
    sandbox, server = taught
    session = server.create_session()
    for prompt, word in TOPICS:
        turn = server.prompt(session, prompt)
        assert turn.error is None
        assert len(newest(sandbox).find(word)) == 1, f"{word} belongs into the request once"
    report("opencode server start with Tacit", f"{server.start_ms:.0f} ms")
    report("opencode turn with Tacit", f"{turn.took_ms:.0f} ms")


@proves("opencode", "prompt")
def test_without_a_start_pack_each_topic_comes_with_its_own_prompt(taught, budgets):
    sandbox, server = taught
    budgets(start=0)
    session = server.create_session()
    for index, (prompt, word) in enumerate(NAMED_TOPICS):
        server.prompt(session, prompt)
        request = newest(sandbox)
        users = [i for i, m in enumerate(request.messages) if m["role"] == "user"]
        carried = [p.path for p in find_places(request.body, r"<tacit-memory") if word in p.text]
        assert len(carried) == 1, f"{word} is handed over once"
        assert carried[0].startswith(f"messages[{users[-1]}]"), "the newest user message carries it"
        for _, later in NAMED_TOPICS[index + 1 :]:
            assert not request.find(later), f"{later} is not needed yet"


def test_title_and_summary_requests_are_left_alone(served):
    sandbox, server = served
    session = server.create_session()
    server.prompt(session, "Commit what we have.")
    assert newest(sandbox).find("make lint")
    assert sandbox.stub.wait_for("title generator", timeout_s=60), "the client asked for a title"
    server.summarize(session)
    helpers = [r for r in sandbox.stub.model_requests if not r.offers_tools]
    assert helpers
    for request in helpers:
        assert not request.find("tacit-memory|make lint"), request.find("tacit-memory|make lint")


def test_the_title_request_of_a_first_prompt_that_gets_a_block_is_left_alone(taught, budgets):
    sandbox, server = taught
    budgets(start=0)
    sandbox.stub.clear()
    prompt, word = NAMED_TOPICS[0]
    server.prompt(server.create_session(), prompt)
    assert newest(sandbox).find(word)
    title = sandbox.stub.wait_for("title generator", timeout_s=60)
    assert title is not None
    assert title.find("httpOnly cookies of the auth")
    assert not title.find("tacit-memory")


@proves("opencode", "failure")
def test_a_failing_command_gets_its_stored_fix(served):
    sandbox, server = served
    sandbox.write(
        "Makefile", "schema:\n\t@echo \"ModuleNotFoundError: No module named 'orders_schema'\" >&2; exit 1\n"
    )
    call = 'STUB_TOOL {"name":"bash","input":{"command":"make schema","description":"make the schema"}}'
    session = server.create_session()
    server.prompt(session, "hello")
    sandbox.remember(
        "`make schema` fails with `ModuleNotFoundError: No module named 'orders_schema'` until `make generate` has run.",
        kind="error_pattern",
    )
    server.prompt(session, f"go on with step four {call}")
    assert len(newest(sandbox).find("make generate")) == 1


@proves("opencode", "action")
def test_the_agent_is_nudged_once_and_what_it_stores_comes_at_the_action(served, budgets):
    """After five messages without a note, with the next block; only the model behind the agent is a stub that does what a script says."""
    sandbox, server = served
    add = CallTool(name="tacit_memory_add", input=ADDED)
    release = CallTool(name="bash", input={"command": "git tag --list", "description": "release"})
    sandbox.stub.script.append(ScriptedReply(when="second approval", answers=(add, Say(text="done"))))
    sandbox.stub.script.append(ScriptedReply(when="Tag the release", answers=(release, Say(text="done"))))
    session = server.create_session()
    for number in range(EVERY - 1):
        server.prompt(session, f"what is in file {number}")
    assert newest(sandbox).find(START_LINE)
    sandbox.remember(SIGNED, kind="guideline", when="release")
    server.prompt(session, ASKED)
    assert len(newest(sandbox).find(NUDGE)) == 1
    server.prompt(session, "thanks")
    assert len(newest(sandbox).find(NUDGE)) <= 1
    sandbox.wait_for_memory("second approval")
    listed = sandbox.ask_daemon("/v1/memories?limit=100")["memories"]
    (tier,) = (one["provenance"]["tier"] for one in listed if one["content"] == ADDED["content"])
    assert tier == "user"
    budgets(start=0, prompt=0)
    server.prompt(server.create_session(), LATER)
    assert newest(sandbox).find(ADDED["content"]), "the release brings it"


def test_a_killed_daemon_harms_no_turn_and_memory_comes_back(sandbox, installed):
    sandbox.remember(RULE, kind="preference")
    with installed.serve() as server:
        session = server.create_session()
        server.prompt(session, "hello")
        killed = sandbox.kill_daemon()
        turn = server.prompt(session, "hello again STUB_TEXT two")
        assert (turn.text, turn.error) == ("two", None)
        assert sandbox.wait_for_daemon() != killed
        fresh = server.create_session()
        end = time.monotonic() + 90
        while not newest(sandbox).find("make lint") and time.monotonic() < end:
            time.sleep(0.5)  # the plugin leaves a daemon that did not answer alone for a while
            server.prompt(fresh, "hello")
        assert len(newest(sandbox).find("make lint")) == 1


def test_the_prefix_of_all_turns_stays_as_it_was(taught, budgets, report):
    """Prompts change topic each turn, memories come in from elsewhere meanwhile, every fourth turn calls a tool."""
    turns = 8
    sandbox, server = taught
    budgets(start=PREFIX_START_TOKENS)
    session = server.create_session()
    shell = 'STUB_TOOL {"name":"bash","input":{"command":"echo ok","description":"say ok"}}'
    for number in range(turns):
        prompt = NAMED_TOPICS[number % 3][0] + (f" {shell}" if number % 4 == 3 else "")
        server.prompt(session, f"{prompt} Part {number}.")
        if number in (2, 6):
            sandbox.remember(
                f"The PgBouncer pool of part {number} holds {number}0 connections to PostgreSQL."
            )
    requests = of_session(sandbox, session)
    assert len(requests) == turns + turns // 4
    handed_over = len(requests[-1].find(r"<tacit-memory|\[MEMORY\]"))
    assert handed_over >= 3, "a prefix without memory proves nothing"
    found = compare_prefixes(requests)
    report(
        "prefix kept",
        f"{found.kept_share:.2f} of requests, {found.kept_bytes_share:.2f} of bytes over {len(requests)} requests",
    )
    assert found.kept_share == 1.0, found.breaks
