"""How far one prompt goes through the product: functions, modules, switches between modules. Run: `python -m tacit_evals.walk [--names]`.

A real engine with the shipped embedder and two memories in a fresh home. A session starts, the memories are stored, two prompts warm it
up, and the third is traced in the thread that answers it (`sys.setprofile`), from `serve_hook` to the reply with its block. Background work is
not counted. Only functions of the product count: those with a name defined below `tacit`: a comprehension or a lambda is part of the function around it.

| figure | definition |
|---|---|
| calls | function entries |
| functions | distinct functions entered |
| modules | distinct modules that they are defined in |
| switches | entries of a function from one in another module |
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType

import tacit
from tacit.app.wiring import open_engine
from tacit.providers.tokens import EstimateCounter

ROOT = str(Path(tacit.__file__).parent)
RULES = (
    "Run `make lint-docs` before you publish the handbook.",
    "The invoice exporter writes amounts in cents, never in euros.",
)
WARM = (
    "How do I sort a list of tuples by the second element?",
    "Rename the folder of the fonts to typefaces.",
)
PROMPT = "Change the invoice exporter: the amounts in the CSV are wrong by a factor of one hundred."


@dataclass(slots=True, kw_only=True)
class Walk:
    """What one call went through."""

    calls: int = 0
    switches: int = 0
    functions: Counter[CodeType] = field(default_factory=Counter[CodeType])

    @property
    def modules(self) -> Counter[str]:
        """Entries by file of the module."""
        counted: Counter[str] = Counter()
        for code, times in self.functions.items():
            counted[code.co_filename] += times
        return counted

    def trace(self, frame: FrameType, event: str, _argument: object) -> None:
        """Count the entry of a function."""
        code = frame.f_code
        if event != "call" or code.co_name.startswith("<") or not code.co_filename.startswith(ROOT):
            return
        self.calls += 1
        self.functions[code] += 1
        caller = frame.f_back
        while caller is not None and not caller.f_code.co_filename.startswith(ROOT):
            caller = caller.f_back
        if caller is not None and caller.f_code.co_filename != code.co_filename:
            self.switches += 1


def walked(do: Callable[[], object]) -> Walk:
    """What `do` goes through, in this thread."""
    walk = Walk()
    sys.setprofile(walk.trace)
    try:
        do()
    finally:
        sys.setprofile(None)
    return walk


def walk_of_prompt() -> tuple[Walk, str]:
    """What the prompt goes through, and the reply that the host gets."""
    with tempfile.TemporaryDirectory(prefix="tacit-walk-") as folder:
        place = Path(folder) / "shop"
        place.mkdir()
        engine = open_engine(Path(folder) / "home", tokens=EstimateCounter())
        try:
            replies: list[str] = []

            def hook(event: str, **fields: object) -> None:
                payload = {"session_id": "s", "cwd": str(place), "hook_event_name": event, **fields}
                replies.append(engine.hook("claude-code", payload, deadline_ms=60_000.0))

            hook("SessionStart", source="startup")
            for rule in RULES:
                engine.remember(rule, cwd=str(place))
            for text in WARM:
                hook("UserPromptSubmit", prompt=text)
            engine.flush()
            walk = walked(lambda: hook("UserPromptSubmit", prompt=PROMPT))
            engine.flush()
            return walk, replies[-1]
        finally:
            engine.close()


def main() -> None:
    """Print the figures, with `--names` also the functions by module."""
    parser = argparse.ArgumentParser(description="How far one prompt goes through the product.")
    parser.add_argument("--names", action="store_true", help="list the functions by module")
    arguments = parser.parse_args()
    walk, reply = walk_of_prompt()
    if "cents" not in reply:
        raise SystemExit(f"The prompt got no block: {reply!r}")
    modules = walk.modules
    print(
        f"{walk.calls} calls, {len(walk.functions)} functions, {len(modules)} modules, {walk.switches} switches"
    )
    if arguments.names:
        for file in sorted(modules):
            own = {code: times for code, times in walk.functions.items() if code.co_filename == file}
            names = ", ".join(f"{code.co_qualname} {times}" for code, times in own.items())
            print(f"{Path(file).relative_to(ROOT)} ({len(own)}): {names}")


if __name__ == "__main__":
    main()
