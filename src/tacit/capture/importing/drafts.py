"""Foreign statements as drafts. In: what was read, who vouches for it. Out: drafts with where they came from.

Tool and original id stand in the provenance as host and session, the time as the beginning of validity, tags among the
trigger's topics.
"""

from __future__ import annotations

from dataclasses import replace

from tacit.capture.importing.items import ForeignStatement
from tacit.capture.wording import kind_of
from tacit.model.changes import Draft
from tacit.model.memory import Provenance, TrustTier
from tacit.model.scope import Scope
from tacit.reading.trigger import make_trigger

SOURCE = "import"
MAX_SPAN = 500


def draft_of(item: ForeignStatement, *, scope: Scope, vouched: bool, now_ms: int) -> Draft:
    """One draft; `vouched` = the user said that these are as good as their own words."""
    kind = item.kind or kind_of(item.content, rule=item.tool == "rules")
    original = item.original
    trigger = original.trigger if original else make_trigger(item.content, kind=kind, files=item.files)
    if item.tags:
        trigger = replace(trigger, topics=tuple(dict.fromkeys((*trigger.topics, *item.tags))))
    return Draft(
        content=item.content,
        kind=kind,
        scope=scope,
        provenance=Provenance(
            tier=TrustTier.USER if vouched else TrustTier.IMPORT,
            source=SOURCE,
            host=item.tool,
            session_id=item.original_id,
            span=item.content[:MAX_SPAN],
            original_tier=original.provenance.tier if original else None,
        ),
        at_ms=min(item.at_ms, now_ms) or now_ms,
        dated=bool(item.at_ms),
        importance=item.importance,
        explicit=vouched,
        confirmed=vouched,
        trigger=trigger,
        files=item.files,
        sensitivity=item.sensitivity,
        confidence=original.confidence if original else 1.0,
        error_signature=original.error_signature if original else "",
    )
