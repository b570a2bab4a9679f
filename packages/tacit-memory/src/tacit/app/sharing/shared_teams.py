"""Sharing with teams through a server. In: memories to share, decisions on requests, changes from the server. Out: requests, changes in the store.

Nothing is shared unless the user asks for it. Memories that must not leave (with secrets, of one session, restricted) are refused here, before the
server is asked. `Syncing` calls `take_over` at each exchange, which brings in what reviewers accepted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol, TypeVar

from tacit.app.admin.purging import Purger
from tacit.app.sharing.team import require_shareable
from tacit.app.values import OpenStore
from tacit.capture.shared_memories import shared_memory_like
from tacit.errors import InvalidInput, NotFound, NotPermitted, SyncError, TacitError
from tacit.model.change_reason import ChangeCause
from tacit.model.ids import ids_abbreviated_by
from tacit.model.memory import Memory, TrustTier, team_source
from tacit.model.scope import ScopeKind
from tacit.model.shared import (
    TEAM,
    Decision,
    SharedMemory,
    SharedStatement,
    ShareRequest,
    TeamChanges,
    TeamMembership,
    may,
)
from tacit.ports.store import MemoryFilter, Store
from tacit.reading.when import stated_when
from tacit.state.captured import TeamState
from tacit.state.registry import TEAM_PURGES, TEAMS, TEAMS_HEARD
from tacit.sync.team_server import TeamServer
from tacit.sync.views import KnownTeam

if TYPE_CHECKING:
    from tacit.capture.pipeline import CapturePipeline

PAGE = 200
HOUR_MS = 3_600_000
MOST_PAGES = 5_000
"""Most pages of one team in one exchange, so that a server that sends pages without end cannot delay everything else for long."""
MAX_CURSOR = 200
MOST_TEAMS = 1_000
_ASK_OPERATOR = "Ask whoever runs the server, or `tacit logout`."
_T = TypeVar("_T")


class Asking(Protocol):
    """Asks the server on behalf of this home; raises `InvalidInput` if the home is not logged in."""

    def __call__(self, ask: Callable[[TeamServer], _T]) -> _T:
        """Call `ask` with a connection to the server and return its result."""
        ...


class SharedTeams:
    """Shares memories with the teams of this home's user through a server, and takes over what teams share."""

    def __init__(
        self, opened: OpenStore, *, capture: CapturePipeline, purger: Purger, asking: Asking
    ) -> None:
        """Share memories of the open store, asking the server through `asking`."""
        self._parts, self._projects = opened.parts, opened.projects
        self._capture = capture
        self._purger = purger
        self.asking = asking

    # --- sharing

    def teams(self) -> tuple[TeamMembership, ...]:
        """Ask the server for the teams of the user."""
        return self.asking(lambda server: server.teams())

    def known(self) -> tuple[KnownTeam, ...]:
        """Return the teams of the user by name, as this home knows them; does not ask the server."""
        store = self._parts.store
        everything = store.scopes()
        theirs = tuple(
            tier for tier in TrustTier if tier is not TrustTier.USER
        )  # the user made memories of the tier USER their own
        found: list[KnownTeam] = []
        for team, state in sorted(TEAMS.read(store).items()):
            own = tuple(sorted(set(state.own.values())))
            where = MemoryFilter(source=team_source(team), tiers=theirs)
            count = store.count_memories(where, scope=everything) + len(own)
            found.append(
                KnownTeam(
                    team=team,
                    role=state.role,
                    name=state.name,
                    memories=count,
                    own=own,
                    lost=active_lost(store, state),
                )
            )
        return tuple(found)

    def ask(self, memory: Memory, *, team: str = "") -> ShareRequest:
        """Send the request to share a memory with a team, and return it; another member decides.

        If nobody else may decide, it is accepted at once, unless the server warns of its words or the team shares something
        similar: then the user looks first. A project that no team has comes to the team of the administrator who shares from it.

        Args:
            memory: an active memory of a project, of a language, or a universal one.
            team: the team to share it with; "" = the team of its project, or the only team that the user may share with.

        Raises:
            InvalidInput: the memory cannot be shared, or `team` is "" and there is not exactly one such team.
            RefusedByTrust: it is restricted, or limited to one session.
            RefusedByRedaction: it holds a secret.
            NotPermitted: the user's role in the team does not allow it.
        """
        require_shareable(memory, redactor=self._parts.redactor.at(memory.scope))
        if (theirs := memory.provenance.team) and not self._is_lost(theirs, memory.id):
            raise InvalidInput(
                f"{memory.id} came from {memory.provenance.team}.", hint="It is already shared."
            )
        statement = self._statement(memory)

        def ask(server: TeamServer) -> ShareRequest:
            teams = server.teams()
            chosen = team or _team_for(statement, teams)
            manages = any(each.team == chosen and may(each.role, "admin") for each in teams)
            if statement.remote and manages and not _owners(statement, teams):
                server.put_project(chosen, statement.remote)
            asked = server.ask_to_share(chosen, statement, mark=server.mark(memory))
            if asked.decidable and not (asked.warning or asked.near):
                return server.decide(chosen, asked.id, "accept")
            return asked

        return self.asking(ask)

    def _is_lost(self, team: str, memory_id: str) -> bool:
        state = TEAMS.read(self._parts.store).get(team)
        return state is not None and memory_id in state.lost

    def unshare(self, memory: Memory, *, purge: bool = False) -> SharedMemory:
        """Stop all teams of the user from sharing a memory, on the server; return the shared memory.

        Args:
            memory: a memory that came from a team, or the user's own memory that says the same as a shared one.
            purge: whether to remove the shared memory completely, with its history.

        Raises:
            NotFound: no team shares it.
            NotPermitted: the user is neither its author nor a reviewer.
        """
        known = TEAMS.read(self._parts.store).items()
        shared_as = [
            (team, shared)
            for team, state in known
            if (
                shared := memory.id
                if memory.provenance.team == team
                else shared_memory_like((state,), memory.id)
            )
        ]
        refused: TacitError = NotFound(
            f"No team on a server shares {memory.id}.",
            hint="If it was accepted just now, run `tacit devices sync` first. If it was accepted with other words, these have an id of their own in `tacit list`. `tacit share ID --git --stop` removes a file.",
        )
        done: SharedMemory | None = None
        for team, shared in shared_as:  # several teams may share what the user's own memory says
            try:
                done = self.asking(
                    lambda server, team=team, shared=shared: server.unshare(team, shared, purge=purge)
                )
                if purge:
                    self._note_purged((shared,))
            except (NotFound, NotPermitted) as error:
                refused = error
        if done is None:
            raise refused
        return done

    def requests(self, team: str = "", *, every: bool = False) -> tuple[ShareRequest, ...]:
        """Ask the server for the waiting requests of a team ("" = of all the user's teams); with `every`, decided ones, too."""

        def ask(server: TeamServer) -> tuple[ShareRequest, ...]:
            teams = (team,) if team else tuple(each.team for each in server.teams())
            return tuple(request for each in teams for request in server.requests(each, every=every))

        return self.asking(ask)

    def decide(
        self,
        request_id: str,
        decision: Decision,
        *,
        content: str = "",
        replaces: Sequence[str] = (),
        comment: str = "",
    ) -> ShareRequest:
        """Accept, refuse or withdraw a waiting request on the server, and return it.

        Args:
            request_id: its id, or the beginning or the ending of the id.
            decision: what to do.
            content: other words to share instead; "" = the words of the request.
            replaces: ids of shared memories that it replaces.
            comment: the reason, for its author.

        Raises:
            NotFound: no waiting request is called so, or several are.
            NotPermitted: the user may not decide on it.
        """

        def ask(server: TeamServer) -> ShareRequest:
            waiting = {
                request.id.removeprefix("req_"): request
                for each in server.teams()
                for request in server.requests(each.team)
            }
            called = ids_abbreviated_by(request_id.removeprefix("req_"), waiting)
            if len(called) != 1:
                what = "No waiting request is" if not called else f"{len(called)} waiting requests are"
                raise NotFound(f"{what} called {request_id!r}.", hint="`tacit team requests` lists them.")
            found = waiting[called[0]]
            return server.decide(
                found.team, found.id, decision, content=content, replaces=replaces, comment=comment
            )

        return self.asking(ask)

    def remote_of(self, cwd: str) -> str:
        """Return the canonical name of the git remote of a folder's project.

        Raises:
            InvalidInput: it has no git remote.
        """
        project = self._projects.of(cwd)
        if project is None or not project.remote:
            raise InvalidInput(
                f"{cwd} has no git remote.", hint="Only projects with one can be shared through a server."
            )
        return project.remote

    # --- taking over

    def take_over(self, server: TeamServer) -> int:
        """Bring this home up to date with the user's teams.

        Take over changes, purge what they purged, and end what came from teams that the user left. Return how
        many memories changed, without purged ones.

        Raises:
            SyncError: the server cannot be reached or refuses. Changes that were taken over before stay.
        """
        teams = server.teams_if_any()
        if teams is None:
            return 0
        joined = {each.team: each for each in teams if TEAM.fullmatch(each.team)}
        if len(joined) > MOST_TEAMS:
            raise SyncError(
                f"The server says that you are in {len(joined)} teams; Tacit follows at most {MOST_TEAMS}.",
                hint=_ASK_OPERATOR,
            )
        left = tuple(team for team in TEAMS.read(self._parts.store) if team not in joined)
        changed = self._leave(left) + sum(self._follow(server, membership) for membership in joined.values())
        self.note_contact()
        return changed

    def note_contact(self) -> None:
        """Store that the server answered now, at most once an hour and only in a team; recall marks shared memories whose last contact is long ago."""
        now_ms = self._parts.clock.now_ms()
        if abs(now_ms - TEAMS_HEARD.read(self._parts.store)) >= HOUR_MS and TEAMS.read(self._parts.store):
            TEAMS_HEARD.write(self._parts.store, now_ms)

    def leave_all(self) -> int:
        """End everything that came from teams, because this home is logged out; return how many memories ended."""
        return self._leave(tuple(TEAMS.read(self._parts.store)))

    def _leave(self, teams: Sequence[str]) -> int:
        shared, now_ms = self._capture.shared_memories(), self._parts.clock.now_ms()
        return sum(shared.leave(team, cause=ChangeCause.TEAM_LEFT, now_ms=now_ms) for team in teams)

    def _follow(self, server: TeamServer, membership: TeamMembership) -> int:
        shared = self._capture.shared_memories()
        changed = 0
        for _ in range(MOST_PAGES):
            before = TEAMS.read(self._parts.store).get(membership.team) or TeamState()
            page = server.changes(membership.team, after=before.cursor, limit=PAGE)
            if len(page.memories) + len(page.purged) > PAGE or len(page.cursor) > MAX_CURSOR:
                raise SyncError(
                    f"The server sent more changes of {membership.team} than it was asked for.",
                    hint=_ASK_OPERATOR,
                )
            state = replace(before, role=membership.role, name=membership.name, until_ms=membership.until_ms)
            if theirs := self._theirs(membership.team, page.purged):
                self._note_purged(theirs)
                self._purger.purge(self._purger.still_there(theirs), dry_run=False)
            self._purge_again(server, membership.team, page)
            if page.anew or page.cursor != before.cursor or state != before:
                now_ms = self._parts.clock.now_ms()
                done = shared.take_over(membership.team, page, state, author=server, now_ms=now_ms)
                lost = TEAMS.read(self._parts.store)[membership.team].lost
                changed += len(done) + len({*before.lost} ^ {*lost})
            if not page.more or page.cursor == before.cursor:
                return changed
        raise SyncError(
            f"The changes of {membership.team} do not come to an end; those that came so far were taken over.",
            hint=_ASK_OPERATOR,
        )

    def _note_purged(self, memory_ids: Sequence[str]) -> None:
        known = TEAM_PURGES.read(self._parts.store)
        TEAM_PURGES.write(self._parts.store, tuple(dict.fromkeys((*known, *memory_ids))))

    def _purge_again(self, server: TeamServer, team: str, page: TeamChanges) -> None:
        """Purge memories on the server that the team had purged before. They are there again if the server was restored from an older backup.

        The server allows it to the author of a memory and to reviewers. Another member's device does without these memories itself.
        """
        purged = set(TEAM_PURGES.read(self._parts.store))
        for memory_id in dict.fromkeys(memory.id for memory in page.memories if memory.id in purged):
            with suppress(NotFound, NotPermitted):
                server.unshare(team, memory_id, purge=True)

    def _theirs(self, team: str, memory_ids: Sequence[str]) -> tuple[str, ...]:
        """Return those of `memory_ids` that still belong to the team. Left out are those that the user made their own or another team shares."""
        found = self._parts.store.get(memory_ids, scope=self._parts.store.scopes())
        return tuple(memory.id for memory in found if memory.provenance.team == team)

    def _statement(self, memory: Memory) -> SharedStatement:
        scope, remote = str(memory.scope), ""
        if memory.scope.kind is ScopeKind.PROJECT and not memory.scope.task:
            project = next(
                (each for each in self._parts.store.projects() if each.id == memory.scope.project_id), None
            )
            if project is None or not project.remote:
                raise InvalidInput(
                    f"The project of {memory.id} has no git remote.",
                    hint="Only projects with one can be shared through a server.",
                )
            scope, remote = "project", project.remote
        elif memory.scope.kind not in (ScopeKind.UNIVERSAL, ScopeKind.LANGUAGE):
            raise InvalidInput(
                f"{memory.id} has the scope {memory.scope}, which is not shared.",
                hint=f"`tacit edit {memory.id} --scope project` moves it first.",
            )
        return SharedStatement(
            content=memory.content,
            kind=memory.kind,
            scope=scope,
            remote=remote,
            when=stated_when(memory.trigger),
            files=memory.files,
            tier=memory.provenance.tier.name.lower(),
            said_at_ms=memory.validity.valid_from_ms,
        )


