"""Operations that an agent may use through tools. In: the caller and its request. Out: redacted values of memories visible from its folder.

An agent never sees more than its folder shows, and its feedback on one memory counts once: a tool call can be somebody else's idea.
"""

from __future__ import annotations

import re
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from difflib import get_close_matches
from threading import Lock
from typing import Literal

from tacit.app.delivery_texts import Nudges
from tacit.app.queries.session_answers import ContextAnswer, SessionAnswers, allowed_tokens
from tacit.app.reasons import silence_text
from tacit.app.values import Caller, OpenStore
from tacit.app.visibility import MemorySearch, Visibility
from tacit.config.settings import Settings
from tacit.errors import Ambiguous, InvalidInput, NotFound
from tacit.frozen import frozen
from tacit.model.evidence import Candidate
from tacit.model.kinds import DIGEST
from tacit.model.memory import Memory, Speaker, TrustTier
from tacit.model.scope import ScopeFilter
from tacit.model.session import SessionKey
from tacit.model.signal import mark_of_write
from tacit.model.trace import Trace
from tacit.ports.store import MemoryFilter
from tacit.presets import preset_of
from tacit.recall.pipeline import RecallPipeline
from tacit.recall.render import source_of
from tacit.safety.trust import require_may_change
from tacit.statements.same import same_statement
from tacit.text.stemming import content_words

MAX_LISTED = 500
"""Most memories that one listing reads and counts."""
MAX_JUDGED = 2000
"""How many verdicts are remembered, so that the same one of an agent counts once."""
TRACES = 50
MAX_ADDED_BY_SEARCH = 5
"""Most memories that the search adds to an answer."""
READ_FIRST = 8
"""So many memories at the top of an answer are surely read."""
_LINE_START = re.compile(r"^\s*-?\s*(?:\[[^\]]{1,40}\]\s*)?")
_LINE_END = re.compile(r"(?<!\s)\s*\([^()]*\)\s*$")
"""Patterns of what stands around a memory's words in a block: its kind before, where it comes from after."""
MIN_WORD_SIMILARITY = 0.75
"""Similarity of two words, 0 to 1, from which one may be a slip of the other."""


@frozen
class MemoryListing:
    """Memories, newest first, and how many more there are after them."""

    memories: tuple[Memory, ...]
    more: int = 0


@frozen
class FetchedMemory:
    """A memory that was asked for by its id, with what a reader needs to weigh it.

    Attributes:
        memory: the memory, redacted.
        source: who said it and since when it holds, and what limits it: unconfirmed, ended, on a branch.
        replaced: the memories that it replaced, newest first.
        near: active memories linked to it as near or contradicting.
    """

    memory: Memory
    source: str
    replaced: tuple[Memory, ...] = ()
    near: tuple[Memory, ...] = ()


@frozen
class AgentStats:
    """Counts of the memories that an agent may see, and of the recalls of the session at work.

    Attributes:
        active: memories that may be handed over.
        kinds: (kind, memories), most frequent first; of the newest ones.
        unconfirmed: memories that wait for the user.
        session: `host/id` of the session at work, or "".
        injected, silent: recalls of that session with and without a block, of the newest.
        tokens: tokens of those blocks.
        silences: (reason, recalls), most frequent first.
        answers: answers on demand it had.
        refused: why it gets no further one, or "".
    """

    active: int
    kinds: tuple[tuple[str, int], ...] = ()
    unconfirmed: int = 0
    session: str = ""
    injected: int = 0
    silent: int = 0
    tokens: int = 0
    silences: tuple[tuple[str, int], ...] = ()
    answers: int = 0
    refused: str = ""


