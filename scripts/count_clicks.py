"""What everyday tasks cost on the page: each is done in a real browser, and the clicks and keys that it takes are counted there.

`python scripts/count_clicks.py` prints the table. A text that is typed counts once, however long it is. The store is asked
afterwards whether the task is done. The numbers of "before" are counted in the code of commit 9f896ae (`BEFORE` says how).
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from playwright.sync_api import Page, expect

from e2e.web.driver import COUNT_STEPS, Served, browser, served, settle, signed_in, visit
from e2e.web.seed import fill, import_depots

WAITING = 900


@dataclass(frozen=True, slots=True)
class Before:
    """What a task cost at commit 9f896ae; no number = it could not be done."""

    steps: int | None
    how: str


BEFORE = {
    "pin a memory": Before(4, "open it, Edit, the switch, Save"),
    "forget ten memories": Before(30, "open, Forget, close; ten times"),
    "set the kind of five memories": Before(30, "open, Edit, the list, the kind, Save, close; five times"),
    "take back the last action": Before(5, "Memories, the orders, changed last, open it, Undo; the one button took back anybody's last change"),
    "sort by use": Before(2, "the orders, most used"),
    "apply the usual filter": Before(6, "kind, scope and state: open each, choose"),
    "find the recalls of a memory": Before(None, "Traces could not be filtered by memory"),
    "see the recalls of the last 24 hours": Before(None, "Traces had no time"),
    "find a session by its first prompt": Before(None, "sessions had neither a name nor a search"),
    "go on after the daemon ended": Before(1, "reload; once for each open tab, after `tacit ui`"),
    f"decide {WAITING} waiting statements": Before(WAITING, "one key each"),
}  # fmt: skip


@dataclass(slots=True)
class Desk:
    """A browser at the page of a home."""

    page: Page
    home: Served

    def go(self, path: str) -> None:
        visit(self.page, path)

    def rows(self) -> list[dict]:
        return self.home.api("/v1/memories?limit=100")["memories"]

    def choose(self, count: int) -> list[str]:
        """Choose the first rows; their ids."""
        ids = [one["id"] for one in self.rows()[:count]]
        boxes = self.page.locator(".memory-row").get_by_role("checkbox")
        boxes.first.click()
        boxes.nth(count - 1).click(modifiers=["Shift"])
        self.page.get_by_text(f"{count} chosen").wait_for()
        return ids

    def pin(self) -> bool:
        first = self.rows()[0]["id"]
        self.page.locator(".memory-pin").first.click()
        self.page.locator(".memory-pin[aria-pressed=true]").first.wait_for()
        settle(self.page)
        return bool(self.home.api(f"/v1/memories/{first}")["memory"]["pinned"])

    def forget(self) -> bool:
        ids = self.choose(10)
        self.page.get_by_role("button", name="Forget 10").click()
        self.page.get_by_text("Forgotten: 10 memories").wait_for()
        return all(self.home.api(f"/v1/memories/{name}")["memory"]["status"] == "retired" for name in ids)

    def take_back(self) -> bool:
        before = len(self.rows())
        self.page.keyboard.press("u")
        self.page.get_by_text("Taken back", exact=True).first.wait_for()
        return len(self.rows()) == before + 10

    def set_kind(self) -> bool:
        ids = self.choose(5)
        self.page.get_by_role("textbox", name="Set the kind").click()
        self.page.get_by_role("option", name="guideline", exact=True).click()
        self.page.get_by_text("Now guideline: 5 memories").wait_for()
        return all(self.home.api(f"/v1/memories/{name}")["memory"]["kind"] == "guideline" for name in ids)

    def sort(self) -> bool:
        self.page.locator(".memory-head").get_by_role("button", name="used").click()
        self.page.wait_for_url("**order=used*")
        most = self.home.api("/v1/memories?order=used&limit=1")["memories"][0]["content"]
        expect(self.page.locator("button.memory").first).to_contain_text(most[:30])
        return True

    def filter(self) -> bool:
        self.page.get_by_role("button", name="Saved filters").click()
        self.page.get_by_role("button", name="usual", exact=True).click()
        self.page.wait_for_url("**kind=decision*")
        return "status=all" in self.page.url and "scope=" in self.page.url

    def find_recalls(self) -> bool:
        """From the list of memories; the newest one that was given is the first row."""
        self.page.locator("button.memory").first.click()
        self.page.get_by_role("tab", name="Injected").click()
        self.page.get_by_role("link", name="all recalls that looked at it").click()
        self.page.locator("a.recall").first.wait_for()
        return "memory=mem_" in self.page.url

    def see_last_day(self) -> bool:
        self.page.get_by_role("textbox", name="Time").click()
        self.page.get_by_role("option", name="last 24 hours").click()
        self.page.wait_for_url("**time=last*")
        settle(self.page)
        since_ms = int(time.time() * 1000) - 86_400_000
        told = len(self.home.api(f"/v1/traces?since_ms={since_ms}&limit=60")["recalls"])
        return self.page.locator("a.recall").count() == told

    def find_session(self) -> bool:
        titles = [one["title"] for one in self.home.api("/v1/sessions?limit=50")["sessions"]]
        words = next(title for title in titles if title)
        self.page.keyboard.press("/")
        self.page.keyboard.type(words[:24])
        self.page.wait_for_url("**text=*")
        settle(self.page)
        names = self.page.locator("a.session").all_inner_texts()
        return len(names) > 0 and all(words[:24] in name for name in names)

    def recover(self) -> bool:
        """The open tab goes on when another one signed in; nothing is done in it."""
        self.home.run("stop")
        notice = self.page.get_by_role("alert").filter(has_text="The daemon does not answer")
        notice.wait_for()
        started = json.loads(self.home.run("ui", "--json", "--port", str(self.home.port)).stdout)
        other = self.page.context.new_page()
        other.goto(started["url"])
        other.get_by_role("heading", level=1, name="Home").wait_for()
        self.page.bring_to_front()
        self.page.locator(".live[data-on]").first.wait_for(state="attached")
        expect(notice).to_have_count(0)
        other.close()
        return True

    def decide(self) -> bool:
        before = self.home.api("/v1/review?limit=1")["waiting"]
        self.page.get_by_role("checkbox", name=re.compile("Choose all 900")).click()
        self.page.get_by_role("button", name="Accept 900").click()
        self.page.get_by_text("Accepted: 900 statements").wait_for(timeout=240_000)
        return self.home.api("/v1/review?limit=1")["waiting"] == before - WAITING


def tasks(desk: Desk) -> dict[str, tuple[str, Callable[[], bool]]]:
    """Where each task begins, and how it is done."""
    scope = desk.home.api("/v1/projects")["projects"][0]["scope"]
    desk.page.evaluate(
        "search => localStorage.setItem('tacit.saved-filters', JSON.stringify({ '/memories': [{ name: 'usual', search }] }))",
        f"kind=decision&scope={quote(scope, safe='')}&status=all",
    )
    return {
        "pin a memory": ("/ui/memories", desk.pin),
        "forget ten memories": ("/ui/memories", desk.forget),
        "take back the last action": ("/ui/memories", desk.take_back),
        "set the kind of five memories": ("/ui/memories", desk.set_kind),
        "sort by use": ("/ui/memories", desk.sort),
        "apply the usual filter": ("/ui/memories", desk.filter),
        "find the recalls of a memory": ("/ui/memories?order=used", desk.find_recalls),
        "see the recalls of the last 24 hours": ("/ui/traces", desk.see_last_day),
        "find a session by its first prompt": ("/ui/sessions", desk.find_session),
        f"decide {WAITING} waiting statements": ("/ui/review?cause=import", desk.decide),
        "go on after the daemon ended": ("/ui/", desk.recover),
    }


def let_wait(place: Served, folder: Path) -> None:
    """Import statements of another tool, which wait in Review."""
    if (total := import_depots(place, folder, WAITING)["total"]) != WAITING:
        raise SystemExit(f"{total} statements wait after the import of {WAITING}")


def main() -> None:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tacit-clicks-")))
        fill(folder / "home", quick=True)
        place = stack.enter_context(served(folder / "home"))
        let_wait(place, folder)
        page = signed_in(stack.enter_context(browser()), place)
        desk = Desk(page, place)
        page.evaluate(COUNT_STEPS)
        print("| task | before | now | clicks | keys | texts typed |\n|---|---|---|---|---|---|")
        for name, (path, do) in tasks(desk).items():
            desk.go(path)
            page.evaluate("Object.keys(made).forEach((name) => { made[name] = 0; })")
            if not do():
                raise SystemExit(f"{name}: it was not done")
            made = page.evaluate("made")
            steps = BEFORE[name].steps
            now = sum(made.values())
            print(
                f"| {name} | {'not possible' if steps is None else steps} | {now} | {made['clicks']} | {made['keys']} | {made['texts']} |"
            )
        print("\nBefore, at commit 9f896ae:")
        for name, before in BEFORE.items():
            print(f"- {name}: {before.how}")


if __name__ == "__main__":
    main()
