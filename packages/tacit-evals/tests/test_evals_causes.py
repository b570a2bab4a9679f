"""Every miss and every false alarm has the cause that the read path tells; files for other programs hold the same."""

from __future__ import annotations

from dataclasses import replace

import pytest

from samples import memory_named
from tacit.model.scope import project_scope
from tacit.model.situation import Situation
from tacit.model.trigger import Trigger
from tacit_evals.data.judged import Judgment
from tacit_evals.metrics.counts import ItemResult
from tacit_evals.metrics.ranking import read_qrels, read_run
from tacit_evals.report.page import render_page
from tacit_evals.report.scorecard import Listing, Part, Scorecard
from tacit_evals.report.trec import of_handed, write_trec
from tacit_evals.suites.causes import Labels, alarms, chosen, counted, labelled_classes, misses

COMMITS = Trigger(actions=(("commit", 1.0),))
FIXES = Trigger(actions=(("fix_bug", 1.0),))


def memory(name, trigger):
    return memory_named(name, f"text of {name}", scope=project_scope("p"), at_ms=0, trigger=trigger, tokens=3)


def labels(trigger=COMMITS, *, told=("commit",), given=None):
    return Labels(
        asked={"p/1": "please commit"},
        memories={"m": memory("m", trigger)},
        situations={} if told is None else {"p/1": frozenset(told)},
        triggers={} if given is None else {"m": given},
    )


def item(*, read=(("commit", 0.9),), needed=True, pack=(), predicted=None, fates=None, start=()):
    return ItemResult(
        item="p/1", session="p/s", judgment=Judgment(needed={"m": 2} if needed else {}, nothing=not needed),
        start=frozenset(start), pack=pack, predicted={"m": 0.1} if predicted is None else predicted,
        read=None if read is None else Situation(actions=read, nothing_coming=not read), fates=fates or {},
    )  # fmt: skip


BELOW = {"m": ("guard", "relevance 0.10 below 0.30")}


@pytest.mark.parametrize(
    ("one", "known", "cause"),
    [
        (item(read=None), labels(), "no coming action read"),
        (item(read=()), labels(), "no coming action read"),
        (item(predicted={"other": 0.2}), labels(), "not in the short list"),
        (item(), labels(), "passed, left out of the block"),
        (item(fates={"m": ("guard", "no longer valid")}), labels(), "guard: no longer valid"),
        (item(fates={"m": ("budget", "needs 31 tokens, 4.5 are left")}), labels(), "budget: needs n tokens, n are left"),
        (item(fates=BELOW), labels(told=None), "below the threshold"),
        (item(fates=BELOW), labels(Trigger(always=True)), "below the threshold"),
        (item(fates=BELOW), labels(FIXES), "below the threshold: the trigger lacks the class"),
        (item(fates=BELOW, read=(("fix_bug", 0.9), ("commit", 0.1))), labels(), "below the threshold: class of the situation wrong"),
        (item(fates=BELOW), labels(), "below the threshold: trigger and situation meet"),
    ],
)  # fmt: skip
def test_a_miss_has_the_first_cause_that_would_have_stopped_it(one, known, cause):
    assert [found.cause for found in misses([one], known)] == [cause]


@pytest.mark.parametrize(
    ("one", "known", "cause"),
    [
        (item(), labels(Trigger(always=True)), "a rule that holds almost always"),
        (item(), labels(replace(COMMITS, breadth=3.0)), "a rule that holds almost always"),
        (item(), labels(told=()), "no action was coming"),
        (item(), labels(FIXES), "trigger and situation do not meet: its words"),
        (item(), labels(told=None), "trigger and situation meet"),
        (item(), labels(told=("push",)), "class of the situation wrong"),
        (item(), labels(given=FIXES), "the trigger names a class that it is not for"),
        (item(), labels(given=COMMITS), "class right, another matter"),
    ],
)
def test_a_false_alarm_has_the_cause_that_let_it_pass(one, known, cause):
    one = replace(one, pack=("m",), judgment=Judgment(nothing=True))
    (found,) = alarms([one], known)
    assert (found.cause, found.grade, found.asked, found.content) == (cause, 0, "please commit", "text of m")


def test_what_is_in_context_is_no_miss_and_what_is_marginal_no_alarm():
    assert misses([item(start=("m",)), item(pack=("m",))], labels()) == ()
    assert alarms([item(pack=("m",))], labels()) == ()
    marginal = replace(item(pack=("m",)), judgment=Judgment(marginal=frozenset({"m"})))
    assert alarms([marginal], labels()) == ()


def test_every_cause_gets_its_turn_in_a_short_list():
    (one,) = misses([item()], labels())
    found = [replace(one, cause="a", item=f"p/{n}") for n in range(5)] + [replace(one, cause="b")]
    assert counted(found) == {"a": 5, "b": 1}
    assert [(f.cause, f.item) for f in chosen(found, 3)] == [("a", "p/0"), ("a", "p/1"), ("b", "p/1")]
    assert len(chosen(found, 40)) == 6


def test_labelled_classes_are_those_of_grade_two_and_three(tmp_path):
    file = tmp_path / "situations.jsonl"
    file.write_text('{"id": "1", "actions": {"commit": 3, "push": 1}}\n{"id": "2", "actions": {"none": 3}}\n')
    assert labelled_classes(file, prefix="p") == {"p/1": frozenset({"commit"}), "p/2": frozenset()}
    assert labelled_classes(tmp_path / "absent.jsonl", prefix="p") == {}


def test_the_page_lists_texts_escaped_and_the_document_has_only_counts():
    listing = Listing(
        title="Misses", counts={"not in the short list": 2}, columns=("cause", "asked"), rows=[("not <b>", "please & run")]
    )  # fmt: skip
    card = Scorecard(
        suite="inject", dataset="d", settings={}, total=Part(name="all", metrics={}), listings=(listing,)
    )
    page = render_page(card)
    assert "not &lt;b&gt;" in page
    assert "please &amp; run" in page
    assert card.document()["causes"] == {"Misses": {"not in the short list": 2}}
    assert "please" not in str(card.document())


def test_trec_files_hold_judgments_and_both_rankings(tmp_path):
    one = replace(
        item(pack=("x", "m"), predicted={"m": 0.4, "x": 0.6, "y": 0.1}),
        judgment=Judgment(needed={"m": 2}, marginal=frozenset({"y"})),
    )
    write_trec(
        tmp_path / "new",
        "My project",
        *of_handed([one, replace(item(needed=False, predicted={}), item="p/2")]),
    )
    names = sorted(path.name for path in (tmp_path / "new").iterdir())
    assert names == ["my-project.handed.run", "my-project.qrels", "my-project.tacit.run"]
    assert read_qrels(tmp_path / "new" / names[1]) == {"p/1": {"m": 2}}
    assert read_run(tmp_path / "new" / names[2]) == {"p/1": {"x": 0.6, "m": 0.4}}
    assert list(read_run(tmp_path / "new" / names[0])["p/1"]) == ["x", "m"]
