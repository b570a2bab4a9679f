"""Passages: how speech is cut, how likely a passage is worth keeping, and which ones are candidates."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.capture.extract.passages import speech_cues
from tacit.capture.extract.passages.candidates import (
    MIN_PROBABILITY,
    Candidate,
    find_candidates,
    is_momentary,
    is_objection,
)
from tacit.capture.extract.passages.features import CUES, SentenceFeatures
from tacit.capture.extract.passages.model import PassageModel, shipped_passages
from tacit.capture.extract.passages.segmentation import messages_of, passages_of
from tacit.capture.session import SessionContext, extract_learnings
from tacit.capture.turn import Turn
from tacit.capture.wording import (
    has_leading_reference,
    has_loose_reference,
    imperative,
    is_negated,
    rule_like,
)
from tacit.fitted.matrices import WeightMatrices
from tacit.model.scope import project_scope
from tacit.model.session import SessionKey
from tacit.reading.terms import identifiers, names_path
from tacit.state.captured import Checkpoint
from tacit.state.registry import CHECKPOINT

PLACE = SessionContext(session=SessionKey(host="plain", session_id="s"), scope=project_scope("p"))


def turns(*said):
    """Messages as (role, text), numbered by the user's prompts."""
    number, found = 0, []
    for index, (role, text) in enumerate(said):
        number += role == "user"
        found.append(Turn(index=index, number=number, role=role, text=text))
    return tuple(found)


def weights(*, user=0.0, assistant=0.0):
    """A model that gives every passage of a speaker the same logit; the word "linter" adds 1."""
    matrices = {}
    for role, logit in (("user", user), ("assistant", assistant)):
        matrices |= {
            f"{role}.bias": [[logit]], f"{role}.cue": [[0.0]] * CUES, f"{role}.word": [[1.0]], f"{role}.line": [[1.0, 0.0]],
        }  # fmt: skip
    return PassageModel(
        WeightMatrices(
            names={"words": ("w:linter",)},
            matrices={name: np.array(rows, np.float32) for name, rows in matrices.items()},
        )
    )


@given(
    st.lists(
        st.sampled_from(
            """you did n't why are not right doesn't work are you sure previously sorry good catch do n't should have make sure
            would like rather than no longer house rules going with option 2 so that due to that's why root cause the bug was
            turns out not found follow-up not yet next steps tests pass what do you think right away we're API exit code 1 error:
            [12/ ? : ... - \u2014 ( `x` "y" https://a.b now, wrong. hallucinated, \u2705 1
            must n't N't cannot no longer should not do don't NEVER always a/b.py CHANGELOG LICENSE justfile and/or someName() --flag
            https://a.b/c.py the first one option a sure that it is its name: use the following, fix my last answer such This mu\u017ft""".split()
        ),
        max_size=12,
    )
)
def test_cues_found_word_by_word_are_those_of_the_sentence(words):
    sentence = " ".join(words)
    found = speech_cues.marks_of(sentence)
    for bit, (_, pattern) in enumerate(speech_cues._SAID):
        assert bool(found >> bit & 1) == bool(re.search(pattern, sentence.lower())), pattern
    shouts, *more = [bool(found >> bit & 1) for bit in range(len(speech_cues._SAID), speech_cues.MARKS)]
    assert shouts == bool(re.search(r"\b[A-Z]{3,}\b", sentence))
    readers = (
        names_path,
        identifiers,
        imperative,
        is_negated,
        has_loose_reference,
        has_leading_reference,
        rule_like,
    )
    assert more == [bool(reader(sentence)) for reader in readers]
    assert found < 1 << speech_cues.MARKS <= 1 << 63


def test_a_message_of_more_than_eighty_sentences_was_pasted():
    sentences = [f"The part number {n} of this must always be there." for n in range(81)]
    assert texts("user", "\n\n".join(sentences)) == []
    assert texts("user", "\n\n".join(sentences[:80])) != []


def texts(role, text):
    (message,) = messages_of(turns((role, text)))
    return [passage.text for passage in passages_of(message)]


def test_a_short_message_of_the_user_is_one_passage():
    said = "That number is wrong... it is the version of the other tool, yeah? Use the agent's own."
    assert texts("user", said) == [said]


def test_a_long_message_is_cut_into_runs_of_sentences():
    sentences = [f"Sentence number {n} says something of its own about part {n} of it." for n in "abcdef"]
    found = texts("user", " ".join(sentences))
    assert sentences[0] in found
    assert " ".join(sentences[:3]) in found
    assert all(8 <= len(text.split()) <= 50 for text in found)


