"""The preset `multispace`: how near the words are in every space, badges and alerts beside them, a budget for each category."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import TypeVar

from tacit.errors import ProviderError
from tacit.frozen import frozen
from tacit.model.evidence import Candidate
from tacit.model.kinds import DIGEST, Kind, KindRegistry
from tacit.model.memory import Memory, Provenance, TrustTier, Validity, day
from tacit.model.pack import DivergenceAlert, Pack, PackItem, Sections, Surface
from tacit.model.query import Query
from tacit.model.scope import UNIVERSAL
from tacit.model.session import SessionState
from tacit.ports.models import Vectors
from tacit.ports.store import MemoryFilter, MemoryStore
from tacit.presets.multispace.settings import RecencyWeights
from tacit.reading.digest_lines import focus_of, lines_of, told_by
from tacit.reading.marks import opens_with_verb
from tacit.reading.prompts import read_reply
from tacit.reading.sentences import shorten_at_word
from tacit.reading.terms import find_entities
from tacit.recall.budget import (
    CategoryEntry,
    Filling,
    finish_pack,
    pack_with_carryover,
    shorten_long_text,
)
from tacit.recall.pipelines import search
from tacit.recall.pipelines.on_demand import judged_answer
from tacit.recall.pipelines.start import BY_NEED, start
from tacit.recall.render import delimiters, frame_text, needed_source, side_by_side
from tacit.recall.retrieve import QUERY_CHARS, embed_in_time, rrf_weighted
from tacit.recall.score import judge_each
from tacit.recall.spaces import SPACES
from tacit.recall.stage import LAST_SESSION, Kit, Layout, Outcome, Pipeline, Preset, RecallState, Tools
from tacit.safety.escape import Clean, escape_text, unchanged
from tacit.session.transitions import EDITING_TOOLS
from tacit.text.stemming import stems

# The block of the `multispace` seed: sections in Markdown, alerts of a shift first, hints of time last. Source: REQ-P5-03, -04.
#
# Inside the usual delimiters. Ages are absolute dates, so that the same pack renders to the same bytes.


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
"""Text of the block that says that nothing was found. Source: EC-P5-01."""


def alert_text(alert: DivergenceAlert, clean: Clean = unchanged) -> str:
    """Return the warning that a prompt is far from the recent work in one space, as three lines, escaped; `clean` takes secrets out of it."""
    return "\n".join(
        (
            ALERT,
            f'Recent activity in {alert.space.title()} space: "{escape_text(clean(alert.summary))}"',
            f"Current appears different - similarity: {alert.similarity:.2f}",
        )
    )


def badge_text(badge: str, clean: Clean = unchanged) -> str:
    """Return one hint as a line, escaped; `clean` takes secrets out of it."""
    return f"- {escape_text(clean(badge))}"


def multispace_line(candidate: Candidate, text: str, kinds: KindRegistry, clean: Clean = unchanged) -> str:
    """Return one memory as a line with its date, and with its source where a warning or branch is needed."""
    del kinds
    last_day = day(candidate.memory.updated_at_ms, candidate.memory.validity.offset_ms)
    source = needed_source(candidate)
    mark = f" ({escape_text(clean(source))})" if source not in ("", last_day) else ""
    return f"- **[{last_day}]** {escape_text(clean(text))}{mark}"


def multispace_frame(surface: Surface) -> str:
    """Return every delimiter and title that a block of this preset can have, one a line. Their tokens are subtracted from the budget before memories are chosen."""
    first, last = frame_text(surface)
    return "\n".join((first, TITLE, SHIFT, SWITCH, *(title for _, title in SECTIONS), HINTS, last))


def multispace_block(pack: Pack, kinds: KindRegistry, clean: Clean = unchanged) -> str:
    """Return the block: alerts, sections, hints; empty sections are left out; "" if all are empty."""
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
    """Return the block that says that nothing was found."""
    first, last = delimiters(surface)
    return f"{first}\n{NOTHING}\n{last}"


def _of_category(items: Sequence[PackItem], name: str) -> tuple[PackItem, ...]:
    return side_by_side(item for item in items if (item.category or "single") == name)


# Has the work shifted? In: recent work as candidates of the current words. Out: at most three alerts. Pure.
#
# Source: SPEC section 5 and the multispace seed (REQ-P5-03, EC-P5-03). Work is what the user said in this session and in
# the project's other sessions within two hours, and what was learned within two hours; what was imported is no work.
# The semantic space decides: the work has shifted where even the largest similarity of the words with any piece of it is below
# the space's `low`. The other spaces of meaning, those with a topic weight of 1, join it where their largest similarity is below
# their own `low`. BM25 has no end and falls with how common a word is in the store, which is no distance: such a space joins only
# where no piece shares a word with the query. Each alert quotes the piece that is nearest in its space, of equally near ones the
# nearest in meaning. What the words are about is one fact, whatever number of spaces sees it, and told by the space that decides; that the files
# or the error are others are facts of their own. Lowest similarity first, ties in the fixed order of the spaces.
#
# A shift is told once: where an earlier turn had left the work before it already, only what came since counts as work. What tells
# no topic is no work: less than three stems ("and now the tests"), thanks, and a prompt that accepts a proposal. One memory
# is enough, and of turns three.

WINDOW_MS = 2 * 3_600_000
WINDOW_MEMORIES = 20
LEAST_TURNS = 3
"""Least turns that show a piece of work, where nothing was learned in it."""
LEAST_STEMS = 3
MOST_ALERTS = 3
SUMMARY_CHARS = 100
UNIT_SCALE_MAX = 1.0
"""A space with a greater `high` has a scale without upper end (BM25)."""
SEMANTIC_TOPIC_WEIGHT = 1.0
"""Topic weight of the spaces that measure meaning."""
DECIDING = "semantic"
OWN_FACTS = ("code", "causal")
"""Spaces that see something else than what the words are about: files and names in code, errors."""
WORK_SOURCES = frozenset({"session", "cli", "api", "mcp", "agent", "library", "command", "page", "edited"})
"""Sources of what was stated or learned in work; files and other stores have names of their own."""
TURN = "turn"
"""Kind of a piece of work that is something said in a session, not a memory."""


def in_window(memory: Memory, query: Query) -> bool:
    """Whether a memory is recent work: stated or learned in this session, or in the two hours before `query`."""
    if memory.provenance.source not in WORK_SOURCES:
        return False
    if query.session and memory.session == query.session:
        return True
    since_ms = min(memory.created_at_ms, memory.validity.valid_from_ms)
    return 0 <= query.at_ms - since_ms <= WINDOW_MS


def tells_topic(text: str) -> bool:
    """Whether a text is no small talk and has enough stems (`LEAST_STEMS`) to name a topic."""
    return len(stems(text)) >= LEAST_STEMS and not read_reply(text).small_talk


def current_work(texts: Sequence[str], similarities: Sequence[Sequence[float]], *, turns: int) -> int:
    """Return the index of the piece with which the current work begins: the last one that left the work before it.

    Args:
        texts: pieces of work, oldest first.
        similarities: cosine of any two of them, by index.
        turns: how many of the last pieces are turns; only a turn can leave the work before it.
    """
    begins, low = 0, SPACES[DECIDING].low
    for number in range(max(1, len(texts) - turns), len(texts)):
        nearest = max((similarities[number][earlier] for earlier in range(begins, number)), default=1.0)
        if nearest < low and tells_topic(texts[number]):
            begins = number
    return begins


def measurable(query: Query, space: str) -> bool:
    """Whether the query has what `space` compares, such as files for `code`; else the space cannot tell of a shift."""
    match space:
        case "intent":
            return bool(query.situation.actions)
        case "code":
            return any(entity.kind in ("file", "symbol") for entity in query.entities)
        case "causal":
            return bool(query.error_signature)
        case _:
            return True


def comparable(piece: Candidate, space: str) -> bool:
    """Whether a piece of work has what `space` compares, such as a trigger for `intent`; else the space cannot tell of a shift."""
    if piece.memory.kind == TURN:
        return piece.score(space) is not None
    return space != "intent" or not piece.memory.trigger.empty


def summary_of(content: str) -> str:
    """Return `content` in one line; if it has more than 100 characters, cut at a word and with "..." at its end."""
    return shorten_at_word(content, SUMMARY_CHARS)


def divergences(
    query: Query, work: Sequence[Candidate], *, spaces: Sequence[str]
) -> tuple[DivergenceAlert, ...]:
    """Return alerts that `query` has left recent work, at most three, lowest similarity first; () = no shift.

    Args:
        query: the current words.
        work: memories and turns with their scores, oldest first; a memory that a space did not find has no similarity there.
        spaces: names of the spaces that were asked and answered.
    """
    if query.situation.accepted or not tells_topic(query.text):
        return ()
    topics = [piece for piece in work if tells_topic(piece.memory.content)]
    alerts = [alert for name in spaces if (alert := _alert(query, topics, name)) is not None]
    if all(alert.space != DECIDING for alert in alerts):
        return ()
    order = list(SPACES)
    told = [alert for alert in alerts if alert.space == DECIDING or alert.space in OWN_FACTS]
    return tuple(sorted(told, key=lambda alert: (alert.similarity, order.index(alert.space)))[:MOST_ALERTS])


def _alert(query: Query, work: Sequence[Candidate], name: str) -> DivergenceAlert | None:
    space = SPACES.get(name)
    if space is None or space.topic_weight != SEMANTIC_TOPIC_WEIGHT or not measurable(query, name):
        return None
    own = [piece for piece in work if comparable(piece, name)]
    if len(own) < LEAST_TURNS and all(piece.memory.kind == TURN for piece in own):
        return None
    # Of pieces that are equally far in all spaces the newest is quoted: it is what the work was about.
    nearest = max(
        enumerate(own),
        key=lambda placed: (placed[1].score(name) or 0.0, placed[1].score(DECIDING) or 0.0, placed[0]),
    )[1]
    value = max(0.0, nearest.score(name) or 0.0)
    if value > 0.0 and (value >= space.low or space.high > UNIT_SCALE_MAX):
        return None
    memory = nearest.memory
    return DivergenceAlert(
        space=name,
        similarity=round(value, 2),
        memory_id="" if memory.kind == TURN else memory.id,
        summary=summary_of(memory.content),
    )


# Hints of time. In: the memories of a pack, session records, the moment. Out: short sentences, most telling first. Pure.
#
# Source: REQ-P5-09 of the multispace seed, in the words of its examples. Each hint belongs to a space of time and is made only
# where that space is on. Evidence are session records, and of the pack the memories that many spaces agree on and that were
# stated or learned in work: when something was imported says nothing. Days and their parts are those of the user's own clock.
#
# A rhythm is more than one coincidence: work on the topic on two earlier days at this time of day (`same time`) or on three
# days in this part of the day (`habit`), and on no more days at another time.

MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS
RECENT = "Recent activity (within last hour)"
FILE_TOOLS = EDITING_TOOLS | {"read"}
TOPIC_WORDS = 6
SAME_TIME_DAYS, HABIT_DAYS = 2, 3
_DAY_PARTS = (
    (5, "at night"),
    (12, "in the morning"),
    (17, "in the afternoon"),
    (22, "in the evening"),
    (24, "at night"),
)


@frozen
class LocalTime:
    """The user's local clock: a moment (`at_ms`), and a function for the offset from UTC at any moment."""

    at_ms: int
    offset_ms: Callable[[int], int]

    def day(self, at_ms: int) -> int:
        """Return the number of the local day of a moment."""
        return (at_ms + self.offset_ms(at_ms)) // DAY_MS

    def part_of_day(self, at_ms: int) -> str:
        """Return the local part of the day of a moment, such as "in the morning"."""
        hour = datetime.fromtimestamp((at_ms + self.offset_ms(at_ms)) / 1000, tz=UTC).hour
        return next(name for end, name in _DAY_PARTS if hour < end)


