"""The real GitHub Copilot CLI, the real daemon, hooks as `tacit install` writes them; only the model is a stub.

Every test has a machine of its own. What is asserted is what the model was sent, not what anyone claims.
"""

from __future__ import annotations

import re

import pytest

from e2e.drivers.prefix import compare_prefixes
from e2e.host_matrix import proves
from scripted_model import ScriptedReply, find_places
from tacit.hosts.probe.wire import CallTool, Say

pytestmark = pytest.mark.e2e

BLOCK = r"<tacit-memory"
LINT = "We always run `make lint` before committing."
CHECKOUT = "Payments go through Stripe Checkout; we never build card forms of our own."
CENTS = "Amounts in app/payments.py are integer cents; floats are never used for money."
FIX = "`ModuleNotFoundError: No module named 'orders_schema'` goes away once `make generate` has run."
FAILING = "schema:\n\t@echo \"ModuleNotFoundError: No module named 'orders_schema'\" >&2; exit 1\n"


@pytest.fixture
def installed(sandbox, copilot):
    copilot.install()
    sandbox.wake_daemon()  # how long its start takes is no question here
    return copilot


def newest(sandbox):
    return sandbox.stub.agent_requests[-1]


def blocks(request) -> int:
    return len(request.find(BLOCK))


def place_of(request, pattern):
    (place,) = find_places(request.body, pattern)
    return place


def script(sandbox, when, *calls, say="done"):
    sandbox.stub.script.append(ScriptedReply(when=when, answers=(*calls, Say(text=say))))


def bash(command):
    return CallTool(name="bash", input={"command": command, "description": "run it"})


@proves("copilot", "start")
def test_a_rule_stated_in_one_session_is_there_when_the_next_one_starts(sandbox, installed, report):
    first = installed.ask("Remember that we always run `make lint` before committing.")
    assert not newest(sandbox).find(BLOCK)
    sandbox.wait_for_memory("make lint")
    sandbox.stub.clear()
    second = installed.ask("hello")
    (request,) = sandbox.stub.agent_requests
    place = place_of(request, "make lint")
    assert re.search(rf"{BLOCK}[^>]*start", place.text)
    roles = [turn.role for turn in request.turns]
    assert roles == ["system", "user", "user"], "a message of its own in front of the prompt"
    assert "make lint" in request.turns[1].text
    report("copilot turn with Tacit", f"{first.took_ms:.0f} ms, {second.took_ms:.0f} ms")


