"""What the latency program asks, and what it says of the times it took; no time is measured here."""

from __future__ import annotations

import pytest

from tacit_evals.latency import Case, RecallTimes, cases_of, prompt_target


def recall(*, size=10_000, spaces="shipped", slow=100.0):
    return RecallTimes(
        case=Case(size=size, spaces=spaces),
        asked=[10.0] * 48 + [30.0, slow],
        alone=[4.0] * 49 + [5.0],
        asked_work=[8.0] * 49 + [16.0],
        alone_work=[4.0] * 50,
        plain=[8.0] * 50,
        plain_work=[5.0] * 50,
        starts=[6.0, 8.0, 10.0],
        changed=[12.0],
        resident_mb=150.0,
        peak_mb=160.0,
        injected=7,
    )


def test_every_preset_is_measured_on_the_same_store():
    cases = cases_of("10000", spaces="shipped", presets="focused,multispace")
    assert [case.name for case in cases] == ["10,000 memories", "10,000 memories, multispace"]
    assert cases[0].home == cases[1].home
    assert [prompt_target(case) for case in cases] == [2.5, 3.5]


@pytest.mark.parametrize(
    ("case", "target"),
    [
        (Case(size=10_000), 2.5),
        (Case(size=10_000, spaces="all"), 3.5),
        (Case(size=100_000), 3.0),
        (Case(size=100_000, spaces="all"), None),
    ],
)
def test_each_promise_belongs_to_its_store(case, target):
    assert prompt_target(case) == target


def test_ratios_are_to_the_median_of_the_prompts_embedded_alone():
    figures = recall().figures
    assert figures["p50_ratio"] == 2.5
    assert figures["p99_ratio"] == 25.0  # 100 / 4: of fifty, nearest rank 50
    assert figures["p99_of_pairs"] == 20.0  # 100 / 5: the same prompt
    assert figures["p99_to_p99"] == 20.0
    assert (figures["work_p50_ratio"], figures["work_p99_ratio"]) == (2.0, 4.0)
    assert (figures["to_plain_p50_ratio"], figures["work_to_plain_p50_ratio"]) == (1.25, 1.6)
    assert figures["start_p50_ratio"] == 2.0
    assert figures["changed_start_p50_ratio"] == 3.0
    assert (figures["within_50_ms"], figures["within_100_ms"]) == (0.98, 1.0)


def test_rows_tell_what_is_over():
    verdicts = {row.name: row.verdict for row in recall(slow=40.0).rows()}
    assert verdicts["prompt recall, median ratio (10,000 memories)"] == "ok"
    assert verdicts["prompt recall, p99 ratio (10,000 memories)"] == "over"
    assert verdicts["prompt recall, median of pairs (10,000 memories)"] == ""
