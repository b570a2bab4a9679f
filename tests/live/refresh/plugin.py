"""A session of OpenCode as its plugin tells of it, through the hook client: the system text stays until a reply brings another."""

from __future__ import annotations

import json

from e2e.drivers.machine import Machine

SEEDED = (
    "Our auth uses JWT tokens in httpOnly cookies.",
    "Deployment is Kubernetes with Helm on GCP.",
    "The main datastore is PostgreSQL 16.",
)
"""What scenario 11 of the design seeds, and a datastore for its third turn."""
TOPICS = (
    ("How is auth handled?", "httpOnly"),
    ("Now help me set up the deployment pipeline", "Helm"),
    ("What about database?", "PostgreSQL"),
)
"""Its prompts, word for word, and a word of what each of them needs."""


class PluginSession:
    """One session; `system` is what its requests carry in the system prompt."""

    def __init__(self, machine: Machine, name: str, **facts: str) -> None:
        self.machine, self.system = machine, ""
        self._facts = {"sessionID": name, "directory": str(machine.project), **facts}
        self._sent = 0

    def start(self) -> str:
        """The session begins."""
        return self.send("session.start", source="startup")

    def say(self, text: str) -> str:
        """The user sends a prompt."""
        return self.send("prompt", messageID=f"m{self._sent}", text=text)

    def relevant(self, text: str) -> str:
        """The refreshed section after a prompt."""
        return section(self.say(text), "Relevant to Current Task")

    def send(self, event: str, **fields: object) -> str:
        """One event; the system text after it."""
        self._sent += 1
        payload = {"event": event, "id": f"e{self._sent}", **self._facts, **fields}
        reply = self.machine.hook(json.dumps(payload).encode(), "opencode")
        told = json.loads(reply) if reply else {}
        self.system = told.get("system", self.system)
        return self.system


def section(block: str, title: str) -> str:
    """The lines of a section; "" where there is none."""
    rest = block.partition(f"## {title}\n")[2]
    return rest.partition("\n## ")[0].partition("\n[/MEMORY]")[0]
