"""A language model of the user's own: it writes up sessions, and names the memories that are needed next. It is optional."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath
from typing import TYPE_CHECKING, Protocol

from tacit.frozen import frozen

if TYPE_CHECKING:
    from tacit.config.settings import WriterSettings

HEADLESS = "TACIT_HEADLESS"
"""Variable that a headless run of a host's client carries. Hook client and plugin exit at once where it is set."""
SCRATCH_PREFIX = "tacit-writer-"
"""How the name of a headless run's temporary folder begins; the run works in its subfolder `work`."""


def is_headless_folder(cwd: str) -> bool:
    """Whether a session in `cwd` is a headless run of a writer. Nothing is learned from it."""
    return any(part.startswith(SCRATCH_PREFIX) for part in PurePath(cwd).parts[-2:])


@frozen
class WriterRequest:
    """A request to a writer's language model: instructions, text, and the form of the answer.

    Attributes:
        system: fixed instructions. A host's command line may show them to other programs of the same user.
        user: the text to work on.
        most_output_tokens: limit for the answer, where the provider has such a switch.
        schema: JSON schema of the answer, an object at the top; None = the answer is plain text.
        stable_chars: so many characters at the beginning of `user` are the same in the requests that follow, for a provider that must
            be told what to cache.
    """

    system: str
    user: str
    most_output_tokens: int
    schema: Mapping[str, object] | None = None
    stable_chars: int = 0


@frozen
class WriterAnswer:
    """The answer of a writer's language model, and the tokens it cost.

    Attributes:
        text: never empty; with a schema, the text of a JSON object that has the schema's required fields. Their values are unchecked.
        model: model that answered.
        tokens_in: tokens read, cached ones too; 0 = not told.
        tokens_out: tokens written; 0 = not told.
    """

    text: str
    model: str
    tokens_in: int = 0
    tokens_out: int = 0


class Writer(Protocol):
    """A client of one language model that writes up sessions. Every text is redacted before it leaves the process."""

    @property
    def name(self) -> str:
        """Provider and model, for provenance: `claude:claude-haiku-4-5`."""
        ...

    def write(self, request: WriterRequest) -> WriterAnswer:
        """Answer `request`. Blocks, at most for the timeout the writer was made with. Safe to call from several threads.

        Lone surrogates and NUL in the texts are tolerated.

        Raises:
            ProviderError: its `reason` says what failed: "missing", "not logged in", "timed out", "refused" or "garbage".
        """
        ...

    def cancel(self) -> None:
        """Abort the requests that run now, if the provider can; their `write` then raises ProviderError."""
        ...

    def close(self) -> None:
        """Release connections; the next request opens new ones."""
        ...


class WriterFactory(Protocol):
    """A function that builds a writer from its settings, the API key and the environment, without calling the model.

    Another package registers one as an entry point of `tacit.writers`.
    """

    def __call__(self, settings: WriterSettings, *, api_key: str, environ: Mapping[str, str]) -> Writer:
        """Return a writer without calling the model.

        `api_key` is the value of `settings.api_key_env`, or ""; `environ` is what a child process inherits.

        Raises:
            ProviderError: if it cannot be used as configured.
        """
        ...
