"""What a command can do with the data of a home, done on the page: checked where it ends, in the store."""

from __future__ import annotations

import json
import time

import pytest
from playwright.sync_api import Page, expect

from e2e.web.driver import Looked, load_axe, served, settle, signed_in
from tacit.app.stats import merged, shard_of
from tacit.app.wiring import open_engine
from tacit.model.changes import Add
from tacit.model.memory import Memory, Provenance, Relation, TrustTier, Validity
from tacit.model.scope import UNIVERSAL
from tacit.state.counted import DayTokens, SessionCounts, Spending, day_of
from tacit.state.registry import HOLDOUT_SESSIONS, JUDGE_SPENDING
from transcripts import exchange, write_transcript

pytestmark = pytest.mark.e2e
expect.set_options(timeout=60_000)

LINT = "Run `make lint` before every commit."
CENTS = "Money is stored as integer cents."
TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
MEM0 = {
    "results": [
        {"id": "a1", "memory": "Answers are in British English", "created_at": "2026-01-02T03:04:05Z"},
        {"id": "a2", "memory": f"The key is {TOKEN}", "created_at": "2026-01-02T03:04:05Z"},
    ]
}


@pytest.fixture(scope="module")
def own_home(tmp_path_factory):
    """A small home that these tests may purge and replace."""
    home = tmp_path_factory.mktemp("data") / "home"
    engine = open_engine(home)
    now_ms = engine.clock.now_ms()
    try:
        for words in (LINT, CENTS, "The launch is in May.", "Badge TX-4471 opens the lab."):
            engine.remember(words, kind="fact", scope=UNIVERSAL)
        digest = Memory(
            id="mem_digestofasession", kind="digest", scope=UNIVERSAL,
            content="impl: the refund webhook\ndec: refunds run in the worker\nnext: delete src/refund_sync.py",
            provenance=Provenance(tier=TrustTier.ASSISTANT, host="plain", session_id="refunds"),
            validity=Validity(valid_from_ms=now_ms), created_at_ms=now_ms, updated_at_ms=now_ms,
        )  # fmt: skip
        store = engine._parts.store
        store.apply([Add(memory=digest)])
        _contradict(store, now_ms)
        for number in range(60):
            name = f"plain/s{number}"
            without = number % 2 == 0
            record = SessionCounts(
                without=without, at_ms=now_ms, turns=4, repeated=3 if without else 1, tokens=number
            )
            shard = shard_of(name)
            HOLDOUT_SESSIONS.write(store, merged(HOLDOUT_SESSIONS.read(store, shard), {name: record}), shard)
        past = (DayTokens(day="2026-01-02", tokens=1_000_000, tokens_out=0),)
        spent = Spending(day=day_of(now_ms), tokens=1200, tokens_out=300, asked=3, past=past)
        JUDGE_SPENDING.write(store, spent)
    finally:
        engine.close()
    judge = "provider: openai, endpoint: http://127.0.0.1:9/v1, price: 2/10"
    (home / "config.yaml").write_text(f"recall: {{judge: {{{judge}}}}}\n")
    with served(home) as place:
        yield place


PAIR = (
    "Invoices are numbered per year.",
    "Invoices are numbered per customer, and the year stands in front; this was agreed in March.",
)


def _contradict(store, now_ms: int) -> None:
    """Store two statements of which somebody said that they may not both hold, the second a day later."""
    older, newer = (
        Memory(
            id=f"mem_pair{number}", kind="fact", scope=UNIVERSAL, content=words,
            provenance=Provenance(tier=TrustTier.USER, source="cli"), validity=Validity(valid_from_ms=now_ms),
            created_at_ms=now_ms - (2 - number) * 86_400_000, updated_at_ms=now_ms,
        )
        for number, words in enumerate(PAIR)
    )  # fmt: skip
    store.apply([Add(memory=older), Add(memory=newer)])
    store.relate([Relation(source_id=newer.id, target_id=older.id, type="contradicts")])


