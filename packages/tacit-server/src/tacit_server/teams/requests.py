"""What teams share, in PostgreSQL: share requests, decisions of other members, shared memories, searches. In: requests of principals. Out: views.

Only its author and those who may decide see a request that waits. When it is accepted, the statement becomes a memory in the store of the team. That store
decides for everybody what becomes of the memory: devices apply its states and reconcile nothing. See `statements` for what is refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import msgspec

from tacit.errors import (
    InvalidInput,
    InvalidPayload,
    NotFound,
    NotPermitted,
    ProviderError,
)
from tacit.model.change_reason import ChangeCause, ChangeReason
from tacit.model.changes import Add, Change, Retire, Supersede
from tacit.model.evidence import Hit, Ranking
from tacit.model.ids import SHORT_ID, new_id
from tacit.model.memory import Memory
from tacit.model.scope import UNIVERSAL, ScopeKind, project_scope
from tacit.model.shared import (
    MARK_CHARS,
    Decision,
    NearMemory,
    Owned,
    RequestState,
    SharedMemory,
    SharedStatement,
    ShareRequest,
    TeamChanges,
    TeamMemory,
    organization_of,
)
from tacit.reading.memory_vectors import memory_vectors
from tacit.recall.retrieve import rrf_equal
from tacit.safety.danger import danger_from_others
from tacit.session.projects import project_id
from tacit.statements.same import canonical_text, same_statement
from tacit_server.logs import Principal
from tacit_server.postgres.feed import FeedCursor, FeedEntry, changes_after, is_known
from tacit_server.postgres.memories import QueryVector, TeamMemories, stored_memories
from tacit_server.postgres.transaction import Transaction
from tacit_server.teams.access import OTHER_DECIDERS, SERVER, Entered, decides, note, team_tenant
from tacit_server.teams.members import Members
from tacit_server.teams.statements import Reading, scope_of, shared_form, tier_of

MOST_WAITING = 200
"""At most this many requests of one author may wait in a team."""
MAX_COMMENT = 500
_MARK = re.compile(rf"[0-9a-hjkmnp-tv-z]{{{MARK_CHARS}}}")
MAX_QUERY = 2_000
MOST_LISTED = 500
"""A list holds at most this many waiting requests, and as many of the newest decided ones."""
NEAR, NEAR_COSINE = 3, 0.5
"""A request is shown with at most `NEAR` shared memories whose cosine is `NEAR_COSINE` or higher."""
MOST_COMPARED = 100
"""The first requests of a list, up to this many, are shown with the shared memories near them. Each one costs a search."""
MOST_FOUND = 50
MOST_ALIKE = 20
"""At most this many memories with the same beginning are compared with a statement."""
SEARCHED = 50
"""Hits that each arm of a search returns for one team."""

_ADD = """
    INSERT INTO share_requests (tenant, id, author, state, created_at_ms, body)
    VALUES (%(tenant)s, %(id)s, %(author)s, 'waiting', %(now_ms)s, %(body)s)"""
_COUNT = """
    SELECT count(*) FROM share_requests WHERE tenant = %(tenant)s AND author = %(author)s AND state = 'waiting'"""
_SAME = """
    SELECT id FROM share_requests
    WHERE tenant = %(tenant)s AND author = %(author)s AND state = 'waiting' AND body = %(body)s LIMIT 1"""
_COLUMNS = "id, author, state, created_at_ms, decided_by, comment, memory_id, body"
_MAY_SEE = "(author = %(principal)s OR %(reviews)s)"
"""The row-level security policy of the table states the same condition again."""
_WAITING = f"""
    SELECT {_COLUMNS} FROM share_requests WHERE tenant = %(tenant)s AND state = 'waiting' AND {_MAY_SEE}
    ORDER BY created_at_ms, id LIMIT %(limit)s"""
_DECIDED = f"""
    SELECT {_COLUMNS} FROM share_requests WHERE tenant = %(tenant)s AND state <> 'waiting' AND {_MAY_SEE}
    ORDER BY created_at_ms DESC, id DESC LIMIT %(limit)s"""
_FIND = f"""
    SELECT {_COLUMNS} FROM share_requests WHERE tenant = %(tenant)s AND id = %(id)s AND {_MAY_SEE}"""
_DECIDE = """
    UPDATE share_requests SET state = %(state)s, decided_by = %(by)s, decided_at_ms = %(now_ms)s, comment = %(comment)s,
        memory_id = %(memory_id)s, body = ''
    WHERE tenant = %(tenant)s AND id = %(id)s AND state = 'waiting'"""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Body:
    """The content of a request while it waits: the statement, and the name of its author."""

    statement: SharedStatement
    name: str


class Requests:
    """Share requests and shared memories. Safe to share between threads and processes."""

    def __init__(self, members: Members, reading: Reading) -> None:
        """Store what the teams of `members` share; `reading` reads statements."""
        self._members = members
        self._reading = reading

    # --- asking

    def ask(
        self, who: Principal, team: str, statement: SharedStatement, *, mark: str = "", now_ms: int
    ) -> ShareRequest:
        """Ask a team to share a statement. Return the request; `mark` is the beginning of its id and of that of the shared memory, see `AccountKey.mark`.

        Raises:
            InvalidInput: the statement cannot be shared, or the same request waits already; the message says why.
            RefusedByRedaction: the statement holds a secret.
            NotFound, NotPermitted: see `Access.enter`.
        """
        entered = self._members.access.enter(who, team, "writer")
        checked = replace(statement, tier=tier_of(who, statement).name.lower())
        self._require_project(team, checked)
        memory = self._reading.read(checked, author=who.account, name=entered.name)
        if self._says_already(who, team, memory):
            raise InvalidInput(
                f"{team} shares this already.",
                hint="`tacit devices sync` brings it to this device, and `tacit list` shows it.",
            )
        body = _Body(statement=replace(checked, content=memory.content), name=entered.name)
        if mark and not _MARK.fullmatch(mark):
            raise InvalidPayload("`mark` is not the mark of a request.")
        made = new_id("req", now_ms=now_ms, entropy=self._reading.clock.entropy(5))
        request_id = f"req_{mark}{made[-SHORT_ID:]}" if mark else made
        raw = msgspec.json.encode(body).decode()

        def add(transaction: Transaction) -> None:
            if transaction.number(_COUNT, {"author": who.account}) >= MOST_WAITING:
                raise InvalidInput(
                    f"{MOST_WAITING} of your requests wait in {team}.", hint="Withdraw some of them."
                )
            values = {"id": request_id, "author": who.account, "now_ms": now_ms, "body": raw}
            if waiting := transaction.rows(_SAME, values):
                raise InvalidInput(
                    f"You asked {team} to share this already, and the request {waiting[0][0]} waits.",
                    hint="`tacit team requests` lists it, and `tacit team requests --withdraw ID` takes it back.",
                )
            transaction.execute(_ADD, values)
            note(transaction, who, "asked to share", request_id, now_ms=now_ms)

        entered.database.writing(add, alone=True)
        return self._find(entered, who, request_id)

    def list(self, who: Principal, team: str, *, every: bool = False) -> tuple[ShareRequest, ...]:
        """Return the requests that wait, oldest first: the principal's own and, for those who may decide, those of everybody. `every` = decided requests as well."""
        entered = self._members.access.enter(who, team)
        values = {**_seer(entered, who), "limit": MOST_LISTED}
        rows = entered.database.reading(lambda transaction: transaction.rows(_WAITING, values))
        if every:
            decided = entered.database.reading(lambda transaction: transaction.rows(_DECIDED, values))
            rows = sorted((*rows, *decided), key=lambda row: (row[3], row[0]))
        alone = self._decides_alone(entered, who)
        return tuple(
            self._view(entered, who, row, alone=alone, compare=number < MOST_COMPARED)
            for number, row in enumerate(rows)
        )

    # --- deciding

    def decide(
        self,
        who: Principal,
        team: str,
        request_id: str,
        decision: Decision,
        *,
        content: str = "",
        replaces: Sequence[str] = (),
        comment: str = "",
        now_ms: int,
    ) -> ShareRequest:
        """Accept, refuse or withdraw a request. Return the decided request.

        Members who may write decide on the requests of others; on their own ones only while nobody else in the team could.

        Args:
            who: the principal that decides.
            team: the team that was asked.
            request_id: the id of the request.
            decision: what to do; only the author may withdraw a request.
            content: for `accept`: the words to share instead of those that were asked for; "" = the same words.
            replaces: for `accept`: ids of shared memories that the new one supersedes.
            comment: a comment for the author.
            now_ms: the current time.

        Raises:
            NotFound: `who` sees no such request, or the team does not share a memory of `replaces`.
            NotPermitted: `who` may not decide on the request.
            InvalidInput: the request was decided already, or the new words cannot be shared.
            RefusedByRedaction: the new words hold a secret.
        """
        entered = self._members.access.enter(who, team)
        request = self._find(entered, who, request_id)
        if request.state != "waiting" or request.statement is None:
            raise InvalidInput(f"{request_id} was {request.state} already.")
        if len(comment) > MAX_COMMENT:
            raise InvalidInput(f"The comment is longer than {MAX_COMMENT} characters.")
        if decision == "withdraw":
            if not request.own:
                raise NotPermitted("Only the author of a request can withdraw it.", hint="Refuse it instead.")
            return self._close(entered, who, request, "withdrawn", comment=comment, now_ms=now_ms)
        if not request.decidable:
            raise NotPermitted(
                f"You may not decide on {request_id}.",
                hint="Members who may write decide, each on the requests of others.",
            )
        if decision == "refuse":
            return self._close(entered, who, request, "refused", comment=comment, now_ms=now_ms)
        return self._accept(
            entered, who, request, content=content, replaces=replaces, comment=comment, now_ms=now_ms
        )

    def _accept(
        self,
        entered: Entered,
        who: Principal,
        request: ShareRequest,
        *,
        content: str,
        replaces: Sequence[str],
        comment: str,
        now_ms: int,
    ) -> ShareRequest:
        """Store the statement as a memory of the team and close the request, in one transaction.

        Of two decisions at the same moment only the first one counts, and nothing is shared that was withdrawn or refused.
        """
        assert request.statement is not None
        team, old = entered.team, tuple(dict.fromkeys(replaces))
        store = self._store(who, team)
        statement = replace(request.statement, content=content.strip() or request.statement.content)
        self._require_project(team, statement)  # the project may have moved to another team since the request
        memory = replace(
            self._reading.read(statement, author=request.author, name=request.name),
            id=request.id.replace("req_", "mem_", 1),
        )
        accepted = ChangeReason(cause=ChangeCause.ACCEPTED)
        change: Change = (
            Supersede(memory=memory, old_id=old[0], further=old[1:], at_ms=now_ms, reason=accepted)
            if old
            else Add(memory=memory, reason=accepted)
        )
        vectors, identity = None, None
        with suppress(ProviderError):  # without vectors a search still finds the memory by its words
            vectors, identity = (
                memory_vectors([memory], embedder=self._reading.embedder),
                self._reading.embedder.identity,
            )

        def close(transaction: Transaction) -> None:
            _close(transaction, who, request, "accepted", comment=comment, memory_id=memory.id, now_ms=now_ms)
            _require_held(transaction, team, old)

        store.apply([change], vectors=vectors, identity=identity, beside=close)
        return self._find(entered, who, request.id)

    def _close(
        self,
        entered: Entered,
        who: Principal,
        request: ShareRequest,
        state: RequestState,
        *,
        comment: str,
        now_ms: int,
    ) -> ShareRequest:
        entered.database.writing(
            lambda transaction: _close(transaction, who, request, state, comment=comment, now_ms=now_ms),
            alone=True,
        )
        return self._find(entered, who, request.id)

    def unshare(
        self, who: Principal, team: str, memory_id: str, *, purge: bool = False, now_ms: int
    ) -> SharedMemory:
        """Stop sharing a memory: each device ends it at its next sync. `purge` = remove it and all of its versions for good.

        Raises:
            NotFound: the team does not share the memory.
            NotPermitted: `who` is neither its author nor an administrator.
        """
        entered = self._members.access.enter(who, team)
        store = self._store(who, team)
        memory = next(iter(store.get((memory_id,))), None)
        if memory is None or not (purge or memory.status == "active"):
            raise NotFound(f"{team} does not share {memory_id[:40]!r}.")
        if memory.provenance.source != who.account and entered.role != "admin":
            raise NotPermitted("Only the author of a memory and administrators can unshare it.")
        action = "purged" if purge else "unshared"

        def noted(transaction: Transaction) -> None:
            note(transaction, who, action, memory_id, now_ms=now_ms)

        if purge:
            store.purge(memory_id, beside=noted)
        else:
            ended = ChangeReason(cause=ChangeCause.UNSHARED, terms=(team,))
            store.apply([Retire(memory_id=memory_id, at_ms=now_ms, reason=ended)], beside=noted)
        return replace(shared_form(memory, {}), holds=False)

    # --- handing out

    def changes(self, who: Principal, team: str, *, after: str, limit: int) -> TeamChanges:
        """Return the changes after the cursor `after` ("" = from the beginning), at most `limit` versions.

        If the entry of the cursor is not in this database, everything is returned from the beginning: the database was restored from a backup, or
        the entry was purged.

        Raises:
            InvalidPayload: `after` is not a cursor.
            NotFound: see `Access.enter`.
        """
        entered = self._members.access.enter(who, team)
        cursor = _cursor(after)

        def read(transaction: Transaction) -> tuple[FeedCursor, tuple[FeedEntry, ...], bool]:
            start = cursor if is_known(transaction, cursor) else FeedCursor()
            page = changes_after(transaction, start, limit=limit + 1)
            return start, page[:limit], len(page) > limit

        start, found, more = entered.database.reading(read)
        newest: dict[str, FeedEntry] = {entry.memory_id: entry for entry in found}
        remotes = self._remotes(team)
        anew = start == FeedCursor()
        return TeamChanges(
            memories=tuple(
                shared_form(entry.memory, remotes) for entry in newest.values() if entry.memory is not None
            ),
            purged=tuple(entry.memory_id for entry in newest.values() if entry.memory is None),
            cursor=str(found[-1].cursor) if found else "" if anew else after,
            more=more,
            anew=anew,
        )

    def search(
        self, who: Principal, query: str, *, teams: Sequence[str] = (), remote: str = "", limit: int = 10
    ) -> tuple[TeamMemory, ...]:
        """Return the shared memories that fit `query`, best first. The rankings by meaning and by words are fused.

        Args:
            who: the principal that asks; only memories of their teams are found.
            query: the text to search for.
            teams: names of teams to search; none = all teams of the principal.
            remote: the canonical remote of a project; memories of other projects are left out. "" = memories of every project.
            limit: how many memories to return, at most `MOST_FOUND`.

        Raises:
            InvalidInput: the query is empty or too long.
            NotFound: `who` is not a member of one of `teams`.
        """
        if not query.strip():
            raise InvalidInput("The query is empty.")
        if len(query) > MAX_QUERY:
            raise InvalidInput(f"The query is longer than {MAX_QUERY} characters.")
        wanted = tuple(dict.fromkeys(teams)) or tuple(each.team for each in self._members.teams(who))
        vector = None
        with suppress(ProviderError):
            vector = self._vector(query)
        meanings: list[Hit] = []
        words: list[Hit] = []
        found: dict[str, TeamMemory] = {}
        for team in wanted:
            self._members.access.enter(who, team)
            store = self._store(who, team)
            scopes = None
            if remote:
                project = project_scope(project_id(f"remote:{remote}"))
                scopes = [
                    each for each in store.scopes() if each.kind is not ScopeKind.PROJECT or each == project
                ]
            hits = store.search(query, vector, scopes=scopes, limit=SEARCHED)
            words += hits.words
            meanings += hits.meaning
            ids = {hit.memory_id for hit in (*words, *meanings)} - found.keys()
            remotes = self._remotes(team)
            for memory in store.get(sorted(ids), scopes=scopes):
                found[memory.id] = TeamMemory(memory=shared_form(memory, remotes), team=team, score=0.0)
        fused = rrf_equal([_ranking("semantic", meanings), _ranking("lexical", words)])
        best = [(name, score) for name, score in fused if name in found]
        return tuple(
            replace(found[name], score=score) for name, score in best[: max(0, min(limit, MOST_FOUND))]
        )

    def owned(self, who: Principal) -> Owned:
        """Return everything that a principal has in their teams: memberships, memories that they authored, and their requests."""
        memories: list[TeamMemory] = []
        requests: list[ShareRequest] = []
        teams = self._members.teams(who)
        for each in teams:
            store = self._store(who, each.team)
            remotes = self._remotes(each.team)
            memories += [
                TeamMemory(memory=shared_form(memory, remotes), team=each.team)
                for memory in store.stated_by(who.account)
            ]
            requests += [request for request in self.list(who, each.team, every=True) if request.own]
        return Owned(teams=teams, memories=tuple(memories), requests=tuple(requests))

    # --- helpers

    def _store(self, who: Principal, team: str) -> TeamMemories:
        return TeamMemories(
            self._members.access.connections,
            team_tenant(team),
            clock=self._reading.clock,
            principal=who.account,
        )

    def _vector(self, text: str) -> QueryVector:
        """Return the vector of a text.

        Raises:
            ProviderError: the embedder failed.
        """
        embedder = self._reading.embedder
        return QueryVector(vector=embedder.embed([text])[0], identity=embedder.identity)

    def _remotes(self, team: str) -> Mapping[str, str]:
        """Return the canonical names of the repositories of a team's organization, by project id."""
        projects = self._members.projects(organization_of(team))
        return {project_id(f"remote:{each.remote}"): each.remote for each in projects}

    def _says_already(self, who: Principal, team: str, memory: Memory) -> bool:
        start = canonical_text(memory.content)
        alike = self._store(who, team).beginning_with(start, scope=memory.scope, limit=MOST_ALIKE)
        return any(same_statement(other.content, memory.content) for other in alike)

    def _require_project(self, team: str, statement: SharedStatement) -> None:
        """Refuse a statement about a project that does not belong to the team.

        Raises:
            InvalidInput: the project belongs to another team, or to none.
            InvalidPayload: a statement of another scope names a remote.
        """
        if statement.scope != "project":
            if statement.remote:
                raise InvalidPayload("Only a statement of the scope `project` names a remote.")
            return
        owner = self._members.team_of(organization_of(team), statement.remote) if statement.remote else ""
        if owner != team:
            whose = f"belongs to {owner}" if owner else f"is not known to {organization_of(team)}"
            verb = "move it there" if owner else "add it"
            raise InvalidInput(
                f"The project {statement.remote or 'without a remote'} {whose}.",
                hint=f"An administrator can {verb}: run `tacit team members {team} --project` in the folder of the project.",
            )

    def _find(self, entered: Entered, who: Principal, request_id: str) -> ShareRequest:
        values = {**_seer(entered, who), "id": request_id}
        row = entered.database.reading(lambda transaction: transaction.row(_FIND, values))
        if row is None:
            raise NotFound(
                f"No request {request_id[:40]!r} in {entered.team} that you may see.",
                hint="`tacit team requests` lists them.",
            )
        return self._view(entered, who, row, alone=self._decides_alone(entered, who))

    def _view(
        self, entered: Entered, who: Principal, row: tuple[str, str, str, int, str, str, str, str], *, alone: bool, compare: bool = True
    ) -> ShareRequest:  # fmt: skip
        request_id, author, state, created_at_ms, decided_by, comment, memory_id, raw = row
        body = msgspec.json.decode(raw, type=_Body) if raw else None
        own = author == who.account
        decidable = state == "waiting" and decides(entered.role, who.account) and (not own or alone)
        statement = body.statement if body else None
        return ShareRequest(
            id=request_id,
            team=entered.team,
            author=author,
            name=body.name if body else author,
            created_at_ms=created_at_ms,
            state=_state(state),
            statement=statement,
            warning=danger_from_others(statement.content) if statement else "",
            own=own,
            decidable=decidable,
            near=self._near(who, entered.team, statement) if statement and decidable and compare else (),
            decided_by=decided_by,
            comment=comment,
            memory_id=memory_id,
        )

    def _near(self, who: Principal, team: str, statement: SharedStatement) -> tuple[NearMemory, ...]:
        """Return shared memories near the statement, to help decide whether it replaces one of them."""
        store = self._store(who, team)
        scopes = (UNIVERSAL, scope_of(statement))
        try:
            vector = self._vector(statement.content)
        except ProviderError:
            return ()
        hits = store.search("", vector, scopes=scopes, limit=NEAR).meaning
        near = {hit.memory_id: hit.score for hit in hits if hit.score >= NEAR_COSINE}
        return tuple(
            NearMemory(
                id=memory.id,
                content=memory.content,
                author=memory.provenance.author,
                cosine=round(near[memory.id], 3),
            )
            for memory in store.get(list(near), scopes=scopes)
        )

    def _decides_alone(self, entered: Entered, who: Principal) -> bool:
        """Return whether nobody else in the team may decide on requests."""
        if not decides(entered.role, who.account):
            return False
        values = {"principal": who.account, "server": SERVER, "now_ms": self._reading.clock.now_ms()}
        return not entered.database.reading(lambda transaction: transaction.number(OTHER_DECIDERS, values))


