"""The pipelines of the read path: for each surface a module whose first function lists, in order, what happens there.

A pipeline has three parts: `ask` may wait for a model, `find` reads the store, `choose` makes a block of the candidates. What stands in
a list happens. A preset names the pipeline of each surface, one of these or its own. Here stand the parts that many of them share,
and the index of a block.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from types import MappingProxyType

from tacit.frozen import frozen
from tacit.model.evidence import Candidate
from tacit.model.ids import short_ids
from tacit.model.memory import Memory
from tacit.model.note import Note, NoteCause
from tacit.model.pack import Index, IndexLine, Pack, PackItem, Surface, by_size
from tacit.model.trace import Drop, DropCause, DropReason
from tacit.ports.store import MemoryFilter
from tacit.reading.headline import MAX_CHARS, is_whole
from tacit.recall.budget import budget, leaders_first
from tacit.recall.guard import dedupe, drop_known, find_pairs, guard, may_start, read_again
from tacit.recall.render import OTHER_TOPIC, deliver, headline, index_lines, index_text, render
from tacit.recall.retrieve import ask, embed, find_nothing, fuse, load, measure
from tacit.recall.spaces import freshness, make_similarity_z
from tacit.recall.stage import (
    START_SURFACES,
    Kit,
    Outcome,
    Pipeline,
    RecallState,
    Step,
    Steps,
    ToldBefore,
    Tools,
)
from tacit.safety.trust import ENDED_STATUSES
from tacit.text.stemming import content_words, porter_stem

# The index of a block: a line for each memory on record that the block does not hold whole.
#
# The agent is the reader: it sees a headline with a short id and fetches what a step needs (`memory_get`). In: the pack and what it leaves out.
# Out: the same pack with an index, both within the budgets and the host's cap. At a start and after a compaction these are all other candidates, most
# needed first, under topics, words that many of them share; what finds no room is counted by topic. For a subagent they are what suits its task, best
# first. A session that goes on is told with a resume or the block of a prompt what was added, changed or ended since. The same memories give the same
# bytes. Reads the store, never writes.

LEAST_WHOLE_SHARE = 0.5
"""Share of a host's cap that whole memories keep: below it none gives way to the index."""
CHARS_OF_TOKEN = 4
"""About how many characters a token of an index has."""
MOST_TOPICS, LEAST_IN_TOPIC, MOST_SHARE = 10, 3, 0.3
"""Topics of an index; fewest memories of one; a word in a greater share of all memories is the project's subject, not a topic."""
LEAST_LETTERS = 3
PART = 3
"""The index for a subagent's task, or of changes, gets this part (one third) of the index's budget."""
MOST_SUITED, MOST_CHANGES = 60, 64
"""Most memories that are considered for a task, and most changed ones for an index of changes."""
SUITS = 0.5
"""Deviations above the usual cosine from which a memory suits a task. In 278 tasks of seven projects .72 of what they need is listed or given; .75 without."""
_GENERIC = """
add agent already always app apps avoid call called calls change changed changes check code command commands create
data default different don every example file files fix fixed follow function functions give good help holds instead
keep kept known last line lines list look made makes many may must name names need needed needs never new next old one
order part place possible project provide put read require required return returns right run runs say see set sets
show shows single start still stop sure take takes tell thing things time two type update use used user users uses
using value values via way whole without work works write writes yet
"""
_NO_TOPIC = frozenset(_GENERIC.split())
"""Words of many statements about software that name no topic."""


@frozen
class Topic:
    """A word that several texts share, and the indexes of these texts in the list."""

    word: str
    members: tuple[int, ...]


def index(tools: Tools, state: RecallState) -> Outcome[RecallState]:
    """Add to the pack an index of what it leaves out, where surface and budget want one: of the rest of the pool, of what suits a task, or of changes."""
    pack, query = state.pack, state.query
    # A budget that the caller named is kept.
    if pack is None or not (query.own_budget and query.budget_tokens):
        return Outcome(kept=state)
    told = state.context.told
    if query.surface is Surface.SUBAGENT:
        pack = _beside(state, tools, pack, _suited(tools, state), delta=False)
    elif told is not None and (
        state.context.changed is not None or (query.surface is Surface.PROMPT and pack.items)
    ):
        pack = _beside(state, tools, pack, _news(tools, state, told), delta=True)
    elif query.surface in START_SURFACES and state.context.changed is None:
        pack = replace(pack, items=tuple(item for item in pack.items if not item.shortened))
        if len(pack.items) < len(state.fresh or ()):
            pack = _within_cap(state, _Indexer(state, tools, state.fresh or ()), pack)
    if pack.index.empty:
        return Outcome(kept=state)
    left = sum(count for _, count in pack.index.left)
    note = Note(cause=NoteCause.INDEXED, count=len(pack.index.lines), of=len(pack.index.lines) + left)
    drops = tuple(
        Drop(
            memory_id=line.candidate.memory.id,
            why=DropReason(cause=DropCause.INDEXED, detail=line.short_id),
        )
        for line in pack.index.lines
        if not line.whole
    )
    return Outcome(kept=state.changed(pack=pack), facts=(note,), drops=drops)


