"""Commands that set Tacit up: install uninstall init.

In: arguments, the hosts on this machine. Out: files of hosts (planned, shown, agreed to, then written whole), imported
rule files, learned transcripts. Never writes before it was agreed to.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.cli.connection import ask, ask_all
from tacit.cli.context import current_context
from tacit.cli.maintenance.learn import offer_write_up
from tacit.cli.terminal.arguments import AsJson, Here, Yes
from tacit.cli.terminal.interaction import Progress, agreed, confirm
from tacit.cli.terminal.output import (
    format_count,
    format_size,
    print_json,
    print_line,
    print_rows,
    shorten_line,
)
from tacit.errors import NotFound
from tacit.hosts.registry import BUILT_IN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tacit.hosts.install.files import FileEdit, InstallPlan

MOST_DIFF_LINES = 12
MOST_RULES_SHOWN = 40
"""The most statements of one rule file that are shown before the user is asked."""

NEXT_STEPS = """
Installed. What happens next:
1. Restart your agent: an agent that was running does not have Tacit yet.
2. In your project, run `tacit init`: it takes in CLAUDE.md, AGENTS.md and the like as your rules.
3. Work as always. Say "remember that ...", and the next session knows it.
4. `tacit status` shows whether it works, `tacit ui` what it knows and why it spoke.
   `tacit doctor` checks that a memory reaches the agent."""
"""What `tacit install` ends with."""

WRITER_SETTING = "capture.extractor.provider"
WRITER_TITLES = {host.writer: host.title for host in BUILT_IN.values() if host.writer}
"""The hosts whose command line can write up sessions. OpenCode has no small model of its own and must be set by hand."""


Hosts = Annotated[
    list[str] | None,
    typer.Argument(
        help=f"Coding agents ({', '.join(BUILT_IN)}) and MCP clients (windsurf, cline, zed, vscode, "
        "jetbrains, claude-desktop); default: all that are found.",
        show_default=False,
    ),
]
InProject = Annotated[
    bool,
    typer.Option("--project", help="Only for this folder's project, in files that a team can share."),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show every line, and write nothing.")]


def install(
    host: Hosts = None,
    project: InProject = False,
    yes: Yes = False,
    dry_run: DryRun = False,
    writer: Annotated[
        str,
        typer.Option(
            "--writer",
            help="Client whose model extracts memories from finished sessions: claude, codex, gemini, or off. Default: ask; without a terminal or with --yes, as it is.",
        ),
    ] = "",
    trust_hooks: Annotated[
        bool,
        typer.Option(
            "--trust-hooks", help="Approve Tacit's hooks in Codex' settings, instead of with /hooks in Codex."
        ),
    ] = False,
    allow_tools: Annotated[
        bool | None,
        typer.Option(
            "--allow-tools/--no-allow-tools",
            help="Let Claude Code and Gemini CLI call memory_get and memory_add without asking you, by a rule in their settings, or take that "
            "rule out. Default: ask; without a terminal or with --yes, as it is.",
        ),
    ] = None,
    cwd: Here = Path(),
    as_json: AsJson = False,
) -> None:
    """Connect the coding agents and MCP clients on this machine. Shows what it writes and asks once."""
    from tacit.daemon.launcher import launcher_problem
    from tacit.hosts.install import installed, plan, switched_off
    from tacit.hosts.install.clients import detect, found_clients

    place = current_context()
    hosts_found = {program.name: program for program in detect(place.user_home, place.search_path)}
    names = tuple(dict.fromkeys(host or (*hosts_found, *found_clients(place.user_home, in_project=project))))
    if not names:
        raise NotFound(
            "No coding agent was found on this machine.",
            hint=f"Install one, or name one to write its files anyway: `tacit install {next(iter(BUILT_IN))}`.",
        )
    root = _project_root(cwd) if project else None

    def planned(*, allow: bool | None) -> list[InstallPlan]:
        return [
            plan(
                name,
                user_home=place.user_home,
                project_root=root,
                home=place.home,
                trust=trust_hooks,
                allow=allow,
            )
            for name in names
        ]

    plans = planned(allow=allow_tools)
    if allow_tools is None and not (yes or dry_run or as_json) and place.interactive and place.user_speaks:
        plans = _offer_permission(plans, planned(allow=True))
    versions = {name: hosts_found[name].version if name in hosts_found else "" for name in names}
    if not as_json:
        for host_plan in plans:
            _show(host_plan, version=versions[host_plan.host], whole=dry_run)
    written = False
    if not dry_run:
        stale = place.home.launcher.exists() and bool(launcher_problem(place.home))
        written = _carry_out(plans, question="Write these files?", yes=yes, launcher=True)
        if stale and not as_json:
            print_line(f"Renewed the launcher {place.home.launcher}.")
    settled = (
        "" if dry_run or project or ((as_json or yes) and not writer) else settle_writer(names, named=writer)
    )
    if settled and not as_json:
        print_line(settled)
    here = root or _project_root(cwd)
    waiting = {
        name: " ".join(switched_off(name, user_home=place.user_home, project_root=here)) for name in names
    }
    for name in () if dry_run else names:
        status = installed(name, user_home=place.user_home, project_root=root, home=place.home)
        waiting[name] = " ".join(filter(None, (waiting[name], status.waiting)))
    if as_json:
        report = _report(plans, versions=versions, written=written)
        for told in report["hosts"]:
            told["waiting"] = waiting.get(told["host"], "")
        print_json(report)
    elif written:
        print_line(NEXT_STEPS)
    for sentence in () if as_json else filter(None, waiting.values()):
        print_line(f"! {sentence}", style="yellow")


def uninstall(
    host: Hosts = None,
    project: InProject = False,
    yes: Yes = False,
    dry_run: DryRun = False,
    cwd: Here = Path(),
    as_json: AsJson = False,
) -> None:
    """Remove Tacit from the agents' files. Memories stay.

    To remove all of it, go on with `tacit stop`, delete the folder ~/.tacit, and `uv tool uninstall tacit-memory`.
    """
    from tacit.hosts.install import uninstall as plan_removal
    from tacit.hosts.install.clients import clients

    place = current_context()
    root = _project_root(cwd) if project else None
    plans = [
        plan_removal(name, user_home=place.user_home, project_root=root, home=place.home)
        for name in dict.fromkeys(host or (*BUILT_IN, *clients(in_project=project)))
    ]
    # Without names, show only hosts with files of Tacit.
    plans = [host_plan for host_plan in plans if host or host_plan.edits or host_plan.notes]
    if not as_json:
        for host_plan in plans:
            _show(host_plan, version="", whole=dry_run)
    written = False
    if not dry_run:
        written = _carry_out(plans, question="Change these files?", yes=yes, launcher=False)
    if as_json:
        print_json(_report(plans, versions={}, written=written))
    elif not dry_run:
        print_line(
            f"\nYour memories stay in {place.home.root}. To remove them and the program: `tacit stop`, delete that folder, "
            "`uv tool uninstall tacit-memory`."
        )


def _offer_permission(plans: list[InstallPlan], permitting: list[InstallPlan]) -> list[InstallPlan]:
    """Show the rules that `permitting` would write beyond `plans`, and ask for consent; return the plans that the user chose."""
    from tacit.hosts.install import asking_hosts

    shown: dict[str, str] = {}
    for plan, permits in zip(plans, permitting, strict=True):
        without = {edit.path: edit.after for edit in plan.edits}
        for edit in permits.edits:
            lines = _difference(replace(edit, before=without.get(edit.path, edit.before)), whole=True)
            if lines:
                title = asking_hosts()[plan.host]
                shown[title] = names = " and ".join(permits.permits)
                print_line(
                    f"{title} asks you before each call of a memory tool. With this in {edit.path} it does not ask before {names}:"
                )
                for line in lines:
                    print_line(f"          {line}", style="dim")
    names = max(shown.values(), key=len, default="")
    question = f"Shall {' and '.join(shown)} not ask before {names}? They read memories and note new ones, which `tacit undo` takes back."
    return permitting if shown and agreed(question, yes=False, unattended=False) else plans


def _project_root(cwd: Path) -> Path:
    from tacit.session.projects import identify_project

    return Path(identify_project(str(cwd.absolute())).root)


def _carry_out(plans: list[InstallPlan], *, question: str, yes: bool, launcher: bool) -> bool:
    """Ask for consent, then write the plans, and with `launcher` the launcher; return whether any file of a host was written."""
    from tacit.hosts.install.files import apply

    changing = [plan for plan in plans if any(edit.changes for edit in plan.edits)]
    if changing:
        confirm(question, yes=yes)
    if launcher:
        from tacit.daemon.launcher import write_launcher

        write_launcher(current_context().home)
    for plan in changing:
        apply(plan)
    return bool(changing)


def _show(plan: InstallPlan, *, version: str, whole: bool) -> None:
    print_line(f"{plan.host} {version}".rstrip(), style="bold")
    edits = [edit for edit in plan.edits if edit.changes]
    for edit in edits:
        print_line(f"  {_word(edit):<7} {edit.path}  {edit.why}")
        for line in _difference(edit, whole=whole):
            print_line(f"          {line}", style="dim")
    if not edits:
        print_line("  nothing to do")
    for note in plan.notes:
        print_line(f"  {note}", style="dim")


def _word(edit: FileEdit) -> str:
    if edit.before is None:
        return "create"
    return "delete" if edit.after is None else "change"


def _difference(edit: FileEdit, *, whole: bool) -> list[str]:
    """Return only the changed lines of an edit: the lines around them are the user's, and may hold keys. [] for our own record."""
    from difflib import unified_diff

    if edit.path.name == "installs.json":
        return []
    before, after = (edit.before or "").splitlines(), (edit.after or "").splitlines()
    lines = list(unified_diff(before, after, n=0, lineterm=""))[2:]
    # A line of the user's that only gains or loses its comma is not ours to show.
    stripped = [line.rstrip(",") for line in lines]
    lines = [
        line
        for line, bare in zip(lines, stripped, strict=True)
        if not line.startswith("@@") and f"{'+' if line[0] == '-' else '-'}{bare[1:]}" not in stripped
    ]
    if whole or len(lines) <= MOST_DIFF_LINES:
        return lines

    added = sum(line.startswith("+") for line in lines)
    return [
        f"{format_count(added, 'line', 'lines')} added, {len(lines) - added} removed (--dry-run shows them)"
    ]


