"""`tune`: fit the threshold of prompts to this store, and the cosine bars to an embedder of the user's own. In: arguments. Out: before and after. Writes only with --apply."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from tacit.cli.terminal.arguments import AsJson


def tune(
    bound: Annotated[
        float,
        typer.Option(
            min=0.01,
            max=0.5,
            help="Largest share of the prompts that deserve nothing that may get something.",
        ),
    ] = 0.1,
    apply: Annotated[bool, typer.Option("--apply", help="Keep the threshold and the bars.")] = False,
    as_json: AsJson = False,
) -> None:
    """Fit the prompt threshold to your own store, and the similarity bars of the preset to your own embedder. Stored only with --apply."""
    from tacit.cli.connection import ask
    from tacit.cli.terminal.output import print_json

    answer = ask("POST", "/v1/tune", {"bound": bound, "apply": apply})
    if as_json:
        print_json(answer)
        return
    print_report(answer)
    print_cosines(answer["cosines"], apply=apply)


def print_cosines(report: dict[str, Any], *, apply: bool) -> None:
    """The similarity bars before and after, for an embedder that Tacit does not ship with."""
    from tacit.cli.terminal.output import format_count, print_line

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
    print_line("Kept for this embedder." if apply else "Nothing was written; `tacit tune --apply` keeps it.")


def print_report(report: dict[str, Any]) -> None:
    """Before and after for people."""
    from tacit.cli.terminal.output import format_count, print_line

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
    print_line(f"  {'':<34}{'before':>8}{'after':>8}")
    rows = (
        ("threshold of prompts", f"{report['before']:.3f}", f"{report['after']:.3f}"),
        ("false alarms among them", f"{report['rate_before']:.0%}", f"{report['rate_after']:.0%}"),
        (
            "of your stored prompts, get something",
            f"{report['handed_before']:.0%}",
            f"{report['handed_after']:.0%}",
        ),
    )
    for name, before, after in rows:
        print_line(f"  {name:<38}{before:>6}{after:>8}")
    if report["judged_useful"] or report["judged_wrong"]:
        print_line(
            f"Of what you judged: {report['useful_kept']} of {report['judged_useful']} useful ones would stay, "
            f"{report['wrong_kept']} of {report['judged_wrong']} wrong ones too."
        )
    if report["applied"]:
        print_line("Written to your settings as recall.thresholds.prompt.", style="green")
    elif report["before"] != report["after"]:
        print_line("Nothing was written; `tacit tune --apply` keeps it.")
