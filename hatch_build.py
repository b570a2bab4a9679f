"""Build hook: no wheel and no source package without the web page.

In: the tree that is packed. Out: `src/tacit/daemon/static`, built by `scripts/build_page.sh` where it is missing or older
than its sources. Raises when it cannot be built, so that nobody publishes a package without it unknowingly. Editable
installs, which development uses, need no page.
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


class PageHook(BuildHookInterface[Any]):
    """Has the page built before files are collected."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002 - hatchling's signature
        """Build the page if needed.

        Raises:
            RuntimeError: if it is needed and cannot be built.
        """
        root = Path(self.root)
        if version == "editable" or os.environ.get(WITHOUT) or is_current(root):
            return
        if shutil.which("npm") is None:
            raise RuntimeError(f"npm was not found. {REASON}")
        done = subprocess.run(["bash", "scripts/build_page.sh", "1"], cwd=root, check=False)
        if done.returncode or not is_current(root):
            raise RuntimeError(f"scripts/build_page.sh failed with exit code {done.returncode}. {REASON}")


def is_current(root: Path) -> bool:
    """Whether the built page is there and not older than any of its sources."""
    page, sources = root / "src/tacit/daemon/static/index.html", root / "web"
    if not page.is_file():
        return False
    if (
        root / "PKG-INFO"
    ).is_file():  # an unpacked source package: it was made with its page, and times mean nothing
        return True
    inputs = [sources / "index.html", *(sources / "src").rglob("*"), *sources.glob("*.json")]
    built_at = page.stat().st_mtime
    return all(each.stat().st_mtime <= built_at for each in inputs if each.is_file())
