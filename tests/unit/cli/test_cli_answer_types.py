"""What the command line takes an answer for, held to the values that the API makes answers of."""

from __future__ import annotations

from dataclasses import fields
from typing import get_type_hints

import pytest

from tacit.app.admin import series
from tacit.app.holdout import report
from tacit.app.maintenance.maintenance import StoreUse
from tacit.app.values import EngineStatus, ExtractorStatus
from tacit.cli.statistics import answer_types
from tacit.cli.terminal import answer_types as told
from tacit.model import trace
from tacit.model.situation import Situation
from tacit.ports.store import StoreStats
from tacit.recall.replay import Replayed
from tacit.session.cache_meter import CacheShare
from tacit.state.counted import Totals
from tacit.upkeep.rounds import Statistics

PAIRS = [
    (answer_types.Bucket, series.Bucket),
    (answer_types.Latency, series.Latency),
    (answer_types.Reason, series.Reason),
    (answer_types.Feedback, series.FeedbackCounts),
    (answer_types.Series, series.Series),
    (answer_types.Contrast, report.Contrast),
    (answer_types.Holdout, report.Holdout),
    (answer_types.Uses, Totals),
    (answer_types.Impact, StoreUse),
    (answer_types.Stored, Statistics),
    (answer_types.CacheShare, CacheShare),
    (told.Trace, trace.Trace),
    (told.Stage, trace.StageRecord),
    (told.Drop, trace.Drop),
    (told.ScoredCandidate, trace.TracedCandidate),
    (told.ExpectedActions, Situation),
    (told.Replayed, Replayed),
    (told.EngineFacts, EngineStatus),
    (told.Counts, StoreStats),
    (told.Extractor, ExtractorStatus),
]


@pytest.mark.parametrize(("shape", "value"), PAIRS)
def test_a_shape_names_fields_that_the_answer_has(shape: type, value: type) -> None:
    assert set(get_type_hints(shape)) <= {field.name for field in fields(value)}
