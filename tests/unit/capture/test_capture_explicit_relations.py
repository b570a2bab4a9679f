"""What is said in so many words merges or ends; everything else is left to a person."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.capture.reconcile.explicit_relations import find_explicit_relation
from tacit_evals.data.made_up_pairs import make_pairs


@pytest.mark.parametrize(
    ("new", "old", "finding"),
    [
        ("Use pnpm, not npm from now on", "Always use npm to install packages", "replaced"),
        ("Use pnpm instead of npm", "We use npm for packages", "replaced"),
        ("From now on we lint with ruff instead of flake8.", "We lint with flake8.", "replaced"),
        ("No, that's wrong. We run `just check` before committing now, not `make lint`.", "We always run `make lint` before committing", "replaced"),
        ("We switched from Redis to Postgres for sessions", "Sessions are stored in Redis", "replaced"),
        ("The mail worker was moved from port 9000 to port 9001", "The mail worker listens on port 9000", "replaced"),
        ("The mail worker listens on 9001 instead of 9000", "The mail worker listens on 9000", "replaced"),
        ("flake8 was replaced by ruff for linting", "Use flake8 for linting", "replaced"),
        ("Use bun, not pnpm, to install packages", "Use pnpm instead of npm to install packages", "replaced"),
        ("We switched from flake8 to ruff", "Lint with `flake8 src tests` before every commit", "replaced"),
        ("We now use pnpm instead of npm", "Install packages using `npm ci`", "replaced"),
        ("We've moved from black to ruff", "Run `black src` before you push", "replaced"),
        ("We replaced yarn with bun", "We use yarn for packages", "replaced"),
        ("We no longer support Python 3.9", "We support Python 3.9", "denied"),
        ("Stop using npm", "Use npm for packages", "denied"),
        ("We don't run the demo on port 8080 any more; it is on 9191.", "The demo always listens on port 8080.", "denied"),
        ("Never squash commits", "Squash commits", "denied"),
        ("The port is now 9090", "The port is 8080", "value_changed"),
        ("We raised the upload limit to 50 MB", "The upload limit is 20 MB", "value_changed"),
        ("The settings now live in `app/new.toml`", "The settings live in `app/old.toml`", "value_changed"),
    ],
)  # fmt: skip
def test_what_is_said_to_replace_or_deny_ends_what_it_names(new, old, finding):
    assert find_explicit_relation(new, old) == finding


@pytest.mark.parametrize(
    ("new", "old"),
    [
        # it is not said that anything changed
        ("The port is 9090", "The port is 8080"),
        ("Run the tests before pushing", "Run the linter before pushing"),
        # another subject or another place
        ("We switched from flake8 to ruff", "Lint with `flake8 legacy` in the legacy folder"),
        ("We switched from flake8 to ruff", "Never run `flake8 src` on generated code"),
        ("We switched from flake8 to ruff", "`flake8 src` prints nothing when all is well"),
        ("We switched from flake8 to ruff", "Lint with `flake8 src` and then check types with `mypy src`"),
        ("We switched from flake8 to ruff", "Format with `black src` before every commit"),
        ("We moved from flake8 to ruff in the api package", "Lint with `flake8 src` before every commit"),
        ("Use ruff instead of flake8 for notebooks", "Lint with `flake8 src` before every commit"),
        ("The search service is now on port 9090", "The billing service is on port 8080"),
        ("Use pnpm, not npm, in CI", "Use npm"),
        ("Use pnpm in CI instead of npm", "Use npm"),
        ("Use `just check` instead of ruff for `src/search`", "Use ruff for `tests/e2e`"),
        ("Use pnpm, not npm", "Use npm when there is a lock file"),
        ("Use pnpm, not npm", "npm is slow on Windows"),
        ("The mail worker was moved from port 9000 to port 9001", "The search worker listens on port 9000"),
        ("Implemented `session delete` in place of `session drop`", "Commit to the branch named after the session"),
        ("We no longer use npm in the docs", "We use npm in the web app"),
        # exceptions, proposals, questions
        ("Use pnpm, not npm, except in CI", "Use npm"),
        ("Use pnpm, not npm, unless you are offline", "Use npm"),
        ("Should we use pnpm instead of npm?", "Use npm"),
        ("Maybe use pnpm instead of npm", "Use npm"),
        ("Consider using pnpm instead of npm", "Use npm"),
        # which one, not how much; several that hold at once
        ("Issue 13 is now about retries", "Issue 12 is about retries"),
        ("Room 4 is now painted", "Room 3 is painted"),
        ("Python 3.12 is now supported", "Python 3.11 is supported"),
        # a sentence about the past
        ("Formerly Redis, replaced by Postgres for sessions", "Use Postgres for sessions"),
        ("Sessions were formerly in Redis, replaced by Postgres", "Sessions are in Postgres"),
        ("The port used to be 8080", "The port is 9090"),
        ("The limit was 50 MB before it was raised", "The limit is 20 MB"),
        # it agrees
        ("Use pnpm, not npm", "Never use npm"),
        ("Use pnpm, not npm", "Use yarn, not npm"),
        ("We no longer use npm", "We don't use npm"),
    ],
)  # fmt: skip
def test_anything_less_ends_nothing(new, old):
    assert find_explicit_relation(new, old) is None


def test_what_the_past_had_is_ended_and_nothing_else():
    new = "Formerly the demo ran on Heroku; Heroku was replaced by Fly for the demo."
    assert find_explicit_relation(new, "The demo runs on Heroku") == "replaced"
    for kept in ("The demo runs on Fly", "Use Heroku for the docs", "The shop runs on Fly"):
        assert find_explicit_relation(new, kept) is None


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_unrelated_statements_that_share_words_numbers_and_forms_end_nothing(seed):
    found = [(pair, said) for pair in make_pairs(1500, seed=seed) if (said := find_explicit_relation(pair.second, pair.first, correction=pair.kind == "correction"))]  # fmt: skip
    assert not found


@given(st.text(max_size=80), st.text(max_size=80))
def test_any_text_is_read(new, old):
    find_explicit_relation(new, old)
