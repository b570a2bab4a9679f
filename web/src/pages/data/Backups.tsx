import { Alert, Button, TextInput } from "@mantine/core";
import { useState } from "react";
import { MOST_COUNTED, useBackUp, useBackups, useChangedSince, useRestore } from "../../api/data";
import { useStatus } from "../../api/queries";
import type { StoreCopy } from "../../api/types";
import { Answer, ProblemBox } from "../../ui/Answer";
import { Confirm } from "../../ui/Confirm";
import { Empty } from "../../ui/Empty";
import { Panel } from "../../ui/Panel";
import { Rows } from "../../ui/Rows";
import { agoOf, bytesOf, countOf, plural, whenOf } from "../../ui/words";

const ORIGINS: Record<StoreCopy["origin"], string> = { automatic: "automatic backup", requested: "backup", replaced: "former store, moved aside" };

export function Backups() {
  const copies = useBackups();
  const restore = useRestore();
  return (
    <div className="grid">
      <Panel title="Backups" sub="Copies of the store that this home knows of. Tacit writes one by itself each day.">
        <div role="status">
          {restore.data !== undefined && !restore.data.dry_run && (
            <Alert mb={10}>
              The store is now that of {restore.data.source}.{restore.data.former !== null && ` The former store is at ${restore.data.former}.`}
            </Alert>
          )}
        </div>
        <Answer of={copies}>
          {(all) =>
            all.length === 0 ? (
              <Empty title="There is no backup yet" text="Write one below, or wait for the automatic one." />
            ) : (
              <Rows name="Backups" columns={["written", "what", "size", "file"]} acts>
                {all.map((one) => (
                  <tr key={one.path}>
                    <th scope="row" title={whenOf(one.at_ms)}>{agoOf(one.at_ms)}</th>
                    <td data-name="what">{ORIGINS[one.origin]}</td>
                    <td data-name="size" className="num">{bytesOf(one.bytes)}</td>
                    <td data-name="file" className="mono">{one.path}</td>
                    <td className="rows-act">
                      <Restore copy={one} restore={restore} />
                    </td>
                  </tr>
                ))}
              </Rows>
            )
          }
        </Answer>
      </Panel>
      <NewBackup />
    </div>
  );
}

function Restore({ copy, restore }: { copy: StoreCopy; restore: ReturnType<typeof useRestore> }) {
  const look = useRestore();
  const status = useStatus();
  const store = status.data?.store;
  const changed = useChangedSince(copy.at_ms, look.data !== undefined).data;
  return (
    <Confirm
      name="Restore"
      label={`Restore ${copy.path}`}
      title="Restore a backup"
      text={`The store becomes what it was ${agoOf(copy.at_ms)} (${whenOf(copy.at_ms)}). The present store is moved aside, not deleted. Tacit goes on meanwhile.`}
      does="Restore it"
      bad
      size="compact-xs"
      onOpen={() => {
        look.mutate({ source: copy.path, dry_run: true });
        void status.refetch(); // what it replaces is counted now
      }}
      act={() => restore.mutateAsync({ source: copy.path, dry_run: false })}
    >
      <dl className="facts" aria-label="What it replaces">
        <dt>replaced</dt>
        <dd>{store === undefined ? "" : `${plural(store.memories_active, "active memory", "active memories")}, ${countOf(store.memories_total)} with history`}</dd>
        <dt>changes since</dt>
        <dd>{changed === undefined ? "" : changed === 0 ? "none" : `${countOf(changed)}${changed === MOST_COUNTED ? " or more" : ""}, which the backup does not hold`}</dd>
        <dt>the backup</dt>
        <dd>{look.data === undefined ? "" : look.data.recovered === null ? "sound" : `damaged: ${plural(look.data.recovered, "memory", "memories")} of it can be read`}</dd>
      </dl>
      {look.error !== null && <ProblemBox error={look.error} />}
    </Confirm>
  );
}

function NewBackup() {
  const home = useStatus().data?.home;
  const [typed, setTyped] = useState<string>();
  const [now, setNow] = useState(stamp);
  const work = useBackUp();
  const target = typed ?? (home === undefined ? "" : `${home}/backup-${now}.db`);
  return (
    <Panel title="Back up now" sub="Writes a consistent copy of the store; Tacit goes on meanwhile. Purges clean it, too.">
      <form
        className="data-form"
        onSubmit={(event) => {
          event.preventDefault();
          work.mutate(target.trim(), { onSuccess: () => { setTyped(undefined); setNow(stamp()); } });
        }}
      >
        <TextInput label="New file" value={target} onChange={(event) => setTyped(event.currentTarget.value)} />
        <Button type="submit" loading={work.isPending} disabled={target.trim() === ""}>
          Back up
        </Button>
      </form>
      <div role="status">{work.data !== undefined && <Alert mt={12}>Written to {work.data.target}.</Alert>}</div>
      {work.error !== null && <ProblemBox error={work.error} />}
    </Panel>
  );
}

/** Now, as part of a file's name. */
function stamp(): string {
  return new Date().toISOString().slice(0, 19).replace("T", "-").replaceAll(":", "");
}
