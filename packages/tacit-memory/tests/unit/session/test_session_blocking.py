"""Blocking rules: who may refuse, and when."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from samples import NOW_MS, memory
from tacit.hosts.claude_code import ClaudeCode
from tacit.model.memory import TrustTier
from tacit.model.pack import Block, Surface
from tacit.model.session import Exposure, SessionKey, SessionState
from tacit.model.signal import Signal, ToolCall, ToolFinished, ToolStarting
from tacit.model.trigger import Trigger
from tacit.session.ledger import is_due, with_refusal

KEY = SessionKey(host="claude-code", session_id="s")
CALL = ToolCall(tool="bash", command="git push")
STARTING = ToolStarting(session=KEY, key="k", at_ms=NOW_MS, call=CALL)
COMMITTING = ToolStarting(
    session=KEY, key="k3", at_ms=NOW_MS, call=ToolCall(tool="bash", command="git commit")
)
FINISHED = ToolFinished(session=KEY, key="k2", at_ms=NOW_MS, call=CALL)
RULE = memory("Never push by yourself.", trigger=Trigger(commands=("git push",), maker="user", blocking=True))
STATE = SessionState(key=KEY)
BLOCK = Block(surface=Surface.ACTION, text="<tacit-memory>rule</tacit-memory>", memory_ids=(RULE.id,))


def exposed(surface: Surface, *, epoch: int = 0) -> SessionState:
    entry = Exposure(
        memory_id=RULE.id,
        content_hash=RULE.content_hash,
        epoch=epoch,
        turn=1,
        surface=surface,
        tokens=9,
        at_ms=NOW_MS,
    )
    return replace(STATE, ledger=(entry,))


def test_a_rule_of_the_user_is_due_once_before_its_call() -> None:
    assert is_due(RULE, STARTING, STATE, may_refuse=True)
    assert is_due(RULE, STARTING, exposed(Surface.START), may_refuse=True)
    assert not is_due(RULE, STARTING, exposed(Surface.ACTION), may_refuse=True)
    assert is_due(RULE, STARTING, replace(exposed(Surface.ACTION), epoch=1), may_refuse=True)


def test_a_call_that_the_words_of_a_rule_forbid_needs_no_mark() -> None:
    said = memory("Never push by yourself.", trigger=Trigger(actions=(("push", 1.0),)))
    assert is_due(said, STARTING, STATE, may_refuse=True)
    assert not is_due(said, STARTING, STATE, may_refuse=False)
    advice = memory("Run the tests before every push.", trigger=Trigger(actions=(("push", 1.0),)))
    assert not is_due(advice, STARTING, STATE, may_refuse=True)


@pytest.mark.parametrize("tier", [TrustTier.ASSISTANT, TrustTier.TOOL, TrustTier.IMPORT])
def test_nobody_but_the_user_refuses(tier: TrustTier) -> None:
    told = memory("Never push by yourself.", tier=tier, trigger=RULE.trigger)
    assert not is_due(told, STARTING, STATE, may_refuse=True)


@pytest.mark.parametrize(
    ("signal", "may_refuse", "blocking"),
    [(FINISHED, True, True), (STARTING, False, True), (COMMITTING, True, False)],
    ids=["after the call", "not allowed", "not marked, and another call than its words forbid"],
)
def test_no_refusal(signal: Signal, may_refuse: bool, blocking: bool) -> None:
    rule = replace(RULE, trigger=replace(RULE.trigger, blocking=blocking))
    assert not is_due(rule, signal, STATE, may_refuse=may_refuse)
    assert not with_refusal(BLOCK, [rule], signal, STATE, may_refuse=may_refuse).refuses


def test_a_refusal_carries_the_rule_as_its_reason() -> None:
    block = with_refusal(BLOCK, [RULE], STARTING, STATE, may_refuse=True)
    answer = json.loads(ClaudeCode().encode({"hook_event_name": "PreToolUse"}, block))
    assert answer["hookSpecificOutput"] == {
        "hookEventName": "PreToolUse",
        "permissionDecision": "deny",
        "permissionDecisionReason": BLOCK.text,
    }
    after = json.loads(ClaudeCode().encode({"hook_event_name": "PostToolUse"}, block))
    assert after["hookSpecificOutput"] == {"hookEventName": "PostToolUse", "additionalContext": BLOCK.text}


def test_an_empty_block_and_other_surfaces_refuse_nothing() -> None:
    empty = Block(surface=Surface.ACTION)
    prompt = replace(BLOCK, surface=Surface.PROMPT)
    assert with_refusal(empty, [RULE], STARTING, STATE, may_refuse=True) == empty
    assert with_refusal(prompt, [RULE], STARTING, STATE, may_refuse=True) == prompt
