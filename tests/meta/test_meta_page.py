"""The page and what it is made from stay together."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_pages_client_is_made_from_the_one_description_of_the_api():
    kept = subprocess.run(
        ["git", "ls-files", "*openapi.json"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    assert kept == ["docs/reference/openapi.json"]
    script = json.loads((ROOT / "web" / "package.json").read_text())["scripts"]["client"]
    assert f"../{kept[0]} " in script


def test_the_page_names_exact_versions_and_no_other_place():
    package = json.loads((ROOT / "web" / "package.json").read_text())
    wanted = {**package["dependencies"], **package["devDependencies"]}
    assert [name for name, version in wanted.items() if not re.fullmatch(r"\d+\.\d+\.\d+", version)] == []
    assert "://" not in (ROOT / "web" / "index.html").read_text()


def test_every_page_is_pictured_in_both_themes():
    from e2e.web.driver import PAGES

    folder = ROOT / "docs" / "images"
    wanted = [
        f"web-{name}-{theme}.webp"
        for name in (*PAGES, "trace", "memory", "session")
        for theme in ("light", "dark")
    ]
    assert [name for name in wanted if not (folder / name).is_file()] == []
    assert [path.name for path in folder.glob("*.webp") if path.stat().st_size > 200_000] == []
