"""A correction in one session changes what the next one is given: real clients, real daemon, only the model is a stub.

One correction is known for what it is when it is said, the other only when the session's transcript is read.
"""

from __future__ import annotations

import time

import pytest

from tacit.hosts.probe.stub_model import find_places

pytestmark = pytest.mark.e2e

LINT = "Remember that we always run `make lint` before committing."
OLD_LINT = "always run `make lint` before committing"
NEW_LINT = "No, that's wrong. We run `just check` before committing now, not `make lint`."
OLD_PORT = "The staging API always listens on port 8080"
NEW_PORT = "From now on the staging API always listens on port 9191, not on port 8080."
COMMIT = "Commit what we have."


def wait_for(sandbox, *, gone=(), there=(), timeout_s=90.0):
    """Wait until the active memories hold each of `there` and none of `gone`; what they are then."""
    end = time.monotonic() + timeout_s
    while True:
        listed = sandbox.ask_daemon("/v1/memories?limit=500")["memories"]
        text = "\n".join(memory["content"] for memory in listed if memory["kind"] != "digest")
        if all(word in text for word in there) and not any(word in text for word in gone):
            return listed
        assert time.monotonic() < end, text
        time.sleep(0.2)


def what_changed(sandbox):
    """What `tacit list --changes` says, newest first: the words, whether they hold since, and why."""
    rows = sandbox.tacit_json("list", "--changes")["changes"]
    return [(row["memory"]["content"], row["memory"]["status"], row["reason"]) for row in rows]


def without_start_pack(sandbox):
    """Let prompts bring what they need themselves."""
    sandbox.configure("recall:\n  budgets:\n    start: 0\n")
    time.sleep(1.1)  # the settings' files are looked at once a second


def _line_of(place):
    start = place.text.rfind("\n", 0, place.offset) + 1
    return place.text[start : place.text.find("\n", place.offset)]


def only(request, word, *, beside, last_session=False):
    """The one place that holds `word`, where nothing that was corrected stands; the section of the last session may repeat it."""
    assert not request.find(beside)
    places = find_places(request.body, word)
    (place,) = (one for one in places if not (last_session and "dec: " in _line_of(one)))
    return place


def test_claude_code_is_given_what_holds_since_the_correction(sandbox, claude):
    claude.install()
    sandbox.remember(f"{OLD_PORT}.", kind="fact", when="always")
    claude.ask(LINT)
    wait_for(sandbox, there=[OLD_LINT])

    sandbox.stub.clear()
    with claude.session() as session:
        session.ask("hello")
        assert sandbox.stub.agent_requests[-1].find(OLD_LINT), "the first rule is handed over"
        assert sandbox.stub.agent_requests[-1].find(OLD_PORT)
        session.ask(NEW_LINT)
        session.ask(NEW_PORT)
    listed = wait_for(sandbox, gone=[OLD_LINT, OLD_PORT], there=["just check", "9191"])
    assert not sandbox.tacit_json("review")["review"], "nobody is asked what was said plainly"

    sandbox.stub.clear()
    claude.ask("hello")
    (request,) = sandbox.stub.agent_requests
    for word in ("just check", "port 9191"):
        assert "SessionStart" in only(request, word, beside=f"{OLD_LINT}|{OLD_PORT}").text

    without_start_pack(sandbox)
    sandbox.stub.clear()
    claude.ask(COMMIT)
    (request,) = sandbox.stub.agent_requests
    assert "UserPromptSubmit" in only(request, "just check", beside=OLD_LINT).text

    ended = {words: why for words, status, why in what_changed(sandbox) if status == "superseded"}
    assert sorted(ended) == [f"{OLD_PORT}.", f"We {OLD_LINT}"]
    (newer,) = (one["id"] for one in listed if one["content"].startswith("We run `just check`"))
    sandbox.tacit("undo", newer)
    wait_for(sandbox, gone=["just check"], there=[OLD_LINT])
    sandbox.stub.clear()
    claude.ask(COMMIT)
    assert sandbox.stub.agent_requests[-1].find(OLD_LINT), "taken back, the first rule is handed over again"
