"""The library's types, as a type checker in somebody else's project sees them (PEP 561)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import tacit

PROGRAM = """
from anthropic import Anthropic, AsyncAnthropic
from openai import OpenAI
from typing_extensions import assert_type
from tacit import InjectionResult, Prepared, Recollection, Stored, Tacit
from tacit_integrations import with_memory

with Tacit.open("x", cwd="") as memory:
    assert_type(memory, Tacit)
    assert_type(memory.recall("x"), Recollection)
    assert_type(memory.remember("x"), tuple[Stored, ...])
    assert_type(memory.context_for("x"), InjectionResult)
    ready = memory.session("s").prepare([{"role": "user", "content": "x"}])
    assert_type(ready, Prepared[dict[str, str]])
    assert_type(ready.messages, list[dict[str, str]])
    assert_type(with_memory(Anthropic(), memory), Anthropic)
    assert_type(with_memory(AsyncAnthropic()), AsyncAnthropic)
    assert_type(with_memory(OpenAI()), OpenAI)
"""


def test_the_package_says_that_it_is_typed() -> None:
    assert (Path(tacit.__file__).parent / "py.typed").exists()


@pytest.mark.slow
def test_a_program_of_somebody_else_is_checked_strictly(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    (tmp_path / "pyrightconfig.json").write_text('{"typeCheckingMode": "strict"}')
    command = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, str(program)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stdout
