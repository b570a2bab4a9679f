"""The refreshed section follows the newest message, with the prompts of the design's scenario 11 and bars for the shipped model."""

from __future__ import annotations

from live.refresh.plugin import SEEDED, TOPICS, PluginSession, section
from presets.acceptance import acceptance

PRESET = "preset: refresh"


@acceptance(
    "refresh", "SCENARIO-11-turn-1", "SCENARIO-11-turn-2", "SCENARIO-11-turn-3", "PHASE-4", "PHASE-5",
    "FLOW-turn-2", "DECISION-threshold", "EDGE-similar", "FLOW-compaction", "EDGE-compaction", "TOPIC-switch",
)  # fmt: skip
def test_each_prompt_of_scenario_11_brings_its_own_memory_alone(live):
    machine = live(PRESET)
    for words in SEEDED:
        machine.remember(words, kind="fact", when="")
    session = PluginSession(machine, "s1")
    session.start()
    back = TOPICS[0]
    for prompt, word in (*TOPICS, back, TOPICS[2], back):
        relevant = session.relevant(prompt)
        assert word in relevant, f"{prompt}: {relevant}"
        assert len(relevant.splitlines()) == 1, f"another topic came with {prompt}: {relevant}"
        assert word not in section(session.system, "Tech Context"), "it moved up, and is not there twice"
        assert session.system.count("\n- ") == len(SEEDED)
    session.send("compacting")
    session.send("compacted")
    assert "httpOnly" in section(session.system, "Relevant to Current Task")
    assert "PostgreSQL" in session.relevant("What about database?")


IN_OTHER_WORDS = (
    ("Members sign in with a passkey; there are no passwords anywhere.", "People say they cannot get into their account any more, look at it."),
    ("Releases go out through Argo CD on an AKS cluster in Frankfurt.", "I need to ship what is on main to the servers."),
    ("Loans and members are kept in MariaDB, one schema per branch library.", "Where are the rows of a borrowed drill stored?"),
    ("Late fees are charged by Mollie, once a month, in a nightly batch.", "How do we get paid when somebody returns a saw too late?"),
    ("The mobile app is built with Kotlin Multiplatform.", "Change the colour of the button in the app on phones."),
    ("Charts in the back office are drawn with Vega-Lite.", "Draw a graph of how many tools were lent each week."),
    ("Logs go to Loki, and every line carries the id of the request.", "Find what the server printed when that booking failed."),
    ("Unit tests run with Vitest and a fake clock.", "Write a test for the reminder that fires after two weeks."),
    ("E-mails are queued in RabbitMQ and sent by the worker named pigeon.", "No message arrived after a member reserved the ladder."),
    ("Photos of tools are resized to 640 pixels by a Lambda function.", "The thumbnails in the catalogue look blurry."),
)  # fmt: skip
"""(what is known, a prompt that needs it and does not repeat it)."""
IDLE = (
    "Write a haiku about autumn.",
    "Explain what a closure is in JavaScript.",
    "Rename the variable tmp to total in this function.",
    "What is the difference between a mutex and a semaphore?",
    "Sort this list alphabetically please.",
)


@acceptance("refresh", "OTHER-WORDS", "EDGE-empty", "DECISION-gate")
def test_six_of_ten_prompts_in_other_words_move_what_they_need_to_the_top(live):
    machine = live(PRESET)
    for words, _ in IN_OTHER_WORDS:
        machine.remember(words, kind="fact", when="")
    session = PluginSession(machine, "s1")
    session.start()
    session.say("Good morning, what is on the list for today?")
    moved = [words for words, prompt in IN_OTHER_WORDS if words in session.relevant(prompt)]
    assert len(moved) >= 6, moved
    kept = session.relevant(IN_OTHER_WORDS[0][1])
    assert session.relevant("ok go on") == kept, "too little was said to look again"
    for prompt in IDLE:
        assert session.relevant(prompt) == "", prompt
