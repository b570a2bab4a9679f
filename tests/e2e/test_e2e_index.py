"""The index in the hands of real clients: it is in the first request, the model fetches by a short id, the next request has the whole text.

The stub reads the id in the request that it answers, as a model would. The daemon's record says what was given, and `tacit why` names it.
"""

from __future__ import annotations

import re

import pytest

from e2e.drivers.clients import require_client
from e2e.drivers.codex import Codex
from e2e.drivers.copilot import Copilot
from e2e.drivers.machine import wait_for
from e2e.drivers.opencode import OpenCode
from e2e.drivers.sandbox import Sandbox
from e2e.host_matrix import proves
from e2e.test_e2e_mcp import PREFIX, WithTools, load_tools
from scripted_model import ScriptedModel, ScriptedReply, find_places
from tacit.hosts.probe.wire import CallTool, Say, newest_prompt

pytestmark = pytest.mark.e2e

RULE = (
    "Prices of the wholesaler are rounded to five cents, and the remainder goes into the ledger account 4711, because the auditors"
    " compare both sums at the end of each quarter."
)
HEADLINE = "when wholesaler prices are rounded: rest to account 4711"
LABELS = "Labels of parcels are printed by the depot in Ghent, whose printer takes no more than forty characters a line."
LABELS_HEADLINE = "Labels of parcels are printed by the depot in Ghent"
LINT = "We always run `make lint` before committing."
OTHERS = (
    LABELS,
    "The exporter writes one file for each supplier and names it after the week in which the supplier was paid.",
    "The search index of the catalog is rebuilt on Sundays, because the replica lags behind for about two hours then.",
    "Vouchers that were bought in a store cannot be refunded online; the cashier has to cancel them at the till.",
)
SETTINGS = "recall: {whole_start: 1.0, tell_memory_add: 'off', budgets: {start: 60, prompt: 0, compaction: 60, subagent: 40}}\n"
WANTED = {"the rounding": HEADLINE, "the labels": LABELS_HEADLINE}


class Fetching(ScriptedModel):
    """A model that fetches what it has a headline of, once, when the prompt names it."""

    tool, namespace = "", ""

    def answer(self, request):
        prompt, results = newest_prompt(request.turns)
        for words, headline in WANTED.items():
            line = rf"(?m)^([0-9a-z]{{4,}}) {re.escape(headline)}"
            places = find_places(request.body, line)
            if request.offers_tools and words in prompt and not results and places:
                short = re.search(line, places[0].text)[1]
                return CallTool(name=self.tool, namespace=self.namespace, input={"ids": [short]}), 1000
        return super().answer(request)


class Person:
    """A person at a machine whose store does not fit the start block, with one client: `ask` a prompt, by default in a new session."""

    def __init__(self, sandbox: Sandbox, host: str) -> None:
        self.sandbox, self.host = sandbox, host
        executable = require_client(host.partition("-")[0])
        sandbox.search_path = f"{executable.parent}:{sandbox.search_path}"
        (self.rule,) = sandbox.remember(RULE, kind="fact", headline=HEADLINE)
        sandbox.remember(*OTHERS, kind="fact")
        sandbox.remember(LINT, kind="preference", pinned=True)
        kind, sandbox.stub.tool, sandbox.stub.namespace = {
            "claude-code": (WithTools, f"{PREFIX}memory_get", ""),
            "codex": (Codex, "memory_get", "mcp__tacit"),
            "copilot": (Copilot, "tacit-memory_get", ""),
            "opencode": (OpenCode, "tacit_memory_get", ""),
        }[host]
        self.client = kind(sandbox, executable)
        self.client.install(*(("--trust-hooks",) if host == "codex" else ()))
        sandbox.wake_daemon()
        load_tools(sandbox)
        self.server = self.client.serve() if host == "opencode" else None

    def ask(self, prompt: str, session: str = "") -> str:
        """Send a prompt; the id of its session."""
        if self.server is None:
            return self.client.ask(prompt, resume=session).session_id
        session = session or self.server.create_session()
        self.server.prompt(session, prompt)
        return session

    def fetched(self, session: str) -> list[str]:
        """Ids of what the session fetched and used, by the daemon's record."""
        told = self.sandbox.ask_daemon(f"/v1/sessions/{self.host}/{session}")["session"]
        given = [exposure for turn in told["turns"] for exposure in turn["exposures"]]
        return [one["memory_id"] for one in given if one["surface"] == "on_demand" and one["used"]]