@proves("copilot", "prompt", "subagent", "action", "failure")
def test_prompts_subagents_and_calls_get_the_memory_for_each(sandbox, installed):
    """In one session: a prompt, a subagent, calls, failures, and at last a rule that refuses a call."""
    sandbox.configure("recall:\n  blocking: true\n")
    file = sandbox.write("app/payments.py", "def total(prices):\n    return sum(prices)\n")
    sandbox.write("Makefile", FAILING)
    script(
        sandbox,
        "step three",
        CallTool(name="view", input={"path": str(file)}),
        CallTool(name="edit", input={"path": str(file), "old_str": "sum(prices)", "new_str": "sum(prices, 0)"}),
        bash("git log --oneline -1"),
        bash("git -c user.name=a -c user.email=a@localhost commit --allow-empty -m x"),
        bash("make schema"),
        CallTool(name="edit", input={"path": str(sandbox.project / "app" / "ledger.py"), "old_str": "a", "new_str": "b"}),
    )  # fmt: skip
    fix = "`ENOENT: no such file or directory, open app/ledger.py` means that `make ledger` has not been run."
    task = {"agent_type": "task", "name": "pay", "description": "card form", "mode": "sync",
            "prompt": "Build the card form for payments on the checkout page."}  # fmt: skip
    sandbox.stub.script.append(ScriptedReply(when="Build the card form", answers=(Say(text="built"),)))
    script(sandbox, "step nine", CallTool(name="task", input=task))
    release = bash("git -c user.name=a -c user.email=a@localhost commit --allow-empty -m release")
    script(sandbox, "step seven", release, release)
    with installed.session() as session:
        session.ask("hello")
        sandbox.remember(CHECKOUT, kind="decision")
        session.ask("What is the capital of France?")
        assert blocks(newest(sandbox)) == 0
        sandbox.stub.clear()
        session.ask("go on with step nine of the list")
        delegates, inside, last = sandbox.stub.agent_requests
        session.ask("Make the card form for payments on the checkout page.")
        prompted = newest(sandbox)
        sandbox.remember(CENTS, kind="decision", files=("app/payments.py",))
        rule = "Commit messages end with the order number, e.g. `(ORD-12)`."
        sandbox.remember(rule, kind="preference", when="commit, about:commit message")
        sandbox.remember(FIX, kind="error_pattern")
        sandbox.remember(fix, kind="error_pattern")
        sandbox.stub.clear()
        assert session.ask("go on with step three of the list").text.endswith("done")
        asked, before_edit, edited, log, commit, make, missing = sandbox.stub.agent_requests
        rule = "Nobody commits during the freeze without asking the release manager."
        sandbox.remember(rule, kind="preference", when="cmd:git commit, blocking")
        sandbox.stub.clear()
        session.ask("go on with step seven of the list")
        first, second, third = sandbox.stub.agent_requests

    assert not delegates.find("Stripe Checkout")
    place = place_of(inside, "Stripe Checkout")
    assert place.offset < place.text.index("Build the card form"), "in front of its task"
    assert not last.find("Stripe Checkout"), "the main agent was not asked to pay"

    place = place_of(prompted, "Stripe Checkout")
    assert place.path.startswith(f"messages[{len(prompted.messages) - 1}]")
    assert place.text.index("card form") < place.text.index("<system_reminder>") < place.offset

    assert not asked.find("integer cents")
    place = place_of(before_edit, "integer cents")
    assert "Additional guidance from postToolUse hooks" in place.text, "it stands in the result of the call"
    words = [
        place.text if place.text in ("view", "edit") else "rule"
        for place in find_places(edited.body["messages"], r"^view$|integer cents|^edit$")
    ]
    assert words == ["view", "rule", "edit"]
    assert "sum(prices, 0)" in file.read_text()

    assert not log.find("ORD-12"), "looking at the log is no commit"
    assert len(commit.find("ORD-12")) == 1

    assert not commit.find("make generate")
    place = place_of(make, "make generate")
    assert place.text.index("orders_schema") < place.offset, "behind the error, in the result"

    assert not make.find("make ledger")
    place = place_of(missing, "make ledger")
    assert "postToolUseFailure" in place.text, "a tool that fails by itself"
    assert place.path.startswith(f"messages[{len(missing.messages) - 1}]"), "a message behind the result"

    commits = (sandbox.project / ".git" / "logs" / "HEAD").read_text("utf-8").count("release")
    assert commits == 1, "the first call is refused, the second runs"
    assert not first.find("release manager")
    assert place_of(second, "release manager").text.startswith("Denied by preToolUse hook")
    assert len(third.find("release manager")) == 1, "said once"


@proves("copilot", "compaction")
def test_after_a_compaction_the_context_is_there_again_once(sandbox, installed):
    sandbox.remember(LINT, kind="preference")
    with installed.session() as session:
        session.ask("hello")
        assert len(newest(sandbox).find("make lint")) == 1
        session.ask("/compact")
        sandbox.stub.clear()
        session.ask("go on")
        request = newest(sandbox)
        assert request.find("The conversation history has been summarized"), (
            "the summary replaced the history"
        )
        place = place_of(request, "make lint")
        assert place.text.index("go on") < place.offset
        session.ask("and on")
        assert len(newest(sandbox).find("make lint")) == 1


@proves("copilot", "start", "prompt")
def test_a_resumed_session_has_its_start_again_with_the_same_bytes(sandbox, installed, report):
    """Copilot puts what a hook says at the start in front of the session and forgets it when the session ends."""
    sandbox.remember(LINT, kind="preference")
    first = installed.ask("Commit what we have.")
    resumed = installed.ask("What is the capital of France?", resume=first.session_id)
    report("copilot resume with Tacit", f"{resumed.took_ms:.0f} ms")
    prefix = compare_prefixes(sandbox.stub.agent_requests)
    assert prefix.kept_share == 1.0, prefix.breaks
    assert len(newest(sandbox).find("make lint")) == 1
    sandbox.remember(CHECKOUT, kind="decision")
    installed.ask("Build the card form for payments on the checkout page.", resume=first.session_id)
    installed.ask("Commit the rest.", resume=first.session_id)
    for request in sandbox.stub.agent_requests[2:]:
        assert len(request.find("make lint")) == 1
        assert len(request.find("Stripe Checkout")) == 1, "nothing is handed over twice"
