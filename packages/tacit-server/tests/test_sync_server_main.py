"""`tacit-server`: what it refuses to do."""

from __future__ import annotations

import subprocess
import sys
from socket import socket

import pytest

from tacit.errors import InvalidInput

pytest.importorskip("psycopg")

from tacit_server.logs import check_account_name
from tacit_server.main import (
    checked_networks,
    refuse_broken_certificate,
    refuse_open_address,
    refuse_shown_secret,
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
        check_account_name(name)


def test_a_plain_name_is_kept():
    assert check_account_name("ana-ruiz-2") == "ana-ruiz-2"


def test_what_is_no_network():
    with pytest.raises(InvalidInput, match="not a network"):
        checked_networks(["10.0.0.1/8"])


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        (
            "host=db password=s3cret dbname=tacit",
            ["serve", "--database", "host=db password=s3cret dbname=tacit"],
        ),
        ("postgresql://app:s3cret@db/tacit", ["migrate", "--database=postgresql://app:s3cret@db/tacit"]),
        ("s3cret", ["set-up", "--password", "s3cret"]),
    ],
)
def test_a_password_on_the_command_line_is_refused_and_in_the_environment_it_is_not(text, arguments):
    with pytest.raises(InvalidInput, match="command line") as refused:
        refuse_shown_secret(text, arguments)
    assert "s3cret" not in f"{refused.value.message}{refused.value.hint}"
    refuse_shown_secret(text, arguments[:1])


def test_a_connection_without_a_password_may_stand_on_the_command_line():
    for text in ("host=db dbname=tacit passfile=/etc/pgpass", "postgresql://app@db/tacit", ""):
        refuse_shown_secret(text, ["serve", "--database", text])


SSO = {
    "networks": ["10.0.0.7/32"],
    "secret": "the-secret-of-the-proxy",
    "provider": "okta",
    "groups": ["eng=acme/core:writer"],
    "days": 30,
    "public_url": "https://tacit.example.org/",
}


def test_single_sign_on_as_it_is_written():
    settings = sso_settings(**SSO)
    assert settings.public_url == "https://tacit.example.org"
    assert [grant.team for grant in settings.grants] == ["acme/core"]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"secret": ""}, "needs a secret of at least 16"),
        ({"secret": "x" * 15}, "needs a secret of at least 16"),
        ({"networks": ["proxy"]}, "is not a network"),
        ({"public_url": ""}, "needs --public-url"),
        ({"public_url": "http://tacit.example.org"}, "in the clear"),
        ({"groups": []}, "No option says who may log in"),
        ({"groups": ["eng=acme"]}, "does not map a group"),
    ],
)
def test_single_sign_on_that_is_not_whole_is_refused(wrong, said):
    with pytest.raises(InvalidInput, match=said):
        sso_settings(**SSO | wrong)


def test_a_server_without_single_sign_on_loads_nothing_of_it():
    code = (
        "import sys, tacit_server.main, tacit_server.app;"
        "print([name for name in sys.modules if name.startswith('tacit_server.sso')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
