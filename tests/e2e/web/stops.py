"""Where the survey of the page stops: every page, every room of one, and what opens there."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

from playwright.sync_api import Page, expect

from e2e.web.driver import Served, settle, visit

IMPORTED = {
    "results": [{"id": "a1", "memory": "Answers are in British English", "user_id": "a"}],
}


@dataclass(frozen=True, slots=True)
class Stop:
    """An address of the page, what is opened there before somebody looks, and where to look if not at the whole page."""

    name: str
    path: str
    open: Callable[[Page], None] | None = None
    inside: str = ""

    def show(self, page: Page) -> None:
        visit(page, self.path, still_ms=100)
        if self.open is not None:
            self.open(page)
            page.mouse.move(0, 0)  # no tooltip of the mouse lies over what is looked at
            settle(page, still_ms=100)


def stops(served: Served) -> list[Stop]:
    """Every stop. Where several show the same and one of them shows more, only that one."""
    injected = served.api("/v1/traces?outcome=injected&surface=prompt&limit=1")["recalls"][0]
    host, _, session = injected["session"].partition("/")
    served.api("/v1/backups", "POST", {"target": str(served.home / "backup-survey.db")})
    memory = f"/ui/memories/{injected['injected'][0]}"

    def dialog(name: str, path: str, open_it: Callable[[Page], None]) -> Stop:
        return Stop(name, path, open_it, inside="[role=dialog]")

    def beside(name: str, open_it: Callable[[Page], None]) -> Stop:
        return Stop(name, memory, open_it, inside=".drawer")

    return [
        Stop("home", "/ui/", _check_store),
        Stop("traces", "/ui/traces?time=between"),
        Stop("trace", f"/ui/traces/{injected['id']}", _candidate),
        Stop("memories", "/ui/memories"),
        Stop("memories: chosen", "/ui/memories", _choose),
        Stop("memories: a message with Undo", "/ui/memories", _pin, inside=".mantine-Notification-root"),
        dialog("memories: remember", "/ui/memories", _press("button", "Remember")),
        Stop("memory", memory),
        *(beside(f"memory: {tab}", _press("tab", tab)) for tab in ("Versions", "Relations")),
        *(beside(f"memory: {name}", _press("button", name)) for name in ("Edit", "Merge")),
        Stop("review", "/ui/review", _choose_waiting),
        Stop("team", "/ui/team"),
        Stop("sessions", "/ui/sessions"),
        Stop("session", f"/ui/sessions/{host}/{session}", _start_pack),
        Stop("try a prompt", "/ui/try"),
        Stop("try a prompt: answered", f"/ui/try?memory={injected['injected'][0]}", _ask, inside="main"),
        Stop("data", "/ui/data"),
        Stop("data: export", "/ui/data/export"),
        Stop("data: import", "/ui/data/import", _preview_import),
        Stop("data: remove", "/ui/data/remove", _preview_purge),
        dialog("data: purge", "/ui/data/remove", lambda page: page.get_by_role("button", name="Purge ").click()),
        Stop("data: backups", "/ui/data/backups"),
        Stop("comparison", "/ui/sessions/comparison"),
        Stop("settings", "/ui/settings?of=agents&name=plan", _layers),
        Stop("api", "/ui/api#list_memories"),
        dialog("palette", "/ui/nowhere", _palette),
        dialog("keys", "/ui/nowhere", lambda page: page.keyboard.press("?")),
    ]  # fmt: skip


def close_all(page: Page) -> None:
    """Close what a stop opened over the page or beside its list."""
    for _ in range(3):
        if page.locator("[role=dialog], [role=listbox]:visible").count() == 0:
            break
        page.keyboard.press("Escape")
        page.wait_for_timeout(50)
    if (beside := page.get_by_role("button", name="Close the memory")).count() > 0:
        beside.click()
        expect(page.locator(".drawer")).to_have_count(0)


def _press(role, name: str) -> Callable[[Page], None]:
    return lambda page: page.get_by_role(role, name=name, exact=True).first.click()


def _candidate(page: Page) -> None:
    page.locator(".lane-open").first.click()
    for fold in page.locator("details.fold").all():
        fold.locator("summary").click()
    page.get_by_role("slider", name="Level that is needed").focus()
    for _ in range(5):
        page.keyboard.press("ArrowRight")


def _start_pack(page: Page) -> None:
    folded = page.get_by_role("button", name="Show the start pack")
    if folded.count() > 0:
        folded.first.click()


def _choose(page: Page) -> None:
    boxes = page.locator(".memory-row").get_by_role("checkbox")
    boxes.nth(0).check()
    boxes.nth(2).check()
    page.get_by_role("toolbar").wait_for()


def _pin(page: Page) -> None:
    """Pin and unpin, so that the store is as before."""
    pin = page.locator(".memory-pin").first
    for pressed in ("true", "false"):
        pin.click()
        expect(pin).to_have_attribute(
            "aria-pressed", pressed
        )  # the next click is about the version that this one made
    page.locator(".mantine-Notification-root").first.wait_for()


def _choose_waiting(page: Page) -> None:
    page.locator(".review-nav li").get_by_role("checkbox").first.check()


def _ask(page: Page) -> None:
    page.get_by_role("textbox", name="Prompt").fill("what's the weather like in Lisbon")
    page.get_by_role("button", name="Ask").click()
    page.get_by_role("region", name="Why it is not given").get_by_text("before this prompt").wait_for()
    page.locator(".lane").first.wait_for()


def _layers(page: Page) -> None:
    page.get_by_role("button", name="Why recall.budgets.prompt").first.click()


def _preview_import(page: Page) -> None:
    page.get_by_text("Options", exact=True).click()
    data = json.dumps(IMPORTED).encode()
    page.locator("input[type=file]").set_input_files({"name": "mem0.json", "mimeType": "", "buffer": data})
    page.get_by_role("button", name="Show what it would do").click()
    page.get_by_role("heading", name="What it would do").wait_for()


def _preview_purge(page: Page) -> None:
    page.get_by_role("textbox", name="Remove").click()
    page.get_by_role("option", name="everything from one source").click()
    page.get_by_role("textbox", name="Source").fill("agent")
    page.get_by_role("button", name="Show what it would remove").click()
    page.get_by_role("button", name="Purge ").wait_for()


def _check_store(page: Page) -> None:
    page.get_by_text("How it runs").click()
    page.get_by_role("button", name="Check the store").click()
    page.get_by_text("The store is sound").wait_for()


def _palette(page: Page) -> None:
    page.keyboard.press("Control+k")
    page.get_by_role("dialog").get_by_role("combobox").fill("re")
    page.get_by_role("option").first.wait_for()
