"""What the `typed` preset hands over, through hook client and daemon with the shipped model."""

from __future__ import annotations

import re
import time

from e2e.drivers.machine import wait_for
from presets.acceptance import acceptance

LOGIN_BUG = "Please fix the login bug: the session times out too early"
LATE_CLOCK = "Users are logged out too soon when a server's clock runs late"


def lines(block: str) -> list[str]:
    return [line for line in block.splitlines() if line.startswith("- [")]


@acceptance("typed", "2.2-types", "6.1-types")
def test_the_digests_of_many_sessions_do_not_silence_a_prompt(typed):
    typed.know("decision", LATE_CLOCK)
    assert LATE_CLOCK in typed.ask_prompt(LOGIN_BUG, "before")
    for number in range(30):
        session = typed.session(f"work{number}")
        session.say(f"Fix the login bug number {number}: the session times out too early for user {number}")
        session.edited(f"src/login{number}.py")
        session.stops("I changed the timeout of the login session.")
        session.end()
    digests = typed.learned("digest", 30)
    assert all("src/login" in one["content"] for one in digests)
    block = typed.ask_prompt(LOGIN_BUG, "after")
    assert LATE_CLOCK in block
    assert "impl:" not in block


@acceptance("typed", "2.2-types", "2.5-fix")
def test_a_crowd_of_another_type_takes_no_place_of_the_tasks_own(typed):
    for number in range(15):
        typed.know("research", f"Study {number} of the login bug: the session times out too early")
    typed.know("error_pattern", LATE_CLOCK)
    block = typed.ask_prompt(LOGIN_BUG)
    assert LATE_CLOCK in block
    assert "[RES]" not in block


@acceptance("typed", "9.1-b", "9.2-a", "9.2-b", "9.2-d")
def test_the_seeds_own_pairs_with_the_shipped_model(typed):
    typed.know("decision", "Login timeout caused by missing await")
    typed.know("decision", "Use PostgreSQL for the database")
    typed.know("decision", "CSS styling preferences")
    typed.know("decision", "Use Redis for caching")
    fix = typed.ask_prompt("Please fix the login bug", "fix")
    assert "missing await" in fix
    assert "PostgreSQL" not in fix
    assert "CSS" not in typed.ask_prompt("Please add authentication", "add")
    assert typed.ask_prompt("How do I parse JSON in here?", "json") == ""


@acceptance("typed", "2.2-context", "3.1-files")
def test_a_prompt_that_points_at_a_file_is_asked_with_its_name(typed):
    session = typed.session()
    session.start()
    typed.know("file_context", "src/auth/login.py checks the password and begins the session of a customer")
    assert session.say("Please explain what this file is there for.") == ""
    typed.touched(session, "src/auth/login.py", "Read")
    assert "checks the password" in session.say("Please explain to me what this file is there for.")


@acceptance("typed", "3.3-sections", "3.3-inline", "5.3-sentence")
def test_long_memories_are_shown_by_their_first_sentences(typed):
    long = (
        "We chose PostgreSQL for the orders because the reports need window functions. The comparison took"
        " three whole weeks of two people and covered four other stores. It is written down in docs/adr/0007.md. Nobody may add a second"
        " database without a new comparison."
    )
    typed.know("decision", long)
    start = typed.session().start()
    prompt = typed.ask_prompt("Which database are the orders kept in?")
    for block, most in ((start, 200), (prompt, 150)):
        (line,) = lines(block)
        shown = re.fullmatch(r"- \[DEC\] (.+ \.\.\.) \(user, [-0-9]+\)", line)
        assert shown, line
        assert shown[1].startswith(
            "We chose PostgreSQL for the orders because the reports need window functions."
        )
        assert len(shown[1]) <= most + len(" ...")
    assert "four other stores" in start
    assert "four other stores" not in prompt
    assert long in typed.tool("inject_context", topic="which database keeps the orders")


@acceptance("typed", "5.3-sentence", "1.2-failure", "3.1-failure")
def test_a_long_error_keeps_the_sentence_that_fixes_it(typed):
    typed.know(
        "error_pattern",
        "`make seed` fails with a foreign key error on the table of carts whenever somebody has run the nightly"
        " clean-up by hand. The clean-up drops the guests first, and with them the owners of all carts. Run `make guests` before it.",
    )
    failed = typed.session("failed").runs(
        "make seed", "Exit code 2\nERROR: `make seed` fails: foreign key error on the table of carts"
    )
    prompt = typed.ask_prompt("Please fix the seed, it stops with a foreign key error again")
    for surface, block in (("failure", failed), ("prompt", prompt)):
        assert f'surface="{surface}"' in block
        assert "Run `make guests` before it." in block
        assert "drops the guests first" not in block
    assert typed.session("passed").runs("make seed") == ""


