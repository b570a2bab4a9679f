"""The page tells what a session taught, and what the language model that writes sessions up has cost; decisions end in the store."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path

import pytest
from playwright.sync_api import expect

from agent import send
from e2e.web.driver import Served, browser, chromium, served, settle, signed_in
from tacit.app.delivery_texts import EVERY, NUDGE
from tacit.app.wiring import open_engine
from tacit.daemon.page.files import is_built
from tacit.model.memory import Speaker
from transcripts import exchange, write_transcript

pytestmark = pytest.mark.e2e
expect.set_options(timeout=60_000)
CONFIG = """embedder:
  provider: fake
capture:
  extractor:
    provider: fake
    least_chars: 0
recall:
  tell_memory_add: "on"
"""
TEACHES = (
    "We agreed with the platform team that invoices over ten thousand need a second approval, so the exporter splits them.\n"
    "Worth knowing: The exporter splits invoices over ten thousand for the second approval."
)
RULE = "Always run ruff before every commit."
WAITS = "The gateway is restarted with `make gateway`."
WRONG = "The exporter is owned by nobody."
PHRASE = "before a release is tagged"


def fill(home: Path) -> None:
    """One session that taught something: stated, written up, and stored by the agent."""
    home.mkdir(mode=0o700)
    (home / "config.yaml").write_text(CONFIG)
    project = home.parent / "shop"
    project.mkdir()
    engine = open_engine(home)

    tell = partial(send, engine, project)
    said = exchange(RULE, "Done.", TEACHES, "The exporter does that now.")
    path = write_transcript(home.parent / "s1.jsonl", *said, cwd=project)
    tell("UserPromptSubmit", prompt=RULE, transcript_path=str(path))
    tell("UserPromptSubmit", prompt=TEACHES, transcript_path=str(path))
    for number in range(EVERY - 1):
        tell("UserPromptSubmit", prompt=f"What is in file {number}?", transcript_path=str(path))
    engine.remember("Commits name a ticket.", when=["commit", PHRASE], cwd=str(project))
    assert NUDGE in tell("UserPromptSubmit", prompt="Do commits name a ticket?", transcript_path=str(path))
    for text in (WAITS, WRONG):
        engine.remember(text, cwd=str(project), speaker=Speaker.AGENT, source="mcp")
    tell("SessionEnd", reason="other", transcript_path=str(path))
    engine.learning.capture_pending()
    until = time.monotonic() + 60
    while not _found(engine).requests and time.monotonic() < until:
        time.sleep(0.05)
    engine.close()


def _found(engine):
    return engine.admin.learned.of_session("s1", visibility=engine.visibility(Speaker.USER))


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    if not is_built():
        pytest.skip("the page is not built: bash scripts/build_page.sh")
    if not chromium():
        pytest.skip("no Chromium here: bash scripts/install_browser.sh")
    home = tmp_path_factory.mktemp("learned") / "home"
    fill(home)
    with served(home) as running:
        yield running


@pytest.fixture
def page(place):
    with browser() as opened:
        made = signed_in(opened, place)
        yield made
        assert made.complaints == []


def statements(place: Served) -> dict[str, dict]:
    found = place.api("/v1/digests?session=claude-code/s1&learned=true")["learned"]["statements"]
    return {one["memory"]["content"]: one for one in found}


def test_what_a_session_taught_is_accepted_edited_and_dropped_on_its_page(page, place):
    page.goto(f"{place.base}/ui/sessions/claude-code/s1")
    settle(page)
    panel = page.get_by_role("region", name="What this session taught")
    expect(panel).to_contain_text("your word")
    first = page.get_by_role("region", name="Turn 1", exact=True)
    expect(first.locator(".noted")).to_contain_text(RULE.rstrip("."))
    first.locator("a.recall").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Learned, and nothing given")
    expect(page.get_by_role("region", name="Learned from it")).to_contain_text(RULE.rstrip("."))
    page.go_back()
    expect(panel).to_contain_text("written down by fake-writer@1")
    # A command that the user never typed waits; any other note of the agent counts as its own.
    expect(panel).to_contain_text("1 of them waits for you")
    assert (statements(place)[WAITS]["memory"]["status"], statements(place)[WRONG]["memory"]["status"]) == (
        "quarantined",
        "active",
    )
    expect(panel).to_contain_text("the agent was reminded to note things in turn 7")
    expect(panel).to_contain_text("1 kept")

    def one(text: str):
        return panel.get_by_role("article").filter(has_text=text)

    one("make gateway").get_by_role("button", name="Accept").click()
    page.get_by_text("Accepted:").first.wait_for()
    expect(panel).not_to_contain_text("waits for you")
    assert statements(place)[WAITS]["memory"]["status"] == "active"
    one("owned by nobody").get_by_role("button", name="Drop").click()
    page.get_by_text("Dropped:").first.wait_for()
    assert statements(place)[WRONG]["memory"]["status"] == "retired"
    one("ruff").get_by_role("button", name="Edit").click()
    better = "Always run ruff and mypy before every commit."
    panel.get_by_role("textbox", name="Better words").fill(better)
    panel.get_by_role("button", name="Save").click()
    page.get_by_text("Saved:").first.wait_for()
    expect(panel).to_contain_text(better)
    assert statements(place)[better]["fate"] == "new"


def test_an_imported_session_shows_what_it_taught_turn_by_turn(page, place):
    said = exchange(
        "Look at the importer.",
        "It reads depots.",
        "From now on always write depots in lower case.",
        "I will.",
    )
    path = write_transcript(
        place.home.parent / "s2.jsonl", *said, cwd=place.home.parent / "shop", session="s2"
    )
    place.api("/v1/transcripts", "POST", {"paths": [str(path)], "named": True})
    page.goto(f"{place.base}/ui/sessions")
    page.locator("a.session", has_text="Look at the importer.").click()
    turn = page.get_by_role("region", name="Turn 2", exact=True)
    expect(turn.locator(".noted")).to_contain_text("depots in lower case")
    expect(turn).not_to_contain_text("nothing given")  # what it was given is not known
