"""Names that a prompt and a memory have in common: tickets, products, hosts, identifiers, files. Part of stage 5. Reads the store.

An embedding knows common words; of a name like `QX9040` it knows next to nothing, and a memory that shares it lies far away. A name
is an entity; a word with digits and letters, with a capital inside, or of four digits, on either side; or a word that both sides
write with a capital within a sentence. It is rare if few memories hold it.

Where a least cosine is asked for, a rare name (`MOST_HOLDERS`) admits a memory whatever the cosine is. On seven projects with judged
prompts 0.2 memories a prompt come in so, 8 % of them needed (12 % of those that the cosine admits); with names of up to five memories
it was 0.3 and 4 %, with a capital on one side 1.3 and 4 %.

In: candidates, a prompt. Out: memory id -> the name. Decides nothing else.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tacit.model.evidence import Candidate
from tacit.model.memory import Entity
from tacit.model.pack import Surface
from tacit.model.query import Query
from tacit.ports.search import Search
from tacit.reading.entities import find_entities
from tacit.recall.stage import Outcome, RecallState, Tools
from tacit.text.lazy_regex import lazy_regex

MOST_HOLDERS = 2
"""A name that more memories hold admits none of them."""
MOST_NAMES = 8
"""So many names are looked up; each costs one search."""
_WORD = lazy_regex(r"[A-Za-z0-9](?:[\w-]*[A-Za-z0-9])?")
_NAME = lazy_regex(r"^(?:(?=.*\d)(?=.*[A-Za-z]).{3,}|\d{4,}|.*[a-z][A-Z].*)$")
_STARTS_SENTENCE = lazy_regex(r"(?:^|[.!?:;\n])[\s\"'`(\[*#-]*$")


def find_shared_names(tools: Tools, state: RecallState) -> Outcome[RecallState]:
    """Which candidates share a rare name with the prompt, where a least cosine is asked for."""
    floors, query = state.settings.floors, state.query
    asks = query.surface in (Surface.PROMPT, Surface.SUBAGENT)
    if not (floors.ratio or floors.cosine) or not asks:
        return Outcome(kept=state)
    named = shared_names(query, state.scored or (), search=tools.store.search)
    return Outcome(kept=state.changed(named=named))


def shared_names(query: Query, candidates: tuple[Candidate, ...], *, search: Search) -> dict[str, str]:
    """Memory id -> a name that it shares with the prompt and that at most `most_holders` memories hold."""
    prompt_entities, prompt = set(find_entities(query.raw_text)), _read(query.raw_text)
    holders: dict[str | Entity, frozenset[str]] = {}
    shared: dict[str, str] = {}
    for candidate in candidates:
        memory = candidate.memory
        entities = [entity for entity in memory.entities if entity in prompt_entities]
        for name in (*entities, *sorted(prompt.names_in(memory.content))):
            if name not in holders and len(holders) < MOST_NAMES:
                holders[name] = _holders(name, query, search)
            if memory.id in holders.get(name, ()):
                shared[memory.id] = name.key if isinstance(name, Entity) else name
                break
    return shared


def _holders(name: str | Entity, query: Query, search: Search) -> frozenset[str]:
    """The memories that hold a name; none where they are more than `MOST_HOLDERS`."""
    limit = MOST_HOLDERS + 1
    if isinstance(name, Entity):
        hits = search.entity((name,), scope=query.scope, limit=limit).hits
    else:
        hits = search.lexical(name, scope=query.scope, limit=limit).hits
    return frozenset(hit.memory_id for hit in hits) if len(hits) <= MOST_HOLDERS else frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Prompt:
    """Words of a prompt, case folded: all, those with the form of a name, those with a capital within a sentence."""

    words: frozenset[str]
    names: frozenset[str]
    capitals: frozenset[str]

    def names_in(self, text: str) -> set[str]:
        """Names that the prompt and `text` hold. Of `text` only the words of the prompt are looked at: most memories share few."""
        return {
            word
            for match in _WORD.finditer(text)
            if (word := match[0].casefold()) in self.words
            and (
                word in self.names
                or _NAME.search(match[0])
                or (word in self.capitals and _is_capital(match, text))
            )
        }


def _read(prompt: str) -> _Prompt:
    matches = list(_WORD.finditer(prompt))
    return _Prompt(
        words=frozenset(match[0].casefold() for match in matches),
        names=frozenset(match[0].casefold() for match in matches if _NAME.search(match[0])),
        capitals=frozenset(match[0].casefold() for match in matches if _is_capital(match, prompt)),
    )


def _is_capital(match: re.Match[str], text: str) -> bool:
    word = match[0]
    return len(word) > 2 and word[0].isupper() and _STARTS_SENTENCE.search(text, 0, match.start()) is None
