"""The benchmark of many MCP clients, with a few of them."""

from __future__ import annotations

import json

import pytest

from tacit_evals.clients import main


@pytest.mark.slow
def test_it_asks_alone_beside_others_and_all_at_once(tmp_path, capsys):
    rows = tmp_path / "rows.json"
    given = ["--clients", "3", "--size", "40", "--every", "0.05", "--embedder", "fake", "--json", str(rows)]
    assert main(given) in (0, 1)  # a busy machine may miss a ratio; an answer that is missing raises
    told = {row["name"]: row for row in json.loads(rows.read_text())}
    assert told["3 clients at work, p99"]["value"] > 0
    assert 0 < told["extra memory of a client"]["value"] <= told["extra memory of a client"]["target"] == 15
    assert "MCP clients of one daemon" in capsys.readouterr().out