def test_code_tables_headings_and_pasted_matter_are_no_passages():
    said = "## Heading with many words in it that says a lot\n\n```go\nfunc main() { return because of the error }\n```\n\n| a | b | c | d | e | f | g | h |\n\n- **The root cause** was that `walk` followed every folder below it."
    assert texts("assistant", said) == ["The root cause was that `walk` followed every folder below it."]
    assert texts("user", "```\nnever ever use tabs in any of these files please\n```") == []
    assert texts("user", "The README says:\n> always deploy on Fridays and never on any other day") == []


def test_what_the_user_only_puts_up_for_discussion_is_not_theirs():
    pasted = "The watcher must always register every folder below the root, otherwise new files in deep folders are never seen by it."
    assert texts("user", f"What do you think of this one?\n\n{pasted}") == []
    assert texts("user", pasted) == [pasted]


@pytest.mark.parametrize(
    "printed",
    [
        "[supabase] [db] > always run the migrations before the start of the local server",
        "time=2026-03-18 level=DEBUG msg=watching the folder of the sessions because of the flag",
        "[07/02/26 11:58 main ~/work] npx login sh: wrangler: command not found in this folder",
    ],
)
def test_what_a_program_printed_is_no_passage(printed):
    assert texts("user", printed) == []


def test_the_span_is_verbatim_and_the_text_is_one_line():
    said = "- **Do not** nest a details tag\n  inside another details tag in this output"
    (message,) = messages_of(turns(("assistant", said)))
    (passage,) = passages_of(message)
    assert passage.text == "Do not nest a details tag inside another details tag in this output"
    assert passage.span in said


def test_a_passage_with_code_in_between_keeps_only_its_longest_sentence_as_span():
    said = (
        "We keep the old name for it.\n\n```\n"
        + "x\n" * 100
        + "```\n\nThe importer still reads that name from files."
    )
    (message,) = messages_of(turns(("user", said)))
    (passage,) = passages_of(message)
    assert passage.span == "The importer still reads that name from files."


def test_of_the_agents_long_message_only_the_last_sentences_are_read():
    said = [f"The part number {n} of this must always be there." for n in range(500)]
    (message,) = messages_of(turns(("assistant", "\n\n".join(said))))
    assert message.sentences == tuple(said[-24:])


def test_the_tail_of_an_agents_message_does_not_take_code_for_words():
    code = "```python\n" + "value = compute(value)\n" * 300 + "```\n"
    (message,) = messages_of(
        turns(("assistant", f"Here it is.\n{code}The importer still reads the old name."))
    )
    assert message.sentences == ("The importer still reads the old name.",)


def test_the_short_look_finds_what_the_long_one_finds():
    """Words and place alone decide only where the cues of how it is said could not."""
    model = weights(assistant=-1.0)
    (message,) = messages_of(
        turns(
            (
                "assistant",
                "We run the linter after every change of code.\n\nThe sun is out over all of the houses.",
            )
        )
    )
    passages, reading = list(passages_of(message)), SentenceFeatures(message)
    chances = model.chances(passages, reading)
    # bias -1 and the weight 1 of one known word: the logistic of 0, of -1 without the word
    assert chances == pytest.approx([0.5, 0.5, 0.2689], abs=1e-4)
    likely = model.likely(passages, reading, 0.4)
    assert likely == [(chance, one) for chance, one in zip(chances, passages, strict=True) if chance >= 0.4]
    assert model.promising(message) == {0, 1}


def test_sentences_whose_words_speak_against_them_are_not_read():
    model = weights()
    model.weights.matrices["assistant.word"][0, 0] = -1.0
    (message,) = messages_of(turns(("assistant", "We run the linter after every change.\n\nThe sun is out.")))
    assert model.promising(message) == {1}


def test_what_stands_around_a_message_is_known_to_its_cues():
    said = turns(
        ("assistant", "Shall I do it?"),
        ("user", "no, use the other folder for all of these"),
        ("assistant", "You're right."),
    )
    messages = list(messages_of(said, before=""))
    assert messages[1].before == "Shall I do it?"
    assert messages[1].after == "You're right."
    (passage,) = passages_of(messages[1])
    with_reply = SentenceFeatures(messages[1]).cues(passage)
    alone = SentenceFeatures(next(iter(messages_of(said[1:2])))).cues(passage)
    assert with_reply.shape == (CUES,)
    assert not np.array_equal(with_reply, alone)


def test_the_chance_is_the_logistic_of_bias_and_words():
    (message,) = messages_of(turns(("user", "please run the linter after every change of code")))
    (passage,) = passages_of(message)
    reading = SentenceFeatures(message)
    words = reading.words(passage)
    assert "w:linter" in words
    # bias -1, one known word of weight 1 over the root of 1: the logistic of 0
    assert weights(user=-1.0).chance(passage, reading) == pytest.approx(0.5)


CAUSE = "The build failed because the cache folder was missing on a fresh checkout of it"


