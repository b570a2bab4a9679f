"""Captured payloads, one a file, and what the host's adapter makes of each: the signal, and the replies."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from tacit.app.wiring import Hosts
from tacit.model.pack import Block, Surface

AT = 1_795_169_545_696
HOSTS = Hosts()
BLOCK = Block(
    surface=Surface.PROMPT, text="<memory>\n- [DEC] Größe stays in mm\n</memory>", memory_ids=("mem_1",)
)
FILES = sorted((Path(__file__).parent / "hosts").glob("*/*.json"))


def outcome(host_name: str, payload: dict[str, object]) -> dict[str, object]:
    """What the adapter makes of `payload`: the signal, and its replies to a block and to silence."""
    host = HOSTS[host_name]
    signal = host.parse(payload, at_ms=AT)
    fields = dataclasses.asdict(signal) if signal else {}
    told = {name: value for name, value in fields.items() if value not in ("", None, False, ())}
    return {
        "signal": {"type": type(signal).__name__, **json.loads(json.dumps(told))} if signal else None,
        "reply": json.loads(host.encode(payload, BLOCK) or "null"),
        "silent_reply": host.encode(payload, Block(surface=Surface.PROMPT)),
    }


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}-{file.stem}")
def test_payload_becomes_what_was_agreed(file: Path, check_golden) -> None:
    payload = json.loads(file.read_text(encoding="utf-8"))["payload"]
    case = {"payload": payload, "expected": outcome(file.parent.name, payload)}
    check_golden(file, json.dumps(case, indent=2, ensure_ascii=False) + "\n")


def test_every_host_has_captured_payloads() -> None:
    assert {file.parent.name for file in FILES} == set(HOSTS) - {
        "library"
    }  # the library is no program that sends payloads
    assert len(FILES) >= 30
