"""What hosts on Windows send and write, in the forms recorded here, with the paths and bytes of Windows: drive letters, shares,
backslashes, CRLF, marks of byte order, UTF-16. They go through the adapters, project identity, trigger paths and transcripts.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tacit.capture.importing.safe_files import read_text
from tacit.hosts.claude_code import ClaudeCode
from tacit.hosts.opencode import OpenCode
from tacit.hosts.plain import Plain
from tacit.hosts.transcripts import Transcript
from tacit.hosts.transcripts.rows import RowReader
from tacit.hosts.transcripts.sessions import detect_format, read_sessions
from tacit.model.signal import PromptSubmitted, ToolFailed, ToolFinished, ToolStarting
from tacit.reading.moment_places import glob_pattern
from tacit.session.projects import identify_project, last_name, project_id, relative_path
from tacit.state.captured import Position
from tacit.text.decoding import decode_text
from transcripts import exchange, tool_call, tool_result, write_transcript

ROOT = "C:\\Users\\Ana\\shop"
SHARE = "\\\\fileserver\\code\\shop"
SESSION = {
    "session_id": "7d1f",
    "transcript_path": "C:\\Users\\Ana\\.claude\\projects\\C--Users-Ana-shop\\7d1f.jsonl",
    "cwd": ROOT,
    "permission_mode": "default",
}


def parsed(**fields: object):
    return ClaudeCode().parse({**SESSION, **fields}, at_ms=1)


# --- paths


@pytest.mark.parametrize(
    ("path", "root", "expected"),
    [
        ("C:\\Users\\Ana\\shop\\src\\billing\\invoice.py", ROOT, "src/billing/invoice.py"),
        ("c:\\users\\ana\\SHOP\\src\\a.py", ROOT, "src/a.py"),
        ("C:/Users/Ana/shop/src/a.py", ROOT, "src/a.py"),
        ("/c/Users/Ana/shop/src/a.py", ROOT, "src/a.py"),
        ("src\\billing\\invoice.py", ROOT, "src/billing/invoice.py"),
        (".\\src\\..\\docs\\a.md", ROOT, "docs/a.md"),
        ("C:\\Users\\Ana\\shop\\src\\..\\..\\shop\\a.py", ROOT, "a.py"),
        ("\\\\?\\C:\\Users\\Ana\\shop\\a.py", ROOT, "a.py"),
        ("C:\\Users\\Ana\\shop", ROOT, "."),
        ("D:\\other\\a.py", ROOT, "D:/other/a.py"),
        ("C:\\Users\\Ana\\shop2\\a.py", ROOT, "C:/Users/Ana/shop2/a.py"),
        ("\\\\fileserver\\code\\shop\\src\\a.py", SHARE, "src/a.py"),
        ("\\\\FileServer\\Code\\shop\\src\\a.py", SHARE, "src/a.py"),
        ("\\\\?\\UNC\\fileserver\\code\\shop\\src\\a.py", SHARE, "src/a.py"),
        ("\\\\fileserver\\code\\other\\a.py", SHARE, "//fileserver/code/other/a.py"),
        ("src\\a.py", SHARE, "src/a.py"),
        ("/work/shop/src/a.py", "/work/shop", "src/a.py"),
        ("src/a.py", "/work/shop", "src/a.py"),
        ("/c/work/a.py", "/work/shop", "/c/work/a.py"),
        ("odd\\name.py", "/work/shop", "odd\\name.py"),
        ("/Work/shop/a.py", "/work/shop", "/Work/shop/a.py"),
    ],
)
def test_a_path_relative_to_its_project(path: str, root: str, expected: str) -> None:
    assert relative_path(path, root=root) == expected


def test_a_relative_path_begins_where_the_session_works() -> None:
    assert relative_path("..\\a.py", root=ROOT, cwd=f"{ROOT}\\src\\deep") == "src/a.py"


@pytest.mark.parametrize(
    ("path", "name"),
    [
        (ROOT, "shop"),
        (f"{ROOT}\\", "shop"),
        (SHARE + "\\sub", "sub"),
        ("C:\\", "root"),
        ("/work/shop/", "shop"),
        ("/", "root"),
    ],
)
def test_the_name_of_a_project_is_its_folders(path: str, name: str) -> None:
    assert last_name(path) == name
    assert project_id(f"path:{path}").startswith(f"{name}-")


def test_a_checkout_with_the_line_ends_and_the_remote_of_windows_is_the_same_project(tmp_path: Path) -> None:
    config = '[core]\n\trepositoryformatversion = 0\n\tautocrlf = true\n[remote "origin"]\n\turl = https://github.com/acme/shop.git\n'
    ids: set[str] = set()
    for name, text in (("posix", config), ("windows", config.replace("\n", "\r\n"))):
        folder = tmp_path / name / ".git"
        folder.mkdir(parents=True)
        (folder / "config").write_bytes(text.encode())
        (folder / "HEAD").write_bytes(b"ref: refs/heads/main\r\n")
        ids.add(identify_project(folder.parent).id)
    assert len(ids) == 1


# --- payloads


@pytest.mark.parametrize("event", ["PreToolUse", "PostToolUse", "PostToolUseFailure"])
def test_claude_codes_calls(event: str) -> None:
    edit = {
        "file_path": f"{ROOT}\\src\\billing\\invoice.py",
        "old_string": "a\r\n",
        "new_string": "b\r\n",
        "replace_all": False,
    }
    signal = parsed(
        hook_event_name=event, tool_name="Edit", tool_input=edit, tool_use_id="toolu_01", tool_response={"filePath": "x"},
        error="The process cannot access the file because it is being used by another process.\r\n",
    )  # fmt: skip
    assert isinstance(signal, ToolStarting | ToolFinished | ToolFailed)
    assert signal.call.paths == ("src/billing/invoice.py",)
    assert signal.cwd == ROOT
    assert signal.transcript_path.endswith("C--Users-Ana-shop\\7d1f.jsonl")


@pytest.mark.parametrize(
    "command",
    [
        "type src\\billing\\invoice.py",
        'Get-Content "C:\\Users\\Ana\\shop\\a b.txt" | Select -First 3',
        "dir C:\\ /s",
    ],
)
def test_backslashes_in_a_command_are_kept(command: str) -> None:
    signal = parsed(
        hook_event_name="PreToolUse", tool_name="Bash", tool_input={"command": command}, tool_use_id="t"
    )
    assert isinstance(signal, ToolStarting)
    assert signal.call.command == command


def test_a_path_trigger_meets_the_path_of_windows() -> None:
    read = {"file_path": f"{ROOT}\\src\\billing\\invoice.py"}
    signal = parsed(hook_event_name="PreToolUse", tool_name="Read", tool_input=read, tool_use_id="t")
    assert isinstance(signal, ToolStarting)
    for pattern in ("src/billing/**", "src\\billing\\*.py", "invoice.py", "**/*.py"):
        assert glob_pattern(pattern).search(signal.call.paths[0]), pattern
    assert not glob_pattern("src/other/**").search(signal.call.paths[0])


def test_opencodes_and_plain_calls() -> None:
    call = {
        "event": "tool.after", "sessionID": "s", "directory": SHARE, "tool": "read", "callID": "c",
        "args": {"filePath": f"{SHARE}\\src\\a.py"}, "output": "x\r\n",
    }  # fmt: skip
    signal = OpenCode().parse(call, at_ms=1)
    assert isinstance(signal, ToolFinished)
    assert signal.call.paths == ("src/a.py",)
    plain = {
        "event": "tool_start",
        "session": "s",
        "cwd": ROOT,
        "tool": "edit",
        "paths": [f"{ROOT}\\src\\a.py", "docs\\b.md"],
    }
    signal = Plain().parse(plain, at_ms=1)
    assert isinstance(signal, ToolStarting)
    assert signal.call.paths == ("src/a.py", "docs/b.md")


def test_a_prompt_with_the_line_ends_of_windows() -> None:
    signal = parsed(hook_event_name="UserPromptSubmit", prompt="Always run ruff\r\nbefore every commit\r\n")
    assert isinstance(signal, PromptSubmitted)
    assert "Always run ruff" in signal.text


# --- transcripts

FORMS: dict[str, Callable[[str], bytes]] = {
    "utf-8": str.encode,
    "crlf": lambda text: text.replace("\n", "\r\n").encode(),
    "mark": lambda text: codecs.BOM_UTF8 + text.encode(),
    "mark, crlf": lambda text: codecs.BOM_UTF8 + text.replace("\n", "\r\n").encode(),
    "utf-16 of powershell": lambda text: codecs.BOM_UTF16_LE + text.replace("\n", "\r\n").encode("utf-16-le"),
    "utf-16, big end first": lambda text: codecs.BOM_UTF16_BE + text.encode("utf-16-be"),
}


@pytest.fixture(params=FORMS.values(), ids=FORMS.keys())
def form(request: pytest.FixtureRequest) -> Callable[[str], bytes]:
    return request.param


def only(path: Path, since: Position | None = None) -> Transcript:
    (session,) = read_sessions(path, since=lambda *_: since or Position(), subagents=False)
    return session.transcript


SAID = exchange("Größe: use the blue script to deploy", "Done.", "Never push on Fridays ✓", "Understood.")


def test_claude_codes_transcript_in_every_form_says_the_same(
    tmp_path: Path, form: Callable[[str], bytes]
) -> None:
    calls = [
        tool_call("t1", "Edit", file_path=f"{ROOT}\\src\\a.py"),
        tool_result("t1", "exit 1\r\n", failed=True),
    ]
    original = write_transcript(tmp_path / "a.jsonl", *SAID, *calls, cwd=ROOT)
    expected = only(original)
    assert next(turn.text for turn in expected.turns).startswith("Größe")
    other = tmp_path / "b.jsonl"
    other.write_bytes(form(original.read_text("utf-8")))
    found = only(other)
    assert [(turn.role, turn.text, turn.tools, turn.key) for turn in found.turns] == [
        (turn.role, turn.text, turn.tools, turn.key) for turn in expected.turns
    ]
    assert (found.cwd, found.bad_lines) == (ROOT, 0)
    assert detect_format(other).format == "claude-code"
    assert detect_format(other).cwd == ROOT
    assert RowReader(path=other).first()["sessionId"] == "s1"


def test_a_transcript_that_grows_is_read_on_from_where_it_ended(
    tmp_path: Path, form: Callable[[str], bytes]
) -> None:
    whole = write_transcript(tmp_path / "a.jsonl", *SAID, cwd=ROOT).read_text("utf-8")
    lines = whole.splitlines(keepends=True)
    file = tmp_path / "b.jsonl"
    all_of_it = form(whole)
    first_part = form("".join(lines[:2]))
    file.write_bytes(
        first_part + all_of_it[len(first_part) : len(first_part) + 21]
    )  # half a line, half a character in UTF-16
    first = only(file)
    assert first.end.offset == len(first_part)
    file.write_bytes(all_of_it)
    rest = only(file, since=first.end)
    assert [turn.text for turn in (*first.turns, *rest.turns)] == [turn.text for turn in only(file).turns]
    assert len(rest.turns) == 2


def test_a_file_of_rules_in_every_form_is_read_alike(tmp_path: Path, form: Callable[[str], bytes]) -> None:
    file = tmp_path / "CLAUDE.md"
    file.write_bytes(form("# Rules\n- Größe matters\n"))
    assert read_text(file).replace("\r\n", "\n") == "# Rules\n- Größe matters\n"


def test_bytes_that_are_no_text_are_replaced_and_never_an_error() -> None:
    for data in (b"", b"\xff", b"\xff\xfe", b"\xff\xfea", b"\xfe\xff\xd8\x00", b"\x80abc"):
        assert isinstance(decode_text(data), str)


# --- names


FORBIDDEN = set('<>:"/\\|?*') | {chr(code) for code in range(32)}
DEVICES = {"con", "prn", "aux", "nul", *(f"{name}{n}" for name in ("com", "lpt") for n in range(1, 10))}


def allowed_on_windows(name: str) -> bool:
    """By Microsoft's "Naming Files, Paths, and Namespaces"."""
    return (
        not set(name) & FORBIDDEN
        and not name.endswith((" ", "."))
        and name.partition(".")[0].lower() not in DEVICES
    )


def test_every_file_of_the_repository_has_a_name_that_windows_allows() -> None:
    import subprocess

    root = Path(__file__).parents[5]
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, check=False)
    names = [name for name in listed.stdout.decode().split("\0") if name]
    if not names:
        pytest.skip("no checkout")
    assert [name for name in names if not all(allowed_on_windows(part) for part in name.split("/"))] == []
    lower = [name.lower() for name in names]
    assert len(lower) == len(set(lower)), "two names that differ in case alone are one file there"


@pytest.mark.parametrize(
    "payload",
    [
        json.dumps({"a": "C:\\Users\\Ana"}).encode(),
        codecs.BOM_UTF8 + b'{"event": "ping"}',
        b'{"event": "ping"}\r\n',
    ],
)
def test_a_payload_with_a_mark_or_crlf_is_read(payload: bytes) -> None:
    from tacit.daemon.spool import parse_payload

    assert parse_payload(payload)
