"""The page of the HTTP API shows every operation that the daemon serves, from the daemon alone."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tacit.api.agent_events import AGENT_ENDPOINTS
from tacit.api.endpoints import ENDPOINTS

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(240)]
COUNT = len(ENDPOINTS) + len(AGENT_ENDPOINTS)


def test_every_operation_is_there_and_found_by_its_words(go, web_home):
    asked: list[str] = []
    page = go("/ui/")
    page.get_by_text("How it runs").click()
    page.on("request", lambda request: asked.append(request.url))
    page.get_by_role("link", name="HTTP API").click()
    page.get_by_role("heading", level=1, name="HTTP API").wait_for()
    expect(page.locator(".operation")).to_have_count(COUNT)
    expect(page.get_by_role("status").filter(has_text=f"{COUNT} operations")).to_be_visible()
    page.get_by_label("Find an operation").fill("undo change whole")
    expect(page.locator(".operation")).to_have_count(1)
    assert [url for url in asked if not url.startswith(web_home.base)] == []


def test_an_operation_shows_its_fields_an_example_and_its_statuses(go):
    page = go("/ui/api#remember")
    operation = page.locator("#remember")
    expect(operation).to_have_attribute("open", "")
    expect(operation.get_by_label("Request")).to_contain_text(
        "curl --unix-socket ~/.tacit/run/daemon.sock -X POST"
    )
    expect(operation.get_by_label("Request")).to_contain_text(
        '"content":"Run `make lint` before every commit."'
    )
    expect(operation.get_by_label("Answer", exact=True)).to_contain_text('"change_id": "chg_')
    expect(operation.locator("tr").filter(has_text="user_words")).to_contain_text("verbatim from one prompt")
    expect(operation.locator(".statuses")).to_contain_text("holds a secret")
    expect(operation.locator(".statuses > div").filter(has_text="413")).to_have_count(1)
