"""Tacit gives a coding agent a memory it never has to ask for.

Importing this package runs nothing, reads nothing and logs nothing; names are loaded when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tacit.app.engine import Engine
    from tacit.app.wiring import open_engine
    from tacit.errors import TacitError

__version__ = "0.1.0"
__all__ = ["Engine", "TacitError", "__version__", "open_engine"]

_WHERE = {
    "Engine": "tacit.app.engine",
    "open_engine": "tacit.app.wiring",
    "TacitError": "tacit.errors",
}


def __getattr__(name: str) -> object:
    """Load a public name at its first use."""
    if name not in _WHERE:
        raise AttributeError(f"module 'tacit' has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415 - importing tacit must load nothing

    return getattr(import_module(_WHERE[name]), name)
