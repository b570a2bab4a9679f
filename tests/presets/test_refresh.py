"""The `refresh` design, item by item: one [MEMORY] block in the system prompt, fixed sections, one section of each turn."""

from __future__ import annotations

import json

import pytest

from presets.acceptance import acceptance
from presets.driving import Failing, workplace
from samples import DAY_MS, NOW_MS, candidate, query
from shared_data import shared_data
from tacit.app.values import Caller
from tacit.config.settings import EmbedderSettings
from tacit.errors import RefusedByRedaction
from tacit.mcp.server import listed_tools
from tacit.mcp.tools import call
from tacit.model.memory import Speaker
from tacit.model.scope import UNIVERSAL
from tacit.model.session import SessionKey
from tacit.presets.refresh.preset import similarity_relevance
from tacit.providers.embedding import make_embedder
from tacit.safety.escape import escape_text
from tacit.verbs.asking import ask_verb
from tacit.verbs.remember import Remember, remember
from tacit_evals.data import load_everyday
from tacit_evals.everyday import among

pytestmark = pytest.mark.timeout(60)
JWT = "How auth is handled: auth uses JWT tokens in httpOnly cookies"
HELM = "How deployment is handled: the deployment pipeline runs Kubernetes with Helm on GCP"
POSTGRES = "The database is PostgreSQL with one schema per tenant database"


@pytest.fixture
def lab(open_workplace):
    return open_workplace("refresh")


class Client:
    """An OpenCode session: its plugin puts the block into the system prompt of every call."""

    def __init__(self, lab, session="s1"):
        self.lab, self.session, self.count, self.system = lab, session, 0, ""

    def send(self, event, **fields):
        self.lab.clock.advance(1000)
        self.count += 1
        payload = {"event": event, "sessionID": self.session, "directory": str(self.lab.place), **fields}
        text = self.lab.engine.hook("opencode", payload, deadline_ms=5000)
        self.lab.engine.flush()
        reply = json.loads(text) if text else {}
        if reply.get("system"):
            self.system = reply["system"]
        return reply

    def start(self):
        self.send("session.start", source="startup")
        return self.system

    def turn(self, words):
        """The user's words, then what every call of this turn carries."""
        self.send("prompt", messageID=f"m{self.count}", text=words)
        return self.system


def section(block, title):
    """The lines of a section."""
    if f"## {title}" not in block:
        return []
    rest = block.split(f"## {title}\n")[1].splitlines()
    return rest[: next(i for i, line in enumerate(rest) if line.startswith(("## ", "[/")))]


def relevant(block):
    return "\n".join(section(block, "Relevant to Current Task"))


@pytest.fixture
def shop(lab):
    """The preset as it ships; the fixed sections hold three facts."""
    for content in (JWT, HELM, POSTGRES):
        lab.know(content, "fact", days_ago=2)
    return lab


# --- what is there -------------------------------------------------------------------------------------------------


@acceptance("refresh", "PHASE-1", "TOOL-modes")
def test_the_tools_ask_for_searching_in_mid_session(lab):
    tools = {tool.name: tool for tool in listed_tools(lab.engine.settings.mcp.tools)}
    assert "mid-session when the task changes" in tools["memory_context"].description
    told = tools["memory_search"].description
    for words in (
        "PROACTIVE USAGE: search mid-session when you detect a task switch, encounter unfamiliar references",
        "need historical context that is not in the [MEMORY] block",
        "Example: memory_search({query: 'PR conventions and commit workflow'})",
    ):
        assert words in told
    assert {f"memory_{mode}" for mode in ("search", "add", "profile", "list", "forget", "help")} <= set(tools)
    assert call(lab.engine, Caller(cwd=str(lab.place)), "memory_help", {}).text.count("\n- memory_") > 5


@acceptance("refresh", "REMEMBER-facts")
def test_a_request_with_two_facts_stores_two_and_each_moves_by_itself(lab, open_workplace):
    seed = "Our auth uses JWT tokens in httpOnly cookies. Deployment is Kubernetes with Helm on GCP."
    for place, stored in ((lab, 2), (open_workplace("focused"), 1)):
        caller = Caller(cwd=str(place.place), speaker=Speaker.USER)
        answer = ask_verb(remember, place.engine, caller, Remember(content=seed))
        assert len(answer.changes) == stored
    whole = Remember(content=f"{seed} The key is sk-ant-api03-{'k3Yq9Zr1' * 12}.")
    with pytest.raises(RefusedByRedaction):
        ask_verb(remember, lab.engine, caller, whole)
    client = Client(lab)
    client.start()
    block = client.turn("Which tokens and cookies does our auth use?")
    assert [line.partition("] ")[2] for line in section(block, "Relevant to Current Task")] == [
        "Our auth uses JWT tokens in httpOnly cookies."
    ]


