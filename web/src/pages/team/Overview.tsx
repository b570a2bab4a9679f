import { Alert, Button } from "@mantine/core";
import { IconAlertTriangle } from "@tabler/icons-react";
import { Link } from "react-router";
import { ProblemError } from "../../api/client";
import { organizationOf, useDevices, useKnownTeams, useLeave, useMemberCounts, useRevoke, useTeams } from "../../api/teams";
import type { Device, SyncStatus, Team } from "../../api/types";
import { Answer } from "../../ui/Answer";
import { Confirm } from "../../ui/Confirm";
import { Panel } from "../../ui/Panel";
import { Rows } from "../../ui/Rows";
import { say } from "../../ui/said";
import { agoOf, countOf, dateOf, plural, whenOf } from "../../ui/words";
import { NoTeam } from "./NoTeam";

export function Overview({ sync }: { sync: SyncStatus }) {
  const teams = useTeams();
  return (
    <div className="grid">
      {teams.error !== null && <ServerAway error={teams.error} again={() => void teams.refetch()} />}
      {teams.error !== null ? <KnownTeams /> : <Answer of={teams}>{(all) => (all.length === 0 ? <NoTeam /> : <Teams teams={all} />)}</Answer>}
      <div className="team-two">
        <Server sync={sync} />
        {teams.error === null && <Devices own={sync.device} />}
      </div>
    </div>
  );
}

function ServerAway({ error, again }: { error: unknown; again: () => void }) {
  const problem = error instanceof ProblemError ? error.problem : undefined;
  return (
    <Alert color="orange" icon={<IconAlertTriangle size={18} />} title={problem?.detail ?? String(error)} role="alert">
      {problem?.hint} What is shown below is what this home knows.
      <div>
        <Button mt="sm" variant="default" onClick={again}>
          Try again
        </Button>
      </div>
    </Alert>
  );
}

/** The teams as the server knows them now, with what is known of each here. */
function Teams({ teams }: { teams: Team[] }) {
  const known = useKnownTeams().data ?? [];
  const members = useMemberCounts(teams);
  const projects = teams.flatMap((one) => one.projects);
  return (
    <Panel title="Your teams" sub="An organization is the team of all its members.">
      <Rows name="Your teams" columns={["team", "your role", "members", "shared here", "requests", "projects"]} acts>
        {teams.map((one, at) => (
          <tr key={one.team}>
            <th scope="row">
              <Link to={`/team/members?team=${encodeURIComponent(one.team)}`}>{one.team}</Link>
            </th>
            <td data-name="your role">{one.role}</td>
            <td data-name="members" className="num">{members[at] === undefined ? "" : countOf(members[at])}</td>
            <td data-name="shared here">{plural(known.find((each) => each.team === one.team)?.memories ?? 0, "memory", "memories")}</td>
            <td data-name="requests">
              {one.waiting === 0 ? <span className="faint">none</span> : <Link to={`/team/requests?team=${encodeURIComponent(one.team)}`}>{plural(one.waiting, "waits", "wait")}</Link>}
            </td>
            <td data-name="projects">
              <span className="chips">
                {projects.filter((each) => each.team === one.team).map((each) => <span className="chip mono" key={each.remote}>{each.remote}</span>)}
              </span>
            </td>
            <td className="rows-act">
              <Leave team={one.team} />
            </td>
          </tr>
        ))}
      </Rows>
    </Panel>
  );
}

function Leave({ team }: { team: string }) {
  const leave = useLeave();
  const whole = team === organizationOf(team);
  return (
    <Confirm
      name="Leave"
      label={`Leave ${team}`}
      title={`Leave ${team}`}
      text={`${whole ? `You leave ${team} with all of its teams` : `You leave ${team}`}. What came from there ends on your devices; what you made your own stays. To come back, an administrator has to add you again.`}
      bad
      size="compact-xs"
      act={async () => {
        await leave.mutateAsync(team);
        say(`Left ${team}`);
      }}
    />
  );
}

/** The teams, where the server cannot be asked. */
function KnownTeams() {
  return (
    <Answer of={useKnownTeams()}>
      {(known) => (
        <Panel title="Your teams, as known here" sub="At the last sync.">
          {known.length === 0 ? (
            <p className="sub">None.</p>
          ) : (
            <Rows name="Your teams, as known here" columns={["team", "your role", "shared here"]}>
              {known.map((one) => (
                <tr key={one.team}>
                  <th scope="row">{one.team}</th>
                  <td data-name="your role">{one.role}</td>
                  <td data-name="shared here">{plural(one.memories, "memory", "memories")}</td>
                </tr>
              ))}
            </Rows>
          )}
        </Panel>
      )}
    </Answer>
  );
}

function Server({ sync }: { sync: SyncStatus }) {
  return (
    <Panel title="Server and sync">
      {sync.error !== "" && (
        <Alert color="orange" mb={10} icon={<IconAlertTriangle size={18} />} title="The last sync failed">
          {sync.error}
        </Alert>
      )}
      <dl className="facts">
        <dt>server</dt>
        <dd className="mono">{sync.url}</dd>
        <dt>your account</dt>
        <dd>{sync.account}</dd>
        <dt>this device</dt>
        <dd>{sync.name}</dd>
        <dt>last sync</dt>
        <dd>{sync.synced_at_ms === 0 ? "never" : <span title={whenOf(sync.synced_at_ms)}>{agoOf(sync.synced_at_ms)}</span>}</dd>
        <dt>not sent yet</dt>
        <dd>{sync.waiting > 0 ? plural(sync.waiting, "entry", "entries") : sync.changed ? "changes since the last sync" : "nothing"}</dd>
        {sync.lost.length > 0 && (
          <>
            <dt>lost by the server</dt>
            <dd>{plural(sync.lost.length, "memory", "memories")} that a team shared, kept here. Share them again.</dd>
          </>
        )}
        <dt>known entries</dt>
        <dd className="num">{countOf(sync.entries)}</dd>
      </dl>
    </Panel>
  );
}

function Devices({ own }: { own: string }) {
  const devices = useDevices();
  return (
    <Panel title="Your devices" sub="They share your own memory, encrypted; the server cannot read it.">
      <Answer of={devices}>
        {(all) => (
          <Rows name="Your devices" columns={["device", "since", "synced", "lacks"]} acts>
            {all.map((one) => (
              <tr key={one.device}>
                <th scope="row">
                  {one.name} {one.device === own && <span className="faint">(this one)</span>} <span className="mono faint">{one.device.slice(0, 8)}</span>
                </th>
                <td data-name="since">{dateOf(one.created_at_ms)}</td>
                <td data-name="synced" title={whenOf(one.seen_at_ms)}>{agoOf(one.seen_at_ms)}</td>
                <td data-name="lacks">{one.behind === 0 ? "nothing" : plural(one.behind, "entry", "entries")}</td>
                <td className="rows-act">{one.revoked_at_ms !== null ? <span className="faint">revoked {dateOf(one.revoked_at_ms)}</span> : one.device !== own && <Revoke device={one} />}</td>
              </tr>
            ))}
          </Rows>
        )}
      </Answer>
    </Panel>
  );
}

function Revoke({ device }: { device: Device }) {
  const revoke = useRevoke();
  return (
    <Confirm
      name="Revoke"
      label={`Revoke ${device.name}`}
      title={`Revoke ${device.name}`}
      text="The server refuses this device from now on. The memories that it already holds stay there."
      bad
      size="compact-xs"
      act={async () => {
        await revoke.mutateAsync(device.device);
        say(`Revoked ${device.name}`);
      }}
    />
  );
}
