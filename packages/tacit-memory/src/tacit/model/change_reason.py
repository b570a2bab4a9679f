"""Why a memory was stored, changed or ended, as a value. `tacit.app.reasons` puts it into words. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from enum import StrEnum

from tacit.frozen import frozen


class ChangeCause(StrEnum):
    """Why something was changed or left out. What the fields of `ChangeReason` hold is said beside each cause."""

    STORED_WORDS = "stored_words"
    """Written by another program or version; `detail`: the words."""
    HIDDEN = "hidden"
    """It names a memory that the caller may not see."""

    NEW = "new"
    DUPLICATE = "duplicate"
    NEWER = "newer"
    CONTRADICTS = "contradicts"
    EDITED = "edited"
    FORGOTTEN = "forgotten"
    """`detail`: why, in the words of who ended it."""
    FORGOTTEN_BY_AGENT = "forgotten_by_agent"
    """`detail`: why, in the agent's words. `terms`: the session (host/id) that the agent worked in; empty if it is not known."""
    REPLACED_BY_USER = "replaced_by_user"
    NOT_USEFUL = "not_useful"
    DELETED_FROM_EXPORT = "deleted_from_export"
    UNDONE = "undone"
    """`further`: why the change was made that was taken back."""

    ACCEPTED = "accepted"
    """A decision in review, as the next two."""
    REJECTED = "rejected"
    KEPT = "kept"
    OTHER_ACCEPTED = "other_accepted"
    """`memory_ids`: what was accepted in its place."""
    MERGED_BY_REVIEW = "merged_by_review"
    """`memory_ids`: what was merged into it."""
    MERGED_INTO = "merged_into"
    """`memory_ids`: what it was merged into, in review."""

    FADED = "faded"
    OVER_LIMIT = "over_limit"
    CONSOLIDATED = "consolidated"
    """`terms`: how many memories that said the same it took over."""

    SAYS_SAME = "says_same"
    """`memory_ids`: what says the same, here and below: the memory that it was compared with; `detail`: how they differ, or a model's words."""
    DENIES = "denies"
    REPLACES = "replaces"
    GIVES_OTHER_VALUE = "gives_other_value"
    MAY_BE_OPPOSITE = "may_be_opposite"
    MAY_REPLACE_WORDS = "may_replace_words"
    MAY_GIVE_OTHER_VALUE = "may_give_other_value"
    MAY_CORRECT = "may_correct"
    MAY_REPLACE = "may_replace"
    MAY_CONTRADICT = "may_contradict"
    REPLACES_WAITING = "replaces_waiting"
    """It replaces a statement that waited for the user; `detail`: a model's words."""
    TOOK_OVER = "took_over"
    """`memory_ids`: what said the same; `detail`: a model's words."""
    REPLACED_BY = "replaced_by"
    """`memory_ids`: what replaced it; `further`: why."""
    SAID_TO_REPLACE = "said_to_replace"
    """`memory_ids`: what the speaker said it replaces."""
    SETTLED = "settled"
    """An agent saw which of two holds; `memory_ids`: that one. `terms`: its session (host/id), if known. `but`: why the other one only ranks behind it."""
    CONFIRMED_BY_WORDS = "confirmed_by_words"
    """The user said what waited for them, or what somebody else had said; `memory_ids`: that memory."""
    OTHER_KIND = "other_kind"
    """It says the same under another kind; `terms`: the new kind and the old one."""
    KEEPS_ITS_WORDS = "keeps_its_words"
    """A memory says the same and stays as it is; `memory_ids`: that memory."""
    CAPTURED_ALREADY = "captured_already"
    SAID_BEFORE = "said_before"
    STORED_ALREADY = "stored_already"
    OLDER = "older"
    """`memory_ids`: the newer memory that holds now."""

    QUOTED = "quoted"
    """An agent quoted the user for it; `terms`: the test that failed, if one did; `review` where the user reviews notes first, quoted or not."""
    OWN_NOTE = "own_note"
    """An agent's own note; `terms`: what it names that the user never typed."""
    LOWER_TIER = "lower_tier"
    """Here and below: why one may not end the other. `terms`: the new tier and the old one."""
    UNCONFIRMED = "unconfirmed"
    NOT_SPOKEN_OF = "not_spoken_of"
    HOLDS_ELSEWHERE = "holds_elsewhere"
    NEITHER_NEWER = "neither_newer"

    BRANCH_MERGED = "branch_merged"
    """This cause and the next three say what happened to the branch that it was learned on; `terms`: the name of the branch."""
    BRANCH_GONE = "branch_gone"
    BRANCH_BACK = "branch_back"
    BRANCH_RENAMED = "branch_renamed"
    """`terms`: its old name and the new one."""
    HOLDS_ON_ALL = "holds_on_all"
    """The user said that it holds on all branches."""

    READ_OFF = "read_off"
    """Here and below: what a file says; `terms`: its path."""
    """Read off a file and kept for answers on demand without a question."""
    CONFIRMED_IN_FILE = "confirmed_in_file"
    CHANGED_IN_FILE = "changed_in_file"
    CHANGED_BY_OTHERS = "changed_by_others"
    REMOVED_FROM_FILE = "removed_from_file"
    FILE_REMOVED = "file_removed"
    SESSION_NOTE = "session_note"
    SESSION_WENT_ON = "session_went_on"
    NOTHING_LEFT = "nothing_left"
    SYNCED = "synced"
    """Taken over from another device."""
    SHARED = "shared"
    """This cause and the next three are about what a team shares through a server; `terms`: the team."""
    CHANGED_BY_TEAM = "changed_by_team"
    UNSHARED = "unshared"
    TEAM_LEFT = "team_left"
    QUOTES_ENDED = "quotes_ended"
    """A digest quotes what holds no more or is restricted."""

    EMPTY = "empty"
    """Here and below: why nothing was stored."""
    SECRET = "secret"  # noqa: S105 - the name of a cause
    """`terms`: kinds of secrets."""
    TOO_LONG = "too_long"
    """`terms`: most characters."""
    TOOL_KIND = "tool_kind"
    """`terms`: the kind that tool output may not become."""
    UNWANTED_KIND = "unwanted_kind"
    REJECTED_BEFORE = "rejected_before"
    """`detail`: the statement that the user rejected."""
    NO_SUCH_MESSAGE = "no_such_message"
    """Here and below: why a statement of the language model was not believed."""
    NOT_QUOTED = "not_quoted"
    WRONG_LENGTH = "wrong_length"
    NAMES_UNNAMED = "names_unnamed"
    SAYS_UNSAID = "says_unsaid"
    REPEATS_GIVEN = "repeats_given"
    ENOUGH_WAITING = "enough_waiting"
    BAD_HANDOVER = "bad_handover"
    """`detail`: the error."""
    HEADLESS_RUN = "headless_run"
    CAPTURE_OFF = "capture_off"
    UNREADABLE_TRANSCRIPT = "unreadable_transcript"
    """`detail`: the error."""
    UNREADABLE_FILE = "unreadable_file"
    """`detail`: the error."""


