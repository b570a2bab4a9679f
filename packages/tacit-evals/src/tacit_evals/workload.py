"""A store like a real one, of any size, and the one list of prompts that every latency is measured with.

In: a number of memories and a seed. Out: memories with plausible statements, kinds, triggers and vectors; written through
the store. Equal arguments give equal memories. Never reads a file, never uses anybody's data.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from tacit.backends.sqlite import open_sqlite_store
from tacit.config.home import Home
from tacit.model.changes import Add
from tacit.model.kinds import KindRegistry
from tacit.model.memory import Entity, Memory, Provenance, TrustTier, Validity
from tacit.model.scope import UNIVERSAL, Scope
from tacit.model.trigger import ACTIONS, Trigger
from tacit.ports.models import Embedder, Vectors
from tacit.providers.clock import SystemClock

PROMPTS: tuple[str, ...] = (
    "fix the failing login test in src/auth/session.py, the token expires one second too early again",
    "add a retry with backoff to the upload client so that a flaky network does not lose a file",
    "rename the helper that parses dates to something clearer and update every place that calls it",
    "write a unit test for the cache eviction when two entries have exactly the same time stamp",
    "why does the nightly build take twenty minutes longer since we upgraded the compiler last week",
    "refactor the settings loader so that each layer is read once and errors name the file",
    "commit the work so far with a short message and push the branch to the remote",
    "please add pagination to the orders endpoint, with a cursor and not with page numbers",
    "the dashboard shows stale numbers after a deploy, find out which cache is never invalidated",
    "remove the deprecated export command and everything in the docs that still mentions it",
    "create a migration that adds an index on customer id and created at to the invoices table",
    "bump the http library to the newest version and fix whatever the type checker complains about",
    "explain how the scheduler decides which worker gets the next job when all of them are busy",
    "the docker image is two gigabytes, make it smaller without losing the debugging tools",
    "add a flag to the command line that prints the plan and does not change any file",
    "run the integration tests again and show me only the ones that fail with a timeout",
    "write the release notes for version two from the merged pull requests since the last tag",
    "there is a race in the queue consumer when two processes acknowledge the same message",
    "let the form validate the email address while typing and show the error below the field",
    "move the shared types into their own package so that the client does not import the server",
    "review the pull request about rate limits and tell me what could go wrong in production",
    "log the request id in every line of the payment service and never log card numbers",
    "the parser fails on windows line endings, handle them and add a regression test for it",
    "set up continuous integration that runs lint, types and tests on every push to main",
    "replace the hand written json serializer by the one from the standard library everywhere",
    "add a dark theme to the settings page and remember the choice for the next visit",
    "profile the search endpoint, it takes more than a second when the query has many words",
    "split the user service into reading and writing parts without changing the public interface",
    "implement soft delete for projects and make sure that deleted ones never show up in lists",
    "the memory of the worker grows over night, find the leak and prove that it is gone",
    "document the environment variables of the deployment and what happens when one of them is missing",
    "cherry pick the security fix onto the release branch and run the full test suite there",
    "add a health check that fails when the database cannot be reached for ten seconds",
    "make the error messages of the importer say which row and which column was wrong",
    "generate the api client again from the new schema and keep our custom headers",
    "convert the callbacks in the uploader to async functions, one module at a time please",
    "what is the best way to store money amounts here, integers or the decimal type",
    "the test suite is slow, find the ten slowest tests and tell me why they are",
    "add an audit trail that records who changed a role and what it was before",
    "delete the feature toggle for the new checkout, it has been on for everybody since march",
    "use a connection pool for redis and close it properly when the application shuts down",
    "write a script that copies the production schema without its data into a local database",
    "our english texts are inconsistent, write all buttons in sentence case and check the tooltips",
    "support two factor login with time based codes and backup codes that work only once",
    "the graph flickers when new points arrive, draw it again only when something has changed",
    "add type hints to src/billing/invoice.py and fix the bugs which they bring to light",
    "upgrade the base image because of the openssl advisory and rebuild all services with it",
    "make the import idempotent so that running it twice does not create any customer twice",
    "open a pull request with a description of the change, the risk and how to roll back",
    "continue with step three of the plan and stop before you touch the production settings",
)
"""Fifty prompts of about 18 tokens, as developers write them. The fixed list: changing it changes every number."""

KIND_SHARES: dict[str, int] = {
    "preference": 12, "decision": 14, "guideline": 12, "correction": 6, "anti_pattern": 3, "fact": 16,
    "file_context": 15, "error_pattern": 7, "research": 4, "outcome": 5, "todo": 2, "observation": 2,
    "digest": 1, "identity": 1,
}  # fmt: skip
TEMPLATES: dict[str, tuple[str, ...]] = {
    "preference": ("Prefer {a} over {b} when the {c} is about {d}.", "Write {a} names in {b} style, never {c}."),
    "decision": ("The {a} uses {b} for {c}, because {d} was too slow.", "We keep {a} in {b} and not in {c}."),
    "guideline": ("Always run {a} before {b}, and never skip {c}.", "Every {a} needs a {b} and a test of its {c}."),
    "correction": ("Do not {a} the {b}; use {c} and tell the {d}.", "No, {a} belongs into {b}, not into {c}."),
    "anti_pattern": ("Never {a} a {b} inside {c}: it broke the {d} twice.",),
    "fact": ("The {a} of the {b} lives in {f} and is read by {c}.", "{a} listens on the {b} port and needs {c}."),
    "file_context": ("{f} holds the {a} of the {b}; {c} calls it for every {d}.",),
    "error_pattern": ("When {a} fails with {b}Error in {f}, set {c} and start the {d} again.",),
    "research": ("Compared {a} with {b} for {c}: {d} was twice as fast.",),
    "outcome": ("Moved {a} to {b} in {f}; the {c} tests pass.",),
    "todo": ("Still open: let {a} use the {b} in {f}.",),
    "observation": ("The {a} of {b} took longer than the {c}.",),
    "digest": ("Worked on {a} and {b}, changed {f}, left {c} for later.",),
    "identity": ("This project is a {a} for {b} written with {c}.",),
}  # fmt: skip
_SYLLABLES = [
    "ka",
    "re",
    "mi",
    "to",
    "su",
    "lan",
    "der",
    "ex",
    "pro",
    "ti",
    "vo",
    "ne",
    "qua",
    "li",
    "ar",
    "bo",
    "cen",
    "du",
    "fa",
    "gri",
    "hy",
    "in",
    "jo",
    "ko",
    "lu",
    "mer",
]
_PLAIN_WORDS = 400
_RARE_WORDS = 20_000
_TOPICS = 240
_SPREAD = 0.75
_NOISE_SEED = 7
START_MS = 1_760_000_000_000
STEP_MS = 60_000
ROUND = 500_000
"""So many memories of a store follow one another by a minute, a year nearly; the next ones begin anew, for none is of the future."""
_BATCH = 2000


def vocabulary() -> tuple[str, ...]:
    """Words by how common they are: those of the prompts first, then made-up ones."""
    counted: dict[str, int] = {}
    for word in " ".join(PROMPTS).lower().replace(",", " ").split():
        if word.isalpha() and len(word) > 2:
            counted[word] = counted.get(word, 0) + 1
    real = sorted(counted, key=lambda word: (-counted[word], word))[:_PLAIN_WORDS]
    rare = ("".join(syllables) for syllables in itertools.product(_SYLLABLES, repeat=3))
    return (*real, *itertools.islice((word for word in rare if word not in counted), _RARE_WORDS))


def moment_ms(number: int) -> int:
    """When memory `number` of a store was made."""
    return START_MS + number % ROUND * STEP_MS


class Generator:
    """Makes memories one after the other; the same seed makes the same ones."""

    def __init__(self, *, seed: int = 1) -> None:
        self._random = random.Random(seed)
        self._words = vocabulary()
        # Zipf's law: the n-th word is 1/n times as frequent as the first.
        self._cumulated = list(itertools.accumulate(1 / (rank + 3) for rank in range(len(self._words))))
        self._kinds = KindRegistry()

    def memory(self, number: int, scope: Scope) -> Memory:
        """Memory `number` in `scope`."""
        chance = self._random
        kind = chance.choices(list(KIND_SHARES), list(KIND_SHARES.values()))[0]
        a, b, c, d, tail = chance.choices(self._words, cum_weights=self._cumulated, k=5)
        file = f"src/{chance.choice(self._words[:60])}/{chance.choice(self._words[:900])}.py"
        content = chance.choice(TEMPLATES[kind]).format(a=a, b=b, c=c, d=d, f=file) + f" See {tail} {number}."
        entities = (Entity(kind="file", key=file),) if file in content else ()
        if chance.random() < 0.3:
            entities = (*entities, Entity(kind="symbol", key=f"{b}_{c}"))
        at_ms = moment_ms(number)
        return Memory(
            id=f"mem_{number:016d}",
            kind=kind,
            content=content,
            scope=scope,
            provenance=Provenance(tier=TrustTier.USER, source="session"),
            validity=Validity(valid_from_ms=at_ms),
            created_at_ms=at_ms,
            updated_at_ms=at_ms,
            importance=round(min(1.0, self._kinds.get(kind).importance * chance.uniform(0.7, 1.1)), 3),
            trigger=self.trigger(kind, a, b),
            entities=entities,
            files=tuple(entity.key for entity in entities if entity.kind == "file"),
            error_signature=f"{b}error: {c} #" if kind == "error_pattern" else "",
            tokens=len(content) // 4 + 2,
        )

    def trigger(self, kind: str, a: str, b: str) -> Trigger:
        """A trigger as a memory of `kind` about `a` and `b` may have."""
        chance = self._random
        standing = self._kinds.get(kind).standing
        if standing and chance.random() < 0.06:
            return Trigger(always=True, breadth=3.0)
        if not standing and chance.random() < 0.4:
            return Trigger(objects=(a,))
        picked = dict.fromkeys(chance.choices(ACTIONS, k=chance.choice((1, 1, 2, 3))))
        actions = tuple((action, chance.choice((1.0, 0.67, 0.33))) for action in picked)
        ranked = tuple(sorted(actions, key=lambda pair: -pair[1]))
        objects = (a, b) if chance.random() < 0.6 else ()
        return Trigger(actions=ranked, objects=objects, breadth=float(chance.choice((1, 1, 2, 2, 3))))


def topic_vectors(embedder: Embedder) -> Vectors:
    """What the clusters of the store gather round: real sentences, embedded; shape (their number, dimensions)."""
    maker = Generator(seed=_NOISE_SEED)
    statements = [maker.memory(number, UNIVERSAL).content for number in range(_TOPICS - len(PROMPTS))]
    return embedder.embed([*PROMPTS, *statements])


def clustered(topics: Vectors, count: int, *, seed: int) -> Vectors:
    """Unit vectors near a random topic each, shape (count, dimensions): cosine about 0.8 with their own."""
    chance = np.random.default_rng(seed)
    noise = chance.normal(size=(count, topics.shape[1])).astype(np.float32)
    noise *= _SPREAD / np.linalg.norm(noise, axis=1, keepdims=True)
    vectors = topics[chance.integers(0, len(topics), count)] + noise
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def batches(size: int, scope: Scope, *, seed: int = 1) -> Iterator[list[Memory]]:
    """`size` memories in lists of at most 2000."""
    maker = Generator(seed=seed)
    for start in range(0, size, _BATCH):
        yield [maker.memory(number, scope) for number in range(start, min(size, start + _BATCH))]


def build_store(root: Path, *, scope: Scope, size: int, embedder: Embedder, seed: int = 1) -> None:
    """Write `size` memories of `scope` into the home `root`, through the store's own port."""
    store = open_sqlite_store(Home(root), clock=SystemClock())
    try:
        topics = topic_vectors(embedder)
        for number, memories in enumerate(batches(size, scope, seed=seed)):
            vectors = clustered(topics, len(memories), seed=seed + number)
            adds = [Add(memory=memory) for memory in memories]
            store.apply(adds, vectors=vectors, identity=embedder.identity)
    finally:
        store.close()