def _beside(
    state: RecallState, tools: Tools, pack: Pack, candidates: Sequence[Candidate], *, delta: bool
) -> Pack:
    """Return the pack with an index of these candidates, in their order, within a third of the index's budget; `delta` = changes."""
    if not candidates:
        return pack
    made = _Indexer(state, tools, candidates, whole=False).index_without(pack.items)
    made = replace(made, delta=delta, left=made.left if delta else ())
    return replace(pack, index=made) if made.lines else pack


def _suited(tools: Tools, state: RecallState) -> tuple[Candidate, ...]:
    """Return the memories that match the subagent's task, best first, that a start block may hold and the context does not hold."""
    query, z = state.query, make_similarity_z(state.rankings)
    measured = any(ranking.space == "semantic" for ranking in state.rankings)
    order = state.preset.fuse(state.rankings)[:MOST_SUITED]
    ids = [memory_id for memory_id, _ in order if not measured or z(memory_id) >= SUITS]
    found = {memory.id: memory for memory in tools.store.get(ids, scope=query.scope)}
    return _listable(state, [found[memory_id] for memory_id in ids if memory_id in found])


def _news(tools: Tools, state: RecallState, told: ToldBefore) -> tuple[Candidate, ...]:
    """Return what changed since the session was told: first shown memories that ended, then new or changed ones; each newest first."""
    query, store = state.query, tools.store
    if store.change() == told.change:
        return ()
    ids = store.changed(told.change, scope=query.scope, limit=MOST_CHANGES)
    if ids is None:  # too many, or the scope itself changed
        newest = MemoryFilter(statuses=None, order="updated")
        memories = store.list_memories(newest, scope=query.scope, limit=MOST_CHANGES)
    else:
        memories = store.get(ids, scope=query.scope)
    # What the session itself taught, and what that ended, it knows.
    memories = sorted(
        (memory for memory in memories if memory.session != query.session and told.says_new(memory)),
        key=lambda memory: (-memory.updated_at_ms, memory.newest_first),
    )
    ended = tuple(
        Candidate(memory=memory)
        for memory in memories
        if memory.status in ENDED_STATUSES
        and memory.id in told.shown
        and memory.validity.superseded_by not in told.shown
        and not state.why_withheld(memory)
    )
    return (*ended, *_listable(state, [memory for memory in memories if memory.status == "active"]))


def _listable(state: RecallState, memories: Sequence[Memory]) -> tuple[Candidate, ...]:
    """Return as candidates the memories that a start block may hold and the context does not hold, in the order given."""
    query = state.query
    candidates = [
        Candidate(memory=memory, scores=(("recent", round(recent, 4)),))
        for memory in memories
        if not memory.is_session_note and (query.kinds is None or memory.kind in query.kinds)
        for recent in (freshness(at_ms=query.at_ms, since_ms=memory.updated_at_ms, kind=state.kinds.of_stored(memory.kind)),)
    ]  # fmt: skip
    allowed = [each for each in candidates if may_start(each, state)]
    known = {each.memory.id: why for each in allowed if (why := state.context.in_context(each.memory))}
    return dedupe(allowed, in_context=known).kept


