"""Review, undo, search and playground in a browser, where somebody else writes at the same time."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from e2e.web.seed import import_depots

pytestmark = pytest.mark.e2e
expect.set_options(timeout=60_000)
WAITING = 120


@pytest.fixture(scope="module")
def imported(web_home, tmp_path_factory):
    """Statements of another tool that wait for the user: more than one part of the queue."""
    queue = import_depots(web_home, tmp_path_factory.mktemp("import"), WAITING)
    assert queue["total"] >= WAITING
    return queue["groups"]["source"][0]["value"]


def waits(web_home, source: str) -> int:
    from urllib.parse import quote

    return web_home.api(f"/v1/review?limit=1&source={quote(source)}")["total"]


def test_an_undo_after_somebody_changed_the_same_memory_is_refused_in_words(go, web_home, imported):
    page = go("/ui/review?cause=import")
    page.keyboard.press("a")
    page.get_by_text("Accepted").first.wait_for()
    change = web_home.api("/v1/changes?limit=1")["changes"][0]
    web_home.api(f"/v1/memories/{change['memory']['id']}", "PATCH", {"importance": 0.33})
    page.get_by_role("button", name="Undo", exact=True).last.click()
    page.get_by_text("was changed again since").wait_for()
    assert web_home.api(f"/v1/memories/{change['memory']['id']}")["memory"]["importance"] == 0.33
    page.complaints[:] = [text for text in page.complaints if "409" not in text]


def test_some_are_chosen_and_decided_together(go, web_home, imported):
    total = waits(web_home, imported)
    page = go("/ui/review?cause=import")
    page.keyboard.press("x")
    page.keyboard.press("j")
    page.keyboard.press("x")
    page.get_by_role("button", name="Accept 2").click()
    page.get_by_text("Accepted: 2 statements").wait_for()
    expect(page.locator(".review-count")).to_have_text(f"{total - 2} statements")
    badge = page.locator("nav[aria-label=Pages] .count").first
    expect(badge).to_have_text(str(web_home.api("/v1/review?limit=1")["waiting"]))
