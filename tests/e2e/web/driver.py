"""A home with made-up work, its daemon, and a browser that signed in the way a person does."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, Playwright, ViewportSize, sync_playwright

from forks import run_tacit
from tacit.client.daemon_client import DaemonClient
from user_voice import as_user, user_token

ROOT = Path(__file__).parents[3]
AXE = ROOT / "web" / "node_modules" / "axe-core" / "axe.min.js"
NARROW: ViewportSize = {"width": 390, "height": 844}
TABLET: ViewportSize = {"width": 1024, "height": 768}
WIDE: ViewportSize = {"width": 1440, "height": 900}
PAGES = {
    "home": "/ui/",
    "traces": "/ui/traces",
    "memories": "/ui/memories",
    "review": "/ui/review",
    "team": "/ui/team",
    "sessions": "/ui/sessions",
    "try": "/ui/try",
    "data": "/ui/data",
    "settings": "/ui/settings",
}


def chromium() -> str:
    """The system's browser, or empty."""
    return next(
        (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))),
        "",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """A home whose daemon listens on `port`."""

    home: Path
    port: int

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run `tacit` in this home."""
        environ = as_user({**os.environ, "TACIT_HOME": str(self.home), "NO_COLOR": "1"}, self.home)
        return run_tacit(arguments, environ=environ, cwd=Path.cwd())

    def api(self, path: str, method: str = "GET", body: object = None) -> Any:
        """Ask the API over the socket."""
        return DaemonClient(self.home, token=user_token(self.home)).request(method, path, body)[1]

    def hook(self, payload: str) -> None:
        """Tell an event as a program of one's own does."""
        status, _ = DaemonClient(self.home).send("POST", "/hook/plain", json.loads(payload), timeout_s=30)
        assert status == 200

    def token(self) -> str:
        """What opens the port for programs; a browser must never see it."""
        return str(json.loads((self.home / "run" / "daemon.json").read_text())["token"])

    def link(self) -> str:
        """A fresh address to sign in with, as `tacit ui` prints it, without starting a program each time."""
        return f"{self.base}/ui/#code={self.api('/ui/code', 'POST')['code']}"

    def printed_link(self) -> str:
        """The address that `tacit ui` itself prints."""
        done = self.run("ui", "--json", "--port", "0")
        assert done.returncode == 0, done.stderr
        return str(json.loads(done.stdout)["url"])


@contextmanager
def served(home: Path) -> Iterator[Served]:
    """Serve `home` on a port of its own, and end the daemon afterwards."""
    first = Served(home=home, port=0)
    try:
        url = first.printed_link()
        yield Served(home=home, port=int(url.split(":")[2].split("/")[0]))
    finally:
        first.run("stop")


@contextmanager
def browser() -> Iterator[Browser]:
    """A headless browser that draws as one without a graphics card does."""
    flags = [
        # Else a driver that is emulated, too, puts every frame together, at 140 ms each: no browser of a user does that.
        "--disable-gpu-compositing",
        "--disable-dev-shm-usage",
        "--force-color-profile=srgb",
    ]
    if os.geteuid() == 0:
        flags.append("--no-sandbox")
    with sync_playwright() as playwright:
        made = _launch(playwright, flags)
        try:
            yield made
        finally:
            made.close()


def _launch(playwright: Playwright, flags: list[str]) -> Browser:
    return playwright.chromium.launch(executable_path=chromium(), args=flags)


def signed_in(
    opened: Browser, served_home: Served, *, theme: str = "light", size: ViewportSize = WIDE
) -> Page:
    """A page that signed in by a link of `tacit ui`; complaints of the browser are kept in `page.complaints`."""
    context = opened.new_context(
        viewport=size,
        color_scheme="dark" if theme == "dark" else "light",
        locale="en-GB",
        timezone_id="UTC",
        reduced_motion="reduce",
    )
    context.set_default_timeout(60_000)
    page = context.new_page()
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.complaints = complaints  # type: ignore[attr-defined]
    page.goto(served_home.link())
    page.wait_for_selector("nav[aria-label=Pages]", state="attached")
    return page


COUNT_STEPS = """(() => {
  const made = { clicks: 0, keys: 0, texts: 0 };
  window.made = made;
  let field = null;
  const writes = (target) => target instanceof HTMLElement && target.closest('input:not([type=checkbox]), textarea') !== null;
  addEventListener('click', (event) => { if (event.isTrusted && event.detail > 0) { made.clicks += 1; field = null; } }, true);
  addEventListener('keydown', (event) => {
    if (!event.isTrusted || ['Shift', 'Control', 'Meta', 'Alt'].includes(event.key)) return;
    if (!writes(event.target) || event.key.length > 1 || event.ctrlKey) { made.keys += 1; field = null; }
    else if (field !== event.target) { made.texts += 1; field = event.target; }
  }, true);
})()"""
"""Counts what a person does: a click on a label clicks its field, too, but only the first is made by the mouse."""


