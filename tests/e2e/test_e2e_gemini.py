"""The real Gemini CLI, the real daemon, hooks as `tacit install` writes them; only the model is a stub.

Every test has a machine of its own. What is asserted is what the model was sent, not what anyone claims.
"""

from __future__ import annotations

import json
import re
import time

import pytest

from e2e.drivers.gemini import OWN_SETTINGS, parts
from e2e.host_matrix import proves
from scripted_model import ScriptedReply
from tacit.hosts.probe.wire import CallTool, Say

pytestmark = pytest.mark.e2e

BLOCK = r"&lt;tacit-memory"
"""The client writes `<` in what hooks give it as `&lt;`."""
LINT = "We always run `make lint` before committing."
CHECKOUT = "Payments go through Stripe Checkout; we never build card forms of our own."
CENTS = "Amounts in app/payments.py are integer cents; floats are never used for money."
FIX = "`ModuleNotFoundError: No module named 'orders_schema'` goes away once `make generate` has run."
NO_START = "recall:\n  budgets:\n    start: 0\n"
MAKEFILE = "schema:\n\t@echo \"ModuleNotFoundError: No module named 'orders_schema'\" >&2; exit 1\n"


@pytest.fixture
def installed(sandbox, gemini):
    gemini.install()
    sandbox.wake_daemon()  # how long its start takes is no question here
    return gemini


def newest(sandbox):
    return sandbox.stub.agent_requests[-1]


def shell(command: str) -> CallTool:
    return CallTool(name="run_shell_command", input={"command": command, "description": "run it"})


@proves("gemini", "start", "prompt")
def test_a_rule_stated_in_one_session_starts_the_next_and_a_prompt_gets_the_decision_that_governs_it(
    sandbox, installed, report
):
    installed.ask("Remember that we always run `make lint` before committing.")
    assert not newest(sandbox).find(BLOCK)
    sandbox.wait_for_memory("make lint")
    sandbox.stub.clear()
    turn = installed.ask("hello")
    (request,) = sandbox.stub.agent_requests
    last = parts(request.messages[-1])
    assert last[-2] == "hello", (
        "the words of the person stay as they are, for slash commands and for a later resume"
    )
    assert re.match(rf"<hook_context>{BLOCK}[^&]*start", last[-1])
    assert len(request.find("make lint")) == 1
    report("gemini turn with Tacit", f"{turn.took_ms:.0f} ms")

    sandbox.configure(NO_START)
    sandbox.remember(CHECKOUT, kind="decision")
    time.sleep(1.1)  # the daemon looks at the file once a second
    prompt = "Build the card form for payments on the checkout page."
    installed.ask(prompt)
    request = newest(sandbox)
    last = parts(request.messages[-1])
    assert last[-2] == prompt
    assert "Stripe Checkout" in last[-1]
    assert len(request.find("Stripe Checkout")) == 1


@proves("gemini", "action", "failure", "on_demand")
def test_each_call_gets_the_memory_for_it_and_the_tools_of_the_server_answer(sandbox, installed):
    """Without a start pack, which would hold the few memories."""
    sandbox.configure(NO_START + "  blocking: true\n")
    file = sandbox.write("app/payments.py", "def total(prices):\n    return sum(prices)\n")
    sandbox.write("Makefile", MAKEFILE)
    edit = {
        "file_path": str(file), "old_string": "sum(prices)", "new_string": "sum(prices, 0)", "instruction": "add a start",
    }  # fmt: skip
    answers = (
        CallTool(name="read_file", input={"file_path": str(file)}),
        CallTool(name="replace", input=edit),
        shell("git status --short"),
        shell("git commit -m x"),  # there is nothing to commit
        shell("make schema"),
        CallTool(name="mcp_tacit_memory_search", input={"query": "card form for payments"}),
        shell("git config --add shop.release yes"),
        shell("git config --add shop.release yes"),
        Say(text="done"),
    )
    sandbox.stub.script.append(ScriptedReply(when="step three", answers=answers))
    sandbox.remember(CENTS, kind="decision", files=("app/payments.py",))
    rule = "Commit messages end with the order number, e.g. `(ORD-12)`."
    sandbox.remember(rule, kind="preference", when="commit, about:commit message")
    sandbox.remember(FIX, kind="error_pattern")
    sandbox.remember(CHECKOUT, kind="decision")
    freeze = "Nobody changes the configuration without asking the release manager."
    sandbox.remember(freeze, kind="preference", when="cmd:git config, blocking")
    assert installed.ask("go on with step three of the list").text == "done"
    asked, read, _, status, commit, make, found, refused, allowed = sandbox.stub.agent_requests

    assert not asked.find(BLOCK), "nothing governs this prompt"
    assert read.find("integer cents"), "the rule has to be there when the model writes its edit"
    said = [part for content in found.messages for part in parts(content)]
    at = next(number for number, part in enumerate(said) if "integer cents" in part)
    assert said[at - 1] == "call read_file"
    assert "return sum(prices)" in said[at].partition("<hook_context>")[0], "behind what the call read"
    assert said[at + 1] == "call replace"
    assert len(found.find("integer cents")) == 1
    assert "sum(prices, 0)" in file.read_text()

    assert not status.find("ORD-12"), "looking at the state is no commit"
    assert len(commit.find("ORD-12")) == 1
    (output,) = parts(commit.messages[-1])
    said, _, given = output.partition("<hook_context>")
    assert "Exit Code: " in said
    assert "ORD-12" in given, "it was chosen before the call, and reaches the model together with its result"

    assert not commit.find("make generate")
    assert len(make.find("make generate")) == 1
    (output,) = parts(make.messages[-1])
    said, _, given = output.partition("<hook_context>")
    assert "Exit Code: 2" in said
    assert "make generate" in given

    assert asked.find("^mcp_tacit_memory_search$")
    assert "Stripe Checkout" in parts(found.messages[-1])[0]

    assert not found.find("release manager")
    assert len(refused.find("release manager")) == 1, "with the reason"
    assert len(allowed.find("release manager")) == 1, "said once"
    config = (sandbox.project / ".git" / "config").read_text("utf-8")
    assert config.count("release = yes") == 1, "the first call is refused, the second runs"


