import { Alert, Button, Checkbox, Code, Group, Switch } from "@mantine/core";
import { IconAlertTriangle } from "@tabler/icons-react";
import { useRef, useState } from "react";
import { Link, useSearchParams } from "react-router";
import { useDecideRequest, useMembers, useRequests, useTeamMemories, useTeams, type RequestDecision } from "../../api/teams";
import type { ShareRequest, Team } from "../../api/types";
import { Answer, ProblemBox } from "../../ui/Answer";
import { Empty } from "../../ui/Empty";
import { Kind } from "../../ui/Kind";
import { Rewrite } from "../../ui/Rewrite";
import { briefOf, say } from "../../ui/said";
import { dateOf, plural, scopeOf } from "../../ui/words";
import { NoTeam } from "./NoTeam";
import { TeamSelect, useChosenTeam } from "./TeamSelect";

const DONE = { accept: "Accepted", refuse: "Refused", withdraw: "Withdrawn" };

export function Requests() {
  return <Answer of={useTeams()}>{(teams) => (teams.length === 0 ? <NoTeam /> : <OfTeams teams={teams} />)}</Answer>;
}

function OfTeams({ teams }: { teams: Team[] }) {
  const [team, choose] = useChosenTeam(teams, true);
  const [params, setParams] = useSearchParams();
  const every = params.get("every") === "true";
  const requests = useRequests(team, every);
  const list = useRef<HTMLDivElement>(null);
  const setEvery = (on: boolean) =>
    setParams(
      (now) => {
        if (on) now.set("every", "true");
        else now.delete("every");
        return now;
      },
      { replace: true },
    );
  return (
    <>
      <div className="filters">
        <TeamSelect teams={teams} value={team} choose={choose} every />
        <Switch label="Show decided requests, too" checked={every} onChange={(event) => setEvery(event.currentTarget.checked)} />
      </div>
      <div ref={list} tabIndex={-1} className="requests" aria-label="Requests to share" role="region">
        <Answer of={requests}>
          {(all) =>
            all.length === 0 ? (
              <Empty title={every ? "No requests" : "No request waits"} text={<>“Share with a team” beside a memory, or <Code>tacit share ID</Code>, asks a team to share it. Another member who may write decides here.</>} to="/memories" link="Your memories" />
            ) : (
              inOrder(all).map((one) => (one.state === "waiting" ? <Waiting key={one.id} request={one} decided={() => list.current?.focus()} /> : <Decided key={one.id} request={one} />))
            )
          }
        </Answer>
      </div>
    </>
  );
}

/** Those that wait first, each part newest first. */
function inOrder(requests: ShareRequest[]): ShareRequest[] {
  const newest = [...requests].sort((a, b) => b.created_at_ms - a.created_at_ms || (a.id < b.id ? 1 : -1));
  return [...newest.filter((one) => one.state === "waiting"), ...newest.filter((one) => one.state !== "waiting")];
}

function Waiting({ request, decided }: { request: ShareRequest; decided: () => void }) {
  const [doing, setDoing] = useState<"look" | "edit" | "refuse">("look");
  const [replaces, setReplaces] = useState<string[]>([]);
  const decide = useDecideRequest();
  const { statement } = request;
  if (statement === null) return null;
  const act = (decision: RequestDecision["decision"], more: { content?: string; comment?: string } = {}) =>
    decide.mutate(
      { id: request.id, decision, ...more, ...(decision === "accept" && { replaces }) },
      { onSuccess: () => { say(`${DONE[decision]}: ${briefOf(more.content ?? statement.content)}`, decision === "accept" ? `Every member of ${request.team} who joined gets it.` : ""); decided(); } },
    );
  const look = () => { decide.reset(); setDoing("look"); };
  return (
    <article className="panel request" aria-label={`Request of ${request.name}`}>
      <p className="faint">
        {request.own ? "You ask" : `${request.name} asks`} {request.team} to share, {dateOf(request.created_at_ms)}
      </p>
      <p className="request-words">
        <Kind name={statement.kind} /> {statement.content}
      </p>
      <p className="faint">
        {statement.remote !== "" ? `in the project ${statement.remote}` : statement.scope === "universal" ? "everywhere" : scopeOf(statement.scope)}
        {statement.when.length > 0 && ` · applies: ${statement.when.join("; ")}`}
        {statement.files.length > 0 && ` · ${statement.files.join(", ")}`}
      </p>
      {request.warning !== "" && (
        <Alert color="orange" mt={8} icon={<IconAlertTriangle size={18} />} title="Look twice">
          {request.warning}
        </Alert>
      )}
      {request.decidable && request.near.length > 0 && (
        <Checkbox.Group label="Shared already. Choose what it replaces" value={replaces} onChange={setReplaces} mt={10}>
          {request.near.map((near) => (
            <Checkbox key={near.id} mt={6} value={near.id} label={`${near.content} (${near.author === "" ? "a teammate" : near.author})`} />
          ))}
        </Checkbox.Group>
      )}
      {decide.error !== null && <ProblemBox error={decide.error} />}
      {doing === "look" && (
        <Group gap={8} mt={12}>
          {request.decidable && (
            <>
              <Button loading={decide.isPending} onClick={() => act("accept")}>
                {replaces.length === 0 ? "Accept" : `Accept in place of ${plural(replaces.length, "other")}`}
              </Button>
              <Button variant="default" onClick={() => setDoing("edit")}>
                Edit, then accept
              </Button>
              <Button variant="default" onClick={() => setDoing("refuse")}>
                Refuse
              </Button>
            </>
          )}
          {request.own && (
            <Button variant="default" loading={decide.isPending && !request.decidable} onClick={() => act("withdraw")}>
              Withdraw
            </Button>
          )}
        </Group>
      )}
      {doing === "edit" && <Rewrite label="Words to share" given={statement.content} name="Accept these words" busy={decide.isPending} differs done={(content) => act("accept", { content })} cancel={look} />}
      {doing === "refuse" && <Rewrite label={`Why, for ${request.own ? "you" : request.name}`} given="" name="Refuse" busy={decide.isPending} optional done={(comment) => act("refuse", { comment })} cancel={look} />}
    </article>
  );
}

/** What became of a request. The server keeps no words of it; what was accepted may be here as a memory. */
function Decided({ request }: { request: ShareRequest }) {
  const accepted = request.state === "accepted";
  const memories = useTeamMemories(request.team, accepted);
  const memory = memories.data?.find((one) => one.id === request.memory_id);
  const members = useMembers(request.team).data;
  const nameOf = (account: string) => members?.find((one) => one.principal === account)?.name ?? account;
  return (
    <article className="panel request" aria-label={`Request of ${nameOf(request.author)}, ${request.state}`}>
      <p>
        <span className={`state state-${accepted ? "active" : "retired"}`}>{request.state}</span>{" "}
        <span className="faint">
          {request.own ? "You asked" : `${nameOf(request.author)} asked`} {request.team} on {dateOf(request.created_at_ms)}
          {request.decided_by !== "" && request.state !== "withdrawn" && `; decided by ${nameOf(request.decided_by)}`}
        </span>
      </p>
      {memory !== undefined && (
        <p className="request-words">
          <Link to={`/memories/${memory.id}`}>{memory.content}</Link>
        </p>
      )}
      {request.comment !== "" && <p className="quote">{request.comment}</p>}
    </article>
  );
}
