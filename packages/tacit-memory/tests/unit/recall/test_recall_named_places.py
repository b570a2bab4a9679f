"""Before a call: a memory that names the file, its folder, a glob or the command is found, whatever its kind; others are not."""

from __future__ import annotations

import pytest

from samples import candidate, query
from tacit.model.kinds import KindRegistry
from tacit.model.pack import Surface
from tacit.model.signal import ToolCall
from tacit.reading.moment_places import path_pattern, touches
from tacit.reading.situation import read_call
from tacit.recall.pipelines.action import NAMED_RELEVANCE, judge_by_words

KINDS = KindRegistry()


def named(text: str, call: ToolCall, kind: str = "fact", *, finished: bool = False) -> bool:
    asked = query(
        call.command or call.paths[0], surface=Surface.ACTION, situation=read_call(call), tool=call.tool,
        call=call, finished=finished,
    )  # fmt: skip
    judged = judge_by_words(asked, candidate(text, kind=kind), KINDS.get(kind))
    return judged is not None and judged[0] >= NAMED_RELEVANCE


def edit(path: str, tool: str = "edit") -> ToolCall:
    return ToolCall(tool=tool, paths=(path,))


@pytest.mark.parametrize("kind", ["fact", "decision", "preference", "anti_pattern"])
@pytest.mark.parametrize("tool", ["edit", "write", "multiedit", "apply_patch"])
@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("drivers/dome.rs has a delay of 40 ms, the motor needs it.", "drivers/dome.rs"),
        ("drivers/dome.rs has a delay of 40 ms, the motor needs it.", "/home/ana/sky/drivers/dome.rs"),
        ("Alert limits live in prometheus/rules.yml.", "prometheus/rules.yml"),
        ("The limits of the dome are in limits.toml, in metres.", "config/limits.toml"),
        ("Labels are in apps/console/i18n/*.json, only en.json is typed.", "apps/console/i18n/pt.json"),
        ("Regenerate the client after a change of *.proto.", "wire/mount.proto"),
        ("Tables are described in schema/**/*.sql.", "schema/archive/frames.sql"),
        ("crates/legacy is frozen, never touch it.", "crates/legacy/src/lib.rs"),
        ("The generated pages in services/mail/out are not for editing.", "services/mail/out/night.html"),
    ],
)
def test_what_a_memory_names_is_found_at_the_edit(text: str, path: str, tool: str, kind: str) -> None:
    assert named(text, edit(path, tool), kind)


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("drivers/dome.rs has a delay of 40 ms.", "drivers/domes.rs"),
        ("drivers/dome.rs has a delay of 40 ms.", "drivers/mount.rs"),
        ("Labels are in apps/console/i18n/*.json.", "apps/console/i18n/pt/long.json"),
        ("The guider lives in crates/guider and reads frames.", "crates/guider/src/lib.rs"),
        ("crates/legacy is frozen, never touch it.", "crates/legacy2/src/lib.rs"),
        ("See README.md for the setup.", "README.md"),
        ("One file per command, such as cmd/list.go.", "cmd/list.go"),
        ("Added a cache in drivers/dome.rs.", "drivers/dome.rs"),
        ("We store times in UTC.", "drivers/dome.rs"),
    ],
)
def test_wrong_neighbors_stay_out(text: str, path: str) -> None:
    assert not named(text, edit(path))


def test_a_digest_and_a_finished_edit_bring_nothing() -> None:
    text = "drivers/dome.rs has a delay of 40 ms."
    assert not named(f"impl: changed drivers/dome.rs. {text}", edit("drivers/dome.rs"), "digest")
    assert not named(text, edit("drivers/dome.rs"), finished=True)


def test_a_look_brings_only_what_orders() -> None:
    assert named("drivers/dome.rs is generated.", edit("drivers/dome.rs", "read"))
    assert not named("drivers/dome.rs has 400 lines.", edit("drivers/dome.rs", "read"))


@pytest.mark.parametrize(
    ("text", "command", "found"),
    [
        ("`pulumi preview` shows a diff of the node pool; don't up to fix it.", "pulumi up --yes", True),
        ("`helm diff` is noisy here, never upgrade because of it.", "helm upgrade sky deploy/sky", True),
        ("`pulumi preview` shows a diff of the node pool.", "pulumi up --yes", False),
        ("`helm diff` is noisy here, never upgrade because of it.", "helm list", False),
        ("Don't upgrade node.", "helm upgrade sky deploy/sky", False),
    ],
)
def test_a_command_that_a_memory_speaks_against_is_found(text: str, command: str, found: bool) -> None:
    assert named(text, ToolCall(tool="bash", command=command)) is found


@pytest.mark.parametrize(
    ("path", "file", "meant"),
    [
        ("src/**/*.rs", "src/a/b/c.rs", True),
        ("src/**/*.rs", "src/c.rs", True),
        ("src/*.rs", "src/a/c.rs", False),
        ("migrations", "db/migrations/1.sql", True),
        ("migrations/", "db/migrations", True),
        ("dockerfile", "build/Dockerfile", True),
    ],
)
def test_one_matcher_of_paths(path: str, file: str, meant: bool) -> None:
    assert touches(path_pattern(path), file) is meant
