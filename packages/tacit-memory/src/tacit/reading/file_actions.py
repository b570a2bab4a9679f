"""Action classes for the kinds of files: a test, a document, a pipeline, settings, a lock file.

In: a path and how it is touched. Out: action classes with chances. Never opens the file.
"""

from __future__ import annotations

import re
from typing import Literal

from tacit.reading.languages import is_code
from tacit.text.lazy_regex import lazy_regex

Touch = Literal["edit", "write", "read", "named"]
"""How a file is touched; `named` = only mentioned in words, the weakest."""

_TEST = lazy_regex(
    r"(?:^|/)(?:tests?|__tests__|spec|specs|e2e|testdata)/|(?:^|/)test_[^/]+$|[._-](?:test|tests|spec|e2e)\.[^/]+$|(?:Tests?|Spec)\.(?:cs|java|kt|swift|scala)$|(?:^|/)conftest\.py$"
)
_KINDS: tuple[tuple[re.Pattern[str], tuple[tuple[str, float], ...]], ...] = tuple(
    (lazy_regex(pattern, re.IGNORECASE), actions)
    for pattern, actions in (
        (r"(?:^|/)\.github/(?:workflows|actions)/|(?:^|/)\.gitlab-ci\.ya?ml$|(?:^|/)(?:jenkinsfile|azure-pipelines\.ya?ml|\.travis\.yml|\.drone\.yml)$|(?:^|/)\.circleci/|(?:^|/)\.goreleaser", (("ci_pipeline", 1.0),)),
        (r"(?:^|/)(?:dockerfile|containerfile)|docker-compose|(?:^|/)compose\.ya?ml$|\.dockerignore$|(?:^|/)(?:k8s|helm|charts|terraform|infra)/|\.tf$", (("ci_pipeline", 0.6), ("config_settings", 0.6))),
        (r"(?:^|/)(?:agents|claude|gemini|copilot-instructions|skill)\.md$|\.mdc$|(?:^|/)\.cursorrules$|(?:^|/)\.cursor/rules/|(?:^|/)\.claude/|(?:^|/)\.windsurfrules$", (("edit_rules", 1.0),)),
        (r"(?:^|/)(?:change(?:s|log)|history|news)(?:\.\w+)?$", (("write_docs", 0.9), ("release", 0.4))),
        (r"\.(?:mdx?|rst|adoc|txt)$|(?:^|/)docs?/|(?:^|/)(?:readme|contributing|license|security)(?:\.\w+)?$", (("write_docs", 0.9),)),
        (r"(?:^|/)(?:package-lock\.json|yarn\.lock|pnpm-lock\.yaml|poetry\.lock|uv\.lock|cargo\.lock|go\.sum|gemfile\.lock|composer\.lock|bun\.lockb?)$", (("generated_files", 0.9), ("add_dependency", 0.7))),
        (r"(?:^|/)(?:package\.json|requirements[\w.-]*\.txt|pyproject\.toml|cargo\.toml|go\.mod|gemfile|composer\.json|pom\.xml|build\.gradle(?:\.kts)?|[^/]+\.csproj)$", (("config_settings", 0.6), ("add_dependency", 0.6))),
        (r"(?:^|/)(?:dist|build|out|generated|__generated__|gen|node_modules|vendor)/|\.(?:pb\.go|pb2\.py|g\.dart|generated\.\w+|min\.js|snap)$|_pb2\.py$", (("generated_files", 0.9),)),
        (r"(?:^|/)(?:migrations?|alembic|prisma|schema)/|\.sql$|\.prisma$|schema\.\w+$", (("data_storage", 0.9),)),
        (r"(?:^|/)\.env|\.(?:ya?ml|toml|ini|cfg|conf|jsonc?|properties|plist)$|(?:^|/)\.[\w-]+rc(?:\.\w+)?$|config\.\w+$|settings\.\w+$", (("config_settings", 0.8),)),
        (r"\.(?:css|scss|sass|less|html?|vue|svelte|tsx|jsx|razor|xaml)$|(?:^|/)(?:components|pages|views|styles|templates)/", (("ui_design", 0.5),)),
        (r"(?:^|/)(?:cli|cmd|commands?|tui)(?:/|\.)|_tui\.\w+$", (("cli_output_ux", 0.3),)),
        (r"(?:^|/)[^/]*(?:log(?:ger|ging)?|analytics|telemetry|metrics|tracing)[^/]*\.\w+$", (("logging_analytics", 0.5),)),
        (r"(?:^|/)[^/]*(?:auth|security|crypto|permission|secret|token|password)[^/]*\.\w+$", (("security_privacy", 0.4),)),
        (r"(?:^|/)[^/]*(?:pars(?:e|er|ing)|serial|encod|decod|format|markdown)[^/]*\.\w+$", (("parsing_formats", 0.4),)),
        (r"(?:^|/)[^/]*(?:store|storage|database|db|repository|models?)[^/]*\.\w+$", (("data_storage", 0.4),)),
        (r"(?:^|/)[^/]*(?:errors?|exceptions?)[^/]*\.\w+$", (("error_handling", 0.5),)),
    )
)  # fmt: skip
_NAMED = 0.35
_READ = 0.5


def is_test(path: str) -> bool:
    """Whether the file at `path` is a test by its name or folder."""
    return bool(_TEST.search(path.replace("\\", "/")))


def file_actions(path: str, touch: Touch) -> tuple[tuple[str, float], ...]:
    """Action classes that touching the file at `path` means, with chances.

    Editing is certain; reading counts by half (an edit often follows); naming by a third.
    """
    path = path.replace("\\", "/")
    chances: dict[str, float] = {}
    for pattern, actions in _KINDS:
        if pattern.search(path):
            for name, chance in actions:
                chances[name] = max(chance, chances.get(name, 0.0))
    if is_test(path):
        chances.pop("ui_design", None)
        chances["write_test" if touch == "write" else "change_test"] = 1.0
        chances["change_test" if touch == "write" else "write_test"] = 0.5
        chances["run_tests"] = 0.6
    if is_code(path) and "generated_files" not in chances:
        chances["edit_code"] = 1.0 if not is_test(path) else 0.6
    share = {"edit": 1.0, "write": 1.0, "read": _READ, "named": _NAMED}[touch]
    weighted = {name: chance * share for name, chance in chances.items()}
    if touch == "write":
        weighted["new_file"] = 0.8
    elif touch == "read":
        weighted["explain_code"] = 0.4
    return tuple(
        sorted(((name, round(p, 3)) for name, p in weighted.items()), key=lambda item: (-item[1], item[0]))
    )
