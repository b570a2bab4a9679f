"""Nine hundred statements of another tool wait; somebody decides on all of them at the page, in a real browser.

In: a file of mem0, imported with the command line. The page is used with the mouse and the keyboard alone: a search and a filter make
groups, a few statements are chosen one by one, and the rest is accepted. Out: the number that the page shows at first, the seconds from
opening the queue until nothing waits, clicks and keys, and whether the store then holds what was decided. The time is that of the page
and the store: the browser reads nothing.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tacit_evals.goals.goal import Goal
from tacit_evals.goals.home import Place, place

WAITING = 900
MOST_S = 120.0
SINGLE = 5
_TOPICS = (
    "Cellar {n} is aired on day {day} by team {team}.",
    "The customer of order {n} wants the invoice on paper, folded {day} times.",
    "Prefers the report of branch {n} in a table with {team} columns.",
    "Lorry {n} is washed at gate {team} after trip {day}.",
)
_FLAGS = ("--disable-gpu-compositing", "--use-angle=swiftshader", "--disable-dev-shm-usage")


@dataclass(slots=True)
class Hand:
    """Somebody at the page, who counts what they press."""

    page: Any
    clicks: int = 0
    keys: int = 0

    def click(self, target: Any) -> None:
        target.click()
        self.clicks += 1

    def type(self, target: Any, words: str) -> None:
        """Click into a field and write."""
        self.click(target)
        target.press_sequentially(words)
        self.keys += len(words)

    def clear(self, target: Any) -> None:
        """Select everything in a field and delete it."""
        self.click(target)
        target.press("ControlOrMeta+a")
        target.press("Delete")
        self.keys += 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """What somebody at the page saw and did, and what the store holds then.

    Attributes:
        badge, head: the number in the navigation and above the queue, before the first decision.
        took_s: from opening the queue until the page says that nothing waits.
        clicks, keys: what was pressed in this time.
        waiting: what waits in the store at the end.
        wanted: how many were to be accepted and refused.
        stored: how many are active and retired.
    """

    badge: str
    head: str
    took_s: float
    clicks: int
    keys: int
    waiting: int
    wanted: tuple[int, int]
    stored: tuple[int, int]


def goal_of(decided: Decided) -> Goal:
    """The goal: true counts, everything decided as wanted, in time."""
    faults: list[str] = []
    if decided.badge != str(WAITING) or decided.head != f"{WAITING} statements":
        faults.append(f"the page shows {decided.badge!r} and {decided.head!r} for {WAITING}")
    if decided.waiting:
        faults.append(f"{decided.waiting} still wait")
    if decided.stored != decided.wanted:
        faults.append(f"accepted and refused are {decided.stored}, not {decided.wanted}")
    if decided.took_s >= MOST_S:
        faults.append(f"it took {decided.took_s:.0f} s")
    accepted, refused = decided.stored
    return Goal(
        name=f"{WAITING} waiting statements: true count; decided",
        figure=f"page shows {decided.head} (navigation {decided.badge}); {accepted} accepted and {refused} refused in {decided.took_s:.0f} s,"
        f" {decided.clicks} clicks, {decided.keys} keys",
        target=f"{WAITING}; < {MOST_S / 60:.0f} min",
        reached=not faults,
        shown_by=("python -m tacit_evals.goals review",),
        faults=tuple(faults),
    )


@contextmanager
def _browser() -> Generator[Any]:
    from playwright.sync_api import sync_playwright

    names = ("chromium", "chromium-browser", "google-chrome")
    program = next((path for name in names if (path := shutil.which(name))), None)
    if program is None:
        raise SystemExit("There is no Chromium here: bash scripts/install_browser.sh")
    flags = [*_FLAGS, *(["--no-sandbox"] if os.geteuid() == 0 else [])]
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=program, args=flags)
        try:
            yield opened
        finally:
            opened.close()


def _imported(here: Place) -> None:
    rows = [
        {
            "id": f"m{n}",
            "memory": _TOPICS[n % len(_TOPICS)].format(n=n, day=n % 7 + 2, team=n % 11 + 3),
            "user_id": "a",
        }
        for n in range(WAITING)
    ]
    file = here.work / "mem0.json"
    file.write_text(json.dumps({"results": rows}), "utf-8")
    here.tacit("import", str(file))


def _decide(here: Place, page: Any) -> Decided:
    each = WAITING // len(_TOPICS)
    rest = WAITING - 2 * each
    count = page.locator(".review-count")
    navigation = page.locator("nav[aria-label=Pages]")
    badge = navigation.locator(".count").first
    badge.wait_for()
    hand, began = Hand(page), time.monotonic()
    shown = badge.inner_text()
    hand.click(navigation.get_by_role("link", name="Review"))
    count.wait_for()
    head = count.inner_text()
    search = page.get_by_role("textbox", name="Search the queue")

    hand.type(search, "cellar aired")
    hand.click(page.get_by_label(f"Choose all {each} that fit"))
    hand.click(page.get_by_role("button", name=f"Reject {each}"))
    page.get_by_text(f"Rejected: {each} statements").wait_for()

    hand.clear(search)
    hand.type(search, "columns table report")
    hand.click(page.get_by_label(f"Choose all {each} that fit"))
    hand.click(page.get_by_role("button", name=f"Accept {each}"))
    page.get_by_text(f"Accepted: {each} statements").wait_for()

    hand.clear(search)
    page.locator(".review-count", has_text=f"{rest} statements").wait_for()
    for row in range(SINGLE):
        hand.click(page.locator(".review-nav li").nth(row).get_by_role("checkbox"))
    hand.click(page.get_by_role("button", name=f"Reject {SINGLE}"))
    page.get_by_text(f"Rejected: {SINGLE} statements").wait_for()

    rest -= SINGLE
    page.locator(".review-count", has_text=f"{rest} statements").wait_for()
    hand.click(page.get_by_label(f"Choose all {rest}"))
    hand.click(page.get_by_role("button", name=f"Accept {rest}"))
    page.get_by_text("Nothing waits for you").wait_for()
    took_s = time.monotonic() - began
    return Decided(
        badge=shown,
        head=head,
        took_s=took_s,
        clicks=hand.clicks,
        keys=hand.keys,
        waiting=here.api("GET", "/v1/review?limit=1")["waiting"],
        wanted=(each + rest, each + SINGLE),
        stored=(_number(here, "active"), _number(here, "retired")),
    )


def _number(here: Place, status: str) -> int:
    return int(here.api("GET", f"/v1/memories?status={status}&limit=1")["total"])


def measure() -> list[Goal]:
    """Import, then decide in a browser."""
    with place() as here:
        _imported(here)
        address = json.loads(here.tacit("ui", "--json", "--port", "0"))["url"]
        with _browser() as opened:
            context = opened.new_context(viewport={"width": 1440, "height": 900}, reduced_motion="reduce")
            context.set_default_timeout(60_000)
            page = context.new_page()
            page.goto(address)
            return [goal_of(_decide(here, page))]
