"""The first hour is measured for every host that Tacit is installed into."""

from __future__ import annotations

import pytest

from tacit.hosts.install import CLIENTS
from tacit.hosts.registry import BUILT_IN
from tacit_evals import host_hour


def test_every_host_and_one_mcp_client_are_measured():
    measured = {*host_hour.CLIENTS, *host_hour.PROBES}
    assert measured - set(CLIENTS) == set(BUILT_IN)
    assert measured & set(CLIENTS)


def test_another_name_is_refused_before_anything_is_built(capsys):
    with pytest.raises(SystemExit) as refused:
        host_hour.main(["--host", "emacs"])
    assert refused.value.code == 2
    assert "codex" in capsys.readouterr().err
