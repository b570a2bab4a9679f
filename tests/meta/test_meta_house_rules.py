"""The house rules, held by a machine: names, boundaries, imports, docs. Exceptions need a line with a reason."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = sorted(path for folder in ROOT.glob("packages/*/src") for path in folder.rglob("*.py"))
BANNED_NAMES = {"utils", "helpers", "common", "base", "manager"}

BROAD_EXCEPTS: dict[str, str] = {
    "packages/tacit-memory/src/tacit/api/routes.py": "entry point of every request",
    "packages/tacit-memory/src/tacit/providers/embedding/session.py": "the runtime's errors share no other base class; turned into ours at once",
    "packages/tacit-memory/src/tacit/library/session.py": "the library's boundary: a program's own request goes out all the same",
    "packages/tacit-memory/src/tacit/library/engine_access.py": "the library's boundary: a broken store costs the blocks, not the request",
    "packages/tacit-memory/src/tacit/app/learning.py": "background job: the answer is out already",
    "packages/tacit-memory/src/tacit/app/sharing/syncing.py": "background jobs: recall goes on without the other devices",
    "packages/tacit-server/src/tacit_server/service.py": "entry point of every request to the server",
    "packages/tacit-memory/src/tacit/app/signals.py": "background job: the answer is out already",
    "packages/tacit-memory/src/tacit/app/sessions.py": "background job: the answer is out already",
    "packages/tacit-memory/src/tacit/cli/main.py": "entry point of the command line",
    "packages/tacit-memory/src/tacit/daemon/hook_listener.py": "no client may take a thread away from the others",
    "packages/tacit-memory/src/tacit/daemon/hooks.py": "entry point of every hook: whatever fails, the agent's turn goes on",
    "packages/tacit-memory/src/tacit/mcp/server.py": "a tool that broke: the agent goes on without it",
    "packages/tacit-memory/src/tacit/daemon/process.py": "background jobs of the daemon",
    "packages/tacit-memory/src/tacit/daemon/source.py": "opening the engine: requests get silence and the reason is logged",
    "packages/tacit-integrations/src/tacit_integrations/exchange.py": "the middleware's boundary: a program's own request goes out all the same",
    "packages/tacit-integrations/src/tacit_integrations/proxy/app.py": "the proxy's boundary: a program's own request goes out all the same",
    "packages/tacit-memory/src/tacit/providers/embedding/onnx_dir.py": "the tokenizer library's errors share no other base class",
    "packages/tacit-memory/src/tacit_hook.py": "the hook must never harm a turn",
}
"""Where `except Exception` (or wider) may stand, and why. This list only shrinks."""


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


Statement = ast.stmt | ast.ExceptHandler


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What the rules ask of a module. `catches_all`: a handler that ends every error."""

    documented: bool
    catches_all: bool


def statements(node: ast.AST) -> Iterator[Statement]:
    """The statements below `node`, at any depth; expressions hold none."""
    for name in ("body", "orelse", "finalbody", "handlers", "cases"):
        for below in getattr(node, name, ()):
            yield below
            yield from statements(below)


@cache
def facts_of(path: Path) -> Facts:
    """One module; it is parsed only if it may catch every error."""
    text = path.read_text()
    found = statements(ast.parse(text)) if re.search(r"except(?: (?:Base)?Exception\b.*)?:", text) else ()
    return Facts(
        documented=bool(re.match(r'(?:#.*\n)*"""\S', text)),
        catches_all=any(isinstance(one, ast.ExceptHandler) and _ends_every_error(one) for one in found),
    )


def _ends_every_error(handler: ast.ExceptHandler) -> bool:
    last = handler.body[-1]
    if isinstance(last, ast.Raise) and last.exc is None:
        return False  # cleans up and goes on raising
    return handler.type is None or (
        isinstance(handler.type, ast.Name) and handler.type.id in ("Exception", "BaseException")
    )


def test_no_room_is_called_by_a_word_without_meaning():
    assert [relative(p) for p in SOURCE if p.stem in BANNED_NAMES or p.parent.name in BANNED_NAMES] == []


def test_every_module_says_what_it_is_for():
    assert [relative(p) for p in SOURCE if not facts_of(p).documented] == []


def test_broad_excepts_stand_only_at_named_boundaries():
    found = {
        relative(path)
        for path in SOURCE
        if not relative(path).startswith("packages/tacit-evals/") and facts_of(path).catches_all
    }
    assert found <= set(BROAD_EXCEPTS), found - set(BROAD_EXCEPTS)


def test_only_config_reads_the_environment():
    found = {
        relative(path)
        for path in SOURCE
        if relative(path).startswith("packages/tacit-memory/src/tacit/")
        and not relative(path).startswith("packages/tacit-memory/src/tacit/config/")
        if re.search(r"\bos\.(?:environ|getenv)\b", path.read_text())
    }
    assert found <= ENVIRONMENT_READERS.keys(), found


ENVIRONMENT_READERS: dict[str, str] = {
    "packages/tacit-memory/src/tacit/cli/terminal/pager.py": "sets the options of `less` for the program that it starts; reads none",
    "packages/tacit-memory/src/tacit/system/git.py": "git runs in the environment of this process, without the variables that steer git",
    "packages/tacit-memory/src/tacit/daemon/__main__.py": "sets a variable of pydantic before that is imported; reads none",
}
"""Modules outside config/ that read the environment, with the reason. This list only shrinks."""


