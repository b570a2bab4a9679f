"""Makes the token ranks that Tacit ships, from a wheel of PyPI that holds them.

    uv run --group build-model python scripts/build_o200k.py [--wheel PATH] [--out FOLDER]

In: the wheel `litellm` (pinned by its hash; read as a zip, none of its code is run), which bundles OpenAI's rank files.
Out: `o200k_base.bin` (the sorted 64-bit keys of all tokens, then their ranks as 32-bit numbers, little-endian), `manifest.json`, `NOTICE`;
the same bytes every time. Needs only pip and Tacit itself, whose keys these are.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import json
import struct
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from tacit.providers.tokens import token_key

PACKAGE, VERSION, PLATFORM = "litellm", "1.109.1", "manylinux_2_28_x86_64"
WHEEL_SHA256 = "1c8b4dd671fa0cd0850aa751678704ff77e595fb1e6085b2dc3be39ee19bdaaf"
# tiktoken caches a file under the SHA-1 of its address, and so does this wheel.
ADDRESS = "https://openaipublic.blob.core.windows.net/encodings/o200k_base.tiktoken"
MEMBER = "litellm/litellm_core_utils/tokenizers/" + hashlib.sha1(ADDRESS.encode()).hexdigest()
RANKS_SHA256 = (
    "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"  # as pinned in tiktoken itself
)
TOKENS = 199_998
OUT = Path(__file__).resolve().parents[1] / "packages/tacit-memory/src/tacit/providers/o200k"

NOTICE = """\
`o200k_base.bin` holds the token ranks of OpenAI's o200k_base encoding, and `tokens.py` its splitting pattern, both
from tiktoken (https://github.com/openai/tiktoken), under the MIT License:

Copyright (c) 2022 OpenAI, Shantanu Jain

Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated documentation
files (the "Software"), to deal in the Software without restriction, including without limitation the rights to use, copy,
modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit persons to whom the
Software is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the
Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE
WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR
COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE,
ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
"""


def main() -> int:
    parser = argparse.ArgumentParser(description="Make the token ranks that Tacit ships.")
    parser.add_argument("--wheel", type=Path, help=f"the wheel of {PACKAGE} {VERSION}, instead of a download")
    parser.add_argument("--out", type=Path, default=OUT)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        build(options.wheel or download(Path(scratch)), options.out)
    return 0


def build(wheel: Path, out: Path) -> None:
    expect("the wheel", wheel.read_bytes(), WHEEL_SHA256)
    with zipfile.ZipFile(wheel) as archive:
        ranks = archive.read(MEMBER)
    expect("the rank file", ranks, RANKS_SHA256)
    lines = [line.split() for line in ranks.splitlines()]
    numbers = [int(rank) for token, rank in lines if base64.b64decode(token, validate=True)]
    if numbers != list(range(TOKENS)):
        sys.exit("The ranks are not 0, 1, 2 and so on. Nothing was written.")
    packed = pack([base64.b64decode(token) for token, _ in lines])
    manifest = {
        "name": "o200k_base",
        "tokens": TOKENS,
        "ranks_sha256": RANKS_SHA256,
        "packed_sha256": hashlib.sha256(packed).hexdigest(),
        "licence": "MIT",
        "source": f"{PACKAGE}=={VERSION} (PyPI, {PLATFORM})",
        "source_sha256": WHEEL_SHA256,
        "command": "uv run --group build-model python scripts/build_o200k.py",
    }
    out.mkdir(parents=True, exist_ok=True)
    (out / "o200k_base.bin").write_bytes(packed)
    (out / "manifest.json").write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")
    (out / "NOTICE").write_text(NOTICE, encoding="utf-8")
    print(f"o200k_base.bin {len(packed):,} bytes")


def pack(tokens: list[bytes]) -> bytes:
    """The table of `tokens`, whose places are their ranks."""
    table = sorted((token_key(token), rank) for rank, token in enumerate(tokens))
    keys = [key for key, _ in table]
    if len(set(keys)) != len(keys):
        sys.exit("Two tokens have one key. Nothing was written.")
    return struct.pack(f"<{len(table)}Q{len(table)}I", *keys, *(rank for _, rank in table))


def expect(what: str, data: bytes, sha256: str) -> None:
    found = hashlib.sha256(data).hexdigest()
    if found != sha256:
        sys.exit(f"{what} has sha256 {found}, expected {sha256}. Nothing was written.")


def download(folder: Path) -> Path:
    command = ["download", "--no-deps", "--quiet", "--dest", str(folder), "--only-binary=:all:"]
    command += ["--platform", PLATFORM, "--python-version", "3.11", f"{PACKAGE}=={VERSION}"]
    subprocess.run([sys.executable, "-m", "pip", *command], check=True)
    return next(folder.glob("*.whl"))


if __name__ == "__main__":
    sys.exit(main())