@acceptance("refresh", "SECTIONS", "PHASE-3")
def test_sections_stand_in_the_designs_order(lab):
    for kind in ("preference", "digest", "todo", "research", "fact", "decision", "goal"):
        lab.know(f"Statement of the {kind} kind", kind, days_ago=1)
    lab.know("The newest digest of all", "digest")
    block = Client(lab).start()
    assert block.startswith("[MEMORY]\n")
    assert block.endswith("\n[/MEMORY]")
    assert [line for line in block.splitlines() if line.startswith("## ")] == [
        "## Project Brief", "## Architecture", "## Tech Context", "## Product Context", "## Progress & Status",
        "## Last Session", "## User Preferences",
    ]  # fmt: skip
    assert section(block, "Last Session") == ["- The newest digest of all"]


@acceptance("refresh", "SECTIONS")
def test_the_last_session_stands_there_also_where_it_repeats_a_decision(lab):
    lab.know("Invoices are archived after ninety days", "decision")
    lab.know("dec: Invoices are archived after ninety days", "digest")
    block = Client(lab).start()
    assert section(block, "Architecture") == ["- Invoices are archived after ninety days"]
    assert section(block, "Last Session") == ["- dec: Invoices are archived after ninety days"]


@acceptance("refresh", "SCORE")
def test_the_score_mixes_cosine_and_recency():
    old = candidate(scores=(("semantic", 0.6),), at_ms=NOW_MS - 10 * DAY_MS)
    assert similarity_relevance(query(), old, None)[0] == pytest.approx(0.85 * 0.6 + 0.15 * 0.36787944)
    mine = candidate(scores=(("semantic", 0.6),), at_ms=NOW_MS - 10 * DAY_MS, scope=UNIVERSAL)
    assert similarity_relevance(query(), mine, None)[0] == pytest.approx(0.90 * 0.6 + 0.10 * 0.36787944)


# --- turn by turn --------------------------------------------------------------------------------------------------


@acceptance("refresh", "FLOW-turn-1", "EDGE-order", "DECISION-prefs")
def test_the_first_turn_reads_all_four(lab):
    lab.know("Answer in short sentences", "preference", scope=UNIVERSAL, days_ago=1)
    lab.know("Prices are integers in cents", "decision", days_ago=1)
    client = Client(lab)
    client.start()
    lab.know(JWT, "fact")
    lab.know("How auth is handled for me: always with a passkey", "fact", scope=UNIVERSAL)
    block = client.turn("How is auth handled?")
    assert section(block, "User Preferences") == ["- Answer in short sentences"]
    assert section(block, "Architecture") == ["- Prices are integers in cents"]
    assert "JWT" in relevant(block)
    assert "passkey" in relevant(block)


@acceptance("refresh", "SCENARIO-11-turn-1", "SCENARIO-11-turn-2", "SCENARIO-11-turn-3", "PHASE-5", "PHASE-4")
def test_scenario_11_follows_the_topic(shop):
    client = Client(shop)
    client.start()
    fixed = section(client.system, "Tech Context")
    assert set(fixed) == {f"- {fact}" for fact in (JWT, HELM, POSTGRES)}
    for words, fact in (
        ("How is auth handled?", JWT),
        ("How is the deployment pipeline handled? Set up deployment with Kubernetes", HELM),
        ("Which database is it, and is there one schema per tenant database?", POSTGRES),
    ):
        block = client.turn(words)
        assert [line.partition("] ")[2] for line in section(block, "Relevant to Current Task")] == [fact]
        assert section(block, "Tech Context") == [line for line in fixed if line != f"- {fact}"], (
            "it moved up"
        )


@acceptance("refresh", "FLOW-turn-2", "EDGE-latency", "DECISION-gate", "EDGE-similar")
def test_every_later_turn_makes_one_search(shop):
    client = Client(shop)
    client.start()
    client.turn("How is auth handled?")
    for _ in range(2):  # the same words again: searched again
        before = len(shop.engine.why(limit=50))
        client.turn("How is auth handled with JWT tokens?")
        traces = shop.engine.why(limit=50)
        assert len(traces) == before + 1
        retrieved = next(stage for stage in traces[0].stages if stage.stage == "retrieve")
        assert [fact.detail for fact in retrieved.facts] == ["semantic"]


