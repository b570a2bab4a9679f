"""The fate of a branch and of the memories that are bound to it. Git itself makes the repositories."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

import repositories
from samples import memory as sample
from tacit.backends.sqlite import SqliteStore
from tacit.capture.branches import BranchHistory
from tacit.capture.reconcile import Neighbor, reconcile, replace_named
from tacit.capture.store import replaced_by
from tacit.config.settings import CaptureSettings
from tacit.model.change_reason import ChangeCause, ChangeReason
from tacit.model.changes import Add, Draft, Merge, Rewrite, Supersede
from tacit.model.memory import LearnedOn, Memory, Provenance, TrustTier
from tacit.model.scope import UNIVERSAL, ScopeFilter, project_scope
from tacit.ports.store import MemoryFilter, ProjectRecord
from tacit.providers.clock import FakeClock
from tacit.session.projects import WorkTree, commit_at, work_tree_of
from tacit.state.captured import BranchState
from tacit.state.registry import BRANCHES
from unit.capture.pipelines import make_pipeline

NOW = 1_770_000_000_000
SCOPE = project_scope("shop-1")
HERE = LearnedOn(name="topic", commit="a" * 40)
OLD = "We use RabbitMQ for the job queue"
NEW = "We use Redis for the job queue instead of RabbitMQ"
SAID = "On the topic branch we use Redis for the job queue"
UNSEEN = BranchState()


class Repository:
    """A git repository of the test."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.second = 0

    def become(self, other: Repository) -> Repository:
        """Hold what another repository holds; returns this one."""
        shutil.rmtree(self.root, ignore_errors=True)
        shutil.copytree(other.root, self.root)
        self.second = other.second
        return self

    def git(self, *words: str) -> str:
        """Run git; every commit is a minute later than the one before."""
        self.second += 60
        at = f"{NOW // 1000 + self.second} +0000"
        return repositories.git(self.root, *words, GIT_COMMITTER_DATE=at, GIT_AUTHOR_DATE=at)

    def commit(self, path: str, text: str) -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
        self.git("add", "-A")
        self.git("commit", "-q", "-m", f"Change {path}")

    @property
    def tree(self) -> WorkTree:
        found = work_tree_of(self.root.resolve())
        assert found is not None
        return found

    def judge(self, name: str = "topic", before: BranchState = UNSEEN, *, since_s: int = 0):
        return BranchHistory(self.tree).judge(name, before, since_s=since_s)

    def seen(self, name: str = "topic") -> BranchState:
        """The state of a branch after a look."""
        return self.judge(name)[1]