@pytest.fixture
def person():
    """Call it with a host."""
    sandboxes, people = [], []

    def make(host: str) -> Person:
        sandbox = Sandbox(model=Fetching)
        sandboxes.append(sandbox.__enter__())
        sandbox.configure(SETTINGS)
        people.append(Person(sandbox, host))
        return people[-1]

    yield make
    for each in people:
        if each.server:
            each.server.close()
    for sandbox in sandboxes:
        sandbox.__exit__(None, None, None)


def compact(person: Person, session: str) -> None:
    """Have the client compact the session: at once, or with its next prompt."""
    if person.host == "opencode":
        person.server.summarize(session)
    elif person.host == "claude-code":
        person.ask("/compact", session)
    else:
        person.ask("good morning STUB_USAGE 190000", session)


@proves("claude-code", "on_demand", "compaction")
@proves("opencode", "on_demand", "compaction")
@proves("codex", "on_demand", "compaction")
@proves("copilot", "on_demand")
@pytest.mark.parametrize("host", ["claude-code", "opencode", "codex", "copilot"])
def test_the_model_fetches_by_a_short_id(person, host):
    one = person(host)
    sandbox, stub = one.sandbox, one.sandbox.stub
    session = one.ask("please mind the rounding")
    first, second = stub.agent_requests
    assert [len(first.find(text)) for text in (LINT, HEADLINE, RULE)] == [1, 1, 0]
    assert [len(second.find(text)) for text in (LINT, HEADLINE)] == [1, 1]
    assert [RULE in turn.text for turn in second.turns if turn.role == "tool"] == [True], "it reads it"
    wait_for(lambda: one.fetched(session) == [one.rule])
    fetched = sandbox.tacit("why").stdout.partition("  on demand  ")[2].partition("asked")[2]
    assert fetched.lstrip().startswith(f"memory_get {one.rule[-4:]}")
    assert f"+ 1.00  {one.rule}" in fetched

    one.ask("and on", session)
    request = stub.agent_requests[-1]
    assert [len(request.find(text)) for text in (LINT, HEADLINE)] == [1, 1], "they stand where they stood"
    if host == "copilot":
        return  # it compacts in a long session: shown elsewhere
    compact(one, session)
    for prompt in ("go on", "and further"):
        one.ask(prompt, session)
        request = stub.agent_requests[-1]
        assert not [turn for turn in request.turns if turn.role == "tool"], "the summary replaced them"
        assert [len(request.find(text)) for text in (LINT, LABELS_HEADLINE)] == [1, 1], "there again, once"
        assert len(request.find(f"{HEADLINE}|{RULE}")) == 1


@proves("claude-code", "subagent")
def test_a_subagent_fetches_what_suits_its_task(person):
    one = person("claude-code")
    stub = one.sandbox.stub
    task = {
        "description": "prices",
        "prompt": "Repair the rounding of the wholesaler's prices.",
        "subagent_type": "general-purpose",
    }
    stub.script.append(
        ScriptedReply(when="^share the work", answers=(CallTool(name="Agent", input=task), Say(text="done")))
    )
    session = one.ask("share the work")
    first, second = [request for request in stub.agent_requests if task["prompt"] in str(request.messages[0])]
    assert first.find(rf"surface=.subagent(.|\n)*{HEADLINE}")
    assert [RULE in turn.text for turn in second.turns if turn.role == "tool"] == [True]
    assert one.fetched(session) == [], "its own record says so, not that of its parent"
    assert f"memory_get {one.rule[-4:]}" in one.sandbox.tacit("why").stdout
