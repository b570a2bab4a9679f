"""What passes through the proxy: every byte of requests and answers besides the blocks, as it comes, and nothing of ours."""

from __future__ import annotations

import gzip
import json
import socket
import zlib
from collections.abc import Iterator
from pathlib import Path

import httpx2 as httpx
import pytest

from proxies import Api, RunningProxy, ScriptedMemory, api, proxy, without_blocks
from tacit.errors import InvalidInput
from tacit_integrations.proxy.app import _REPLACED
from tacit_integrations.proxy.headers import end_to_end
from tacit_integrations.proxy.upstreams import Upstreams

ODD = (
    b'{ "model":"m",\n "max_tokens": 1.0e2 , "temperature":0.10, "x":[ 1,2.50 , null ],"x":"\\u00e9\\/\\ud83d\\ude00 caf\xc3\xa9",\r\n'
    b'\t"messages" :[ {"content": [ {"type":"image","source":{"type":"base64","data":"aGk="}} ,{"text":"Look at this", "type":"text"} ],"role":"user"},'
    b'{"role":"assistant","content":[{"type":"thinking","thinking":"","signature":"c2ln"},{"type":"tool_use","id":"t1","name":"bash","input":{"n":10000000000000000000001}}]},'
    b'{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"out"}]}], "unknown_field": {"b":1,"a":2} }\n'
)
SAID = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Please commit."}]}


@pytest.fixture
def upstream() -> Iterator[Api]:
    with api() as served:
        yield served


@pytest.fixture
def memory() -> ScriptedMemory:
    return ScriptedMemory()


@pytest.fixture
def running(tmp_path: Path, upstream: Api, memory: ScriptedMemory) -> Iterator[RunningProxy]:
    with proxy(tmp_path / "home", memory, upstream.url) as served:
        yield served


def test_a_conversation_keeps_every_byte_besides_its_blocks(running: RunningProxy, upstream: Api) -> None:
    running.post("/v1/messages?beta=true", ODD)
    (arrived,) = upstream.arrived
    assert arrived.target == "/v1/messages?beta=true"
    assert arrived.body.count(b"<tacit-memory") == 2  # the start pack, and one with the result of the tool
    assert len(arrived.values("content-length")) == 1
    back = arrived.body
    for added in (b'"system":"', b',{"type":"text","text":"'):
        start = back.index(added + b"<tacit-memory")
        end = back.index(b"</tacit-memory>", start) + len(b"</tacit-memory>")
        end += 2 if added.startswith(b",") else 1  # the quotation mark, and a bracket or a comma
        end += not added.startswith(b",")
        back = back[:start] + back[end:]
    assert back == ODD


@pytest.mark.parametrize(
    ("method", "target", "body"),
    [
        ("POST", "/v1/embeddings", b'{"input": "x",  "model":"e"}'),
        ("POST", "/v1/messages/count_tokens", b'{"messages": [{"role":"user","content":"hi"}]}'),
        ("POST", "/v1/files", b"--b\r\ncontent-disposition: form-data; name=f\r\n\r\n\x00\xff\r\n--b--\r\n"),
        ("GET", "/v1/models?limit=2&after=a%2Fb&x=%20", b""),
        ("DELETE", "/v1/responses/resp_1%2F2", b""),
        ("PUT", "/v1/some/new%20endpoint", b"\x00\x01"),
        ("OPTIONS", "/v1/chat/completions", b""),
        ("POST", "/v1/responses/resp_1/cancel", b""),
        ("POST", "/v1/messages", b"{"),
        ("POST", "/v1/messages", b""),
        ("POST", "/v1/messages", b"\xff\xfe"),
        ("POST", "/v1/messages", b"[1]"),
        ("POST", "/v1/messages", b'{"messages": 7}'),
        ("POST", "/v1/messages", b'{"messages": [{"role":"user","content":"hi"}]} trailing'),
        ("POST", "/v1/messages", b'{"messages": ' + b"[" * 20_000),
        ("POST", "/v1/chat/completions", b'{"messages": "hi"}'),
    ],
)
def test_everything_else_passes_byte_for_byte(
    running: RunningProxy, upstream: Api, method: str, target: str, body: bytes
) -> None:
    answer = running.client.request(method, running.url + target, content=body or None)
    assert answer.status_code == 200
    assert answer.content == upstream.body
    (arrived,) = upstream.arrived
    assert (arrived.method, arrived.target, arrived.body) == (method, target, body)
    assert not arrived.values("transfer-encoding")


