"""Recorded days: payloads in, exact bytes out. `PAIRS` says which hosts meet which presets."""

from __future__ import annotations

import pytest

from golden.recorded_day import DAYS, Step, hosts, record_day, replies_in, text_of
from tacit.app.wiring import Hosts
from tacit.config.preset_files import preset_names

PAIRS = sorted(
    {(host, "focused") for host in hosts()} | {("claude-code", preset) for preset in preset_names()}
)
"""Every host with the default preset, and every preset on one host: a preset's text does not depend on the host."""


@pytest.mark.parametrize(("host", "preset"), PAIRS)
def test_a_recorded_day_gets_the_bytes_that_were_agreed(host, preset, tmp_path, check_golden):
    steps = record_day(tmp_path, host=host, preset=preset)
    text = text_of(steps, host=host, preset=preset)
    check_golden(DAYS / host / f"{preset}.yaml", text)
    assert replies_in(text) == tuple(step.reply for step in steps)


def test_every_host_has_a_day_and_every_pair_its_file():
    assert set(hosts()) == set(Hosts())
    kept = {path.relative_to(DAYS).as_posix() for path in DAYS.glob("*/*")}
    assert kept == {f"{host}/{preset}.yaml" for host, preset in PAIRS}


@pytest.mark.parametrize(
    "reply",
    [
        b"",
        b'{"text": "a\\nb: c"}',
        b'{"text":"other separators"}',
        '{"text": "Größe, not escaped"}'.encode(),
        b'{"text": "Gr\\u00f6\\u00dfe"}',
        b'{"text": " begins with a blank\\n"}',
        b'{"text": "trailing \\n\\nlines\\n"}',
        b'{"text": "tab\\there\\nand \\u2028 there"}',
        b"no JSON",
        b"[1]",
        b'{"a": {}, "b": [], "c": null, "d": "null"}',
    ],
)
def test_the_text_of_a_day_names_every_byte(reply):
    step = Step(title="Something happens.", fields={"event": "start"}, reply=reply)
    assert replies_in(text_of([step], host="plain", preset="focused")) == (reply,)