@pytest.fixture
def own(web_browser, own_home):
    """Open a path of the page of that home."""
    page = signed_in(web_browser, own_home)

    def walk(path: str) -> Page:
        page.goto(own_home.base + path)
        settle(page)
        return page

    yield walk
    complaints = [text for text in page.complaints if "422" not in text and "404" not in text]  # type: ignore[attr-defined]
    page.context.close()
    assert complaints == []


def contents(place, status: str = "active") -> list[str]:
    return [row["content"] for row in place.api(f"/v1/memories?status={status}&limit=500")["memories"]]


def upload(page: Page, name: str, data: bytes) -> None:
    """Choose a file and look at what it would do."""
    page.locator("input[type=file]").set_input_files({"name": name, "mimeType": "", "buffer": data})
    page.get_by_role("button", name="Show what it would do").click()


def test_an_export_is_downloaded_or_written_to_a_file(own, own_home, tmp_path):
    page = own("/ui/data/export")
    page.get_by_text(f"It holds {len(contents(own_home, 'all'))} memories.").wait_for()
    with page.expect_download() as downloaded:
        page.get_by_role("button", name="Download the export").click()
    lines = downloaded.value.path().read_text().splitlines()
    assert downloaded.value.suggested_filename.endswith(".jsonl")
    assert any(LINT in line and '"sig"' in line for line in lines)

    page.get_by_role("radio", name="Text to read and edit").check()
    page.get_by_role("radio", name="Write it to a file on this machine").check()
    target = tmp_path / "all.md"
    page.get_by_role("textbox", name="New file").fill(str(target))
    page.get_by_role("button", name="Write the export").click()
    page.get_by_text(f"Written to {target}").wait_for()
    assert f"- {LINT}" in target.read_text()
    page.get_by_role("button", name="Write the export").click()
    page.get_by_role("alert").get_by_text("Name a file that does not exist yet.").wait_for()


def test_an_import_shows_what_it_would_do_then_does_it_and_is_taken_back(own, own_home):
    page = own("/ui/data/import")
    upload(page, "mem0.json", json.dumps(MEM0).encode())
    page.get_by_text("mem0.json (mem0)").wait_for()
    page.get_by_role("region", name="new").get_by_text("British English").wait_for()
    page.get_by_role("region", name="refused").get_by_text("a secret").wait_for()
    assert not any("British" in words for words in contents(own_home, "all"))

    page.get_by_role("button", name="Import 1 statement").click()
    page.get_by_role("heading", name="Imported").wait_for()
    page.get_by_text("1 statement waits for you").wait_for()
    assert [words for words in contents(own_home, "quarantined") if "British" in words]

    page.get_by_role("button", name="Undo this import").click()
    page.get_by_text("The store holds what it held before.").wait_for()
    assert not any(
        "British" in words for status in ("active", "quarantined") for words in contents(own_home, status)
    )


def test_past_sessions_are_shown_then_learned_from(own, own_home, tmp_path):
    always = "From now on always run pytest with -q in this project."
    for number, said in enumerate((always, "thanks, looks good")):
        past = exchange("Why does pytest fail here?", "The package was not installed.", said)
        write_transcript(tmp_path / f"s{number}.jsonl", *past, cwd=tmp_path, session=f"past{number}")
    page = own("/ui/data/import")
    part = page.get_by_role("region", name="Learn from past sessions")
    part.get_by_role("textbox", name="File or folder").fill(str(tmp_path / "nothing"))
    part.get_by_role("button", name="Show what it would read").click()
    expect(part.get_by_role("alert")).to_contain_text("nothing")

    part.get_by_role("textbox", name="File or folder").fill(str(tmp_path))
    part.get_by_role("button", name="Show what it would read").click()
    row = part.get_by_role("row").filter(has_text="claude-code")
    expect(row.get_by_role("cell")).to_have_text(["2", "2", "4", "0"])
    assert not any("pytest with -q" in text for text in contents(own_home))
    part.get_by_role("button", name="Learn from 4 new prompts").click()
    part.get_by_text("Learned 1 statement").wait_for()
    assert any("pytest with -q" in text for text in contents(own_home))

    part.get_by_role("button", name="Show what it would read").click()
    expect(part.get_by_role("button", name="There is nothing new to learn from")).to_be_disabled()


