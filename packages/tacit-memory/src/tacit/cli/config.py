"""`tacit config`: get, set, reset, tune.

In: arguments. Out: values with the layer they come from; a changed settings file. Works on the files themselves, so that it
serves while no daemon runs or can run; a running one follows within a second. Only `tune` and `get --agents` ask the daemon.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from tacit.cli.connection import ask, ask_all
from tacit.cli.context import current_context
from tacit.cli.terminal.arguments import AsJson, Here
from tacit.cli.terminal.output import format_count, print_json, print_line, print_rows, print_warning
from tacit.errors import InvalidInput

if TYPE_CHECKING:
    from tacit.config.describe import Described
    from tacit.config.layers import Origin, SettingsReport
    from tacit.config.overrides import SettingsTarget

LEVEL_KEYS = ("recall.level", "recall.thresholds.prompt")
"""Settings that are explained together with the levels and what was measured at them."""
ACTIONS = ("get", "set", "reset", "tune")


def config(
    action: Annotated[
        str,
        typer.Argument(
            metavar="[get|set|reset|tune]",
            help="set takes effect at once; reset lets the layer below decide; tune fits the levels before a prompt to your own store, and the "
            "similarity bars of the preset to your own embedder. Default: list the settings that differ from the defaults.",
            show_default=False,
        ),
    ] = "",
    key: Annotated[
        str,
        typer.Argument(
            help="Dotted name, such as recall.max_items; to get, also a section or nothing.",
            show_default=False,
        ),
    ] = "",
    value: Annotated[
        list[str] | None,
        typer.Argument(
            help="To set: the value. Several values, or one with commas, make a list. null resets it.",
            show_default=False,
        ),
    ] = None,
    why: Annotated[
        bool, typer.Option("--why", help="To get: the value of every layer, and which layer won.")
    ] = False,
    agents: Annotated[
        bool, typer.Option("--agents", help="To get: the agents, and what each overrides.")
    ] = False,
    schema: Annotated[
        bool,
        typer.Option(
            "--schema", help="To get: the JSON schema of a settings file, for editors that check YAML."
        ),
    ] = False,
    everything: Annotated[bool, typer.Option("--all", help="To reset: everything at that place.")] = False,
    user: Annotated[bool, typer.Option("--user", help="For all agents and projects (the default).")] = False,
    agent: Annotated[str, typer.Option("--agent", help="Only for this agent.")] = "",
    project: Annotated[
        bool, typer.Option("--project", help="Only for this folder's project, in your own file.")
    ] = False,
    project_file: Annotated[
        bool,
        typer.Option("--project-file", help="In the project's .tacit/config.yaml, which can only restrict."),
    ] = False,
    apply: Annotated[bool, typer.Option("--apply", help="To tune: keep the levels and the bars.")] = False,
    bound: Annotated[
        float,
        typer.Option(
            help="To tune: largest share of the prompts that deserve nothing that may get something, at the level balanced; "
            "quiet keeps 5/12 of it, eager 25/12.",
        ),
    ] = 0.12,
    cwd: Here = Path(),
    as_json: AsJson = False,
) -> None:
    """Show and change settings, of everything, a project or an agent."""

    def place() -> SettingsTarget:
        return _place(cwd, user=user, agent=agent, project=project, project_file=project_file)

    if value and action != "set":
        raise typer.BadParameter("Only `tacit config set` takes a value.")
    match action:
        case "set":
            if not (key and value):
                raise typer.BadParameter("Name a setting and its value.")
            _set(key, value, place(), agent=agent, cwd=cwd, as_json=as_json)
        case "reset":
            _reset(key, place(), everything=everything, agent=agent, cwd=cwd, as_json=as_json)
        case "tune":
            _tune(bound, apply=apply, as_json=as_json)
        case "get" if agents:
            _list_agents(as_json=as_json)
        case "get" if schema:
            from tacit.config.reference import schema_text

            sys.stdout.write(schema_text())
        case "get" if why:
            _explain(key, agent, cwd, as_json=as_json)
        case "get":
            _get(key, agent, cwd, as_json=as_json)
        case "":
            _list_changed(agent, cwd, as_json=as_json)
        case _:
            raise typer.BadParameter(f"{action!r} is none of {', '.join(ACTIONS)}.")


def _get(key: str, agent: str, cwd: Path, *, as_json: bool) -> None:
    from tacit.config.design_names import own_key

    key = own_key(key)
    report = _report(cwd, agent, warn=not as_json)
    selected = _below(report, key)
    if as_json:
        print_json({name: origins[-1].plain for name, origins in selected.items()})
    elif key in selected:
        print_line(_text(selected[key][-1]))
    else:
        for name, origins in selected.items():
            print_line(f"{name} = {_text(origins[-1])}")


def _set(key: str, value: list[str], place: SettingsTarget, *, agent: str, cwd: Path, as_json: bool) -> None:
    from tacit.config.describe import describe_settings
    from tacit.config.design_names import own_key
    from tacit.config.fields import unknown_setting
    from tacit.config.overrides import file_of, reset_values, set_values

    key = own_key(key)
    about = describe_settings().get(key)
    if about is None and not key.startswith("kinds."):
        raise unknown_setting(key, "settings")
    converted = _value(about, value)
    home = current_context().home
    notes = ()
    if converted is None and (about is None or not about.nullable):
        reset_values(home, place, key=key)
    else:
        notes = set_values(home, place, {key: converted})
    report = _report(cwd, agent)
    origins = report.origins.get(key, ())
    if not notes:
        notes = tuple(
            warning
            for warning in report.warnings
            if warning.note and warning.key == key and key in LEVEL_KEYS
        )
    remarks = [*map(str, notes), *_without_effect(key, converted, report.origins)]
    if as_json:
        print_json({**_facts(key, origins), "file": str(file_of(home, place)), "notes": remarks})
        return
    if origins:
        print_line(f"{key} = {_text(origins[-1])}  ({_where(origins[-1])})")
    for note in remarks:
        print_line(note, style="yellow")
    if origins and not notes and converted is not None and origins[-1].plain != converted:
        print_line(f"It is written, but {_where(origins[-1])} overrides it.", style="yellow")
    if about is not None and about.restart:
        print_line("It takes effect when the daemon restarts: `tacit stop`.", style="yellow")


def _explain(key: str, agent: str, cwd: Path, *, as_json: bool) -> None:
    from tacit.config.describe import describe_settings
    from tacit.config.design_names import own_key
    from tacit.config.fields import allowed_words, settings_by_key
    from tacit.config.layers import LayerName

    key = own_key(key)
    report = _report(cwd, agent, warn=not as_json)
    origins = report.explain(key)
    about = describe_settings()[key]
    levels = _levels(report) if key in LEVEL_KEYS else []
    if as_json:
        measured = {"levels": levels} if key in LEVEL_KEYS else {}
        print_json({**_facts(key, origins), "about": asdict(about), **measured})
        return
    print_line(f"{key} = {_text(origins[-1])}", style="bold")
    print_line(f"{about.about}; {allowed_words(settings_by_key()[key].field)}")
    by_layer = {origin.layer: origin for origin in origins}
    rows = [
        ("->" if by_layer.get(name) is origins[-1] else "", name, _text(by_layer[name]), by_layer[name].place)
        if name in by_layer
        else ("", name, "-", "")
        for name in get_args(LayerName)
        if name in by_layer or name != "safety"
    ]
    print_rows("", ("", "layer", "value", "where"), rows, empty="")
    if about.guidance:
        print_line(about.guidance)
    if levels:
        columns = ("level", "threshold", "precision", "tokens a prompt", "wrongful")
        print_rows("", columns, [_level_texts(level) for level in levels], empty="")


def _list_changed(agent: str, cwd: Path, *, as_json: bool) -> None:
    report = _report(cwd, agent, warn=not as_json)
    changed = {key: report.origins[key] for key in report.changed()}
    if as_json:
        print_json([_facts(key, origins) for key, origins in changed.items()])
        return
    print_rows(
        "",
        ("setting", "value", "shipped", "layer", "where"),
        [
            (key, _text(origins[-1]), _text(origins[0]), origins[-1].layer, origins[-1].place)
            for key, origins in changed.items()
        ],
        empty="All settings have their defaults.",
    )


def _reset(
    key: str, place: SettingsTarget, *, everything: bool, agent: str, cwd: Path, as_json: bool
) -> None:
    from tacit.config.design_names import own_key
    from tacit.config.overrides import reset_values

    if bool(key) == everything:
        raise InvalidInput("Name a setting, or use --all.", hint="`tacit config` lists what is set.")
    old, key = key, own_key(key)
    if key and not key.startswith("kinds."):
        _below(_report(cwd, agent), key)  # raises for a setting that does not exist
    home = current_context().home
    was_reset = sum(reset_values(home, place, key=name) for name in {old, key}) > 0
    origins = _report(cwd, agent).origins.get(key, ())
    if as_json:
        print_json({"reset": was_reset, **(_facts(key, origins) if origins else {})})
    elif not was_reset:
        print_line("No value is set there; nothing was changed.")
    else:
        print_line(f"{key} = {_text(origins[-1])}  ({_where(origins[-1])})" if origins else "Reset.")


def _list_agents(*, as_json: bool) -> None:
    listed: list[dict[str, Any]] = ask_all("/v1/agents", "agents")["agents"]
    if as_json:
        print_json(listed)
        return
    rows = [
        (
            row["name"],
            "override" if row["memory_injection_overridden"] else "default",
            ", ".join(row["overridden"]),
        )
        for row in listed
    ]
    print_rows(
        "",
        ("agent", "injection", "of its own"),
        rows,
        empty="No agent has been seen yet, and none has settings.",
    )


# --- tune


def _tune(bound: float, *, apply: bool, as_json: bool) -> None:
    """Ask the daemon to fit the levels and the similarity bars to this store, and print them before and after. They are kept only with `apply`."""
    answer = ask("POST", "/v1/tuning", {"bound": bound, "apply": apply})
    if as_json:
        print_json(answer)
        return
    print_levels(answer)
    _print_cosines(answer["cosines"], apply=apply)


def _print_cosines(report: dict[str, Any], *, apply: bool) -> None:
    """Print the similarity bars before and after, for an embedder that Tacit does not ship with; nothing if none was fitted."""
    if not report["pairs"]:
        return
    pairs = format_count(report["pairs"], "pair", "pairs")
    if not report["bars"]:
        print_line(
            f"{report['embedder']}: {pairs} of a prompt and a memory are too few for its bars.",
            style="yellow",
        )
        return
    print_line(f"{report['embedder']}: {pairs} of a prompt and a memory, nearly all of them unrelated.")
    print_line(f"  {'bar':<40}{'share':>8}{'before':>8}{'after':>8}")
    for bar in report["bars"]:
        print_line(f"  {bar['setting']:<40}{bar['share']:>8.2%}{bar['before']:>8.3f}{bar['after']:>8.3f}")
    print_line(
        "Kept for this embedder." if apply else "Nothing was written; `tacit config tune --apply` keeps it."
    )


def print_levels(report: dict[str, Any]) -> None:
    """Print each level before and after fitting, with its false alarms."""
    how = (
        "each of them asked in a project that it was not written in"
        if report["paired"] == "projects"
        else "each of them with the files and calls of another prompt"
    )
    print_line(f"Looked at {format_count(report['pairs'], 'prompt', 'prompts')}, {how}.")
    print_line("No memory fits there, generic rules aside: what they still get is a false alarm.")
    if report["note"]:
        print_line(f"Nothing is proposed: {report['note']}.", style="yellow")
        return
    print_line(f"  {'':<10}{'threshold':>18}{'false alarms':>16}{'get something':>18}{'tokens':>9}")
    for level in report["levels"]:
        print_line(_level_row(level, in_use=level["name"] == report["level"]))
    print_line("False alarms are among those prompts; `get something` and tokens are of your stored prompts.")
    if report["judged_useful"] or report["judged_wrong"]:
        used = next(level for level in report["levels"] if level["name"] == report["level"])
        print_line(
            f"Of what you judged, at the level {used['name']}: {used['useful_kept']} of {report['judged_useful']} useful "
            f"ones would stay, {used['wrong_kept']} of {report['judged_wrong']} wrong ones too."
        )
    if report["explicit"] is not None:
        print_line(
            f"recall.thresholds.prompt = {report['explicit']} ({report['explicit_place']}) wins over every level; "
            "`tacit config reset recall.thresholds.prompt` lets the level decide.",
            style="yellow",
        )
    if report["applied"]:
        print_line("Kept in your home; `tacit config set recall.level` chooses one.", style="green")
    elif any(level["before"] != level["after"] for level in report["levels"]):
        print_line("Nothing was written; `tacit config tune --apply` keeps it.")


def _level_row(level: dict[str, Any], *, in_use: bool) -> str:
    threshold = f"{level['before']:.3f} -> {level['after']:.3f}"
    alarms = f"{level['rate_before']:.0%} -> {level['rate_after']:.0%}"
    handed = f"{level['handed_before']:.0%} -> {level['handed_after']:.0%}"
    mark = "*" if in_use else ""
    return f"  {level['name'] + mark:<10}{threshold:>18}{alarms:>16}{handed:>18}{level['tokens_after']:>9.0f}"


# --- parts


def _root(cwd: Path) -> Path:
    from tacit.session.projects import identify_project

    return Path(identify_project(cwd.absolute()).root)


def _report(cwd: Path, agent: str, *, warn: bool = False) -> SettingsReport:
    from tacit.config.layers import read_settings

    report = read_settings(current_context().home, _root(cwd), agent=agent)
    for warning in (
        report.warnings if warn else ()
    ):  # what stands in a file and does not hold looks like a default else
        print_warning(str(warning))
    return report


def _place(cwd: Path, *, user: bool, agent: str, project: bool, project_file: bool) -> SettingsTarget:
    from tacit.config.overrides import SettingsTarget

    if sum((user, bool(agent), project, project_file)) > 1:
        raise InvalidInput(
            "--user, --agent, --project and --project-file exclude each other.", hint="Give one of them."
        )
    if agent:
        return SettingsTarget(holder="agents", name=agent)
    if project or project_file:
        return SettingsTarget(holder="projects" if project else "project_file", name=str(_root(cwd)))
    return SettingsTarget()


def _below(report: SettingsReport, key: str) -> dict[str, tuple[Origin, ...]]:
    from tacit.config.fields import unknown_setting

    selected = {
        name: origins
        for name, origins in report.origins.items()
        if not key or name == key or name.startswith(f"{key}.")
    }
    if not selected and key != "kinds":
        raise unknown_setting(key, "settings")
    return selected


def _value(about: Described | None, words: Sequence[str]) -> Any:
    """Convert the words that the user typed to the type of the setting. Words that do not fit stay as they are; the check of the settings refuses them."""
    from tacit.config.yaml_file import parse_settings

    if about is not None and about.type in ("string", "choice") and len(words) == 1:
        return words[0]
    if about is not None and about.type == "list" and not (len(words) == 1 and words[0].startswith("[")):
        items = [item.strip() for word in words for item in word.split(",")]
        return [item for item in items if item]
    if len(words) != 1:
        return list(words)
    return parse_settings(f"value: {words[0]}", place=f"`{words[0]}`").values["value"]


def _text(origin: Origin) -> str:
    plain = origin.plain
    return plain if isinstance(plain, str) and plain else json.dumps(plain, ensure_ascii=False)


def _where(origin: Origin) -> str:
    return f"{origin.layer}: {origin.place}"


def _without_effect(key: str, value: object, origins: Mapping[str, Sequence[Origin]]) -> tuple[str, ...]:
    """Return a remark if the value that was set has no effect because another setting is off; () = it has."""
    from tacit.config.describe import AMBIENT, NEEDS_AMBIENT

    if key not in NEEDS_AMBIENT or not value or origins[AMBIENT][-1].plain:
        return ()
    return (f"It pins nothing until {AMBIENT} is on: `tacit config set {AMBIENT} true`.",)


def _facts(key: str, origins: Sequence[Origin]) -> dict[str, Any]:
    layers = [{"layer": origin.layer, "place": origin.place, "value": origin.plain} for origin in origins]
    return {
        "key": key,
        **({"value": layers[-1]["value"], "layer": layers[-1]["layer"]} if layers else {}),
        "layers": layers,
    }


def _levels(report: SettingsReport) -> list[dict[str, Any]]:
    """Return the levels of this home with what was measured at them; [] = the preset has a threshold of its own."""
    from tacit.config.levels import levels_in_use, uses_levels

    if not uses_levels(report.settings.preset):
        return []
    in_use = levels_in_use(report.settings.embedder, current_context().home)
    return [{"name": name, **asdict(level), "tuned": in_use.tuned} for name, level in in_use.levels.items()]


def _level_texts(level: dict[str, Any]) -> tuple[str, ...]:
    precision = "-" if level["precision"] is None else f"{level['precision']:.2f}"
    wrongful = "-" if level["wrongful"] is None else f"{level['wrongful']:.0%}"
    tokens = "-" if level["tokens"] is None else f"{level['tokens']:.0f}"
    name = f"{level['name']} (tuned)" if level["tuned"] else level["name"]
    return (name, f"{level['threshold']:.4f}", precision, tokens, wrongful)
