"""Relevance after a failure: by the signature, by hand; by what a memory and the failure both name, whatever its kind."""

from __future__ import annotations

import pytest

from samples import candidate, query
from tacit.model.pack import Surface
from tacit.model.query import Query
from tacit.reading.errors import error_signature
from tacit.reading.terms import find_entities
from tacit.recall.pipelines.failure import THRESHOLD, judge_failure

NOTES = {
    "sim": "Run `just sim` before the mount tests, they need the simulator on port 7624 and give ECONNREFUSED without it.",
    "fits": "cargo build of crates/fits needs libcfitsio-dev, else the linker says cannot find -lcfitsio.",
    "lfs": "Star catalogs are in Git LFS. Without `git lfs pull` catalog.bin is a pointer and the loader panics with 'bad magic'.",
    "canvas": "npm ci in apps/console fails on Node 22 because of node-canvas; use Node 20 (.nvmrc).",
    "m31": "test_solve_m31 is slow and times out under 60 seconds.",
    "sqlx": "Offline data must be renewed by cargo sqlx prepare or CI fails with SQLX_OFFLINE errors.",
    "disk": "Docker builds of the console run out of disk on the small runner; prune with docker builder prune first.",
    "gosec": "golangci-lint is pinned at 1.59 because 1.60 reports false G115 findings.",
    "seed": "`make seed` fails on the small laptops unless SEED_LIMIT is set.",
    "jdk": "gradle cannot run the build on JDK 21 (Unsupported class file major version 65).",
    "weather": "Weather data comes from stations/wind_feed.py with decimal commas; the encoding is Latin-1.",
    "utc": "We decided that exposures are stored in UTC and shown in local sidereal time.",
    "elena": "Elena wants units in variable names, e.g. exposure_s, alt_deg.",
    "page": "The archive API pages with a cursor, page size is 500 at most.",
    "console": "The web console is apps/console (SvelteKit). It is served behind Caddy.",
    "git": "Branches are named after the ticket; git tags are made by the release job.",
}
FAILURES = [
    ("cargo test -p mount", "Os { code: 111, kind: ConnectionRefused } connecting to 127.0.0.1:7624", "sim"),
    ("cargo build -p fits", "/usr/bin/ld: cannot find -lcfitsio: No such file or directory", "fits"),
    ("cargo run -p skymap", "thread 'main' panicked at src/catalog.rs:41: bad magic in catalog.bin", "lfs"),
    ("cd apps/console && npm ci", "npm error path node_modules/canvas\nnpm error node -v v22.3.0", "canvas"),
    ("pytest tests/test_sky.py", "FAILED tests/test_sky.py::test_solve_m31 - Failed: Timeout >60.0s", "m31"),
    ("cargo check", "error: run `cargo sqlx prepare` to update the query cache (SQLX_OFFLINE)", "sqlx"),
    ("docker build -t console .", "failed to solve: write /var/lib: no space left on device", "disk"),
    ("golangci-lint run ./...", "score.go:51:20: G115: integer overflow conversion int -> uint8", "gosec"),
    ("make seed", "Killed\nmake: *** [seed] Error 137", "seed"),
    ("./gradlew build", "> Unsupported class file major version 65\nBUILD FAILED in 2s", "jdk"),
    ("python -m stations.wind_feed", "UnicodeDecodeError: 'utf-8' codec can't decode byte 0xe9", "weather"),
    ("ls crates/foo", "ls: cannot access 'crates/foo': No such file or directory", ""),
    (
        "cargo test -p core",
        "error[E0382]: borrow of moved value: `frame`\n --> crates/core/src/lib.rs:88:14",
        "",
    ),
    ("git push", "error: failed to push some refs to 'origin'\nhint: Updates were rejected", ""),
    ("git log", "fatal: not a git repository (or any of the parent directories): .git", ""),
    ("grep -rn exposure_s src", "", ""),
    ("python tools/plot.py", "TypeError: unsupported operand type(s) for +: 'int' and 'str'", ""),
    ("npm run lint", "apps/console/src/a.ts\n  12:5  error  'x' is never used  no-unused-vars", ""),
    (
        "curl -s localhost:9000/health",
        "curl: (7) Failed to connect to localhost port 9000: Connection refused",
        "",
    ),
    ("make docs", "make: *** No rule to make target 'docs'.  Stop.", ""),
    ("docker ps", "Cannot connect to the Docker daemon at unix:///var/run/docker.sock", ""),
]


def failing(error: str, command: str) -> Query:
    text = f"{command}\n{error}"
    return query(
        text,
        surface=Surface.FAILURE,
        error_signature=error_signature(error, command=command),
        entities=find_entities(text),
    )


