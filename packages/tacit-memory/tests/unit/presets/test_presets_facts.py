"""Which statements the preset `refresh` stores fact by fact, and which it leaves whole."""

from __future__ import annotations

import pytest

from tacit.presets.refresh.preset import facts_in

APART = [
    "Our auth uses JWT tokens in httpOnly cookies. Deployment is Kubernetes with Helm on GCP.",
    "The mobile app is written in Flutter. Invoices are kept in S3 for ten years.",
    "Staging runs on heron.internal, port 8443. The nightly build takes forty minutes.",
    "Payments go through Mollie. Mails are sent by the worker named pigeon. Logs are kept for 30 days.",
    "The gateway listens on port 7070. Every test run needs a seeded database.",
]
WHOLE = [
    "Prices are integers in cents. Never use floats for them.",
    "The importer reads Windows-1252. It fails on UTF-8 files.",
    "We deploy with Helm. That is why the chart lives in ops.",
    "Run the migration first. The tests need the new column then.",
    "Integration tests need docker. Otherwise they hang for a minute.",
    "Use ruff format, line length 100. Nobody runs black here.",
    "The queue is RabbitMQ. Do not move to Kafka.",
    "Reports are built at night. Why is that? The replica lags by two minutes.",
    "Our auth uses JWT tokens in httpOnly cookies",
    "Fixed. Done.",
    "The API has two versions. Both are documented in docs/api.",
    "Releases run on Tuesdays. So the freeze is on Monday evening.",
    "The file is generated. Edit the template instead.",
    "- Auth uses JWT tokens in cookies.\n- Deployment is Kubernetes with Helm.",
    "```\nThe server is up. The client is down.\n```",
    "He said the vendor is slow. The contract ends in May anyway.",
]


@pytest.mark.parametrize("statement", APART)
def test_sentences_that_stand_alone_are_facts_of_their_own(statement):
    assert " ".join(facts_in(statement)) == statement
    assert len(facts_in(statement)) == statement.count(". ") + 1


@pytest.mark.parametrize("statement", WHOLE)
def test_what_leans_on_its_neighbor_stays_whole(statement):
    assert facts_in(statement) == (statement,)