def _report(plans: list[InstallPlan], *, versions: dict[str, str], written: bool) -> dict[str, Any]:
    return {
        "written": written,
        "hosts": [
            {
                "host": plan.host,
                "version": versions.get(plan.host, ""),
                "files": [
                    {"path": str(edit.path), "change": _word(edit), "why": edit.why}
                    for edit in plan.edits
                    if edit.changes
                ],
                "notes": list(plan.notes),
            }
            for plan in plans
        ],
    }


def init(
    yes: Yes = False,
    backfill: Annotated[
        bool | None,
        typer.Option("--backfill/--no-backfill", help="Learn from past transcripts. Default: ask."),
    ] = None,
    join: Annotated[
        bool,
        typer.Option(
            "--join",
            help="Only share memories with another folder of the same git remote, or take over those of the folder that this one was before it was renamed.",
        ),
    ] = False,
    separate: Annotated[
        bool,
        typer.Option(
            "--separate",
            help="Only make this folder a project of its own, even if others have the same git remote. Undoes --join.",
        ),
    ] = False,
    cwd: Here = Path(),
    as_json: AsJson = False,
) -> None:
    """Take in this project's rules; offer to learn from past sessions.

    Reads rule files, decision records and manifests. Shows what the rule files hold and asks once whether they are your own rules. README, manifests and commits are found when asked
    for; decision records wait in `tacit review`.
    """
    folder = str(cwd.absolute())
    if join and separate:
        raise typer.BadParameter("Use --join or --separate.")
    if join:
        _join(folder, yes=yes, as_json=as_json)
    elif separate:
        _separate(folder, as_json=as_json)
    else:
        _take_in(folder, backfill=backfill, yes=yes, as_json=as_json)