class _Indexer:
    """Makes indexes of `candidates` for one recall; caches their lines.

    `whole` = an index of the whole store, under topics, most needed first. Else its budget is a third, and it keeps the order given.
    """

    def __init__(
        self, state: RecallState, tools: Tools, candidates: Sequence[Candidate], *, whole: bool = True
    ) -> None:
        stored = tools.store.count_active(scope=state.query.scope)
        self._count = state.count
        self._whole = whole
        self._budget = state.settings.budgets.index // (1 if whole else PART)
        self._unseen = max(0, stored - len(state.pool)) if whole and not state.pool_whole else 0
        self._names = short_ids([candidate.memory.id for candidate in candidates], among=stored)
        needed = sorted(candidates, key=lambda c: (-c.fused, c.memory.newest_first))
        self._ordered = leaders_first(needed) if whole else candidates
        self._lines: dict[str, IndexLine] = {}

    def index_without(self, items: Sequence[PackItem], *, less: int = 0) -> Index:
        """Return the index of all candidates but those of `items`, within its budget minus `less` tokens."""
        count, whole = self._count, {item.candidate.memory.id for item in items}
        ordered = [candidate for candidate in self._ordered if candidate.memory.id not in whole]
        topics = topics_of(tuple(c.memory.content for c in ordered)) if self._whole else ()
        word_of = {number: topic.word for topic in topics for number in topic.members}
        everything = Index(left=self._left(word_of, range(len(ordered))))
        frame = sum(count(line) + 1 for line in index_lines(everything))
        left = self._budget - less - frame
        chosen: dict[int, IndexLine] = {}
        opened: set[str] = set()
        for number, candidate in enumerate(ordered):
            line, topic = self._index_line(candidate), word_of.get(number, "")
            opens = 0 if topic in opened or not topics else count(f"{topic or OTHER_TOPIC}:") + 1
            cost = line.tokens + opens
            if cost > left:
                break
            left -= cost
            opened.add(topic)
            chosen[number] = IndexLine(
                candidate=candidate, short_id=line.short_id, topic=topic, whole=line.whole, tokens=cost
            )
        place = {topic.word: at for at, topic in enumerate(topics)} | {"": len(topics)}
        left_out = (number for number in range(len(ordered)) if number not in chosen)
        return Index(
            lines=tuple(
                chosen[number] for number in sorted(chosen, key=lambda n: (place[chosen[n].topic], n))
            ),
            left=self._left(word_of, left_out),
            frame_tokens=frame,
        )

    def _left(self, word_of: Mapping[int, str], numbers: Iterable[int]) -> tuple[tuple[str, int], ...]:
        """Return pairs (topic, number of memories that are not listed); memories beyond the pool count under the topic ""."""
        counts = Counter(word_of.get(number, "") for number in numbers)
        counts[""] += self._unseen
        return by_size(+counts)

    def _index_line(self, candidate: Candidate) -> IndexLine:
        """Return a memory's line in the pack's index (headline, short id, tokens), made once.

        The caller sets its topic. `whole` = the headline says all of the memory, and the memory has not
        ended.
        """
        memory = candidate.memory
        line = self._lines.get(memory.id)
        if line is None:
            whole = memory.status not in ENDED_STATUSES and is_whole(headline(memory), memory.content)
            short_id = self._names[memory.id]
            tokens = self._count(index_text(candidate, short_id)) + 1
            line = IndexLine(candidate=candidate, short_id=short_id, whole=whole, tokens=tokens)
            self._lines[memory.id] = line
        return line


