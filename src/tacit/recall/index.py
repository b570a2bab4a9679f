"""The index of a start block: a line for each memory on record that the block does not hold whole.

The agent is the reader: it sees a headline with a short id and fetches what a step needs (`memory_get`). In: the pack and what is left of its
candidates, most needed first. Out: the same pack with an index, both within the budgets and the host's cap. Lines stand under topics, words that
many of them share; what finds no room is counted by topic. The same memories give the same bytes. Pure but for the ids, which the store tells.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tacit.model.evidence import Candidate
from tacit.model.ids import LEAST_ENDING, short_ids
from tacit.model.note import Note, NoteCause
from tacit.model.pack import Index, IndexLine, Pack, PackItem, by_size
from tacit.model.trace import Drop, DropCause, DropReason
from tacit.reading.headline import is_whole
from tacit.recall.render import OTHER_TOPIC, headline, index_line, index_lines
from tacit.recall.stage import START_SURFACES, Outcome, RecallState, Tools
from tacit.text.stemming import content_words, porter_stem

LEAST_WHOLE_SHARE = 0.5
"""Share of a host's cap below which the whole memories do not shrink for the index."""
MOST_TOPICS, LEAST_IN_TOPIC, MOST_SHARE = 10, 3, 0.3
"""Topics of an index; fewest memories of one; a word in a greater share of all memories is the project's subject, not a topic."""
LEAST_LETTERS = 3
_GENERIC = """
add agent all already also always app apps avoid call called calls change changed changes check code command commands create
data default different don done every example file files fix fixed follow function functions get give good has have help
holds instead its keep kept known last let like line lines list look made make makes many may must name names need needed
needs never new next now old one only order other own part place possible project provide put read require required return
returns right run runs same say see set sets should show shows single start still stop sure take takes tell them then thing
things time two type under until update use used user users uses using value values via want way when where which while whole
without work works write writes yet
"""
_NO_TOPIC = frozenset(_GENERIC.split())
"""Words of many statements about software that name no topic."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """A word that several memories share, and their numbers."""

    word: str
    members: tuple[int, ...]


def index(tools: Tools, state: RecallState) -> Outcome[RecallState]:
    """The pack with an index of what it leaves out, where the surface and the settings want one and the session has none yet."""
    pack, budget = state.pack, state.settings.budgets.index
    query, goes_on = state.query, state.context.changed is not None
    if pack is None or not budget or query.surface not in START_SURFACES or goes_on:
        return Outcome(kept=state)
    if not (query.own_budget and query.budget_tokens):  # a budget that the caller named is kept
        return Outcome(kept=state)
    taken = {item.candidate.memory.id for item in pack.items if not item.shortened}
    rest = [c for c in state.fresh or () if c.memory.id not in taken]
    if not rest:
        return Outcome(kept=state)
    pack = replace(pack, items=tuple(item for item in pack.items if not item.shortened))
    pack = _within_cap(state, _Indexer(tools, state), pack, rest)
    note = Note(cause=NoteCause.INDEXED, count=len(pack.index.lines), of=len(rest))
    drops = tuple(
        Drop(
            memory_id=line.candidate.memory.id,
            why=DropReason(cause=DropCause.INDEXED, detail=line.short_id),
        )
        for line in pack.index.lines
        if not line.whole
    )
    return Outcome(kept=state.changed(pack=pack), facts=(note,), drops=drops)


class _Indexer:
    """Makes indexes for one recall; what is the same for all of them is made once."""

    def __init__(self, tools: Tools, state: RecallState) -> None:
        self._state = state
        self._tools = tools
        self._names: dict[str, str] = {}

    def of(self, rest: Sequence[Candidate], *, most_tokens: int) -> Index:
        """The index of `rest`, the most needed first, in at most `most_tokens`."""
        count = self._state.count
        ordered = sorted(rest, key=lambda c: (-c.fused, c.memory.newest_first))
        topics = topics_of([c.memory.content for c in ordered])
        word_of = {number: topic.word for topic in topics for number in topic.members}
        everything = Index(left=by_size(Counter(word_of.get(number, "") for number in range(len(ordered)))))
        frame = sum(count(line) + 1 for line in index_lines(everything))
        left = most_tokens - frame
        names = self._short_ids(ordered)
        chosen: dict[int, IndexLine] = {}
        opened: set[str] = set()
        for number, candidate in enumerate(ordered):
            memory = candidate.memory
            line = IndexLine(
                candidate=candidate,
                short_id=names[memory.id],
                topic=word_of.get(number, ""),
                whole=is_whole(headline(memory), memory.content),
            )
            opens = 0 if line.topic in opened else count(f"{line.topic or OTHER_TOPIC}:") + 1
            cost = count(index_line(line)) + 1 + opens
            if cost > left:
                break
            left -= cost
            opened.add(line.topic)
            chosen[number] = replace(line, tokens=cost)
        place = {topic.word: at for at, topic in enumerate(topics)} | {"": len(topics)}
        left_out = (number for number in range(len(ordered)) if number not in chosen)
        return Index(
            lines=tuple(
                chosen[number] for number in sorted(chosen, key=lambda n: (place[chosen[n].topic], n))
            ),
            left=by_size(Counter(word_of.get(number, "") for number in left_out)),
            frame_tokens=frame,
        )

    def _short_ids(self, candidates: Sequence[Candidate]) -> dict[str, str]:
        wanted = [c.memory.id for c in candidates if c.memory.id not in self._names]
        if wanted:
            known = self._tools.store.ids_ending(
                sorted({name[-LEAST_ENDING:] for name in wanted}), scope=self._state.query.scope
            )
            self._names.update(short_ids(wanted, known))
        return self._names


def _within_cap(state: RecallState, indexer: _Indexer, pack: Pack, rest: Sequence[Candidate]) -> Pack:
    """The pack with its index, so that the text of both is within the host's cap: whole memories move into the index before lines of it go."""
    budget, cap = state.settings.budgets.index, state.context.cap_chars
    items, moved = list(pack.items), list(rest)
    while True:
        made = replace(pack, items=tuple(items), index=indexer.of(moved, most_tokens=budget))
        text = state.render(made)
        if (not cap or len(text) <= cap) and state.context.fits(text):
            return made
        whole = sum(len(item.text) for item in items)
        if not items or (cap and whole <= LEAST_WHOLE_SHARE * cap):
            return made  # `deliver` takes lines from its end
        over = max(1, len(text) - cap) if cap else 1
        freed = 0
        while items and freed < over and whole - freed > LEAST_WHOLE_SHARE * cap:
            item: PackItem = items.pop()
            moved.append(item.candidate)
            freed += max(1, len(item.text) - 60)


