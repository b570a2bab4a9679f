"""Whether injected text reaches the model through Codex. In: the client, the installed `hooks.json`. Out: a result.

Runs `codex exec` once in a throw-away home with the stub model and an exact copy of the user's hooks. Codex itself
decides whether they are trusted: the user's approvals are copied, too, with the path of the copy. The user's files are read, never written;
nothing leaves the machine.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from tacit.errors import HostError
from tacit.hosts.codex.install import STATE, codex_home
from tacit.hosts.install import toml_tables
from tacit.hosts.probe import (
    SEARCH_PATH,
    ProbeResult,
    ProofJob,
    clean_environment,
    judge,
    not_run,
    problem_of,
    run_client,
    scratch,
)

PROVIDER, MODEL = "stub", "gpt-5.4"
PROMPT = "Say hello in one word."
KEY_VARIABLE = "STUB_KEY"
OPTIONS = ("exec", "--json", "--skip-git-repo-check")
BYPASS = "--dangerously-bypass-hook-trust"


def configuration(stub_url: str) -> str:
    """Return a `config.toml` with the stub model at the base URL `stub_url` as the only model."""
    return f"""\
model = "{MODEL}"
model_provider = "{PROVIDER}"
check_for_update_on_startup = false

[analytics]
enabled = false

[model_providers.{PROVIDER}]
name = "{PROVIDER}"
base_url = "{stub_url}/v1"
env_key = "{KEY_VARIABLE}"
wire_api = "responses"
"""


def environment(home: Path, tacit_home: Path, *, search_path: str = SEARCH_PATH) -> dict[str, str]:
    """Return the variables of Codex with a key for the stub model."""
    return {**clean_environment(home, tacit_home, search_path=search_path), KEY_VARIABLE: "dummy"}


def approvals_of(config: Path, hooks: Path) -> Mapping[str, str]:
    """Return the user's approvals of the file `hooks`: the end of each key (`:session_start:0:0`) with its hash.

    Raises:
        HostError: if `config` is malformed.
    """
    text = config.read_text(encoding="utf-8") if config.is_file() else ""
    approved: dict[str, str] = {}
    for key, state in toml_tables.table(toml_tables.read(text, path=config), STATE).items():
        value = toml_tables.find(state, ("trusted_hash",))
        if key.startswith(f"{hooks}:") and isinstance(value, str):
            approved[key.removeprefix(str(hooks))] = value
    return approved


def probe(
    executable: Path,
    *,
    hooks: Path,
    config: Path,
    tacit_home: Path,
    nonce: str,
    launcher: Path,
    search_path: str = SEARCH_PATH,
    timeout_s: float = 60.0,
) -> ProbeResult:
    """Run Codex once and look for `nonce` in what it sends to the model.

    Args:
        executable: the `codex` client.
        hooks: the `hooks.json` that holds our hooks (user or project scope). Read only.
        config: the user's `config.toml`, for the approvals of these hooks. Read only.
        tacit_home: a throw-away Tacit home whose store holds a memory with `nonce` that every session starts with.
            The caller ends the daemon that may have been started for it (`tacit.client.daemon_facts.end_daemon`).
        nonce: letters and digits that occur nowhere else.
        launcher: the launcher that the hooks must call, for the advice.
        search_path: PATH of the client.
        timeout_s: longest wait for the client.
    """
    try:
        content: object = json.loads(hooks.read_text(encoding="utf-8"))
        approved = approvals_of(config, hooks)
    except ValueError:
        return not_run(
            f"{hooks} is not plain JSON, so Codex ignores all of it. Take out comments, trailing commas and a byte order mark."
        )
    except (OSError, HostError) as error:
        return not_run(f"{error} Run `tacit install codex`.")
    copied = json.dumps(content)
    problem = problem_of(copied, file=hooks, launcher=launcher, host="codex")
    if problem is not None:
        return problem
    with scratch() as place:
        copy = place.home / ".codex" / "hooks.json"
        copy.parent.mkdir()
        copy.write_text(copied, encoding="utf-8")
        settings = configuration(place.stub.url)
        for end, trusted_hash in approved.items():
            settings = toml_tables.add(
                settings, (*STATE, f"{copy}{end}"), {"trusted_hash": trusted_hash}, path=config
            )
        (copy.parent / "config.toml").write_text(settings, encoding="utf-8")
        variables = environment(place.home, tacit_home, search_path=search_path)

        def run(*options: str) -> ProbeResult:
            command = [str(executable), *OPTIONS, *options, PROMPT]
            finished = run_client(command, environment=variables, cwd=place.project, timeout_s=timeout_s)
            return judge(finished, place.stub, nonce=nonce, host="Codex")

        result = run()
        if result.ok or not result.requests:
            return result
        place.stub.clear()
        if not run(BYPASS).ok:
            return result
        advice = (
            "The path is sound, but Codex skips the hooks until you trust them: start `codex`, enter `/hooks` and "
            "approve them, or run `tacit install codex --trust-hooks`."
        )
        return replace(result, advice=advice, output_end="")


def prove(job: ProofJob) -> ProbeResult:
    """Run the client with the installed files, and look for the nonce in what it is asked."""
    return probe(
        job.executable,
        hooks=job.file("hooks.json"),
        config=codex_home(job.user_home) / "config.toml",
        tacit_home=job.tacit_home,
        nonce=job.nonce,
        launcher=job.launcher,
        search_path=job.search_path,
    )
