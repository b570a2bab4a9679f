"""The real Codex client, the real daemon, hooks as `tacit install` writes them; only the model is a stub.

Every test has a machine of its own. What is asserted is what the model was sent, in which order.
"""

from __future__ import annotations

import json
import re
import subprocess
import time

import pytest

from e2e.host_matrix import proves
from scripted_model import ScriptedReply, find_places
from tacit.hosts.codex.install import BYPASS
from tacit.hosts.probe.wire import CallTool, Say

pytestmark = pytest.mark.e2e

BLOCK = r"<tacit-memory"
LINT = "We always run `make lint` before committing."
CHECKOUT = "Payments go through Stripe Checkout; we never build card forms of our own."
FIX = "`ModuleNotFoundError: No module named 'orders_schema'` goes away once `make generate` has run."
SHELL = "exec_command"


@pytest.fixture
def installed(sandbox, codex):
    codex.install("--trust-hooks")
    sandbox.wake_daemon()  # how long its start takes is no question here
    return codex


@pytest.fixture
def at_the_moment(sandbox, codex):
    """Installed, and no session starts with what its prompts and calls need."""
    sandbox.configure("recall:\n  blocking: true\n  budgets:\n    start: 0\n")
    codex.install("--trust-hooks")
    sandbox.wake_daemon()
    return codex


def newest(sandbox):
    return sandbox.stub.agent_requests[-1]


def order(request, *patterns: str) -> list[str]:
    """In which order the messages of a request hold the patterns, each message once per pattern."""
    texts = [json.dumps(message, ensure_ascii=False) for message in request.messages]
    return [pattern for text in texts for pattern in patterns if re.search(pattern, text)]


def role_of(request, pattern: str) -> str:
    (place,) = find_places(request.body, pattern)
    index = int(re.match(r"input\[(\d+)\]", place.path)[1])
    return str(request.messages[index].get("role", request.messages[index]["type"]))


def shell(command: str) -> CallTool:
    return CallTool(name=SHELL, input={"cmd": command})


