"""One home and one daemon for all tests of the page, a browser for each file of them: they take seconds to start."""

from __future__ import annotations

import os
import shutil

import pytest
from filelock import FileLock

from e2e.web.driver import AXE, NARROW, Served, browser, chromium, served, settle, signed_in
from e2e.web.seed import fill
from tacit.daemon.page.files import is_built


@pytest.fixture(scope="session")
def web_home(tmp_path_factory) -> Served:
    if not is_built():
        pytest.skip("the page is not built: bash scripts/build_page.sh")
    if not chromium():
        pytest.skip("no Chromium here: bash scripts/install_browser.sh")
    worker = os.environ.get("PYTEST_XDIST_WORKER", "")
    folder = tmp_path_factory.getbasetemp()
    folder = (folder.parent if worker else folder) / "web"
    folder.mkdir(exist_ok=True)
    # The store is filled once for all processes of a run, each of which has a copy beside the projects.
    with FileLock(folder / "lock"):
        if not (folder / "filled").is_dir():
            fill(folder / "part", quick=True)
            (folder / "part").rename(folder / "filled")
    home = folder / f"home{worker}"
    shutil.copytree(folder / "filled", home)
    with served(home) as place:
        yield place


# Not for the whole run: while it is open, nothing else in this process can run an event loop.
@pytest.fixture(scope="module")
def web_browser():
    if not chromium():
        pytest.skip("no Chromium here: bash scripts/install_browser.sh")
    with browser() as opened:
        yield opened


@pytest.fixture
def page(web_browser, web_home):
    """A signed-in page that has to stay without complaints of the browser."""
    opened = signed_in(web_browser, web_home)
    yield opened
    complaints = [text for text in opened.complaints if "412" not in text and "422" not in text]
    opened.context.close()
    assert complaints == []


@pytest.fixture
def go(page, web_home):
    """Open a path and wait until it is drawn."""

    def walk(path: str):
        page.goto(web_home.base + path)
        settle(page)
        return page

    return walk


@pytest.fixture(scope="session")
def axe_source() -> str:
    if not AXE.is_file():
        pytest.skip("axe-core is not installed: npm ci in web/")
    return AXE.read_text()


@pytest.fixture
def narrow_page(web_browser, web_home):
    opened = signed_in(web_browser, web_home, size=NARROW)
    yield opened
    opened.context.close()
