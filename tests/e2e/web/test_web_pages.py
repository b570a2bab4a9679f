"""Every page in a real browser: it draws, in both themes, on a phone too, and whoever cannot see it can use it."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from playwright.sync_api import expect

from e2e.web.driver import NARROW, PAGES, TABLET, WIDE, serious_findings, settle, signed_in, visit

DATA = ("export", "import", "remove", "backups", "comparison", "digests")
pytestmark = pytest.mark.e2e
expect.set_options(timeout=60_000)


def paths_of(served) -> dict[str, str]:
    """All pages, and one each of what they lead to."""
    traces = served.api("/v1/timeline?outcome=injected&surface=prompt&limit=1")["recalls"]
    silent = served.api("/v1/timeline?outcome=silent&limit=1")["recalls"]
    memory = served.api("/v1/memories?limit=1")["memories"][0]["id"]
    host, _, session = traces[0]["session"].partition("/")
    return {
        **PAGES,
        **{part: f"/ui/data/{part}" for part in DATA},
        "trace": f"/ui/traces/{traces[0]['id']}",
        "silence": f"/ui/traces/{silent[0]['id']}",
        "memory": f"/ui/memories/{memory}",
        "session": f"/ui/sessions/{host}/{session}",
        "nowhere": "/ui/nowhere",
    }


@dataclass(slots=True)
class Survey:
    """What was found on a walk over all pages."""

    light: dict[str, list[str]] = field(default_factory=dict)
    dark: dict[str, list[str]] = field(default_factory=dict)
    sideways: dict[str, int] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)


@pytest.fixture(scope="module")
def survey(web_browser, web_home, axe_source) -> Survey:
    """One walk for all questions about every page: each stop costs a second."""
    found = Survey()
    page = signed_in(web_browser, web_home)
    page.on("request", lambda request: found.asked.append(request.url))
    page.reload()
    settle(page)
    page.evaluate(axe_source)
    for name, path in paths_of(web_home).items():
        page.set_viewport_size(WIDE)
        visit(page, path)
        for size in (WIDE, TABLET, NARROW):
            page.set_viewport_size(size)
            page.emulate_media(color_scheme="light")
            settle(page)
            place = f"{name} at {size['width']}"
            if serious := serious_findings(page):
                found.light[place] = serious
            page.emulate_media(color_scheme="dark")
            # What is said and how it is reached does not depend on colors.
            if serious := serious_findings(
                page, "{ resultTypes: ['violations'], runOnly: ['color-contrast'] }"
            ):
                found.dark[place] = serious
            if (width := page.evaluate("document.documentElement.scrollWidth")) > size["width"]:
                found.sideways[place] = width
    found.complaints = page.complaints
    page.context.close()
    return found


def test_no_page_has_a_serious_finding_of_axe_in_light(survey):
    assert survey.light == {}


def test_no_page_has_too_little_contrast_in_dark(survey):
    assert survey.dark == {}


def test_no_page_scrolls_sideways(survey):
    assert survey.sideways == {}


def test_nothing_is_loaded_from_elsewhere(survey, web_home):
    assert len(survey.asked) > len(PAGES)
    assert [url for url in survey.asked if not url.startswith((web_home.base, "data:"))] == []


def test_the_browser_has_nothing_to_complain_about(survey):
    assert survey.complaints == []


def test_a_phone_gets_its_navigation_in_a_drawer(narrow_page):
    narrow_page.get_by_role("button", name="Navigation").click()
    narrow_page.get_by_role("link", name="Health").click()
    narrow_page.get_by_role("heading", name="Health", exact=True).wait_for()


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
        ("p", "Playground"),
        ("t", "Traces"),
    ):
        page.keyboard.press("g")
        page.keyboard.press(key)
        page.get_by_role("heading", level=1, name=heading).wait_for()
    page.wait_for_selector("a.recall")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.get_by_text("Ten stages, every candidate").wait_for()
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
    page.get_by_role("heading", level=1, name="Overview").wait_for()
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
