"""Tacit gives a coding agent a memory it never has to ask for.

Importing this package runs nothing, reads nothing and logs nothing; names are loaded when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tacit.app.engine import Engine
    from tacit.app.queries.injection import Injection, InjectionFailed, InjectionResult
    from tacit.app.wiring import open_engine
    from tacit.errors import TacitError
    from tacit.library.session import Prepared, Session
    from tacit.library.tacit import Tacit
    from tacit.library.values import (
        Considered,
        Found,
        MemoryPage,
        MemoryRecord,
        RecallRecord,
        Recollection,
        Stored,
    )
    from tacit.session.ledger import is_block, prune_blocks, without_blocks

__version__ = "0.1.0"
__all__ = [
    "Considered",
    "Engine",
    "Found",
    "Injection",
    "InjectionFailed",
    "InjectionResult",
    "MemoryPage",
    "MemoryRecord",
    "Prepared",
    "RecallRecord",
    "Recollection",
    "Session",
    "Stored",
    "Tacit",
    "TacitError",
    "__version__",
    "is_block",
    "open_engine",
    "prune_blocks",
    "without_blocks",
]

_WHERE = {
    "RecallRecord": "tacit.library.values",
    "MemoryRecord": "tacit.library.values",
    "MemoryPage": "tacit.library.values",
    "Considered": "tacit.library.values",
    "Engine": "tacit.app.engine",
    "Found": "tacit.library.values",
    "Injection": "tacit.app.queries.injection",
    "InjectionFailed": "tacit.app.queries.injection",
    "InjectionResult": "tacit.app.queries.injection",
    "Prepared": "tacit.library.session",
    "Recollection": "tacit.library.values",
    "Session": "tacit.library.session",
    "Stored": "tacit.library.values",
    "Tacit": "tacit.library.tacit",
    "open_engine": "tacit.app.wiring",
    "TacitError": "tacit.errors",
    "is_block": "tacit.session.ledger",
    "prune_blocks": "tacit.session.ledger",
    "without_blocks": "tacit.session.ledger",
}


def __dir__() -> list[str]:
    """Return the public names, so that completion shows them before they are loaded."""
    return list(__all__)


def __getattr__(name: str) -> object:
    """Load a public name at its first use."""
    if name not in _WHERE:
        raise AttributeError(f"module 'tacit' has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415 - importing tacit must load nothing

    return getattr(import_module(_WHERE[name]), name)