def topic_of(memory: Memory) -> str:
    """Return what a memory is about: its trigger's first topic, the file that it describes, else its first words."""
    if memory.trigger.topics:
        return memory.trigger.topics[0]
    if memory.files and memory.kind == "file_context":
        return memory.files[0]
    return " ".join(memory.content.split()[:TOPIC_WORDS]).rstrip(".,;:")


def time_hints(
    items: Sequence[PackItem],
    *,
    spaces: Collection[str],
    sessions: Sequence[SessionState],
    last_session: Candidate | None,
    now: LocalTime,
) -> tuple[str, ...]:
    """Return the time hints for a pack, as sentences: time of day, yesterday's session, recent files, habit. A hint needs its space in `spaces`.

    Args:
        items: the memories of the pack.
        spaces: names of the spaces that are on.
        sessions: records of other sessions of this project, newest first.
        last_session: the digest of the last session, or None.
        now: the time of the query.
    """
    topic = [
        item.candidate
        for item in items
        if item.category == "cluster" and item.candidate.memory.provenance.source in WORK_SOURCES
    ]
    hints: list[str] = []
    if "periodic" in spaces:
        hints.append(_same_time(topic, now))
    if "sequence" in spaces:
        hints.append(_yesterday(items, sessions, last_session, now))
    if "recent" in spaces:
        hints.append(_recent_files(sessions, now.at_ms))
    if "periodic" in spaces:
        hints.append(_habit(topic, now))
    return tuple(text for text in hints if text)


