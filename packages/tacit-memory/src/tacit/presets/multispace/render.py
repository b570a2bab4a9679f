"""The block of the `multispace` seed: sections in Markdown, alerts of a shift first, hints of time last. Source: REQ-P5-03, -04.

Inside the usual delimiters. Ages are absolute dates, so that the same pack renders to the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tacit.model.evidence import Candidate
from tacit.model.kinds import KindRegistry
from tacit.model.memory import day
from tacit.model.pack import DivergenceAlert, Pack, PackItem, Surface
from tacit.recall.render import frame_text, needed_source, side_by_side
from tacit.safety.escape import escape_text

Clean = Callable[[str], str]

TITLE = "## Relevant Context"
SHIFT = "### ⚠️ Note: Activity Shift Detected"
ALERT = "⚠️ DIVERGENCE DETECTED"
SWITCH = "This may indicate a context switch to a new topic."
HINTS = "### Temporal Hints"
SECTIONS: tuple[tuple[str, str], ...] = (
    ("cluster", "### Recent Related Work"),
    ("single", "### Potentially Related"),
    ("session", "### Session Context"),
)
NOTHING = "No relevant memories found. This appears to be a new topic."
"""Source: EC-P5-01."""


def alert_text(alert: DivergenceAlert, clean: Clean = lambda text: text) -> str:
    """One alert in three lines."""
    return "\n".join(
        (
            ALERT,
            f'Recent activity in {alert.space.title()} space: "{escape_text(clean(alert.summary))}"',
            f"Current appears different - similarity: {alert.similarity:.2f}",
        )
    )


def badge_text(badge: str, clean: Clean = lambda text: text) -> str:
    """One hint as one line."""
    return f"- {escape_text(clean(badge))}"


def multispace_line(
    candidate: Candidate, text: str, kinds: KindRegistry, clean: Clean = lambda text: text
) -> str:
    """One memory as one line with its date; what nobody confirmed says so."""
    del kinds
    last_day = day(candidate.memory.updated_at_ms, candidate.memory.validity.offset_ms)
    source = needed_source(candidate)
    mark = f" ({escape_text(clean(source))})" if source not in ("", last_day) else ""
    return f"- **[{last_day}]** {escape_text(clean(text))}{mark}"


def multispace_frame(surface: Surface) -> str:
    """Everything that can stand around lines, alerts and hints."""
    first, last = frame_text(surface)
    return "\n".join((first, TITLE, SHIFT, SWITCH, *(title for _, title in SECTIONS), HINTS, last))


def multispace_block(pack: Pack, kinds: KindRegistry, clean: Clean = lambda text: text) -> str:
    """The whole block; sections that hold nothing are left out, and so is a block of none."""
    lines: list[str] = []
    if pack.sections.alerts:
        lines += [SHIFT, *(alert_text(alert, clean) for alert in pack.sections.alerts), SWITCH]
    for name, title in SECTIONS:
        items = _of_category(pack.items, name)
        if items:
            lines.append(title)
            lines += [multispace_line(item.candidate, item.text, kinds, clean) for item in items]
    if pack.sections.badges:
        lines += [HINTS, *(badge_text(badge, clean) for badge in pack.sections.badges)]
    if not lines:
        return ""
    first, last = frame_text(pack.surface)
    return "\n".join((first, TITLE, *lines, last))


def nothing_text(surface: Surface) -> str:
    """The block that says that nothing is on record for this."""
    first, last = frame_text(surface)
    return "\n".join((first.partition("\n")[0], NOTHING, last))


def _of_category(items: Sequence[PackItem], name: str) -> tuple[PackItem, ...]:
    return side_by_side(item for item in items if (item.category or "single") == name)
