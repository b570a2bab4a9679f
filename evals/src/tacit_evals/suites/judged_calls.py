"""The figures of judged tool calls on their own: nothing is in context, so that all that is handed over is the surfaces' doing.

In: what every call was handed, and what simpler methods would have handed over. Out: figures by name, and lines that say them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tacit_evals.data.judged import LEFT_OUT
from tacit_evals.metrics.counts import Handed, count, figures
from tacit_evals.metrics.resample import binomial_interval, intervals

WANTED_PRECISION = 0.40
WANTED_GRADE2 = 7
MOST_WRONGFUL = 0.10


def grade2(one: Handed) -> set[str]:
    """The memories that a call needs most."""
    return {memory for memory, grade in one.judgment.needed.items() if grade == 2}


def delivered(items: Sequence[Handed]) -> int:
    """Pairs of grade 2 that the packs at the calls handed over."""
    return sum(len(grade2(one) & set(one.pack)) for one in items)


def alone(items: Sequence[Handed]) -> dict[str, float | None]:
    """Figures of calls that were asked with an empty context, with intervals (precision: bootstrap; wrongful: exact)."""
    found = figures(count(items, learned=frozenset()))
    low, high = intervals(count(items, learned=frozenset()))["prompt_precision"]
    wrong, silent = _wrongful(items)
    least, most = binomial_interval(wrong, silent)
    return {
        "alone_precision": found["prompt_precision"],
        "alone_precision_low": low,
        "alone_precision_high": high,
        "alone_handed": float(sum(len(one.counted) for one in items)),
        "alone_right": float(sum(one.right for one in items)),
        "alone_delivered_grade2": float(delivered(items)),
        "alone_pairs_grade2": float(sum(len(grade2(one)) for one in items)),
        "alone_wrongful": float(wrong),
        "alone_nothing": float(silent),
        "alone_wrongful_rate": found["wrongful_rate"],
        "alone_wrongful_low": least,
        "alone_wrongful_high": most,
    }


def lines(
    name: str, items: Sequence[Handed], baselines: Mapping[str, Sequence[Handed]], *, left_out: int
) -> tuple[str, ...]:
    """What `alone` found, beside what was wanted and what simpler methods reach with the same calls."""
    f = {key: value or 0.0 for key, value in alone(items).items()}
    ids = ", ".join(sorted(call for call, _ in LEFT_OUT))
    headline = (
        f"{name}, {len(items)} calls on their own (nothing in context): precision {f['alone_precision']:.3f}"
        f" [{f['alone_precision_low']:.2f}-{f['alone_precision_high']:.2f}] (wanted {WANTED_PRECISION:.2f}),"
        f" {f['alone_right']:.0f} right of {f['alone_handed']:.0f};"
        f" {f['alone_delivered_grade2']:.0f} of {f['alone_pairs_grade2']:.0f} pairs of grade 2 delivered (wanted {WANTED_GRADE2});"
        f" wrongful {f['alone_wrongful_rate']:.3f} [{f['alone_wrongful_low']:.3f}-{f['alone_wrongful_high']:.3f}]"
        f" (at most {MOST_WRONGFUL:.2f}), {f['alone_wrongful']:.0f} of {f['alone_nothing']:.0f} calls that need nothing"
    )
    said = [headline, *_by_surface(items)]
    for method, own in baselines.items():
        figure = figures(count(own, learned=frozenset()))
        said.append(
            f"{method}: precision {figure['prompt_precision']:.3f}, {delivered(own)} pairs of grade 2, wrongful {figure['wrongful_rate']:.3f}"
        )
    if left_out:
        said.append(
            f"{left_out} call left out ({ids}): its memories were made from the very same session; its pairs count nowhere"
        )
    return tuple(said)


def _by_surface(items: Sequence[Handed]) -> list[str]:
    names = sorted({surface for one in items for surface in one.surfaces})
    said: list[str] = []
    for name in names:
        packs = [(one, one.surfaces.get(name, ())) for one in items]
        right = sum(memory in one.judgment.needed for one, pack in packs for memory in pack)
        most = sum(len(grade2(one) & set(pack)) for one, pack in packs)
        asked = sum(name in one.surfaces for one in items)
        handed = sum(memory not in one.judgment.marginal for one, pack in packs for memory in pack)
        said.append(
            f"surface {name}: asked at {asked} calls, {right} right of {handed}, {most} pairs of grade 2"
        )
    return said


def _wrongful(items: Sequence[Handed]) -> tuple[int, int]:
    silent = [one for one in items if one.judgment.nothing]
    return sum(bool(one.pack) for one in silent), len(silent)