def _same_time(topic: Sequence[Candidate], now: LocalTime) -> str:
    high = SPACES["periodic"].high
    timed = [candidate for candidate in topic if (candidate.score("periodic") or 0.0) >= high]
    days = {now.day(candidate.memory.created_at_ms) for candidate in timed}
    other_days = {now.day(candidate.memory.created_at_ms) for candidate in topic} - days
    if len(days) < SAME_TIME_DAYS or len(other_days) > len(days):
        return ""
    return f"Same time of day as previous work on {topic_of(timed[0].memory)}"


def _yesterday(
    items: Sequence[PackItem],
    sessions: Sequence[SessionState],
    last_session: Candidate | None,
    now: LocalTime,
) -> str:
    """Return the hint that this work continues yesterday's session; "" = the last session was not yesterday, or is unrelated."""
    yesterday = now.day(now.at_ms) - 1
    if last_session is not None and now.day(last_session.memory.updated_at_ms) == yesterday:
        related = (last_session.score("semantic") or 0.0) >= SPACES["semantic"].low
        if related or _holds_some_of(last_session.memory.session, items):
            return f"Continuation from yesterday's session on {as_activity(focus_of(last_session.memory.content))}"
        return ""
    newest = next(iter(sessions), None)
    if newest is None or now.day(newest.last_signal_at_ms) != yesterday:
        return ""
    return "Continuation from yesterday's session" if _holds_some_of(str(newest.key), items) else ""


