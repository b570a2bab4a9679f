"""The `scoped` design, item by item: budgets per scope, thresholds, session codes, answers on demand, its four scenarios."""

from __future__ import annotations

from dataclasses import replace

import pytest

from presets.acceptance import acceptance
from presets.driving import speaks, workplace
from samples import DAY_MS, NOW_MS, PROJECT, candidate, memory, query
from tacit.app.values import Caller
from tacit.errors import InvalidScope, UnknownKind
from tacit.mcp.server import listed_tools
from tacit.model.pack import Surface
from tacit.model.scope import UNIVERSAL, Scope, ScopeFilter, ScopeKind
from tacit.model.session import SessionKey
from tacit.model.trigger import Situation
from tacit.presets.scoped.preset import (
    best_score,
    code_lines,
    recency,
    scope_match,
    scope_score,
    scoped_relevance,
    task_match,
    task_of,
)

pytestmark = pytest.mark.timeout(60)
GO = Scope(kind=ScopeKind.LANGUAGE, key="go")
PYTHON = Scope(kind=ScopeKind.LANGUAGE, key="python")
ALLOWED = (UNIVERSAL, GO, PROJECT)
CODES = "impl: add retries to the importer\ndec: retries stop after five attempts\nblock: `make e2e` still fails\nnext: document the retry flag"


@pytest.fixture
def lab(open_workplace):
    return open_workplace("scoped")


def tokens(lab, text):
    return lab.engine._parts.tokens.count(text)


def know_all(lab, given):
    """Many memories (content, kind, fields) in one transaction."""
    store, applied = lab.engine.store, []

    class Later:
        def apply(self, changes, **_vectors):
            applied.extend(changes)

    lab.engine.store = Later()
    try:
        for content, kind, fields in given:
            lab.know(content, kind, **fields)
    finally:
        lab.engine.store = store
    vectors = lab.embedder.embed([change.memory.content for change in applied])
    store.apply(applied, vectors=vectors, identity=lab.embedder.identity)


def rules(lab, number, scope=None, words=12, **fields):
    """`number` rules that are no copies of one another."""
    name = (scope or PROJECT).kind.value
    know_all(
        lab,
        [
            (
                " ".join(f"{chr(97 + n % 26)}{chr(97 + n // 26)}{i}{name}" for i in range(words))
                + f" {name}{n}",
                "preference",
                {"scope": scope, **fields},
            )
            for n in range(number)
        ],
    )


def under(block, heading):
    """The lines under a heading."""
    lines = block.splitlines()
    if heading not in lines:
        return []
    rest = lines[lines.index(heading) + 1 :]
    return list(rest[: next((i for i, x in enumerate(rest) if x[0] in "#<"), len(rest))])


# --- the score, by hand --------------------------------------------------------------------------------------------


@acceptance("scoped", "SCORE-scope")
def test_scopes_weigh_by_nearness():
    other = Scope(kind=ScopeKind.PROJECT, key="other-0123456789")
    assert [scope_match(s, ALLOWED) for s in (UNIVERSAL, GO, PYTHON, PROJECT, other)] == [
        0.4,
        0.7,
        0.1,
        1.0,
        0.05,
    ]


@acceptance("scoped", "SCORE-recency")
def test_recency_falls_in_steps():
    assert [recency(d * DAY_MS) for d in (0, 6, 7, 29, 30, 89, 90, 179, 180, 900)] == [
        1.0, 1.0, 0.8, 0.8, 0.6, 0.6, 0.4, 0.4, 0.2, 0.2,
    ]  # fmt: skip


@acceptance("scoped", "SCORE-task")
def test_the_task_counts_by_its_words():
    assert task_match("Implement a function in one class", "coding") == pytest.approx(3 / 5)
    assert task_match("Whatever it says", "") == 0.5


@acceptance("scoped", "SCORE-frequency", "SCORE-sum", "EXIT-1")
def test_the_score_is_the_weighted_sum():
    said = memory(scope=PROJECT, frequency=3, at_ms=NOW_MS - 10 * DAY_MS)
    assert scope_score(said, allowed=ALLOWED, at_ms=NOW_MS, task="") == pytest.approx(
        0.4 * 1.0 + 0.3 * 0.3 + 0.2 * 0.8 + 0.1 * 0.5
    )
    often = memory(scope=PROJECT, frequency=30, content="implement write create function class")
    assert scope_score(often, allowed=ALLOWED, at_ms=NOW_MS, task="coding") == pytest.approx(1.0)
    best = best_score(memory(scope=UNIVERSAL), memory_kind("fact"), at_ms=NOW_MS, task="")
    assert best == pytest.approx(0.16 + 0.03 + 0.2 + 0.05)


