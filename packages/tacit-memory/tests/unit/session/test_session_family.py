"""Which sessions belong to a session: what says so, and what its name says, through however many."""

from __future__ import annotations

from tacit.model.session import SessionKey
from tacit.session.transitions import with_descendants


def key(name, host="h"):
    return SessionKey(host=host, session_id=name)


def test_descendants_are_found_by_their_parent_and_by_their_name():
    parents = {
        key("1"): None,
        key("child"): key("1"),
        key("grandchild"): key("child"),
        key("child#agent"): None,
        key("child#agent#own"): None,
        key("10"): None,
        key("1#agent", host="other"): None,
        key("loop"): key("loop"),
    }
    found = with_descendants([key("1")], parents)
    assert found == (key("1"), key("child"), key("child#agent"), key("child#agent#own"), key("grandchild"))
    assert with_descendants([key("unknown")], parents) == (key("unknown"),)