def _seer(entered: Entered, who: Principal) -> dict[str, object]:
    """Return the values of `_MAY_SEE` for a principal in a team."""
    return {"principal": who.account, "reviews": decides(entered.role, who.account)}


def _close(
    transaction: Transaction,
    who: Principal,
    request: ShareRequest,
    state: RequestState,
    *,
    comment: str,
    memory_id: str = "",
    now_ms: int,
) -> None:
    """Store the decision on a request, and add a line to the audit log.

    Raises:
        InvalidInput: the request was decided in the meantime.
    """
    values: dict[str, object] = {"id": request.id, "state": state, "by": who.account, "now_ms": now_ms}
    values |= {"comment": comment, "memory_id": memory_id}
    if not transaction.execute(_DECIDE, values).rowcount:
        raise InvalidInput(
            f"{request.id} was decided already.", hint="`tacit team requests --all` shows the decision."
        )
    note(transaction, who, state, request.id, now_ms=now_ms)


def _require_held(transaction: Transaction, team: str, ids: Sequence[str]) -> None:
    stored = stored_memories(transaction, ids)
    for name in ids:
        if name not in stored or stored[name].status != "active":
            raise NotFound(f"{team} does not share {name[:40]!r}.")


def _state(text: str) -> RequestState:
    match text:
        case "accepted" | "refused" | "withdrawn":
            return text
        case _:
            return "waiting"


def _cursor(text: str) -> FeedCursor:
    if not text:
        return FeedCursor()
    try:
        return FeedCursor.parse(text)
    except ValueError as error:
        raise InvalidPayload(f"{text[:40]!r} is not a cursor of the changes of a team.") from error


def _ranking(space: str, hits: Sequence[Hit]) -> Ranking:
    """Merge the hits of several teams into one ranking by score. Cosines of different teams are comparable; scores of words are nearly so."""
    return Ranking(space=space, hits=tuple(sorted(hits, key=lambda hit: (-hit.score, hit.memory_id))))
