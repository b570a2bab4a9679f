"""The marks of the spaces of words and meaning: above its mark a space speaks for the memory that it is right about, and for no other."""

from __future__ import annotations

from e2e.drivers.session import Session
from live.multispace.test_live_pack import scores_of
from presets.acceptance import acceptance
from tacit.recall.spaces import SPACE_THRESHOLDS

BILLS = "Invoices are archived after ninety days."
CUSTOMS = "Parcels without a customs label wait in quarantine for their tariff declaration."
TARIFF = "A tariff declaration names the weight and the sender."
LINT = "Run `make lint` before every commit."
LOGGER = "The tests fail with 'log.cli is not a function' when the logger is mocked."
STORED = (
    BILLS, CUSTOMS, TARIFF, LINT, LOGGER,
    "We write dates as ISO 8601 in UTC.",
    "Images are resized to 1200 pixels before upload.",
    "The mobile app is written in Flutter.",
    "The blue queue retries a job three times.",
    "The gallery stores watercolor paper flat and in the dark.",
    "Whoever leaves the office last closes the blinds.",
)  # fmt: skip
QUARANTINE = "Why are these parcels without a label in quarantine?"
BILLS_ASKED = "How long do we keep bills around?"
SPOKEN = {
    "semantic: other words of one meaning": (BILLS_ASKED, "semantic", [BILLS]),
    "semantic: another act": ("Commit what we have now.", "semantic", []),
    "lexical: rare words in common": (QUARANTINE, "lexical", [CUSTOMS]),
    "lexical: no word in common": (BILLS_ASKED, "lexical", []),
    "late: token by token": (QUARANTINE, "late", [CUSTOMS]),
    "late: a short symptom": ("The tests fail with 'log.cli is not a function'", "late", [LOGGER]),
    "late: other words": (BILLS_ASKED, "late", []),
    "intent: what is about to happen": ("Commit what we have now.", "intent", [LINT]),
    "intent: another act": (QUARANTINE, "intent", []),
    "expanded: the asked words": (QUARANTINE, "expanded", [CUSTOMS]),
    "expanded: no word": (BILLS_ASKED, "expanded", []),
}  # fmt: skip


@acceptance("multispace", "REQ-P5-05")
def test_a_space_speaks_for_its_own_memory_alone(live):
    machine = live("preset: multispace")
    ids = {machine.remember(one, kind="fact", when="")["memory"]["id"]: one for one in STORED}
    for number, (case, (prompt, space, expected)) in enumerate(SPOKEN.items()):
        Session(machine, f"s{number}").say(prompt)
        found = scores_of(machine)
        _, mark = SPACE_THRESHOLDS[space]
        spoken = [text for name, text in ids.items() if found.get(name, {}).get(space, 0.0) >= mark]
        assert spoken == expected, case
        if case == "expanded: the asked words":
            # It shares no word with the prompt, and two with the memory that does.
            (tariff,) = (name for name, text in ids.items() if text == TARIFF)
            assert "lexical" not in found[tariff]
            assert found[tariff]["expanded"] >= SPACE_THRESHOLDS["expanded"][0]