@pytest.fixture(scope="module")
def with_main(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    """A repository with one commit on `main`."""
    made = Repository(tmp_path_factory.mktemp("made"))
    made.git("init", "-q")
    made.commit("a.py", "a = 1\n")
    return made


@pytest.fixture(scope="module")
def with_topic(tmp_path_factory: pytest.TempPathFactory, with_main: Repository) -> Repository:
    """A repository with a branch `topic` that has two commits of its own and is not checked out."""
    made = Repository(tmp_path_factory.mktemp("made")).become(with_main)
    made.git("switch", "-q", "-c", "topic")
    made.commit("queue/redis.py", "redis = 1\n")
    made.commit("a.py", "a = 2\n")
    made.git("switch", "-q", "main")
    return made


@pytest.fixture
def repository(tmp_path: Path, with_main: Repository) -> Repository:
    return Repository(tmp_path / "work").become(with_main)


@pytest.fixture
def topic(repository: Repository, with_topic: Repository) -> Repository:
    return repository.become(with_topic)


# --- what became of a branch


def test_a_branch_with_commits_of_its_own_is_open(topic):
    fate, state = topic.judge()
    assert (fate, state.ahead, state.gone) == ("open", True, False)
    assert state.tip == topic.git("rev-parse", "topic").strip()


def test_a_new_branch_stands_on_a_merged_commit_and_is_open_all_the_same(repository):
    repository.git("switch", "-q", "-c", "topic")
    fate, state = repository.judge()
    assert (fate, state.ahead) == ("open", False)
    repository.git("switch", "-q", "main")
    repository.commit("b.py", "b = 1\n")
    assert repository.judge(before=state)[0] == "open"


@pytest.mark.parametrize("looked", [True, False])
@pytest.mark.parametrize("how", [("--no-ff",), ("--ff-only",)])
def test_a_merged_branch_is_known_whether_or_not_it_was_looked_at_before(topic, how, looked):
    before = topic.seen() if looked else UNSEEN
    topic.git("merge", "-q", *how, "topic")
    assert topic.judge(before=before)[0] == "merged"


def test_a_merged_branch_that_is_deleted_is_merged(topic):
    before = topic.seen()
    topic.git("merge", "-q", "--no-ff", "-m", "Bring it in", "topic")
    topic.git("branch", "-q", "-D", "topic")
    assert topic.judge(before=before)[0] == "merged"
    assert topic.judge()[0] == "merged"  # by the log of HEAD alone


@pytest.mark.parametrize("gone", [False, True])
def test_a_squashed_branch_is_merged_where_the_files_stand_as_it_left_them(topic, gone):
    before = topic.seen()
    topic.commit("other.py", "other = 1\n")
    topic.git("merge", "-q", "--squash", "topic")
    topic.git("commit", "-q", "-m", "Use another queue (#12)")
    topic.commit("a.py", "a = 3\n")  # a file of the branch goes on changing
    if gone:
        topic.git("branch", "-q", "-D", "topic")
    assert topic.judge(before=before)[0] == "merged"


def test_a_branch_that_removes_and_moves_files_is_compared_by_them(repository):
    repository.commit("old/one.py", "one = 1\n")
    repository.git("switch", "-q", "-c", "topic")
    repository.git("mv", "old", "new")
    repository.git("rm", "-q", "a.py")
    repository.git("commit", "-q", "-m", "Move")
    repository.git("switch", "-q", "main")
    repository.commit("other.py", "other = 1\n")
    assert repository.judge()[0] == "open"
    repository.git("merge", "-q", "--squash", "topic")
    repository.git("commit", "-q", "-m", "Squash")
    assert repository.judge()[0] == "merged"


def test_a_branch_that_was_reset_or_made_anew_is_not_taken_for_merged(topic):
    before = topic.seen()
    topic.git("switch", "-q", "topic")
    topic.git("reset", "-q", "--hard", "main")
    assert topic.judge(before=before)[0] == "open"
    topic.git("switch", "-q", "main")
    topic.git("branch", "-q", "-D", "topic")
    topic.git("switch", "-q", "-c", "topic")
    fate, state = topic.judge(before=before)
    assert (fate, state.ahead) == ("open", False)
    topic.commit("b.py", "b = 1\n")
    topic.git("switch", "-q", "main")
    topic.git("merge", "-q", "topic")
    assert topic.judge(before=state)[0] == "merged"


def test_half_of_a_branch_is_no_merge(topic):
    topic.git("checkout", "-q", "topic", "--", "a.py")
    topic.git("commit", "-q", "-m", "Take a part")
    assert topic.judge()[0] == "open"


def test_a_rebased_branch_is_merged(topic):
    topic.commit("other.py", "other = 1\n")
    topic.git("cherry-pick", "main..topic")
    assert topic.judge()[0] == "merged"


def test_a_branch_that_is_gone_is_gone_and_what_was_never_here_is_unknown(topic):
    before = topic.seen()
    topic.git("branch", "-q", "-D", "topic")
    fate, state = topic.judge(before=before)
    assert (fate, state.gone) == ("gone", True)
    assert topic.judge(before=state) == ("gone", state)  # nothing is walked again
    assert topic.judge("elsewhere") == ("unknown", UNSEEN)
    other = replace(before, folder="/another/.git")
    assert topic.judge("elsewhere", other) == ("unknown", other)


@pytest.mark.parametrize(
    "message",
    ["Merge branch 'topic'", "Merge branch 'topic' into 'main'", "Merge pull request #7 from ana/topic"],
)
def test_a_later_commit_that_names_the_merge_is_believed_of_a_branch_that_is_gone(topic, message):
    before = topic.seen()
    since_s = NOW // 1000 + 100_000
    topic.git("branch", "-q", "-D", "topic")
    topic.git("commit", "-q", "--allow-empty", "-m", message)
    assert topic.judge(before=before, since_s=since_s)[0] == "gone"  # an earlier branch of that name
    assert topic.judge(before=before)[0] == "merged"


@pytest.mark.parametrize("message", ["Merge branch 'topic2'", "Talk of Merge branch 'topic'", "topic"])
def test_other_commits_name_no_merge(topic, message):
    before = topic.seen()
    topic.git("branch", "-q", "-D", "topic")
    topic.git("commit", "-q", "--allow-empty", "-m", message)
    assert topic.judge(before=before)[0] == "gone"


def test_packed_references_and_objects_are_read(topic):
    before = topic.seen()
    topic.git("merge", "-q", "--no-ff", "-m", "Bring it in", "topic")
    topic.git("gc", "-q")
    topic.git("pack-refs", "--all")
    assert topic.judge(before=before)[0] == "merged"
    assert topic.judge()[0] == "open"  # git has let go of the old lines of its log, and nobody had looked


def test_of_a_shallow_clone_nothing_follows(topic, tmp_path):
    for number in range(3):
        topic.commit("b.py", f"b = {number}\n")
    shallow = tmp_path / "shallow"
    subprocess.run(
        ["git", "clone", "-q", "--depth", "1", "--no-single-branch", topic.root.as_uri(), str(shallow)],
        check=True,
        capture_output=True,
    )
    tree = work_tree_of(shallow.resolve())
    assert tree is not None
    assert BranchHistory(tree).judge("topic", UNSEEN, since_s=0)[0] == "unknown"


def test_clocks_that_go_wrong_by_hours_change_nothing(repository):
    repository.git("switch", "-q", "-c", "topic")
    repository.second += 20_000
    repository.commit("b.py", "b = 1\n")
    repository.second -= 20_000
    repository.git("switch", "-q", "main")
    before = repository.seen()
    repository.git("merge", "-q", "--no-ff", "-m", "Bring it in", "topic")
    for number in range(3):
        repository.commit("c.py", f"c = {number}\n")
    assert before.ahead
    assert repository.judge(before=before)[0] == "merged"


def test_histories_without_a_common_commit_are_open(repository):
    repository.git("switch", "-q", "--orphan", "topic")
    repository.commit("b.py", "b = 1\n")
    assert repository.judge()[0] == "open"


def test_the_log_of_a_work_tree_tells_of_its_branch(topic, tmp_path):
    other = tmp_path / "other"
    topic.git("worktree", "add", "-q", str(other), "topic")
    tree = work_tree_of(other.resolve())
    assert tree is not None
    assert BranchHistory(tree).folder == str(topic.root.resolve() / ".git")
    assert BranchHistory(tree).judge("topic", UNSEEN, since_s=0)[0] == "open"


def test_a_renamed_branch_is_followed_by_its_log(topic):
    topic.git("branch", "-m", "topic", "team/new-name")
    history = BranchHistory(topic.tree)
    assert history.new_name_of("topic") == "team/new-name"
    assert history.new_name_of("team/new-name") == ""
    assert history.new_name_of("never") == ""


def test_what_a_branch_made_from_another_holds(topic):
    tip = topic.git("rev-parse", "topic").strip()
    topic.git("switch", "-q", "-c", "later", "topic")
    topic.commit("b.py", "b = 1\n")
    history = BranchHistory(topic.tree)
    assert tip in history.own_commits(commit_at(topic.tree, "later"))
    assert history.own_commits(commit_at(topic.tree, "main")) == frozenset()


@pytest.mark.parametrize("how", ["shared", "old index", "alternates and packs"])
def test_every_way_in_which_git_keeps_objects_is_read(topic, tmp_path, how):
    before = topic.seen()
    topic.git("merge", "-q", "--no-ff", "-m", "Bring it in", "topic")
    if how == "old index":
        topic.git("-c", "pack.indexVersion=1", "repack", "-q", "-a", "-d")
        assert topic.judge(before=before)[0] == "merged"
        return
    if how == "alternates and packs":
        topic.git("gc", "-q")
    clone = tmp_path / "clone"
    topic.git("clone", "-q", "--shared", str(topic.root), str(clone))
    tree = work_tree_of(clone.resolve())
    assert tree is not None
    assert BranchHistory(tree).judge("topic", replace(before, folder=""), since_s=0)[0] == "merged"


# --- a statement of a branch beside others


def stated(content: str, name: str, *, at: int = 20, branch: LearnedOn | None = None, **fields) -> Memory:
    provenance = Provenance(
        tier=TrustTier.USER, source="session", host="h", session_id=f"s-{name}", span=content
    )
    return sample(
        content,
        id=f"mem_{name}",
        kind="decision",
        scope=SCOPE,
        at_ms=at,
        branch=branch,
        provenance=provenance,
        **fields,
    )


def decide(new: Memory, *old: Memory):
    return reconcile(new, [Neighbor(memory=m, cosine=0.6) for m in old])


def test_on_a_branch_nothing_ends_that_holds_elsewhere():
    old = stated(OLD, "old", at=10)
    assert isinstance(decide(stated(NEW, "new"), old), Supersede)
    change = decide(stated(NEW, "new", branch=HERE), old)
    assert isinstance(change, Add)
    assert change.memory.branch == replace(HERE, replaces=("mem_old",))


def test_within_a_branch_a_later_statement_replaces_an_earlier_one():
    old = stated(OLD, "old", at=10, branch=HERE)
    assert isinstance(decide(stated(NEW, "new", branch=HERE), old), Supersede)


@pytest.mark.parametrize("branch", [None, LearnedOn(name="another")])
def test_what_is_said_elsewhere_is_not_compared_with_a_branch(branch):
    old = stated(OLD, "old", at=10, branch=HERE)
    assert isinstance(decide(stated(NEW, "new", branch=branch), old), Add)
    assert isinstance(decide(stated(OLD, "new", branch=branch), old), Add)


def test_what_the_project_has_already_is_only_counted():
    change = decide(stated(OLD, "new", branch=HERE), stated(OLD, "old", at=10))
    assert isinstance(change, Merge)
    assert (change.memory.id, change.memory.branch) == ("mem_old", None)


def test_the_users_word_for_what_an_import_says_leaves_it_to_all_branches():
    old = replace(stated(OLD, "old", at=10), provenance=Provenance(tier=TrustTier.IMPORT, source="README.md"))
    change = decide(stated(OLD, "new", branch=HERE), old)
    assert isinstance(change, Merge)
    assert change.memory.branch is None


def test_what_is_named_as_replaced_is_replaced_on_the_branch():
    old, here, elsewhere = (
        stated(OLD, "old", at=10),
        stated("One", "here", at=10, branch=HERE),
        stated("Two", "else", at=10, branch=LearnedOn(name="x")),
    )
    (change,) = replace_named(stated(NEW, "new", branch=HERE), [old, here, elsewhere], spoken_of=())
    assert isinstance(change, Supersede)
    assert (change.old_id, change.further, change.contested) == ("mem_here", (), ())
    assert change.memory.branch == replace(HERE, replaces=("mem_old",))
    (change,) = replace_named(stated(NEW, "new", branch=HERE), [old], spoken_of=())
    assert isinstance(change, Add)


def test_replaced_by_names_what_holds_no_more_on_each_branch():
    mark = replace(HERE, replaces=("mem_b", "mem_a"))
    memories = [
        stated(NEW, "new", branch=mark),
        stated(OLD, "old"),
        stated("x", "gone", branch=mark, status="retired"),
    ]
    assert replaced_by(memories) == {"shop-1": {"topic": ("mem_a", "mem_b")}}


# --- the write path


@pytest.fixture
def store() -> SqliteStore:
    return SqliteStore.temporary(clock=FakeClock(now_ms=NOW + 10**7))  # after all that is said here


@pytest.fixture
def project(repository: Repository) -> ProjectRecord:
    return ProjectRecord(id="shop-1", name="shop", root=str(repository.root.resolve()))


def draft(content: str, *, kind: str = "decision", scope=SCOPE, **fields) -> Draft:
    provenance = Provenance(tier=TrustTier.USER, source="cli", span=content)
    return Draft(
        content=content, kind=kind, scope=scope, provenance=provenance, at_ms=0, explicit=True, **fields
    )


def listed(store: SqliteStore, **where) -> dict[str, Memory]:
    filters = MemoryFilter(**{"statuses": None, **where})
    return {m.content: m for m in store.list_memories(filters, scope=store.scopes(), limit=100)}


@pytest.mark.parametrize(
    ("content", "name", "bound"),
    [
        ("On this branch the worker reads from a stream.", "topic", True),
        ("In diesem Branch läuft der Worker mit Streams.", "topic", True),
        ("On feat/stream-worker we read from a stream.", "feat/stream-worker", True),
        ("We read from a stream in `feat/stream-worker`.", "feat/stream-worker", True),
        ("The topic branch reads from a stream.", "topic", True),
        ("The branch topic reads from a stream.", "topic", True),
        ("The worker reads from a stream.", "topic", False),
        ("We charge a fee on payments.", "payments", False),
        ("Stay on topic in answers.", "topic", False),
        ("On feat/stream-worker-2 we read from a stream.", "feat/stream-worker", False),
        ("On feat/other we read from a stream.", "feat/stream-worker", False),
        ("Delete this branch after the merge.", "topic", False),
        ("Run make seed before each push.", "feat", False),
    ],
)
def test_only_what_names_the_branch_is_bound_whatever_its_kind(store, content, name, bound):
    branch = LearnedOn(name=name, commit="a" * 40)
    pipeline = make_pipeline(store, FakeClock(now_ms=NOW))
    for kind in ("decision", "fact", "file_context", "outcome", "preference", "error_pattern"):
        said = content.replace(".", f" ({kind}).")
        pipeline.store_drafts([draft(said, kind=kind, branch=branch)])
        assert (listed(store)[said].branch == branch) is bound, kind


def test_what_holds_in_all_projects_is_bound_to_no_branch(store):
    made = draft("On this branch we squash.", scope=UNIVERSAL, branch=HERE)
    make_pipeline(store, FakeClock(now_ms=NOW)).store_drafts([made])
    assert listed(store)["On this branch we squash."].branch is None


def test_where_the_setting_is_off_nothing_is_bound(store):
    pipeline = make_pipeline(store, FakeClock(now_ms=NOW), settings=CaptureSettings(branches=False))
    pipeline.store_drafts([draft("On this branch X is Y.", branch=HERE)])
    assert listed(store)["On this branch X is Y."].branch is None


def look(store: SqliteStore, project: ProjectRecord, at: int = NOW + 60_000):
    return make_pipeline(store, FakeClock(now_ms=at)).look_at_branches(project)


def learn(store: SqliteStore, *contents: str, branch: LearnedOn | None = HERE, at: int = NOW + 10, **fields):
    pipeline = make_pipeline(store, FakeClock(now_ms=at))
    for content in contents:
        pipeline.store_drafts([draft(content, branch=branch, **fields)])


def replace_old(store: SqliteStore) -> None:
    """State `OLD` everywhere, then `SAID` in its place on the branch."""
    learn(store, OLD, branch=None, at=NOW)
    pipeline = make_pipeline(store, FakeClock(now_ms=NOW + 10))
    pipeline.store_in_place(draft(SAID, branch=HERE), [listed(store)[OLD]], spoken_of=())


def test_a_merge_ends_what_the_branch_replaced_and_says_why(store, project, topic):
    replace_old(store)
    assert BRANCHES.read(store, "shop-1")["topic"].replaced == (listed(store)[OLD].id,)
    assert look(store, project).changes == ()
    topic.git("merge", "-q", "--no-ff", "topic")
    look(store, project)
    old, new = listed(store)[OLD], listed(store)[SAID]
    assert (old.status, old.validity.superseded_by) == ("superseded", new.id)
    assert (new.status, new.branch) == ("active", None)
    newest = store.recorded(scope=store.scopes(), limit=1, memory_id=new.id)[0]
    assert newest.reason.cause is ChangeCause.BRANCH_MERGED
    assert newest.reason.terms == ("topic",)
    assert BRANCHES.read(store, "shop-1") == {}
    linked = [(r.source_id, r.target_id, r.type) for r in store.relations([new.id], scope=store.scopes())]
    assert (new.id, old.id, "updates") in linked
    assert look(store, project).changes == ()


def test_a_merge_joins_what_the_project_says_already(store, project, topic):
    learn(store, SAID)
    learn(store, SAID, branch=None, at=NOW + 90_000)
    assert len(store.list_memories(MemoryFilter(), scope=store.scopes(), limit=9)) == 2
    topic.git("merge", "-q", "--no-ff", "topic")
    look(store, project, at=NOW + 200_000)
    (left,) = store.list_memories(MemoryFilter(), scope=store.scopes(), limit=9)
    assert left.branch is None


def test_a_merge_asks_where_the_default_branch_has_said_otherwise_since(store, project, topic):
    learn(store, SAID)
    learn(store, "We no longer use Redis for the job queue", branch=None, at=NOW + 90_000)
    topic.git("merge", "-q", "--no-ff", "topic")
    look(store, project, at=NOW + 200_000)
    assert {m.status for m in listed(store).values()} == {"active"}
    assert listed(store)[SAID].branch is None


def test_a_branch_that_is_gone_asks_of_what_stands_and_lets_the_rest_fade(store, project, topic):
    learn(store, SAID)
    learn(store, "On this branch the queue was moved in one step.", kind="outcome", at=NOW + 20)
    look(store, project)
    topic.git("branch", "-q", "-D", "topic")
    look(store, project)
    after = listed(store)
    assert (after[SAID].status, after[SAID].branch.gone) == ("quarantined", True)
    told = after["On this branch the queue was moved in one step."]
    assert (told.status, told.branch.gone) == ("active", False)
    assert look(store, project).changes == ()
    topic.git("switch", "-q", "-c", "topic")
    look(store, project)
    assert (listed(store)[SAID].status, listed(store)[SAID].branch.gone) == ("active", False)


def test_a_branch_that_was_asked_about_and_turns_out_to_be_merged_needs_no_answer(store, project, topic):
    learn(store, SAID)
    look(store, project)
    tip = topic.git("rev-parse", "topic").strip()
    topic.git("branch", "-q", "-D", "topic")
    look(store, project)
    assert listed(store)[SAID].status == "quarantined"
    topic.git("merge", "-q", "--no-ff", "-m", "Bring it in", tip)
    look(store, project)
    assert (listed(store)[SAID].status, listed(store)[SAID].branch) == ("active", None)


def test_an_agents_word_goes_on_waiting_after_the_merge(store, project, topic):
    pipeline = make_pipeline(store, FakeClock(now_ms=NOW))
    word = replace(
        draft(SAID, branch=HERE), provenance=Provenance(tier=TrustTier.IMPORT, source="mcp"), explicit=False
    )
    pipeline.store_drafts([word])
    topic.git("merge", "-q", "--no-ff", "topic")
    look(store, project)
    assert (listed(store)[SAID].status, listed(store)[SAID].branch) == ("quarantined", None)


def test_another_clone_of_the_repository_asks_nothing(store, project, topic, tmp_path):
    learn(store, SAID)
    look(store, project)
    clone = tmp_path / "clone"
    subprocess.run(
        ["git", "clone", "-q", "--single-branch", str(topic.root), str(clone)],
        check=True,
        capture_output=True,
    )
    assert look(store, replace(project, root=str(clone.resolve()))).changes == ()
    assert listed(store)[SAID].status == "active"


def test_a_renamed_branch_takes_its_memories_along(store, project, topic):
    replace_old(store)
    look(store, project)
    topic.git("branch", "-m", "topic", "renamed")
    look(store, project)
    assert listed(store)[SAID].branch.name == "renamed"
    (state,) = BRANCHES.read(store, "shop-1").values()
    assert state.ahead
    assert state.replaced == (listed(store)[OLD].id,)


def test_what_the_user_took_back_stays_as_they_left_it(store, project, topic):
    learn(store, SAID)
    topic.git("merge", "-q", "--no-ff", "topic")
    look(store, project)
    bound = replace(listed(store)[SAID], branch=HERE)
    store.apply([Rewrite(memory=bound, reason=ChangeReason(cause=ChangeCause.UNDONE))])
    assert look(store, project).changes == ()
    assert listed(store)[SAID].branch == HERE


def test_without_a_default_branch_or_git_nothing_is_looked_at(store, project, topic, tmp_path):
    learn(store, SAID)
    topic.git("branch", "-m", "main", "work")
    assert look(store, project).changes == ()
    assert look(store, replace(project, root=str(tmp_path))).changes == ()
    assert listed(store)[SAID].branch == HERE


def test_other_projects_are_left_alone(store, project, topic):
    other = project_scope("other-1")
    learn(store, SAID, scope=other)
    topic.git("merge", "-q", "--no-ff", "topic")
    look(store, project)
    (only,) = store.list_memories(MemoryFilter(), scope=ScopeFilter.of(other), limit=5)
    assert only.branch == HERE
