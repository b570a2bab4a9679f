"""Conditions under which a memory applies: action classes, objects, patterns, commands, or always. Shared by both pipelines.

The situation read from a signal: probabilities over the action classes that come next, with objects.
"""

from __future__ import annotations

from typing import Literal

from tacit.errors import InvalidInput
from tacit.frozen import frozen
from tacit.model.note import Note

ACTION_PARENTS: dict[str, str] = {
    "implement_feature": "feature", "edit_code": "feature", "fix_bug": "fix", "refactor": "refactor",
    "rename_move": "refactor", "delete_code": "refactor", "new_file": "feature", "add_dependency": "ops",
    "write_test": "test", "change_test": "test", "run_tests": "test", "run_lint_build": "ops",
    "debug_investigate": "fix", "reproduce_bug": "fix", "run_command": "ops", "explain_code": "question",
    "answer_question": "question", "offer_options": "question", "plan_or_spec": "feature",
    "execute_plan": "feature", "create_task": "ops", "update_task": "ops", "review_code": "review",
    "address_review": "review", "commit": "ops", "push": "ops", "open_or_update_pr": "ops",
    "merge_rebase": "ops", "release": "ops", "write_docs": "docs", "edit_rules": "docs",
    "code_comments": "docs", "error_handling": "feature", "logging_analytics": "feature",
    "cli_output_ux": "feature", "ui_design": "feature", "config_settings": "ops", "data_storage": "feature",
    "performance": "refactor", "security_privacy": "feature", "workspace_session": "ops",
    "ci_pipeline": "ops", "generated_files": "ops", "delegate_agent": "ops", "naming_terms": "refactor",
    "parsing_formats": "feature",
}  # fmt: skip
"""Action class -> parent task type. Open: settings may add classes."""

ACTIONS: tuple[str, ...] = tuple(ACTION_PARENTS)

GREATEST_BREADTH = 3.0

TriggerMaker = Literal["user", "agent", "model", "local"]
MAKER_RANK: dict[str, int] = {"local": 0, "model": 1, "agent": 2, "user": 3}
"""A trigger is replaced only by one of a maker of equal or higher rank."""


@frozen
class Trigger:
    """The conditions under which a memory applies.

    Attributes:
        always: applies whatever is about to happen.
        actions: (action class, weight 0-1), highest weight first; 1.0 = exactly then, 0.67 = often, 0.33 = sometimes.
        objects: lower-case words or paths that the situation must touch; empty = whatever the object is.
        paths: glob patterns relative to the project root (`src/**/*.go`).
        languages: lower-case language names.
        commands: command prefixes (`git commit`, `pytest`).
        tools: host-neutral tool names (`edit`, `write`, `read`, `bash`).
        topics: free words that the situation must touch.
        phrases: when it applies in somebody's own words, as given; what they mean stands in the other fields.
        breadth: in how many sessions of the project it matters: 3 almost every, 2 some, 1 few.
        maker: who made it.
        blocking: the call it is for is refused once, with the memory as the reason, where the person allows that.
    """

    always: bool = False
    actions: tuple[tuple[str, float], ...] = ()
    objects: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    phrases: tuple[str, ...] = ()
    breadth: float = 1.0
    maker: TriggerMaker = "local"
    blocking: bool = False

    def __post_init__(self) -> None:
        for name, weight in self.actions:
            if not 0.0 < weight <= 1.0:
                raise InvalidInput(
                    f"Trigger action {name!r} has weight {weight}; it must be above 0 and at most 1."
                )
        if not 0.0 <= self.breadth <= 3.0:
            raise InvalidInput(f"Trigger breadth is {self.breadth}; it must be between 0 and 3.")

    @property
    def empty(self) -> bool:
        """Whether the trigger has no condition that says when the memory applies; `objects`, `phrases` and `breadth` alone are none."""
        return not (
            self.always
            or self.actions
            or self.paths
            or self.languages
            or self.commands
            or self.tools
            or self.topics
        )

    @property
    def reach(self) -> float:
        """In how many sessions the memory matters, 0 to 3: `breadth`, but 3 for a trigger that is *always*."""
        return GREATEST_BREADTH if self.always else self.breadth

    @property
    def places_only(self) -> bool:
        """Whether the trigger has paths, languages, commands, tools or topics, but no action: the memory may apply to any action there."""
        return not self.always and not self.actions and not self.empty


@frozen
class Situation:
    """What the agent is about to do, as read from a signal.

    Attributes:
        actions: (action class, probability 0-1), most probable first; probabilities need not sum to one
            because one step can be several actions.
        objects: lower-case words or paths the work touches.
        paths: files the work touches, relative to the project root where known.
        languages: languages of those files or named in the words.
        commands: commands about to run, or just named.
        accepted: the user accepted a proposal of the agent's last message.
        nothing_coming: no action follows (greeting, thanks, an empty prompt).
        notes: the reasons of the reading.
    """

    actions: tuple[tuple[str, float], ...] = ()
    objects: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    accepted: bool = False
    nothing_coming: bool = False
    notes: tuple[Note, ...] = ()

    def probability(self, action: str) -> float:
        """Return the probability of `action`; 0 when it is not listed."""
        return next((p for name, p in self.actions if name == action), 0.0)