def of_another_host(sandbox, prompt: str) -> str:
    """What the hook of an agent that has no notes of its own gets for a prompt."""
    told = {"event": "prompt", "session": "another", "cwd": str(sandbox.project), "text": prompt}
    finished = subprocess.run(
        [str(sandbox.tacit_home / "bin" / "tacit-hook"), "plain"],
        input=json.dumps(told),
        env=sandbox.environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return finished.stdout


@proves("codex", "start")
def test_a_rule_stated_in_one_session_stands_before_the_first_prompt_of_the_next(sandbox, installed, report):
    first = installed.ask("Remember that we always run `make lint` before committing.")
    assert first.complaints == []
    assert not newest(sandbox).find(BLOCK)
    sandbox.wait_for_memory("make lint")
    sandbox.stub.clear()
    second = installed.ask("good morning")
    (request,) = sandbox.stub.agent_requests
    assert order(request, f"{BLOCK}[^>]*start", "good morning") == [f"{BLOCK}[^>]*start", "good morning"]
    assert role_of(request, "make lint") == "developer"
    report("codex turn with Tacit", f"{first.took_ms:.0f} ms, {second.took_ms:.0f} ms")


@proves("codex", "prompt")
def test_a_prompt_gets_the_decision_that_governs_it_and_others_get_nothing(sandbox, at_the_moment):
    installed = at_the_moment
    sandbox.remember(CHECKOUT, kind="decision")
    session = installed.ask("What is the capital of France?").session_id
    assert not newest(sandbox).find(BLOCK)
    asked = "Customers want to enter their credit card right on our page. Please build that."
    installed.ask(asked, resume=session)
    request = newest(sandbox)
    assert order(request, "credit card right on", "Stripe Checkout") == [
        "credit card right on",
        "Stripe Checkout",
    ]
    assert role_of(request, "Stripe Checkout") == "developer"


@proves("codex", "action", "failure")
def test_each_call_gets_the_memory_for_it_between_the_call_and_its_result(sandbox, at_the_moment):
    file = sandbox.write("app/payments.py", "def total(prices):\n    return sum(prices)\n")
    error = "echo \"ModuleNotFoundError: No module named 'orders_schema'\""
    sandbox.write("Makefile", f"schema:\n\t@{error} >&2; exit 1\n")
    patch = (
        "apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: app/payments.py\n@@\n"
        "-    return sum(prices)\n+    return sum(prices, 0)\n*** End Patch\nEOF"
    )
    commands = (
        "sed -n '1,40p' app/payments.py", patch, "git log --oneline -1", "git commit --allow-empty -m x", error, "make schema",
        "git config --add shop.release yes", "git config --add shop.release yes",
    )  # fmt: skip
    sandbox.stub.script.append(
        ScriptedReply(when="step three", answers=(*map(shell, commands), Say(text="done")))
    )
    cents = "Amounts in app/payments.py are integer cents; floats are never used for money."
    sandbox.remember(cents, kind="decision", files=("app/payments.py",))
    rule = "Commit messages end with the order number, e.g. `(ORD-12)`."
    sandbox.remember(rule, kind="preference", when="commit, about:commit message")
    sandbox.remember(FIX, kind="error_pattern")
    freeze = "Nobody changes the configuration without asking the release manager."
    sandbox.remember(freeze, kind="preference", when="cmd:git config, blocking")
    at_the_moment.ask("go on with step three of the list")
    asked, _, patched, log, commit, echo, make, refused, allowed = sandbox.stub.agent_requests

    assert not asked.find("integer cents")
    read, wrote = '"function_call", .*sed -n', '"function_call", .*apply_patch'
    result, success = "function_call_output.*return sum", "function_call_output.*Success"
    found = order(patched, read, "integer cents", result, wrote, success)
    assert found == [read, "integer cents", result, wrote, success]
    assert "sum(prices, 0)" in file.read_text()

    assert not log.find("ORD-12"), "looking at the log is no commit"
    call, result = r'"function_call", .*git commit', "function_call_output"
    assert order(commit, call, "ORD-12", result)[-3:] == [call, "ORD-12", result]
    assert role_of(commit, "ORD-12") == "developer"

    assert not echo.find("make generate"), "Codex tells of both calls in the same words"
    assert len(make.find("make generate")) == 1
    result = "function_call_output.*exited with code 2"
    found = order(make, "make schema.*call_id", "make generate", result)
    assert found[-2:] == ["make generate", result]

    assert not make.find("release manager")
    assert len(refused.find("release manager")) == 1, "refused with the reason"
    assert len(allowed.find("release manager")) == 1, "said once"
    assert "exited with code 0" in json.dumps(allowed.messages[-1]), (
        "the first call is refused, the second runs"
    )
    assert (sandbox.project / ".git" / "config").read_text("utf-8").count("release = yes") == 1


@proves("codex", "subagent")
def test_a_subagent_gets_the_rules_of_everybody_and_none_of_another_task(sandbox, at_the_moment):
    task = "Publish version 2.4 of the library."
    given = {"message": task, "agent_type": "worker"}
    spawn = CallTool(name="spawn_agent", namespace="multi_agent_v1", input=given)
    sandbox.stub.script += [
        ScriptedReply(when="step nine", answers=(spawn, shell("sleep 2"), Say(text="spawned"))),
        ScriptedReply(when=task, answers=(Say(text="reported"),)),
    ]
    sandbox.remember("Answer in short sentences.", kind="preference", when="always")
    sandbox.remember("Rows of the price table are never deleted.", kind="decision")
    at_the_moment.ask("go on with step nine of the list")
    (request,) = [r for r in sandbox.stub.agent_requests if r.prompt == task]
    block = f"{BLOCK}[^>]*subagent"
    assert order(request, block, task) == [block, task]
    assert len(request.find("short sentences")) == 1
    assert not request.find("price table")
    assert role_of(request, "short sentences") == "developer"


@proves("codex", "on_demand")
def test_as_installed_codex_asks_before_what_changes_memories_and_not_before_fetching_and_noting(
    sandbox, installed
):
    (known,) = sandbox.remember(CHECKOUT, kind="decision")
    note = {"content": "Prices are rounded half to even.", "kind": "fact"}
    calls = [
        CallTool(name=tool, namespace="mcp__tacit", input=given)
        for tool, given in (
            ("memory_search", {"query": "how are credit cards charged"}), ("memory_get", {"ids": [known]}), ("memory_add", note), ("memory_forget", {"id": known}),
        )
    ]  # fmt: skip
    ready = shell("sleep 3")  # Codex asks the model before its servers have started
    sandbox.stub.script.append(ScriptedReply(when="look it up", answers=(ready, *calls, Say(text="found"))))
    installed.ask("look it up", options=("--sandbox", "workspace-write"))
    _, searched, got, added, forgotten = [turn.text for turn in newest(sandbox).turns if turn.role == "tool"]
    assert "Stripe Checkout" in searched
    assert "Stripe Checkout" in got
    assert "Stored as mem_" in added
    assert "requires approval" in forgotten


@pytest.mark.long
def test_what_codex_itself_remembers_of_the_project_is_followed_and_never_said_twice(sandbox, codex):
    """Codex keeps notes of its own, if the user switches that on; they are the agent's word, and stay where they are."""
    note = "The invoice totals come from the nightly job `bill-run`."
    other = "The blog is built with hugo."
    folder = codex.folder / "memories"
    folder.mkdir()
    group = "# Task Group: {0}\n\nscope: x\napplies_to: cwd={1}; reuse_rule=safe\n\n## Reusable knowledge\n\n- {2} [Task 1]\n\n"
    notes = group.format("shop", sandbox.project, note) + group.format("blog", "/home/ada/blog", other)
    (folder / "MEMORY.md").write_text(notes)
    with codex.config.open("a") as config:
        config.write("\n[features]\nmemories = true\n\n[memories]\ngenerate_memories = false\n")
    codex.install("--trust-hooks")
    sandbox.wake_daemon()
    codex.ask("good morning")
    sandbox.wait_for_memory("bill-run")
    (memory,) = sandbox.ask_daemon("/v1/memories?limit=9")["memories"]
    assert memory["provenance"]["tier"] == "assistant"
    assert memory["provenance"]["source"] == "codex:MEMORY.md"
    asked = "Which job makes the totals of the invoices?"
    codex.ask(asked)
    assert not newest(sandbox).find(BLOCK), "Codex finds its own notes itself"
    assert "bill-run" in of_another_host(sandbox, asked), "another agent does not have them"
    assert (folder / "MEMORY.md").read_text() == notes
    codex.config.write_text(codex.config.read_text().replace("memories = true", "memories = false"))
    codex.ask("good morning")
    end = time.monotonic() + 60
    while sandbox.contents() and time.monotonic() < end:
        time.sleep(0.3)
    assert sandbox.contents() == [], "what the user switched off does not go on"


def test_hooks_run_only_after_the_user_trusts_them(sandbox, codex):
    before = codex.config.read_bytes()
    printed = codex.install()
    assert "enter `/hooks`" in printed
    assert b"trusted_hash" not in codex.config.read_bytes(), "Tacit never approves its own hooks"
    sandbox.wake_daemon()
    sandbox.remember(LINT, kind="preference")
    codex.ask("good morning")
    assert not newest(sandbox).find(BLOCK), "Codex skips them"
    codex.ask("good morning", options=(BYPASS,))
    assert newest(sandbox).find(BLOCK), "and nothing else is in their way"
    assert "enter `/hooks`" not in codex.install("--trust-hooks")
    codex.ask("good morning")
    assert newest(sandbox).find(BLOCK)
    sandbox.tacit("uninstall", "codex", "--yes")
    assert codex.config.read_bytes() == before
    assert not codex.hooks.exists()


def test_doctor_proves_the_path_and_says_that_the_hooks_are_not_trusted(sandbox, codex, report):
    codex.install()
    finished = sandbox.tacit("doctor", "codex", "--json", check=False)
    findings = {each["name"]: each for each in json.loads(finished.stdout)["findings"]}
    proof = findings["codex proof"]
    report("codex proof", proof["detail"])
    assert findings["codex trust"]["state"] == "warn"
    assert "/hooks" in findings["codex trust"]["advice"]
    assert proof["state"] == "fail"
    assert "The path is sound" in proof["advice"]
