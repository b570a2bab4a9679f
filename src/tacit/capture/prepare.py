"""A draft made ready for storing. In: a draft. Out: a redacted memory, or why nothing may be stored.

Redacts before anything else sees the words; a statement that held a secret is not stored at all. Reads no store.
"""

from __future__ import annotations

from dataclasses import dataclass

from tacit.capture.relate import link_entities
from tacit.model.changes import Draft, Skip
from tacit.model.ids import new_id
from tacit.model.kinds import KindRegistry
from tacit.model.memory import Memory, Provenance, Validity
from tacit.ports.clock import Clock
from tacit.ports.models import TokenCounter
from tacit.safety.redact import Redactor
from tacit.safety.trust import may_store_as

MAX_CHARS = 2000
"""A statement of more characters is a document, not a memory."""
_MAX_SPAN = 600


@dataclass(frozen=True, slots=True, kw_only=True)
class Preparer:
    """What it takes to prepare a draft."""

    redactor: Redactor
    kinds: KindRegistry
    tokens: TokenCounter
    clock: Clock

    def prepare(self, draft: Draft) -> Memory | Skip:
        """Make the memory that `draft` asks for.

        Raises:
            UnknownKind: if the draft's kind is not registered.
        """
        kind = self.kinds.get(draft.kind)
        cleaned = self.redactor.redact(draft.content)
        content = cleaned.text.strip()
        if not content:
            return Skip(content="", reason="empty")
        if cleaned.has_secret:
            found = ", ".join(finding.kind for finding in cleaned.findings if finding.secret)
            return Skip(content=content, reason=f"holds a secret ({found}); nothing of it was stored")
        if len(content) > MAX_CHARS:
            return Skip(content=content[:80] + "...", reason=f"longer than {MAX_CHARS} characters")
        ruling = may_store_as(draft.provenance.tier, kind, confirmed=draft.explicit)
        if ruling.status is None:
            return Skip(content=content, reason=ruling.reason)
        now = self.clock.now_ms()
        said = draft.at_ms or now
        return Memory(
            id=new_id("mem", now_ms=now, entropy=self.clock.entropy(5)),
            kind=kind.name,
            content=content,
            scope=draft.scope,
            provenance=self._provenance(draft.provenance),
            validity=Validity(valid_from_ms=said),
            created_at_ms=now,
            updated_at_ms=now,
            importance=kind.importance if draft.importance is None else draft.importance,
            confidence=draft.confidence,
            trigger=draft.trigger,
            status=ruling.status,
            sensitivity=draft.sensitivity,
            entities=link_entities(content, files=draft.files),
            files=draft.files,
            error_signature=draft.error_signature,
            tokens=self.tokens.count(content),
            pinned=draft.pinned,
        )

    def redact(self, text: str) -> str:
        """`text` without secrets and personal data."""
        return self.redactor.redact(text).text

    def _provenance(self, given: Provenance) -> Provenance:
        span = self.redact(given.span)[:_MAX_SPAN]
        return Provenance(
            tier=given.tier,
            source=given.source,
            host=given.host,
            session_id=given.session_id,
            turn=given.turn,
            span=span,
        )