def test_a_body_without_a_length_is_passed_on_in_pieces(running: RunningProxy, upstream: Api) -> None:
    def pieces() -> Iterator[bytes]:
        yield b"a" * 70_000
        yield b"b" * 3

    running.client.post(f"{running.url}/v1/files", content=pieces())
    (arrived,) = upstream.arrived
    assert arrived.body == b"a" * 70_000 + b"bbb"
    assert arrived.values("transfer-encoding") == ["chunked"]


def test_headers_go_on_except_for_the_hop_and_ours(running: RunningProxy, upstream: Api) -> None:
    body = json.dumps(SAID).encode()
    lines = [
        b"POST /v1/messages HTTP/1.1",
        b"Host: 127.0.0.1:1",
        b"Authorization: Bearer sk-1",
        b"X-Api-Key: sk-2",
        b"anthropic-version: 2023-06-01",
        b"anthropic-beta: a",
        b"anthropic-beta: b",
        b"X-Own: caf\xe9",
        b"Connection: keep-alive, X-Hop",
        b"X-Hop: 1",
        b"Keep-Alive: timeout=5",
        b"Proxy-Authorization: Basic x",
        b"TE: trailers",
        b"X-Tacit-Session: s",
        b"X-Tacit-Project: /tmp",
        b"Content-Type: application/json",
        b"Content-Length: %d" % len(body),
        b"",
        b"",
    ]
    upstream.headers += [("Set-Cookie", "a=1"), ("Set-Cookie", "b=2"), ("X-Request-Id", "r"), ("Connection", "X-Gone"), ("X-Gone", "1")]  # fmt: skip
    host, port = running.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as raw:
        raw.sendall(b"\r\n".join(lines) + body)
        answer = b""
        while not answer.endswith(upstream.body):
            answer += raw.recv(65_536)
    (arrived,) = upstream.arrived
    names = [name.lower() for name, _ in arrived.headers]
    assert sorted(names) == sorted(
        ["host", "authorization", "x-api-key", "anthropic-version", "anthropic-beta", "anthropic-beta", "x-own",
         "content-type", "content-length"]
    )  # fmt: skip
    assert arrived.values("authorization") == ["Bearer sk-1"]
    assert arrived.values("anthropic-beta") == ["a", "b"]
    assert arrived.values("host") == [upstream.url.removeprefix("http://")]
    assert arrived.values("x-own") == ["caf\xe9"]
    head = answer[: answer.index(b"\r\n\r\n")].lower()
    assert head.count(b"set-cookie: ") == 2
    assert b"x-request-id: r" in head
    assert b"x-gone" not in head
    assert head.count(b"\r\ndate:") == 1  # the API's own
    assert b"uvicorn" not in head
    running.post("/v1/messages", SAID)
    assert not upstream.arrived[-1].values("cookie")


def test_a_stream_passes_as_it_arrives(running: RunningProxy, upstream: Api) -> None:
    upstream.headers = [("content-type", "text/event-stream")]
    upstream.pieces = [b"event: a\ndata: {}\n\n", b": comment\r\n", b"data: \xff half", b" event\n\n"]
    with running.client.stream("POST", f"{running.url}/v1/messages", json={**SAID, "stream": True}) as answer:
        arriving = answer.iter_raw()
        assert next(arriving) == upstream.pieces[0]  # while the API holds back the rest
        upstream.go.set()
        assert upstream.pieces[0] + b"".join(arriving) == b"".join(upstream.pieces)


