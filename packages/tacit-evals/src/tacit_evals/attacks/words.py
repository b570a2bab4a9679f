"""Words that fill the forms. In: a source of chance. Out: texts in which every `{slot}` has a value. Nothing here is real.

A slot keeps its value within a case; `{tool2}` is another value of the table `tool`. `{word}` is made up anew each time.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

TABLES: dict[str, tuple[str, ...]] = {
    "person": ("Anna", "Ben", "Chidi", "Dorota", "Emre", "Farah", "Goran", "Hye-jin", "Ines", "Jonas", "Kwame", "Lucía", "Mei", "Nils", "Olga", "Priya"),
    "company": ("Northwind", "Acme Hosting", "Brightpath", "Kestrel Labs", "Ostsee IT", "Tri-Cloud", "Umbra Systems", "Veld Analytics"),
    "pm": ("pnpm", "yarn", "npm", "bun", "pip", "uv", "poetry", "cargo"),
    "lib": ("axios", "lodash", "moment", "requests", "httpx", "zod", "pydantic", "serde", "tokio", "jest", "vitest", "pytest", "sqlalchemy", "prisma"),
    "tool": ("ruff", "eslint", "prettier", "black", "mypy", "golangci-lint", "clippy", "shellcheck", "hadolint", "tsc", "biome"),
    "command": ("make lint", "make test", "npm run check", "just fmt", "cargo fmt", "go vet ./...", "pytest -q", "pnpm typecheck", "bundle exec rspec", "terraform plan"),
    "branch": ("main", "develop", "release", "staging", "trunk", "hotfix", "next"),
    "folder": ("src/legacy", "packages/ui", "internal/auth", "services/billing", "apps/web", "lib/parsers", "infra/terraform", "tests/e2e", "db/migrations", "pkg/cache"),
    "file": ("docker-compose.yml", "src/config.ts", "Makefile", "schema.prisma", "settings.py", "routes.go", "Cargo.toml", "index.tsx", "pyproject.toml", "webpack.config.js"),
    "thing": ("login form", "invoice export", "search index", "retry logic", "date picker", "rate limiter", "upload handler", "session cache", "report page", "webhook consumer"),
    "db": ("Postgres", "MySQL", "SQLite", "Redis", "DynamoDB", "ClickHouse", "MongoDB"),
    "lang": ("German", "French", "Spanish", "Portuguese", "Polish", "Turkish", "Japanese"),
    "month": ("January", "March", "May", "August", "October", "December"),
    "day": ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday"),
    "env": ("staging", "production", "preview", "the demo cluster", "CI"),
    "topic": ("caching", "error handling", "feature flags", "log rotation", "pagination", "image resizing", "queue workers", "access control"),
    "verb": ("fix", "refactor", "speed up", "document", "clean up", "extend", "simplify"),
    "style": ("tabs", "two spaces", "four spaces", "single quotes", "double quotes", "trailing commas"),
}  # fmt: skip
_CONSONANTS, _VOWELS = "bdfgklmnprstvz", "aeiou"
_SLOT = re.compile(r"\{([a-z]+?)(\d*)\}")


class Words:
    """Fills the slots of one case."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.chosen: dict[str, str] = {}

    def __call__(self, text: str) -> str:
        """`text` with every slot filled."""
        return _SLOT.sub(lambda slot: self.value(slot[1], slot[2]), text)

    def value(self, table: str, number: str = "") -> str:
        """The value of a slot in this case."""
        key = table + number
        if key not in self.chosen:
            self.chosen[key] = self._new(table)
        return self.chosen[key]

    def _new(self, table: str) -> str:
        chance = self.chance
        match table:
            case "word":
                return made_word(chance)
            case "host":
                return f"{made_word(chance)}.{chance.choice(('example', 'test', 'invalid', 'example.net'))}"
            case "number":
                return str(chance.randint(2, 98))
            case "port":
                return str(chance.randint(3000, 9900))
            case "ticket":
                return f"{chance.choice(('OPS', 'WEB', 'CORE', 'PAY', 'DX'))}-{chance.randint(100, 4999)}"
            case "hash":
                return f"{chance.getrandbits(28):07x}"
            case "clock":
                return f"{chance.randint(8, 18):02}:{chance.randint(0, 59):02}"
            case "date":
                return f"2026-{chance.randint(1, 12):02}-{chance.randint(1, 28):02}"
            case "script":
                return f"scripts/{made_word(chance)}.sh"
            case _:
                taken = {value for key, value in self.chosen.items() if key.rstrip("0123456789") == table}
                unused = [value for value in TABLES[table] if value not in taken]
                return chance.choice(unused or TABLES[table])

    def pick(self, choices: Sequence[str]) -> str:
        """One of the choices, filled."""
        return self(self.chance.choice(choices))


def made_word(chance: random.Random) -> str:
    """A word that nobody uses."""
    return "".join(
        chance.choice(_CONSONANTS) + chance.choice(_VOWELS) for _ in range(chance.randint(2, 3))
    ) + chance.choice(_CONSONANTS)


def content_words(text: str) -> set[str]:
    """Words of a text that carry its meaning, in lower case."""
    return {word for word in re.findall(r"[\w./-]{3,}", text.lower()) if word not in _LITTLE}


def share_of(text: str, other: str) -> float:
    """Share of the content words of `text` that stand in `other`."""
    words = content_words(text)
    return len(words & content_words(other)) / len(words) if words else 0.0


_LITTLE = frozenset(
    [
        "the", "and", "for", "with", "this", "that", "please", "from", "now", "into", "our", "you", "your", "are", "was", "all", "any",
        "here", "remember", "note",
    ]
)  # fmt: skip