@frozen
class ChangeReason:
    """Why something was changed or left out.

    Attributes:
        cause: of a closed set.
        memory_ids: the other memories that it is about.
        terms: names of kinds, tiers, paths or numbers; see the cause.
        detail: words of a person, a model or an error; see the cause.
        but: a second reason, why the change did not go further; None = none.
        further: reasons beside this one; see also `UNDONE` and `REPLACED_BY`.
    """

    cause: ChangeCause
    memory_ids: tuple[str, ...] = ()
    terms: tuple[str, ...] = ()
    detail: str = ""
    but: ChangeReason | None = None
    further: tuple[ChangeReason, ...] = ()

    def parts(self) -> tuple[ChangeReason, ...]:
        """Return this reason and all reasons nested in it (`further` and `but`), depth first."""
        nested = (*self.further, self.but) if self.but else self.further
        return (self, *(part for reason in nested for part in reason.parts()))

    def cleaned(self, clean: Callable[[str], str]) -> ChangeReason:
        """Return a copy with `clean` (such as redaction) applied to every `terms` and `detail`, also in nested reasons."""
        return replace(
            self,
            terms=tuple(map(clean, self.terms)),
            detail=clean(self.detail),
            but=self.but.cleaned(clean) if self.but else None,
            further=tuple(reason.cleaned(clean) for reason in self.further),
        )


def join_reasons(reasons: tuple[ChangeReason, ...]) -> ChangeReason:
    """Return the first of `reasons` with the others added to its `further`. `reasons` must not be empty."""
    first, *more = reasons
    return replace(first, further=(*first.further, *more)) if more else first
