"""What the command line takes an answer for, held to the values that the API makes answers of."""

from __future__ import annotations

from dataclasses import fields
from typing import get_type_hints

import pytest

from tacit.app.care.care import StoreUse
from tacit.app.desk import series
from tacit.app.trial import report
from tacit.capture.usage import Totals
from tacit.cli.numbers import shapes
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
]


@pytest.mark.parametrize(("shape", "value"), PAIRS)
def test_a_shape_names_fields_that_the_answer_has(shape: type, value: type) -> None:
    assert set(get_type_hints(shape)) <= {field.name for field in fields(value)}
