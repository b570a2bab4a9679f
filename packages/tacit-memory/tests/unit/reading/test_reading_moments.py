"""The moments that a rule names, and the calls that are one."""

from __future__ import annotations

import pytest

from tacit.model.signal import ToolCall
from tacit.reading.moment_calls import (
    acts_asked,
    acts_proposed,
    fit_of,
    keys_of_call,
    keys_of_rule,
    read_call_facts,
)
from tacit.reading.moments import read_moments

TOKENIZER = "`parser.py` holds the tokenizer; do not use regular expressions outside it."


def ran(command: str) -> ToolCall:
    return ToolCall(tool="bash", command=command)


def changed(path: str) -> ToolCall:
    return ToolCall(tool="edit", paths=(path,))


def fit(rule: str, call: ToolCall) -> str:
    """The best fit of a rule with a call; a fit that no key leads to counts as none."""
    facts = read_call_facts(call)
    found = {fit_of(moment, facts) for moment in read_moments(rule)}
    if set(keys_of_rule(rule)).isdisjoint(keys_of_call(facts)):
        return "no"
    return "now" if "now" in found else "next" if "next" in found else "no"


@pytest.mark.parametrize(
    ("rule", "call"),
    [
        ("Lint with `flake8` before every commit.", ran("cd src && git commit -m 'x'")),
        ("Work on this project: Lint with `flake8` before every commit", ran("git commit -m x")),
        ("Before committing, run the linter.", ran("git -C app commit --all")),
        ("Never push to main.", ran("git push origin main")),
        ("Never push to main.", ran("git push")),
        ("Don't force-push.", ran("git push -f origin topic")),
        ("After editing a file in proto/, run `make generate`.", changed("services/proto/user.proto")),
        ("Do not edit `yarn.lock` by hand.", changed("web/yarn.lock")),
        ("Use `uv add`, not `pip install`, for packages.", ran("python -m pip install httpx")),
        ("Never drop a table without a dump.", ran('psql -c "DROP TABLE orders"')),
        ("When fetching from docs.acme.dev, ask for the raw page.", ToolCall(tool="webfetch", text="https://docs.acme.dev/x")),
        ("Pull requests must name a ticket.", ToolCall(tool="mcp__github__create_pull_request")),
        ("Tests run with `-n 0`.", ran("uv run pytest tests")),
        ("Generated code in internal/gen is off limits.", changed("internal/gen/api.go")),
        ("Ask me before running `terraform apply`.", ran("terraform apply -auto-approve")),
        ("Amounts in src/ledger/ are integers in cents.", changed("src/ledger/discount.py")),
        ("In src/api/, use the repository classes.", changed("src/api/orders.py")),
    ],
)  # fmt: skip
def test_the_call_that_a_rule_names(rule: str, call: ToolCall) -> None:
    assert fit(rule, call) == "now"


@pytest.mark.parametrize(
    ("rule", "call"),
    [
        ("Lint with `flake8` before every commit.", ran("flake8 src")),
        ("Work on this project: Lint with `flake8` before every commit", ran("flake8 src")),
        ("Continuous integration: the build runs before every commit.", ran("git commit -m x")),
        ("Lint with `flake8` before every commit.", ran('grep -rn "git commit" docs')),
        ("Never push to main.", ran("git push -u origin fix/main-menu")),
        ("Never push to main.", ran('echo "git push origin main"')),
        ("Do not edit `yarn.lock` by hand.", changed("web/package.json")),
        ("Never delete anything in fixtures/.", changed("fixtures/a.json")),
        ("Before tagging a release, bump the version.", ran("git tag --list")),
        ("Tests must not touch the network.", ran("pytest tests")),
        ("The build runs when a commit changes `src`.", ran("git commit -m x")),
        ("Push items onto the queue before the worker starts.", ran("git push")),
        ("Don't query the production database.", ran("psql -d app_dev -c 'select 1'")),
        ("Never run `docker system prune`.", ran("docker system df")),
        ("`kubectl delete` needs my approval.", ran("kubectl get pods")),
        ("Run the linter after every change.", ran("ruff check .")),
    ],
)
def test_a_call_that_a_rule_does_not_name(rule: str, call: ToolCall) -> None:
    assert fit(rule, call) == "no"