def _holds_some_of(session: str, items: Sequence[PackItem]) -> bool:
    return bool(session) and any(item.candidate.memory.session == session for item in items)


def _recent_files(sessions: Sequence[SessionState], at_ms: int) -> str:
    for session in sessions:
        age_ms = at_ms - session.last_signal_at_ms
        if session.recent_files and 0 <= age_ms < HOUR_MS:
            minutes = age_ms // MINUTE_MS
            ago = f"{minutes} minute{'' if minutes == 1 else 's'} ago" if minutes else "just now"
            return f"{RECENT}: {_last_act(session)} {session.recent_files[-1]} {ago}"
    return ""


def _last_act(session: SessionState) -> str:
    """Return what was done with the file that a session touched last, in the past tense."""
    tools = (step.partition(" ")[0] for step in reversed(session.recent_tools))
    return "edited" if next((tool for tool in tools if tool in FILE_TOOLS), "") in EDITING_TOOLS else "read"


def untold(hints: Iterable[str], told: Iterable[str]) -> tuple[str, ...]:
    """Return the hints that are not among `told`. Two hints on recent files count as the same, whatever file and time they name."""

    def key(hint: str) -> str:
        return RECENT if hint.startswith(RECENT) else hint

    known = set(map(key, told))
    return tuple(hint for hint in hints if key(hint) not in known)


def _habit(topic: Sequence[Candidate], now: LocalTime) -> str:
    """Return the hint that the topic is usual in this part of the day: on three days, and on no more days otherwise; "" = none."""
    part_of_day = now.part_of_day(now.at_ms)
    created_ms = [candidate.memory.created_at_ms for candidate in topic]
    days = {now.day(at) for at in created_ms if now.part_of_day(at) == part_of_day}
    other_days = {now.day(at) for at in created_ms} - days
    if len(days) < HABIT_DAYS or len(other_days) > len(days):
        return ""
    return f"You typically work on {topic_of(topic[0].memory)} {part_of_day}"


# Relevance and priority over many spaces: the formulas of the `multispace` seed (SPEC-PHASE5, REQ-P5-01 and -08).
#
#     relevance = sum of weight * max(0, similarity - threshold) / sum of weight * (1 - threshold)
#     priority  = relevance * recency factor * diversity bonus
#
# Weight is a space's topic weight, threshold its `high`; both sums run over all spaces that have a topic. A space whose
# scale has no upper end (BM25) is brought to 0-1 by s / (s + high), so that its threshold becomes one half (the saturation
# of Robertson and Walker, 1994). Priority orders and is no probability: it may exceed 1.