@proves("gemini", "failure")
@pytest.mark.long
def test_the_block_for_a_call_that_takes_no_text_comes_with_the_next_one_that_does(sandbox, installed):
    sandbox.configure(NO_START)
    fix = "`File not found` for app/rates.toml goes away once `make rates` has written it."
    missing = CallTool(name="read_file", input={"file_path": str(sandbox.project / "app/rates.toml")})
    answers = (missing, shell("true"), Say(text="done"))
    sandbox.stub.script.append(ScriptedReply(when="step eight", answers=answers))
    sandbox.remember(fix, kind="error_pattern", files=("app/rates.toml",))
    installed.ask("go on with step eight of the list")
    _, after_failure, after_success = sandbox.stub.agent_requests
    assert not after_failure.find("make rates"), "the client takes no text for a call that fails"
    assert len(after_success.find("make rates")) == 1
    assert "make rates" in parts(after_success.messages[-1])[0]


@proves("gemini", "compaction")
def test_after_a_compression_the_context_is_there_again_once(sandbox, installed):
    sandbox.remember(LINT, kind="preference")
    first = installed.ask("hello")
    big = "go on with step ten STUB_USAGE 900000"
    answers = (shell("echo one"), shell("echo two"), shell("echo three"), Say(text="done"))
    sandbox.stub.script.append(ScriptedReply(when="step ten", answers=answers))
    sandbox.stub.clear()
    installed.ask(big, resume=first.session_id)
    summaries = [r for r in sandbox.stub.model_requests if r.find("Generate a new <state_snapshot>")]
    assert summaries, "the client compressed the conversation"
    assert not any(request.find(BLOCK) and request.offers_tools for request in summaries)
    held = [len(request.find("make lint")) for request in sandbox.stub.agent_requests]
    compressed = [
        bool(r.find("Got it. Thanks for the additional context!")) for r in sandbox.stub.agent_requests
    ]
    assert compressed[0] is False
    first_after = compressed.index(True)
    assert held[first_after : first_after + 2] == [0, 1], (
        "what the summary dropped came with the next tool's output"
    )
    installed.ask("and on", resume=first.session_id)  # gets what the last compression of that turn dropped
    installed.ask("and further", resume=first.session_id)
    assert parts(newest(sandbox).messages[-1]) == ["and further"], "a resume is no compression"


@pytest.mark.long
def test_what_the_client_remembers_by_itself_is_read_followed_and_never_said_twice(sandbox, installed):
    """The agent notes things in `~/.gemini/GEMINI.md` and in the project's private `MEMORY.md`; the client loads both."""
    note = "Deploys go out from the release branch on Tuesdays."
    taste = "The person's name for the staging database is Ox."
    (installed.folder / "GEMINI.md").write_text(f"## Preferences\n\n- {taste}\n", encoding="utf-8")
    installed.ask("hello")
    folder = installed.chats()[0].parent.parent / "memory"
    write = CallTool(
        name="write_file", input={"file_path": str(folder / "MEMORY.md"), "content": f"# Notes\n\n- {note}\n"}
    )
    sandbox.stub.script.append(ScriptedReply(when="step two", answers=(write, Say(text="noted"))))
    installed.ask("go on with step two of the list")
    assert (folder / "MEMORY.md").is_file()
    sandbox.wait_for_memory("release branch")
    noted = [
        (memory["content"].rstrip("."), memory["provenance"]["tier"], memory["scope"])
        for memory in sandbox.ask_daemon("/v1/memories?limit=9")["memories"]
        if memory["provenance"]["source"].startswith("gemini:")
    ]
    assert sorted(words for words, _, _ in noted) == sorted(text.rstrip(".") for text in (note, taste))
    assert {tier for _, tier, _ in noted} == {"assistant"}
    assert ("universal" in {scope for words, _, scope in noted if "Ox" in words}) is True
    sandbox.stub.clear()
    installed.ask("When do deploys go out, and from which branch?")
    request = newest(sandbox)
    assert len(request.find("release branch")) == 1, "the client loads it: once is enough"
    assert len(request.find("the staging database is Ox")) == 1
    (folder / "MEMORY.md").write_text("# Notes\n", encoding="utf-8")
    installed.ask("hello again")
    end = time.monotonic() + 60
    while note in sandbox.contents() and time.monotonic() < end:
        time.sleep(0.3)
    assert note not in sandbox.contents(), "what the agent takes out of its notes ends"
    assert json.loads(OWN_SETTINGS.partition("\n")[2]).items() <= _settings(installed).items()


def _settings(client) -> dict:
    return json.loads(client.settings.read_text(encoding="utf-8").partition("\n")[2])
