"""The graph and the charts in a browser: what is drawn, and what is said beside it."""

from __future__ import annotations

from collections import Counter

import pytest
from playwright.sync_api import expect

from e2e.web.driver import settle

pytestmark = pytest.mark.e2e
expect.set_options(timeout=60_000)


def drawn(page) -> str:
    """How many memories and relations the picture has, in its own words."""
    return page.locator(".graph-canvas").get_attribute("aria-label")


def test_the_graph_begins_with_the_neighborhood_of_one_memory(go, web_home):
    whole = web_home.api("/v1/graph?limit=1000")["graph"]
    degrees = Counter(end for edge in whole["edges"] for end in (edge["source"], edge["target"]))
    most = max(degrees.values())
    page = go("/ui/graph")
    page.locator(".graph-canvas").wait_for()
    field = page.get_by_role("textbox", name="Around this memory")
    words = field.input_value().removesuffix("...")
    centre = next(node["id"] for node in whole["nodes"] if node["label"].startswith(words))
    assert degrees[centre] == most
    near = web_home.api(f"/v1/graph?around={centre}")["graph"]
    assert most < len(near["nodes"]) < len(whole["nodes"])
    assert drawn(page).startswith(f"{len(near['nodes'])} memories and {len(near['edges'])} relations")
    legend = page.get_by_role("list", name="Colors")
    legend.get_by_text("ages slowly").wait_for()
    legend.get_by_text("related to").wait_for()

    page.locator(".graph-near button").first.click()
    page.get_by_role("button", name="what is around it").click()
    page.wait_for_url("**around=mem_*")
    settle(page)
    expect(field).not_to_have_value(words)