CLUSTER_AGREEMENT = 2.5
"""Agreement from which a memory belongs to the section `cluster`."""
STRONG_AGREEMENT = 5.0
TELLING = ("lexical", "code", "causal", "graph", "entity")
"""The spaces that alone show that a memory belongs to a prompt, however far its meaning is."""
BONUS_STRONG, BONUS_CLUSTER, BONUS_SINGLE = 1.5, 1.2, 1.0


def weighted_agreement(scores: Mapping[str, float] | Iterable[tuple[str, float]]) -> float:
    """Return the agreement of the spaces on a memory: the sum of topic weights of those whose score reaches `high`, 0 to 8.5.

    Source: SPEC section 5. Spaces of time (recent, periodic, sequence) weigh nothing: they are no topic.

    Args:
        scores: score by space, as in `Candidate.scores`; an unknown space counts nothing.
    """
    return sum(
        SPACES[name].topic_weight
        for name, value in dict(scores).items()
        if name in SPACES and value >= SPACES[name].high
    )


def related(scores: Mapping[str, float]) -> bool:
    """Whether scores show more than chance: a meaning that is not far, many spaces that agree, or one of `TELLING` that reaches its `high`.

    Single pairs of tokens or learned neighbors of words (`late`, `expanded`) reach their marks for prompts about nothing on record.
    """
    near = scores.get("semantic", 0.0) >= SPACES["semantic"].low
    return (
        near
        or weighted_agreement(scores) >= CLUSTER_AGREEMENT
        or any(scores.get(name, 0.0) >= SPACES[name].high for name in TELLING)
    )


def to_unit_interval(value: float, high: float) -> tuple[float, float]:
    """Return a space's score and its threshold `high`, both mapped to the scale 0-1; see the formula."""
    value = max(0.0, value)
    return (value / (value + high), 0.5) if high > 1.0 else (min(1.0, value), high)


def multispace_relevance(query: Query, candidate: Candidate, kind: Kind) -> tuple[float, tuple[str, ...]]:
    """Return how far the scores exceed the spaces' thresholds, weighted, 0-1, and reasons; 0 before a prompt for what is only chance."""
    del kind
    scores = dict(candidate.scores)
    if query.surface is Surface.PROMPT and not related(scores):
        return 0.0, ("far in meaning, and no space of words or things at its mark",)
    reached = reachable = 0.0
    reasons: list[tuple[float, str]] = []
    for name, space in SPACES.items():
        if not space.topic_weight:
            continue
        similarity, threshold = to_unit_interval(scores.get(name, 0.0), space.high)
        gain = space.topic_weight * max(0.0, similarity - threshold)
        reachable += space.topic_weight * (1.0 - threshold)
        reached += gain
        if gain:
            reasons.append((-gain, f"{name} +{gain:.2f}"))
    agreement = weighted_agreement(scores)
    strongest = tuple(text for _, text in sorted(reasons)[:3])
    return reached / reachable, (f"agreement {agreement:.1f}", *strongest)


def recency_factor(age_ms: int, weights: RecencyWeights) -> float:
    """Return the factor of `weights` for a memory of this age; a negative age counts as new."""
    tiers = (
        (HOUR_MS, weights.hour),
        (DAY_MS, weights.day),
        (7 * DAY_MS, weights.week),
        (30 * DAY_MS, weights.month),
        (90 * DAY_MS, weights.quarter),
    )
    return next((factor for limit, factor in tiers if age_ms < limit), weights.older)


def diversity_bonus(agreement: float) -> float:
    """Return the factor for an agreement of the spaces: 1.5 from 5.0, 1.2 from 2.5, else 1."""
    if agreement >= STRONG_AGREEMENT:
        return BONUS_STRONG
    return BONUS_CLUSTER if agreement >= CLUSTER_AGREEMENT else BONUS_SINGLE


def priority(relevance: float, *, age_ms: int, agreement: float, weights: RecencyWeights) -> float:
    """Return the priority of a memory within its category: relevance * recency factor * diversity bonus."""
    return relevance * recency_factor(age_ms, weights) * diversity_bonus(agreement)


