"""Sessions that end are written up by the host's own command line: real launcher and daemon, scripted clients."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator

import pytest

from e2e.drivers.machine import Machine, wait_for
from e2e.test_e2e_bad_input import transcript_of
from scripted_clients import ScriptedClient

pytestmark = pytest.mark.slow

NOTE = "Worth knowing: invoices of the {} shop are archived after ninety days."


class Desk(Machine):
    """A machine whose user lets Claude Code write up sessions; `client` stands in for it."""

    def __init__(self, how: str, **settings: object) -> None:
        super().__init__()
        self.client = ScriptedClient(self.root / "client", "claude", how)
        if how == "missing":
            (self.client.folder / "bin" / "claude").unlink()
        self.environ["PATH"] = f"{self.client.folder / 'bin'}:{self.environ['PATH']}"
        self.home.root.mkdir(exist_ok=True, mode=0o700)
        written = {"capture": {"extractor": {"provider": "claude", "least_chars": 0, **settings}}}
        self.home.config_file.write_text(json.dumps(written))

    def become(self, how: str) -> None:
        """From now on the client behaves so."""
        other = ScriptedClient(self.root / how.replace(" ", "-"), "claude", how)
        shutil.copy(other.folder / "bin" / "claude", self.client.folder / "bin" / "claude")

    def finish(self, session: str, said: str = "") -> None:
        """A session ends."""
        path = str(transcript_of(self, session, said or NOTE.format(session)))
        self.hook(self.payload("SessionEnd", reason="other", session_id=session, transcript_path=path))

    @property
    def told(self) -> dict:
        return self.request("GET", "/v1/status")["extractor"]


@pytest.fixture
def desk(request: pytest.FixtureRequest) -> Iterator[Desk]:
    how, settings = request.param
    with Desk(how, **settings) as made:
        made.wake()
        yield made


@pytest.mark.parametrize("desk", [("writes up", {})], indirect=True)
def test_five_sessions_that_end_at_once_are_written_up_by_one_worker(desk: Desk) -> None:
    names = ("red", "blue", "green", "black", "white")
    running = []
    for name in names:
        path = str(transcript_of(desk, name, NOTE.format(name)))
        process = desk.popen()
        process.stdin.write(desk.payload("SessionEnd", reason="other", session_id=name, transcript_path=path))
        process.stdin.close()
        running.append(process)
    for process in running:
        assert process.wait(60) == 0
        process.stdout.close()
        process.stderr.close()
    wait_for(lambda: desk.told["asked"] == len(names) and desk.told["waiting"] == 0)
    learned = desk.contents()
    assert all(any(f"the {name} shop" in text for text in learned) for name in names)
    assert not (desk.client.folder / "overlap").exists()
    assert desk.told["failed"] == 0
    assert all(call["environ"]["TACIT_HEADLESS"] == "1" for call in desk.client.calls)
    found = desk.ask("recall", "How long do we keep invoices of the red shop?")
    assert "the red shop" in json.dumps(found)
    desk.sound()


FAILURES = {
    "not logged in": "logged in",
    "hangs": "did not answer",
    "garbage": "no answer",
    "prose": "json",
}


@pytest.mark.parametrize("desk", [("missing", {"timeout_ms": 2_000})], indirect=True)
def test_a_client_that_fails_is_one_line_in_status_and_is_asked_again(desk: Desk) -> None:
    desk.finish("red")
    wait_for(lambda: desk.told["failed"] == 1)
    (line,) = [one for one in desk.tacit("status").stdout.splitlines() if "claude:claude-haiku" in one]
    assert "1 session waits" in line
    assert "is not installed" in desk.told["error"]
    for number, (how, words) in enumerate(FAILURES.items(), start=2):
        desk.become(how)
        assert words in desk.request("POST", "/v1/write-ups", {})["error"].lower()
        assert (desk.told["failed"], desk.told["waiting"]) == (number, 1)
    assert not any("red shop" in text for text in desk.contents() if text.startswith("Invoices"))
    desk.become("writes up")
    assert "claude-code/red" in desk.tacit("learn").stdout
    assert any("the red shop" in text for text in desk.contents())
    assert (desk.told["waiting"], desk.told["error"]) == (0, "")
    wait_for(lambda: len(desk.processes()) == 1)


@pytest.mark.parametrize("desk", [("hangs", {})], indirect=True)
def test_a_daemon_killed_while_the_client_writes_asks_again_and_learns_once(desk: Desk) -> None:
    desk.finish("red")
    wait_for(lambda: desk.client.calls)
    desk.kill()
    wait_for(lambda: not desk.processes())
    desk.become("writes up")
    desk.wake()
    wait_for(lambda: desk.told["waiting"] == 0)
    assert desk.told["asked"] == 2
    (found,) = [text for text in desk.contents() if "nvoices of the red shop" in text]
    assert found


@pytest.mark.parametrize("desk", [("hangs", {})], indirect=True)
def test_a_dry_run_prints_the_whole_request_and_sends_nothing(desk: Desk) -> None:
    desk.request("POST", "/v1/remember", {"content": "Invoices of the red shop are kept for a year", "kind": "fact", "cwd": str(desk.project)})  # fmt: skip
    path = str(transcript_of(desk, "red", NOTE.format("red")))
    desk.request("POST", "/v1/backfill", {"paths": [path], "named": True, "cwd": str(desk.project), "write_up": True})  # fmt: skip
    shown = desk.tacit("learn", "--past", "--dry-run").stdout
    assert "to claude:claude-haiku-4-5: claude-code/red" in shown
    assert NOTE.format("red") in shown
    assert "kept for a year" in shown
    assert not desk.client.calls
    assert desk.told["asked"] == 0


@pytest.mark.parametrize("desk", [("writes up", {})], indirect=True)
def test_nothing_leaves_where_the_user_is_incognito(desk: Desk) -> None:
    (desk.project / ".tacit").mkdir()
    (desk.project / ".tacit" / "config.yaml").write_text("privacy:\n  incognito: true\n")
    desk.finish("blue")
    desk.tacit("learn")
    assert (desk.told["asked"], desk.told["waiting"]) == (0, 0)
    assert not desk.client.calls


@pytest.mark.parametrize("desk", [("writes up", {})], indirect=True)
def test_past_sessions_are_offered_with_an_estimate_and_sent_only_when_the_user_agrees(desk: Desk) -> None:
    path = str(transcript_of(desk, "red", NOTE.format("red")))
    said = desk.tacit("import", "transcripts", path, "--write-up").stdout
    assert "1 request, about" in said
    assert "Nothing was sent" in said
    assert not desk.client.calls
    other = str(transcript_of(desk, "blue", "Worth knowing: the export job runs on the reporting host."))
    said = desk.tacit("import", "transcripts", other, "--write-up", "--yes").stdout
    assert said.count("1 memory learned") == 2
    assert desk.told["asked"] == 2
    assert "Nothing waits" in desk.tacit("learn", "--past").stdout


@pytest.mark.parametrize("desk", [("writes up", {})], indirect=True)
def test_what_the_user_said_in_other_words_later_ends_what_they_said_before(desk: Desk) -> None:
    def say(session: str, text: str) -> None:
        desk.hook(desk.payload("SessionStart", source="startup", session_id=session))
        desk.hook(desk.payload("UserPromptSubmit", prompt=text, session_id=session))

    say("first", "Remember: carts of the shop are kept in Redis for two days.")
    wait_for(lambda: any("Redis" in text for text in desk.contents()))
    say("second", "Remember: since June the shop's carts live in a DynamoDB table.")
    wait_for(lambda: any("DynamoDB" in text for text in desk.contents()))
    assert any(
        "Redis" in text for text in desk.contents()
    )  # words alone do not say that one replaces the other
    assert "1 new statement beside older ones" in desk.tacit("learn", "--dry-run").stdout
    assert not desk.client.calls
    desk.tacit("learn")
    assert len(desk.client.calls) == 1
    assert not any("Redis" in text for text in desk.contents())
    block = desk.hook(desk.payload("SessionStart", source="startup", session_id="third"))
    assert b"DynamoDB" in block
    assert b"Redis" not in block
    assert desk.told["asked"] == 1
    assert "Nothing waits" in desk.tacit("learn").stdout
    desk.sound()