def _take_in(folder: str, *, backfill: bool | None, yes: bool, as_json: bool) -> None:
    notice = _settle_related(folder)
    users = current_context().user_speaks
    confirmed = users and _takes_rules(folder, yes=yes, quiet=as_json)
    imported = ask("POST", "/v1/projects", {"cwd": folder, "confirmed": confirmed})
    past = ask_all("/v1/transcripts", "transcripts", {"cwd": folder})["transcripts"]
    if not as_json:
        rows = [(f["path"], str(f["memories"]), f["status"]) for f in imported["files"]]
        print_rows(
            "",
            ("file", "memories", "status"),
            rows,
            empty="No rule files here (CLAUDE.md, AGENTS.md, ...).",
        )
        for file in imported["files"]:
            if file["left_out"]:
                reasons = ", ".join(dict.fromkeys(file["left_out"]))
                print_line(f"{len(file['left_out'])} left out: {reasons}, {file['path']}", style="yellow")
        imported_memories: list[dict[str, Any]] = [
            change["memory"] for change in imported["changes"] if change.get("memory")
        ]
        _tell_what_others_wrote(imported_memories, confirmed=confirmed)
    report: dict[str, int] | None = None
    if backfill and not users:
        current_context().require_user("learn from past sessions, since they count as your words")
    if past and users and backfill is not False:
        sessions = sum(transcript["sessions"] for transcript in past)
        size_bytes = sum(transcript["size_bytes"] for transcript in past)
        hosts = ", ".join(sorted({transcript["host"] for transcript in past}))
        question = (
            f"Learn from {sessions} past sessions of this project ({hosts}, {format_size(size_bytes)})? "
            "They stay on this machine, and secrets are removed."
        )
        if agreed(question, yes=yes or bool(backfill), unattended=False):
            write_up = bool(ask("GET", "/v1/status")["extractor"])
            report = _backfill(folder, past, write_up=write_up, quiet=as_json)
            if write_up:
                offer_write_up(yes=False, quiet=as_json)
    if as_json:
        print_json({**imported, "transcripts": past, "backfill": report, "notice": notice})
        return
    if report is not None:
        learned = f"{format_count(report['added'] + report['superseded'])}, {report['merged']} known already"
        print_line(f"Learned {learned}." + (f" {report['failed']} failed." if report["failed"] else ""))
    elif past:
        print_line(f"{len(past)} past transcripts were not read: `tacit init --backfill` learns from them.")
    if notice:
        print_line(f"! {notice}", style="yellow")
    print_line("`tacit list` shows the memories here, `tacit recall` the start pack of a session.")


