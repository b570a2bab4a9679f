"""The stored scopes of a tenant and their numbers. In: a scope filter. Out: the stored scopes that the filter shows, each with its counts.

Every statement that reads memories takes these numbers. If a filter shows no stored scope, there are no numbers, and so no rows. Never widens a filter.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tacit.backends.rows import scope_named
from tacit.backends.text import clean_text
from tacit.model.scope import Scope, ScopeFilter

if TYPE_CHECKING:
    from tacit.backends.postgres.transaction import Transaction

_STORED = """
    SELECT scope, name, change, moved, total, active, words, code FROM scopes
    WHERE tenant = %(tenant)s AND name = ANY(%(names)s) ORDER BY scope"""
_EVERY = "SELECT name FROM scopes WHERE tenant = %(tenant)s AND total > 0"
_ADD = """
    INSERT INTO scopes (tenant, scope, name)
    SELECT %(tenant)s, (SELECT coalesce(max(scope), 0) FROM scopes WHERE tenant = %(tenant)s) + place, name
    FROM unnest(%(names)s::text[]) WITH ORDINALITY AS new (name, place)
    RETURNING name, scope"""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredScope:
    """A scope of the tenant.

    Attributes:
        number: the number of the scope in rows.
        name: the scope, as text.
        change: the tenant's change counter when a memory of this scope was last written.
        moved: the counter when a memory last left this scope; data that was derived before must be derived again.
        total: the number of memories in it.
        active: the number of active memories in it.
        words: the number of words of the active memories.
        code: the number of words in the code of the active memories.
    """

    number: int
    name: str
    change: int
    moved: int
    total: int
    active: int
    words: int
    code: int


def stored_scopes(transaction: Transaction, scope: ScopeFilter) -> tuple[StoredScope, ...]:
    """Return the stored scopes that `scope` shows, in order of their numbers. Some may hold no memory any more."""
    if not scope.scopes:
        return ()
    return _named(transaction, [clean_text(str(one)) for one in scope.scopes])


def _named(transaction: Transaction, names: list[str]) -> tuple[StoredScope, ...]:
    return tuple(
        StoredScope(
            number=row[0], name=row[1], change=row[2], moved=row[3], total=row[4], active=row[5], words=row[6], code=row[7]
        )
        for row in transaction.rows(_STORED, {"names": names})
    )  # fmt: skip


def scope_numbers(transaction: Transaction, scopes: Iterable[Scope]) -> dict[Scope, int]:
    """Return the number of each scope. New scopes are added. The caller must hold the lock of the tenant."""
    names = {one: clean_text(str(one)) for one in dict.fromkeys(scopes)}
    numbers = {stored.name: stored.number for stored in _named(transaction, list(names.values()))}
    if new := sorted(set(names.values()) - numbers.keys()):
        numbers |= dict(transaction.rows(_ADD, {"names": new}))
    return {one: numbers[name] for one, name in names.items()}


def every_scope(transaction: Transaction) -> ScopeFilter:
    """Return a filter that shows all scopes with memories."""
    return ScopeFilter.of(*(scope_named(str(row[0])) for row in transaction.rows(_EVERY)))
