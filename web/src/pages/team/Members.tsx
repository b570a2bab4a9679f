import { Button, Select } from "@mantine/core";
import { useState } from "react";
import { mayManage, organizationOf, ROLES, useMembers, usePutMember, useRemoveMember, useTeams, type Role } from "../../api/teams";
import type { Member, SyncStatus, Team } from "../../api/types";
import { Answer } from "../../ui/Answer";
import { Confirm } from "../../ui/Confirm";
import { Panel } from "../../ui/Panel";
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
            <Panel title={plural(all.length, "member")} sub="Readers receive what is shared, writers ask to share, reviewers decide, administrators manage members and projects.">
              <table className="rows" aria-label={`Members of ${team}`}>
                <thead>
                  <tr>
                    <th scope="col">name</th>
                    <th scope="col">account</th>
                    <th scope="col">role</th>
                    <th scope="col">since</th>
                    <th scope="col">state</th>
                    {manages && (
                      <th scope="col">
                        <span className="unseen">what you can do</span>
                      </th>
                    )}
                  </tr>
                </thead>
                <tbody>
                  {all.map((one) => (
                    <Row key={one.principal} member={one} team={team} manages={manages} own={one.principal === sync.account} />
                  ))}
                </tbody>
              </table>
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

function Row({ member, team, manages, own }: { member: Member; team: string; manages: boolean; own: boolean }) {
  const put = usePutMember();
  const remove = useRemoveMember();
  const service = member.until_ms > 0;
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
      <td data-name="state">{service ? `service account until ${dateOf(member.until_ms)}` : !whole ? "" : member.joined ? "joined" : "has not joined"}</td>
      {manages && (
        <td className="rows-act">
          {!own && (
            <Confirm
              name="Remove"
              label={`Remove ${member.name}`}
              title={`Remove ${member.name}`}
              text={`${member.name} is removed from ${team}${whole ? " and all of its teams" : ""}. ${service ? "Its token ends at once." : "Their devices end what came from there at their next sync."}`}
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
