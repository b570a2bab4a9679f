"""What the command line takes an answer for, held to the values that the API makes answers of."""

from __future__ import annotations

from dataclasses import fields
from typing import get_type_hints

import pytest

from tacit.app.care.care import StoreUse
from tacit.app.desk import series
from tacit.app.trial import report
from tacit.app.values import EngineStatus, ExtractorStatus
from tacit.cli.numbers import shapes
from tacit.cli.terminal import shapes as told
from tacit.model import trace
from tacit.model.situation import Situation
from tacit.ports.store import StoreStats
from tacit.recall.replay import Replayed
from tacit.session.meter import CacheShare
from tacit.state.counted import Totals
from tacit.upkeep.rounds import Statistics

PAIRS = [
    (shapes.Bucket, series.Bucket),
    (shapes.Latency, series.Latency),
    (shapes.Reason, series.Reason),
    (shapes.Feedback, series.FeedbackCounts),
    (shapes.Series, series.Series),
    (shapes.Contrast, report.Contrast),
    (shapes.Holdout, report.Holdout),
    (shapes.Uses, Totals),
    (shapes.Impact, StoreUse),
    (shapes.Stored, Statistics),
    (shapes.CacheShare, CacheShare),
    (told.Trace, trace.Trace),
    (told.Stage, trace.StageRecord),
    (told.Drop, trace.Drop),
    (told.Weighed, trace.TracedCandidate),
    (told.Coming, Situation),
    (told.Replayed, Replayed),
    (told.EngineFacts, EngineStatus),
    (told.Counts, StoreStats),
    (told.Extractor, ExtractorStatus),
]


@pytest.mark.parametrize(("shape", "value"), PAIRS)
def test_a_shape_names_fields_that_the_answer_has(shape: type, value: type) -> None:
    assert set(get_type_hints(shape)) <= {field.name for field in fields(value)}
