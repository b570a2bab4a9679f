"""The real Claude Code client, the real daemon, hooks as `tacit install` writes them; only the model is a stub.

Every test has a machine of its own. What is asserted is what the model was sent, not what anyone claims.
"""

from __future__ import annotations

import re
import time

import pytest

from e2e.host_matrix import proves
from scripted_model import ScriptedReply, find_places
from tacit.hosts.probe.wire import CallTool, Say

pytestmark = pytest.mark.e2e

BLOCK = r"<tacit-memory"
CHECKOUT = "Payments go through Stripe Checkout; we never build card forms of our own."
CENTS = "Amounts in app/payments.py are integer cents; floats are never used for money."
FIX = "`ModuleNotFoundError: No module named 'orders_schema'` goes away once `make generate` has run."


@pytest.fixture
def installed(sandbox, claude):
    claude.install()
    sandbox.wake_daemon()  # how long its start takes is no question here
    return claude


def newest(sandbox):
    return sandbox.stub.agent_requests[-1]


@proves("claude-code", "start")
def test_a_rule_stated_in_one_session_is_there_when_the_next_one_starts(sandbox, installed, report):
    first = installed.ask("Remember that we always run `make lint` before committing.")
    assert not newest(sandbox).find(BLOCK)
    sandbox.wait_for_memory("make lint")
    sandbox.stub.clear()
    second = installed.ask("hello")
    (request,) = sandbox.stub.agent_requests
    (place,) = find_places(request.body, "make lint")
    assert "SessionStart" in place.text
    assert re.search(rf"{BLOCK}[^>]*start", place.text)
    report("claude turn with Tacit", f"{first.took_ms:.0f} ms, {second.took_ms:.0f} ms")


@proves("claude-code", "action", "failure")
def test_each_call_gets_the_memory_for_it(sandbox, installed):
    sandbox.configure("recall:\n  blocking: true\n")
    file = sandbox.write("app/payments.py", "def total(prices):\n    return sum(prices)\n")
    sandbox.write(
        "Makefile", "schema:\n\t@echo \"ModuleNotFoundError: No module named 'orders_schema'\" >&2; exit 1\n"
    )
    edits = [
        {"file_path": str(file), "old_string": "sum(prices)", "new_string": "sum(prices, 0)"},
        {"file_path": str(file), "old_string": "sum(prices, 0)", "new_string": "sum(prices, 1)"},
    ]
    commands = (
        "git log --oneline -1",
        "git commit --allow-empty -m x",
        "make schema",
        "git config --add shop.release yes",
        "git config --add shop.release yes",
    )
    calls = (
        CallTool(name="Read", input={"file_path": str(file)}),
        *(CallTool(name="Edit", input=edit) for edit in edits),
        *(CallTool(name="Bash", input={"command": command, "description": "run it"}) for command in commands),
    )
    sandbox.stub.script.append(ScriptedReply(when="step three", answers=(*calls, Say(text="done"))))
    with installed.session() as session:
        session.ask("hello")
        sandbox.remember(CENTS, kind="decision", files=("app/payments.py",))
        sandbox.remember("Run `make lint` after every change.", kind="preference", when="run_lint_build")
        rule = "Commit messages end with the order number, e.g. `(ORD-12)`."
        sandbox.remember(rule, kind="preference", when="commit, about:commit message")
        sandbox.remember(FIX, kind="error_pattern")
        freeze = "Nobody changes the configuration without asking the release manager."
        sandbox.remember(freeze, kind="preference", when="cmd:git config, blocking")
        sandbox.stub.clear()
        assert session.ask("go on with step three of the list").text == "done"
    asked, before_edit, _, edited, log, commit, last, refused, allowed = sandbox.stub.agent_requests

    assert not asked.find("integer cents")
    assert before_edit.find("integer cents"), "the rule has to be there when the model writes its edit"
    assert "sum(prices, 1)" in file.read_text()

    def order(words: str) -> list[str]:
        places = find_places(edited.body["messages"], rf"^Read$|{words}|^Edit$")
        return [place.text if place.text in ("Read", "Edit") else "rule" for place in places]

    assert order("integer cents") == ["Read", "rule", "Edit", "Edit"]
    assert order("make lint") == ["Read", "Edit", "rule", "Edit"], (
        "what is to follow an edit comes after it, once"
    )

    assert not log.find("ORD-12"), "looking at the log is no commit"
    (place,) = find_places(commit.body, "ORD-12")
    assert "PreToolUse" in place.text, "it reaches the model together with the result of the call"

    assert not commit.find("make generate")
    (place,) = find_places(last.body, "make generate")
    assert "PostToolUseFailure" in place.text

    assert not last.find("release manager")
    assert len(refused.find("release manager")) == 1, "refused with the reason"
    assert len(allowed.find("release manager")) == 1, "said once"
    assert (sandbox.project / ".git" / "config").read_text("utf-8").count("release = yes") == 1, (
        "the first call is refused, the second runs"
    )