@acceptance("scoped", "DETECT-task")
def test_the_task_is_read_from_what_is_coming():
    def of(action):
        return task_of(query(situation=Situation(actions=((action, 0.9),))))

    assert [of(a) for a in ("implement_feature", "fix_bug", "write_docs", "plan_or_spec", "explain_code")] == [
        "coding", "debugging", "documentation", "architecture", "",
    ]  # fmt: skip
    both = Situation(actions=(("edit_code", 0.86), ("fix_bug", 0.85)))
    assert task_of(query(situation=both)) == "debugging"
    narrowed = replace(query(), scope=ScopeFilter.of(Scope.parse("project:shop-0123456789:task:debugging")))
    assert task_of(narrowed) == "debugging"


@acceptance("scoped", "THRESHOLD-start")
def test_fresh_memories_of_every_scope_can_reach_the_threshold():
    asked = query(scope=ScopeFilter.of(*ALLOWED))
    for scope in ALLOWED:
        fresh, _ = scoped_relevance(asked, candidate(scope=scope), memory_kind("preference"))
        assert fresh == pytest.approx(1.0)
    old = candidate(scope=UNIVERSAL, at_ms=NOW_MS - 400 * DAY_MS)
    standing, _ = scoped_relevance(asked, old, memory_kind("preference"))
    assert standing == pytest.approx(1.0)  # a standing kind does not age out
    value, _ = scoped_relevance(asked, old, memory_kind("fact"))
    assert value == pytest.approx((0.16 + 0.03 + 0.04 + 0.05) / (0.16 + 0.03 + 0.2 + 0.05))
    assert value < 0.7


def memory_kind(name):
    from tacit.model.kinds import KindRegistry

    return KindRegistry().get(name)


# --- the start pack ------------------------------------------------------------------------------------------------


@acceptance("scoped", "FORMAT", "MODE-1", "EXIT-9", "EXIT-3")
def test_the_start_pack_stands_under_headings_by_scope(lab):
    speaks(lab, "main.go", "shop.go")
    lab.know("Answer in short sentences", scope=UNIVERSAL)
    lab.know("global state in packages", "anti_pattern", scope=UNIVERSAL)
    lab.know("In all my projects, never add a dependency without asking", "anti_pattern", scope=UNIVERSAL)
    lab.know("Wrap errors with %w", scope=GO)
    lab.know("Prices are integers in cents", "decision")
    lab.know(CODES, "digest")
    block = lab.agent().start()
    assert [line for line in block.splitlines() if line.startswith("#")] == [
        "## Developer Memory", "### Universal Rules", "### Go Preferences", "### Shop Decisions", "### Session Codes",
    ]  # fmt: skip
    assert "- Avoid: global state in packages" in under(block, "### Universal Rules")
    assert "- In all my projects, never add a dependency without asking" in under(
        block, "### Universal Rules"
    )
    assert under(block, "### Session Codes") == CODES.splitlines()


@acceptance("scoped", "BUDGET-start", "EXIT-2", "EXIT-5", "BUDGET-greedy")
def test_every_part_of_the_start_pack_keeps_to_its_tokens(lab):
    speaks(lab, "main.go")
    for scope in (UNIVERSAL, GO, None):
        rules(lab, 40, scope)
    rich = "\n".join(f"impl: change number {n} of the importer and its settings" for n in range(20))
    for n in range(6):
        lab.know(
            f"{rich} day {n}\ndec: decided thing {n} about retries\nnext: open thing {n} about exports",
            "digest",
            days_ago=n,
        )
    block = lab.agent().start()
    assert 1300 < tokens(lab, block) <= 2000
    memories = 0
    for heading, budget in (
        ("### Universal Rules", 300),
        ("### Go Preferences", 300),
        ("### Shop Decisions", 400),
    ):
        own = tokens(lab, "\n".join(under(block, heading)))
        assert 0.6 * budget < own
        memories += own
    assert memories <= 1500
    codes = under(block, "### Session Codes")
    done = [line for line in codes if line.startswith("impl")]
    assert 200 < tokens(lab, "\n".join(done)) <= 300