def _tell_what_others_wrote(memories: list[dict[str, Any]], *, confirmed: bool) -> None:
    """Print what of the imported statements waits for the user, and what is found only on demand."""
    if any(memory["status"] == "quarantined" for memory in memories):
        hint = "" if confirmed else " `tacit init` in your own terminal accepts the rule files as yours."
        print_line(f"Statements of others wait for you in `tacit review`.{hint}", style="yellow")
    if any(memory["status"] == "active" and memory["provenance"]["tier"] == "import" for memory in memories):
        print_line(
            "Facts from README, manifests and commits are found on demand; no session starts with them."
        )


def _settle_related(folder: str) -> str:
    """If the folder may belong to a known project, ask whether it shares those memories, and store the answer. Return the notice if nobody can be asked; else ""."""
    notice: str = ask("GET", "/v1/projects", {"cwd": folder, "limit": 1})["here"]["notice"]
    if not (notice and current_context().interactive and current_context().user_speaks):
        return notice
    print_line(notice)
    joins = agreed("Share those memories with this folder?", yes=False, unattended=False, default=False)
    ask("PUT", "/v1/projects", {"cwd": folder, "joined": joins})
    return ""


def _join(folder: str, *, yes: bool, as_json: bool) -> None:
    for related in ask("GET", "/v1/projects", {"cwd": folder, "limit": 1})["here"]["related"]:
        if not as_json:
            print_line(related["text"].partition(" `tacit")[0])
        confirm("Share those memories with this folder?", yes=yes, default=False)
    joined = ask("PUT", "/v1/projects", {"cwd": folder, "joined": True})
    if as_json:
        print_json(joined)
        return
    shared = ", ".join(joined["project"]["folders"])
    print_line(f"{joined['project']['name']} now shares its memories: {shared}.")


