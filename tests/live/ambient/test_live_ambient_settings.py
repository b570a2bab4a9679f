"""The settings of `ambient` under the names of its design, for one agent, and in the page."""

from __future__ import annotations

import json
import re
from itertools import count

import pytest

from e2e.drivers.machine import Machine, wait_for
from e2e.web.driver import Served, browser, chromium, settle, signed_in
from live.ambient.office import ASKED, GOAL
from presets.acceptance import acceptance
from tacit.daemon.page.files import is_built

DESIGN = {
    "enabled": (True, "recall.enabled"),
    "search_limit": (20, "recall.candidates_per_space"),
    "contextual_min_score": (0.7, "recall.ambient.ratio"),
    "context_window_depth": (10, "recall.reinject_after"),
    "ambient_enabled": (True, "recall.ambient.enabled"),
    "pinned_types": (["goal"], "recall.ambient.pinned_kinds"),
    "pinned_limit": (2, "recall.ambient.pinned_limit"),
    "pinned_sort": ("recent", "recall.ambient.pinned_sort"),
    "max_total": (2, "recall.max_items"),
    "max_injected_blocks_in_history": (1, "recall.history_blocks"),
}
"""Every key of the design's section, a value, and the setting that it is here."""


GOALS = (GOAL, "Open the shop in Poland before summer", "Halve the time that the nightly build takes")


def ask_as(machine: Machine, agent: str, text: str, message: str) -> str:
    """What a prompt to one agent of OpenCode gets."""
    payload = {
        "event": "prompt", "id": f"{agent}-{message}", "sessionID": f"{agent}-{message}", "agent": agent,
        "directory": str(machine.project), "messageID": message, "text": text,
    }  # fmt: skip
    return machine.hook(json.dumps(payload).encode(), "opencode").decode()


@acceptance(
    "ambient",
    "NAMES",
    "D-api",
    "CFG-enabled",
    "CFG-pinned",
    "CFG-sort",
    "CFG-total",
    "S9-budget",
    "BUDGET-pinned",
)
def test_every_key_of_the_design_holds_under_its_own_name(live):
    section = {name: value for name, (value, _) in DESIGN.items()}
    machine = live(json.dumps({"preset": "ambient", "memory_injection": section}))
    for memory, _ in ASKED:
        machine.remember(memory, kind="fact", when="")
    for goal in GOALS:
        machine.remember(goal, kind="goal", when="")
    for name, (value, key) in DESIGN.items():
        told = machine.ask("config", "get", "--why", f"memory_injection.{name}")
        assert (told["key"], told["layer"], told["value"]) == (key, "user", value)
    given = ask_as(machine, "build", ASKED[0][1], "m1")
    assert [goal for goal in GOALS if goal in given] == list(GOALS[1:]), "two of a kind, the newest"
    assert ASKED[0][0] not in given, "pinned memories take the two places first"
    machine.tacit("config", "set", "memory_injection.max_total", "3")
    new = count(2)  # the daemon follows the file within a second
    wait_for(lambda: ASKED[0][0] in ask_as(machine, "build", ASKED[0][1], f"m{next(new)}"))
    machine.tacit("config", "set", "memory_injection.enabled", "false")
    wait_for(lambda: ask_as(machine, "build", ASKED[0][1], f"m{next(new)}") == "")
    machine.tacit("config", "reset", "memory_injection.max_total")
    plan = machine.request("PATCH", "/v1/agents/plan", {"memory_injection": {"max_total": 7}})["agent"]
    assert (plan["memory_injection"]["max_items"], plan["memory_injection_overridden"]) == (7, True)
    plan = machine.request("PATCH", "/v1/agents/plan", {"reset_memory_injection_override": True})["agent"]
    assert (plan["memory_injection"]["max_items"], plan["memory_injection_overridden"]) == (25, False)
    assert machine.ask("config", "get", "--why", "recall.max_items")["value"] == 25


@acceptance("ambient", "D-page", "CFG-ranges", "B-agent", "B-reload", "C-overridden", "C-reset")
def test_the_page_groups_them_and_lets_a_whole_agent_follow_again(live):
    if not (is_built() and chromium()):
        pytest.skip("needs the page and Chromium: scripts/build_page.sh, scripts/install_browser.sh")
    machine = live("preset: ambient")
    machine.remember(GOAL, kind="goal", when="")
    served = Served(
        home=machine.home.root, port=int(machine.ask("ui", "--port", "0")["url"].split(":")[2].split("/")[0])
    )
    own = {"ambient_enabled": True, "pinned_types": ["goal"], "pinned_limit": 2}
    machine.request("PATCH", "/v1/agents/plan", {"memory_injection": own})
    assert GOAL in ask_as(machine, "plan", "hello there", "m1")
    assert GOAL not in ask_as(machine, "build", "hello there", "m1")
    with browser() as opened:
        page = signed_in(opened, served)
        page.goto(f"{served.base}/ui/settings?of=agents&name=plan")
        settle(page)
        groups = {
            "Contextual search": {
                "recall.candidates_per_space": "1 to 100",
                "recall.ambient.ratio": "0 to 1",
            },
            "Deduplication": {
                "recall.reinject_after": "0 to 200",
                "recall.history_blocks": "0 to 10",
            },
            "Ambient awareness": {"recall.ambient.enabled": "", "recall.ambient.pinned_limit": "1 to 20"},
        }
        for title, ranges in groups.items():
            group = page.get_by_role("region", name=title, exact=True)
            for key, words in ranges.items():
                row = group.locator("li.setting", has=page.get_by_role("button", name=f"Why {key} has"))
                assert re.search(rf"{words}(?!\d)", row.inner_text())
        pinned = page.get_by_role("region", name="Ambient awareness", exact=True).locator(
            "li.setting", has=page.get_by_role("button", name="Why recall.ambient.pinned_kinds has")
        )
        assert page.get_by_text("Experimental", exact=True).count() == 1
        assert "override" in pinned.inner_text()
        assert "Pin few kinds" in pinned.inner_text()
        page.get_by_role("button", name="Revert 3 overrides").click()
        wait_for(lambda: machine.request("GET", "/v1/agents?name=plan")["agents"][0]["overridden"] == [])
        pinned.get_by_text("using default").wait_for()
        page.context.close()
    assert GOAL not in ask_as(machine, "plan", "hello there", "m2")
