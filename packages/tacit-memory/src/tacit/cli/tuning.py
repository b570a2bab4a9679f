"""`tacit config tune`: fit the levels before a prompt to this store, and the cosine bars to an embedder of the user's own. In: arguments. Out: before and after. Writes only with --apply."""

from __future__ import annotations

from typing import Any

from tacit.cli.connection import ask
from tacit.cli.terminal.output import format_count, print_json, print_line


def tune(bound: float, *, apply: bool, as_json: bool) -> None:
    """Ask the daemon to fit the levels and the similarity bars to this store, and print them before and after. They are kept only with `apply`."""
    answer = ask("POST", "/v1/tuning", {"bound": bound, "apply": apply})
    if as_json:
        print_json(answer)
        return
    print_report(answer)
    print_cosines(answer["cosines"], apply=apply)


def print_cosines(report: dict[str, Any], *, apply: bool) -> None:
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


def print_report(report: dict[str, Any]) -> None:
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
