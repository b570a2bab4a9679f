"""The message for a framework that is not installed. In: the name of its package. Out: its imports, or an error that says how to install it."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def imported_from(package: str) -> Generator[None]:
    """Name the package to install if an import of a framework fails.

    Raises:
        ModuleNotFoundError: a module of the framework, or one that it needs, is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"The module {error.name!r} is not installed here. Install it with `pip install {package}`.",
            name=error.name,
            path=error.path,
        ) from None
