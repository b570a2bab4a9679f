"""No memory writes a delimiter, whatever the layout, the surface and the words: fuzzed over the delimiters of all hosts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from delimiters import ELEMENTS, ROLES, TOKENS, delimiters_in, written
from samples import memory_named
from tacit.config.preset_files import preset_names
from tacit.mcp.texts import memory_line, outcome
from tacit.model.change_reason import ChangeCause, ChangeReason
from tacit.model.changes import Supersede
from tacit.model.evidence import Candidate
from tacit.model.kinds import KindRegistry
from tacit.model.memory import Memory, TrustTier
from tacit.model.pack import Pack, PackItem, Surface
from tacit.model.scope import project_scope
from tacit.presets import preset_of
from tacit.presets.refresh.preset import memory_text, relevant_text, sections_text

KINDS = KindRegistry()
DELIMITERS = st.one_of(
    st.sampled_from(ELEMENTS).flatmap(lambda name: st.sampled_from(written(name))),
    st.sampled_from(TOKENS),
    st.sampled_from(ROLES),
)
WORDS = st.sampled_from(
    [
        "",
        " ",
        "\n",
        ". ",
        "x",
        "the port is 80",
        "\u200b",
        "\u2029",
        "a <",
        "- ",
        "* ",
        "<",
        "&",
        "[",
        "`",
        "#",
        "|",
        "\\",
    ]
)
HOSTILE = st.lists(DELIMITERS | WORDS | st.text(max_size=3), min_size=1, max_size=9).map("".join)


def memory(
    content: str, kind: str = "preference", tier: TrustTier = TrustTier.USER, source: str = "cli"
) -> Memory:
    said = f"x{content}" if not content.strip() else content
    return memory_named("mem_1", said, kind=kind, tier=tier, source=source, scope=project_scope("shop-1"))


def pack_of(one: Memory, surface: Surface) -> Pack:
    item = PackItem(candidate=Candidate(memory=one, relevance=0.9, fused=0.9), text=one.content, tokens=9)
    return Pack(surface=surface, items=(item,), budget_tokens=1000)


@pytest.mark.parametrize("preset", preset_names())
@given(
    text=HOSTILE,
    source=HOSTILE,
    kind=st.sampled_from(["preference", "error_pattern", "digest", "todo", "decision"]),
    tier=st.sampled_from(TrustTier),
    surface=st.sampled_from([s for s in Surface if s is not Surface.HOST]),
)
def test_a_block_holds_the_delimiters_of_its_layout_alone(preset, *, text, source, kind, tier, surface):
    def rendered(content: str, origin: str) -> str:
        return preset_of(preset).layout.block(pack_of(memory(content, kind, tier, origin), surface), KINDS)

    block = rendered(text, source)
    assert delimiters_in(block) == delimiters_in(rendered("harmless", "cli"))
    assert block == rendered(text, source)
    assert len(block.splitlines()) == len(rendered("harmless", "cli").splitlines())


@given(text=HOSTILE, tier=st.sampled_from(TrustTier))
def test_the_refreshed_sections_hold_their_own_delimiters_alone(text: str, tier: TrustTier) -> None:
    def rendered(content: str) -> str:
        items = pack_of(memory(content, tier=tier), Surface.PROMPT).items
        return memory_text(sections_text(items, KINDS), relevant_text(items, KINDS))

    assert delimiters_in(rendered(text)) == delimiters_in(rendered("harmless"))


@given(HOSTILE)
def test_what_mcp_says_of_a_memory_holds_no_delimiter(text: str) -> None:
    one = memory(text)
    assert delimiters_in(memory_line(one)) == []
    reason = ChangeReason(cause=ChangeCause.STORED_WORDS, detail=text)
    told = outcome(Supersede(memory=one, old_id="mem_0", at_ms=1, reason=reason))
    assert delimiters_in(told) == []