# The pack of `multispace`: which section each memory belongs to, in what order, at what cost. In: candidates. Out: a pack. Pure.
#
# Clusters that many spaces agree on, single finds and the last session, with alerts before them and hints after them.

T = TypeVar("T")
_DOUBLED = re.compile(r"[^aeiou]*[aeiou][^aeiouwxy]")
"""A verb of one syllable whose last letter is doubled before "-ing": set, drop."""
SHORTEN_ABOVE, SHORTEN_TO = 100, 80
"""A memory of more tokens than the first number is cut to about the second at a sentence end."""


def divergence_alerts(state: RecallState) -> tuple[DivergenceAlert, ...]:
    """Return the alerts that the prompt leaves the recent work; () if no recent work was read, or the prompt goes on with it."""
    measured = {candidate.memory.id: candidate for candidate in state.scored or ()}
    work = [*(measured[name] for name in state.recent if name in measured), *state.turns]
    scored_spaces = {name for piece in work for name, _ in piece.scores}
    spaces = [name for name in state.settings.spaces if name in scored_spaces or name in state.answered]
    return divergences(state.query, work, spaces=spaces)


def agreement_of(candidate: Candidate) -> float:
    """Return the agreement of the spaces on a candidate, 0 to 8.5; see `weighted_agreement`."""
    return weighted_agreement(candidate.scores)


def category_of(candidate: Candidate) -> str:
    """Return the section of a candidate: `session` for the last digest, `cluster` from an agreement of 2.5, else `single`."""
    if LAST_SESSION in candidate.reasons:
        return "session"
    return "cluster" if agreement_of(candidate) >= CLUSTER_AGREEMENT else "single"


def as_activity(subject: str) -> str:
    """Return the subject of a commit as what somebody did: "Implement the login" becomes "implementing the login"; any other text stays."""
    verb, blank, rest = subject.partition(" ")
    low = verb.lower()
    if not rest or not opens_with_verb(subject):
        return subject
    if low.endswith("e") and not low.endswith(("ee", "ye", "oe")):
        low = low[:-1]
    elif _DOUBLED.fullmatch(low):
        low += low[-1]
    return f"{low}ing{blank}{rest}"


def session_summary(candidate: Candidate, *, beside: Sequence[str] = ()) -> str:
    """Return a digest as sentences: what the session was about, decided and left open, without decisions that `beside` tells."""
    memory = candidate.memory
    lines = lines_of(memory.content)
    sentences = [f"Last session focused on {as_activity(focus_of(memory.content).rstrip('.'))}."]
    for code, word in (("dec", "Decided"), ("next", "Open"), ("block", "Blocked")):
        told_elsewhere = (
            beside if code == "dec" else ()
        )  # a decision is a memory as well; what is open is none
        own = [text.rstrip(".") for name, text in lines if name == code and not told_by(text, told_elsewhere)]
        joined = "; ".join(own)
        if joined:
            sentences.append(f"{word}: {joined}.")
    return " ".join(sentences)


def pack_multispace(state: RecallState) -> Outcome[Pack]:
    """Pack alerts, then clusters, single finds and the last session, then hints of time, each within its budget."""
    query, settings, candidates = state.query, state.settings, state.fresh or ()
    budgets = settings.multispace.categories

    def alert_cost(alert: DivergenceAlert) -> int:
        return state.count(alert_text(alert)) + 1

    def badge_cost(badge: str) -> int:
        return state.count(badge_text(badge)) + 1

    made_alerts = divergence_alerts(state)
    filling = Filling(
        cost=lambda entry, text: state.line_tokens(entry.candidate, text),
        total=max(0, query.budget_tokens - state.frame_tokens),
    )
    alerts = _affordable(made_alerts, min(budgets.divergence, filling.total), alert_cost)
    alert_tokens = sum(map(alert_cost, alerts))
    filling.total -= alert_tokens
    beside = [c.memory.content for c in candidates if category_of(c) != "session"]
    entries = tuple(_entry(candidate, state, beside) for candidate in candidates)
    drops = pack_with_carryover(
        entries,
        order=(("cluster", budgets.cluster), ("single", budgets.single), ("session", budgets.session)),
        carried=budgets.divergence - alert_tokens,
        filling=filling,
    )
    all_hints = time_hints(
        [item for item in filling.items if item.category != "session"],
        spaces=state.spaces,
        sessions=state.context.sessions,
        last_session=next((c for c in candidates if LAST_SESSION in c.reasons), None),
        now=LocalTime(at_ms=query.at_ms, offset_ms=state.context.offset_ms),
    )
    # A hint accompanies what is told; alone it is no context.
    new_hints = untold(all_hints, state.context.hinted) if filling.items or alerts else ()
    hints = _affordable(new_hints, min(budgets.badges, filling.left), badge_cost)
    sections = Sections(alerts=alerts, badges=hints, tokens=alert_tokens + sum(map(badge_cost, hints)))
    return finish_pack(query, filling.items, drops, sections, count=state.count)


