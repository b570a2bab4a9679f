"""Stand-ins for the hosts' command lines, for tests of writers: each prints what the real client printed when it was measured.

In: a folder, the name of a client, how it shall behave. Out: an environment in which that client is the only one on PATH.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

CLIENTS = ("claude", "opencode", "codex", "gemini")

_SCRIPT = r"""
import json, os, signal, subprocess, sys, time

name, how, folder = NAME, HOW, FOLDER
arguments = sys.argv[1:]
if arguments == ["features", "list"]:
    print("hooks stable true\ncodex_hooks beta true\nshell_tool stable true\nnew_thing beta false")
    sys.exit(0)
text = sys.stdin.read()
call = os.path.join(folder, f"call-{os.getpid()}")
with open(call + ".part", "w") as file:
    json.dump({"arguments": arguments, "environ": dict(os.environ), "cwd": os.getcwd(), "input": text, "pid": os.getpid(),
               "files": sorted(os.listdir("."))}, file)
os.replace(call + ".part", call + ".json")  # whole, or not there

def answer(said):
    if name == "claude":
        print(json.dumps({"type": "result", "is_error": False, "result": said, "usage": {"input_tokens": 90, "output_tokens": 20,
              "cache_read_input_tokens": 10}, "modelUsage": {"claude-haiku-4-5": {}}}))
    elif name == "opencode":
        print(json.dumps({"type": "step_start", "part": {}}, separators=(",", ":")))
        print(json.dumps({"type": "text", "part": {"text": said}}, separators=(",", ":")))
        print(json.dumps({"type": "step_finish", "part": {"reason": "stop", "tokens": {"input": 90, "output": 20,
              "cache": {"read": 10, "write": 0}}}}, separators=(",", ":")), flush=True)
    elif name == "codex":
        with open(arguments[arguments.index("-o") + 1], "w") as file:
            file.write(said)
        print(json.dumps({"type": "item.completed", "item": {"type": "agent_message", "text": said}}))
        print(json.dumps({"type": "turn.completed", "usage": {"input_tokens": 100, "output_tokens": 20}}))
    else:
        print(json.dumps({"response": said, "stats": {"models": {"gemini-2.5-flash": {"tokens": {"prompt": 100, "candidates": 20}}}}}))

def refuse(status, said):
    if name == "claude":
        print(json.dumps({"type": "result", "is_error": True, "result": said, "api_error_status": status or None}))
    elif name == "opencode":
        data = {"message": said, **({"statusCode": status} if status else {})}
        print(json.dumps({"type": "error", "error": {"name": "APIError", "data": data}}, separators=(",", ":")), flush=True)
    elif name == "codex":
        print(json.dumps({"type": "turn.failed", "error": {"message": f"{said} (status {status})"}}))
    else:
        print(json.dumps({"error": {"code": status, "message": said}}))

if how == "answers":
    learnings = [line.partition("Worth knowing: ")[2] for line in text.splitlines() if "Worth knowing: " in line]
    answer(json.dumps({"learnings": learnings}))
elif how == "writes up":
    lock = os.path.join(folder, "running")
    try:
        os.close(os.open(lock, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        open(os.path.join(folder, "overlap"), "w").close()
    time.sleep(0.3)
    if "\nPairs:\n" in text:  # statements to compare: "since June" ends what it stands beside
        known, _, asked = text.partition("Statements:\n")[2].partition("\n\nPairs:\n")
        said = {one["id"]: one["text"] for one in map(json.loads, known.splitlines())}
        asked = [json.loads(line) for line in asked.splitlines() if line.startswith("{")]
        pairs = [(one["newer"], old) for one in asked for old in one["older"] if "since june" in said[one["newer"]].lower()]
        answer(json.dumps({"fates": [{"newer": new, "older": old, "fate": "supersede", "better": "older", "reason": "moved"} for new, old in pairs]}))
        os.remove(lock)
        sys.exit(0)
    messages = json.loads(text.partition("\nMessages:\n")[2])
    notes = [(one["message"], line) for one in messages for line in one["text"].splitlines() if line.startswith("Worth knowing: ")]
    answer(json.dumps({"statements": [{"content": line.partition(": ")[2].rstrip("."), "kind": "fact", "message": number, "quote": line,
          "when": [], "confidence": 0.8, "fates": []} for number, line in notes]}))
    if os.path.exists(lock):
        os.remove(lock)
elif how == "fenced":
    answer("```json\n{\"learnings\": []}\n```")
elif how == "loops":
    answer("{\"learnings\": []}")
    time.sleep(300)
elif how == "prose":
    answer("I would rather talk about the weather.")
elif how == "empty":
    answer("")
elif how == "garbage":
    print("\x00\xff <html>busy</html>")
elif how == "floods":
    while True:
        print("x" * 100000)
elif how == "error with code 0":
    refuse(429, "rate limit exceeded")
elif how == "not logged in":
    if name == "gemini":
        print(json.dumps({"error": {"code": 41, "message": "Please set an Auth method"}}), file=sys.stderr)
        sys.exit(41)
    refuse(0 if name in ("claude", "opencode") else 401, "Not logged in - Please run /login" if name == "claude" else "Unexpected server error")
    sys.exit(1)
elif how in ("hangs", "hangs and ignores SIGTERM"):
    if how != "hangs":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    subprocess.Popen(["sleep", "300"])
    print("starting", flush=True)
    time.sleep(300)
elif how == "leaves an orphan":
    child = subprocess.Popen(["sleep", "300"])
    with open(os.path.join(folder, "orphan"), "w") as file:
        file.write(str(child.pid))
    answer("{\"learnings\": []}")
elif how == "leaves files":
    kept = os.path.join(os.environ["HOME"], ".gemini", "tmp", "work")
    os.makedirs(os.path.join(kept, "chats"))
    with open(os.path.join(kept, ".project_root"), "w") as file:
        file.write(os.getcwd())
    with open(os.path.join(os.environ["HOME"], ".gemini", "projects.json"), "w") as file:
        json.dump({"projects": {os.getcwd(): "work", "/home/me/shop": "shop"}}, file)
    with open(os.path.join(kept, "chats", "session.jsonl"), "w") as file:
        file.write(text)
    answer("{\"learnings\": []}")
"""


class ScriptedClient:
    """One stand-in, its own home and what it was called with."""

    def __init__(self, folder: Path, name: str, how: str) -> None:
        self.folder = folder
        self.home = folder / "home"
        programs = folder / "bin"
        for each in (self.home, programs):
            each.mkdir(parents=True)
        script = _SCRIPT.replace("NAME, HOW, FOLDER", f"{name!r}, {how!r}, {str(folder)!r}")
        program = programs / name
        program.write_text(f"#!{sys.executable}\n{script}", encoding="utf-8")
        program.chmod(0o755)
        path = f"{programs}{os.pathsep}/usr/bin{os.pathsep}/bin"
        self.environ = {"HOME": str(self.home), "PATH": path, "LANG": "C.UTF-8"}

    @property
    def calls(self) -> list[dict]:
        """What it was called with, in no order."""
        return [json.loads(path.read_text()) for path in self.folder.glob("call-*.json")]
