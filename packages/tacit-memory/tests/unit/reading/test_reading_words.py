"""Commands, entities, error signatures, sentences, languages and terms."""

from __future__ import annotations

import pytest

from tacit.model.memory import Entity
from tacit.reading.commands import command_actions, is_test, main_command, split_commands
from tacit.reading.errors import MAX_CHARS, error_signature
from tacit.reading.languages import is_code, language_of, languages_in
from tacit.reading.sentences import shorten_at_sentence, split_sentences
from tacit.reading.terms import find_entities, find_paths, informative_words, objects_of, prose_of


@pytest.mark.parametrize(
    ("command", "names"),
    [
        ("cd x && ENV=1 git -C y commit -m 'a; b && c' | cat", ("git commit", "cat")),
        ("uv run pytest -q && npm run lint:fix", ("pytest", "npm run lint:fix")),
        ("python3.11 -m pytest tests", ("pytest",)),
        ("sudo -E apt-get install -y jq", ("apt-get install",)),
        ("timeout 30 go test ./...", ("go test",)),
        ("./node_modules/.bin/eslint .", ("eslint",)),
        ("npx --yes vitest run", ("vitest",)),
        ("gh pr create --title 'x'", ("gh pr create",)),
        ("docker compose -f a.yml up -d", ("docker compose up",)),
        ("python manage.py migrate", ("python manage.py migrate",)),
        ("cat <<EOF > f\ngit push\nEOF", ("cat",)),
        ("echo hi; cd ..", ()),
        ("", ()),
        ('git commit -m "unclosed', ("git commit",)),
    ],
)
def test_commands_are_normalised(command: str, names: tuple[str, ...]) -> None:
    assert split_commands(command) == names


def test_the_main_command_is_the_first_that_counts() -> None:
    assert main_command("cd a && make test | tail") == "make test"
    assert main_command("") == ""


def test_an_unknown_program_is_a_command() -> None:
    assert command_actions("frobnicate") == (("run_command", 0.7),)
    assert command_actions("git commit")[0] == ("commit", 1.0)


def test_entities_of_a_sentence() -> None:
    found = find_entities(
        "Run `golangci-lint run` on pkg/a/b.go; ModuleNotFoundError in parse_date(). `npm install @scope/pkg`, then git commit."
    )
    assert Entity(kind="file", key="pkg/a/b.go") in found
    assert Entity(kind="error", key="modulenotfounderror") in found
    assert Entity(kind="symbol", key="parse_date") in found
    assert Entity(kind="package", key="@scope/pkg") in found
    assert Entity(kind="command", key="git commit") in found
    assert Entity(kind="command", key="golangci-lint") in found
    assert not any(e.kind == "file" and "scope" in e.key for e in found)
    assert list(found) == sorted(found, key=lambda e: (e.kind, e.key))


def test_plain_prose_names_nothing() -> None:
    assert find_entities("We decided to keep it simple and go with the first idea.") == ()


SAME = [
    ("/home/a/x.py:12: KeyError: 'name'", "C:\\work\\y.py:99: KeyError: 'other'"),
    ("main.go:12:3: undefined: foo\nexit status 2", "cmd/main.go:7:1: undefined: foo\nexit status 2"),
    ("Error: connect ECONNREFUSED 127.0.0.1:5432", "Error: connect ECONNREFUSED 10.0.0.7:5433"),
    (
        "2026-01-02T10:00:00Z fatal: not a git repository: '/a'",
        "2027-05-06T11:12:13Z fatal: not a git repository: '/b/c'",
    ),
    ("panic: nil map at 0xc000123abc", "panic: nil map at 0xc000999def"),
    (
        "Traceback (most recent call last):\n  File \"/a.py\", line 3, in f\nValueError: invalid literal for int() with base 10: 'x'",
        'Traceback (most recent call last):\n  File "/b.py", line 30, in g\n  File "/c.py", line 1\nValueError: invalid literal for int() with base 10: \'yz\'',
    ),
    ("\x1b[31merror TS2345\x1b[0m: a.ts(3,4) bad argument", "error TS2345: b.ts(30,40) bad argument"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_a_signature_survives_trivial_changes(one: str, other: str) -> None:
    assert error_signature(one, command="make test") == error_signature(other, command="cd x && make test")
    assert error_signature(one)


def test_different_failures_differ() -> None:
    texts = ["KeyError: 'a'", "ValueError: bad date", "exit status 2", "exit status 137", "error TS2345: x", "error TS2304: x", "ENOENT: no such file", "connect ECONNREFUSED", "undefined: foo", "permission denied"]  # fmt: skip
    assert len({error_signature(text) for text in texts}) == len(texts)
    assert error_signature("failed", command="npm test") != error_signature("failed", command="go build")


def test_a_signature_is_short_and_may_be_empty() -> None:
    assert error_signature("") == ""
    assert len(error_signature("fatal error " + "word" * 50 + " something failed badly " * 999)) <= MAX_CHARS


def test_a_signature_reads_the_end_of_a_huge_log() -> None:
    assert "zerodivisionerror" in error_signature("ok\n" * 2_000_000 + "ZeroDivisionError: division by zero")


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("Use e.g. foo.py here. Then run it! See v1.2 for more.", ("Use e.g. foo.py here.", "Then run it!", "See v1.2 for more.")),
        ("- one. two\n- three", ("- one. two", "- three")),
        ("1. First thing\n2. Second thing", ("1. First thing", "2. Second thing")),
        ("Before.\n```py\na = 1. b\n```\nAfter.", ("Before.", "```py\na = 1. b\n```", "After.")),
        ("Call `a. B()` now. Done", ("Call `a. B()` now.", "Done")),
        ("A line\nthat goes on. End.", ("A line that goes on.", "End.")),
        ("これは文です。次の文。", ("これは文です。", "次の文。")),
        ("Really?! Yes.", ("Really?!", "Yes.")),
        ("", ()),
    ],
)  # fmt: skip
def test_sentences(text: str, sentences: tuple[str, ...]) -> None:
    assert split_sentences(text) == sentences


def test_shortening_ends_at_a_sentence() -> None:
    text = "One two. Three four. Five six seven."
    assert shorten_at_sentence(text, lambda t: len(t) <= 100) == text
    assert shorten_at_sentence(text, lambda t: len(t) <= 22) == "One two. Three four."
    assert shorten_at_sentence(text, lambda t: len(t) <= 19) == "One two."
    assert shorten_at_sentence(text, lambda t: len(t) <= 5) == ""


def test_languages() -> None:
    assert language_of("src/a.TSX") == "typescript"
    assert language_of("deploy/Dockerfile.prod") == "docker"
    assert language_of("LICENSE") == ""
    assert languages_in("Use Python, and in Go code gofmt; go on with node.js") == (
        "python",
        "go",
        "javascript",
    )
    assert languages_in("go ahead and swiftly rust") == ("rust",)
    assert is_code("a.rs")
    assert not is_code("a.md")


@pytest.mark.parametrize(
    "path", ["a_test.go", "tests/x.py", "src/a.spec.ts", "FooTests.cs", "test_a.py", "e2e/login.js"]
)
def test_tests_are_known_by_name(path: str) -> None:
    assert is_test(path)


def test_paths_and_words() -> None:
    text = "See https://x.y/z/a.html, and/or src/a/b.py, ./c.ts and @docs/GUIDE.md in `d.go`."
    assert find_paths(text) == ("src/a/b.py", "c.ts", "docs/GUIDE.md", "d.go")
    assert "b.py" in objects_of(text)
    assert informative_words("the droid watcher and the watcher") == ("droid", "watcher")
    assert "b.py" not in prose_of(text)
