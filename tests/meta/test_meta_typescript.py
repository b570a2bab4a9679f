"""The TypeScript client goes with this version of Tacit, and it brings nothing along."""

from __future__ import annotations

import json
import re
from pathlib import Path

from tacit import __version__

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "clients" / "typescript"


def test_the_client_has_the_version_of_tacit_and_no_dependencies():
    package = json.loads((PACKAGE / "package.json").read_text())
    assert package["version"] == __version__
    assert "dependencies" not in package
    wanted = package["devDependencies"]
    assert [name for name, version in wanted.items() if not re.fullmatch(r"\d+\.\d+\.\d+", version)] == []
    guide = (ROOT / "docs/guide/typescript.md").read_text("utf-8")
    assert f"`ai` {wanted['ai']}" in guide