@acceptance("refresh", "DECISION-scope")
def test_later_turns_search_the_project_alone(shop):
    shop.know("How auth is handled for me: always with a passkey", "fact", scope=UNIVERSAL)
    client = Client(shop)
    client.start()
    assert "passkey" in relevant(client.turn("How is auth handled for me?"))
    assert "passkey" not in relevant(client.turn("How is auth handled for me always?"))


@acceptance("refresh", "DECISION-threshold", "DECISION-top")
def test_the_bar_is_higher_on_later_turns_and_three_are_most(shop):
    recall = shop.engine.settings.recall
    assert (recall.refresh.similarity_first, recall.refresh.similarity_later, recall.refresh.top) == (
        0.45,
        0.55,
        3,
    )
    for n in range(6):
        shop.know(f"How auth is handled, {n} of the notes", "fact")
    client = Client(shop)
    client.start()
    words = "How is auth handled, of the notes?"
    assert len(relevant(client.turn(words)).splitlines()) > 3
    later = client.turn(words)
    assert len(relevant(later).splitlines()) == 3
    shares = [int(line.split("[")[1].split("%")[0]) for line in relevant(later).splitlines()]
    assert min(shares) >= 55


@acceptance("refresh", "EDGE-empty")
def test_a_search_that_finds_nothing_leaves_no_section(lab):
    lab.know("Prices are integers in cents", "decision")
    client = Client(lab)
    client.start()
    block = client.turn("Implement the watercolour page of the violin shop")
    assert "Relevant to Current Task" not in block
    assert "cents" in block


def test_a_thin_turn_keeps_what_was_there(shop):
    client = Client(shop)
    client.start()
    before = client.turn("How is auth handled?")
    assert client.turn("ok") == before
    assert client.turn("yes do") == before


@acceptance("refresh", "FINAL-quality")
def test_a_failing_search_leaves_what_was_there(tmp_path):
    embedder = Failing()
    with workplace(tmp_path, "refresh", embedder=embedder) as lab:
        lab.know(JWT, "fact")
        client = Client(lab)
        client.start()
        before = client.turn("How is auth handled?")
        assert "httpOnly" in before
        embedder.broken = True
        assert client.turn("Now help me set up the deployment pipeline") == before


@acceptance("refresh", "ROLLBACK")
def test_one_setting_turns_the_refresh_off(tmp_path):
    with workplace(tmp_path, "refresh", recall={"refresh": {"top": 0}}) as lab:
        lab.know("Prices are integers in cents", "decision")
        client = Client(lab)
        before = client.start()
        lab.know(JWT, "fact")
        assert client.turn("How is auth handled?") == before
        assert "cents" in before


# --- epochs, budgets, life -----------------------------------------------------------------------------------------


@acceptance("refresh", "FINAL-epoch", "PHASE-2")
def test_sections_stay_until_an_epoch_ends_or_a_memory_is_edited(lab):
    kept = lab.know("Prices are integers in cents", "decision")
    client = Client(lab)
    first = client.start()
    lab.know("Dates are stored in UTC", "decision")
    assert client.turn("Implement the watercolour page of the violin shop") == first
    lab.engine.memories.edit(lab.engine.show(kept.id), content="Prices are decimals with two places")
    edited = client.turn("Implement the watercolour page of the violin shop now")
    assert "decimals" in edited
    assert "cents" not in edited
    assert "UTC" in edited
    lab.engine.memories.retire(lab.engine.show(kept.id))
    assert "decimals" not in client.turn("Implement the watercolour page of the violin shop again")


def test_what_was_forgotten_leaves_the_refreshed_section_too(shop):
    client = Client(shop)
    client.start()
    assert "httpOnly" in client.turn("How is auth handled?")
    shop.engine.memories.retire(shop.engine.show("mem_0001"))
    assert "httpOnly" not in client.turn("ok")


