import { Button, Select } from "@mantine/core";
import { useState } from "react";
import { isService, mayManage, organizationOf, ROLES, useMembers, usePutMember, useRemoveMember, useTeams, type Role } from "../../api/teams";
import type { Member, SyncStatus, Team } from "../../api/types";
import { Answer } from "../../ui/Answer";
import { Confirm } from "../../ui/Confirm";
import { Panel } from "../../ui/Panel";
import { Rows } from "../../ui/Rows";
import { say, sayProblem } from "../../ui/said";
import { dateOf, plural } from "../../ui/words";
import { AddMember, AddService, AddTeam } from "./forms";
import { NoTeam } from "./NoTeam";
import { Projects } from "./Projects";
import { TeamSelect, useChosenTeam } from "./TeamSelect";

type Adding = "member" | "service" | "team";

export function Members({ sync }: { sync: SyncStatus }) {
  return <Answer of={useTeams()}>{(teams) => (teams.length === 0 ? <NoTeam /> : <OfTeams teams={teams} sync={sync} />)}</Answer>;
}

function OfTeams({ teams, sync }: { teams: Team[]; sync: SyncStatus }) {
  const [team, choose] = useChosenTeam(teams);
  const [adding, setAdding] = useState<Adding>();
  const members = useMembers(team);
  const manages = mayManage(teams, team);
  const organization = organizationOf(team);
  const close = () => setAdding(undefined);
  return (
    <>
      <div className="filters">
        <TeamSelect teams={teams} value={team} choose={choose} />
        {manages && (
          <Button onClick={() => setAdding("member")}>
            Add a person
          </Button>
        )}
        {manages && team === organization && (
          <Button variant="default" onClick={() => setAdding("service")}>
            Service account
          </Button>
        )}
        {mayManage(teams, organization) && (
          <Button variant="default" onClick={() => setAdding("team")}>
            New team
          </Button>
        )}
      </div>
      <div className="grid">
        <Answer of={members}>
          {(all) => (
            <Panel title={plural(all.length, "member")} sub="Readers receive what is shared, writers ask to share and decide on what others ask, administrators manage members and projects.">
              <Rows name={`Members of ${team}`} columns={["name", "account", "role", "since", "state"]} acts={manages}>
                {all.map((one) => (
                  <Row key={one.principal} member={one} team={team} manages={manages} own={one.principal === sync.account} />
                ))}
              </Rows>
            </Panel>
          )}
        </Answer>
        <Projects teams={teams} team={team} manages={manages} />
      </div>
      {adding === "member" && <AddMember team={team} url={sync.url} close={close} />}
      {adding === "service" && <AddService organization={organization} close={close} />}
      {adding === "team" && <AddTeam organization={organization} close={close} choose={choose} />}
    </>
  );
}

/** Whether a member has come in; of a service account, how long its token holds. */
function stateOf({ principal, until_ms, joined }: Member): string {
  if (isService(principal)) return until_ms > 0 ? `service account until ${dateOf(until_ms)}` : "service account";
  return joined ? "" : "did not come in yet";
}

function Row({ member, team, manages, own }: { member: Member; team: string; manages: boolean; own: boolean }) {
  const put = usePutMember();
  const remove = useRemoveMember();
  const service = isService(member.principal);
  const whole = team === organizationOf(team);
  return (
    <tr>
      <th scope="row">
        {member.name} {own && <span className="faint">(you)</span>}
      </th>
      <td data-name="account" className="mono">{member.principal}</td>
      <td data-name="role">
        {manages ? (
          <Select
            aria-label={`Role of ${member.name}`}
            data={service ? ROLES.slice(0, 2) : ROLES}
            value={member.role}
            disabled={put.isPending}
            allowDeselect={false}
            w={120}
            onChange={(role) =>
              role !== null && role !== member.role &&
              put.mutate(
                { team, principal: member.principal, role: role as Role, name: "" },
                { onSuccess: () => say(`${member.name} is ${role} in ${team}`), onError: sayProblem },
              )
            }
          />
        ) : (
          member.role
        )}
      </td>
      <td data-name="since">{dateOf(member.added_at_ms)}</td>
      <td data-name="state">{stateOf(member)}</td>
      {manages && (
        <td className="rows-act">
          {!own && (
            <Confirm
              name="Remove"
              label={`Remove ${member.name}`}
              title={`Remove ${member.name}`}
              text={`${member.name} is removed from ${team}${whole ? " and all of its teams" : ""}. ${service ? (whole ? "Its token ends at once." : "It can no longer read what the team shares.") : "Their devices end what came from there at their next sync."}`}
              bad
              size="compact-xs"
              act={async () => {
                await remove.mutateAsync({ team, principal: member.principal });
                say(`Removed ${member.name} from ${team}`);
              }}
            />
          )}
        </td>
      )}
    </tr>
  );
}