@acceptance("scoped", "BUDGET-codes", "EXIT-8")
def test_session_codes_keep_to_their_tokens(lab):
    given = []
    for n in range(40):
        a, b, c, d = (
            " ".join(f"{word}{n}{x}" for x in "abcd") for word in ("built", "chose", "waits", "finish")
        )
        given.append((f"impl: {a}\ndec: {b}\nblock: {c}\nnext: {d}", "digest", {"days_ago": n / 4}))
    know_all(lab, given)
    block = lab.agent().start()
    lines = under(block, "### Session Codes")
    by_code = {
        code: tokens(lab, "\n".join(x for x in lines if x.startswith(code)))
        for code in ("impl", "dec", "block", "next")
    }
    assert 200 < by_code["impl"] <= 300
    assert 130 < by_code["dec"] <= 200
    assert 200 < by_code["block"] + by_code["next"] <= 300
    assert "built0a" in lines[0]  # the newest digest first


@acceptance("scoped", "CODES-finished")
def test_finished_next_items_disappear(lab):
    lab.know(
        "impl: plan the release\nnext: add a retry flag to the importer\nnext: rename the export command",
        "digest",
        days_ago=3,
    )
    lab.know("impl: add the retry flag to the importer", "digest", days_ago=1)
    block = lab.agent().start()
    assert "next: rename the export command" in block
    assert "next: add a retry flag" not in block


def test_an_item_is_finished_by_sixty_percent_of_its_words():
    def left(*reports):
        old = candidate(
            "next: write migration notes for payment tables", id="mem_1", kind="digest", at_ms=NOW_MS - DAY_MS
        )
        new = candidate("\n".join(reports) or "dec: other", id="mem_2", kind="digest")
        return [line.text for line in code_lines([old, new]) if line.code == "next"]

    assert left("done: migration notes for payment") == []  # three of five stems
    assert left("done: migration notes") != []
    assert left("dec: write migration notes for payment tables") != []  # a decision finishes nothing


@acceptance("scoped", "CODES-finished")
def test_a_finished_task_goes_alone_and_the_last_one_takes_its_blocker_along():
    old = "next: add the XLSX export and write its manual page\nblock: the staging bucket has no credentials yet\nblock: `make e2e` still fails"

    def left(*reports):
        digests = [candidate(old, id="mem_1", kind="digest", at_ms=NOW_MS - DAY_MS)]
        digests += [candidate("\n".join(reports), id="mem_2", kind="digest")] if reports else []
        return [(line.code, line.text) for line in code_lines(digests) if line.code in ("next", "block")]

    bucket = ("block", "the staging bucket has no credentials yet")
    failing = ("block", "`make e2e` still fails")
    assert left() == [("next", "add the XLSX export and write its manual page"), bucket, failing]
    assert left("done: add the XLSX export (1f2e3d4)") == [("next", "write its manual page"), bucket, failing]
    assert left("done: add the XLSX export", "done: write its manual page") == [failing]
    assert left("done: `make e2e` passed")[1:] == [bucket]


@acceptance("scoped", "CODES-done")
def test_what_was_done_comes_with_the_codes_and_what_only_counts_does_not(lab):
    lab.know(
        "impl: changed shop.go\ndone: `go test` passed\ndone: 2 commits\ndone: Round prices up (1f2e3d4)",
        "digest",
    )
    assert under(lab.agent().start(), "### Session Codes") == [
        "impl: changed shop.go",
        "done: Round prices up (1f2e3d4)",
    ]


@acceptance("scoped", "CODES-once")
def test_a_decision_stands_once_in_a_block(lab):
    lab.know("Prices are integers in cents", "decision")
    lab.know(
        "impl: changed shop.go\ndec: Prices are integers in cents\ndec: Refunds wait for a day", "digest"
    )
    block = lab.agent().start()
    assert block.count("Prices are integers in cents") == 1
    assert "dec: Refunds wait for a day" in block  # no memory in the block says it


@acceptance("scoped", "CODES-kept")
def test_reading_never_deletes(lab):
    lab.know(CODES, "digest", days_ago=1)
    lab.know("Prices are integers in cents", "decision")
    first = lab.agent("s1").start()
    assert lab.agent("s2").start() == first
    assert ("digest", CODES) in lab.kinds_stored()