def topics_of(texts: Sequence[str]) -> tuple[Topic, ...]:
    """Group texts under words that they share: again and again the word that the most ungrouped ones have; each text belongs to one topic at most."""
    words = [_nameable(text) for text in texts]
    frequency = Counter(stem for found in words for stem in found)
    forms: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for found in words:
        for stem, form in found.items():
            forms[stem][form] += 1
    most = max(LEAST_IN_TOPIC, MOST_SHARE * len(texts))
    left, topics = set(range(len(texts))), list[Topic]()
    while left and len(topics) < MOST_TOPICS:
        shared = Counter(stem for number in left for stem in words[number] if frequency[stem] <= most)
        stem, size = min(
            shared.items(), key=lambda entry: (-entry[1], frequency[entry[0]], entry[0]), default=("", 0)
        )
        if size < LEAST_IN_TOPIC:
            break
        members = tuple(sorted(number for number in left if stem in words[number]))
        form = min(forms[stem].items(), key=lambda entry: (-entry[1], entry[0]))[0]
        topics.append(Topic(word=form, members=members))
        left.difference_update(members)
    return tuple(topics)


def _nameable(text: str) -> dict[str, str]:
    """The words of a text that can name a topic, by stem."""
    found: dict[str, str] = {}
    for word in content_words(text):
        if len(word) >= LEAST_LETTERS and word.isalpha() and word not in _NO_TOPIC:
            found.setdefault(porter_stem(word), word)
    return found