def _separate(folder: str, *, as_json: bool) -> None:
    separated = ask("PUT", "/v1/projects", {"cwd": folder, "joined": False})
    if as_json:
        print_json(separated)
        return
    print_line(f"{separated['project']['root']} is now a separate project. `tacit init --join` undoes this.")


def _takes_rules(folder: str, *, yes: bool, quiet: bool) -> bool:
    """Show the statements that the rule files would add, and return whether the user takes them as their own rules. Nothing is stored."""
    preview = ask("POST", "/v1/projects", {"cwd": folder, "dry_run": True})
    memories: list[dict[str, Any]] = [change["memory"] for change in preview["changes"]]
    if not memories:
        return True
    if not quiet:
        for path in dict.fromkeys(memory["provenance"]["source"] for memory in memories):
            print_line(path, style="bold")
            mine = [memory for memory in memories if memory["provenance"]["source"] == path]
            for memory in mine[:MOST_RULES_SHOWN]:
                print_line(f"  {shorten_line(memory['content'], 110)}")
            if len(mine) > MOST_RULES_SHOWN:
                print_line(f"  ... and {len(mine) - MOST_RULES_SHOWN} more", style="dim")
    question = (
        f"Take {format_count(len(memories), 'statement', 'statements')} of these files as your own rules?"
    )
    return agreed(question, yes=yes, unattended=True)


def _backfill(folder: str, past: list[dict[str, Any]], *, write_up: bool, quiet: bool) -> dict[str, int]:
    """Have the daemon learn from each transcript, one per request, so that an interruption loses at most one; return the counts of changes."""
    totals: Counter[str] = Counter(dict.fromkeys(("added", "merged", "superseded", "skipped", "failed"), 0))
    with Progress("learning from transcripts", quiet=quiet) as progress:
        for done, transcript in enumerate(past):
            progress.update(done, len(past))
            body = {"cwd": folder, "paths": [transcript["path"]], "write_up": write_up}
            report = ask("POST", "/v1/transcripts", body)
            totals.update({name: value for name, value in report.items() if isinstance(value, int)})
    return dict(totals)


def settle_writer(hosts: Sequence[str], *, named: str) -> str:
    """Set the language model that writes up sessions, asking the user if needed; return a message for them, "" = nothing was set.

    The question is asked once, at `tacit install`.

    Args:
        hosts: hosts that were installed; the first one is offered.
        named: what the user named: a provider, or "off"; "" = ask if somebody can answer and nothing is set yet.

    Raises:
        InvalidSetting: if there is no such provider.
    """
    from tacit.config.layers import read_settings
    from tacit.config.overrides import SettingsTarget, set_values

    place = current_context()
    provider, offered = named, ""
    if not provider:
        offered = next(
            (BUILT_IN[host].writer for host in hosts if host in BUILT_IN and BUILT_IN[host].writer), ""
        )
        origins = read_settings(place.home, None).origins.get(WRITER_SETTING, ())
        settled = any(origin.layer != "default" for origin in origins)
        if not offered or settled or not (place.interactive and place.user_speaks):
            return ""
        provider = (
            offered if agreed(_question(offered), yes=False, unattended=False, default=False) else "off"
        )
    set_values(place.home, SettingsTarget(), {WRITER_SETTING: provider})
    if provider == "off":
        return f"Sessions are not sent to a model. `tacit config set {WRITER_SETTING} {offered or 'claude'}` changes that."
    message = f"{WRITER_TITLES.get(provider, provider)} writes up sessions that end; `tacit sessions --write-up --dry-run` shows what is sent."
    return f"{message} Restart a running daemon with `tacit stop`."


def _question(provider: str) -> str:
    from tacit.config.settings import WriterSettings

    usual = WriterSettings()
    return (
        f"May {WRITER_TITLES[provider]} write up finished sessions for Tacit, with your login and a small model? That is one request a "
        f"session, at most {usual.tokens_per_session:,} input tokens, and at most {usual.tokens_per_day:,} a day. Redacted text of "
        "the session and memories of its project are sent, nothing else."
    )
