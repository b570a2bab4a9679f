"""The program that measures an import of transcripts, on made-up files and on the real ones."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from shared_data import shared_data
from tacit.hosts.transcripts.sessions import named_transcripts
from tacit_evals.backfill import main, time_reading


def talk(path: Path, *prompts: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = [
        {"role": "user", "content": text, "timestamp": 1795168800000 + n} for n, text in enumerate(prompts)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_it_counts_and_a_second_run_changes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    talk(tmp_path / "data" / "shop" / "a.jsonl", "Always use pnpm in this repository, never npm.", "thanks")
    talk(tmp_path / "data" / "shop" / "b.jsonl", "Never commit directly to main.")
    written = tmp_path / "out.json"
    arguments = ["--data", str(tmp_path / "data"), "--embedder", "fake", "--json", str(written)]
    assert main(arguments) == 0
    told = json.loads(written.read_text())
    assert (told["first"]["handovers"], told["first"]["prompts"], told["first"]["errors"]) == (2, 3, [])
    assert (told["second"]["added"], told["second"]["prompts"]) == (0, 0)
    assert not told["second_run_changed_something"]
    assert {sample["content"] for sample in told["samples"]} >= {"Never commit directly to main"}
    assert "Never commit directly to main" in capsys.readouterr().out


def test_taking_secrets_out_never_makes_an_import_faster(tmp_path: Path) -> None:
    path = tmp_path / "shop" / "a.jsonl"
    talk(path, *(f"Never commit directly to branch {n}, and always run test {n} before." for n in range(40)))
    speed = time_reading(named_transcripts([path.parent], cwd=str(path.parent)))
    assert speed is not None
    assert speed.redacted_mb_s <= speed.extracted_mb_s <= speed.read_mb_s


@pytest.mark.parametrize("repeat", ["0", "-1", "x"])
def test_nothing_is_measured_less_than_once(tmp_path: Path, repeat: str) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["--data", str(tmp_path), "--repeat", repeat])


def test_a_broken_file_is_told_by_the_exit_code(tmp_path: Path) -> None:
    talk(tmp_path / "data" / "a.jsonl", "Never commit directly to main.")
    (tmp_path / "data" / "cut.json").write_text('{"messages": [')
    assert main(["--data", str(tmp_path / "data"), "--embedder", "fake"]) == 1


@pytest.mark.slow
@pytest.mark.shared_data
@pytest.mark.parametrize("every", [12, pytest.param(1, marks=pytest.mark.long)])
def test_real_transcripts_are_imported_twice_with_the_same_result(tmp_path: Path, every: int) -> None:
    data, written = shared_data("transcripts"), tmp_path / "out.json"
    files = sorted(path for path in data.rglob("*") if path.is_file())[::every]
    for path in files:
        copy = tmp_path / "data" / path.relative_to(data)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)
    assert main(["--data", str(tmp_path / "data"), "--embedder", "fake", "--json", str(written)]) == 0
    told = json.loads(written.read_text())
    assert told["first"]["handovers"] >= (155 + 64 + 243) / every / 2
    assert told["first"]["errors"] == []
    assert (told["second"]["added"], told["second"]["merged"], told["second"]["superseded"]) == (0, 0, 0)
    assert 1 <= len(told["samples"]) <= 30
    assert told["speed"]["jsonl"]["read_mb_s"] > 0
