"""A correction in one session changes what the next one is given: hook processes and daemon.

One correction is known for what it is when it is said, the other only when the session's transcript is read.
"""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from e2e.drivers.machine import Machine, wait_for
from e2e.drivers.session import Session

pytestmark = pytest.mark.slow

OLD_LINT = "always run `make lint` before committing"
NEW_LINT = "No, that's wrong. We run `just check` before committing now, not `make lint`."
OLD_PORT = "The staging API always listens on port 8080"
NEW_PORT = "From now on the staging API always listens on port 9191, not on port 8080."
COMMIT = "Commit what we have."


def holds(machine: Machine, *, there: tuple[str, ...], gone: tuple[str, ...] = ()) -> bool:
    """Whether the active memories hold each of `there` and none of `gone`."""
    listed = machine.request("GET", "/v1/memories?limit=500")["memories"]
    text = "\n".join(memory["content"] for memory in listed if memory["kind"] != "digest")
    return all(word in text for word in there) and not any(word in text for word in gone)


def test_the_next_session_is_given_what_holds_since_the_correction(machine: Machine) -> None:
    machine.remember(f"{OLD_PORT}.", kind="fact", when="always")
    machine.prompt(f"Remember that we {OLD_LINT}.", session_id="earlier")
    wait_for(lambda: holds(machine, there=(OLD_LINT,)))

    session = Session(machine, "corrects")
    session.began = datetime.now(UTC)  # later than what it corrects
    first = session.start()
    assert OLD_LINT in first
    assert OLD_PORT in first
    for said in (NEW_LINT, NEW_PORT):
        session.say(said)
        session.stops("Noted.")
    session.end()
    wait_for(lambda: holds(machine, gone=(OLD_LINT, OLD_PORT), there=("just check", "9191")))
    assert not machine.ask("review")["review"], "nobody is asked what was said plainly"

    start = machine.start()
    for word in ("just check", "port 9191"):
        assert word in start
    for word in (OLD_LINT, OLD_PORT):
        assert word not in start
    changed = [row["memory"] for row in machine.ask("list", "--changes")["changes"]]
    ended = {memory["content"] for memory in changed if memory["status"] == "superseded"}
    assert ended == {f"{OLD_PORT}.", f"We {OLD_LINT}"}
    with machine.setting("recall.budgets.start", 0):
        commit = machine.prompt(COMMIT, session_id="commits")
        assert "just check" in commit
        assert OLD_LINT not in commit
        listed = machine.request("GET", "/v1/memories?limit=500")["memories"]
        (newer,) = (one["id"] for one in listed if one["content"].startswith("We run `just check`"))
        machine.tacit("undo", newer)
        wait_for(lambda: holds(machine, gone=("just check",), there=(OLD_LINT,)))
        assert OLD_LINT in machine.prompt(COMMIT, session_id="again"), (
            "taken back, the first rule is handed over again"
        )
