"""The console script. A shell that asks for completions is answered without loading the commands; all else goes to `main`."""

from __future__ import annotations

import sys

from tacit.config.environment import variables


def main() -> None:
    """Complete a word, or run the command."""
    if variables().get("_TACIT_COMPLETE", "").startswith("complete_"):
        from tacit.cli.completion.answer import complete

        sys.exit(complete(variables()))
    from tacit.cli.main import main as run

    run()


if __name__ == "__main__":
    main()