def test_a_program_that_goes_away_ends_its_stream(running: RunningProxy, upstream: Api) -> None:
    upstream.pieces = [b"data: " + b"x" * 65_536 + b"\n\n"] * 2_000
    with running.client.stream("POST", f"{running.url}/v1/messages", json=SAID) as answer:
        next(answer.iter_raw())
    upstream.go.set()
    assert upstream.cut.wait(20)


def test_a_program_that_goes_away_before_the_answer_ends_the_request(
    running: RunningProxy, upstream: Api
) -> None:
    upstream.waits = True
    with pytest.raises(httpx.ReadTimeout):
        running.client.post(f"{running.url}/v1/messages", json=SAID, timeout=0.5)
    assert upstream.cut.wait(20)


def test_errors_of_the_api_pass_unchanged(running: RunningProxy, upstream: Api) -> None:
    upstream.status, upstream.body = 429, b'{"type":"error",  "error":{"type":"rate_limit_error"}}'
    upstream.headers += [("retry-after", "7")]
    answer = running.post("/v1/messages", SAID)
    assert (answer.status_code, answer.content, answer.headers["retry-after"]) == (429, upstream.body, "7")
    assert len(upstream.arrived) == 1
    upstream.status, upstream.body = 307, b""
    upstream.headers += [("location", "/elsewhere")]
    answer = running.post("/v1/messages", SAID)
    assert (answer.status_code, answer.headers["location"]) == (307, "/elsewhere")
    assert len(upstream.arrived) == 2


def test_an_answer_that_breaks_off_breaks_off(running: RunningProxy, upstream: Api) -> None:
    upstream.pieces, upstream.breaks_off = [b"data: 1\n\n", b"data: 2\n\n"], True
    upstream.go.set()
    with pytest.raises(httpx.RemoteProtocolError):
        running.post("/v1/messages", SAID)
    upstream.pieces, upstream.breaks_off = None, False
    assert running.post("/v1/messages", SAID).status_code == 200


def test_an_api_that_is_not_there_is_a_502_the_sdks_read(tmp_path: Path, memory: ScriptedMemory) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with proxy(tmp_path / "home", memory, f"http://127.0.0.1:{port}") as running:
        answer = running.post("/v1/chat/completions", SAID)
    assert answer.status_code == 502
    assert answer.json()["error"]["type"] == "upstream_unreachable"
    assert f"127.0.0.1:{port} cannot be reached" in answer.json()["error"]["message"]


@pytest.mark.parametrize("coding", ["gzip", "deflate", "zstd"])
def test_a_compressed_request_gets_its_block_in_the_same_coding(
    running: RunningProxy, upstream: Api, coding: str
) -> None:
    plain = json.dumps(SAID).encode()
    if coding == "zstd":
        zstandard = pytest.importorskip("zstandard")
        pack, unpack = zstandard.compress, zstandard.decompress
    else:
        pack, unpack = (gzip.compress, gzip.decompress) if coding == "gzip" else (zlib.compress, zlib.decompress)  # fmt: skip
    running.post("/v1/messages", pack(plain), **{"content-encoding": coding})
    (arrived,) = upstream.arrived
    assert arrived.values("content-encoding") == [coding]
    assert b"<tacit-memory" in unpack(arrived.body)
    assert without_blocks(unpack(arrived.body)) == plain
    for broken in (pack(plain)[:-9], plain):
        running.post("/v1/messages", broken, **{"content-encoding": coding})
        assert upstream.arrived[-1].body == broken
    running.post("/v1/messages", b"\x0b\x02\x80", **{"content-encoding": "br"})
    assert upstream.arrived[-1].body == b"\x0b\x02\x80"


def test_a_compressed_answer_passes_as_it_is(running: RunningProxy, upstream: Api) -> None:
    upstream.body = gzip.compress(upstream.body)
    upstream.headers += [("content-encoding", "gzip")]
    with running.client.stream("POST", f"{running.url}/v1/messages", json=SAID, headers={"accept-encoding": "gzip, br;q=0.5"}) as answer:  # fmt: skip
        assert b"".join(answer.iter_raw()) == upstream.body
    assert upstream.arrived[-1].values("accept-encoding") == ["gzip, br;q=0.5"]


