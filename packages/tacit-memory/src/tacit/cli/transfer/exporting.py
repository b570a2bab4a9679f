"""`tacit export`: everything as JSON lines, without loss, or as Markdown to read and edit. Out: a private file, or standard output."""

from __future__ import annotations

import enum
import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from tacit.cli.connection import ask
from tacit.cli.context import current_context
from tacit.cli.terminal.arguments import AsJson, Here
from tacit.cli.terminal.interaction import Progress
from tacit.cli.terminal.output import format_count, print_json, print_line, print_warning
from tacit.errors import InvalidInput

PARTIAL = (
    "This export does not prove to be yours, so every memory that is restricted or belongs to one session is left out."
    " Export in an interactive terminal, or with TACIT_TOKEN (`tacit token create`), for everything."
)


class Format(enum.StrEnum):
    """The file format of an export."""

    jsonl = "jsonl"
    markdown = "markdown"


def export(
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="A file that does not exist yet; without it, standard output."),
    ] = None,
    form: Annotated[
        Format,
        typer.Option("--format", help="jsonl = everything, without loss; markdown = to read and edit."),
    ] = Format.jsonl,
    here: Annotated[
        bool, typer.Option("--here", help="Only memories visible from the folder, not the whole store.")
    ] = False,
    teams: Annotated[
        bool,
        typer.Option(
            "--teams",
            help="Instead: everything that the server holds about you in your teams, as JSON: memberships, shared memories, requests.",
        ),
    ] = False,
    cwd: Here = Path(),
    as_json: AsJson = False,
) -> None:
    """Export memories. `tacit import` reads both formats."""
    from tacit.app.wiring import open_engine
    from tacit.model.memory import Speaker

    if as_json and output is None:
        raise InvalidInput("--json tells what was written to a file.", hint="Name one with --output.")
    if teams:
        _export_teams(output, as_json=as_json)
        return
    speaker = Speaker.USER if current_context().user_speaks else Speaker.AGENT
    if speaker is Speaker.AGENT:
        print_warning(PARTIAL)
    engine = open_engine(current_context().home.root)
    try:
        scope = engine.visible(str(cwd.absolute())) if here else None
        if output is None:
            if form is Format.markdown:
                text = engine.transfer.export_markdown(scope=scope, speaker=speaker)
                sys.stdout.buffer.write(text.encode("utf-8", "replace"))
            else:
                sys.stdout.buffer.writelines(engine.transfer.export(scope=scope, speaker=speaker))
            sys.stdout.buffer.flush()
            return
        target = output.absolute()
        with Progress("exporting", quiet=as_json) as progress:
            size = engine.transfer.export_to(
                target, form=form.value, scope=scope, speaker=speaker, progress=progress.update
            )
    finally:
        engine.close()
    if as_json:
        print_json({"path": str(target), "format": form.value, "bytes": size})
    else:
        print_line(f"Written to {target}. It holds what you told Tacit: keep it as private as that.")


def _export_teams(output: Path | None, *, as_json: bool) -> None:
    owned = ask("GET", "/v1/teams", {"view": "data"})["owned"]
    if output is None:
        print_json(owned)
        return
    try:
        output.touch(mode=0o600, exist_ok=False)
        output.write_text(json.dumps(owned, ensure_ascii=False, indent=2), "utf-8")
    except OSError as error:
        raise InvalidInput(
            f"{output} cannot be written: {error.strerror or error}.", hint="Give another file with --output."
        ) from error
    if as_json:
        print_json({"path": str(output), "memories": len(owned["memories"])})
        return
    print_line(f"Wrote {format_count(len(owned['memories']))} to {output}.")
