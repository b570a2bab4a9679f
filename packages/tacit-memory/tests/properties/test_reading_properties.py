"""Properties of reading: they hold for any text."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tacit.model.kinds import BUILTIN
from tacit.model.trigger import ACTIONS, Situation, Trigger
from tacit.reading.commands import split_commands
from tacit.reading.errors import MAX_CHARS, error_signature
from tacit.reading.match import Matcher
from tacit.reading.sentences import shorten_at_sentence, split_sentences
from tacit.reading.situation import read_situation
from tacit.reading.terms import find_entities
from tacit.reading.trigger import make_trigger
from tacit.reading.when import format_when, parse_when

ANY = st.text(max_size=200)
WORDY = st.lists(
    st.sampled_from(["fix", "don't", "commit", "yes", "1", "option b", "the", "`go test`", "src/a.py", "?", ".", "\n", "Error: x", "why", "please", "- item", "```", "e.g. ", "no", "thanks", ", ", "git push"]) | st.text(max_size=5),
    max_size=30,
).map(" ".join)  # fmt: skip
VALUE = st.text(
    alphabet=st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=12
).map(str.lower)
VALUES = st.lists(VALUE, max_size=3, unique=True).map(tuple)
WEIGHTS = st.sampled_from([0.33, 0.5, 0.67, 1.0])
ACTION_LISTS = st.lists(
    st.tuples(st.sampled_from(ACTIONS), WEIGHTS), max_size=5, unique_by=lambda pair: pair[0]
).map(lambda pairs: tuple(sorted(pairs, key=lambda pair: -pair[1])))
TRIGGERS = st.builds(
    Trigger, always=st.booleans(), actions=ACTION_LISTS, objects=VALUES, paths=VALUES, languages=VALUES, commands=VALUES, tools=VALUES,
    topics=VALUES, breadth=st.sampled_from([1.0, 1.5, 2.0, 3.0]), maker=st.sampled_from(["user", "agent", "model", "local"]),
)  # fmt: skip
SITUATIONS = st.builds(
    Situation,
    actions=ACTION_LISTS,
    objects=VALUES,
    paths=VALUES,
    languages=VALUES,
    commands=VALUES,
    nothing_coming=st.booleans(),
)


@given(TRIGGERS)
def test_when_reads_back(trigger: Trigger) -> None:
    text = format_when(trigger)
    if text:
        assert parse_when(text, maker=trigger.maker) == trigger


@given(WORDY | ANY, st.sampled_from([kind.name for kind in BUILTIN]))
def test_made_triggers_are_sound_and_read_back(content: str, kind: str) -> None:
    trigger = make_trigger(content, kind=kind)
    assert all(name in ACTIONS for name, _ in trigger.actions)
    assert len(trigger.actions) <= 5
    assert parse_when(format_when(trigger), maker="local") == trigger


@given(TRIGGERS, SITUATIONS)
def test_a_match_is_a_share(trigger: Trigger, situation: Situation) -> None:
    score = Matcher(situation).score(trigger)
    assert 0.0 <= score <= 1.0
    if situation.nothing_coming:
        assert score == 0.0


@given(WORDY | ANY, WORDY | ANY)
def test_any_text_gives_a_sound_situation(text: str, end: str) -> None:
    situation = read_situation(text, previous_end=end)
    assert situation == read_situation(text, previous_end=end)
    assert all(name in ACTIONS and 0.0 < chance <= 1.0 for name, chance in situation.actions)
    assert situation.nothing_coming == (not situation.actions)
    assert all(item == item.lower() for item in situation.objects)


@given(WORDY | ANY, st.integers(min_value=0, max_value=200))
def test_shortening_never_cuts_a_word(text: str, most: int) -> None:
    short = shorten_at_sentence(text, lambda t: len(t) <= most)
    assert len(short) <= most
    assert text.strip().startswith(short)
    if short:
        rest = text.strip()[len(short) :]
        assert not rest or not (rest[0].isalnum() and short[-1].isalnum())


@given(WORDY | ANY)
def test_sentences_lose_no_word(text: str) -> None:
    assert "".join("".join(split_sentences(text)).split()) == "".join(text.split())


@given(WORDY | ANY, ANY)
def test_signatures_are_short_and_stable(text: str, command: str) -> None:
    signature = error_signature(text, command=command)
    assert len(signature) <= MAX_CHARS
    assert "\n" not in signature
    assert signature == error_signature(text, command=command)


@given(WORDY | ANY)
def test_commands_and_entities_take_any_text(text: str) -> None:
    assert all(name.strip() == name and name for name in split_commands(text))
    entities = find_entities(text)
    assert len(entities) <= 64
    assert len(set(entities)) == len(entities)
