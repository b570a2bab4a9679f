"""The start pack of a small store, through hook client and daemon: all of it while it fits, else what is needed most."""

from __future__ import annotations

import random

import pytest

NOUNS = """
adapter address archive backup balance barcode batch branch bucket budget cache calendar carrier catalog channel clinic column compiler
coupon courier cursor customer dashboard deadline device digest discount donor driver editor endpoint engine export fixture folder font
gateway glossary header heater import index invoice journal kernel label ledger license locale lookup manifest margin meter migration
mirror monitor notebook offset outbox pallet parser patient payload pipeline planner portal printer quota recipe refund registry
replica report roster sandbox scanner schema sensor session shelf signal sitemap snapshot spreadsheet supplier tariff template tenant
terminal ticket timer token tracker tunnel voucher warehouse webhook widget worker
""".split()
COUNT = 50


FORMS = (
    "The {} reads each {} from the {} of the {}, then writes a {} for the {} once a {} is due.",
    "We keep one {} per {} because a shared {} broke the {} when the {} moved to the {} of another {}.",
    "Without a {}, {} and {} are refused; the {} decides, and its {} goes to the {} with a {}.",
    "Ask the {} team about {} or {}: they own the {}, the {} and every {} behind the {}.",
    "A {} older than the {} is dropped by the {}, so a {} must copy its {} into the {} or the {} first.",
)


def statements() -> list[str]:
    """About 60 tokens each; no two are alike."""
    chance = random.Random(7)
    forms = [f"{FORMS[number % len(FORMS)]} {FORMS[(number + 2) % len(FORMS)]}" for number in range(COUNT)]
    return [form.format(*chance.sample(NOUNS, 14)) for form in forms]


@pytest.fixture(scope="module")
def machine(live_for_all):
    """A machine that knows all of them."""
    machine = live_for_all("")
    for statement in statements():
        machine.remember(statement, kind="decision", when="")
    return machine


def _listed(text: str) -> int:
    return len([line for line in text.splitlines() if line.startswith("- ")])


def test_a_store_that_fits_is_given_whole(machine):
    assert _listed(machine.tacit("recall").stdout) == COUNT
    for share in (1.1, 1.0):  # they do not fit
        with machine.setting("recall.whole_start", share):
            assert COUNT / 2 < _listed(machine.tacit("recall").stdout) < COUNT


def test_the_larger_a_store_that_does_not_fit_the_fewer_of_its_memories_are_given_whole(machine):
    """Its 50 statements cost more than four budgets of 700 tokens: about half a budget is given whole beside the index, all of it without one."""
    with machine.setting("recall.budgets.start", 700):
        beside = _listed(machine.tacit("recall").stdout)
        with machine.setting("recall.budgets.index", 0):
            alone = _listed(machine.tacit("recall").stdout)
    assert 3 <= beside <= alone * 2 / 3
    assert 9 <= alone <= 12
