"""Answers on demand of the `focused` preset: command line, daemon, shipped model."""

from __future__ import annotations

from e2e.drivers.machine import Machine

NOISE = tuple(
    f"The {part} of the {place} is checked by {who} on {day}."
    for part in ("boiler", "gate", "lift", "lamp", "roof")
    for place, who in (("north wing", "Ann"), ("south wing", "Bob"), ("annex", "Cem"))
    for day in ("Monday", "Thursday")
)
WAREHOUSES = tuple(
    f"Warehouse {name} ships parcels with {carrier}."
    for name, carrier in zip(
        ("Oslo", "Lyon", "Turin", "Porto", "Ghent", "Graz", "Basel", "Cork", "Malmo", "Bergen", "Brno", "Split"),
        ("DHL", "UPS", "DPD", "GLS", "FedEx", "TNT", "Hermes", "PostNord", "Aramex", "Chronopost", "Colissimo", "Evri"),
        strict=True,
    )
)  # fmt: skip


def told(machine: Machine, question: str, *options: str) -> list[str]:
    return [memory["content"] for memory in machine.ask("recall", question, *options)["memories"]]


def test_an_answer_holds_what_its_budget_does_and_no_chaff(live):
    machine = live("preset: focused")
    for content in (*NOISE, *WAREHOUSES):
        machine.remember(content, kind="fact", when="")
    question = "Which carrier takes the packages of each depot?"
    answer = told(machine, question)
    assert len([one for one in answer if one in WAREHOUSES]) > 8  # more than `max_items`
    assert not [one for one in answer if one in NOISE]
    assert 0 < len(told(machine, question, "--budget", "200")) < len(answer)
