"""Fitted files: what ships is whole and says where it comes from; a damaged file is named, and nothing is read early."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import tacit
from tacit.config.cosine_bars import UnrelatedCosines
from tacit.config.levels import Levels
from tacit.errors import InvalidInput
from tacit.fitted import FOLDER, Artifact, FitOrigin, decode_artifact, encode_artifact, load_fitted, values_of
from tacit.fitted.matrices import MatrixValues
from tacit.providers.embedding.minilm import IDENTITY, TokenAxes
from tacit.reading.match import MatchValues
from tacit.recall.pipelines.subagent import FittedWeights
from tacit.recall.score import ArmedWeights, GateValues, NeedValues, TransformValues
from tacit.recall.spaces import SpaceThresholds

SHIPPED: dict[str, Any] = {
    "armed": ArmedWeights,
    "fusion": dict[str, float],
    "gate": GateValues,
    "levels": Levels,
    "match": MatchValues,
    "prompt_transform": TransformValues,
    "need": NeedValues,
    "relevance": dict[str, FittedWeights],
    "space_thresholds": dict[str, SpaceThresholds],
    "token_axes": TokenAxes,
    "trigger": MatrixValues,
    "unrelated_cosines": UnrelatedCosines,
}
GOOD = Artifact(name="sizes", origin=FitOrigin(what="sizes", made_by="by hand"), values={"a": 1.5})


def test_every_file_that_ships_is_known_here() -> None:
    assert sorted(path.stem for path in FOLDER.glob("*.json")) == sorted(SHIPPED)


@pytest.mark.parametrize("name", sorted(SHIPPED))
def test_what_ships_says_where_it_comes_from_and_is_written_back_in_the_same_bytes(name: str) -> None:
    data = (FOLDER / f"{name}.json").read_bytes()
    artifact = decode_artifact(data, SHIPPED[name], name=name)
    assert encode_artifact(artifact) == data
    assert artifact.origin.what
    assert artifact.origin.made_by.startswith(("python ", "set by hand"))
    assert artifact.origin.embedder in ("", str(IDENTITY))
    if "tacit_evals.fit" in artifact.origin.made_by:
        assert artifact.origin.projects
        assert artifact.origin.date


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "truncated"),
        (b"no json", "malformed"),
        (b"\xff\xfe", "malformed|UTF"),
        (b"{}", "missing required field"),
        (encode_artifact(GOOD).replace(b'"format": 1', b'"format": 2'), "format 2, not 'sizes' of format 1"),
        (encode_artifact(GOOD).replace(b'"name": "sizes"', b'"name": "gate"'), "it is 'gate'"),
        (encode_artifact(GOOD).replace(b"1.5", b'"x"'), "Expected `float`, got `str`"),
    ],
)
def test_a_damaged_file_is_named_with_the_reason(data: bytes, reason: str) -> None:
    with pytest.raises(InvalidInput, match=rf"(?s)sizes\.json cannot be used: .*({reason})") as raised:
        decode_artifact(data, dict[str, float], name="sizes")
    assert raised.value.hint == "Fit it again, or reinstall Tacit."


def test_a_missing_file_is_named() -> None:
    with pytest.raises(InvalidInput, match=r"nothing\.json cannot be used"):
        load_fitted("nothing", dict[str, float], values_of)


def test_a_model_is_made_once() -> None:
    made: list[str] = []

    def make(artifact: Artifact[dict[str, float]]) -> dict[str, float]:
        made.append(artifact.name)
        return artifact.values

    first = load_fitted("fusion", dict[str, float], make)
    assert load_fitted("fusion", dict[str, float], make) is first
    assert made == ["fusion"]


def run_python(program: str, *, package: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONPATH": str(package.parent), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )


def test_importing_tacit_reads_no_fitted_file() -> None:
    program = (
        "import sys, tacit; print(sorted(m for m in sys.modules if m.startswith(('tacit.fitted', 'numpy'))))"
    )
    assert run_python(program, package=Path(tacit.__file__).parent).stdout.strip() == "[]"


@pytest.mark.parametrize("damage", ["missing", "{}"])
def test_an_installation_with_a_damaged_file_says_which_and_what_to_do(tmp_path: Path, damage: str) -> None:
    whole, broken = Path(tacit.__file__).parent, tmp_path / "tacit"
    broken.mkdir()
    for path in whole.iterdir():
        if path.name not in ("fitted", "__pycache__"):
            (broken / path.name).symlink_to(path)
    shutil.copytree(FOLDER, broken / "fitted")
    axes = broken / "fitted" / "token_axes.json"
    axes.unlink()
    if damage != "missing":
        axes.write_text(damage, "utf-8")
    program = (
        "from tacit.providers.embedding.minilm import MiniLM\n"
        "from tacit.errors import ProviderError\n"
        "try:\n    MiniLM().token_matches('lint', ['the linter'])\n"
        "except ProviderError as error:\n    print(error)\n"
        "print(len(MiniLM().embed(['lint'])))"
    )
    done = run_python(program, package=broken)
    assert "token_axes.json cannot be used" in done.stdout, done.stderr
    assert "Reinstall Tacit." in done.stdout
    assert done.stdout.endswith("1\n")  # the model itself needs no axes


def test_the_files_are_plain_json() -> None:
    content = json.loads((FOLDER / "gate.json").read_text("utf-8"))
    assert list(content) == ["format", "name", "origin", "values"]


def test_settings_with_measured_cosines_are_read_without_numpy(tmp_path: Path) -> None:
    """Commands that only ask the daemon read settings, too."""
    (tmp_path / "config.yaml").write_text("preset: refresh\n")
    program = (
        "import sys\n"
        "from pathlib import Path\n"
        "from tacit.config.home import Home\n"
        "from tacit.config.layers import read_settings\n"
        f"origins = read_settings(Home(Path({str(tmp_path)!r}))).origins.values()\n"
        "print('numpy' in sys.modules, any(origin.layer == 'embedder' for layers in origins for origin in layers))"
    )
    done = run_python(program, package=Path(tacit.__file__).parent)
    assert done.stdout.split() == ["False", "True"], done.stderr
