"""Review, undo, search and playground in a browser, where somebody else writes at the same time."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import expect

from e2e.drivers.machine import wait_for
from e2e.web.driver import settle
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


def test_u_takes_back_what_this_page_did_and_nobody_elses_write(go, web_home, imported):
    page = go("/ui/review?cause=import")
    before = waits(web_home, imported)
    statement = page.locator(".statement p").first.inner_text()
    page.keyboard.press("a")
    page.get_by_text("Accepted").first.wait_for()
    expect(page.locator(".statement p").first).not_to_have_text(statement)
    other = web_home.api(
        "/v1/remember", "POST", {"content": "The night shift counts parcels.", "scope": "universal"}
    )
    theirs = other["changes"][0]["memory"]["id"]
    status = web_home.api(f"/v1/memories/{theirs}")["memory"]["status"]
    page.keyboard.press("u")
    page.get_by_text("Taken back", exact=True).first.wait_for()
    assert waits(web_home, imported) == before
    assert web_home.api(f"/v1/memories/{theirs}")["memory"]["status"] == status
    page.keyboard.press("u")
    page.get_by_text("Nothing to take back").wait_for()
    assert web_home.api(f"/v1/memories/{theirs}")["memory"]["status"] == status


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


def test_all_that_fit_are_decided_in_one_step_and_taken_back_as_one(go, web_home, imported):
    total = waits(web_home, imported)
    page = go("/ui/review?cause=import")
    expect(page.locator(".review-count")).to_have_text(f"{total} statements")
    page.get_by_label(f"Choose all {total} that fit").click()
    page.get_by_role("button", name=f"Reject {total}").click()
    page.get_by_text(f"Rejected: {total} statements").wait_for()
    page.get_by_text("Nothing fits").or_(page.get_by_text("Nothing waits for you")).wait_for()
    assert waits(web_home, imported) == 0
    page.locator(".mantine-Notification-root").get_by_role("button", name="Undo").last.click()
    expect(page.locator(".review-count")).to_have_text(f"{total} statements")
    assert waits(web_home, imported) == total


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


def test_on_a_phone_the_decision_is_in_sight_at_once(narrow_page, web_home, imported):
    narrow_page.goto(f"{web_home.base}/ui/review?cause=import")
    settle(narrow_page)
    height = narrow_page.viewport_size["height"]
    for name in ("Accept", "Reject"):
        box = narrow_page.locator(".review-keys").get_by_role("button", name=name).first.bounding_box()
        assert box["y"] + box["height"] <= height, name


def test_the_search_stays_in_the_address(go, web_home):
    page = go("/ui/memories")
    page.get_by_role("textbox", name="Search memories").fill("staging tests lod")
    page.locator("button.memory").filter(has_text="Load tests run").first.wait_for()
    page.wait_for_url("**text=staging*")
    page.reload()
    settle(page)
    expect(page.get_by_role("textbox", name="Search memories")).to_have_value("staging tests lod")
    page.locator("button.memory").filter(has_text="Load tests run").first.wait_for()


def test_a_recall_of_a_hook_is_tried_in_the_playground_with_its_situation(go, web_home):
    folder = web_home.api("/v1/projects")["projects"][0]["project"]["root"]
    offer = "All tests pass. Want me to commit and push this?"
    common = {"session": "playground-e2e", "cwd": folder}
    web_home.hook(json.dumps({"event": "message_end", "text": offer, **common}))
    web_home.hook(json.dumps({"event": "prompt", "text": "yup", **common}))
    asked = "/v1/traces?session=plain/playground-e2e&surface=prompt&limit=1"
    wait_for(lambda: web_home.api(asked)["traces"])  # a trace is stored when the hook has been answered
    trace = web_home.api(asked)["traces"][0]
    page = go(f"/ui/traces/{trace['id']}")
    page.get_by_role("link", name="Try in the playground").click()
    expect(page.get_by_role("textbox", name="What the agent said before")).to_have_value(offer)
    page.get_by_role("button", name="Ask").click()
    page.locator(".playground-answer").wait_for()
    settle(page)
    expect(page.locator('.lane[data-fate="injected"]')).to_have_count(len(trace["injected"]))
