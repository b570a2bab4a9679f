import { Button, Select } from "@mantine/core";
import { useState } from "react";
import { useProjects } from "../../api/queries";
import { mayManage, organizationOf, usePutProject, useRemoveProject } from "../../api/teams";
import type { Team } from "../../api/types";
import { ProblemBox } from "../../ui/Answer";
import { Confirm } from "../../ui/Confirm";
import { Panel } from "../../ui/Panel";
import { say } from "../../ui/said";

/** The projects whose memories a team may share. The server knows a project by its git remote. */
export function Projects({ teams, team, manages }: { teams: Team[]; team: string; manages: boolean }) {
  const organization = organizationOf(team);
  const shared = teams.flatMap((one) => one.projects).filter((one) => one.team === team);
  const remove = useRemoveProject();
  return (
    <Panel title="Projects" sub={`Their memories can be shared with ${team}.`}>
      {shared.length === 0 && <p className="sub">None yet.</p>}
      {shared.length > 0 && (
        <ul className="team-projects">
          {shared.map(({ remote }) => (
            <li key={remote}>
              <span className="mono">{remote}</span>
              {mayManage(teams, organization) && (
                <Confirm
                  name="Remove"
                  label={`Remove ${remote}`}
                  title="Remove a project"
                  text={`Memories of ${remote} can no longer be shared with ${team}. What was shared stays.`}
                  bad
                  size="compact-xs"
                  act={async () => {
                    await remove.mutateAsync({ team: organization, remote });
                    say(`Removed ${remote}`);
                  }}
                />
              )}
            </li>
          ))}
        </ul>
      )}
      {manages && <AddProject team={team} shared={shared.map(({ remote }) => remote)} />}
    </Panel>
  );
}

function AddProject({ team, shared }: { team: string; shared: string[] }) {
  const [root, setRoot] = useState<string | null>(null);
  const projects = useProjects();
  const put = usePutProject();
  const open = (projects.data ?? []).map((row) => row.project).filter((one) => one.remote !== "" && one.root !== "" && !shared.includes(one.remote));
  return (
    <form
      className="team-add"
      onSubmit={(event) => {
        event.preventDefault();
        const chosen = open.find((one) => one.root === root);
        if (chosen !== undefined) put.mutate({ team, cwd: chosen.root }, { onSuccess: () => { setRoot(null); say(`Memories of ${chosen.remote} can be shared with ${team}`); } });
      }}
    >
      <Select
        aria-label="Project to add"
        placeholder={open.length === 0 ? "No other project with a git remote here" : "A project of this machine"}
        data={open.map((one) => ({ value: one.root, label: `${one.name} (${one.remote})` }))}
        value={root}
        onChange={setRoot}
        disabled={open.length === 0}
        clearable
        w={340}
        maw="100%"
      />
      <Button type="submit" variant="default" loading={put.isPending} disabled={root === null}>
        Add the project
      </Button>
      {put.error !== null && <ProblemBox error={put.error} />}
    </form>
  );
}
