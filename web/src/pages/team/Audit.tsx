import { mayManage, useAudit, useTeams } from "../../api/teams";
import type { Team } from "../../api/types";
import { Answer } from "../../ui/Answer";
import { Empty } from "../../ui/Empty";
import { Pages } from "../../ui/Pages";
import { Rows } from "../../ui/Rows";
import { whenOf } from "../../ui/words";
import { NoTeam } from "./NoTeam";
import { TeamSelect, useChosenTeam } from "./TeamSelect";

export function Audit() {
  return (
    <Answer of={useTeams()}>
      {(teams) => {
        const managed = teams.filter((one) => mayManage(teams, one.team));
        if (teams.length === 0) return <NoTeam />;
        if (managed.length === 0) return <Empty title="For administrators" text="The audit log of a team says who did what and when, without words of memories. Its administrators can see it; you administer none of your teams." />;
        return <OfTeams teams={managed} />;
      }}
    </Answer>
  );
}

function OfTeams({ teams }: { teams: Team[] }) {
  const [team, choose] = useChosenTeam(teams);
  const audit = useAudit(team);
  return (
    <>
      <div className="filters">
        <TeamSelect teams={teams} value={team} choose={choose} />
      </div>
      <Pages of={audit} rows={(page) => page.entries} empty={<Empty title="Nothing was done yet" text="Members, decisions and projects of the team are noted here." />}>
        {(entries) => (
          <Rows name={`Audit log of ${team}`} columns={["when", "who", "device", "what", "of"]} wide>
            {entries.map((one) => (
              <tr key={one.number}>
                <td className="num">{whenOf(one.at_ms)}</td>
                <td data-name="who">{one.principal}</td>
                <td data-name="device" className="mono">{one.device.slice(0, 8)}</td>
                <td data-name="what">{one.action}</td>
                <td data-name="of" className="mono">{one.subject}</td>
              </tr>
            ))}
          </Rows>
        )}
      </Pages>
    </>
  );
}
