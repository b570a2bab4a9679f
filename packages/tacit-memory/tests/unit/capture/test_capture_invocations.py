"""Wrong invocations: which success shows what was wrong about a call, in generated forms, and which shows nothing."""

from __future__ import annotations

import itertools

import pytest

from tacit.capture.fixes import find_correction, find_fixes
from tacit.capture.session import SessionContext, extract_learnings, fix_draft
from tacit.hosts.transcripts import ToolUse, Turn
from tacit.model.scope import UNIVERSAL
from tacit.model.session import SessionKey
from tacit.reading.commands import refused_by_shell
from tacit.state.captured import Checkpoint

PLACE = SessionContext(session=SessionKey(host="h", session_id="s"), scope=UNIVERSAL)
SHELLS = (
    "/bin/bash: line 1: {0}: command not found", "zsh: command not found: {0}", "/bin/sh: 1: {0}: not found",
    "(eval):1: command not found: {0}", "bash: {0}: command not found",
)  # fmt: skip
TOOLS = ("pytest", "mypy", "alembic", "sphinx-build")
RUNNERS = (
    "uv run {0}",
    "poetry run {0}",
    ".venv/bin/{0}",
    "python -m {0}",
    "docker compose exec web {0}",
    "hatch run {0}",
)
UNSET = (
    "{1}: line 3: {0}: unbound variable", "{1}: 3: {0}: parameter not set", "KeyError: '{0}'", "error: the environment variable {0} must be set",
    "Error: Missing required environment variable: {0}", "thread 'main' panicked: {0} is not set",
)  # fmt: skip


def bash(command, error=""):
    return ToolUse(tool="bash", command=command, failed=bool(error), finished=True, error=error)


def turn(*tools, number=1, at_ms=1000):
    return Turn(index=0, number=number, role="assistant", text="", tools=tools, at_ms=at_ms)


def text_of(*tools):
    fixes, _ = find_fixes([turn(*tools)])
    return [fix_draft(fix, PLACE).content for fix in fixes]


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(("tool", "runner"), list(itertools.product(TOOLS, RUNNERS)))
def test_another_program(shell, tool, runner):
    right = runner.format(tool)
    error = f"Exit code 127\n{shell.format(tool)}"
    (text,) = text_of(bash(f"{tool} src -q", error), bash("ls"), bash(f"{right} src --strict"))
    said = f"command not found: {tool}" if "found: {0}" in shell else shell.split(": ")[-1]
    assert text.startswith(f"`{tool}` failed with: ")
    assert said.replace("{0}", tool) in text
    assert text.endswith(f"Cause: `{tool}` is not on the PATH. `{right}` works.")


@pytest.mark.parametrize("unset", UNSET)
@pytest.mark.parametrize(
    "command", ["sh scripts/index.sh", "python manage.py migrate", "cargo run -p api", "npm run seed"]
)
@pytest.mark.parametrize(
    "form", ["{0}=x1 {1}", "env {0}=x1 {1}", "export {0}=x1 && {1}", "export {0}=x1; {1} --all"]
)
def test_a_missing_variable(unset, command, form):
    error = f"Exit code 1\n{unset.format('DOCS_DIR', 'index.sh')}"
    (text,) = text_of(bash(command, error), bash("cat README.md"), bash(form.format("DOCS_DIR", command)))
    assert text.startswith(f"`{command}` failed with: ")
    assert text.endswith(f"Cause: it needs the variable `DOCS_DIR`. `DOCS_DIR=x1 {command}` works.")


@pytest.mark.parametrize(
    ("failed", "error", "ran", "cause"),
    [
        ("docker compose up -d", "no configuration file provided: not found", "docker compose -f deploy/dev.yml up -d", "it needs `-f deploy/dev.yml`"),
        ("git push", "fatal: The current branch a has no upstream branch.\n  git push --set-upstream origin a", "git push --set-upstream origin a", "it needs `--set-upstream origin`"),
        ("cargo build", "error: could not find `Cargo.toml` in `/w`", "cargo build --manifest-path rust/Cargo.toml", "it needs `--manifest-path rust/Cargo.toml`"),
        ("make docs", "make: *** No rule to make target 'docs'.  Stop.", "make doc", "there is no `docs` but `doc`"),
        ("npm run lint", 'npm error Missing script: "lint"', "npm run lint:all", "there is no `lint` but `lint:all`"),
        ("python manage.py check", "python: can't open file '/w/manage.py': [Errno 2] No such file or directory", "python backend/manage.py check", "there is no `manage.py` but `backend/manage.py`"),
        ("npm test", "npm error enoent Could not read package.json: Error: ENOENT: no such file or directory", "cd web && npm test", "it has to run in `web`"),
        ("docker-compose up", "bash: docker-compose: command not found", "docker compose up -d", "`docker-compose` is not on the PATH"),
        ("yarn build", "/bin/sh: 1: yarn: not found", "npm run build", "`yarn` is not on the PATH"),
        ("python3 -m pytest", "/usr/bin/python3: No module named pytest", ".venv/bin/python -m pytest -x", "this `python3` has no module `pytest`"),
        ("python app.py", "ModuleNotFoundError: No module named 'flask'", "uv run python app.py", ""),
        ("pytest -q", "bash: pytest: command not found", "source .venv/bin/activate && pytest -q", ""),
    ],
)  # fmt: skip
def test_other_ways_to_be_wrong(failed, error, ran, cause):
    found = find_correction(failed, error, ran)
    assert found is not None
    assert found.cause == cause


