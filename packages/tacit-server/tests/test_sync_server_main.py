"""`tacit-server`: what it refuses to do."""

from __future__ import annotations

import signal
import subprocess
import sys
from socket import socket

import pytest

from memory_logs import InMemoryLogs
from tacit.errors import InvalidInput

pytest.importorskip("psycopg")

from tacit_server import main
from tacit_server.main import (
    checked_account,
    checked_networks,
    refuse_broken_certificate,
    refuse_open_address,
    refuse_taken_port,
    sso_settings,
)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "tacit.example.org"])
def test_no_token_crosses_a_network_in_the_clear(host):
    with pytest.raises(InvalidInput, match="in the clear"):
        refuse_open_address(host, tls=False, proxies=[])
    refuse_open_address(host, tls=True, proxies=[])
    refuse_open_address(host, tls=False, proxies=checked_networks(["10.0.0.0/8"]))


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost"])
def test_loopback_needs_no_tls(host):
    refuse_open_address(host, tls=False, proxies=[])


def test_a_port_that_another_program_has_is_named():
    with socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(InvalidInput, match=f"Port {port} on 127.0.0.1 cannot be used") as refused:
            refuse_taken_port("127.0.0.1", port)
    assert "--port" in refused.value.hint
    refuse_taken_port("127.0.0.1", 0)


def test_a_certificate_that_cannot_be_read_is_named(tmp_path):
    missing, broken = tmp_path / "missing.pem", tmp_path / "broken.pem"
    broken.write_text("x")
    for certificate in (missing, broken):
        with pytest.raises(InvalidInput, match="TLS cannot be served") as refused:
            refuse_broken_certificate(certificate, None)
        assert str(certificate) in refused.value.message
    with pytest.raises(InvalidInput, match="--key needs a certificate"):
        refuse_broken_certificate(None, broken)
    refuse_broken_certificate(None, None)


@pytest.mark.parametrize("name", ["", "Ana", "ana.ruiz", "-ana", "a" * 41, "ana ruiz", "ána"])
def test_names_of_accounts(name):
    with pytest.raises(InvalidInput):
        checked_account(name)


def test_a_plain_name_is_kept():
    assert checked_account("ana-ruiz-2") == "ana-ruiz-2"


def test_what_is_no_network():
    with pytest.raises(InvalidInput, match="not a network"):
        checked_networks(["10.0.0.1/8"])


def test_who_waits_for_news_is_answered_when_the_server_is_told_to_stop(monkeypatch):
    given = {}
    told = []

    def make_app(logs, **arguments):
        given.update(arguments)
        return lambda: None

    def run(server):
        told.append(given["leaving"]())
        server.handle_exit(signal.SIGTERM, None)
        told.append(given["leaving"]())

    monkeypatch.setattr(main, "make_app", make_app)
    monkeypatch.setattr(main._Announced, "run", run)
    monkeypatch.setattr(main.signal, "signal", lambda *_: None)
    main._serve(InMemoryLogs(), None, host="127.0.0.1", port=0)
    assert told == [False, True]


SSO = {
    "client_id": "tacit",
    "secret": "",
    "groups": ["eng=acme/core:writer"],
    "domains": [],
    "groups_claim": "groups",
    "days": 30,
    "public_url": "https://tacit.example.org/",
}


def test_single_sign_on_as_it_is_written():
    settings = sso_settings("https://id.example.org", **SSO)
    assert settings.client.redirect_uri == "https://tacit.example.org/auth/v1/callback"
    assert settings.rules.teams() == ("acme/core",)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"client_id": ""}, "needs --oidc-client-id and --public-url"),
        ({"public_url": ""}, "needs --oidc-client-id and --public-url"),
        ({"public_url": "http://tacit.example.org"}, "in the clear"),
        ({"groups": []}, "No option says who may log in"),
        ({"groups": ["eng=acme"]}, "does not map a group"),
    ],
)
def test_single_sign_on_that_is_not_whole_is_refused(wrong, said):
    with pytest.raises(InvalidInput, match=said):
        sso_settings("https://id.example.org", **SSO | wrong)


def test_a_server_without_a_provider_loads_nothing_of_it():
    code = (
        "import sys, tacit_server.main, tacit_server.app;"
        "print([name for name in sys.modules if name.partition('.')[0] == 'jwt' or name.startswith('tacit_server.sso')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