@acceptance("typed", "8.3-held")
def test_a_grown_start_pack_does_not_switch_prompts_off(typed):
    for number in range(20):
        typed.know("preference", f"Rule {number} of the style guide holds for module {number}")
    for number in range(9):
        typed.know("decision", f"Chapter {number} of the handbook is kept by team {number}")
    session = typed.session()
    assert len(lines(session.start())) > 20
    typed.know("error_pattern", LATE_CLOCK)
    assert LATE_CLOCK in session.say(LOGIN_BUG)


@acceptance("typed", "5.1-start", "8.1-stats")
def test_a_trace_counts_the_block_that_was_handed_over(typed):
    typed.know("preference", "Answer in short sentences")
    block = typed.session().start()
    trace = typed.last_trace()
    assert trace["block"] == block
    assert trace["tokens"] <= len(block) / 3


@acceptance("typed", "8.1-stats")
def test_counts_of_a_recall_are_in_the_api_and_on_the_command_line(typed):
    typed.know("error_pattern", LATE_CLOCK)
    typed.know("decision", "Sign-in lasts thirty minutes because the bank's auditors ask for it")
    typed.know("decision", "Invoices are printed on Fridays")
    block = typed.ask_prompt(LOGIN_BUG)
    trace = typed.last_trace()
    stats = trace["stats"]
    assert (stats["memories_considered"], stats["memories_injected"]) == (3, len(lines(block)))
    assert sum(count for _, count in stats["by_type"]) == stats["memories_injected"] > 0
    assert 0 < stats["tokens_used"] <= stats["tokens_budget"] == 800
    assert 0.4 <= stats["avg_relevance"] <= 1.0
    assert typed.request("GET", f"/v1/traces/{trace['id']}")["trace"]["stats"] == stats
    said = typed.tacit("why", "--limit", "1").stdout
    assert f"3 looked at and 800 tokens; {stats['by_type'][0][1]} {stats['by_type'][0][0]}" in said
    assert f"mean relevance {stats['avg_relevance']:.2f}" in said


@acceptance("typed", "3.2-inject", "3.2-task")
def test_a_task_is_answered_by_its_types_and_a_topic_by_those_asked_for(typed):
    for number in range(10):
        typed.know("outcome", f"Repaired the gateway that refused requests, attempt {number}")
    typed.know("error_pattern", "The gateway answers 401 when the clock of its host is late")
    typed.know("file_context", "src/gateway.py signs every request that it sends on")
    typed.know("correction", "Sign with Ed25519 in the gateway, not with RSA")
    task = "fix the gateway: partners say that it turns their calls away"
    whole = typed.tool("get_context_for_task", task_description=task)
    assert "clock of its host" in whole
    assert "[OUT]" not in whole
    bare = typed.tool(
        "get_context_for_task",
        task_description=task,
        include_error_patterns=False,
        include_file_context=False,
    )
    assert "clock of its host" not in bare
    assert "src/gateway.py" not in bare
    rules = typed.tool("inject_context", topic="the signature of the gateway", memory_types="preference")
    assert "Ed25519" in rules
    assert "src/gateway.py" not in rules
    assert "[OUT]" in typed.tool("inject_context", topic="the gateway refuses", memory_types="outcome")


@acceptance("typed", "7.1-restricted", "7.1-session", "7.2-patterns")
def test_sensitivity_is_set_on_every_way_and_words_that_are_secrets_are_refused(typed):
    typed.tacit(
        "remember",
        "The auditors of the bank come in May",
        "--kind",
        "decision",
        "--sensitivity",
        "restricted",
    )
    typed.session("first").start()
    typed.know(
        "decision", "Customers stay signed in for the demo of today", sensitivity="session",
        session={"host": "claude-code", "session_id": f"{typed.project.name}-first"},
    )  # fmt: skip
    pager = "The pager number of the bank ends in 7"
    said = typed.tool("memory_add", content=pager, kind="fact", sensitivity="restricted")
    (added,) = [one for one in typed.stored() if one["content"] == pager]
    assert (added["sensitivity"], added["id"][-7:] in said) == ("restricted", True)
    refused = typed.tool("memory_add", content="The door of the bank opens at nine", sensitivity="secretive")
    assert "restricted" in refused
    assert not [one for one in typed.stored() if "opens at nine" in one["content"]]
    assert "pager" not in typed.tool("inject_context", topic="the pager number of the bank")
    assert "pager" in typed.tacit("recall", "the pager number of the bank").stdout
    blocks = typed.session("second").start() + typed.ask_prompt(
        "When do the bank's people look at our books?"
    )
    assert "auditors" not in blocks
    assert "pager" not in blocks
    assert "demo of today" not in blocks
    assert "demo of today" in typed.session("first").start("compact")
    levels = sorted(one["sensitivity"] for one in typed.stored(status="all"))
    assert levels == ["restricted", "restricted", "session"]
    for words in ("password = hunter2", "secret: topsecretvalue", "db password: swordfish", "bearer abcdef",
                  "password: x1"):  # fmt: skip
        assert "secret" in (typed.try_remember(f"The staging login uses {words}") or "stored"), words