@acceptance("refresh", "FLOW-compaction", "EDGE-compaction")
def test_the_block_survives_a_compaction(lab):
    lab.know("Prices are integers in cents", "decision", days_ago=1)
    client = Client(lab)
    client.start()
    lab.know(JWT, "fact")
    before = client.turn("How is auth handled?")
    assert "httpOnly" in relevant(before)
    client.send("compacting")
    client.send("compacted")
    after = client.turn("ok")
    assert "cents" in after
    assert "httpOnly" in after


@acceptance("refresh", "EDGE-eviction")
def test_a_deleted_session_leaves_no_cache(lab):
    lab.know("Prices are integers in cents", "decision")
    client = Client(lab)
    client.start()
    client.turn("How is auth handled?")
    key = SessionKey(host="opencode", session_id="s1")
    assert lab.engine.store.load_session(key).blocks
    client.send("deleted")
    assert lab.engine.store.load_session(key) is None
    assert lab.engine.live.load(key) is None


@acceptance("refresh", "PROP-tokens", "METRIC-flat")
def test_nothing_piles_up_and_the_block_keeps_to_its_budget(lab):
    for n in range(60):
        lab.know(" ".join(f"w{n}x{i}" for i in range(60)), "decision", days_ago=n)
    client = Client(lab)
    client.start()
    sizes = []
    for n in range(6):
        reply = client.send("prompt", messageID=f"q{n}", text=f"How is auth handled in part {n} of the shop?")
        assert set(reply) <= {"system", "mode"}  # nothing goes into the history
        assert client.system.count("[MEMORY]") == 1
        sizes.append(lab.engine._parts.tokens.count(client.system))
    assert 1000 < max(sizes) <= 3000


# --- rows of the audit that had no test of their own ----------------------------------------------------------------


@acceptance("refresh", "EXAMPLE-query")
def test_the_designs_example_query_finds_the_conventions(lab):
    for words in (
        "PR conventions: a pull request has fewer than 400 lines",
        "Commit workflow: the subject is `area: what` in lower case",
        "The mail queue has a retry after an outage",
        "Logs are structured with structlog",
    ):
        lab.know(words, "fact")
    found = call(
        lab.engine,
        Caller(cwd=str(lab.place)),
        "memory_search",
        {"query": "PR conventions and commit workflow"},
    ).text
    assert "400 lines" in found
    assert "lower case" in found
    assert found.index("400 lines") < (found.find("structlog") + 1 or len(found))


@acceptance("refresh", "NO-SYSTEM")
def test_where_the_host_has_no_place_the_section_comes_with_each_prompt(lab):
    lab.know("Prices are integers in cents", "decision")
    agent = lab.agent()
    assert "## Architecture\n- Prices are integers in cents" in agent.start()
    lab.know(JWT, "fact")
    lab.know(HELM, "fact")
    for words, word in (
        ("How is auth handled with JWT tokens in cookies?", "JWT"),
        ("How is the deployment pipeline handled with Helm?", "Helm"),
    ):
        block = agent.prompt(words)
        assert block.startswith("[MEMORY]\n## Relevant to Current Task\n")
        assert word in block
    assert agent.prompt("thanks") == ""


@acceptance("refresh", "LOG")
def test_the_log_has_a_line_for_each_refresh(shop, caplog):
    caplog.set_level("INFO")
    client = Client(shop)
    client.start()
    caplog.clear()
    client.turn("How is auth handled?")
    client.turn("Implement the watercolour page of the violin shop")
    first, second = [line for line in caplog.messages if line.startswith("injection: ")]
    assert first.startswith("injection: 1 memory, ")
    assert second.startswith("injection: nothing, ")


@acceptance("refresh", "LARGE-store")
@pytest.mark.shared_data
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_among_three_hundred_memories_the_block_holds_what_most_prompts_need(tmp_path):
    data = shared_data()
    project = among(load_everyday(data, kinds=True), data, 300)
    with workplace(tmp_path, "refresh", embedder=make_embedder(EmbedderSettings())) as lab:
        for row in project.memories:
            lab.know(row.content, row.kind, id=row.id)
        client = Client(lab)
        client.start()
        client.turn("Good morning, what is on the list for today?")
        content = {row.id: row.content for row in project.memories}
        asked = [prompt for prompt in project.prompts if not prompt.judgment.nothing]
        held = [
            prompt.id
            for block, prompt in ((client.turn(prompt.text), prompt) for prompt in asked)
            if any(escape_text(content[name]) in block for name in prompt.judgment.needed)
        ]
        assert len(asked) == 25
        assert len(held) >= 22, held
