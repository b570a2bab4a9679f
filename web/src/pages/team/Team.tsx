import "./team.css";
import { Button, Tabs } from "@mantine/core";
import { IconRefresh } from "@tabler/icons-react";
import { useNavigate, useParams, useSearchParams } from "react-router";
import { useSync, useSyncNow, useWaitingRequests } from "../../api/teams";
import type { SyncStatus } from "../../api/types";
import { Answer } from "../../ui/Answer";
import { Empty } from "../../ui/Empty";
import { Head } from "../../ui/Head";
import { say } from "../../ui/said";
import { plural } from "../../ui/words";
import { Audit } from "./Audit";
import { Members } from "./Members";
import { Overview } from "./Overview";
import { Requests } from "./Requests";

const PARTS = ["overview", "requests", "members", "audit"];

export function Component() {
  const sync = useSync();
  return (
    <>
      <Head title="Team" text="What you share with others through a server, and what they share with you.">
        {sync.data?.logged_in === true && <SyncNow />}
      </Head>
      <Answer of={sync}>{(status) => (status.logged_in ? <Parts sync={status} /> : <NoServer />)}</Answer>
    </>
  );
}

function NoServer() {
  return (
    <Empty
      title="This home is not connected to a server"
      text="A team server shares memories with teammates once another member has accepted them, and keeps your own machines in step; recall stays on this machine. An administrator of your team, or the person who runs the server, gives you its address and an invitation. Without a server, a repository can share memories as files: press Share beside a memory. On a further device of yours, leave out `--first`: the recovery phrase is asked for."
      command="tacit login URL --first"
    />
  );
}

function SyncNow() {
  const run = useSyncNow();
  const now = () =>
    run.mutate(undefined, {
      onSuccess: ({ exchanged }) => say("Synced", `Sent ${plural(exchanged.sent, "entry", "entries")}, received ${exchanged.received}; ${plural(exchanged.applied + exchanged.from_teams, "memory", "memories")} changed here.`),
    });
  return (
    <Button variant="default" leftSection={<IconRefresh size={15} />} loading={run.isPending} onClick={now}>
      Sync now
    </Button>
  );
}

function Parts({ sync }: { sync: SyncStatus }) {
  const { part = "" } = useParams();
  const [params] = useSearchParams();
  const navigate = useNavigate();
  const waiting = useWaitingRequests();
  return (
    <Tabs
      value={PARTS.includes(part) ? part : "overview"}
      onChange={(value) => void navigate({ pathname: value === "overview" ? "/team" : `/team/${value}`, search: params.toString() })}
      keepMounted={false}
      className="team-tabs"
    >
      <Tabs.List mb={14}>
        <Tabs.Tab value="overview">Overview</Tabs.Tab>
        <Tabs.Tab value="requests" rightSection={waiting > 0 ? <span className="team-count">{waiting}</span> : undefined}>
          Requests
        </Tabs.Tab>
        <Tabs.Tab value="members">Members</Tabs.Tab>
        <Tabs.Tab value="audit">Audit log</Tabs.Tab>
      </Tabs.List>
      <Tabs.Panel value="overview">
        <Overview sync={sync} />
      </Tabs.Panel>
      <Tabs.Panel value="requests">
        <Requests />
      </Tabs.Panel>
      <Tabs.Panel value="members">
        <Members sync={sync} />
      </Tabs.Panel>
      <Tabs.Panel value="audit">
        <Audit />
      </Tabs.Panel>
    </Tabs>
  );
}