@acceptance("scoped", "ORDER-newest")
def test_of_equals_the_newest_come(lab):
    know_all(
        lab,
        [
            (f"{' '.join(f'rule{n}x{i}' for i in range(14))}", "decision", {"days_ago": 1 - n / 100})
            for n in range(60)
        ],
    )
    lines = under(lab.agent().start(), "### Shop Decisions")
    assert 20 <= len(lines) < 60
    assert [line.split("x")[0] for line in lines] == [f"- rule{n}" for n in range(59, 59 - len(lines), -1)]


@acceptance("scoped", "EMPTY-start")
def test_without_memories_the_start_is_silent(lab):
    assert lab.agent().start() == ""


# --- scenarios -----------------------------------------------------------------------------------------------------


@acceptance("scoped", "SCENARIO-1")
def test_without_project_and_language_only_universal_memories_come(lab):
    rules(lab, 60, UNIVERSAL)
    rules(lab, 5, GO)
    rules(lab, 5)
    block = lab.engine.recall("", cwd="", surface=Surface.START).block
    assert "### Universal Rules" in block.text
    assert "Preferences" not in block.text
    assert "Decisions" not in block.text
    memories = [line for line in block.text.splitlines() if line.startswith("- ")]
    assert 300 < tokens(lab, "\n".join(memories)) <= 500


@acceptance("scoped", "SCENARIO-2")
def test_a_go_project_gets_all_three_scopes(lab):
    speaks(lab, "main.go", "handler.go", "README.md")
    for scope in (UNIVERSAL, GO, None):
        rules(lab, 6, scope, words=6)
    block = lab.agent().start()
    lines = [line for line in block.splitlines() if line.startswith("- ")]
    for name in ("universal", "language", "project"):
        assert sum(f" {name}" in line for line in lines) == 6
    assert tokens(lab, "\n".join(lines)) <= 1000


@acceptance("scoped", "SCENARIO-3")
def test_of_fifty_rules_the_best_come_until_the_tokens_are_used_up(lab):
    for n in range(50):
        text = " ".join(f"w{n}x{i}" for i in range(15))
        lab.know(text, "preference", frequency=10 if n % 5 == 0 else 1, days_ago=0 if n % 2 else 100)
    block = lab.agent().start()
    lines = [line for line in block.splitlines() if line.startswith("- ")]
    assert 55 <= tokens(lab, lines[0]) <= 65  # fifty of them are the 3000 tokens of the design
    assert 20 <= len(lines) <= 25
    assert 1400 < tokens(lab, "\n".join(lines)) <= 1500
    chosen = {int(line.split("w")[1].split("x")[0]) for line in lines}
    assert {n for n in range(50) if n % 10 == 5} <= chosen  # often said and fresh


@acceptance("scoped", "SCENARIO-4")
def test_rules_of_another_language_are_left_out(lab):
    speaks(lab, "app.py", "test_app.py")
    lab.know("Wrap errors with %w", scope=GO)
    lab.know("Type hints on public functions", scope=PYTHON)
    block = lab.agent().start()
    assert "Type hints" in block
    assert "%w" not in block


# --- detection -----------------------------------------------------------------------------------------------------


@acceptance("scoped", "DETECT-project")
def test_the_project_is_the_one_around_the_folder(lab):
    lab.know("Prices are integers in cents", "decision")
    elsewhere = lab.place.parent / "other"
    elsewhere.mkdir()
    assert "cents" in lab.engine.context(str(lab.place)).text
    assert "cents" not in lab.engine.context(str(elsewhere)).text


@acceptance("scoped", "DETECT-language", "EXIT-4")
def test_languages_come_from_tracked_files_alone(lab):
    modules = lab.place / "node_modules"
    modules.mkdir()
    for n in range(30):
        (modules / f"x{n}.js").write_text("")
    speaks(lab, *(f"m{n}.py" for n in range(12)), "tool.go")
    assert lab.engine._projects.languages(lab.project) == ("python",)


# --- answers on demand ---------------------------------------------------------------------------------------------


def ask(lab, words="", *, session=None, **given):
    answer = lab.engine.agents.queries.answer(Caller(cwd=str(lab.place), session=session), words, **given)
    lab.engine.flush()
    return answer


