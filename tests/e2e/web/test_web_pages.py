"""Every page in a real browser: it draws, in both themes, on a phone too, and whoever cannot see it can use it."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from playwright.sync_api import expect

from e2e.web.driver import NARROW, PAGES, Looked, load_axe, settle, signed_in
from e2e.web.stops import close_all, stops

pytestmark = pytest.mark.e2e
expect.set_options(timeout=60_000)


@dataclass(slots=True)
class Survey:
    """What was found on a walk over all stops."""

    looked: Looked = field(default_factory=Looked)
    asked: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)


@pytest.fixture(scope="module")
def survey(web_browser, web_home, axe_source) -> Survey:
    """One walk for all questions about every stop, without loading the page anew."""
    found = Survey()
    page = signed_in(web_browser, web_home)
    page.on("request", lambda request: found.asked.append(request.url))
    page.reload()
    settle(page)
    load_axe(page, axe_source)
    for stop in stops(web_home):
        stop.show(page)
        found.looked.look(page, stop.name, stop.inside)
        close_all(page)
    page.set_viewport_size(NARROW)
    page.get_by_role("button", name="Navigation").click()
    page.get_by_role("dialog").wait_for()
    found.looked.look(page, "navigation", "[role=dialog]")
    found.complaints = page.complaints  # type: ignore[attr-defined]
    page.context.close()
    return found


def test_axe_finds_nothing_in_light(survey):
    assert survey.looked.light == {}


def test_axe_finds_nothing_about_colors_in_dark(survey):
    assert survey.looked.dark == {}


def test_nothing_scrolls_sideways(survey):
    assert survey.looked.sideways == {}


def test_nothing_is_loaded_from_elsewhere(survey, web_home):
    assert len(survey.asked) > len(PAGES)
    assert [url for url in survey.asked if not url.startswith((web_home.base, "data:"))] == []


def test_the_browser_has_nothing_to_complain_about(survey):
    assert survey.complaints == []


def test_a_phone_gets_its_navigation_in_a_drawer(narrow_page):
    narrow_page.get_by_role("button", name="Navigation").click()
    narrow_page.get_by_role("link", name="Data", exact=True).click()
    narrow_page.get_by_role("heading", name="Data", exact=True).wait_for()


def test_the_keyboard_reaches_everything(go):
    page = go("/ui/")
    page.keyboard.press("Tab")
    expect(page.locator(".skip")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#main")).to_be_focused()
    for key, heading in (
        ("m", "Memories"),
        ("r", "Review"),
        ("e", "Settings"),
        ("h", "Home"),
        ("t", "Traces"),
    ):
        page.keyboard.press("g")
        page.keyboard.press(key)
        page.get_by_role("heading", level=1, name=heading).wait_for()
    page.wait_for_selector("a.recall")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.get_by_text("What was looked at").wait_for()
    page.keyboard.press("?")
    page.get_by_role("dialog").get_by_text("to the search field").wait_for()


def test_a_link_lets_in_once_and_leaves_no_secret_behind(web_browser, web_home):
    link = web_home.printed_link()
    token = web_home.token()
    context = web_browser.new_context()
    page = context.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url + str(request.headers)))
    page.goto(link)
    page.get_by_role("heading", level=1, name="Home").wait_for()
    code = link.partition("code=")[2]
    assert code not in page.url
    assert all(code not in one for one in asked)
    assert all(token not in one for one in asked)
    kept = page.evaluate("JSON.stringify([localStorage, sessionStorage, document.cookie])")
    assert token not in kept
    assert "tacit_page" not in kept  # scripts cannot read the cookie
    context.close()
    other = web_browser.new_context()
    page = other.new_page()
    page.goto(link)
    page.get_by_role("heading", name="Sign in from your terminal").wait_for()
    other.close()