@acceptance("typed", "4.3-duplicate")
def test_two_statements_that_differ_in_one_name_are_both_kept(typed):
    typed.know("fact", "The orders API listens on port 8443")
    typed.know("fact", "The invoices API listens on port 8443")
    for place in ("north", "south"):
        typed.know("fact", f"The {place} warehouse is counted on the first Monday of the month")
    for words in ("8443", "first Monday"):
        assert len([one for one in typed.stored() if words in one["content"]]) == 2


@acceptance("typed", "6.1-points")
def test_a_surface_that_is_off_asks_nothing_and_is_named(typed):
    typed.know("preference", "Always run ruff before every commit")
    before = typed.last_trace()["id"] if typed.request("GET", "/v1/traces?limit=1")["traces"] else ""
    session = typed.session()
    session.start()
    asked = typed.last_trace()["id"]
    assert asked != before
    assert session.runs("git commit -m done") == ""
    assert typed.last_trace()["id"] == asked
    assert "off here: action" in typed.tacit("status").stdout


FOUR = "preference, decision, file_context, error_pattern"


@acceptance("typed", "6.1-types", "3.3-inline")
def test_outcomes_come_where_they_are_turned_on(typed_with):
    machine = typed_with(f"recall: {{kinds: [{FOUR}, outcome]}}\n").in_project()
    session = machine.session("work")
    session.say("Fix the login bug: the session times out too early for the users of the north shop")
    session.edited("src/login.py")
    session.stops("I changed the timeout of the login session.")
    session.end()
    machine.learned("digest")
    outcome = "The login bug of last week, a session that times out too early, was closed by the support team"
    machine.know("outcome", outcome)
    found = lines(machine.ask_prompt(LOGIN_BUG, "on"))
    assert {line[:7] for line in found} == {"- [OUT]"}
    assert any("support team" in line for line in found)
    machine.set(f"preset: typed\nrecall: {{kinds: [{FOUR}]}}\n")
    wait_for(lambda: "outcome" not in str(machine.ask("config", "get", "recall.kinds")))
    wait_for(lambda: machine.ask_prompt(LOGIN_BUG, f"off{time.monotonic_ns()}") == "")


@acceptance("typed", "6.1-types", "3.3-sections", "8.1-lists")
def test_research_has_a_section_at_the_start_where_it_is_turned_on(typed_with):
    machine = typed_with(f"recall: {{kinds: [{FOUR}, research]}}\n").in_project()
    study = "Benchmarks of March: PgBouncer in session mode costs nine percent of the throughput"
    machine.know("research", study)
    machine.know("decision", "Orders are kept in PostgreSQL")
    block = machine.session("on").start()
    parts = block.splitlines()
    assert parts.index("### Decision") < parts.index("### Research")
    assert study in parts[parts.index("### Research") + 1]
    machine.set("preset: typed\n")
    wait_for(lambda: "### Research" not in machine.session(f"off{time.monotonic_ns()}").start())
    assert "### Decision" in machine.session("off").start()


@acceptance("typed", "NAMES")
def test_a_name_of_the_design_leads_to_the_setting(typed_with):
    machine = typed_with("")
    for name, setting, value in (
        ("session_start.budget_tokens", "recall.budgets.start", "1200"),
        ("memory.injection.per_prompt.min_relevance_score", "recall.thresholds.prompt", "0.5"),
        ("error_context.budget_tokens", "recall.budgets.failure", "250"),
        ("scoring.recency_weight", "recall.typed.recency", "0.1"),
        ("deduplication_threshold", "capture.near_cosine", "0.9"),
    ):
        assert f"`{setting}`" in machine.said("config", "set", name, value, code=3)
        machine.tacit("config", "set", setting, value)
        assert machine.ask("config", "get", setting) == {setting: float(value)}
    said = machine.said("config", "set", "isolation.share_preferences", "true", code=3)
    assert "`project.share_preferences` (another meaning" in said
    machine.tacit("config", "set", "recall.types", "[decision]")
    assert machine.ask("config", "get", "recall.kinds") == {"recall.kinds": ["decision"]}