@acceptance("scoped", "MODE-2", "TOOL")
def test_answers_are_found_by_words_scope_and_category(lab):
    speaks(lab, "app.py")
    lab.know("Error handling: raise typed errors in the importer", "decision")
    lab.know("Error handling: never swallow an exception", "correction", scope=PYTHON)
    lab.know("The garden page is green", "decision")
    found = ask(lab, "error handling").block.text
    assert "## Developer Memory: error handling\n" in found
    assert "typed errors" in found
    assert "swallow" in found
    assert "garden" not in found
    assert "swallow" not in ask(lab, "error handling", kinds=("decision",)).block.text
    lab.know("Error handling: read the log before you guess", "guideline")
    ruled = ask(
        lab, "error handling", kinds=("rule",), session=SessionKey(host="t", session_id="3")
    ).block.text
    assert "read the log" in ruled
    assert "typed errors" not in ruled
    assert "(id " in ruled  # so that the agent can end or change it
    python = ask(lab, scope="language:python", session=SessionKey(host="t", session_id="2")).block.text
    assert "swallow" in python
    assert "typed errors" not in python
    with pytest.raises(UnknownKind):
        ask(lab, "error handling", kinds=("decisoin",))
    with pytest.raises(InvalidScope):
        ask(lab, "error handling", scope="project:other-0123456789")


@acceptance("scoped", "EXIT-6")
def test_the_tool_is_registered_with_its_arguments(lab):
    tools = {tool.name: tool for tool in listed_tools("lean")}
    assert set(tools["memory_context"].input_schema["properties"]) == {"query", "scope", "kind"}


@acceptance("scoped", "TASK-scope")
def test_a_task_is_a_scope_of_its_own(lab):
    scope = Scope.parse(f"project:{lab.project.id}:task:debugging")
    assert (scope.project_id, scope.task) == (lab.project.id, "debugging")
    lab.engine.remember(
        "Read the trace before changing the parser", kind="preference", scope=scope, cwd=str(lab.place)
    )
    lab.know("Prices are integers in cents", "decision")
    assert "Read the trace" not in lab.engine.context(str(lab.place)).text
    narrowed = ask(lab, scope=f"project:{lab.project.name}:task:debugging").block.text
    assert "Read the trace" in narrowed
    assert "cents" in narrowed


@acceptance("scoped", "THRESHOLD-query")
def test_an_answer_asks_for_less_than_the_start(lab):
    thresholds = lab.engine.settings.recall.thresholds
    assert (thresholds.start, thresholds.on_demand) == (0.7, 0.5)
    lab.know("The laptop has two screens", "fact", scope=UNIVERSAL, days_ago=400)  # 0.64 of what is reachable
    lab.know("Indent with tabs", scope=UNIVERSAL, days_ago=400)
    start = lab.agent().start()
    assert "screens" not in start
    assert "tabs" in start
    assert "screens" in ask(lab, "two screens").block.text


@acceptance("scoped", "BUDGET-query")
def test_an_answer_has_five_hundred_tokens_shared_by_scope(lab):
    speaks(lab, "main.go")
    for scope in (UNIVERSAL, GO, None):
        for n in range(12):
            tail = " ".join(f"{chr(97 + n)}{i}{(scope or PROJECT).kind.value}" for i in range(8))
            lab.know(f"error handling {tail}", "preference", scope=scope)
    found = ask(lab, "error handling").block
    assert 300 < tokens(lab, found.text) <= 500
    for heading, budget in (
        ("### Universal Rules", 150),
        ("### Go Preferences", 150),
        ("### Shop Decisions", 200),
    ):
        assert 0 < tokens(lab, "\n".join(under(found.text, heading))) <= budget


@acceptance("scoped", "BUDGET-cap", "EXIT-7")
def test_a_session_has_two_answers_and_three_thousand_tokens(tmp_path):
    with workplace(tmp_path, "scoped") as lab:
        rules(lab, 40)
        lab.know("Error handling: raise typed errors", "decision")
        lab.agent().start()
        first, second, third = (ask(lab, "error handling") for _ in range(3))
        assert not first.block.empty
        assert not second.block.empty
        assert third.block.empty
        assert "2 answers" in third.refused
        assert not ask(lab, "error handling", session=SessionKey(host="t", session_id="s9")).block.empty


def test_an_answer_over_the_cap_is_cut(tmp_path):
    with workplace(
        tmp_path, "scoped", recall={"scoped": {"session_tokens": 760, "answers_per_session": 9}}
    ) as lab:
        rules(lab, 40)
        for n in range(12):
            lab.know(f"error handling {' '.join(f'{chr(97 + n)}{i}term' for i in range(8))}", "preference")
        start = lab.agent().start()
        answers = [ask(lab, "error handling") for _ in range(4)]
        assert sum(tokens(lab, a.block.text) for a in answers) <= 760 - 400
        assert answers[-1].refused
        assert start
