"""Goals that tests show: which tests, and how they end today.

In: names of tests, as pytest takes them. Out: how many jobs, frameworks and so on have tests that pass. A test that is skipped, because
a browser, a client or a framework is missing, shows nothing. All of them run in CI (`.ci/run`) as well.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tacit_evals.goals.goal import Goal, counted
from tacit_evals.plain_install import SOURCE

_WEB = "tests/e2e/web"
_FRAMEWORKS = "packages/tacit-integrations/tests/test_frameworks.py::test_requests_differ_by_the_blocks_alone"
_FRAMEWORK_PYTHON = SOURCE / ".venv-frameworks" / "bin" / "python"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A goal that tests show.

    Attributes:
        name, target: as the table says them.
        tests: for each part of the goal, such as one job, the tests that show it.
    """

    name: str
    target: str
    tests: Mapping[str, tuple[str, ...]]


GOALS = (
    Shown(
        name="CLI jobs possible on the page",
        target="6 of 6",
        tests={
            "export": (f"{_WEB}/test_web_data.py::test_an_export_is_downloaded_or_written_to_a_file",),
            "import": (
                f"{_WEB}/test_web_data.py::test_an_import_shows_what_it_would_do_then_does_it_and_is_taken_back",
            ),
            "purge": (f"{_WEB}/test_web_data.py::test_a_purge_shows_what_it_would_remove_and_asks",),
            "backup": (
                f"{_WEB}/test_web_data.py::test_a_backup_is_written_and_restored_while_tacit_goes_on",
            ),
            "holdout": (
                f"{_WEB}/test_web_data.py::test_the_comparison_with_and_without_memory_says_what_is_clear",
            ),
            "changes": (
                f"{_WEB}/test_web_data.py::test_the_change_log_shows_words_filters_and_takes_one_change_back",
            ),
        },
    ),
    Shown(
        name="frameworks with a tested recipe in CI",
        target="8, with LangChain Anthropic, LangGraph, Vercel AI",
        tests={
            "LangChain Anthropic": (f"{_FRAMEWORKS}[langchain-messages-sync]",),
            "LangChain OpenAI": (
                f"{_FRAMEWORKS}[langchain-chat-sync]",
                f"{_FRAMEWORKS}[langchain-responses-sync]",
            ),
            "LangGraph": (
                "packages/tacit-integrations/tests/test_langgraph_store.py::test_a_graph_keeps_and_finds",
            ),
            "Pydantic AI": (f"{_FRAMEWORKS}[pydantic_ai-messages-sync]",),
            "OpenAI Agents SDK": (f"{_FRAMEWORKS}[openai_agents-responses-sync]",),
            "LlamaIndex": (f"{_FRAMEWORKS}[llama_index-chat-sync]",),
            "LiteLLM": (f"{_FRAMEWORKS}[litellm-chat-sync]",),
            "Vercel AI SDK": (
                "tests/e2e/test_e2e_typescript.py::test_the_middleware_keeps_every_prefix_and_learns_by_choice",
                "tests/e2e/test_e2e_typescript.py::test_the_chat_of_the_guide_has_a_memory_and_learns",
            ),
        },
    ),
    Shown(
        name="agent in another language: start, prompt, action, capture by the documented API",
        target="TypeScript example in CI",
        tests={
            "TypeScript": (
                "tests/e2e/test_e2e_own_agent.py::test_the_agent_of_the_guide_has_a_memory[typescript]",
                "tests/e2e/test_e2e_own_agent.py::test_the_agent_of_the_guide_works_without_a_daemon[typescript]",
            )
        },
    ),
    Shown(
        name="any MCP client connected by one command",
        target="`tacit mcp` and 6 clients",
        tests={
            "tacit mcp": ("tests/e2e/test_e2e_mcp_clients.py::test_the_command_is_a_server_by_itself",),
            "Windsurf, Cline, Zed, VS Code, JetBrains, Claude Desktop": (
                "tests/e2e/test_e2e_mcp_clients.py::test_every_client_is_installed_proved_and_removed_to_the_byte",
            ),
        },
    ),
    Shown(
        name="memory decisions above the fold at 390 px",
        target="yes",
        tests={
            "accept and reject": (
                f"{_WEB}/test_web_review.py::test_on_a_phone_the_decision_is_in_sight_at_once",
            )
        },
    ),
)


def measure(goals: Sequence[Shown] = GOALS) -> list[Goal]:
    """Run the tests of all goals: those of the frameworks in their own environment, if it is there."""
    names = [test for goal in goals for tests in goal.tests.values() for test in tests]
    framework = [name for name in names if name.startswith("packages/tacit-integrations/tests/")]
    others = [name for name in names if name not in framework]
    python = _FRAMEWORK_PYTHON if _FRAMEWORK_PYTHON.is_file() else Path(sys.executable)
    ended = {**ended_of(others, Path(sys.executable)), **ended_of(framework, python)}
    return [goal_of(goal, ended) for goal in goals]


def ended_of(names: Sequence[str], python: Path) -> dict[str, str]:
    """How each test ended: "passed", or why it was skipped or failed; one that never ran is missing. Names without parameters stand for all."""
    if not names:
        return {}
    with tempfile.TemporaryDirectory(prefix="tacit-goals-") as folder:
        report = Path(folder) / "report.xml"
        command = [
            str(python), "-m", "pytest", "-q", "-p", "no:cacheprovider", "--timeout", "300",
            "-o", "junit_family=xunit1", f"--junitxml={report}", *names,
        ]  # fmt: skip
        done = subprocess.run(command, cwd=SOURCE, capture_output=True, text=True, check=False)
        if not report.is_file():
            raise SystemExit(f"pytest did not run:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
        cases = [(_case_name(case), _ending(case)) for case in ET.parse(report).iter("testcase")]
    ended: dict[str, str] = {}
    for name in names:
        of_it = [ending for case, ending in cases if case == name or case.startswith(f"{name}[")]
        if of_it:
            ended[name] = next((ending for ending in of_it if ending != "passed"), "passed")
    return ended


def _case_name(case: ET.Element) -> str:
    return f"{case.get('classname', '').replace('.', '/')}.py::{case.get('name', '')}"


def _ending(case: ET.Element) -> str:
    for child in case:
        if child.tag in ("failure", "error", "skipped"):
            reason = child.get("message", "").strip().partition("\n")[0]
            return f"{'skipped' if child.tag == 'skipped' else 'failed'}: {reason}"
    return "passed"


def goal_of(goal: Shown, ended: Mapping[str, str]) -> Goal:
    """The goal with the parts whose tests all passed."""
    faults = [
        f"{part}: {test} {ended.get(test, 'did not run')}"
        for part, tests in goal.tests.items()
        for test in tests
        if ended.get(test) != "passed"
    ]
    good = [part for part, tests in goal.tests.items() if all(ended.get(test) == "passed" for test in tests)]
    return counted(
        goal.name,
        len(good),
        len(goal.tests),
        target=goal.target,
        least=1.0,
        more=", ".join(good),
        shown_by=[f"{part}: {test}" for part, tests in goal.tests.items() for test in tests],
        faults=faults,
    )