def visit(page: Page, path: str, *, still_ms: int = 200) -> None:
    """Go to another address of the page without loading it anew, as its own links do."""
    page.evaluate(
        "path => { history.pushState(null, '', path); dispatchEvent(new PopStateEvent('popstate')); }", path
    )
    settle(page, still_ms=still_ms)


# Nothing is off that is on by default, and the size of what is clicked is on, which by default is not. One exception: the list of
# a combobox scrolls with its arrow keys, so it needs no place in the order of Tab.
_EVERY_RULE = "{ resultTypes: ['violations'], rules: { 'target-size': { enabled: true } } }"
_COLOR_RULES = "{ resultTypes: ['violations'], runOnly: ['color-contrast', 'link-in-text-block'] }"
_SIZE_RULES = (
    "{ resultTypes: ['violations'], runOnly: ['target-size'], rules: { 'target-size': { enabled: true } } }"
)
_REPEATED = "main :is(li, tr):nth-child(n + 13)"
"""Of long lists the first twelve rows are looked at: the others are drawn by the same code."""
_EXCEPT = (
    "axe.configure({ rules: [{ id: 'scrollable-region-focusable', selector: '*:not([role=listbox] *)' }] })"
)


def load_axe(page: Page, source: str) -> None:
    """Load axe into a page; loading the page anew takes it out."""
    page.evaluate(source)
    page.evaluate(_EXCEPT)


def findings(page: Page, *, inside: str = "", rules: str = _EVERY_RULE, dark: bool = False) -> list[str]:
    """What axe has to say, of any impact, about a page that it was loaded into, or about a part of it.

    `dark`: as it looks in dark, whatever it is in now.
    """
    where = f"{{ include: [{inside or 'html'!r}], exclude: [{_REPEATED!r}] }}"
    run = f"axe.run({where}, {rules})"
    result = page.evaluate(_IN_DARK.replace("RUN", run) if dark else run)
    return [
        f"{one['impact']} {one['id']}: {one['help']} at {node['target']}: {node.get('failureSummary', '')[:160]}"
        for one in result["violations"]
        for node in one["nodes"][:3]
    ]


_IN_DARK = """(async () => {
  const { dataset } = document.documentElement;
  const before = dataset.mantineColorScheme;
  dataset.mantineColorScheme = 'dark';
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  try { return await RUN; } finally { dataset.mantineColorScheme = before; }
})()"""


@dataclass(frozen=True, slots=True)
class Looked:
    """What was found about what a page shows, in both themes and at three widths."""

    light: dict[str, list[str]] = field(default_factory=dict)
    dark: dict[str, list[str]] = field(default_factory=dict)
    sideways: dict[str, int] = field(default_factory=dict)

    def look(self, page: Page, name: str, inside: str = "") -> None:
        """Look at what is shown now, or at a part of it; the page, which axe was loaded into and which is light, is wide afterwards.

        A part is a dialog or a message, made of what the pages show in dark and on a phone already.
        """
        if found := findings(page, inside=inside):
            self.light[name] = found
        if inside:
            return
        # What is said and how it is reached does not depend on colors, and neither they nor the words depend on the width.
        if found := findings(page, rules=_COLOR_RULES, dark=True):
            self.dark[name] = found
        for size in (TABLET, NARROW):
            page.set_viewport_size(size)
            settle(page, still_ms=0)
            place = f"{name} at {size['width']}"
            if (width := page.evaluate("document.documentElement.scrollWidth")) > size["width"]:
                self.sideways[place] = width
        if found := findings(page, rules=_SIZE_RULES):
            self.light[f"{name} at {NARROW['width']}"] = found
        page.set_viewport_size(WIDE)


def settle(page: Page, *, within_ms: int = 60_000, still_ms: int = 200) -> None:
    """Wait until nothing is being loaded, for `still_ms`; the live stream stays open, so network silence is no sign."""
    # Not `wait_for_function`: it needs eval, which the page's policy forbids.
    for _ in range(within_ms // 50):
        if page.evaluate(_SETTLED):
            page.wait_for_timeout(still_ms)
            if still_ms == 0 or page.evaluate(_SETTLED):
                return
        page.wait_for_timeout(50)
    raise TimeoutError(f"{page.url} is still loading")


# After two frames: what a change of the size or of the theme draws is drawn by then.
_SETTLED = """new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(
  document.querySelector('main h1, main h2') !== null
  && document.querySelector('[aria-busy=true], [data-moving]') === null))))"""
