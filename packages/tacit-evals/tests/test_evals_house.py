"""The program that measures the source: every figure on sources small enough to count by hand."""

from __future__ import annotations

import subprocess

from tacit_evals.house import (
    count_doors,
    import_cycles,
    importers_of,
    measure,
    measure_commit,
    measure_tree,
    read_area,
    read_module,
)

EXAMPLE = '''\
"""A docstring
of two lines."""

from __future__ import annotations  # a comment beside code

LIMIT = 3
"""What it limits."""

# a comment alone


def double(number: int) -> int:
    """Twice."""
    if number > LIMIT:
        return 2 * number
    text = """
# no comment
"""
    return len(text)
'''


def area(root, files):
    """The modules of an area with these files: path -> text."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return read_area(root)


def test_patterns_and_definitions_of_forget_are_counted():
    text = """
import re
A = re.compile("a")
B = lazy_regex("b")
C = compile("c", "f", "eval")


class Store:
    def forget(self): ...
"""
    module = read_module(text, name="shop.store")
    assert (module.patterns, module.forgets) == (2, ("shop.store:9",))


def test_doors_are_counted_in_the_references(tmp_path):
    folder = tmp_path / "docs" / "reference"
    folder.mkdir(parents=True)
    (folder / "settings.md").write_text(
        "| setting |\n|---|\n| `preset` | x |\n| `recall.level` | y |\n| layer | z |\n"
    )
    (folder / "cli.md").write_text("## Set up\n### `tacit demo`\n### `tacit list [TEXT]`\n")
    assert count_doors(tmp_path) == {"settings": 2, "commands": 2, "endpoints": 0}


def test_lines_and_statements_are_counted_without_docstrings_and_comments():
    module = read_module(EXAMPLE, name="shop.cart")
    assert module.lines == 19
    assert module.code_lines == 9  # lines 4, 6, 12, 14 to 19
    assert module.statements == 7  # import, assignment, def, if, return, assignment, return


def test_a_module_has_one_importer_however_often_that_one_imports_it(tmp_path):
    files = {
        "shop/__init__.py": "",
        "shop/cart.py": "import shop.price\nfrom shop.price import Price\nfrom . import store\n",
        "shop/price.py": "",
        "shop/store.py": "import json\n",
        "shop/page.py": "def show():\n    from .store import Store\n",
    }
    modules = area(tmp_path, files)
    assert importers_of(modules)["shop.price"] == {"shop.cart"}
    assert importers_of(modules)["shop.store"] == {"shop.cart", "shop.page"}
    assert measure(modules).single_importer == ("shop.price",)


def test_a_name_taken_from_a_package_is_an_import_of_the_module_that_defines_it(tmp_path):
    files = {
        "shop/__init__.py": "from shop.price import Price as Money\n",
        "shop/price.py": "",
        "page.py": "from shop import Money\n",
        "mail.py": "from shop import Money\n",
    }
    modules = area(tmp_path, files)
    assert importers_of(modules)["shop.price"] == {"page", "mail"}
    assert importers_of(modules)["shop"] == set()


def test_import_cycles_are_found_through_functions_but_not_through_type_checking(tmp_path):
    files = {
        "a.py": "import b\n",
        "b.py": "def late():\n    from c import x\n",
        "c.py": "import a\n",
        "d.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import e\n",
        "e.py": "import d\nimport a\n",
    }
    modules = area(tmp_path, files)
    assert import_cycles(modules) == [("a", "b", "c")]


def test_a_tree_is_compared_with_a_commit_and_not_with_work_in_progress(tmp_path):
    def git(*args):
        subprocess.run(
            ["git", "-C", str(tmp_path), "-c", "user.name=t", "-c", "user.email=t@t", *args], check=True
        )

    area(tmp_path, {"src/shop.py": "a = 1\n", "tests/test_shop.py": "b = 1\n"})
    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "Begin")
    area(tmp_path, {"src/shop.py": "a = 1\nb = 2\n", "evals/src/measure.py": "c = 1\n"})
    before, now = measure_commit("HEAD", source=tmp_path), measure_tree(tmp_path)
    assert (before["tacit-memory"].statements, now["tacit-memory"].statements) == (1, 2)
    assert (before["tacit-evals"].modules, now["tacit-evals"].modules) == (0, 1)
    assert (before["tests"].modules, now["tests"].modules) == (1, 1)
