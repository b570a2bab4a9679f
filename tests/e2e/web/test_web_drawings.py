"""The graph and the charts in a browser: what is drawn, and what is said beside it."""

from __future__ import annotations

import json
import re
from collections import Counter
from itertools import pairwise

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


def test_the_whole_graph_hides_what_is_alone_and_filters_relations(go, web_home):
    whole = web_home.api("/v1/graph?limit=1000")["graph"]
    related = {end for edge in whole["edges"] for end in (edge["source"], edge["target"])}
    alone = len(whole["nodes"]) - len(related)
    assert alone > 0
    page = go("/ui/graph?show=all")
    page.locator(".graph-canvas").wait_for()
    assert drawn(page).startswith(f"{len(related)} memories")
    page.get_by_text(f"{alone} without a relation left out").wait_for()
    page.get_by_role("switch", name="Those without a relation, too").click(force=True)
    expect(page.locator(".graph-canvas")).to_have_attribute("aria-label", saying(len(whole["nodes"])))
    parts = [edge for edge in whole["edges"] if edge["type"] == "part_of"]
    page.get_by_role("textbox", name="Relations").click()
    page.get_by_role("option", name="part of").click()
    ends = {end for edge in parts for end in (edge["source"], edge["target"])}
    expect(page.locator(".graph-canvas")).to_have_attribute("aria-label", saying(len(ends), len(parts)))
    page.go_back()


def saying(nodes: int, edges: int | None = None):
    return re.compile(f"^{nodes} memories and {'' if edges is None else f'{edges} relations'}")


def test_the_axes_of_the_charts_have_round_steps(go):
    page = go("/ui/")
    page.locator(".recharts-yAxis-tick-labels text").first.wait_for(state="attached")
    for axis in page.locator(".recharts-yAxis-tick-labels").all():
        labels = axis.locator("text").all_text_contents()
        values = [float(label.split()[0].replace(",", "")) for label in labels]
        steps = {round(above - below, 6) for below, above in pairwise(values)}
        assert len(values) >= 2, labels
        assert values[0] == 0
        assert len(steps) == 1, labels
        digit = str(int(steps.pop()))[0]
        assert digit in "125", labels


def test_the_charts_say_which_settings_changed_and_what_was_imported(go, web_home, tmp_path):
    page = go("/ui/")
    path = tmp_path / "mem0.json"
    rows = [
        {"id": f"c{n}", "memory": f"Gate {n} of the yard is painted {c}.", "user_id": "a"}
        for n, c in enumerate(("red", "blue"))
    ]
    path.write_text(json.dumps({"results": rows}))
    assert web_home.run("import", str(path)).returncode == 0
    assert web_home.run("config", "set", "recall.level", "eager").returncode == 0
    try:
        page.reload()
        settle(page)
        changed = page.get_by_role("list", name="What changed")
        expect(changed).to_contain_text("2 memories imported from mem0")
        expect(changed).to_contain_text(re.compile(r"recall\.level[^;]* changed"))
        expect(page.locator(".recharts-reference-line").first).to_be_attached()
    finally:
        web_home.run("config", "reset", "recall.level")
        waiting = [one["memory"]["id"] for one in web_home.api("/v1/review?text=Gate%20yard")["review"]]
        web_home.api("/v1/review", "POST", {"action": "reject", "ids": waiting})
