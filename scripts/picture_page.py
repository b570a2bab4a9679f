"""Pictures of every page in both themes, for docs/guide/web.md, from a synthetic store.

`python scripts/picture_page.py` writes docs/images/web-*.webp; `just screenshots` builds the page first.
"""

from __future__ import annotations

import base64
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from playwright.sync_api import Page

from e2e.drivers.site import Site
from e2e.web.driver import PAGES, Served, browser, served, settle, signed_in
from e2e.web.seed import fill
from tacit.model.shared import SharedStatement
from tacit_server.logs import Principal

FOLDER = Path(__file__).parents[1] / "docs" / "images"
SIZE = {"width": 1440, "height": 900}
PHONE = {"width": 375, "height": 812}
MOST_BYTES = 200_000


def keep(page: Page, name: str) -> None:
    """Write what is to be seen as WebP, as good as fits the size; no tooltip of the mouse is in it."""
    page.mouse.move(0, 0)
    page.wait_for_timeout(100)
    session = page.context.new_cdp_session(page)
    for quality in (82, 70, 55, 40):
        taken = session.send("Page.captureScreenshot", {"format": "webp", "quality": quality})
        data = base64.b64decode(taken["data"])
        if len(data) <= MOST_BYTES:
            break
    path = FOLDER / f"web-{name}.webp"
    path.write_bytes(data)
    print(f"{path.name}: {len(data) // 1000} kB")


def open_trace(page: Page, base: str) -> None:
    """The trace with the most to see: a prompt that got something, its best memory opened, the gate moved."""
    page.goto(f"{base}/ui/traces?outcome=injected&surface=prompt&text=commit")
    page.locator("a.recall").first.click()
    page.locator(".lane").first.wait_for()
    settle(page)


def picture(page: Page, place: Served, theme: str) -> None:
    for name, path in PAGES.items():
        if name == "team":
            continue  # it needs a server; see `picture_team`
        page.goto(place.base + path)
        settle(page)
        if name == "settings":
            page.goto(f"{place.base}/ui/settings?of=agents&name=plan")
            settle(page)
            page.get_by_role("button", name="Why recall.budgets.prompt").first.click()
        if name == "try":
            page.get_by_role("textbox", name="Prompt").fill(
                "Add a debug log line with the customer's e-mail address when an order mail bounces"
            )
            page.get_by_role("button", name="Ask").click()
            page.locator(".lane").first.wait_for()
        page.wait_for_timeout(500)
        keep(page, f"{name}-{theme}")
    open_trace(page, place.base)
    page.wait_for_timeout(300)
    keep(page, f"trace-{theme}")
    page.locator(".lane-open").first.click()
    slider = page.get_by_role("slider", name="Level that is needed")
    slider.focus()
    page.keyboard.press("Home")
    page.locator('.lane[data-now="added"]').first.wait_for()
    page.locator(".lane-list").evaluate("one => one.scrollIntoView()")
    page.wait_for_timeout(400)
    keep(page, f"replay-{theme}")
    page.goto(f"{place.base}/ui/sessions")
    page.locator("a.session").nth(1).click()
    settle(page)
    page.wait_for_timeout(300)
    keep(page, f"session-{theme}")
    page.goto(f"{place.base}/ui/memories?text=release script")
    page.locator("button.memory").first.click()
    page.get_by_role("tab", name="Versions").click()
    page.locator("ol.versions li").nth(1).wait_for()
    page.wait_for_timeout(300)
    keep(page, f"memory-{theme}")
    page.goto(f"{place.base}/ui/memories?text=load tests")
    page.locator("button.memory").first.click()
    page.get_by_role("link", name="Why not given?").click()
    page.get_by_role("textbox", name="Prompt").fill("put the service under load")
    page.get_by_role("button", name="Ask").click()
    page.get_by_role("region", name="Why it is not given").get_by_role(
        "button", name="Do it"
    ).first.wait_for()
    page.wait_for_timeout(300)
    keep(page, f"why-not-{theme}")
    page.goto(f"{place.base}/ui/api")
    page.locator("#remember summary").click()
    settle(page)
    keep(page, f"api-{theme}")


SHARED = (
    ("bo", "Invoices are numbered per year and never reused.", "decision"),
    ("cy", "The staging database is refreshed every Sunday night.", "fact"),
    ("bo", "Write commit messages in the imperative, with the ticket number in front.", "preference"),
)
ASKED = (
    ("cy", "The staging database is refreshed every night.", "fact"),
    ("bo", "Feature flags are listed in docs/flags.md with the date on which they go.", "guideline"),
)


@contextmanager
def with_team(place: Served) -> Iterator[None]:
    """Log the home in at a server where teammates have shared something and ask to share more."""
    site = Site(organization="acme")
    try:
        members, requests, now_ms = site.teams.members, site.teams.requests, int(time.time() * 1000)
        who = {name: Principal(account=name, device="d" * 64) for name in ("ana", "bo", "cy")}
        code = members.add_organization("acme", admin="ana", name="Ana Ruiz", now_ms=now_ms)
        members.add_team(who["ana"], "acme/shop", now_ms=now_ms)
        members.put_project(who["ana"], "acme/shop", "github.com/acme/shop", now_ms=now_ms)
        for name, called, role in (("bo", "Bo Li", "writer"), ("cy", "Cy Moe", "writer")):
            members.put_member(who["ana"], "acme/shop", name, name=called, role=role, now_ms=now_ms)
        for name, content, kind in (*SHARED, *ASKED):
            statement = SharedStatement(content=content, kind=kind, said_at_ms=now_ms)
            made = requests.ask(who[name], "acme/shop", statement, now_ms=now_ms)
            if (name, content, kind) in SHARED:
                requests.decide(who["ana"], "acme/shop", made.id, "accept", now_ms=now_ms)
        place.api("/v1/sync", "PUT", {"url": site.url, "code": code, "name": "laptop"})
        yield
    finally:
        site.close()


def picture_team(page: Page, place: Served, theme: str) -> None:
    for name, path in (("team", "/ui/team"), ("requests", "/ui/team/requests")):
        page.goto(place.base + path)
        settle(page)
        page.wait_for_timeout(500)
        keep(page, f"{name}-{theme}")


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="tacit-pictures-"))
    fill(folder / "home")
    with served(folder / "home") as place, browser() as opened:
        own = {"holder": "agents", "name": "plan", "values": {"recall.budgets.prompt": 300}}
        place.api("/v1/settings", "PATCH", own)
        for theme in ("light", "dark"):
            page = signed_in(opened, place, theme=theme, size=SIZE)
            picture(page, place, theme)
            page.context.close()
        page = signed_in(opened, place, size=PHONE)
        settle(page)
        page.wait_for_timeout(400)
        keep(page, "home-phone")
        open_trace(page, place.base)
        keep(page, "trace-phone")
        with with_team(place):
            for theme in ("light", "dark"):
                page = signed_in(opened, place, theme=theme, size=SIZE)
                picture_team(page, place, theme)
                page.context.close()


if __name__ == "__main__":
    main()
