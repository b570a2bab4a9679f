"""Everyday jobs, each with the clicks, keys and typed texts that it takes at most; none of them loses a fact.

Others are in the files of their pages: correct a memory (`test_web_flows`), why nothing came and what is never used (`test_web_lists`), what an imported
session taught and what a model costs (`test_web_data`).
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from e2e.web.driver import COUNT_STEPS, Served, served, settle, signed_in
from e2e.web.seed import import_depots

pytestmark = pytest.mark.e2e
expect.set_options(timeout=60_000)
KETTLE = (
    "The kettle of the depot is descaled each Monday.",
    "Each Monday somebody descales the depot's old kettle.",
)
WAITING = 30


@pytest.fixture(scope="module")
def home(web_home, tmp_path_factory) -> Iterator[Served]:
    """A copy of the store that these tests may change."""
    copy = tmp_path_factory.mktemp("jobs") / "home"
    shutil.copytree(web_home.home.parent / "filled", copy)
    with served(copy) as place:
        for content in KETTLE:
            place.api("/v1/memories", "POST", {"content": content, "scope": "universal", "kind": "fact"})
        yield place


@pytest.fixture
def page(web_browser, home) -> Iterator[Page]:
    opened = signed_in(web_browser, home)
    yield opened
    complaints = opened.complaints  # type: ignore[attr-defined]
    opened.context.close()
    assert complaints == []


def begin(page: Page, place: Served, path: str) -> None:
    """Open a path, and count from there on."""
    page.goto(place.base + path)
    settle(page)
    page.evaluate(COUNT_STEPS)


def steps(page: Page) -> tuple[int, int, int]:
    """Clicks, keys and typed texts since `begin`."""
    made = page.evaluate("made")
    return made["clicks"], made["keys"], made["texts"]


def memories(place: Served, status: str = "active") -> dict[str, dict[str, Any]]:
    rows = place.api(f"/v1/memories?status={status}&limit=500")["memories"]
    return {row["content"]: row for row in rows}


def type_into(page: Page, name: str, text: str) -> None:
    """Type as a person does, into the field that is clicked."""
    page.get_by_role("textbox", name=name).click()
    page.keyboard.type(text)


def test_two_memories_are_merged_after_a_look_at_the_difference_and_taken_back(page, home):
    before = memories(home)
    begin(page, home, f"/ui/memories?text={KETTLE[0]}")
    page.locator("button.memory").filter(has_text=KETTLE[0]).click()
    page.get_by_role("button", name="Merge", exact=True).click()
    page.get_by_role("button", name="compare").filter(has_text=KETTLE[1]).click()
    page.locator(".drawer .difference").wait_for()
    page.get_by_role("button", name="Merge into this one").click()
    page.get_by_text("One statement now says it.").wait_for()
    assert steps(page) == (4, 0, 0)
    merged = memories(home)
    assert before.keys() - merged.keys() == {KETTLE[0]}
    assert merged[KETTLE[1]]["evidence"] == [KETTLE[0]], "the other words stay as evidence"
    page.keyboard.press("u")
    page.get_by_text("Taken back", exact=True).first.wait_for()
    assert memories(home).keys() == before.keys()


def test_what_a_search_finds_is_forgotten_and_taken_back(page, home):
    before = memories(home)
    begin(page, home, "/ui/memories")
    type_into(page, "Search memories", "descale kettle")
    rows = page.locator(".memory-row").filter(has_text="kettle")
    expect(rows).to_have_count(2)
    expect(page.locator(".memory-row").get_by_role("checkbox")).to_have_count(2)
    rows.first.get_by_role("checkbox").click()
    rows.last.get_by_role("checkbox").click(modifiers=["Shift"])
    page.get_by_role("button", name="Forget 2").click()
    page.get_by_text("Forgotten: 2 memories").wait_for()
    assert before.keys() - memories(home).keys() == set(KETTLE)
    page.locator(".mantine-Notification-root").get_by_role("button", name="Undo").click()
    page.get_by_text("Taken back", exact=True).first.wait_for()
    assert steps(page) == (5, 0, 1)
    assert memories(home).keys() == before.keys()


def test_thirty_that_wait_are_decided_with_thirty_keys(page, home, tmp_path):
    before = memories(home)
    assert import_depots(home, tmp_path, WAITING)["total"] == WAITING
    begin(page, home, "/ui/review?cause=import")
    count = page.locator(".review-count")
    for left in range(WAITING, 0, -1):
        expect(count).to_have_text(f"{left} statement{'' if left == 1 else 's'}")
        page.keyboard.press("a")
    page.get_by_role("heading", name="Nothing fits").wait_for()
    assert steps(page) == (0, WAITING, 0)
    after = memories(home)
    assert len(after) == len(before) + WAITING
    assert before.keys() <= after.keys()


def test_one_project_gets_another_value_and_follows_again(page, home):
    root = next(
        row["project"]["root"]
        for row in home.api("/v1/projects")["projects"]
        if row["project"]["name"] == "shop"
    )

    def budget(cwd: str = "") -> int:
        rows = home.api(f"/v1/settings?cwd={cwd}")["settings"]["settings"]
        return next(row["value"] for row in rows if row["key"] == "recall.budgets.prompt")

    begin(page, home, "/ui/settings")
    page.get_by_text("One project", exact=True).click()
    page.get_by_role("textbox", name="Project", exact=True).click()
    page.get_by_role("option", name="shop").click()
    page.get_by_text("Sessions in shop follow").wait_for()
    settle(page)
    setting = page.locator("li.setting", has_text="At most how many before a prompt?")
    number = setting.get_by_role("textbox")
    number.fill("300")
    number.press("Enter")
    setting.get_by_text("override").wait_for()
    clicks, keys, _ = steps(page)
    assert clicks <= 4, "a click on a name counts twice where it clicks its field"
    assert keys == 1
    assert (budget(root), budget()) == (300, 800)
    setting.get_by_role("button", name="Revert").click()
    setting.get_by_text("using default").wait_for()
    assert budget(root) == 800


def test_what_was_exported_holds_in_another_home_as_ones_own_words(page, home, web_browser, tmp_path):
    begin(page, home, "/ui/")
    page.get_by_role("link", name="Data", exact=True).click()
    page.get_by_role("tab", name="Export").click()
    with page.expect_download() as downloaded:
        page.get_by_role("button", name="Download the export").click()
    assert steps(page) == (3, 0, 0)
    path = Path(downloaded.value.path())
    with served(tmp_path / "other") as other:
        there = signed_in(web_browser, other)
        begin(there, other, "/ui/data/import")
        there.locator("input[type=file]").set_input_files(path)
        there.get_by_role("button", name="Show what it would do").click()
        there.get_by_role("button", name="They are my own words").click()
        there.get_by_role("button", name="They are my own words").wait_for(state="detached")
        there.get_by_role("button", name="Import ").click()
        there.get_by_role("heading", name="Imported").wait_for()
        assert steps(there) == (3, 0, 0)  # beside the choice of the file
        assert memories(other).keys() == memories(home).keys()
        there.context.close()


def test_the_history_of_a_memory_is_two_clicks_away(page, home):
    begin(page, home, "/ui/memories?text=release script")
    page.locator("button.memory").filter(has_text="The release script").click()
    page.get_by_role("tab", name="Versions").click()
    expect(page.locator("ol.versions li")).to_have_count(3)
    assert steps(page) == (2, 0, 0)


def test_a_memory_is_shared_through_the_repository_of_its_project(page, home):
    lint = "Run `make lint` before every commit."
    begin(page, home, "/ui/memories?text=make lint")
    page.locator("button.memory").filter(has_text=lint).click()
    page.get_by_role("button", name="Share", exact=True).click()
    type_into(page, "Your name", "Robin")
    page.get_by_role("button", name="Write the file").click()
    page.get_by_text("Commit it and open a pull request").wait_for()
    assert steps(page) == (4, 0, 1)
    root = Path(home.api("/v1/projects")["projects"][0]["project"]["root"]).parent / "shop"
    (written,) = (root / ".tacit" / "team").rglob("*.md")
    try:
        assert lint in written.read_text()
        assert lint in memories(home)
    finally:
        shutil.rmtree(root / ".tacit")