@pytest.mark.parametrize(
    ("failed", "error", "ran"),
    [
        ("pytest tests", "bash: pytest: command not found", "ruff check tests"),
        ("make docs", "make: *** No rule to make target 'docs'.  Stop.", "make test"),
        ("pytest", "ImportError: cannot import name x", "pytest -k one"),
        ("pytest tests/a.py", "ImportError: cannot import name x", "pytest tests/b.py"),
        ("npm run build", "Error: Cannot find module 'x'", "npm run lint"),
        ("tool sync", "error: unknown command sync", "tool --help"),
        ("tool sync", "bash: tool: command not found", "uv run tool --version"),
        ("go build ./...", "main.go:3: no required module provides package foo", "go vet ./..."),
        ("python a.py", "ModuleNotFoundError: No module named 'a'", "python b.py"),
        ("cargo test", "error: linking with `cc` failed", "cargo test --release"),
        ("npm test", "npm error ENOENT: no such file or directory", "cd /tmp/other && npm test"),
        ("gcc 'un", "error: missing", "gcc 'un closed"),
    ],
)  # fmt: skip
def test_another_piece_of_work_proves_nothing(failed, error, ran):
    assert find_correction(failed, error, ran) is None


def test_tests_that_run_and_fail_prove_the_program():
    red = "Exit code 1\nFAILED tests/test_a.py::test_b - AssertionError\n1 failed, 3 passed"
    (text,) = text_of(bash("pytest", "bash: pytest: command not found"), bash("uv run pytest", red))
    assert "`uv run pytest` works" in text
    assert text_of(bash("pytest", "ImportError: no"), bash("pytest --extra x", red)) == []


def test_an_edit_may_have_been_the_fix():
    edit = ToolUse(tool="edit", paths=("setup.cfg",), finished=True)
    needs = bash("tool run", "error: the environment variable HOME_DIR must be set")
    assert find_fixes([turn(needs, edit, bash("HOME_DIR=x tool run"))])[0] == ()
    (text,) = text_of(bash("pytest", "bash: pytest: command not found"), edit, bash("uv run pytest"))
    assert text.endswith("`uv run pytest` works."), "no edit makes a program appear"


def test_two_wrong_ways_and_a_right_one_are_two_fixes():
    texts = text_of(
        bash("pytest -q", "bash: pytest: command not found"),
        bash("python -m pytest -q", "/usr/bin/python: No module named pytest"),
        bash("uv run pytest -q"),
    )
    assert [text.split("`")[1] for text in texts] == ["pytest", "python -m pytest"]


def test_a_later_turn_and_a_later_session_correct_it():
    failed = turn(bash("flake8 src", "bash: flake8: command not found"))
    fixes, _ = find_fixes([failed, turn(bash("uv run flake8 src"), number=4)])
    assert [fix.turn for fix in fixes] == [4]

    def read(turns, pending=()):
        return extract_learnings(
            turns, Checkpoint(), place=PLACE, captured_hashes=frozenset(), redact=str, pending=pending
        )

    left = read([failed]).pending
    other = SessionContext(session=SessionKey(host="h", session_id="later"), scope=UNIVERSAL)
    later = extract_learnings(
        [turn(bash("uv run flake8 tests"))],
        Checkpoint(),
        place=other,
        captured_hashes=frozenset(),
        redact=str,
        pending=left,
    )
    (draft,) = later.drafts
    assert draft.content.endswith("`uv run flake8` works.")
    assert later.pending == ()


def test_a_secret_in_a_variable_is_not_shown():
    def redact(text):
        return text.replace("postgres://u:hunter2@db/x", "[redacted:url]")

    tools = (
        bash("tool migrate", "error: DATABASE_URL is not set"),
        bash("DATABASE_URL=postgres://u:hunter2@db/x tool migrate"),
    )
    (draft,) = extract_learnings(
        [turn(*tools)], Checkpoint(), place=PLACE, captured_hashes=frozenset(), redact=redact
    ).drafts
    assert "DATABASE_URL" in draft.content
    assert "hunter2" not in draft.content


@pytest.mark.parametrize(
    ("command", "output", "refused"),
    [
        ("python -m pytest -q 2>&1 | tail -5", "/usr/bin/python: No module named pytest\n", True),
        ("flake8 src | head", "/bin/bash: line 1: flake8: command not found", True),
        ("grep -rn 'command not found' logs | head", "logs/a: foo: command not found", False),
        ("cat notes.txt | head", "pytest: command not found", False),
    ],
)
def test_a_pipe_hides_the_exit_code_of_a_missing_program(command, output, refused):
    assert refused_by_shell(command, output) is refused


def test_a_compile_error_of_the_edited_file_is_no_knowledge():
    edit = ToolUse(tool="edit", paths=("/w/cmd/main.go",), finished=True)
    error = 'cmd/main.go:5:2: "encoding/json" imported and not used'
    assert text_of(bash("go build ./...", error), edit, bash("go build ./...")) == []