@pytest.mark.parametrize(
    ("rule", "call"),
    [
        ("Never push to main.", ran("git commit -m x")),
        ("You must not commit to `release/*`.", ran("git switch release/2.3")),
        ("You do not run `terraform apply`.", ran("terraform plan -out p")),
        ("Never run `gem push`.", ran("gem build shop.gemspec")),
        ("Do not edit vendor/.", ToolCall(tool="read", paths=("vendor/lib/a.c",))),
    ],
)
def test_what_is_forbidden_is_known_at_the_step_before(rule: str, call: ToolCall) -> None:
    assert fit(rule, call) == "next"


def test_only_a_prohibition_comes_early() -> None:
    assert fit("Before every push, run the tests.", ran("git commit -m x")) == "no"


@pytest.mark.parametrize(
    ("prompt", "acts"),
    [
        ("Looks good, commit it and push.", {"commit", "push"}),
        ("Don't push yet.", set()),
        ("What did the last commit change?", set()),
        ("please open a pull request", {"pull_request"}),
        ("Run the tests again.", {"test"}),
    ],
)
def test_the_acts_that_a_prompt_orders(prompt: str, acts: set[str]) -> None:
    assert acts_asked(prompt) == acts


@pytest.mark.parametrize(
    ("message", "acts"),
    [
        ("Done. Shall I push to main?", {"push"}),
        ("Added. Shall I commit and push to main?", {"commit", "push"}),
        ("Want me to commit?", {"commit"}),
        ("I'll run the tests and then deploy.", {"test", "deploy"}),
        ("All done; nothing to push.", set()),
        ("I pushed the fix.", set()),
    ],
)
def test_the_acts_that_an_agent_offers(message: str, acts: set[str]) -> None:
    assert acts_proposed(message) == acts


@pytest.mark.parametrize(
    "statement",
    [
        "Prefer dataclasses to dicts.",
        "The auth module is in src/auth/ with 3 files.",
        "In tests, use factories.",
        "Tests live in tests/unit/ and are quick.",
        "The staging database listens on 5433.",
        "Names are in English.",
        "",
    ],
)
def test_a_statement_that_names_no_moment(statement: str) -> None:
    assert read_moments(statement) == ()


@pytest.mark.parametrize(
    ("rule", "call", "expected"),
    [
        (TOKENIZER, changed("src/dotenv/parser.py"), "now"),
        (TOKENIZER, ToolCall(tool="read", paths=("src/dotenv/parser.py",)), "next"),
        (TOKENIZER, ran("cat parser.py"), "next"),
        (TOKENIZER, changed("src/dotenv/main.py"), "no"),
        (TOKENIZER, changed("tests/test_parser.py"), "no"),
        (TOKENIZER, ToolCall(tool="read", paths=("docs/parser.md",)), "no"),
        ("`src/legacy/` is frozen; never add features there.", changed("src/legacy/a/b.py"), "now"),
        ("src/billing/parse.py must not load a whole file.", changed("src/billing/parse.py"), "now"),
        ("`settings.py` must stay sorted.", changed("app/settings.py"), "now"),
        (
            "The file `schema.sql` is the source; never edit the generated one.",
            changed("db/schema.sql"),
            "now",
        ),
        ("`parser.py` holds the tokenizer.", changed("parser.py"), "no"),
        (
            "`pkg/providers/*` holds the providers; `pkg/spi/` is what they build on.",
            changed("pkg/providers/a.go"),
            "no",
        ),
        (
            "`install.sh` runs on macOS alone, requires node, and pulls the model.",
            changed("install.sh"),
            "no",
        ),
        (
            "`settings.vue` never waits for the loader; it is read with useState.",
            changed("settings.vue"),
            "no",
        ),
        ("`parser.py` holds the tokenizer. Never commit secrets.", changed("parser.py"), "no"),
        ("`os.path` must not be used; use pathlib.", changed("os.path"), "no"),
    ],
)
def test_a_rule_whose_subject_is_a_file(rule: str, call: ToolCall, expected: str) -> None:
    assert fit(rule, call) == expected


def test_a_rule_about_a_file_forbids_no_edit_of_it() -> None:
    (moment,) = read_moments(TOKENIZER)
    assert (moment.subject, moment.forbids) == (True, False)
