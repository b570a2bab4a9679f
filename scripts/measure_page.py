"""How fast the page is: first paint, ten thousand memories under the wheel, memory of the daemon.

`python scripts/measure_page.py` prints the figures; it asserts nothing, because clocks of shared machines do not.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from playwright.sync_api import Browser, Page

from e2e.web.driver import Served, browser, served, settle, signed_in
from e2e.web.seed import fill, fill_many

MEMORIES = 10_000
WORK = ("ScriptDuration", "LayoutDuration", "RecalcStyleDuration")
"""What the page itself makes a browser do; the rest of a frame is painting, by hand where there is no graphics card."""
WATCH = """() => {
  window.frames_ms = []; let last = performance.now();
  const tick = (now) => { window.frames_ms.push(now - last); last = now; window.watching && requestAnimationFrame(tick); };
  window.watching = true; requestAnimationFrame(tick);
}"""


FIGURES = """new MutationObserver((_, looking) => {
  if (document.querySelector('.kpi .num') === null) return;
  looking.disconnect(); requestAnimationFrame((now) => { window.figures_ms = now; });
}).observe(document, { childList: true, subtree: true });"""
"""Notes the frame that shows the first figures: who asks from outside learns of them up to half a second later."""


def rss_mb(place: Served) -> float:
    """Resident memory of the daemon."""
    return place.api("/health")["rss_kb"] / 1024


def first_paint_ms(opened: Browser, place: Served) -> tuple[list[float], list[float]]:
    """Five loads with an empty cache: when something was painted, and when the numbers were on the page."""
    paints, contents = [], []
    for _ in range(5):
        page = signed_in(opened, place)
        session = page.context.new_cdp_session(page)
        session.send("Network.clearBrowserCache")
        page.add_init_script(FIGURES)
        page.goto("about:blank")
        page.goto(f"{place.base}/ui/")
        page.locator(".kpi .num").first.wait_for()
        contents.append(page.evaluate("new Promise(requestAnimationFrame).then(() => window.figures_ms)"))
        paints.append(_painted_ms(page))
        page.context.close()
    return paints, contents


def _painted_ms(page: Page) -> float:
    """When the page showed its first content; figures may be there before their picture."""
    entries = "performance.getEntriesByType('paint').map(one => [one.name, one.startTime])"
    for _ in range(100):
        if "first-contentful-paint" in (found := dict(page.evaluate(entries))):
            return found["first-contentful-paint"]
        page.wait_for_timeout(50)
    raise TimeoutError("nothing was painted")


def frames_of(page: Page, steps: int, by: int) -> tuple[list[float], float]:
    """Milliseconds between frames while the wheel turns, in order of size, and what a step costs the page's own thread.

    The second number is CPU time: on a machine that others use as well it says more than the frames do.
    """
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def spent_ms() -> float:
        metrics = session.send("Performance.getMetrics")["metrics"]
        return 1000 * sum(one["value"] for one in metrics if one["name"] in WORK)

    page.mouse.move(600, 450)
    page.evaluate(WATCH)
    before = spent_ms()
    for _ in range(steps):
        page.mouse.wheel(0, by)
        page.wait_for_timeout(16)
    cost = (spent_ms() - before) / steps
    return sorted(page.evaluate("() => { window.watching = false; return window.frames_ms; }")), cost


def main() -> None:
    folder = Path(tempfile.mkdtemp(prefix="tacit-page-"))
    fill(folder / "home", quick=True)
    fill_many(folder / "home", MEMORIES)
    with served(folder / "home") as place, browser() as opened:
        place.api("/v1/status")
        before = rss_mb(place)
        paints, contents = first_paint_ms(opened, place)
        print(
            f"first paint: {statistics.median(paints):.0f} ms (median of 5, cache empty; worst {max(paints):.0f}); figures on the page: {statistics.median(contents):.0f} ms (worst {max(contents):.0f})"
        )
        page = signed_in(opened, place)
        page.goto(f"{place.base}/ui/memories")
        settle(page)
        frames, cost = frames_of(page, 120, 420)
        late = sum(frame > 50 for frame in frames)
        at = len(frames)
        print(
            f"scrolling {MEMORIES} memories: {at} frames, median {frames[at // 2]:.1f} ms, p95 {frames[int(at * 0.95)]:.1f} ms, {late} over 50 ms; {cost:.1f} ms of script, style and layout for each turn of the wheel"
        )
        page.evaluate("document.querySelector('.memory-box').scrollTop = 1e9")
        last = page.evaluate("document.querySelector('.memory-box li').getAttribute('aria-setsize')")
        began = page.evaluate("performance.now()")
        page.locator(f'li[aria-posinset="{last}"] button.memory').wait_for()
        took = page.evaluate("performance.now()") - began
        print(f"jump to the end: row {last} drawn after {took:.0f} ms")
        for path in ("/ui/traces", "/ui/sessions", "/ui/settings", "/ui/review"):
            page.goto(place.base + path)
            settle(page)
        print(
            f"daemon: {before:.0f} MB before the page, {rss_mb(place):.0f} MB after all of it ({rss_mb(place) - before:+.0f} MB)"
        )


if __name__ == "__main__":
    main()