def _within_cap(state: RecallState, indexer: _Indexer, pack: Pack) -> Pack:
    """Return the pack with an index such that both fit the host's cap.

    First the last whole memories move into the index, down to half of the cap; then the index gets fewer tokens.
    """
    items, cap, less = list(pack.items), state.context.cap_chars, 0
    while True:
        made = replace(pack, items=tuple(items), index=indexer.index_without(items, less=less))
        text = state.render(made)
        if (not cap or len(text) <= cap) and state.context.fits(text):
            return made
        whole = sum(len(item.text) for item in items)
        over, freed = max(1, len(text) - cap) if cap else 1, 0
        if not items or (cap and whole <= LEAST_WHOLE_SHARE * cap):
            if not (made.index.lines and 0 < cap < len(text)):
                return made  # `deliver` takes lines from its end
            less += max(1, over // CHARS_OF_TOKEN)
            continue
        while items and freed < over and whole - freed > LEAST_WHOLE_SHARE * cap:
            freed += max(1, len(items.pop().text) - MAX_CHARS)


@lru_cache(maxsize=8)
def topics_of(texts: tuple[str, ...]) -> tuple[Topic, ...]:
    """Group texts under words that they share; each text belongs to one topic at most.

    Greedy: the next topic is always the word that most ungrouped texts share.
    """
    words = [_nameable(text) for text in texts]
    holding = defaultdict[str, set[int]](set)
    for number, found in enumerate(words):
        for stem in found:
            holding[stem].add(number)
    most = max(LEAST_IN_TOPIC, MOST_SHARE * len(texts))
    shared: dict[str, set[int]] = {
        stem: numbers for stem, numbers in holding.items() if LEAST_IN_TOPIC <= len(numbers) <= most
    }
    frequency = {stem: len(numbers) for stem, numbers in shared.items()}
    forms = {stem: [words[number][stem] for number in numbers] for stem, numbers in shared.items()}
    topics: list[Topic] = []
    while shared and len(topics) < MOST_TOPICS:
        stem = min(shared, key=lambda stem: (-len(shared[stem]), frequency[stem], stem))
        members = tuple(sorted(shared[stem]))
        form = min(Counter(forms[stem]).items(), key=lambda entry: (-entry[1], entry[0]))[0]
        topics.append(Topic(word=form, members=members))
        for number in members:
            for other in words[number].keys() & shared.keys():
                shared[other].discard(number)
        shared = {stem: numbers for stem, numbers in shared.items() if len(numbers) >= LEAST_IN_TOPIC}
    return tuple(topics)


@lru_cache(maxsize=8192)
def _nameable(text: str) -> Mapping[str, str]:
    """Return the words of a text that can name a topic, by stem."""
    found: dict[str, str] = {}
    for word in content_words(text):
        if len(word) >= LEAST_LETTERS and word.isalpha() and word not in _NO_TOPIC:
            found.setdefault(porter_stem(word), word)
    return MappingProxyType(found)


INDEXED = (*START_SURFACES, Surface.PROMPT, Surface.SUBAGENT)
"""Surfaces whose blocks may hold an index."""


def search(
    kit: Kit,
    state: RecallState,
    *,
    judge: Step,
    reach: Steps = (),
    beside: Steps = (),
    by_moment: bool = False,
    armed_too: bool = False,
) -> Pipeline:
    """Return the pipeline of a search: embed, search, measure, judge, look at files, guard, drop what is known, pack, render.

    Args:
        kit: what the steps are bound to.
        state: before the first step.
        judge: gives the candidates their relevance.
        reach: steps that drop what does not reach the floors of a preset.
        beside: steps after the guard that add memories which need not be found, such as pinned ones.
        by_moment: whether to look up rules by the moment of a call that they name.
        armed_too: whether what a model named in the pause is read and judged, too.
    """
    if state.nothing_coming:
        return nothing(kit, state, beside=beside)
    tools = kit.tools
    return Pipeline(
        ask=(("retrieve", partial(embed, tools)),),
        find=(
            ("retrieve", partial(ask, tools, by_moment=by_moment)),
            ("fuse", fuse),
            ("fuse", partial(load, tools, armed_too=armed_too)),
            ("fuse", measure),
        ),
        choose=(
            ("score", judge),
            ("score", partial(kit.files.look, tools)),
            *reach,
            *second_stage(kit),
            ("guard", guard),
            *beside,
            *hand_over(kit, state),
        ),
    )


def nothing(kit: Kit, state: RecallState, *, beside: Steps = ()) -> Pipeline:
    """Return the pipeline without a search, for a prompt after which the agent does nothing; only steps `beside` add memories."""
    return Pipeline(
        find=(("retrieve", find_nothing),),
        choose=(("guard", guard), *beside, *(hand_over(kit, state) if beside else (("deliver", deliver),))),
        at_once=False,
    )


def second_stage(kit: Kit) -> Steps:
    """Return the step that asks the user's second-stage model; () = there is none."""
    return (("score", partial(read_again, kit.tools)),) if kit.tools.reranker is not None else ()


def hand_over(kit: Kit, state: RecallState) -> Steps:
    """Return the last steps, from what passed the guard to the block: drop what is known, find pairs, pack, index, render, deliver.

    Pairs only if the reader may settle them; an index only if the surface and the settings have one.
    """
    pairs: Steps = (("dedupe", partial(find_pairs, kit.tools)),) if state.context.settles else ()
    has_index = state.query.surface in INDEXED and state.settings.budgets.index > 0
    indexed: Steps = (("budget", partial(index, kit.tools)),) if has_index else ()
    return (
        ("dedupe", drop_known),
        *pairs,
        ("budget", budget),
        *indexed,
        ("render", render),
        ("deliver", deliver),
    )