def _entry(candidate: Candidate, state: RecallState, beside: Sequence[str]) -> CategoryEntry:
    category = category_of(candidate)
    text, shortened = candidate.memory.content, False
    if category == "session":
        text = session_summary(candidate, beside=beside)
    else:
        text, shortened = shorten_long_text(text, above=SHORTEN_ABOVE, to=SHORTEN_TO, count=state.count)
    value = priority(
        candidate.relevance,
        age_ms=max(0, state.query.at_ms - candidate.memory.updated_at_ms),
        agreement=agreement_of(candidate),
        weights=state.settings.multispace.recency,
    )
    return CategoryEntry(candidate=candidate, text=text, category=category, value=value, shortened=shortened)


def _affordable(items: Sequence[T], budget: int, cost: Callable[[T], int]) -> tuple[T, ...]:
    """Return the items, in order, that fit into what is left of `budget`; one that does not fit is skipped."""
    taken: list[T] = []
    for item in items:
        if cost(item) <= budget:
            taken.append(item)
            budget -= cost(item)
    return tuple(taken)


# What a pack with sections needs beside its candidates. In: a query, the store. Out: recent work, and which session was last.
#
# A probe of the fuse stage; what it finds goes on as values. Never decides what is handed over.

DIGESTS_READ = 5


def read_sections(tools: Tools, state: RecallState) -> Outcome[RecallState]:
    """Add to the state what the sections need: recent work, and the id of the last session's digest. Reads the store and embeds."""
    query = state.query
    if "semantic" in state.space_scores and query.text.strip():
        state = _with_recent_work(tools, state)
    last = last_session(query, store=tools.store)
    return Outcome(kept=state.changed(last_session=last.id if last else ""))


def _with_recent_work(tools: Tools, state: RecallState) -> RecallState:
    """Return the state with the work since the last shift (`recent`, `turns`) and its cosines; unchanged if embedding fails or is late."""
    query = state.query
    memories = recent_memories(query, store=tools.store)
    turn_texts = tuple(dict.fromkeys(text[:QUERY_CHARS] for text in state.context.turns if text.strip()))
    texts = [*(memory.content for memory in memories), *turn_texts]
    if not texts:
        return state
    try:
        rows = embed_in_time(
            [query.text[:QUERY_CHARS], *texts],
            embedder=tools.embedder,
            executor=tools.executor,
            remaining_ms=state.context.remaining_ms,
        )
    except (ProviderError, TimeoutError):
        return state
    near, between = rows[1:] @ rows[0], rows[1:] @ rows[1:].T
    begins = current_work(texts, between.tolist(), turns=len(turn_texts))
    ranked = state.space_scores["semantic"]
    fresh = {memory.id: float(value) for memory, value in zip(memories, near, strict=False)}
    since = max(0, begins - len(memories))
    turns = _turns(query, turn_texts, near[len(memories) :])[since:]
    return state.changed(
        recent={memory.id: memory for memory in memories[begins:]},
        turns=turns,
        space_scores={**state.space_scores, "semantic": {**fresh, **ranked}},
    )


def _turns(query: Query, turn_texts: Sequence[str], near: Vectors) -> tuple[Candidate, ...]:
    """Return turns of the present session as candidates, with scores of `semantic`, `lexical` and `code`; `near` = the cosine of each turn with the query."""
    query_stems = stems(query.text)
    query_entities = {entity for entity in query.entities if entity.kind in ("file", "symbol")}
    return tuple(
        Candidate(
            memory=_turn(number, text, at_ms=query.at_ms),
            scores=(
                ("semantic", float(value)),
                ("lexical", len(query_stems & stems(text)) / max(1, len(query_stems))),
                ("code", len(query_entities & set(find_entities(text))) / max(1, len(query_entities))),
            ),
            fused=0.0,
        )
        for number, (text, value) in enumerate(zip(turn_texts, near, strict=True))
    )