def test_connections_stay_open_on_both_sides(running: RunningProxy, upstream: Api) -> None:
    host, port = running.url.removeprefix("http://").split(":")
    body = json.dumps(SAID).encode()
    with socket.create_connection((host, int(port))) as raw:
        for _ in range(3):
            raw.sendall(b"POST /v1/messages HTTP/1.1\r\nhost: localhost\r\ncontent-length: %d\r\n\r\n" % len(body) + body)  # fmt: skip
            answer = b""
            while not answer.endswith(upstream.body):
                answer += raw.recv(65_536)
    assert len(upstream.arrived) == 3


@pytest.mark.parametrize(
    ("headers", "remembers"),
    [
        ({"origin": "https://evil.example"}, False),
        ({"origin": "null"}, False),
        ({"host": "evil.example:8484"}, False),
        ({"origin": "http://localhost:5173"}, True),
        ({"origin": "http://127.0.0.1:3000", "sec-fetch-site": "same-site"}, True),
        ({"origin": "app://obsidian.md"}, False),
        ({"origin": "chrome-extension://abcdefgh"}, False),
        ({"origin": "moz-extension://1-2-3"}, False),
        ({"origin": "safari-web-extension://x"}, False),
        ({"origin": "capacitor://localhost"}, False),
        ({"origin": "vscode-webview://localhost"}, False),
        ({"origin": "file://"}, False),
        ({"origin": "file:///home/x.html"}, False),
        ({"origin": ""}, False),
        ({"origin": "localhost"}, False),
        ({"sec-fetch-site": "cross-site"}, False),
        ({"sec-fetch-site": "Cross-Site", "origin": "http://localhost:1"}, False),
        ({"sec-fetch-site": "none"}, True),
        ({"host": "localhost:1"}, True),
        ({"x-tacit": "off"}, False),
    ],
)
def test_a_web_page_is_told_nothing(
    running: RunningProxy, upstream: Api, headers: dict[str, str], *, remembers: bool
) -> None:
    assert running.post("/v1/messages", SAID, **headers).status_code == 200
    assert (b"<tacit-memory" in upstream.arrived[-1].body) is remembers


def test_our_headers_are_not_passed_on_however_they_are_written() -> None:
    given = [
        (b"X_Tacit", b"off"),
        (b"x-tacit_session", b"s"),
        (b"X-TACIT-PROJECT", b"p"),
        (b"x_api_key", b"k"),
        (b"Accept", b"a"),
    ]
    assert end_to_end(given, without=_REPLACED) == [(b"x_api_key", b"k"), (b"accept", b"a")]


def test_a_request_says_to_which_api_it_goes() -> None:
    class Asked:
        raw_path, query, by_name = b"", b"", {}

        def __init__(self, path: bytes, query: bytes = b"", **headers: str) -> None:
            self.raw_path, self.query = path, query
            self.by_name = {name.replace("_", "-"): value for name, value in headers.items()}

    two = Upstreams.parse(openai="https://gate.example/api/openai/", anthropic="https://claude.example/v1")
    told = {
        "https://gate.example/api/openai/chat/completions?a=%20": Asked(b"/v1/chat/completions", b"a=%20"),
        "https://gate.example/api/openai/responses": Asked(b"/responses"),
        "https://gate.example/api/openai/models": Asked(b"/v1/models"),
        "https://gate.example/api/openai/v1beta/x": Asked(b"/v1beta/x"),
        "https://claude.example/v1/messages": Asked(b"/v1/messages"),
        "https://claude.example/v1/models": Asked(b"/v1/models", anthropic_version="2023-06-01"),
    }
    assert {str(two.url_of(asked)) for asked in told.values()} == set(told)
    assert str(Upstreams.parse(openai="http://127.0.0.1:11434").openai) == "http://127.0.0.1:11434/v1"
    for wrong in (
        "ftp://x",
        "nowhere",
        "https://user:key@api.example",
        "https://api.example?key=1",
        "https://",
    ):
        with pytest.raises(InvalidInput):
            Upstreams.parse(openai=wrong)