def test_what_a_model_costs_stands_on_home_day_by_day(own):
    part = own("/ui/").get_by_role("region", name="Cost of the model at the prompt")
    rows = part.get_by_role("table").get_by_role("row")
    expect(rows.nth(1)).to_contain_text("1,2003000.0054")
    expect(rows.nth(2)).to_contain_text("2026-01-021,000,00002.0000")
    expect(part.get_by_role("link")).to_have_attribute("href", "/ui/settings")


def test_an_imported_session_is_found_by_its_first_prompt_in_two_clicks(own, own_home, tmp_path):
    said = exchange(
        "Please tidy the loading bay door.",
        "Done.",
        "Always oil the hinges of a door, in this project.",
        "Yes.",
    )
    path = write_transcript(tmp_path / "door.jsonl", *said, cwd=tmp_path, session="door")
    own_home.api("/v1/transcripts", "POST", {"named": True, "paths": [str(path)]})
    page = own("/ui/")
    page.get_by_role("link", name="Sessions", exact=True).click()
    row = page.locator("a.session", has_text="tidy the loading bay door")
    expect(row).to_contain_text("1 taught")
    expect(row).to_contain_text("imported")
    row.click()
    page.get_by_role("heading", level=1, name="tidy the loading bay door").wait_for()
    page.get_by_role("region", name="What this session taught").get_by_text("oil the hinges").first.wait_for()
    assert page.get_by_role("alert").count() == 0
    assert page.get_by_role("button", name="Mute").count() == 0
    taught = next(
        row for row in own_home.api("/v1/memories?limit=500")["memories"] if "hinges" in row["content"]
    )
    page = own(f"/ui/memories/{taught['id']}")
    page.get_by_role("link", name="claude-code/door").click()
    page.get_by_role("heading", level=1, name="tidy the loading bay door").wait_for()


def test_of_a_pair_nothing_ends_by_a_key_of_the_queue_and_each_act_says_what_it_does(own, own_home):
    page = own("/ui/review?cause=contradiction")
    two = page.locator(".statement")
    expect(two).to_have_count(2)
    expect(two.first).to_contain_text("The older")
    expect(two.first).to_contain_text(PAIR[0])
    expect(two.last).to_contain_text(PAIR[1])
    assert page.get_by_role("button", name="Accept").count() == 0
    assert page.locator(".review-nav").get_by_role("checkbox").count() == 0
    for key in ("a", "r", "m", "e", "x", "Enter"):
        page.keyboard.press(key)
    page.wait_for_timeout(300)
    assert set(PAIR) <= set(contents(own_home))
    page.keyboard.press("b")
    page.get_by_text("Both are kept").first.wait_for()
    assert set(PAIR) <= set(contents(own_home))
    page.keyboard.press("u")
    expect(two).to_have_count(2)
    page.get_by_role("button", name="Replace the older").click()
    page.get_by_text(f"Replaced the older: {PAIR[0]}").first.wait_for()
    assert PAIR[0] not in contents(own_home)
    assert PAIR[1] in contents(own_home)


def test_a_purge_shows_what_it_would_remove_and_asks(own, own_home):
    page = own("/ui/data/remove")
    page.get_by_role("textbox", name="Words").fill("The launch is in May.")
    page.get_by_role("button", name="Show what it would remove").click()
    shown = page.get_by_role("region", name="What would be removed")
    shown.get_by_text("The launch is in May.").wait_for()
    shown.get_by_role("table", name="Where it stands").get_by_text("memories", exact=True).wait_for()
    shown.get_by_role("button", name="Purge 1 memory").click()
    page.get_by_role("dialog").get_by_text("This cannot be taken back.").wait_for()
    page.get_by_role("button", name="Cancel").click()
    page.get_by_role("dialog").wait_for(state="detached")
    assert "The launch is in May." in contents(own_home)

    shown.get_by_role("button", name="Purge 1 memory").click()
    page.get_by_role("dialog").get_by_role("button", name="Remove for good").click()
    page.get_by_text("Removed for good: 1 memory").first.wait_for()
    assert "The launch is in May." not in contents(own_home, "all")
    page.get_by_role("textbox", name="Words").fill("Nobody ever said this.")
    page.get_by_role("button", name="Show what it would remove").click()
    page.get_by_role("alert", name="Not found").wait_for()