class AgentTools:
    """What the tools of agents do: answer, list, fetch, check rights. Safe to use from several threads."""

    def __init__(
        self,
        opened: OpenStore,
        *,
        pipeline: RecallPipeline,
        nudges: Nudges,
        settings_at: Callable[[str], Settings],
    ) -> None:
        """`settings_at` returns the settings that hold in a folder."""
        self.queries = SessionAnswers(opened, pipeline=pipeline, nudges=nudges, settings_at=settings_at)
        self._parts = parts = opened.parts
        self._store = parts.store
        self._sessions = opened.sessions
        self._settings_at = settings_at
        self._search = MemorySearch(parts.store, parts.embedder)
        self._judged: OrderedDict[tuple[str, str], bool] = OrderedDict()
        self._lock = Lock()

    def count_tokens(self, text: str) -> int:
        """Return the number of tokens of `text`: exact, or an estimate, mostly too high, if the vocabulary cannot be loaded."""
        return self._parts.tokens.count(text)

    def in_its_session(self, caller: Caller, tool: str, argument: Callable[[str], object]) -> Caller:
        """Return `caller` with the session that made this call of the tool `tool`; None = unknown.

        It is the one whose hook announced the call, else the only one at work. The announcement is used up.
        `argument` returns an argument of the call by its name.
        """
        return replace(
            caller, session=self.queries.session_of_call(caller.cwd, mark_of_write(tool, argument))
        )

    def kinds_of(self, caller: Caller, names: Sequence[str]) -> frozenset[str]:
        """Return the kinds that these names stand for in the caller's preset; empty for no names.

        Raises:
            UnknownKind: naming what is wrong.
        """
        return self.queries.selection(names, (), preset_of(self._settings_at(caller.cwd).preset)).only

    def last_words(self, caller: Caller) -> str:
        """Return the last prompt of the session that was active last around the caller's folder; "" = there is none."""
        key = self.queries.newest(caller.cwd)
        state = self._sessions.load(key) if key else None
        return state.recent_prompts[-1] if state and state.recent_prompts else ""

    def listing(
        self,
        caller: Caller,
        *,
        kinds: Sequence[str] = (),
        scope: str = "",
        text: str = "",
        unconfirmed: bool = True,
        limit: int = 20,
        offset: int = 0,
    ) -> MemoryListing:
        """List memories that the caller may see, newest first; with `text`, those that the search finds, best first.

        Raises:
            UnknownKind, InvalidScope: naming what is wrong.
        """
        names = tuple(self._parts.kinds.get(kind).name for kind in kinds)
        where = MemoryFilter(
            kinds=names or None,
            statuses=("active", "quarantined") if unconfirmed else ("active",),
        )
        visible = self.queries.visible(caller.cwd, scope)
        if text.strip():
            searched = self._search.find(text, where, scope=visible)
            memories = tuple(hit.memory for hit in searched)[offset:]
        else:
            memories = self._store.list_memories(
                where, scope=visible, limit=max(limit, MAX_LISTED), offset=offset
            )
        allowed = self._allowed(caller, memories)
        return MemoryListing(
            memories=self._clean(caller, allowed[:limit]), more=len(allowed) - len(allowed[:limit])
        )

    def further_matches(self, caller: Caller, query: str, *, besides: ContextAnswer) -> tuple[Memory, ...]:
        """Return what the search finds for `query` beside the answer `besides`: memories that hold at least half of its words.

        The search also finds misspelt words, which recall does not. If a word of the query stands nowhere in the answer, memories of the
        answer after its first `READ_FIRST` are returned again. () = nothing more, or the preset or settings limit answers.
        """
        settings = self._settings_at(caller.cwd)
        if any(preset_of(settings.preset).answer_limits(settings.recall)):
            return ()
        matches = self.listing(caller, text=query, unconfirmed=False, limit=MAX_ADDED_BY_SEARCH).memories
        block = besides.block
        answered_ids, text = block.memory_ids, block.text.casefold()
        if any(word not in text for word in content_words(query)):
            answered_ids = answered_ids[:READ_FIRST]
        return tuple(
            memory
            for memory in matches
            if memory.id not in answered_ids and _holds_most(memory.content, query)
        )

    def fetch(
        self, caller: Caller, ids: Sequence[str]
    ) -> tuple[tuple[FetchedMemory, ...], Mapping[str, str]]:
        """Return the memories of these ids that the caller may see, and why each other id names none; what is returned counts as given and used."""
        found: dict[str, Memory] = {}
        unknown: dict[str, str] = {}
        for name in ids:
            try:
                memory = self.seen(caller, name)
                found.setdefault(memory.id, memory)
            except (InvalidInput, NotFound) as error:
                unknown[name] = str(error) if isinstance(error, Ambiguous) else error.message
        memories = tuple(found.values())
        beside = self._beside(caller, memories)
        session = self.session_of(caller)
        if session is not None and memories:
            asked = " ".join(("memory_get", *(name for name in ids if name not in unknown)))
            self.queries.count_fetched(session, caller.cwd, memories, asked=asked)
        clean = self._clean(caller, memories)
        return tuple(
            FetchedMemory(
                memory=memory,
                source=source_of(Candidate(memory=memory)),
                replaced=self._clean(caller, beside[memory.id][0]),
                near=self._clean(caller, beside[memory.id][1]),
            )
            for memory in clean
        ), unknown

    def _beside(
        self, caller: Caller, memories: Sequence[Memory]
    ) -> dict[str, tuple[tuple[Memory, ...], tuple[Memory, ...]]]:
        """Return for each memory's id the memories it replaced, and the active ones linked to it as near or contradicting; newest first."""
        scope = self.queries.visible(caller.cwd)
        ids = [memory.id for memory in memories]
        pairs = [
            (relation.type, one, other)
            for relation in self._store.relations(ids, scope=scope)
            for one, other in relation.both_ways
            if one in set(ids)
        ]
        others = self._allowed(caller, self._store.get(sorted({other for _, _, other in pairs}), scope=scope))
        beside: dict[str, tuple[tuple[Memory, ...], tuple[Memory, ...]]] = {}
        for memory in memories:
            linked = {other: kind for kind, one, other in pairs if one == memory.id}
            newest = sorted((m for m in others if m.id in linked), key=lambda m: m.newest_first)
            beside[memory.id] = (
                tuple(m for m in newest if m.status != "active" and m.validity.superseded_by == memory.id),
                tuple(
                    m
                    for m in newest
                    if m.status == "active" and linked[m.id] in ("related_to", "contradicts")
                ),
            )
        return beside

    def rivals(self, caller: Caller, ids: Sequence[str]) -> tuple[Memory, ...]:
        """Return the active memories that may contradict those of `ids`, as long as this is undecided."""
        scope = self.queries.visible(caller.cwd)
        pairs = [pair for pair in self._store.relations(ids, scope=scope) if pair.may_disagree] if ids else []
        others = {end for pair in pairs for end in (pair.source_id, pair.target_id)}.difference(ids)
        found = self._allowed(caller, self._store.get(sorted(others), scope=scope))
        open_ones = tuple(memory for memory in found if memory.status == "active" and not memory.ranks_behind)
        return self._clean(caller, open_ones)

    def profile(self, caller: Caller) -> MemoryListing:
        """Return the active memories of the kinds of a profile (such as identity, preferences, corrections) that the caller may see, without agents' own notes and imports.

        They are the newest `MAX_LISTED`, the most important first.
        """
        kinds = [kind.name for kind in self._parts.kinds if kind.in_profile]
        listing = self.listing(caller, kinds=kinds, unconfirmed=False, limit=MAX_LISTED)
        trusted = [
            memory
            for memory in listing.memories
            if memory.provenance.tier >= TrustTier.ASSISTANT and not memory.provenance.own_note
        ]
        ranked = sorted(trusted, key=lambda m: (-m.importance, -m.use_count, -m.created_at_ms, m.id))
        return MemoryListing(memories=tuple(ranked), more=listing.more)

    def newest_digest(self, caller: Caller) -> MemoryListing:
        """Return a listing of at most one memory: the newest session digest that the caller may see."""
        return self.listing(caller, kinds=(DIGEST,), limit=1)

    def require_may_change(
        self, caller: Caller, memory: Memory, what: Literal["end", "change"], *, user_words: str
    ) -> None:
        """Raise unless `caller` may end or change `memory`; `user_words` = the user's words that an agent quotes for it.

        Raises:
            RefusedByTrust: see `tacit.safety.trust.require_may_change`.
        """
        require_may_change(
            memory,
            what,
            speaker=caller.speaker,
            noting=self._settings_at(caller.cwd).capture.notes,
            quoted=lambda: self._is_asked_for(caller, memory, user_words, ends=what == "end"),
        )

    def counts_once(self, caller: Caller, memory: Memory, *, useful: bool) -> bool:
        """Whether this verdict on `memory` counts: the same one, repeated by one client, does not. Remembers the verdict."""
        word = (caller.client or caller.cwd, memory.id)
        with self._lock:
            counted = self._judged.get(word) is not useful
            self._judged[word] = useful
            while len(self._judged) > MAX_JUDGED:
                self._judged.popitem(last=False)
        return counted

    def traces(self, caller: Caller, *, memory: str = "", limit: int = 3) -> tuple[Trace, ...]:
        """Return the newest recalls of the session at work; with an id in `memory`, those that looked at that memory.

        Raises:
            NotFound: if there is no memory of this id here.
        """
        name = self.seen(caller, memory).id if memory else ""
        from tacit.app.admin.recalls import with_memory_contents  # noqa: PLC0415 - the owner asks for traces, no hook does

        key = self.queries.newest(caller.cwd)
        if key is None:
            return ()
        self._sessions.flush()
        traces = self._store.list_traces(session=str(key), limit=TRACES)
        shown = tuple(trace for trace in traces if not name or name in _looked_at(trace))[:limit]
        # A memory may have been restricted since, or the user have asked for it by hand.
        return self._visibility(caller).traces(with_memory_contents(self._store, shown))

    def on_record(self, caller: Caller, *, scope: str = "") -> AgentStats:
        """Count the memories that may be seen from the caller's folder.

        Raises:
            InvalidScope: naming what is wrong.
        """
        visible = self.queries.visible(caller.cwd, scope)
        levels = self._visibility(caller).levels
        live = self._store.list_memories(
            MemoryFilter(statuses=("active", "quarantined"), sensitivities=levels), scope=visible, limit=2000
        )
        kinds = Counter(memory.kind for memory in live if memory.status == "active")
        return AgentStats(
            active=self._store.count_memories(MemoryFilter(sensitivities=levels), scope=visible),
            kinds=tuple(sorted(kinds.items(), key=lambda entry: (-entry[1], entry[0]))),
            unconfirmed=sum(memory.status == "quarantined" for memory in live),
        )

    def stats(self, caller: Caller) -> AgentStats:
        """Count what may be seen from the caller's folder, and the recalls of the session at work."""
        counts = self.on_record(caller)
        key = self.queries.newest(caller.cwd)
        state = self._sessions.load(key) if key else None
        if key is None or state is None:
            return counts
        self._sessions.flush()
        traces = self._store.list_traces(session=str(key), limit=TRACES)
        silences = Counter(silence_text(trace) for trace in traces if trace.silent)
        settings = self._settings_at(caller.cwd)
        return replace(
            counts,
            session=str(key),
            injected=sum(bool(trace.injected) for trace in traces),
            silent=sum(not trace.injected for trace in traces),
            tokens=sum(trace.tokens for trace in traces),
            silences=tuple(sorted(silences.items(), key=lambda entry: (-entry[1], entry[0]))),
            answers=len(state.answers),
            refused=allowed_tokens(state, settings.recall, preset_of(settings.preset))[1],
        )

    def seen(self, caller: Caller, id_or_prefix: str) -> Memory:
        """Return the memory whose id is or begins with `id_or_prefix`, if the caller may see it.

        Raises:
            InvalidInput, NotFound: if it names none.
        """
        if not id_or_prefix.strip():
            raise InvalidInput("No memory was named.", hint="memory_list and memory_search show ids.")
        levels = self._visibility(caller).levels
        memory = self._store.resolve(
            id_or_prefix.strip(), scope=self.queries.visible(caller.cwd), sensitivities=levels
        )
        if not self._allowed(caller, (memory,)):
            raise NotFound(f"No memory is called {id_or_prefix.strip()!r}.", hint="memory_list shows ids.")
        return memory

    def named(self, caller: Caller, name: str) -> Memory:
        """Return the memory with this id, or with these words as a block shows them, if the caller may see it.

        Raises:
            InvalidInput, NotFound: if it names none.
        """
        try:
            return self.seen(caller, name)
        except (InvalidInput, NotFound):
            for words in dict.fromkeys(
                (name, _LINE_START.sub("", name), _LINE_END.sub("", _LINE_START.sub("", name)))
            ):
                found = self._saying(words, self.queries.visible(caller.cwd)) if " " in words.strip() else ()
                if len(allowed := self._allowed(caller, found)) == 1:
                    return allowed[0]
            raise

    def find_on_record(self, caller: Caller, content: str, replaced: Sequence[Memory]) -> Memory | None:
        """Find the active memory that `content` names by its id or its words, in a scope of `replaced`; None = the statement is new."""
        with suppress(InvalidInput, NotFound):
            named = self.named(caller, content.strip()) if replaced else None
            if named and named.status == "active" and named.scope in {old.scope for old in replaced}:
                return named
        return None

    def find_repeated(self, caller: Caller, note: str, replaced: Sequence[Memory]) -> Memory | None:
        """Find an active memory that says the same as `note`; None = there is none.

        An agent stored the note to replace the memories `replaced`. Looked at are the memories that may contradict one of these and,
        if it is only one, the memory that is nearest to the note.
        """
        from tacit.app.user_words import repeats  # noqa: PLC0415 - loads the write side

        ended = {old.id: old.content for old in replaced}
        rivals = self.rivals(caller, tuple(ended))
        # If the agent replaces several memories, the note may repeat one of these; the nearest of the others has nothing to do with it.
        near = () if len(ended) > 1 else self.listing(caller, text=note, unconfirmed=False, limit=2).memories
        others = [memory for memory in near if memory.id not in ended]
        found = (
            memory
            for memory in (*rivals, *others[:1])
            if all(memory.scope == old.scope for old in replaced)
            and repeats(note, holds=memory.content, ends=tuple(ended.values()))
        )
        return next(found, None)

    def _saying(self, words: str, scope: ScopeFilter) -> tuple[Memory, ...]:
        """Return the active memories that make the same statement as `words`."""
        begin = words.strip().rstrip(".! ")
        found = (
            self._store.list_memories(MemoryFilter(begins=begin), scope=scope, limit=MAX_LISTED)
            if begin
            else ()
        )
        return tuple(memory for memory in found if same_statement(memory.content, words))

    def _allowed(self, caller: Caller, memories: Sequence[Memory]) -> tuple[Memory, ...]:
        """Return those of `memories` that the caller may see, by their sensitivity."""
        visibility = self._visibility(caller)
        return tuple(memory for memory in memories if visibility.shows(memory))

    def _visibility(self, caller: Caller) -> Visibility:
        key = self.session_of(caller)
        return Visibility(self._store, speaker=Speaker.AGENT, session=str(key) if key else "")

    def session_of(self, caller: Caller) -> SessionKey | None:
        """Return the session that the caller names, else the only one at work in the caller's folder; None = unknown."""
        return caller.session or self.queries.only_session(caller.cwd)

    def with_clean_content(self, caller: Caller, memory: Memory) -> Memory:
        """Return `memory` with its `content` redacted by the settings of the caller's folder, "-" if nothing is left; other texts stay."""
        return self._clean(caller, (memory,))[0]

    def _clean(self, caller: Caller, memories: Sequence[Memory]) -> tuple[Memory, ...]:
        clean = self._parts.redactor.cleaner(self._settings_at(caller.cwd))
        return tuple(replace(memory, content=clean(memory.content) or "-") for memory in memories)

    def _is_asked_for(self, caller: Caller, memory: Memory, user_words: str, *, ends: bool) -> bool:
        """Whether the user typed words in this session that ask to end this memory or, with `ends` False, that speak of it.

        `user_words` = what the agent quotes.
        """
        from tacit.app.user_words import asks_to_end, speaks_of, vouch  # noqa: PLC0415 - loads the write side

        session = self.session_of(caller)
        found = vouch("", user_words, self._sessions.typed(session) if session else ())
        return (asks_to_end if ends else speaks_of)(found.sentences, memory.content)


def _holds_most(content: str, query: str) -> bool:
    """Whether `content` holds at least half of the words of `query`, also misspelled."""
    query_words, stored_words = set(content_words(query)), set(content_words(content))
    return 2 * sum(
        word in stored_words or bool(get_close_matches(word, stored_words, 1, MIN_WORD_SIMILARITY))
        for word in query_words
    ) >= max(1, len(query_words))


def _looked_at(trace: Trace) -> set[str]:
    candidate_ids = {candidate.memory_id for candidate in trace.candidates}
    return (
        candidate_ids
        | {drop.memory_id for stage in trace.stages for drop in stage.drops}
        | set(trace.injected)
    )
