"""The console script. A shell that asks for completions is answered without loading the commands; all else goes to `main`."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Complete a word, or run the command."""
    if os.environ.get("_TACIT_COMPLETE", "").startswith("complete_"):
        from tacit.cli.completion.answer import complete

        sys.exit(complete(os.environ))
    from tacit.cli.main import main as run

    run()


if __name__ == "__main__":
    main()
