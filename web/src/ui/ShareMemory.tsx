import { Alert, Button, Checkbox, Group, Modal, Select, Stack, Text, TextInput } from "@mantine/core";
import { useState } from "react";
import { useProjects } from "../api/queries";
import { mayAs, useAskToShare, useKnownTeams, useLogin, useRequests, useShareByFile, useTeams, useUnshare } from "../api/teams";
import type { Memory } from "../api/types";
import { ProblemBox } from "./Answer";
import { Confirm } from "./Confirm";
import { briefOf, say } from "./said";
import { originOf, sharedWith, teamOf } from "./shared";

const NAME = "tacit.name";

interface Props {
  memory: Memory;
  close: () => void;
  /** What has to be done before a team can be asked, such as accepting the statement; with a name for the button. */
  first?: { name: string; act: () => Promise<unknown> };
}

/** Ask that a team shares a memory. A refusal stands here in the server's words. */
export function ShareMemory({ memory, close, first }: Props) {
  const [team, setTeam] = useState<string | null>(null);
  const [began, setBegan] = useState(false);
  const teams = useTeams();
  const share = useAskToShare();
  const asked = useRequests("", false).data?.find((one) => one.own && one.statement?.content === memory.content);
  const [problem, setProblem] = useState<unknown>(null);
  const mine = (teams.data ?? []).filter((one) => mayAs(one.role, "writer"));
  const ask = async () => {
    setProblem(null);
    try {
      if (first !== undefined && !began) await first.act();
      setBegan(true);
      const request = await share.mutateAsync({ id: memory.id, team: team ?? "" });
      if (request.state === "accepted") say(`${request.team} shares it now: ${briefOf(memory.content)}`);
      else say(`Asked ${request.team} to share it: ${briefOf(memory.content)}`, request.decidable ? "You may decide on it yourself: Team, Requests." : "Teammates get it once another member has accepted it.");
      close();
    } catch (error) {
      setProblem(error);
    }
  };
  return (
    <Modal opened onClose={close} title="Share with a team" size="md">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void ask();
        }}
      >
        <Stack gap="sm">
          <p className="quote">{memory.content}</p>
          {asked !== undefined && (
            <Alert color="orange" role="status">
              You asked {asked.team} already; that request waits.
            </Alert>
          )}
          <Select
            label="Team"
            description="Leave it empty for the team of its project, or your only team."
            placeholder="as its project says"
            clearable
            data={mine.map((one) => one.team)}
            value={team}
            onChange={setTeam}
            data-autofocus
          />
          <Text size="xs" c="dimmed">
            Sent to the server as it stands, where the members of the team can read it once another member has accepted it.
          </Text>
          {teams.error !== null && problem === null && <ProblemBox error={teams.error} again={() => void teams.refetch()} />}
          {problem !== null && <ProblemBox error={problem} />}
          {problem !== null && first !== undefined && began && <Text size="sm">It was accepted here all the same.</Text>}
          <Group gap={8}>
            <Button type="submit" loading={share.isPending}>
              {first === undefined || began ? "Ask to share" : first.name}
            </Button>
            <Button variant="default" onClick={close}>
              Cancel
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}

/** Where a memory came from, for one that a team shares. */
export function Origin({ memory }: { memory: Memory }) {
  const origin = originOf(memory);
  return origin === "" ? null : <p className="origin">{origin}</p>;
}

/** Write a project's memory into the team's folder of its repository, for the user to commit. */
function ShareByFile({ memory }: { memory: Memory }) {
  const [by, setBy] = useState(localStorage.getItem(NAME) ?? "");
  const share = useShareByFile();
  const project = useProjects().data?.find((one) => one.scope === memory.scope)?.project;
  if (!project?.root || memory.status !== "active") return null; // an imported project has no folder here
  return (
    <Confirm
      name="Share"
      title={`Share with the team of ${project.name}`}
      text="Writes a file below .tacit/team of the repository. Nothing is sent: you commit it, and teammates get it once it is merged."
      does="Write the file"
      ready={by.trim() !== ""}
      act={async () => {
        const path = await share.mutateAsync({ id: memory.id, cwd: project.root, by });
        localStorage.setItem(NAME, by);
        say(`Wrote ${path}`, "Commit it and open a pull request; it counts once it is merged.");
      }}
    >
      <TextInput label="Your name" description="Teammates are shown it." required value={by} onChange={(event) => setBy(event.currentTarget.value)} />
    </Confirm>
  );
}

/** What can be done about a memory and teams: those of a server, or, where this home is not logged in, that of its repository. */
export function Sharing({ memory }: { memory: Memory }) {
  const login = useLogin();
  const known = useKnownTeams(login != null);
  const [asking, setAsking] = useState(false);
  if (login === null) return <ShareByFile memory={memory} />;
  if (login === undefined || known.data === undefined) return null;
  const shared = sharedWith(memory, known.data);
  if (shared !== undefined) {
    const own = teamOf(memory) === "";
    const may = own || mayAs(shared.role, "admin") || memory.provenance.author === shared.name;
    return may ? <Unshare memory={memory} team={shared.team} own={own} /> : null;
  }
  if (memory.status !== "active" || teamOf(memory) !== "") return null;
  return (
    <>
      <Button variant="default" onClick={() => setAsking(true)}>
        Share with a team
      </Button>
      {asking && <ShareMemory memory={memory} close={() => setAsking(false)} />}
    </>
  );
}

function Unshare({ memory, team, own }: { memory: Memory; team: string; own: boolean }) {
  const [purge, setPurge] = useState(false);
  const unshare = useUnshare();
  return (
    <Confirm
      name="Unshare"
      title={`Unshare from ${team}`}
      text={
        own
          ? `${team} shares it no longer, and it ends for your teammates at their next sync. Yours stays.`
          : `${team} shares it no longer, and it ends for everybody, here too, at the next sync.`
      }
      bad
      onOpen={() => setPurge(false)}
      act={async () => {
        await unshare.mutateAsync({ id: memory.id, purge });
        say(`Unshared from ${team}`, briefOf(memory.content));
      }}
    >
      <Checkbox label="Remove it for good, with all its versions" checked={purge} onChange={(event) => setPurge(event.currentTarget.checked)} />
    </Confirm>
  );
}
