"""`tacit export`: everything as JSON lines, without loss, or as Markdown to read and edit. Out: a private file, or standard output."""

from __future__ import annotations

import enum
import sys
from pathlib import Path
from typing import Annotated

import typer

from tacit.cli.terminal.arguments import AsJson, Here

PARTIAL = (
    "This export does not prove to be yours, so every memory that is restricted or belongs to one session is left out."
    " Export in an interactive terminal, or with TACIT_TOKEN (`tacit token create`), for everything."
)


class Format(enum.StrEnum):
    """The format of an export."""

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
    cwd: Here = Path(),
    as_json: AsJson = False,
) -> None:
    """Export memories. `tacit import` reads both formats."""
    from tacit.app.wiring import open_engine
    from tacit.cli.context import current_context
    from tacit.cli.terminal.interaction import Progress
    from tacit.cli.terminal.output import print_json, print_line, print_warning
    from tacit.errors import InvalidInput
    from tacit.model.memory import Speaker

    if as_json and output is None:
        raise InvalidInput("--json tells what was written to a file.", hint="Name one with --output.")
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
