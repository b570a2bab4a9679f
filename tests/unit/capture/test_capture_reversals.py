"""A statement ends an order to use the same thing where it says so in so many words, and no other."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.capture.reconcile.compare import compare
from tacit.capture.reconcile.reversals import ends_order

ORDER = "Always use npm to install packages"


@pytest.mark.parametrize(
    "new",
    [
        "Stop using npm",
        "stop using `npm`!",
        "Don't use npm any more",
        "do not use npm anymore; use pnpm",
        "Please stop using npm, use pnpm instead.",
        "We no longer use npm",
        "We stopped using npm",
        "From now on, stop using npm to install packages.",
        "we don't use npm any more because it is slow",
        "Stop using npm and use pnpm",
        "Stop using npm and switch to pnpm from now on.",
        "Stop using npm, it is slow.",
        "Stop using npm - pnpm is faster",
        "Stop using npm, and please use pnpm from now on",
        "Stop using npm since it is slow; use pnpm",
        "Don't use npm any more, we have pnpm.",
    ],
)
def test_an_order_to_use_the_same_thing_is_ended(new):
    assert ends_order(new, ORDER)
    assert compare(new, ORDER) == "replaced"


@pytest.mark.parametrize(
    "new",
    [
        "Stop using npm for the docs",
        "Don't use npm in CI any more",
        "Don't use npm any more in CI",
        "Don't use npm",
        "Stop using npm scripts",
        "Stop using npm install",
        "Stop using yarn",
        "Stop running npm",
        "You stopped using npm",
        "Should we stop using npm?",
        "No longer use npm on Fridays",
        "Stop using npm, except in CI",
        "Don't use npm any more, except in CI",
        "Don't use npm any more except in CI",
        "Don't use npm, in CI, any more",
        "Stop using npm because it is slow, unless there is a lock file",
        "Stop using npm. Only in CI it is fine.",
        "Stop using npm, but keep it in CI",
        "Stop using npm, when possible",
        "Stop using npm; for the docs it is slow",
        "Stop using npm: in CI it breaks",
        "Stop using npm (unless there is a lock file)",
        "Stop using npm so often",
        "Stop using npm as root",
        "Stop using npm, so often",
        "Stop using npm and yarn together",
        "Stop using npm, yarn and bower as root",
        "Stop using npm, and yarn",
        "Stop using npm \u2013 at least for now",
        "Stop using npm, during the freeze",
        "Stop using npm. Use it only in CI.",
        "Stop using npm; keep it for the docs",
        "Stop using npm - fine only for the docs",
        "Stop using npm and use pnpm in CI",
        "Stop using npm and use yarn and bower",
    ],
)
def test_less_than_that_ends_nothing(new):
    assert not ends_order(new, ORDER)


@pytest.mark.parametrize(
    ("new", "old", "ends"),
    [
        ("Stop running gulp", "Run gulp before every commit", True),
        ("Stop using Redis", "We use Redis for sessions", True),
        ("Stop using the staging server for demos", "Use the staging server for demos", True),
        ("Stop writing changelog entries", "Write changelog entries", True),
        ("No longer deploy on Fridays", "Deploy the shop on Fridays", False),
        ("Stop using npm", "Use npm in the legacy app", False),
        ("Stop using npm", "Use npm for the legacy app", False),
        ("Stop using npm", "Use npm when there is a lock file", False),
        ("Stop using npm", "Never use npm", False),
        ("Stop using npm", "Don't use npm", False),
        ("Stop using npm", "Use npm and yarn", False),
        ("Stop using npm", "Use npm unless pnpm is there", False),
        ("Stop using npm", "Use npm scripts for builds", False),
        ("Stop using npm", "npm is used for packages", False),
        ("Stop using tabs", "Use tabs, not spaces", False),
        ("Stop adding comments", "Add comments to public functions", False),
        ("Stop using it", "Use it for tests", False),
        ("Stop asking me", "Ask me before deleting", False),
        ("Stop using Redis", "We use Redis 7.2 for sessions", False),
        ("Use npm", "Stop using npm", False),
        ("Stop running tests as root", "Run tests before every commit", False),
        ("Stop using tabs and spaces together", "Use tabs", False),
        ("Stop using Docker so often", "Use Docker for builds", False),
        ("Please stop using mocks - at least in e2e tests", "Use mocks for external services", False),
        ("Stop using npm, except in CI", "Use npm to install packages", False),
    ],
)
def test_verb_and_object_must_be_the_same_and_the_order_without_a_place_of_its_own(new, old, ends):
    assert ends_order(new, old) is ends


@given(st.text(max_size=80), st.text(max_size=80))
def test_any_text_is_read(new, old):
    assert ends_order(new, old) in (True, False)
