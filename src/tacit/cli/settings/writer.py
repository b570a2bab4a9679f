"""Whether a coding agent's command line may write up sessions: asked once, at `tacit install`. In: hosts, a flag. Out: a setting."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

KEY = "capture.extractor.provider"
OF_HOST = {"claude-code": "claude", "codex": "codex", "gemini": "gemini"}
"""Which provider a host's command line is; OpenCode has no small model of its own and is set by hand."""
TITLES = {"claude": "Claude Code", "codex": "Codex", "gemini": "Gemini CLI"}


def settle_writer(hosts: Sequence[str], *, named: str) -> str:
    """Set who writes up sessions; what is to be said of it, or "".

    Args:
        hosts: hosts that were installed, the first one is offered.
        named: what the user named: a provider, or "off"; "" = ask where somebody can answer and nothing is set yet.

    Raises:
        InvalidSetting: if there is no such provider.
    """
    from tacit.cli.context import current_context
    from tacit.cli.terminal.interaction import agreed
    from tacit.config.layers import read_settings
    from tacit.config.overrides import SettingsTarget, set_values

    place = current_context()
    provider = named
    if not provider:
        offered = next((OF_HOST[host] for host in hosts if host in OF_HOST), "")
        origins = read_settings(place.home, None).origins.get(KEY, ())
        settled = any(one.layer != "default" for one in origins)
        if not offered or settled or not (place.interactive and place.user_speaks):
            return ""
        provider = (
            offered if agreed(_question(offered), yes=False, unattended=False, default=False) else "off"
        )
    set_values(place.home, SettingsTarget(), {KEY: provider})
    if provider == "off":
        return f"Sessions are not sent to a model. `tacit config set {KEY} claude` changes that."
    said = f"{TITLES.get(provider, provider)} writes up sessions that end; `tacit learn --dry-run` shows what is sent."
    return f"{said} Restart a running daemon with `tacit stop`."


def _question(provider: str) -> str:
    from tacit.config.settings import WriterSettings

    usual = WriterSettings()
    return (
        f"May {TITLES[provider]} write up finished sessions for Tacit, with your login and a small model? That is one request a "
        f"session, at most {usual.tokens_per_session:,} input tokens, and at most {usual.tokens_per_day:,} a day. Redacted text of "
        "the session and memories of its project are sent, nothing else."
    )