def test_yaml_is_read_in_one_place():
    readers = {
        path.name
        for path in SOURCE
        if "tacit-evals" not in path.parts and "import YAML" in path.read_text("utf-8")
    }
    assert readers == {"yaml_file.py", "overrides.py"}, (
        "`parse_settings` is the reader; `overrides` writes, and reads with it first"
    )


def test_only_declarations_name_stored_values():
    """The type checker refuses any other text as a name: pyright is strict on every package but tacit-evals."""
    makers = {
        relative(path)
        for path in SOURCE
        if "ValueName" in (text := path.read_text("utf-8"))
        for node in ast.walk(ast.parse(text))
        if (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "ValueName")
        or (isinstance(node, ast.Call) and "ValueName" in {ast.unparse(one).strip("'") for one in node.args})
    }
    assert makers == {
        "packages/tacit-memory/src/tacit/state/registry.py",
        "packages/tacit-memory/src/tacit/ports/store.py",
    }, "the port declares the type"
    untyped = [path for path in SOURCE if "tacit-evals" in path.parts]
    assert [
        relative(path) for path in untyped if re.search(r"\.(?:get|put)_value\(", path.read_text("utf-8"))
    ] == []


def test_classes_of_values_are_frozen_and_quick_to_define():
    tacit = ROOT / "packages/tacit-memory/src/tacit"
    wrong = [
        f"{relative(path)}: {node.name}"
        for path in sorted(tacit.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.ClassDef)
        for decorator in node.decorator_list
        if (given := dataclass_options(decorator)) is not None
        and (
            given == {"frozen", "slots", "kw_only"}
            or (path.parent == tacit / "model" and "order" not in given)
        )
    ]
    assert wrong == [], "use @frozen (tacit/frozen.py)"


def dataclass_options(decorator: ast.expr) -> set[str | None] | None:
    """The options that a decorator `dataclass` switches on; None = it is another one."""
    call = decorator if isinstance(decorator, ast.Call) else None
    if getattr(call.func if call else decorator, "id", "") != "dataclass":
        return None
    return {one.arg for one in call.keywords if getattr(one.value, "value", False)} if call else set()


def test_the_hook_client_loads_only_the_standard_library():
    tree = ast.parse((ROOT / "packages/tacit-memory/src/tacit_hook.py").read_text())
    names = {
        alias.name.split(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
    }
    names |= {
        node.module.split(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module
    }
    assert names <= sys.stdlib_module_names | {"__future__"}, names - sys.stdlib_module_names


@pytest.mark.parametrize(
    "heavy", ["numpy", "pydantic", "onnxruntime", "starlette", "typer", "logging", "mcp"]
)
def test_importing_tacit_loads_nothing_heavy(heavy):
    code = f"import sys, tacit; sys.exit({heavy!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_the_first_answer_of_a_daemon_waits_for_no_web_server():
    code = "import sys, tacit.daemon.process; sys.exit(not {'asyncio', 'starlette', 'uvicorn'}.isdisjoint(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_the_version_is_said_once():
    import tomllib

    import tacit

    assert tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"] == tacit.__version__


def test_every_relative_link_of_the_docs_leads_somewhere():
    pages = [*(ROOT / "docs").rglob("*.md"), *ROOT.glob("*.md")]
    broken = [
        f"{relative(page)}: {target}"
        for page in pages
        for target in re.findall(r"\]\((?!https?:|#|mailto:)([^)#\s]+)", page.read_text())
        if not (page.parent / target).exists()
    ]
    assert broken == []


def test_every_stage_and_surface_is_in_the_docs():
    from tacit.model.pack import Surface
    from tacit.model.trace import STAGES

    text = (ROOT / "docs/architecture.md").read_text() + (ROOT / "docs/glossary.md").read_text()
    missing = [name for name in (*STAGES, *(s.value for s in Surface)) if not re.search(rf"\b{name}\b", text)]
    assert missing == []


def test_every_kind_is_in_the_glossary():
    from tacit.model.kinds import BUILTIN

    text = (ROOT / "docs/glossary.md").read_text()
    assert [kind.name for kind in BUILTIN if f"`{kind.name}`" not in text] == []


def test_the_project_speaks_of_itself_alone():
    word = r"/work/(main|shared)\b|/tmp/lab\b|/root/|\bhelper session"
    found = subprocess.run(
        ["git", "grep", "-IliE", word, "--", ".", ":!tests/meta/test_meta_house_rules.py"],
        cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip
    assert found.returncode <= 1, found.stderr
    assert found.stdout == ""


def test_every_mcp_tool_and_argument_is_in_the_docs():
    from tacit.mcp.server import listed_tools

    text = (ROOT / "docs/reference/mcp.md").read_text()
    tools = listed_tools("full")
    names = [name for tool in tools for name in (tool.name, *tool.input_schema.get("properties", {}))]
    assert tools
    assert [name for name in names if f"`{name}`" not in text] == []