def _turn(number: int, text: str, *, at_ms: int) -> Memory:
    return Memory(
        id=f"{TURN}-{number}",
        kind=TURN,
        content=text,
        scope=UNIVERSAL,
        provenance=Provenance(tier=TrustTier.USER, source=TURN),
        validity=Validity(valid_from_ms=at_ms),
        created_at_ms=at_ms,
        updated_at_ms=at_ms,
    )


def recent_memories(query: Query, *, store: MemoryStore) -> tuple[Memory, ...]:
    """Return the memories that are recent work (`in_window`), oldest first; none that is newer than the query."""
    newest = store.list_memories(MemoryFilter(), scope=query.scope, limit=WINDOW_MEMORIES)
    recent = [
        m for m in newest if m.created_at_ms <= query.at_ms and in_window(m, query) and m.kind != DIGEST
    ]
    return tuple(sorted(recent, key=lambda m: (m.created_at_ms, m.id)))


def last_session(query: Query, *, store: MemoryStore) -> Memory | None:
    """Return the newest digest of another session that may appear on this branch; None = there is none."""
    digests = store.list_memories(MemoryFilter(kinds=(DIGEST,)), scope=query.scope, limit=DIGESTS_READ)
    other_digests = [
        m
        for m in digests
        if m.created_at_ms <= query.at_ms
        and f"{m.provenance.host}/{m.provenance.session_id}" != query.session
        and query.why_elsewhere(m) is None
    ]
    return max(other_digests, key=lambda m: (m.updated_at_ms, m.id), default=None)


# The `multispace` preset: agreement of many spaces, sections with alerts before them and hints after them.

_JUDGE = partial(
    judge_each, lambda query, candidate, kind, _settings: multispace_relevance(query, candidate, kind)
)


def search_pipeline(kit: Kit, state: RecallState) -> Pipeline:
    """Return the pipeline of a search: by all spaces, for surfaces that are silent unless the user gives them tokens."""
    return search(kit, state, judge=_JUDGE)


def prompt(kit: Kit, state: RecallState) -> Pipeline:
    """Return the pipeline before a prompt: search, read recent work and the last session as well, and fail where the prompt has no vector.

    Its steps raise ProviderError if the prompt could not be embedded.
    """
    pipeline = search(kit, state, judge=_JUDGE)
    if state.nothing_coming:
        return pipeline
    ask, fuse, *measured = pipeline.find
    return replace(
        pipeline,
        find=(
            ask,
            ("retrieve", require_vector),
            fuse,
            ("fuse", partial(read_sections, kit.tools)),
            *measured,
        ),
        at_once=False,  # recent work is embedded in between, which no transaction may wait for
    )


def require_vector(state: RecallState) -> Outcome[RecallState]:
    """Stop the recall if the prompt could not be embedded; else leave the state unchanged.

    Raises:
        ProviderError: if the embedder failed or was late.
    """
    if state.embedding_error:
        raise ProviderError(state.embedding_error)
    return Outcome(kept=state)


PRESET = Preset(
    name="multispace",
    pipelines={
        Surface.START: start,
        Surface.COMPACTION: start,
        Surface.PROMPT: prompt,
        Surface.ACTION: search_pipeline,
        Surface.FAILURE: search_pipeline,
        Surface.SUBAGENT: search_pipeline,
        Surface.ON_DEMAND: partial(judged_answer, judge=_JUDGE),
    },
    layout=Layout(
        frame=multispace_frame,
        line=multispace_line,
        block=multispace_block,
        pack=pack_multispace,
        frame_is_most=True,
    ),
    start_pool=BY_NEED,
    # Only orders the short list; sections are ordered by priority.
    fuse=rrf_weighted,
    # The design ranks the 100 best of any space.
    shortlist=100,
    ages_out=False,
    # A prompt is compared as it was written: read together with the one before it, no topic would ever end.
    follow_ups=False,
    # The budget is the design's own, whatever the prompt's size.
    shrinks=frozenset(),
    tells_time=True,
    # A new topic is said to be one, once a session.
    nothing_text=nothing_text,
)
