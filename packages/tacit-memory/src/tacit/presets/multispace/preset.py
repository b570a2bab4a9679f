"""The `multispace` preset: agreement of many spaces, sections with alerts before them and hints after them."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from tacit.errors import ProviderError
from tacit.model.pack import Surface
from tacit.presets.multispace.packing import pack_multispace
from tacit.presets.multispace.probe import read_sections
from tacit.presets.multispace.render import (
    multispace_block,
    multispace_frame,
    multispace_line,
    nothing_text,
)
from tacit.presets.multispace.score import multispace_relevance
from tacit.recall.pipelines import search
from tacit.recall.pipelines.on_demand import judged_answer
from tacit.recall.pipelines.start import BY_NEED, start
from tacit.recall.retrieve import rrf_weighted
from tacit.recall.score import judge_each
from tacit.recall.stage import Kit, Layout, Outcome, Pipeline, Preset, RecallState

_JUDGE = partial(
    judge_each, lambda query, candidate, kind, _settings: multispace_relevance(query, candidate, kind)
)


def searching(kit: Kit, state: RecallState) -> Pipeline:
    """A search by all spaces, at a moment that the design leaves silent and a user gives tokens to."""
    return search(kit, state, judge=_JUDGE)


def prompt(kit: Kit, state: RecallState) -> Pipeline:
    """The same before a prompt, with recent work and the last session read for the sections; nothing without the prompt's vector."""
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
    """Change nothing. Without the embedding of the prompt there would be half a picture: then nothing is handed over.

    Raises:
        ProviderError: then.
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
        Surface.ACTION: searching,
        Surface.FAILURE: searching,
        Surface.SUBAGENT: searching,
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