def test_a_candidate_is_a_verbatim_span_of_its_message():
    said = turns(
        ("user", "the importer reads the old name of the folder, not this one"), ("assistant", f"{CAUSE}. Done."), ("user", "thanks"),
    )  # fmt: skip
    found = find_candidates(said, model=weights(user=3.0, assistant=3.0))
    assert found == (
        Candidate(index=0, number=1, role="user", text=said[0].text, chance=0.95),
        Candidate(index=1, number=1, role="assistant", text=f"{CAUSE}.", chance=0.95),
    )


def test_of_a_message_the_likeliest_passage_is_the_candidate():
    first = "We look at the houses of the old town" + " and at the trees" * 6 + " from the river."
    second = "We run the linter after each change" + " and after the next" * 6 + " of the code."
    (found,) = find_candidates(turns(("assistant", f"{first}\n\n{second}")), model=weights(assistant=2.0))
    assert found.text == second


@pytest.mark.parametrize("role", ["user", "assistant"])
def test_what_is_not_likely_enough_is_no_candidate(role):
    said = turns((role, CAUSE))
    logit = float(np.log(MIN_PROBABILITY[role] / (1 - MIN_PROBABILITY[role])))
    assert find_candidates(said, model=weights(**{role: logit - 0.05})) == ()
    assert len(find_candidates(said, model=weights(**{role: logit + 0.05}))) == 1
    assert len(find_candidates(said, model=weights(**{role: -3.0}), least={role: 0.01})) == 1


def test_a_candidate_is_never_stored():
    said = turns(
        ("user", "the importer reads the old name of the folder, not this one"),
        ("assistant", CAUSE),
        ("user", "yes, do that"),
    )
    assert [one.number for one in find_candidates(said, least={"user": 0.0, "assistant": 0.0})] == [1, 1]
    learned = extract_learnings(
        said, Checkpoint(), place=PLACE, captured_hashes=frozenset(), redact=lambda text: text
    )
    assert learned.drafts == ()
    assert "cache folder" not in CHECKPOINT.text(learned.checkpoint)


@pytest.mark.parametrize(
    "text",
    [
        "NOPE! Didn't work.",
        "are you sure?",
        "you forgot the tests",
        "that's wrong",
        "why did you do that",
        "hmm it still fails",
    ],
)
def test_objections(text):
    assert is_objection(text)


@pytest.mark.parametrize("text", ["yup", "great, now commit it", "add a flag for this", "Let's do finding 4"])
def test_what_is_no_objection(text):
    assert not is_objection(text)


@pytest.mark.parametrize(
    "text",
    [
        "what time is it in Lisbon at noon in this place here?",
        "now go ahead and create that task for the exporter",
        "run the migrations on the staging database please",
        "ask the agent of the client for the current document and print it",
        "Morning! Today I want to get the exporter of the shop ready",
        "tell me about the settings file of the editor. should that one be in the repository?",
        "the heading on line 12 of the report should not be there in this form",
        "no, I ran the exporter once more and the old folder is still not empty",
        "think carefully about the way the importer reads its files and explain it",
        "why do we get this message when the exporter starts up for the first time?",
        '"success": false, "error": "Unexpected error: the folder is not there and should be"',
        "[server] the local database should never be started before the folder exists",
        "\U0001f4a1 you should search all your sessions from now on at this very address",
    ],
)
def test_what_is_asked_for_the_moment_teaches_nothing(text):
    assert is_momentary(text)
    assert find_candidates(turns(("user", text)), model=weights(user=3.0)) == ()


@pytest.mark.parametrize(
    "text",
    [
        "are you sure? the folder has no changes",
        "the importer reads your old folder",
        "we prefer short names",
        "did you switch back to the main folder?",
        "why are you editing files in the main folder, not the other one?",
        "tell me the plan for the branches first, you should always do so",
        "what, that doesnt work, it isnt the folder of the exporter",
    ],
)
def test_what_says_how_things_are_or_shall_be(text):
    assert not is_momentary(text)


def test_an_old_checkpoint_with_held_passages_is_read():
    held = {
        "content": "c",
        "span": "c",
        "kind": "fact",
        "confidence": 0.5,
        "number": 1,
        "at_ms": 0,
        "asked": "",
        "proved": False,
    }
    values = json.loads(CHECKPOINT.text(Checkpoint(path="x", root="r")))
    assert "held" not in values
    old = values | {"held": [held], "agent_end": "Done."}
    assert CHECKPOINT.parse(json.dumps(old)) == Checkpoint(path="x", root="r")


def test_the_shipped_weights_say_what_they_were_made_of():
    model = shipped_passages()
    assert model.weights.origin.made_by.startswith("python -m tacit_evals.fit")
    assert len(model.sessions) >= 13
    assert set(model.weights.matrices) == {
        f"{role}.{part}" for role in ("user", "assistant") for part in ("bias", "cue", "word", "line")
    }