def after_failure(asked: Query, *args: object, **fields: object) -> float:
    found = candidate(*args, **fields)  # type: ignore[arg-type]
    return judge_failure(asked, [found], among=1)[0][0]


@pytest.mark.parametrize("kind", ["fact", "preference", "decision", "error_pattern"])
@pytest.mark.parametrize(("command", "error", "wanted"), FAILURES)
def test_a_memory_that_names_what_failed_comes_whatever_its_kind_and_others_stay_silent(
    command: str, error: str, wanted: str, kind: str
) -> None:
    found = [candidate(text, id=f"mem_{name}", kind=kind) for name, text in NOTES.items()]
    judged = judge_failure(failing(error, command), found, among=len(found))
    passed = [name for name, (relevance, _) in zip(NOTES, judged, strict=True) if relevance >= THRESHOLD]
    assert passed == ([wanted] if wanted else [])


def test_a_name_that_many_memories_hold_tells_little() -> None:
    asked = failing("PANIC in mount_driver", "cargo test")
    alone = [candidate("mount_driver fails when the dome is open.", id="mem_a")]
    several = [candidate(f"mount_driver fails in case {n}.", id=f"mem_{n}") for n in range(30)]
    assert judge_failure(asked, alone, among=30)[0][0] >= THRESHOLD
    assert max(relevance for relevance, _ in judge_failure(asked, several, among=30)) < THRESHOLD


def test_what_shares_much_less_than_the_best_one_is_left_out() -> None:
    asked = failing("cannot open filter_wheel on usb_hub after wake_up", "cargo run")
    found = [
        candidate("filter_wheel hangs behind usb_hub after wake_up.", id="mem_a"),
        candidate("The usb_hub is in the dome.", id="mem_b"),
    ]
    (best, reasons), (other, _) = judge_failure(asked, found, among=2)
    assert best >= THRESHOLD
    assert "names with the failure" in reasons[0]
    assert other == 0.0


def test_digests_and_fixes_of_another_signature_do_not_come_by_shared_names() -> None:
    asked = failing("SQLX_OFFLINE is set but catalog.bin misses wind_feed", "cargo check")
    text = "SQLX_OFFLINE failed, catalog.bin failed, wind_feed failed."
    assert after_failure(asked, text, kind="fact") >= THRESHOLD
    assert after_failure(asked, text, kind="digest") == 0.0
    assert after_failure(asked, text, kind="error_pattern", error_signature="npm test | other words") == 0.0


def test_the_same_signature_is_exact() -> None:
    asked = failing("Error: Cannot find module 'left-pad'", "npm test")
    assert after_failure(asked, kind="error_pattern", error_signature=asked.error_signature) == 0.95


def test_a_near_signature_is_of_the_same_program_and_shares_words() -> None:
    asked = query(surface=Surface.FAILURE, error_signature="npm test | cannot find module left-pad")
    near = {"kind": "error_pattern", "error_signature": "npm test | cannot find package"}
    # words asked: cannot find module left-pad; theirs: cannot find package; common 2 of 3: 0.9 x 2 / 3
    assert after_failure(asked, **near) == pytest.approx(0.9 * 2 / 3)
    assert after_failure(asked, **near | {"error_signature": "go test | cannot find package"}) == 0.0
    assert after_failure(asked, **near | {"error_signature": "npm test | find nothing else here"}) == 0.0


def test_another_subcommand_that_says_the_very_same_has_the_same_fix() -> None:
    asked = query(
        surface=Surface.FAILURE,
        error_signature="docker compose ps | exit 14 | no configuration file provided",
    )
    known = {
        "kind": "error_pattern",
        "error_signature": "docker compose up | exit 14 | no configuration file provided",
    }
    assert after_failure(asked, **known) == pytest.approx(0.9)
    other = known | {"error_signature": "docker compose up | exit 14 | no configuration file provided twice"}
    assert after_failure(asked, **other) == 0.0
    program = known | {"error_signature": "podman compose up | exit 14 | no configuration file provided"}
    assert after_failure(asked, **program) == 0.0


def test_what_was_told_counts_by_its_quoted_words() -> None:
    asked = failing("remote: refusing to update checked out branch: refs/heads/main", "git push origin main")
    told = "Push fails with 'refusing to update checked out branch' because origin is not bare."
    assert after_failure(asked, told, kind="error_pattern") == pytest.approx(0.9 * 0.8)
    assert after_failure(asked, "Push may fail with 'permission denied here'.", kind="error_pattern") == 0.0
