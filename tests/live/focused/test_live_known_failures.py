"""A known failure, through hook client and daemon: it comes before the very command that it opens with runs again, and at no other call."""

from __future__ import annotations

from live.focused.work import Told, Work

REJECTED = (
    "`git push origin main` from a session repo fails with 'refusing to update checked out branch: refs/heads/main' because origin is the"
    " non-bare main workspace; push the session branch instead."
)
LEASED = "`scripts/ship.sh staging` failed with: lease is held. Run `scripts/lease.sh drop staging` first."
KILLED = "`docker compose up -d search` exits with 137: give Docker six gigabytes."
REPAIRS = "`make clean` repairs a build that failed with 'stale archive member'."
KNOWN = (REJECTED, LEASED, KILLED, REPAIRS)


def begin(live) -> Work:
    """A session that began before the failures were stored, among other things that are known of the same commands."""
    machine = live("preset: focused")
    session = Work(machine, "s1")
    assert session.start() == ""
    for content in KNOWN:
        machine.remember(content, kind="error_pattern", when="")
    for number in range(12):
        machine.remember(
            f"Mirror {number} of the origin listens on port {9400 + number}.", kind="fact", when=""
        )
    return session


def told(text: str) -> list[str]:
    return [one for one in KNOWN if one.split("`")[1] in text]


def test_a_known_failure_comes_before_its_command_runs_again(live):
    session = begin(live)
    for command, known in (
        ("git push origin main", REJECTED),
        ("cd infra && ./scripts/ship.sh staging 2>&1 | tail -20", LEASED),
        ("docker compose up -d search", KILLED),
    ):
        assert told(session.bash(command).starts) == [known], command
        assert session.bash(command) == Told(""), f"again: {command}"