def active_lost(store: Store, state: TeamState) -> tuple[str, ...]:
    """Return the ids of the lost memories of a team that still hold here."""
    found = store.get(state.lost, scope=store.scopes()) if state.lost else ()
    return tuple(memory.id for memory in found if memory.status == "active")


def _team_for(statement: SharedStatement, teams: Sequence[TeamMembership]) -> str:
    """Return the team of the statement's project. Without one, return the only team that the user may share with, or may give the project to.

    Raises:
        InvalidInput: there is no such team, or several.
    """
    if owners := _owners(statement, teams):
        return min(owners)
    needed = "admin" if statement.remote else "writer"
    fitting = [each.team for each in teams if may(each.role, needed)]
    if not teams:
        raise InvalidInput(
            "You are in no team on the server.", hint="An administrator of a team has to add you."
        )
    if statement.remote and not fitting:
        raise InvalidInput(
            f"No team of yours has the project {statement.remote}.",
            hint="An administrator of a team can add it with `tacit team members TEAM --project` in its folder.",
        )
    if len(fitting) != 1:
        names = ", ".join(fitting) or "none"
        raise InvalidInput(
            "Name the team to share it with.", hint=f"Use --with TEAM. You may share with: {names}."
        )
    return fitting[0]


def _owners(statement: SharedStatement, teams: Sequence[TeamMembership]) -> frozenset[str]:
    """Return the teams that have the statement's project; empty if it belongs to none."""
    projects = (project for each in teams for project in each.projects)
    return frozenset(each.team for each in projects if statement.remote and each.remote == statement.remote)
