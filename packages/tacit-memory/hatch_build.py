"""Build hook: the package holds the web page and the hosts' plugins.

In: the tree that is packed. Plugins come from the repository around this folder, or from an unpacked source package.
The page is built by `scripts/build_page.sh` if it is missing or older than its sources. Raises if it cannot be built, so that nobody
publishes a package without it unknowingly. Editable installs, which development uses, need none of this.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

WITHOUT = "TACIT_BUILD_WITHOUT_PAGE"
REASON = (
    "The web page is not built, so the package would lack it. Install Node 20.19 or newer with npm, or set "
    f"{WITHOUT}=1: then everything but `tacit ui` works."
)
PLUGINS = "plugins"


class PackageHook(BuildHookInterface[Any]):
    """Adds files from outside the package's folder, and has the page built before files are collected."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the files; build the page if needed.

        Raises:
            RuntimeError: if the page is needed and cannot be built.
        """
        if version == "editable":
            return
        package = Path(self.root)
        unpacked = (package / "PKG-INFO").is_file()
        outside = package if unpacked else package.parents[1]
        if self.target_name == "wheel":
            build_data["force_include"][str(outside / PLUGINS)] = "tacit/plugins"
        elif not unpacked:
            build_data["force_include"][str(outside / PLUGINS)] = PLUGINS
        # A source package was made with its page; there, times mean nothing.
        if not unpacked and not os.environ.get(WITHOUT):
            build_page(package / "src/tacit/daemon/static/index.html", repository=outside)


def build_page(page: Path, *, repository: Path) -> None:
    """Build `page` if needed.

    Raises:
        RuntimeError: if that fails.
    """
    if is_current(page, sources=repository / "web"):
        return
    if shutil.which("npm") is None:
        raise RuntimeError(f"npm was not found. {REASON}")
    done = subprocess.run(["bash", "scripts/build_page.sh", "1"], cwd=repository, check=False)
    if done.returncode or not is_current(page, sources=repository / "web"):
        raise RuntimeError(f"scripts/build_page.sh failed with exit code {done.returncode}. {REASON}")


def is_current(page: Path, *, sources: Path) -> bool:
    """Whether the built page is there and not older than any of its sources."""
    if not page.is_file():
        return False
    inputs = [sources / "index.html", *(sources / "src").rglob("*"), *sources.glob("*.json")]
    built_at = page.stat().st_mtime
    return all(each.stat().st_mtime <= built_at for each in inputs if each.is_file())