@proves("claude-code", "prompt")
def test_a_prompt_gets_the_decision_that_governs_it_others_get_nothing_and_nothing_comes_twice(
    sandbox, installed
):
    sandbox.remember("We always run `make lint` before committing.", kind="preference")
    with installed.session() as session:
        first = session.ask("Commit what we have.")
        sandbox.remember(CHECKOUT, kind="decision")
        session.ask("What is the capital of France?")
        assert not newest(sandbox).find("Stripe Checkout")
        session.ask("Build the card form for payments on the checkout page.")
        request = newest(sandbox)
        (place,) = find_places(request.body, "Stripe Checkout")
        assert place.path.startswith(f"messages[{len(request.messages) - 1}]")
        session.ask("Now the card form for payments in the mobile checkout, then commit.")
        session.ask("Commit again.")
        request = newest(sandbox)
        assert len(request.find("make lint")) == 1
        assert len(request.find("Stripe Checkout")) == 1
    installed.ask("Commit the rest.", resume=first.session_id)
    resumed = newest(sandbox)
    assert len(resumed.find("make lint")) == 1, "a resumed session gets only what is new"
    assert len(resumed.find("Stripe Checkout")) == 1


def test_a_killed_daemon_harms_no_turn_and_memory_comes_back(sandbox, installed):
    with installed.session() as session:
        assert session.ask("hello STUB_TEXT one").text == "one"
        killed = sandbox.kill_daemon()
        assert session.ask("hello again STUB_TEXT two").text == "two"
        sandbox.remember(CHECKOUT, kind="decision")
        assert sandbox.wait_for_daemon() != killed
        session.ask("Build the card form for payments on the checkout page.")
        assert len(newest(sandbox).find("Stripe Checkout")) == 1


def test_a_session_that_cannot_wait_for_a_daemon_gets_the_block_made_earlier(sandbox, installed):
    sandbox.remember("We always run `make lint` before committing.", kind="preference")
    installed.ask("hello")
    with sandbox.daemon_away(start_block="make lint") as late:
        sandbox.stub.clear()
        installed.ask("hello", **late)
    assert len(newest(sandbox).find("make lint")) == 1


def test_what_the_agent_notes_for_itself_is_read_followed_and_not_said_twice(sandbox, installed):
    """The client loads the `MEMORY.md` that its agent keeps beside the transcripts."""
    note = "Deploys go out from the harbor branch on Tuesdays."
    installed.ask("hello")
    folder = installed.transcripts()[0].parent / "memory"
    write = CallTool(
        name="Write",
        input={
            "file_path": str(folder / "MEMORY.md"),
            "content": f"# Notes\n\n- [Deploys](deploys.md) — {note}\n",
        },
    )
    sandbox.stub.script.append(ScriptedReply(when="step two", answers=(write, Say(text="noted"))))
    installed.ask("go on with step two of the list")
    assert (folder / "MEMORY.md").is_file()
    sandbox.wait_for_memory("harbor branch")
    (stored,) = [
        memory
        for memory in sandbox.ask_daemon("/v1/memories?limit=9")["memories"]
        if memory["provenance"]["source"] == "claude-code:MEMORY.md"
    ]
    assert (stored["content"], stored["provenance"]["tier"]) == (f"Deploys — {note}", "assistant")
    sandbox.stub.clear()
    installed.ask("When do deploys go out, and from which branch?")
    assert len(newest(sandbox).find("harbor branch")) == 1, "the client loads it: once is enough"
    (folder / "MEMORY.md").write_text("# Notes\n", encoding="utf-8")
    installed.ask("hello again")
    end = time.monotonic() + 60
    while any("harbor branch" in text for text in sandbox.contents()) and time.monotonic() < end:
        time.sleep(0.3)
    assert not any("harbor branch" in text for text in sandbox.contents()), "what the agent takes out ends"
