"""`tacit ui`: the address it prints, and what it says without a page."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tacit.cli.main import run
from tacit.daemon.page.files import is_built
from tacit.errors import DaemonError


class Listening:
    """A daemon that listens on any port but those that are taken."""

    def __init__(self, taken: tuple[int, ...] = (), already: int = 0) -> None:
        self.taken = taken
        self.port = already
        self.asked: list[tuple[str, object]] = []

    def ensure_running(self, timeout_s=10.0):
        self.asked.append(("start", None))

    def request(self, method, path, json_body=None, *, timeout_s=30.0):
        self.asked.append((path, json_body))
        if path == "/ui/code":
            return 200, {"code": "once"}
        wanted = json_body["port"]
        if wanted in self.taken:
            raise DaemonError(f"The port 127.0.0.1:{wanted} cannot be used.", hint="Another one.")
        self.port = self.port or wanted or 40_000
        return 200, {"port": self.port, "token": "never shown"}


@pytest.fixture
def ui(tacit, capsys):
    if not is_built():
        pytest.skip("the page is not built: bash scripts/build_page.sh")

    def call(daemon: Listening, *arguments: str):
        place = replace(tacit.place, connect=lambda _: daemon)
        code = run(["ui", *arguments], command_context=place)
        return code, capsys.readouterr()

    return call


def test_the_address_carries_a_code_behind_the_hash_and_no_token(ui):
    daemon = Listening()
    code, said = ui(daemon, "--no-open")
    assert code == 0
    assert "http://127.0.0.1:8423/ui/#code=once" in said.out
    assert "never shown" not in said.out + said.err
    assert daemon.asked[0] == ("start", None)


def test_another_port_is_taken_where_the_usual_one_is_in_use(ui):
    code, said = ui(Listening(taken=(8423,)), "--json")
    assert code == 0
    assert '"port": 40000' in said.out


def test_a_port_that_was_asked_for_is_not_exchanged_in_silence(ui):
    code, said = ui(Listening(taken=(9000,)), "--no-open", "--port", "9000")
    assert code != 0
    assert "9000" in said.err
    code, said = ui(Listening(already=8423), "--no-open", "--port", "9000")
    assert code == 0
    assert "listens on 8423 already" in said.out


def test_without_a_page_it_says_what_to_do(tacit):
    if is_built():
        pytest.skip("the page is built here")
    said = tacit("ui")
    assert said.code != 0
    assert "build_page.sh" in said.err
