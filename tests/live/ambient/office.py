"""What a small company's agent knows, and prompts that need it without its words."""

from __future__ import annotations

ASKED = (
    ("Invoices are archived after ninety days.", "How long do we keep bills around?"),
    ("Images are resized to 1200 pixels before upload.", "Shrink pictures that people add to their profile."),
    ("We write dates as ISO 8601 in UTC.", "Format a timestamp for the report."),
    ("The mobile app is written in Flutter.", "Which framework do our phone clients use?"),
    ("The auth module is in src/auth/ with 3 files.", "Where does the login code live?"),
    ("The staging database listens on port 5433.", "How do I connect to Postgres in the test environment?"),
)  # fmt: skip
"""(memory, prompt)."""
UNRELATED = "Write a short poem about the sea at night."
GOAL = "Ship v2.0 by end of February"
TODO = "Fix the auth module token refresh - assigned by Oscar"
"""The pinned memories of the seed's own example."""
