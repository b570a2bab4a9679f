"""How much of what `multispace` gives before a prompt is needed, with the shipped model: thirty prompts over twenty memories, in other words."""

from __future__ import annotations

from presets.acceptance import acceptance
from presets.driving import workplace
from tacit.config.settings import EmbedderSettings
from tacit.providers.embedding import make_embedder

MEMORIES = [
    ("fact", "Sessions of the ticket shop live in Redis and expire after 90 minutes"),
    ("decision", "We use Stripe for card payments and refuse PayPal"),
    ("preference", "Component names are written in PascalCase"),
    ("anti_pattern", "Never call the seat service from a database transaction"),
    ("fact", "The seat map is rendered with Konva on a canvas"),
    ("decision", "Bar codes on tickets follow the Aztec standard"),
    ("fact", "Mails are sent through Postmark; the sender is tickets@concert.example"),
    ("preference", "Commit messages begin with the ticket number"),
    ("fact", "The nightly job at 03:10 closes unpaid orders"),
    ("decision", "Prices include tax; the receipt shows it separately"),
    ("fact", "The box office terminals run Debian 12 without a network at times"),
    ("fact", "Error `SeatAlreadyHeld` means that another cart has the seat; wait for two minutes"),
    ("preference", "Tests of the cart use a frozen clock"),
    ("decision", "Translations are kept in Fluent files under locales/"),
    ("fact", "The load test simulates 4000 buyers in the first minute of a sale"),
    ("anti_pattern", "Do not log the holder's name on a ticket"),
    ("fact", "Refunds are possible until 48 hours before the show"),
    ("fact", "The staging database is restored from production every Sunday, with names masked"),
    ("decision", "The waiting room is a Cloudflare worker, not part of the app"),
    ("preference", "API errors are returned as problem+json"),
]
NEEDS = [
    ("How long does a visitor stay logged in before the cart is gone?", 0),
    ("Add Apple Pay as a way to pay at checkout.", 1),
    ("Create the widget for choosing a row.", 2),
    ("Reserve the place inside the same transaction as the order, please.", 3),
    ("The hall plan is slow with 5000 chairs, make the drawing faster.", 4),
    ("Which code is printed so that the door scanner can read it?", 5),
    ("The confirmation letter does not arrive in customers' inboxes.", 6),
    ("Commit what you have.", 7),
    ("Why do orders that nobody paid vanish over night?", 8),
    ("Show VAT on the invoice.", 9),
    ("Make the cashier's machine work when the connection drops.", 10),
    ("A buyer gets SeatAlreadyHeld, what does that mean?", 11),
    ("Write a test for the expiry of the basket.", 12),
    ("Add Italian to the user interface.", 13),
    ("How many people do we simulate when a sale opens?", 14),
    ("Add a log line when somebody enters with a ticket.", 15),
    ("Can I get my money back the day before the concert?", 16),
    ("Is the data on staging real?", 17),
    ("Where is the queue for visitors implemented when there is a rush?", 18),
    ("What should the endpoint answer when the input is invalid?", 19),
]
IDLE = [
    "Fix the typo in the heading of the about page.",
    "What is the difference between a stack and a heap?",
    "Rename the variable x to count in utils.py.",
    "Thanks, that is all for today.",
    "Explain how git rebase works.",
    "Update the year in the footer.",
    "What time is it in Tokyo?",
    "Write a haiku about autumn.",
    "Bump the version to 2.4.1.",
    "Sort the imports of this file.",
]


def given(lab, prompt, session):
    """The memories that a prompt of a fresh session gets."""
    lines = lab.agent(session).prompt(prompt).splitlines()
    return [line.partition("** ")[2] for line in lines if line.startswith("- **[")]


@acceptance("multispace", "PRECISION")
def test_needs_are_met_and_idle_prompts_left_alone(tmp_path):
    with workplace(tmp_path, "multispace", embedder=make_embedder(EmbedderSettings())) as lab:
        for number, (kind, content) in enumerate(MEMORIES):
            lab.know(content, kind, days_ago=3 + number)
        met = needless = disturbed = 0
        for number, (prompt, needed) in enumerate(NEEDS):
            lines = given(lab, prompt, f"need-{number}")
            hit = MEMORIES[needed][1] in lines
            met += hit
            needless += len(lines) - hit
        for number, prompt in enumerate(IDLE):
            lines = given(lab, prompt, f"idle-{number}")
            needless += len(lines)
            disturbed += bool(lines)
    assert met >= 13
    assert needless <= 7
    assert disturbed <= 2
