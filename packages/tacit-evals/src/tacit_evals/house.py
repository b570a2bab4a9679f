"""Size and shape of the source: modules, lines, statements, single importers, import cycles.

In: a folder or a commit of a repository. Out: the figures of each package, of all packages, and of the tests, with the names behind them. Reads
files and git only; never imports what it measures. Run: `python -m tacit_evals.house [--against COMMIT]`.

| figure | definition |
|---|---|
| modules, lines | files ending in `.py`, and the lines in them |
| code lines | lines with a token that is neither a comment nor part of a docstring |
| statements | statement nodes of the syntax tree, at any depth, without docstrings |
| single importer | modules that exactly one module of the same area imports; a name taken from a package that re-exports it counts as an import of the module that defines it |
| small single importer | those of them with fewer than 45 code lines |
| patterns | calls of `re.compile` and `lazy_regex` |
| forget | functions and methods called `forget` |
| import cycles | sets of modules that reach one another by imports, those in functions included, those for type checkers alone left out |
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import re
import subprocess
import tempfile
import tokenize
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path, PurePosixPath

from rich.console import Console
from rich.table import Table

from tacit_evals.plain_install import SOURCE, commit_copy

AREAS = {
    "tacit-memory": ("packages/tacit-memory/src", "src"),
    "tacit-server": ("packages/tacit-server/src",),
    "tacit-integrations": ("packages/tacit-integrations/src",),
    "tacit-evals": ("packages/tacit-evals/src", "evals/src"),
    "packages": ("packages/*/src", "src", "evals/src"),
    "tests": ("tests", "packages/*/tests", "conftest.py"),
}
"""Areas of the repository, each with the places that its module names begin in, older ones included. What is not there is not counted.

