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


@pytest.mark.parametrize("desk", [("writes up", {})], indirect=True)
def test_nothing_leaves_where_the_user_is_incognito(desk: Desk) -> None:
    (desk.project / ".tacit").mkdir()
    (desk.project / ".tacit" / "config.yaml").write_text("privacy:\n  incognito: true\n")
    desk.finish("blue")
    desk.tacit("sessions", "--write-up")
    assert (desk.told["asked"], desk.told["waiting"]) == (0, 0)
    assert not desk.client.calls
