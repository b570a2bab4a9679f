"""How a golden text is compared, or written anew with `--renew-golden`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

CheckGolden = Callable[[Path, str], None]


@pytest.fixture
def check_golden(pytestconfig: pytest.Config) -> CheckGolden:
    """Call it with a file and the text that it must hold."""
    renew = pytestconfig.getoption("--renew-golden")

    def check(file: Path, text: str) -> None:
        if renew:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, "utf-8")
        kept = file.read_text("utf-8") if file.is_file() else ""
        assert text == kept, f"{file.name} differs. Run `just golden` and read the diff."

    return check