def test_a_backup_is_written_and_restored_while_tacit_goes_on(own, own_home, tmp_path):
    page = own("/ui/data/backups")
    target = tmp_path / "copy.db"
    page.get_by_role("textbox", name="New file").fill(str(target))
    page.get_by_role("button", name="Back up", exact=True).click()
    page.get_by_text(f"Written to {target}.").wait_for()
    time.sleep(0.05)  # the file's time is before what follows
    own_home.api("/v1/memories", "POST", {"content": "Told after the backup.", "scope": "universal"})

    page.get_by_role("button", name=f"Restore {target}").click()
    replaced = page.get_by_role("dialog")
    replaced.get_by_text(f"{len(contents(own_home))} active memories").wait_for()
    replaced.get_by_text("1, which the backup does not hold").wait_for()
    replaced.get_by_text("sound").wait_for()
    replaced.get_by_role("button", name="Restore it").click()
    page.get_by_text(f"The store is now that of {target}.").wait_for()
    assert "Told after the backup." not in contents(own_home, "all")
    assert CENTS in contents(own_home)
    page.get_by_text("former store, moved aside").first.wait_for()
    page.get_by_role("link", name="Memories").click()
    page.locator("button.memory", has_text=CENTS).wait_for()  # still signed in


def test_the_comparison_with_and_without_memory_says_what_is_clear(own, axe_source):
    page = own("/ui/sessions/comparison")
    page.get_by_text("30 sessions with memory, 30 sessions without.").wait_for()
    row = page.get_by_role("row").filter(has_text="repeated failures")
    expect(row.get_by_role("cell")).to_have_text(
        ["1.00", "3.00", "−2.00", "−2.00 to −2.00", "yes: fewer with memory"]
    )
    expect(page.get_by_role("row").filter(has_text="turns").get_by_role("cell").last).to_have_text(
        "no: it may be chance"
    )
    looked = Looked()
    load_axe(page, axe_source)
    looked.look(page, "comparison", "main")
    assert looked == Looked()


def test_the_palette_reaches_pages_actions_and_memories_by_keyboard(own, own_home):
    page = own("/ui/memories")
    page.get_by_role("textbox", name="Search memories").focus()
    page.keyboard.press("Control+k")
    dialog = page.get_by_role("dialog", name="Find a page, an action or a memory")
    field = dialog.get_by_role("combobox", name="Find")
    expect(field).to_be_focused()
    page.keyboard.press("Tab")  # the focus stays inside
    assert page.evaluate("document.activeElement.closest('[role=dialog]') !== null")
    field.focus()
    page.keyboard.type("store back")
    expect(dialog.get_by_role("option").first).to_have_text("Back up or restore the store")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Backups").wait_for()

    page.keyboard.press("Control+k")
    expect(field).to_be_focused()
    page.keyboard.type("integer cents")
    found = dialog.get_by_role("option").filter(has_text=CENTS)
    found.wait_for()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowDown")
    assert field.get_attribute("aria-activedescendant") == dialog.locator(
        "[aria-selected=true]"
    ).get_attribute("id")
    while found.get_attribute("aria-selected") != "true":
        page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.get_by_role("region", name="Memory", exact=True).get_by_text(CENTS).first.wait_for()

    page.goto(f"{own_home.base}/ui/sessions")
    settle(page)
    page.keyboard.press("Control+k")
    expect(field).to_be_focused()
    page.keyboard.type("remember")
    page.keyboard.press("Enter")
    page.get_by_role("textbox", name="Statement").fill("The palette stores this.")
    page.get_by_role("dialog").get_by_role("button", name="Remember").click()
    page.get_by_text("Remembered").first.wait_for()
    assert "The palette stores this." in contents(own_home)
    page.keyboard.press("Control+k")
    expect(field).to_be_focused()
    page.keyboard.press("Escape")
    dialog.wait_for(state="detached")