`packages` is all packages together. `tacit-memory` is the package that every user installs; before there were several packages, that was everything but tacit-evals.
"""
SMALL_MODULE_LINES = 45
DOORS = {
    "settings": ("docs/reference/settings.md", r"^\| `[a-z_]+(?:\.[a-z_]+)* ?` \|"),
    "commands": ("docs/reference/cli.md", r"^### `tacit "),
    "endpoints": ("docs/reference/openapi.json", r'^ +"operationId": '),
}
"""What users meet, counted in the generated references: a file, and the lines in it that stand for one each."""
SKIPPED_FOLDERS = frozenset({"node_modules", "__pycache__"})
_NO_CODE = frozenset(
    {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Import:
    """`from module import name [as bound]`, or `import module` with an empty `name`."""

    module: str
    name: str = ""
    bound: str = ""
    for_types_only: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Module:
    """What one file holds. The table above defines the figures."""

    name: str
    is_package: bool
    lines: int
    code_lines: int
    statements: int
    patterns: int
    forgets: tuple[str, ...]
    imports: tuple[Import, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """The figures of one area; where the names matter, the names."""

    modules: int = 0
    lines: int = 0
    code_lines: int = 0
    statements: int = 0
    single_importer: tuple[str, ...] = ()
    small_single_importer: tuple[str, ...] = ()
    patterns: int = 0
    forget: tuple[str, ...] = ()
    import_cycles: tuple[str, ...] = ()

    def count(self, name: str) -> int:
        """The figure called `name`; of names, how many there are."""
        value: int | tuple[str, ...] = getattr(self, name)
        return value if isinstance(value, int) else len(value)

    def names(self, name: str) -> tuple[str, ...]:
        """The names behind a figure; none for a plain count."""
        value: int | tuple[str, ...] = getattr(self, name)
        return () if isinstance(value, int) else value


NAMES = tuple(field.name for field in fields(Figures))


# --- one module ------------------------------------------------------------------------------------------------------


def read_module(text: str, *, name: str, is_package: bool = False) -> Module:
    """Measure the source text of the module `name` (dotted).

    Raises:
        SyntaxError: if it is no Python.
    """
    tree = ast.parse(text)
    nodes = list(ast.walk(tree))
    docstrings = [node for node in nodes if _is_docstring(node)]
    return Module(
        name=name,
        is_package=is_package,
        lines=len(text.splitlines()),
        code_lines=_count_code_lines(text, docstrings),
        statements=sum(isinstance(node, ast.stmt) for node in nodes) - len(docstrings),
        patterns=sum(
            isinstance(node, ast.Call) and _called(node) in ("compile", "lazy_regex") for node in nodes
        ),
        forgets=tuple(
            f"{name}:{node.lineno}"
            for node in nodes
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == "forget"
        ),
        imports=tuple(_imports(nodes, package=name if is_package else name.rpartition(".")[0])),
    )


def _is_docstring(node: ast.AST) -> bool:
    """Whether `node` is a statement that is only a text: a docstring, or a description below an attribute."""
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _count_code_lines(text: str, docstrings: Iterable[ast.AST]) -> int:
    """Count the lines with code: neither comments nor docstrings."""
    code: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _NO_CODE:
            code.update(range(token.start[0], token.end[0] + 1))
    for node in docstrings:
        assert isinstance(node, ast.Expr)
        code.difference_update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(code)


def _called(node: ast.Call) -> str:
    """The last name of what is called: `compile` of `re.compile(...)`."""
    match node.func:
        case ast.Attribute(value=ast.Name(id="re"), attr=attr):
            return attr
        case ast.Name(id=name):
            return name if name == "lazy_regex" else ""
        case _:
            return ""


def _imports(nodes: Sequence[ast.AST], *, package: str) -> Iterator[Import]:
    """The imports of a module whose relative imports begin at `package`."""
    typed = {
        id(below)
        for node in nodes
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")
        for statement in node.body
        for below in ast.walk(statement)
    }
    for node in nodes:
        for_types_only = id(node) in typed
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(module=alias.name, for_types_only=for_types_only)
        elif isinstance(node, ast.ImportFrom):
            module = _absolute(node, package)
            for alias in node.names:
                yield Import(
                    module=module,
                    name=alias.name,
                    bound=alias.asname or alias.name,
                    for_types_only=for_types_only,
                )


def _absolute(node: ast.ImportFrom, package: str) -> str:
    """The module that `node` names, seen from `package`."""
    if not node.level:
        return node.module or ""
    parts = package.split(".")
    parts = parts[: len(parts) - node.level + 1]
    return ".".join((*parts, node.module) if node.module else parts)


# --- one area --------------------------------------------------------------------------------------------------------


def read_area(*roots: Path) -> dict[str, Module]:
    """The modules below `roots` by name; none where there is no such folder."""
    modules: dict[str, Module] = {}
    for root, path in ((each, path) for each in roots for path in sorted(each.rglob("*.py"))):
        below = PurePosixPath(path.relative_to(root).as_posix())
        if SKIPPED_FOLDERS & set(below.parts):
            continue
        is_package = below.name == "__init__.py"
        name = ".".join(below.parent.parts if is_package else below.with_suffix("").parts)
        modules[name] = read_module(path.read_text("utf-8"), name=name, is_package=is_package)
    return modules


def measure(modules: Mapping[str, Module]) -> Figures:
    """The figures of an area."""
    importers = importers_of(modules)
    area = modules.values()
    plain = [module for module in area if not module.is_package and not module.name.endswith("__main__")]
    single = [module for module in plain if len(importers[module.name]) == 1]
    return Figures(
        modules=len(modules),
        lines=sum(module.lines for module in area),
        code_lines=sum(module.code_lines for module in area),
        statements=sum(module.statements for module in area),
        single_importer=tuple(module.name for module in single),
        small_single_importer=tuple(m.name for m in single if m.code_lines < SMALL_MODULE_LINES),
        patterns=sum(module.patterns for module in area),
        forget=tuple(place for module in area for place in module.forgets),
        import_cycles=tuple(" <-> ".join(cycle) for cycle in import_cycles(modules)),
    )


def importers_of(modules: Mapping[str, Module]) -> dict[str, set[str]]:
    """For every module, who imports it.

    The `__init__.py` of a package that re-exports a module does not count beside those who import it from there.
    """
    importers: dict[str, set[str]] = {name: set() for name in modules}
    for importer in modules.values():
        for imported in importer.imports:
            target = _defined_in(imported, modules)
            if target and target != importer.name:
                importers[target].add(importer.name)
    for name, names in importers.items():
        if len(names) > 1:
            names.discard(name.rpartition(".")[0])
    return importers


def _target(imported: Import, modules: Mapping[str, Module]) -> str:
    """The module that is loaded; "" for one outside the area."""
    whole = f"{imported.module}.{imported.name}" if imported.name else imported.module
    return whole if whole in modules else imported.module if imported.module in modules else ""


def _defined_in(imported: Import, modules: Mapping[str, Module]) -> str:
    """The module that defines what is imported, through packages that re-export it; "" for one outside the area."""
    target = _target(imported, modules)
    for _ in modules:  # re-exports that go in a circle end
        module = modules.get(target)
        if module is None or not module.is_package:
            break
        behind = [other for other in module.imports if imported.name and other.bound == imported.name]
        further = _target(behind[0], modules) if behind else ""
        if not further or further == target:
            break
        imported, target = behind[0], further
    return target


def import_cycles(modules: Mapping[str, Module]) -> list[tuple[str, ...]]:
    """Sets of two and more modules that reach one another by imports, sorted (strongly connected components)."""
    loaded = {
        name: {
            target
            for imported in module.imports
            if not imported.for_types_only
            if (target := _target(imported, modules)) and target != name
        }
        for name, module in modules.items()
    }
    reached = {name: _reachable(name, loaded) for name in modules}
    sets = {
        tuple(sorted(other for other in reached[name] if name in reached[other]))
        for name in modules
        if name in reached[name]
    }
    return sorted(sets)


def _reachable(start: str, loaded: Mapping[str, set[str]]) -> set[str]:
    """What `start` loads, directly or through others."""
    reached: set[str] = set()
    waiting = [start]
    while waiting:
        new = loaded[waiting.pop()] - reached
        reached |= new
        waiting += new
    return reached


# --- a repository ----------------------------------------------------------------------------------------------------


def count_doors(tree: Path) -> dict[str, int]:
    """How many settings, commands and endpoints the references below `tree` list; 0 where a file is missing."""
    return {
        door: len(re.findall(line, (tree / file).read_text("utf-8"), re.MULTILINE))
        if (tree / file).exists()
        else 0
        for door, (file, line) in DOORS.items()
    }


def measure_tree(tree: Path) -> dict[str, Figures]:
    """The figures of every area below `tree`."""
    return {
        area: measure(read_area(*(root for place in places for root in sorted(tree.glob(place)))))
        for area, places in AREAS.items()
    }


def measure_commit(commit: str, *, source: Path) -> dict[str, Figures]:
    """The figures of `commit` in the repository `source`.

    Raises:
        SystemExit: if there is no such commit.
    """
    with tempfile.TemporaryDirectory() as folder:
        try:
            tree = commit_copy(Path(folder) / "tree", source=source, commit=commit)
        except subprocess.CalledProcessError as error:
            raise SystemExit(f"git cannot read {commit!r}: {error.stderr.decode().strip()}") from error
        return measure_tree(tree)


# --- the program ----------------------------------------------------------------------------------------------------


def figures_table(
    now: Mapping[str, Figures], before: Mapping[str, Figures] | None, *, against: str = ""
) -> Table:
    """One row for each figure of each area; with `before` also the former count and the difference."""
    table = Table(title="Size and shape of the source" + (f", against {against}" if before else ""))
    table.add_column("area")
    table.add_column("figure")
    for heading in ("before", "now", "difference") if before else ("count",):
        table.add_column(heading, justify="right")
    for area, figures in now.items():
        for name in NAMES:
            count = figures.count(name)
            cells = [f"{count:,}"]
            if before:
                former = before[area].count(name)
                cells = [f"{former:,}", f"{count:,}", f"{count - former:+,}"]
            table.add_row(area, name.replace("_", " "), *cells)
        table.add_section()
    return table


def name_lines(now: Mapping[str, Figures], before: Mapping[str, Figures] | None) -> Iterator[str]:
    """The names behind the figures. With `before`: `+` those that are new, `-` those that are gone."""
    for area, figures in now.items():
        for figure in NAMES:
            names = figures.names(figure)
            former = before[area].names(figure) if before else ()
            gone = [name for name in former if name not in names]
            if names or gone:
                yield f"\n{area}: {figure.replace('_', ' ')} ({len(names)})"
            yield from (f"  {'+' if before and name not in former else ' '} {name}" for name in names)
            yield from (f"  - {name}" for name in gone)


def main() -> None:
    """Print the table and the names."""
    parser = argparse.ArgumentParser(description="Size and shape of the source, maybe against a commit.")
    parser.add_argument("--tree", type=Path, default=SOURCE, help="folder of the repository")
    parser.add_argument("--against", metavar="COMMIT", default="", help="a commit to compare with")
    parser.add_argument("--no-names", action="store_true", help="the table alone")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write figures and names as JSON")
    arguments = parser.parse_args()
    now = measure_tree(arguments.tree)
    before = measure_commit(arguments.against, source=arguments.tree) if arguments.against else None
    Console().print(figures_table(now, before, against=arguments.against))
    print("; ".join(f"{count} {door}" for door, count in count_doors(arguments.tree).items()))
    if not arguments.no_names:
        print("\n".join(name_lines(now, before)))
    if arguments.json:
        trees = {"now": now, "before": before or {}}
        values = {
            when: {area: asdict(figures) for area, figures in tree.items()} for when, tree in trees.items()
        }
        arguments.json.write_text(json.dumps(values, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
